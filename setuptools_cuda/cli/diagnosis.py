"""What ``doctor`` found: frozen values, made by ``cli/diagnose.py`` and shown by others."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from setuptools_cuda.config.model import Origin
from setuptools_cuda.errors import Problem
from setuptools_cuda.resolution.device_tools import DeviceTools
from setuptools_cuda.resolution.driver import Driver
from setuptools_cuda.resolution.host_range import HostRange
from setuptools_cuda.resolution.search import Chosen
from setuptools_cuda.resolution.values import Architecture, Architectures, Candidate, Release, Toolchain


@dataclass(frozen=True)
class Project:
    """The project in the folder that was looked at."""

    root: Path
    table: str
    """What became of its table, as a phrase."""
    targets: tuple[str, ...]
    """As messages call them: "extension 'demo._native'"."""


@dataclass(frozen=True)
class Host:
    """The host compiler that is used, or that was found and is not taken."""

    path: Path
    name: str
    """Family and version, as 'gcc 12.2.0'."""
    found_via: Origin
    launcher: tuple[str, ...]
    taken: bool | None
    """Whether the toolkit takes it; None where that cannot be told."""
    range: HostRange | None
    """What the toolkit takes, by its own header."""


@dataclass(frozen=True)
class Machine:
    """What of this machine is looked at, besides the toolkit."""

    gpus: tuple[Architecture, ...]
    why_no_gpu: str
    driver: Driver | None


@dataclass(frozen=True)
class PtxFit:
    """Whether the driver of this machine loads what a toolkit makes."""

    toolkit: Release
    isa: tuple[int, int]
    """The version of PTX that the toolkit writes."""
    needs: Release
    """The release of CUDA that a driver has to be for, to translate it."""
    driver: Release | None
    """The release that this machine's driver is for."""

    @property
    def loads(self) -> bool | None:
        """Return whether this machine's driver translates the PTX; None without a driver."""
        return None if self.driver is None else self.needs <= self.driver

    @property
    def machine_code_loads(self) -> bool | None:
        """Return whether the driver loads machine code: any driver of the same major release, or newer, does."""
        return None if self.driver is None else self.toolkit.major <= self.driver.major


@dataclass(frozen=True)
class Version:
    """The version of a program or distribution; '' where it is not installed."""

    name: str
    version: str


@dataclass(frozen=True)
class Folder:
    """The build folder."""

    path: Path
    exists: bool
    size: int
    """Bytes."""
    writable: bool


@dataclass(frozen=True)
class Variable:
    """A variable that is set and plays a role."""

    name: str
    value: str
    role: str


@dataclass(frozen=True, kw_only=True)
class Diagnosis:
    """Everything that ``doctor`` shows."""

    project: Project
    candidates: tuple[Candidate, ...]
    """Every place that was looked at for an nvcc, the chosen one first."""
    chosen: Chosen | None
    toolchain: Toolchain | None
    """What belongs to the chosen nvcc, where all of it is usable."""
    device: DeviceTools | None
    """What compiles kernel modules without nvcc, where anything does."""
    compilers: tuple[str, ...]
    """The device compilers of kernel modules, by name."""
    needs_nvcc: bool
    """Whether any target needs nvcc."""
    needs_host: bool
    """Whether any target needs a host compiler."""
    host: Host | None
    architectures: Architectures | None
    known: tuple[Architecture, ...]
    """What the toolkit compiles for."""
    release: Release | None
    """The release that architectures and PTX are told for: the toolkit's, or the one that pip would bring."""
    machine: Machine
    ptx: PtxFit | None
    requirements: tuple[str, ...]
    """What an isolated build would ask for from pip."""
    versions: tuple[Version, ...]
    build_folder: Folder
    artifact_cache: Path | None
    """The folder of the cache between builds, or None where it is off."""
    launchers: tuple[tuple[str, Path | None], ...]
    """Compiler caches and where each is on PATH."""
    variables: tuple[Variable, ...]
    notes: tuple[str, ...]
    problems: tuple[Problem, ...]

    @property
    def good(self) -> bool:
        """Return whether nothing is wrong."""
        return not self.problems
