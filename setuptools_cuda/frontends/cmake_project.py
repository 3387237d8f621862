"""A project that CMake builds: what CMake is told, and what pip is asked for."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from setuptools_cuda import pipeline
from setuptools_cuda.config.model import Settings
from setuptools_cuda.config.pyproject import find_table, read_pyproject
from setuptools_cuda.errors import raise_if_any
from setuptools_cuda.plan.cmake import (
    as_cmake_project,
    check_cmake_settings,
    plan_cache_entries,
    plan_entries_without_cuda,
    refuse_unserved,
)
from setuptools_cuda.resolution.architecture_codes import describe_codes
from setuptools_cuda.resolution.farm import write_farm
from setuptools_cuda.resolution.pip_step import plan_requirements
from setuptools_cuda.resolution.toolchain import resolve_toolchain
from setuptools_cuda.resolution.values import Toolchain
from setuptools_cuda.resolution.variables import read_environment_flags
from setuptools_cuda.stage.copy import stage_files

_SETUPTOOLS_FRONTS = ("scikit_build_core.setuptools.build_meta", "setuptools.build_meta", "setuptools_cuda.build_meta")
PACKAGE_FOLDER = Path(__file__).parent / "cmake"
"""The folder of ``SetuptoolsCudaConfig.cmake``."""


@dataclass(frozen=True)
class CMakeBuild:
    """What a CMake build of a project is told."""

    entries: Mapping[str, str]
    """Variables for CMake's cache."""
    toolchain: Toolchain | None
    """None where none is found, and the project does without."""
    summary: str
    notes: tuple[str, ...]


def load_project(request: pipeline.Request) -> Settings:
    """Return the settings of any project, with what CMake builds among the targets where it does. Raises BuildError."""
    if find_table(request.root) is None or not is_built_by_cmake(request.root):
        return pipeline.load(request)
    return load_cmake_project(request, has_setuptools=has_setuptools(request.root))


def is_built_by_cmake(root: Path) -> bool:
    """Return whether the build of the project in ``root`` asks for scikit-build-core. Raises BuildError."""
    requirements = _read_build_system(root).get("requires", ())
    return any(re.match(r"scikit[-_.]build[-_.]core\b", str(one), re.IGNORECASE) for one in requirements)


def has_setuptools(root: Path) -> bool:
    """Return whether setuptools builds the project in ``root``, alone or beside CMake. Raises BuildError."""
    return _read_build_system(root).get("build-backend", "setuptools.build_meta") in _SETUPTOOLS_FRONTS


def brings_toolkit(root: Path) -> bool:
    """Return whether an isolated build of the project in ``root`` gets a toolkit by itself. Raises BuildError."""
    backend = _read_build_system(root).get("build-backend", "")
    return backend == "setuptools_cuda.build_meta" or is_built_by_cmake(root)


def _read_build_system(root: Path) -> Mapping[str, Any]:
    system = read_pyproject(root).get("build-system", {})
    return system if isinstance(system, Mapping) else {}


def load_cmake_project(request: pipeline.Request, *, has_setuptools: bool) -> Settings:
    """Return the settings, with what CMake builds as one more target.

    ``has_setuptools`` says that setuptools builds beside CMake, and serves the targets of the
    table. Raises BuildError, also for what nobody would serve.
    """
    settings = pipeline.load(request)
    refused = () if has_setuptools else refuse_unserved(settings)
    raise_if_any((*refused, *check_cmake_settings(settings)))
    project = read_pyproject(request.root).get("project", {})
    name = str(project.get("name", request.root.name)) if isinstance(project, Mapping) else request.root.name
    return as_cmake_project(settings, name=name)


def find_missing_requirements(settings: Settings, *, request: pipeline.Request) -> tuple[str, ...]:
    """Return what pip has to bring before the project can be built. Raises BuildError."""
    return plan_requirements(settings, environment=request.environment)


def resolve_cmake_build(settings: Settings, *, request: pipeline.Request) -> CMakeBuild:
    """Return what CMake is told. Nothing is written. Raises BuildError where there is no toolchain."""
    found = pipeline.find_facts(settings, request=request)
    if found is None:
        if settings.project.required:
            # It has failed before, and tells now what it looked at.
            resolve_toolchain(settings, environment=request.environment, build_dir=request.build_folder)
        entries, lost = plan_entries_without_cuda(settings)
        notes = tuple(f"{name} is left out: it has a placeholder, and there is no toolkit" for name in lost)
        return CMakeBuild(entries, None, "no CUDA toolkit: CMake is told that there is no CUDA compiler", notes)
    toolchain, architectures = found
    flags = read_environment_flags(request.environment, c=(), cxx=(), link=())
    entries = plan_cache_entries(settings, toolchain=toolchain, architectures=architectures, environment_flags=flags)
    summary = f"CUDA {toolchain.version} ({toolchain.found_via.text}), {describe_codes(architectures.codes)}"
    notes = (*settings.warnings, *toolchain.notes, *architectures.notes)
    return CMakeBuild(entries, toolchain, summary, notes)


def write_toolkit(build: CMakeBuild, *, request: pipeline.Request) -> None:
    """Write the links that a toolkit of wheels needs, and keep them out of sdists. Raises BuildError."""
    if build.toolchain is None or build.toolchain.farm is None:
        return
    compiler = build.toolchain.host_compiler.path
    write_farm(build.toolchain.farm, host_compiler=compiler, environment=request.environment)
    # scikit-build-core packs what no .gitignore names.
    stage_files({".gitignore": b"*\n"}, into=request.build_folder)
