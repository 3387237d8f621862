"""What CMake is told: a toolchain, architectures and the project's keys as variables of its cache. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from pathlib import PurePosixPath

from setuptools_cuda.config.model import CMakeProject, Flags, Override, Project, Settings, Target
from setuptools_cuda.config.placeholders import fill_placeholders, find_placeholders
from setuptools_cuda.config.tables import head_of
from setuptools_cuda.errors import Code, Problem
from setuptools_cuda.plan.options import launcher_of, profile_options
from setuptools_cuda.resolution.architecture_spellings import spell_bare, spell_for_cmake, spell_for_torch
from setuptools_cuda.resolution.cuda_libraries import check_cuda_library
from setuptools_cuda.resolution.values import Architectures, Toolchain

COMPILER = "CMAKE_CUDA_COMPILER"
NOT_FOUND = "NOTFOUND"
"""What CMake takes for a thing that was looked for and is not there (CMake manual, "if")."""
_LINKER_FLAGS = ("CMAKE_SHARED_LINKER_FLAGS", "CMAKE_MODULE_LINKER_FLAGS", "CMAKE_EXE_LINKER_FLAGS")
_RUNTIMES = {"static": "Static", "shared": "Shared", "none": "None"}
_INSTEAD: Mapping[str, str] = {
    "extension": "build it in CMakeLists.txt, as with nanobind_add_module() or Python_add_library()",
    "library": "build it in CMakeLists.txt, with add_library()",
    "kernel-module": "build it in CMakeLists.txt: find_package(SetuptoolsCuda), setuptools_cuda_add_kernel_module()",
    "override": "say it in CMakeLists.txt, by properties of targets and sources",
}


def as_cmake_project(settings: Settings, *, name: str) -> Settings:
    """Return settings with one target more: what CMake builds, which needs nvcc and the libraries of ``cmake.link``."""
    where = "tool.setuptools-cuda.cmake"
    project = CMakeProject(where=where, name=name, link=settings.cmake.link, cudart=settings.project.cudart)
    return replace(settings, extensions=(*settings.extensions, project))


def check_cmake_settings(settings: Settings) -> list[Problem]:
    """Return a problem for each library of ``cmake.link`` that CUDA does not have."""
    where = "tool.setuptools-cuda.cmake.link"
    found = (check_cuda_library(name, where=where) for name in settings.cmake.link)
    return [problem for problem in found if problem is not None]


def refuse_unserved(settings: Settings) -> list[Problem]:
    """Return a problem for each table and key that means nothing to CMake."""
    why = ("why", "CMake builds this project, and reads nothing of the kind from the table")
    groups: dict[str, Sequence[Target | Override]] = {
        "extension": settings.extensions,
        "library": settings.libraries,
        "kernel-module": settings.kernel_modules,
        "override": settings.overrides,
    }
    problems = [
        Problem(
            Code.NOT_AVAILABLE,
            f"{head_of(name)} is not for a project that CMake builds",
            where=one.where,
            details=(why,),
            fix=(_INSTEAD[name],),
        )
        for name, group in groups.items()
        for one in group
        if not isinstance(one, CMakeProject)
    ]
    if settings.project.uses:
        packages = ", ".join(settings.project.uses)
        problems.append(
            Problem(
                Code.NOT_AVAILABLE,
                f"'uses' ({packages}) is not for a project that CMake builds",
                where="tool.setuptools-cuda.uses",
                details=(why,),
                fix=(
                    "find the package in CMakeLists.txt, with find_package(),",
                    "and name it at a kernel module that needs it: setuptools_cuda_add_kernel_module(... USES ...)",
                ),
            )
        )
    return problems


def plan_cache_entries(
    settings: Settings, *, toolchain: Toolchain, architectures: Architectures, environment_flags: Flags
) -> dict[str, str]:
    """Return the variables for CMake's cache, those of the table's ``cmake.define`` last, where they win.

    ``environment_flags`` are those of the variables that CMake reads by itself, where no variable
    of its cache says something else.
    """
    project = settings.project
    return {
        COMPILER: str(toolchain.nvcc),
        "CMAKE_CUDA_HOST_COMPILER": str(toolchain.host_compiler.path),
        "CMAKE_CUDA_ARCHITECTURES": spell_for_cmake(architectures.codes),
        "CUDAToolkit_ROOT": str(toolchain.root),
        **dict(_standards(project)),
        **dict(_launchers(project, toolchain=toolchain)),
        **dict(_flags(settings, toolchain=toolchain, environment_flags=environment_flags)),
        **({"CMAKE_CUDA_RUNTIME_LIBRARY": _RUNTIMES[project.cudart]} if project.cudart else {}),
        **_fill(settings, values=_placeholder_values(toolchain, architectures)),
    }


def plan_entries_without_cuda(settings: Settings) -> tuple[dict[str, str], tuple[str, ...]]:
    """Return the variables where there is no toolkit and none is required, and the names of those left out."""
    entries = settings.cmake.define.entries
    lost = tuple(name for name, text in entries if find_placeholders(text))
    return {COMPILER: NOT_FOUND, **{name: text for name, text in entries if name not in lost}}, lost


def _fill(settings: Settings, *, values: Mapping[str, str]) -> dict[str, str]:
    return {name: fill_placeholders(text, values=values) for name, text in settings.cmake.define.entries}


def _placeholder_values(toolchain: Toolchain, architectures: Architectures) -> dict[str, str]:
    return {
        "architectures:cmake": spell_for_cmake(architectures.codes),
        "architectures:torch": spell_for_torch(architectures.codes),
        "architectures:bare": spell_bare(architectures.codes),
        "cuda-major": str(toolchain.release.major),
        "cuda-minor": str(toolchain.release.minor),
    }


def _standards(project: Project) -> Iterator[tuple[str, str]]:
    if project.std:
        number = project.std.removeprefix("c++")
        yield from (("CMAKE_CXX_STANDARD", number), ("CMAKE_CUDA_STANDARD", number))


def _launchers(project: Project, *, toolchain: Toolchain) -> Iterator[tuple[str, str]]:
    """Yield the launchers: the key's for all languages, else what stands before nvcc in its variable."""
    words = ";".join(launcher_of(project, toolchain=toolchain))
    languages = ("C", "CXX", "CUDA") if project.launcher else ("CUDA",)
    if words:
        yield from ((f"CMAKE_{language}_COMPILER_LAUNCHER", words) for language in languages)


def _flags(settings: Settings, *, toolchain: Toolchain, environment_flags: Flags) -> Iterator[tuple[str, str]]:
    """Yield flags by language, where the table gives any; those of the environment follow, as everywhere."""
    project = settings.project
    folders = (PurePosixPath(settings.root.as_posix(), folder) for folder in project.include_dirs)
    common = (*(f"-I{folder}" for folder in folders), *(f"-D{define}" for define in project.defines))
    compress = (f"--compress-mode={project.compress}",) if project.compress else ()
    own = Flags(
        cuda=(*common, *compress, *profile_options(project, lacks=toolchain.lacks), *project.flags.cuda),
        cxx=(*common, *project.flags.cxx),
        c=(*common, *project.flags.c),
        link=project.flags.link,
    )
    every = own + environment_flags
    languages = (("CUDA", own.cuda, every.cuda), ("CXX", own.cxx, every.cxx), ("C", own.c, every.c))
    yield from ((f"CMAKE_{name}_FLAGS", shlex.join(words)) for name, given, words in languages if given)
    if own.link:
        yield from ((name, shlex.join(every.link)) for name in _LINKER_FLAGS)
