"""CUDA sources in Python packages.

The names below are loaded when they are first used: importing the package is cheap and needs
neither setuptools nor CUDA.
"""

from __future__ import annotations

import importlib

TYPE_CHECKING = False

if TYPE_CHECKING:
    from setuptools_cuda.builder import Builder, resolve
    from setuptools_cuda.errors import BuildError
    from setuptools_cuda.frontends.extension import CudaExtension
    from setuptools_cuda.targets import CudaLibrary, KernelModule

__version__ = "0.1.0"
__all__ = ["BuildError", "Builder", "CudaExtension", "CudaLibrary", "KernelModule", "__version__", "resolve"]

_HOMES = {
    "BuildError": "setuptools_cuda.errors",
    "Builder": "setuptools_cuda.builder",
    "resolve": "setuptools_cuda.builder",
    "CudaExtension": "setuptools_cuda.frontends.extension",
    "CudaLibrary": "setuptools_cuda.targets",
    "KernelModule": "setuptools_cuda.targets",
}


def __getattr__(name: str) -> object:
    if name in _HOMES:
        return getattr(importlib.import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
