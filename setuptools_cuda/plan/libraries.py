"""Libraries: archives, shared libraries, and what their users take from them. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from setuptools_cuda.config.model import Library, Settings
from setuptools_cuda.errors import Code as ErrorCode
from setuptools_cuda.errors import Problem
from setuptools_cuda.plan.effective import C_SUFFIXES, SourceOptions, is_cuda
from setuptools_cuda.plan.linking import (
    BuiltLibrary,
    Closure,
    SharedLink,
    close,
    inherit,
    plan_archive,
    plan_device_link,
)
from setuptools_cuda.plan.shared_objects import add_closure
from setuptools_cuda.plan.shipped import describe_shipped, include_folder
from setuptools_cuda.plan.targets import Planning
from setuptools_cuda.plan.values import Artifact, HostCommands


def in_link_order(settings: Settings) -> tuple[Library, ...]:
    """Return the libraries so that each stands after those that it links."""
    by_name = {library.name: library for library in settings.libraries}
    ordered: dict[str, Library] = {}

    def visit(library: Library) -> None:
        for name in library.link:
            if name in by_name and name not in ordered:
                visit(by_name[name])
        ordered[library.name] = library

    for library in settings.libraries:
        if library.name not in ordered:
            visit(library)
    return tuple(ordered.values())


def plan_library(library: Library, *, planning: Planning) -> None:
    """Add a library's jobs and artifacts, and what its users need, to ``planning``."""
    closure = close(library.link, libraries=planning.libraries)
    inherited = tuple(d for built in closure.libraries for d in built.include_dirs)
    includes = tuple(dict.fromkeys((*library.include_dirs, *inherited)))
    if library.type == "interface":
        built = BuiltLibrary(library, include_dirs=includes)
    else:
        built = _compile(library, closure=closure, includes=includes, planning=planning)
    planning.libraries[library.name] = built
    _plan_headers(library, planning=planning)
    cudart = planning.cudart(library, cuda=closure.cuda) if built.has_cuda or library.cudart else "none"
    shipped = describe_shipped(built, closure=closure, cudart=cudart)
    planning.shipped.extend((shipped,) if shipped else ())


def _compile(library: Library, *, closure: Closure, includes: tuple[str, ...], planning: Planning) -> BuiltLibrary:
    complete = inherit(library, closure=closure)
    sources = planning.sources(complete, closure=closure)
    objects, device = _objects(complete, sources=sources, planning=planning)
    has_cuda = any(is_cuda(options.source) for options in sources)
    if not objects:
        planning.notes.append(f"{library.name}: nothing is left to compile: no library is made")
        return BuiltLibrary(library, include_dirs=includes)
    linked: tuple[str, ...] = ()
    if library.install or library.type == "shared":
        linked, device = (*device, *closure.device_objects), ()
    added = [_link_device(library, objects=linked, planning=planning)] if linked else []
    if library.type == "shared":
        file = _plan_shared(complete, objects=[*objects, *added], closure=closure, planning=planning)
        return BuiltLibrary(library, file, linked_device=linked, has_cuda=has_cuda, include_dirs=includes)
    # Whoever gets a shipped archive has none of the libraries that stay behind.
    within = [file for built in closure.libraries if built.is_within for file in built.objects if library.install]
    everything = tuple(dict.fromkeys((*objects, *within, *added)))
    file = _plan_static(library, objects=everything, planning=planning)
    return BuiltLibrary(library, file, device, linked, everything, has_cuda, includes)


def _objects(
    library: Library, *, sources: tuple[SourceOptions, ...], planning: Planning
) -> tuple[list[str], tuple[str, ...]]:
    """Return all objects, and those with relocatable device code."""
    objects: list[str] = []
    device: list[str] = []
    for options in sources:
        if is_cuda(options.source):
            compiled = planning.cuda_object(library, options)
            if compiled:
                objects.append(compiled)
                device.extend((compiled,) if options.rdc else ())
        else:
            host = _host(planning)
            command = host.c if options.suffix in C_SUFFIXES else host.cxx
            objects.append(planning.compiles.host(options, target=library.name, command=command))
    return objects, tuple(device)


def _host(planning: Planning) -> HostCommands:
    if planning.facts.host is None:
        raise ValueError("host sources need the host's commands")
    return planning.facts.host


def _link_device(library: Library, *, objects: tuple[str, ...], planning: Planning) -> str:
    toolchain = planning.facts.toolchain
    if toolchain is None:
        raise ValueError("device code needs a toolchain")
    job = plan_device_link(
        library.name, objects=objects, codes=planning.link_codes(), toolchain=toolchain, root=planning.facts.root
    )
    planning.jobs.append(job)
    return job.outputs[0].file


def _plan_static(library: Library, *, objects: Sequence[str], planning: Planning) -> str:
    archiver = planning.facts.host.archiver if planning.facts.host else ("ar",)
    job = plan_archive(library.name, objects=objects, archiver=archiver)
    planning.jobs.append(job)
    file = job.outputs[0].file
    _plan_artifact(library, file=file, cudart="", planning=planning)
    return file


def _plan_shared(library: Library, *, objects: list[str], closure: Closure, planning: Planning) -> str:
    name = f"lib{library.name}.so"
    link = SharedLink(
        name=library.name,
        file=name,
        command=_host(planning).link_cxx,
        facts=planning.facts,
        objects=objects,
        # Without a name of its own it would be looked for where it was built.
        flags=(f"-Wl,-soname,{name}", *planning.link_flags(library)),
    )
    folder = (library.install or "").strip("/")
    cudart = add_closure(link, target=library, folder=folder, closure=closure, planning=planning)
    job = link.job(planning.compiles.places)
    planning.jobs.append(job)
    file = job.outputs[0].file
    _plan_artifact(library, file=file, cudart=cudart, planning=planning)
    return file


def _plan_artifact(library: Library, *, file: str, cudart: str, planning: Planning) -> None:
    """An installed library is an artifact; any other is only linked, and has no destination."""
    name = file.rsplit("/", 1)[-1]
    planning.artifacts.append(
        Artifact(
            "library",
            library.name,
            file,
            f"{library.install.strip('/')}/{name}" if library.install else "",
            codes=planning.compiles.codes_of(library.name),
            rdc=library.rdc,
            compressed=planning.compiles.compressed,
            cudart=cudart,
        )
    )


def _plan_headers(library: Library, *, planning: Planning) -> None:
    if not library.install or not library.headers:
        return
    folder = include_folder(library)
    includes = (*library.include_dirs, *planning.settings.project.include_dirs)
    taken: dict[str, str] = {}
    for header in library.headers:
        destination = f"{folder}/{_below_include(header, folders=includes)}"
        if destination in taken:
            planning.problems.append(
                Problem(
                    ErrorCode.DUPLICATE_OUTPUT,
                    f"{taken[destination]} and {header} would both become {destination}",
                    where=f"{library.where}.headers",
                    fix=("rename one of them, or leave one of the include-dirs out",),
                )
            )
        taken[destination] = header
        planning.artifacts.append(Artifact("header", library.name, "", destination, source=header))


def _below_include(header: str, *, folders: tuple[str, ...]) -> str:
    """Return the header's path as its users write it: below the include folder that holds it."""
    for folder in folders:
        prefix = folder.strip("/").removeprefix("./") + "/"
        if header.startswith(prefix):
            return header[len(prefix) :]
    return header
