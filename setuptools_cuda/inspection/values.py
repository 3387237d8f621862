"""What an inspection finds. All frozen."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from setuptools_cuda.errors import Problem
from setuptools_cuda.resolution.values import Release

Kind = Literal["shared", "object", "executable", "archive", "cubin", "fatbin", "ptx", "ltoir"]
Linkage = Literal["static", "shared", "none"]


@dataclass(frozen=True)
class Cuobjdump:
    """NVIDIA's ``cuobjdump``, which reads device code."""

    path: Path
    release: Release
    version: str
    found_via: str
    """As 'the wheel nvidia-cuda-cuobjdump'."""


@dataclass(frozen=True)
class Image:
    """Code for one architecture: one entry of a fatbin, a cubin or a PTX file."""

    name: str
    """As 'sm_90a', 'compute_90' (PTX) or 'lto_90' (LTO-IR)."""
    size: int | None
    """Bytes, unpacked; None for LTO-IR, which cuobjdump does not unpack."""
    compressed: bool = False
    relocatable: bool = False
    """Whether it has to be linked before a driver loads it."""
    isa: tuple[int, int] | None = None
    """The version of PTX."""
    toolkit: Release | None = None
    """Who made machine code; None where the code does not say."""
    driver: Release | None = None
    """The oldest driver that loads it; None where that cannot be known."""
    undefined: frozenset[str] = frozenset()
    """Symbols of relocatable machine code that it does not define."""
    defined: frozenset[str] = frozenset()


@dataclass(frozen=True)
class File:
    """One file that holds device code, or that is linked with CUDA's libraries."""

    path: str
    """Below the wheel, or as it was given."""
    kind: Kind
    size: int
    images: tuple[Image, ...] = ()
    device_size: int | None = None
    """Bytes of the file that device code takes, as stored; None where that is not told."""
    cudart: Linkage | None = None
    """None where it is not decided (an object, an archive) or cannot be known."""
    needed: tuple[str, ...] = ()
    """Libraries of CUDA that it loads, as 'libcublas.so.13'."""
    runpath: tuple[str, ...] = ()
    problem: Problem | None = None
    """Why its device code could not be read: then :attr:`images` is empty."""

    @property
    def loadable(self) -> tuple[Image, ...]:
        """Return the images that count for a GPU: those that a driver loads, else those that are to be linked."""
        return tuple(image for image in self.images if not image.relocatable) or self.images

    @property
    def rdc(self) -> bool:
        """Return whether any of its code is relocatable."""
        return any(image.relocatable for image in self.images)


@dataclass(frozen=True)
class Inspection:
    """What is in one wheel or file."""

    path: str
    size: int
    wheel: bool
    tools: tuple[Cuobjdump, ...]
    """Those that read something."""
    files: tuple[File, ...]
    toolkit: str | None = None
    """The toolkit by our manifest, as '13.0.88'."""
    manifest: bool = False
    requires: tuple[str, ...] = ()
    """A wheel's ``Requires-Dist``."""
    notes: tuple[str, ...] = ()
    foreign: tuple[str, ...] = ()
    """Files of Windows and macOS in a wheel: they are not read."""

    @property
    def images(self) -> tuple[Image, ...]:
        """Return the images of all files that count for a GPU."""
        return tuple(image for file in self.files for image in file.loadable)


@dataclass(frozen=True)
class ElfFacts:
    """What the ELF part of a host file says."""

    kind: Kind
    needed: tuple[str, ...] = ()
    runpath: tuple[str, ...] = ()
    cudart: Linkage | None = None
    device_size: int | None = None


@dataclass(frozen=True)
class CubinFacts:
    """What the ELF part of a cubin says."""

    relocatable: bool
    maker: bytes
    """The bytes that tell who made it: equal bytes, equal maker."""
    family: str = ""
    """As '100f', where ptxas noted that; else ''."""
    undefined: frozenset[str] = frozenset()
    defined: frozenset[str] = frozenset()
