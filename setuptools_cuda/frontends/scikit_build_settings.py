"""Makes the settings for scikit-build-core of a project that has our table."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from setuptools_cuda import pipeline
from setuptools_cuda.config.pyproject import find_table, read_pyproject
from setuptools_cuda.environment import Environment, read_environment
from setuptools_cuda.errors import BuildError
from setuptools_cuda.frontends.cmake_project import (
    PACKAGE_FOLDER,
    CMakeBuild,
    find_missing_requirements,
    has_setuptools,
    load_cmake_project,
    resolve_cmake_build,
    write_toolkit,
)
from setuptools_cuda.frontends.cmake_words import OURS, name_as_cmake, with_names_of_cmake
from setuptools_cuda.frontends.scikit_build_defines import find_build_dir, list_defines, runs_cmake
from setuptools_cuda.frontends.scikit_build_folder import find_stale_folders, remove_cache
from setuptools_cuda.frontends.session import find_session

_OFF = frozenset({"off", "false"})
"""CMake adds no flags for architectures then (CMake manual, CMAKE_CUDA_ARCHITECTURES)."""


def make_settings(
    state: str, *, asks_requirements: bool, variables: Mapping[str, str], config_settings: Mapping[str, object]
) -> dict[str, Any]:
    """Return a table as ``[tool.scikit-build]``.

    Where scikit-build-core does not run CMake in ``state``, the table is checked alone.
    ``config_settings`` are those of ``-C``, for scikit-build-core. Raises SystemExit, so that
    front-ends show the text and no traceback.
    """
    root = Path.cwd()
    try:
        if find_table(root) is None:
            return {}
        environment = replace(read_environment(), variables=dict(variables), cwd=root)
        document = read_pyproject(root)
        building = runs_cmake(state, document, settings=config_settings, environment=environment)
        theirs = dict(_find_theirs(document, settings=config_settings, environment=environment))
        with _in_words_of_cmake(theirs):
            kept = find_build_dir(document, settings=config_settings, environment=environment) if building else None
            known = _Known(root, environment, theirs, build_dir=kept)
            return _make(known, building=building, asks=asks_requirements)
    except BuildError as error:
        raise SystemExit(str(error)) from None


@dataclass(frozen=True)
class _Known:
    """What is known before the table is read."""

    root: Path
    environment: Environment
    theirs: Mapping[str, str]
    build_dir: str | None
    """CMake's folder where it is kept, with placeholders of scikit-build-core's."""


@contextmanager
def _in_words_of_cmake(theirs: Mapping[str, str]) -> Iterator[None]:
    """Name what is wrong as the user has: by the variable of CMake's that was set."""
    try:
        yield
    except BuildError as error:
        raise BuildError(*(with_names_of_cmake(one, names=tuple(theirs)) for one in error.problems)) from None


def _find_theirs(
    document: Mapping[str, Any], *, settings: Mapping[str, object], environment: Environment
) -> Iterator[tuple[str, str]]:
    """Yield what the user says to CMake of what we would say."""
    for name, value in list_defines(document, settings=settings, environment=environment):
        if name in OURS and value.strip():
            yield name, value


def _make(known: _Known, *, building: bool, asks: bool) -> dict[str, Any]:
    root, theirs = known.root, known.theirs
    ours = {OURS[name]: value for name, value in theirs.items() if value.casefold() not in _OFF}
    environment = known.environment.with_variables(ours)
    # Under our own backend, with scikit-build-core's plugin of setuptools, settings reach us past both.
    session = find_session()
    request = pipeline.Request(root, environment, config_settings=dict(session.settings) if session else {})
    settings = load_cmake_project(request, has_setuptools=has_setuptools(root))
    if not building:
        return {}
    missing = find_missing_requirements(settings, request=request) if asks else ()
    if missing:
        return {"build": {"requires": list(missing)}}
    build = resolve_cmake_build(settings, request=request)
    if not asks:
        write_toolkit(build, request=request)
        forgotten = tuple(_forget_other_compilers(build, known=known))
        _tell(replace(build, notes=(*build.notes, *forgotten)), theirs=theirs)
    table: dict[str, Any] = {
        "cmake": {"define": dict(build.entries)},
        "env": {"SetuptoolsCuda_DIR": str(PACKAGE_FOLDER)},
    }
    if settings.project.jobs is not None:
        table["env"]["CMAKE_BUILD_PARALLEL_LEVEL"] = str(settings.project.jobs)
    return table


def _forget_other_compilers(build: CMakeBuild, *, known: _Known) -> Iterator[str]:
    """Make CMake begin anew in kept folders of another compiler; yield what to say of it."""
    if build.toolchain is None or known.build_dir is None:
        return
    toolchain = build.toolchain
    names = {"CMAKE_CUDA_COMPILER": toolchain.nvcc, "CMAKE_CUDA_HOST_COMPILER": toolchain.host_compiler.path}
    wanted = {name: {str(path), known.theirs.get(name, "")} for name, path in names.items()}
    wanted["CMAKE_CUDA_COMPILER_VERSION"] = {toolchain.version}
    for folder in find_stale_folders(known.build_dir, root=known.root, wanted=wanted):
        remove_cache(folder)
        yield f"{folder} is configured anew: it was made with another CUDA compiler"


def _tell(build: CMakeBuild, *, theirs: Mapping[str, str]) -> None:
    lines = [f"*** setuptools_cuda: {name_as_cmake(build.summary, names=tuple(theirs))}"]
    lines += [f"note: {note}" for note in build.notes]
    lines += [f"note: {name} is set for CMake: {value}" for name, value in theirs.items()]
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()
