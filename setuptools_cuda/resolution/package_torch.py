"""PyTorch: headers, libraries and definitions, read from its files. It is never imported."""

from __future__ import annotations

import re

from setuptools_cuda.environment import Environment
from setuptools_cuda.errors import Problem
from setuptools_cuda.resolution.package_site import Installed, find_installed
from setuptools_cuda.resolution.values import Package, Release

# What torch.utils.cpp_extension gives nvcc: its headers bring operators of half types themselves.
_CUDA_FLAGS = (
    "-D__CUDA_NO_HALF_OPERATORS__",
    "-D__CUDA_NO_HALF_CONVERSIONS__",
    "-D__CUDA_NO_BFLOAT16_CONVERSIONS__",
    "-D__CUDA_NO_HALF2_OPERATORS__",
    "--expt-relaxed-constexpr",
)
_LIBRARIES = ("c10", "torch", "torch_cpu", "torch_python")
_CUDA_LIBRARIES = ("c10_cuda", "torch_cuda")
_CONFIG = "share/cmake/Torch/TorchConfig.cmake"


def find_torch(environment: Environment) -> Package | Problem:
    """Return what an extension against PyTorch needs.

    The language standard and, in older releases, the C++ ABI stand in ``TorchConfig.cmake``.
    """
    found = _find(environment)
    if isinstance(found, Problem):
        return found
    config = found.read_text(_CONFIG)
    std = re.search(r"CXX_STANDARD\s+(\d+)", config)
    abi = re.search(r"_GLIBCXX_USE_CXX11_ABI=[01]", config)
    cuda = _CUDA_LIBRARIES if _read_cuda(found) is not None else ()
    return Package(
        "torch",
        include_dirs=found.list_folders("include", "include/torch/csrc/api/include"),
        library_dirs=found.list_folders("lib"),
        runtime_library_dirs=("torch/lib",),
        libraries=(*_LIBRARIES, *cuda),
        defines=("TORCH_API_INCLUDE_EXTENSION_H", "TORCH_EXTENSION_NAME={name}", *([abi[0]] if abi else [])),
        cuda_flags=_CUDA_FLAGS,
        minimum_std=f"c++{std[1]}" if std else "c++17",
        version=_read_version(found),
    )


def find_torch_cuda(environment: Environment) -> Release | None:
    """Return the CUDA release that the installed PyTorch was built with, or None."""
    found = _find(environment)
    return None if isinstance(found, Problem) else _read_cuda(found)


def _find(environment: Environment) -> Installed | Problem:
    markers = ("include/torch/csrc/api/include/torch/torch.h",)
    return find_installed("torch", markers=markers, distributions=("torch",), environment=environment)


def _read_version(found: Installed) -> str:
    version = re.search(r"^__version__\s*=\s*['\"]([^'\"]+)['\"]", found.read_text("version.py"), re.MULTILINE)
    return version[1] if version else found.version


def _read_cuda(found: Installed) -> Release | None:
    text = found.read_text("version.py")
    cuda = re.search(r"^cuda\s*(?::[^=\n]*)?=\s*['\"](\d+)\.(\d+)", text, re.MULTILINE)
    return Release(int(cuda[1]), int(cuda[2])) if cuda else None
