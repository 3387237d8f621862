"""Links: archives, device links and shared objects. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TypeVar

from setuptools_cuda.config.model import Cudart, Flags, Library, Target
from setuptools_cuda.plan.facts import Facts
from setuptools_cuda.plan.options import OUT, below_root, nvcc_command
from setuptools_cuda.plan.paths import digest
from setuptools_cuda.plan.places import Places
from setuptools_cuda.plan.values import Job, Output
from setuptools_cuda.resolution.architecture_codes import render_gencode
from setuptools_cuda.resolution.cuda_libraries import order_libraries
from setuptools_cuda.resolution.values import Code, Toolchain

AnyTarget = TypeVar("AnyTarget", bound=Target)

CUDA_PREFIX = "CUDA::"
STATIC_RUNTIME = ("cudart_static", "dl", "rt", "pthread")
"""What a program with the static CUDA runtime links, after NVIDIA's ``nvcc --dryrun``."""
REPORT_UNDEFINED = ("-Wl,-z,defs", "-Wl,--warn-unresolved-symbols")
"""The linker reports symbols that nothing defines; execution tells Python's own from what was forgotten."""


@dataclass(frozen=True)
class BuiltLibrary:
    """A library of the table as its users see it."""

    library: Library
    file: str = ""
    """The archive or shared library, relative to the build folder; '' for an interface."""
    device_objects: tuple[str, ...] = ()
    """Relocatable device code that is still to be linked, by whoever links the library."""
    linked_device: tuple[str, ...] = ()
    """Relocatable device code that is linked in the library: it cannot be linked again into the same program."""
    objects: tuple[str, ...] = ()
    """What a static library is made of."""
    has_cuda: bool = False
    include_dirs: tuple[str, ...] = ()

    @property
    def is_within(self) -> bool:
        """Return whether it is a static library that is not shipped by itself."""
        return bool(self.objects) and not self.library.install


@dataclass(frozen=True)
class Closure:
    """All that a ``link`` list stands for, dependents first."""

    libraries: tuple[BuiltLibrary, ...] = ()
    cuda: tuple[str, ...] = ()
    """Names after ``CUDA::``."""

    @property
    def device_objects(self) -> tuple[str, ...]:
        """Return the relocatable device code of the libraries that none of them has linked."""
        linked = {file for built in self.libraries for file in built.linked_device}
        return tuple(file for built in self.libraries for file in built.device_objects if file not in linked)


def close(link: Sequence[str], *, libraries: Mapping[str, BuiltLibrary]) -> Closure:
    """Return the libraries that ``link`` names and those that they link in turn, each once."""
    ordered: dict[str, None] = {}
    cuda: dict[str, None] = {}
    _visit(link, libraries=libraries, ordered=ordered, cuda=cuda)
    return Closure(tuple(libraries[name] for name in reversed(ordered)), tuple(cuda))


def _visit(
    link: Sequence[str], *, libraries: Mapping[str, BuiltLibrary], ordered: dict[str, None], cuda: dict[str, None]
) -> None:
    """Add names in post-order, so that the reverse has every library before those that it links."""
    for name in reversed(link):
        if name.startswith(CUDA_PREFIX):
            cuda[name[len(CUDA_PREFIX) :]] = None
        elif name in libraries and name not in ordered:
            _visit(libraries[name].library.link, libraries=libraries, ordered=ordered, cuda=cuda)
            ordered[name] = None


def inherit(target: AnyTarget, *, closure: Closure) -> AnyTarget:
    """Return ``target`` with the flags, definitions and packages of the interface libraries that it links.

    An interface is nothing but what its users are compiled and linked with, so that all of it is theirs.
    """
    interfaces = [built.library for built in closure.libraries if built.library.type == "interface"]
    if not interfaces:
        return target
    return replace(
        target,
        flags=sum((library.flags for library in interfaces), start=Flags()) + target.flags,
        defines=(*(define for library in interfaces for define in library.defines), *target.defines),
        uses=tuple(dict.fromkeys((*(name for library in interfaces for name in library.uses), *target.uses))),
    )


def plan_archive(name: str, *, objects: Sequence[str], archiver: Sequence[str]) -> Job:
    """Return the job that makes a static library with no time, user or mode in it."""
    key = digest("archive", name, *archiver, *objects)
    return Job(
        key=key,
        kind="archive",
        argv=(*archiver, "qcsD", OUT, *(f"{{build}}/{o}" for o in objects)),
        inputs=(),
        needs=tuple(objects),
        outputs=(Output("archive", f"libraries/{key}/lib{name}.a"),),
        title=f"lib{name}.a",
        used_by=(name,),
    )


def plan_device_link(
    name: str, *, objects: Sequence[str], codes: Sequence[Code], toolchain: Toolchain, root: str
) -> Job:
    """Return the job that links relocatable device code into one object more.

    See "Using Separate Compilation in CUDA" in NVIDIA's nvcc document.
    """
    argv = (
        *nvcc_command(toolchain, root=root),
        "-dlink",
        *render_gencode(codes),
        *("-Xcompiler", "-fPIC"),
        *(f"{{build}}/{o}" for o in objects),
        *(f"-L{below_root(folder, root=root)}" for folder in toolchain.library_dirs),
        *("-lcudadevrt", "-o", OUT),
    )
    key = digest("device-link", name, *argv, toolchain.identity)
    return Job(
        key=key,
        kind="device-link",
        argv=argv,
        inputs=(),
        needs=tuple(objects),
        outputs=(Output("object", f"objects/{name}.device-link.{key}.o"),),
        title=f"device code of {name}",
        used_by=(name,),
        codes=tuple(codes),
    )


@dataclass(kw_only=True)
class SharedLink:
    """What goes into one shared object; :meth:`job` renders the link."""

    name: str
    file: str
    """Its path in the wheel, or its name."""
    command: tuple[str, ...]
    facts: Facts
    objects: list[str] = field(default_factory=list)
    """Relative to the build folder."""
    extra_objects: tuple[str, ...] = ()
    archives: list[str] = field(default_factory=list)
    library_dirs: list[str] = field(default_factory=list)
    libraries: list[str] = field(default_factory=list)
    rpaths: list[str] = field(default_factory=list)
    host_libraries: tuple[str, ...] = ()
    flags: tuple[str, ...] = ()

    def add_toolkit(self, cuda: Iterable[str], *, cudart: Cudart, toolchain: Toolchain) -> None:
        """Link libraries of the toolkit by CMake's names for them, and the runtime as asked.

        With the static runtime nothing is needed at run time but the driver.
        """
        self.library_dirs.extend(below_root(folder, root=self.facts.root) for folder in toolchain.library_dirs)
        for fact in order_libraries(cuda):
            self.libraries.extend((fact.link_name,) if fact.link_name else ())
            self.libraries.extend(fact.system)
        self.libraries.extend({"static": STATIC_RUNTIME, "shared": ("cudart",), "none": ()}[cudart])

    def job(self, places: Places) -> Job:
        """Return the link job."""
        inputs = (*self.objects, *self.archives)
        words = (
            *self.command,
            *(f"{{build}}/{o}" for o in self.objects),
            *self.extra_objects,
            *(f"{{build}}/{a}" for a in self.archives),
            *(f"-L{folder}" for folder in dict.fromkeys(self.library_dirs)),
            *(f"-Wl,-rpath,{path}" for path in dict.fromkeys(self.rpaths)),
            *(f"-l{library}" for library in self.libraries),
            *self.host_libraries,
            *REPORT_UNDEFINED,
            *self.flags,
            *("-o", OUT),
        )
        argv = places.stable(words)
        identity = self.facts.toolchain.identity if self.facts.toolchain else ""
        key = digest("link", self.file, *argv, identity)
        return Job(
            key=key,
            kind="link",
            argv=argv,
            inputs=self.extra_objects,
            needs=inputs,
            outputs=(Output("shared", f"linked/{key}/{self.file}"),),
            title=self.file.rsplit("/", 1)[-1],
            used_by=(self.name,),
        )
