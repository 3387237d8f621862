"""The build plan: jobs, and the artifacts that they make. Frozen, and free of side effects."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from setuptools_cuda.resolution.values import Architecture, Code

JobKind = Literal["cuda", "device", "host", "cython", "device-link", "archive", "link"]
ArtifactKind = Literal["extension", "library", "image", "header", "module"]


@dataclass(frozen=True)
class HostCommands:
    """How host sources are compiled and linked: setuptools' customised compiler, or our own.

    Each is an argument prefix: ``c`` and ``cxx`` end before the source, ``link`` before the
    objects. Paths and libraries of the interpreter are already in them.
    """

    c: tuple[str, ...]
    cxx: tuple[str, ...]
    link_c: tuple[str, ...]
    link_cxx: tuple[str, ...]
    archiver: tuple[str, ...] = ("ar",)
    libraries: tuple[str, ...] = ()
    """What comes after the objects of each link: libraries that the build command was given."""


@dataclass(frozen=True)
class PythonFacts:
    """The interpreter that extensions are built for."""

    include_dirs: tuple[str, ...]
    version: tuple[int, int]
    free_threaded: bool
    extension_suffix: str
    executable: str


@dataclass(frozen=True)
class Output:
    """One file a job makes, relative to the build folder."""

    role: str
    """'object', 'fatbin', 'ptx:90a', 'cubin:90a', 'ltoir', 'archive', 'shared', 'source'."""
    file: str


@dataclass(frozen=True)
class Job:
    """One command. ``argv`` holds ``{out}``, ``{keep}`` and ``{depfile}`` where those paths go."""

    key: str
    kind: JobKind
    argv: tuple[str, ...]
    inputs: tuple[str, ...]
    """Relative to the project root, or absolute; files that the command reads by name."""
    needs: tuple[str, ...]
    """Outputs of other jobs that it reads, relative to the build folder."""
    outputs: tuple[Output, ...]
    title: str
    """As a person would say it: 'src/a.cu for sm_80, sm_90a'."""
    used_by: tuple[str, ...]
    """Titles of the targets that the outputs go to."""
    codes: tuple[Code, ...] = ()
    depfile: bool = False
    memory: int = 0
    """Bytes that it needs, 0 where unknown."""
    priority: int = 0
    launched: bool = False
    """Whether a launcher stands before the command, which may have a cache of its own."""


@dataclass(frozen=True)
class Artifact:
    """One file that goes into the wheel or into ``out_dir``."""

    kind: ArtifactKind
    target: str
    file: str
    """Where it is built, relative to the build folder; '' for a header, which is copied from ``source``."""
    destination: str
    """Path in the wheel (or the output folder), with '/'."""
    source: str = ""
    format: str = ""
    """For images: ptx, cubin, fatbin, ltoir."""
    architecture: Architecture | None = None
    codes: tuple[Code, ...] = ()
    rdc: bool = False
    cudart: str = ""
    compressed: bool = False


@dataclass(frozen=True)
class KernelFile:
    """One source of a kernel module, with its images."""

    source: str
    """The path in the project, the key of ``MODULE.images``."""
    attribute: str
    facts: str
    """A PTX file, relative to the build folder, that names and parameters are read from."""
    images: tuple[Artifact, ...]


@dataclass(frozen=True)
class KernelModulePlan:
    """One kernel module to generate."""

    module: str
    destination: str
    files: tuple[KernelFile, ...]
    serves: tuple[str, ...] = ()
    driver: str | None = None
    where: str = ""


@dataclass(frozen=True, kw_only=True)
class ShippedLibrary:
    """An installed library, as others link it. Paths are those in the wheel."""

    name: str = field(kw_only=False)
    type: str
    folder: str
    """Where it lies."""
    file: str = ""
    """'' for a library of headers alone."""
    include: str = ""
    """The folder of its headers, '' where none are shipped."""
    links: tuple[tuple[str, str], ...] = ()
    """(name, folder) of other libraries of the wheel that are linked with it, each before those that it needs."""
    cuda: tuple[str, ...] = ()
    """Libraries of the toolkit that are linked with it, the runtime included, after ``CUDA::``."""
    defines: tuple[str, ...] = ()

    @property
    def cmake(self) -> str:
        """Return the path of the file that makes it a CMake package."""
        return f"{self.folder}/cmake/{self.name}/{self.name}Config.cmake"

    @property
    def pkgconfig(self) -> str:
        """Return the path of its pkg-config file."""
        return f"{self.folder}/pkgconfig/{self.name}.pc"


@dataclass(frozen=True)
class BuildPlan:
    """All that a build does, decided before anything runs."""

    jobs: tuple[Job, ...] = ()
    artifacts: tuple[Artifact, ...] = ()
    kernel_modules: tuple[KernelModulePlan, ...] = ()
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    summary: str = ""
    """The first line of a build: toolkit, architectures, what they cost."""
    requirements: tuple[str, ...] = ()
    """What the project must declare for its installed files to load."""
    toolchain_identity: str = ""
    parallel: int = 1
    tools: Mapping[str, str] = field(default_factory=dict)
    """Where libraries and programs lie that jobs call by ``{tool:NAME}``."""
    places: Mapping[str, str] = field(default_factory=dict)
    """Where folders of the build environment lie that commands call by ``{place:NAME}``."""
    launcher: tuple[str, ...] = ()
    """The words before each compile that is launched, such as ``ccache``."""
    clang_words: tuple[str, ...] = ()
    """Where clang finds the toolkit, for tools that read sources as clang does."""
    facts: Mapping[str, object] = field(default_factory=dict)
    """Labelled facts for the manifest: toolkit, host compiler, architectures."""
    shipped: tuple[ShippedLibrary, ...] = ()
    texts: Mapping[str, str] = field(default_factory=dict)
    """Files that come with shipped libraries, by their path in the wheel."""

    def files_of(self, target: str) -> tuple[str, ...]:
        """Return the files of a target's artifacts, relative to the build folder."""
        return tuple(one.file for one in self.artifacts if one.target == target)
