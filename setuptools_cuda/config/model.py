"""The settings model: every key of ``[tool.setuptools-cuda]``, once.

Loader, checks, JSON schema and the reference page are all derived from these dataclasses.
A field made with :func:`key` is a key of the table (dashes for underscores); its annotation is
the type, its metadata says what the key means. Fields without it are filled by the loader.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, TypeVar

T = TypeVar("T")


def key(doc: str, *, default: Any = None, since: str = "", check: str = "") -> Any:
    """Return a dataclass field that is a key of the table.

    ``doc`` is one sentence for the reference. ``check`` names a check of ``config/checks.py``
    that the value has to pass. ``since`` is a note such as "needs toolkit 13.0".
    """
    return dataclasses.field(default=default, metadata={"doc": doc, "since": since, "check": check})


@dataclass(frozen=True)
class Origin:
    """Where a value came from: ``kind`` for machines, ``text`` for people."""

    kind: Literal["config-setting", "environment", "pyproject", "python", "default", "found"]
    text: str


@dataclass(frozen=True)
class Flags:
    """Extra command-line flags by tool."""

    cuda: tuple[str, ...] = ()
    cxx: tuple[str, ...] = ()
    c: tuple[str, ...] = ()
    link: tuple[str, ...] = ()

    def __add__(self, other: Flags) -> Flags:
        """Return the flags of both, those of ``other`` last."""
        return Flags(self.cuda + other.cuda, self.cxx + other.cxx, self.c + other.c, self.link + other.link)


@dataclass(frozen=True)
class Condition:
    """An ``if`` table. All parts that are not None must hold."""

    platform_system: str | None = None
    platform_machine: str | None = None
    python_version: str | None = None
    cuda: str | bool | None = None
    architectures: str | None = None
    env: tuple[tuple[str, str | bool], ...] = ()


@dataclass(frozen=True)
class CacheEntries:
    """Variables of CMake's cache, as they are written, with placeholders in their values."""

    entries: tuple[tuple[str, str], ...] = ()


ArchitectureWords = tuple[str, ...]
WhenEmpty = Literal["error", "skip"]
Cudart = Literal["static", "shared", "none"]
Format = Literal["ptx", "cubin", "fatbin", "ltoir"]
DeviceCompiler = Literal["nvcc", "nvrtc", "nvvm", "llvm"]
USES = (
    "Packages that bring include folders, libraries and defines: torch, numpy, pybind11, nanobind, cutlass, "
    "cudnn, nccl, distributions that ship libraries of such a table, and what other distributions add."
)


@dataclass(frozen=True, kw_only=True)
class Override:
    """One ``[[tool.setuptools-cuda.override]]``: changes where match, target and if all hold."""

    where: str = ""
    match: str | None = key("A glob over sources that the override applies to.", check="glob")
    target: str | None = key("The target (extension, library or module name) that the override applies to.")
    if_: Condition | None = key("Conditions under which the override applies; all must hold.")
    sources: tuple[str, ...] = key("Globs of sources added to the target.", default=(), check="globs")
    exclude: tuple[str, ...] = key("Globs of sources left out of the target.", default=(), check="globs")
    architectures: ArchitectureWords | None = key("Architectures of the matched sources.", check="architectures")
    min_architecture: str | None = key("The oldest architecture of the matched sources.", check="architecture")
    max_architecture: str | None = key("The newest architecture of the matched sources.", check="architecture")
    when_empty: WhenEmpty | None = key("What to do with a source that has no architecture left.")
    std: str | None = key("The language standard of C++ and CUDA sources.", check="std")
    flags: Flags = key("Flags appended to those of project and target.", default=Flags())
    defines: tuple[str, ...] = key("Preprocessor definitions appended.", default=(), check="defines")
    include_dirs: tuple[str, ...] = key("Include folders appended.", default=())
    device_compiler: DeviceCompiler | None = key("The device compiler of the matched sources.")
    memory: str | None = key("Memory that one compile of the matched sources needs, as '3 GiB'.", check="memory")
    priority: int | None = key("Compiles of a higher priority start earlier.")


@dataclass(frozen=True, kw_only=True)
class Target:
    """What extension, library and kernel module have in common."""

    where: str = ""
    """The dotted place it was declared at, for messages."""
    patterns: tuple[str, ...] = ()
    """``sources`` as written; :attr:`sources` holds what they matched."""
    sources: tuple[str, ...] = key("Globs of the sources; ** recurses, * does not.", default=(), check="globs")
    exclude: tuple[str, ...] = key("Globs of sources left out.", default=(), check="globs")
    depends: tuple[str, ...] = key("Globs of more files that the result depends on.", default=(), check="globs")
    architectures: ArchitectureWords | None = key("Architectures of this target.", check="architectures")
    min_architecture: str | None = key("The oldest architecture of this target.", check="architecture")
    max_architecture: str | None = key("The newest architecture of this target.", check="architecture")
    when_empty: WhenEmpty | None = key("What to do with a source that has no architecture left: error or skip.")
    std: str | None = key("The language standard of C++ and CUDA sources, as 'c++17'.", check="std")
    flags: Flags = key("Extra flags by tool {cuda, cxx, c, link}; a bare list means cuda.", default=Flags())
    defines: tuple[str, ...] = key("Preprocessor definitions, as 'A' or 'B=1'.", default=(), check="defines")
    include_dirs: tuple[str, ...] = key("Include folders.", default=())
    uses: tuple[str, ...] = key(USES, default=())
    link: tuple[str, ...] = key(
        "Libraries of this table, and CUDA's own by CMake's names, as 'CUDA::cublas'.", default=()
    )
    rdc: bool = key("Relocatable device code; the device link comes by itself.", default=False)
    cudart: Cudart | None = key("How the CUDA runtime is linked: static, shared or none.")
    memory: str | None = key("Memory that one compile needs, as '3 GiB'.", check="memory")
    priority: int | None = key("Compiles of a higher priority start earlier.")

    @property
    def title(self) -> str:
        """Return the target's name, as overrides and messages call it."""
        raise AttributeError(type(self).__name__)


@dataclass(frozen=True, kw_only=True)
class Extension(Target):
    """One ``[[tool.setuptools-cuda.extension]]``: a Python extension module."""

    name: str = key("The full module name, as 'demo._native'.", default="", check="module")
    libraries: tuple[str, ...] = key("System libraries to link, as in setuptools.", default=())
    library_dirs: tuple[str, ...] = key("Folders to look for libraries in.", default=())
    runtime_library_dirs: tuple[str, ...] = key("Folders to look for shared libraries in at run time.", default=())
    extra_objects: tuple[str, ...] = key("Object files to link.", default=())
    export_symbols: tuple[str, ...] = key("Symbols to export.", default=())
    language: Literal["c", "c++"] | None = key("The language that decides the linker.")
    optional: bool = key("Whether a failure to build the extension is only a warning.", default=False)
    limited_api: str | None = key("The limited API to build for, as 'cp311'.", check="limited-api")

    @property
    def title(self) -> str:
        """Return the module name."""
        return self.name


@dataclass(frozen=True, kw_only=True)
class Library(Target):
    """One ``[[tool.setuptools-cuda.library]]``: a static, shared or header-only library."""

    name: str = key("The library's name; libNAME.a is made.", default="", check="library-name")
    type: Literal["static", "shared", "interface"] = key("The kind of library.", default="static")
    install: str | None = key("The folder in the wheel that the library is shipped in, as 'demo/lib'.", check="folder")
    headers: tuple[str, ...] = key("Globs of headers shipped beside an installed library.", default=(), check="globs")

    @property
    def title(self) -> str:
        """Return the library's name."""
        return self.name


@dataclass(frozen=True, kw_only=True)
class KernelModule(Target):
    """One ``[[tool.setuptools-cuda.kernel-module]]``: device code as package data."""

    module: str = key("The full name of the generated Python module.", default="", check="module")
    formats: tuple[Format, ...] = key("Image formats to ship.", default=("cubin", "ptx"))
    instantiate: tuple[str, ...] = key("Template instantiations to make kernels of.", default=())
    serves: tuple[str, ...] = key("Compute capabilities that the images must serve.", default=(), check="capabilities")
    driver: str | None = key("The CUDA version of the oldest driver that must be served.", check="release")
    device_link: Literal["build"] | None = key("Link the sources' device code into one image.")
    device_compiler: DeviceCompiler | None = key("The device compiler of this module.")

    @property
    def title(self) -> str:
        """Return the module name."""
        return self.module


@dataclass(frozen=True, kw_only=True)
class Project:
    """The keys of ``[tool.setuptools-cuda]`` itself."""

    cuda: str | None = key("Acceptable toolkit releases, as '>=12.4'.", check="specifier")
    architectures: ArchitectureWords | None = key(
        "Architectures to build for; if not set, all-major: every major one that the toolkit knows.",
        check="architectures",
    )
    unsupported_architectures: Literal["error", "drop"] = key(
        "What to do with a requested architecture that the toolkit does not know.", default="error"
    )
    std: str | None = key("The language standard of C++ and CUDA sources; if not set, the compilers' own.", check="std")
    flags: Flags = key("Extra flags by tool {cuda, cxx, c, link}; a bare list means cuda.", default=Flags())
    defines: tuple[str, ...] = key("Preprocessor definitions.", default=(), check="defines")
    include_dirs: tuple[str, ...] = key("Include folders.", default=())
    uses: tuple[str, ...] = key(USES, default=())
    cudart: Cudart | None = key("How the CUDA runtime is linked: static (the default), shared or none.")
    device_compiler: DeviceCompiler | None = key("The device compiler.")
    required: bool = key("Whether a missing toolkit is an error.", default=True)
    nvcc: str | None = key("The nvcc to use.")
    host_compiler: str | None = key("The host compiler that nvcc uses.")
    toolchain_steps: tuple[str, ...] | None = key("The steps that look for a toolchain, in order.")
    architecture_steps: tuple[str, ...] | None = key("The steps that look for the architectures, in order.")
    launcher: str | None = key("A program put before each compiler call, as 'ccache'.")
    compress: Literal["size", "balance", "speed", "none"] | None = key(
        "Compression of device code in objects; if not set, size from toolkit 13.0 on, nvcc's own before."
    )
    jobs: int | None = key("Compiles that run at once; if not set, as many as there are cores.", check="positive")
    profile: Literal["release", "dev", "debug"] = key("The kind of build.", default="release")
    report: str | None = key("The folder for a report of the build: report.json and report.html.", check="place")
    cache: str | None = key(
        "The folder of the artifact cache, or 'off'; if not set, one in the user's cache folder.", check="cache"
    )


@dataclass(frozen=True, kw_only=True)
class CMake:
    """The keys of ``[tool.setuptools-cuda.cmake]``: for projects that CMake builds."""

    define: CacheEntries = key(
        "Variables for CMake, whose values may hold placeholders, as '{architectures:torch}'.", default=CacheEntries()
    )
    link: tuple[str, ...] = key(
        "CUDA's own libraries that the CMake files use, as 'CUDA::cublas': pip brings them with the compiler.",
        default=(),
        check="cuda-library",
    )


@dataclass(frozen=True, kw_only=True)
class CMakeProject(Extension):
    """What CMake builds, as a target that needs a toolkit. No table declares one: front-ends for CMake make it."""


@dataclass(frozen=True, kw_only=True)
class Settings:
    """Everything a project asks for, checked and complete."""

    root: Path
    project: Project = Project()
    extensions: tuple[Extension, ...] = ()
    libraries: tuple[Library, ...] = ()
    kernel_modules: tuple[KernelModule, ...] = ()
    overrides: tuple[Override, ...] = ()
    cmake: CMake = CMake()
    origins: Mapping[str, Origin] = dataclasses.field(default_factory=dict)
    """Origin of each top-level key that was given, by its dashed name."""
    warnings: tuple[str, ...] = ()

    @property
    def targets(self) -> tuple[Target, ...]:
        """Return all targets: libraries, then extensions, then kernel modules."""
        return (*self.libraries, *self.extensions, *self.kernel_modules)

    def origin(self, name: str) -> Origin:
        """Return where the top-level key ``name`` (dashed) came from."""
        return self.origins.get(name, Origin("default", "default"))
