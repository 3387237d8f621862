"""A small package with CUDA in it: an extension, a static library and a kernel module.

The operations take any one-dimensional buffer of float32, such as ``array.array("f")`` or a
NumPy array. They run on the GPU if there is one and on the CPU if there is none, and say which.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sample_pkg import _native

__version__ = "0.1.0"
__all__ = ["Device", "block_sum", "find_device", "include_dir", "library_dir", "saxpy", "why_no_device"]


@dataclass(frozen=True)
class Device:
    """A GPU. ``driver`` is the newest CUDA release that its driver serves, as 13000 for 13.0."""

    name: str
    capability: tuple[int, int]
    driver: int


def saxpy(a: float, x: Any, y: Any) -> str:
    """Add ``a * x`` to ``y`` in place and return where that was done, "gpu" or "cpu"."""
    return _native.saxpy(a, x, y)


def block_sum(x: Any) -> tuple[float, str]:
    """Return the sum of ``x`` and where it was added up, "gpu" or "cpu"."""
    return _native.block_sum(x)


def find_device() -> Device | None:
    """Return the current GPU, or None without a GPU or a driver that fits."""
    name, capability, driver, _ = _native.find_device()
    return None if name is None or capability is None else Device(name, capability, driver)


def why_no_device() -> str:
    """Return why :func:`find_device` finds none, or an empty text if it finds one."""
    return _native.find_device()[3]


def include_dir() -> Path:
    """Return the folder of the C++ headers, for ``-I``."""
    return Path(__file__).parent / "include"


def library_dir() -> Path:
    """Return the folder of ``libsample.a``, for ``-L``."""
    return Path(__file__).parent / "lib"
