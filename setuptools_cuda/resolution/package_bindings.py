"""numpy, pybind11 and nanobind: what an extension needs to be compiled against them."""

from __future__ import annotations

from setuptools_cuda.environment import Environment
from setuptools_cuda.errors import Problem
from setuptools_cuda.resolution.package_site import find_installed
from setuptools_cuda.resolution.values import Package


def find_numpy(environment: Environment) -> Package | Problem:
    """Return numpy's headers: in ``_core`` since 2.0, in ``core`` before."""
    folders = ("_core/include", "core/include")
    markers = [f"{folder}/numpy/arrayobject.h" for folder in folders]
    found = find_installed("numpy", markers=markers, distributions=("numpy",), environment=environment)
    if isinstance(found, Problem):
        return found
    have = [folder for folder in folders if (found.folder / folder / "numpy").is_dir()]
    return Package("numpy", include_dirs=found.list_folders(*have[:1]), version=found.version)


def find_pybind11(environment: Environment) -> Package | Problem:
    """Return pybind11's headers.

    Hidden visibility is what its documentation ("Building manually") asks for. Its standard,
    C++11, is below the default of every compiler that CUDA takes, so that none is named.
    """
    markers = ("include/pybind11/pybind11.h",)
    found = find_installed("pybind11", markers=markers, distributions=("pybind11",), environment=environment)
    if isinstance(found, Problem):
        return found
    return Package(
        "pybind11",
        include_dirs=found.list_folders("include"),
        cxx_flags=_flags(environment, "-fvisibility=hidden"),
        version=found.version,
    )


def find_nanobind(environment: Environment) -> Package | Problem:
    """Return nanobind's headers and the one source of its core, compiled into each extension.

    The head of its ``src/nb_combined.cpp`` says how it is built without CMake.
    """
    markers = ("src/nb_combined.cpp",)
    found = find_installed("nanobind", markers=markers, distributions=("nanobind",), environment=environment)
    if isinstance(found, Problem):
        return found
    return Package(
        "nanobind",
        include_dirs=found.list_folders("include", "ext/robin_map/include"),
        sources=(str(found.folder / "src/nb_combined.cpp"),),
        cxx_flags=_flags(environment, "-fvisibility=hidden", "-fno-strict-aliasing"),
        minimum_std="c++17",
        version=found.version,
    )


def _flags(environment: Environment, *flags: str) -> tuple[str, ...]:
    """Return flags of gcc and clang, none for MSVC, whose defaults are these."""
    return () if environment.platform_system == "Windows" else flags
