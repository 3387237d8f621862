"""Extensions: objects of all languages, linked into one shared object. Pure."""

from __future__ import annotations

import difflib
import re
from dataclasses import replace

from setuptools_cuda.config.model import Extension
from setuptools_cuda.errors import Code as ErrorCode
from setuptools_cuda.errors import Problem
from setuptools_cuda.plan.effective import C_SUFFIXES, CYTHON_SUFFIX, SourceOptions, is_cuda
from setuptools_cuda.plan.linking import Closure, SharedLink, close, inherit, plan_device_link
from setuptools_cuda.plan.paths import module_path
from setuptools_cuda.plan.shared_objects import add_closure
from setuptools_cuda.plan.targets import Planning
from setuptools_cuda.plan.values import Artifact, HostCommands, PythonFacts


def limited_api_version(tag: str) -> tuple[int, int]:
    """Return (3, 11) of 'cp311'."""
    digits = tag.removeprefix("cp")
    return int(digits[0]), int(digits[1:])


def limited_api_holds(tag: str | None, *, python: PythonFacts) -> bool:
    """Return whether the limited API can be built for with this interpreter (PEP 703 builds have none before 3.15)."""
    if tag is None:
        return False
    return python.version >= limited_api_version(tag) and not (python.free_threaded and python.version < (3, 15))


def extension_file(name: str, *, python: PythonFacts, limited: bool) -> str:
    """Return the path of an extension in the wheel: 'demo/_native.abi3.so'."""
    suffix = python.extension_suffix
    if limited:
        tag = ".abi3t" if python.free_threaded else ".abi3"
        suffix = tag + re.sub(r"^\.[^.]+(?=\.[^.]+$)", "", suffix)
    return f"{module_path(name)}{suffix}"


def limited_api_defines(tag: str | None, *, python: PythonFacts) -> tuple[str, ...]:
    """Return the macros that hold C code to the limited API (PEP 384; PEP 803 for free-threaded builds)."""
    if not limited_api_holds(tag, python=python) or tag is None:
        return ()
    major, minor = limited_api_version(tag)
    name = "Py_TARGET_ABI3T" if python.free_threaded else "Py_LIMITED_API"
    return (f"{name}=0x{major:02x}{minor:02x}0000",)


def plan_extension(extension: Extension, *, planning: Planning) -> None:
    """Add an extension's jobs and artifact to ``planning``."""
    python, host = planning.facts.python, planning.facts.host
    if python is None or host is None:
        raise ValueError("an extension needs an interpreter and host commands")
    closure = close(extension.link, libraries=planning.libraries)
    extension = inherit(extension, closure=closure)
    sources = planning.sources(extension, closure=closure)
    sources = _with_package_sources(extension, sources=sources, planning=planning)
    compiled = _Objects(extension, planning, python, host)
    for options in sources:
        compiled.add(options)
    if not compiled.objects and not _is_of_objects(extension):
        planning.notes.append(f"{extension.name}: nothing is left to compile: no extension is made")
        return
    _plan_link(extension, compiled=compiled, closure=closure, planning=planning)


def _is_of_objects(extension: Extension) -> bool:
    """Return whether the extension is linked from objects that are there, and was never to have sources."""
    return bool(extension.extra_objects) and not extension.patterns


def _with_package_sources(
    extension: Extension, *, sources: tuple[SourceOptions, ...], planning: Planning
) -> tuple[SourceOptions, ...]:
    extra = tuple(source for package in planning.packages(extension) for source in package.sources)
    if not sources or not extra:
        return sources
    return (*sources, *(replace(sources[0], source=source) for source in extra))


class _Objects:
    """The objects of one extension, collected source by source."""

    def __init__(self, extension: Extension, planning: Planning, python: PythonFacts, host: HostCommands) -> None:
        self.extension = extension
        self.planning = planning
        self.python = python
        self.host = host
        self.objects: list[str] = []
        self.device: list[str] = []
        self.cplus = extension.language == "c++"

    def add(self, options: SourceOptions) -> None:
        """Plan the compile of one source."""
        defines = limited_api_defines(self.extension.limited_api, python=self.python)
        if is_cuda(options.source):
            self.cplus = True
            if defines != self.planning.compiles.python_defines:
                options = replace(options, defines=(*options.defines, *defines))
            compiled = self.planning.cuda_object(self.extension, options)
            if compiled:
                self.objects.append(compiled)
                self.device.extend((compiled,) if options.rdc else ())
            return
        options = replace(options, defines=(*options.defines, *defines))
        if options.suffix == CYTHON_SUFFIX:
            self._add_cython(options)
        else:
            is_c = options.suffix in C_SUFFIXES
            self.cplus = self.cplus or not is_c
            command = self.host.c if is_c else self.host.cxx
            self.objects.append(self.planning.compiles.host(options, target=self.extension.name, command=command))

    def _add_cython(self, options: SourceOptions) -> None:
        cplus = self.extension.language != "c" and any(
            is_cuda(s) or not s.endswith((".c", CYTHON_SUFFIX)) for s in self.extension.sources
        )
        cplus = cplus or self.extension.language == "c++"
        self.cplus = self.cplus or cplus
        job = self.planning.compiles.cython(
            options,
            module=self.extension.name,
            cplus=cplus,
            executable=self.python.executable,
            target=self.extension.name,
        )
        command = self.host.cxx if cplus else self.host.c
        # What Cython makes lies in the build folder, and includes what lies beside the .pyx.
        beside = options.source.rpartition("/")[0] or "."
        self.objects.append(
            self.planning.compiles.host(
                replace(options, source=job.outputs[0].file, include_dirs=(*options.include_dirs, beside)),
                target=self.extension.name,
                command=command,
                generated_by=job,
            )
        )


def _plan_link(extension: Extension, *, compiled: _Objects, closure: Closure, planning: Planning) -> None:
    host = compiled.host
    limited = limited_api_holds(extension.limited_api, python=compiled.python)
    destination = extension_file(extension.name, python=compiled.python, limited=limited)
    folder = destination.rpartition("/")[0]
    cplus = compiled.cplus or any(built.has_cuda or built.file for built in closure.libraries)
    link = SharedLink(
        name=extension.name,
        file=destination,
        command=host.link_cxx if (extension.language or ("c++" if cplus else "c")) == "c++" else host.link_c,
        facts=planning.facts,
        objects=compiled.objects,
        extra_objects=extension.extra_objects,
        host_libraries=host.libraries,
        flags=(
            *(f"-Wl,--require-defined={symbol}" for symbol in extension.export_symbols),
            *planning.link_flags(extension),
        ),
    )
    _link_device(extension, compiled=compiled, closure=closure, planning=planning)
    link.library_dirs.extend(extension.library_dirs)
    link.libraries.extend(extension.libraries)
    link.rpaths.extend(extension.runtime_library_dirs)
    cudart = add_closure(link, target=extension, folder=folder, closure=closure, planning=planning)
    job = link.job(planning.compiles.places)
    planning.jobs.append(job)
    codes = planning.compiles.codes_of(extension.name, *(built.library.name for built in closure.libraries))
    planning.artifacts.append(
        Artifact(
            "extension",
            extension.name,
            job.outputs[0].file,
            destination,
            codes=codes,
            rdc=extension.rdc,
            compressed=planning.compiles.compressed,
            cudart=cudart,
        )
    )


def _link_device(extension: Extension, *, compiled: _Objects, closure: Closure, planning: Planning) -> None:
    """Add the one device link of this image, where any of its objects has relocatable device code."""
    device = [*compiled.device, *closure.device_objects]
    if not device:
        return
    if planning.facts.toolchain is None:
        raise ValueError("device code needs a toolchain")
    job = plan_device_link(
        extension.name,
        objects=device,
        codes=planning.link_codes(),
        toolchain=planning.facts.toolchain,
        root=planning.facts.root,
    )
    planning.jobs.append(job)
    compiled.objects.append(job.outputs[0].file)


def check_packaged(extension: Extension, *, packages: frozenset[str] | None) -> Problem | None:
    """Return a problem where the wheel would hold the extension but not the package that it belongs to."""
    return not_packaged(extension.name, where=f"{extension.where}.name", packages=packages)


def not_packaged(module: str, *, where: str, packages: frozenset[str] | None) -> Problem | None:
    """Return a problem where ``module`` lies in a package that is not packaged."""
    package = module.rpartition(".")[0]
    if not package or packages is None or package in packages:
        return None
    have = ", ".join(sorted(packages)) or "none"
    close = difflib.get_close_matches(package, sorted(packages), n=1)
    meant = (f"did you mean '{close[0]}.{module.rpartition('.')[2]}'?",) if close else ()
    return Problem(
        ErrorCode.NOT_PACKAGED,
        f"{module} lies in the package {package}, which the wheel does not contain",
        where=where,
        details=(("packages", have),),
        fix=(*meant, f"add {package!r} to the packages of [tool.setuptools], or give it an __init__.py"),
    )
