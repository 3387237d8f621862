"""What resolution finds: toolchain, host compiler, architectures, packages. All frozen."""

from __future__ import annotations

import functools
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from setuptools_cuda.config.model import Origin


@dataclass(frozen=True, order=True)
class Release:
    """A toolkit release, as 13.0."""

    major: int
    minor: int

    def __str__(self) -> str:
        return f"{self.major}.{self.minor}"


@dataclass(frozen=True)
class Candidate:
    """One place that was looked at for an nvcc, and what came of it."""

    step: str
    where: str
    nvcc: Path | None
    verdict: str
    """"chosen", or why it was passed over, as 'no nvcc' or '12.4 is not within >=13'."""


@functools.total_ordering
@dataclass(frozen=True)
class Architecture:
    """A compute capability with its variant: 90, 90a, 100f. Ordered by number, then variant."""

    number: int
    variant: Literal["", "a", "f"] = ""

    def __str__(self) -> str:
        return f"{self.number}{self.variant}"

    def __lt__(self, other: Architecture) -> bool:
        return (self.number, self.variant) < (other.number, other.variant)

    @property
    def major(self) -> int:
        """Return the major number: 9 of 90a, 12 of 120."""
        return self.number // 10

    @property
    def real(self) -> str:
        """Return the name of its machine code, as sm_90a."""
        return f"sm_{self}"

    @property
    def virtual(self) -> str:
        """Return the name of its PTX target, as compute_90a."""
        return f"compute_{self}"


@dataclass(frozen=True)
class Code:
    """One architecture of a source, and which kinds of code are wanted of it.

    ``marked`` is what the user wrote: '' for a bare number, 'real', 'virtual', or 'ptx' for
    '8.0+PTX' (both). Objects take machine code where ``real``, PTX where ``virtual``; kernel
    modules ship a PTX image unless marked 'real' and a cubin unless marked 'virtual'.
    """

    architecture: Architecture
    real: bool
    virtual: bool
    marked: Literal["", "real", "virtual", "ptx"] = ""


@dataclass(frozen=True)
class HostCompiler:
    """The C++ compiler that nvcc hands host code to."""

    path: Path
    launcher: tuple[str, ...]
    family: Literal["gcc", "clang", "msvc"]
    version: tuple[int, ...]
    found_via: Origin
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        return f"{self.family} {'.'.join(map(str, self.version))}"


@dataclass(frozen=True)
class Farm:
    """Links that make an ordinary toolkit (``lib64``, ``libcudart.so``) of NVIDIA's wheels.

    Planned by ``resolution/farm.py``; nothing of it exists until ``write_farm`` was called.
    """

    folder: Path
    links: tuple[tuple[str, str], ...]
    """(path in the folder with '/', what it points at)."""
    driver_symbols: tuple[str, ...] = ()
    """Functions of the driver that the stub ``lib/stubs/libcuda.so`` has."""


@dataclass(frozen=True)
class Toolchain:
    """One nvcc, and everything that belongs to it."""

    nvcc: Path
    launcher: tuple[str, ...]
    release: Release
    version: str
    root: Path
    include_dirs: tuple[Path, ...]
    library_dirs: tuple[Path, ...]
    found_via: Origin
    step: str
    candidates: tuple[Candidate, ...]
    known: tuple[Architecture, ...]
    """Architectures this nvcc compiles for, variants included, in order."""
    host_compiler: HostCompiler
    identity: str
    """A digest of nvcc, cicc, ptxas, host compiler and the variables that nvcc reads."""
    from_wheel: bool = False
    """Whether it lies in NVIDIA's wheels, so that shared libraries are found in theirs at run time."""
    notes: tuple[str, ...] = ()
    lacks: tuple[str, ...] = ()
    """Options that builds give to nvcc, and that this one does not have."""
    farm: Farm | None = None
    """Where ``nvcc``, ``root`` and the folders above lie in a farm: what has to be written before they exist."""


@dataclass(frozen=True)
class Architectures:
    """The requested set: which GPUs the build is for."""

    codes: tuple[Code, ...]
    """In canonical numeric order."""
    found_via: Origin
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Package:
    """What a package named in ``uses`` brings."""

    name: str
    include_dirs: tuple[str, ...] = ()
    library_dirs: tuple[str, ...] = ()
    runtime_library_dirs: tuple[str, ...] = ()
    """Relative to the site-packages folder, so that an installed extension finds them."""
    libraries: tuple[str, ...] = ()
    defines: tuple[str, ...] = ()
    """``{name}`` stands for the last part of the extension's name."""
    sources: tuple[str, ...] = ()
    """Sources compiled into each extension, absolute."""
    cxx_flags: tuple[str, ...] = ()
    cuda_flags: tuple[str, ...] = ()
    minimum_std: str = ""
    version: str = ""
    cuda: tuple[str, ...] = ()
    """Libraries of the toolkit that its own need, after ``CUDA::``."""
    needs_runtime: bool = False
    """Whether its libraries call the CUDA runtime, which then has to be linked."""
    requirement: str = ""
    """What the project must declare for its built files to load, '' where nothing is loaded of it."""
