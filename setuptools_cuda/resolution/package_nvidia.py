"""cuDNN, NCCL and CUTLASS from NVIDIA's wheels.

The wheels of cuDNN and NCCL for CUDA 12 and 13 lie in the same folders, and hold
``libcudnn.so.9`` without the unversioned link, so that a linker takes the file by its name.
"""

from __future__ import annotations

import re

from setuptools_cuda.environment import Environment
from setuptools_cuda.errors import Problem
from setuptools_cuda.resolution.package_site import Installed, find_installed
from setuptools_cuda.resolution.values import Package

_MAJORS = ("cu13", "cu12")


def find_cudnn(environment: Environment) -> Package | Problem:
    """Return cuDNN's headers and its library."""
    return _find_library("cudnn", header="cudnn.h", environment=environment)


def find_nccl(environment: Environment) -> Package | Problem:
    """Return NCCL's headers and its library."""
    return _find_library("nccl", header="nccl.h", environment=environment)


def find_cutlass(environment: Environment) -> Package | Problem:
    """Return CUTLASS's headers, those of its utilities included.

    CUTLASS needs C++17, and calls constexpr host functions from device code.
    """
    folder = "cutlass_library/source"
    markers = ("include/cutlass/cutlass.h",)
    found = find_installed(folder, markers=markers, distributions=("nvidia-cutlass",), environment=environment)
    if isinstance(found, Problem):
        return found
    return Package(
        "cutlass",
        include_dirs=found.list_folders("include", "tools/util/include"),
        cuda_flags=("--expt-relaxed-constexpr",),
        minimum_std="c++17",
        version=found.version,
    )


def find_cuda_major(name: str, *, environment: Environment) -> int | None:
    """Return the CUDA major release that the installed cuDNN or NCCL wheel is for, or None."""
    found = _find(name, header=f"{name}.h", environment=environment)
    major = None if isinstance(found, Problem) else re.search(r"-cu(\d+)$", found.distribution)
    return int(major[1]) if major and isinstance(found, Installed) and found.version else None


def _find(name: str, *, header: str, environment: Environment) -> Installed | Problem:
    distributions = [f"nvidia-{name}-{major}" for major in _MAJORS]
    markers = (f"include/{header}",)
    return find_installed(f"nvidia/{name}", markers=markers, distributions=distributions, environment=environment)


def _find_library(name: str, *, header: str, environment: Environment) -> Package | Problem:
    found = _find(name, header=header, environment=environment)
    if isinstance(found, Problem):
        return found
    return Package(
        name,
        include_dirs=found.list_folders("include"),
        library_dirs=found.list_folders("lib"),
        runtime_library_dirs=(f"nvidia/{name}/lib",),
        libraries=(_choose_link_name(found, name=name),),
        version=found.version,
    )


def _choose_link_name(found: Installed, *, name: str) -> str:
    """Return 'cudnn' where libcudnn.so is there, else the versioned file, as ':libcudnn.so.9'."""
    versioned = sorted(path.name for path in (found.folder / "lib").glob(f"lib{name}.so.*"))
    plain = (found.folder / "lib" / f"lib{name}.so").exists()
    return name if plain or not versioned else f":{versioned[0]}"
