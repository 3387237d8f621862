"""Makes the settings for scikit-build-core of a project that has our table."""

from __future__ import annotations

import shlex
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
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
from setuptools_cuda.frontends.session import find_session

# What of CMake's a user may set by scikit-build-core's own words, and the variable that says it to us.
_OURS: Mapping[str, str] = {
    "CMAKE_CUDA_COMPILER": "SETUPTOOLS_CUDA_NVCC",
    "CMAKE_CUDA_HOST_COMPILER": "SETUPTOOLS_CUDA_HOST_COMPILER",
    "CMAKE_CUDA_ARCHITECTURES": "SETUPTOOLS_CUDA_ARCHITECTURES",
}


def make_settings(*, building: bool, asks_requirements: bool, variables: Mapping[str, str]) -> dict[str, Any]:
    """Return a table as ``[tool.scikit-build]``.

    ``building`` says that a wheel is made, or asked about; otherwise the table is checked alone.
    Raises SystemExit, so that front-ends show the text and no traceback.
    """
    root = Path.cwd()
    try:
        if find_table(root) is None:
            return {}
        return _make(root, building=building, asks_requirements=asks_requirements, variables=variables)
    except BuildError as error:
        raise SystemExit(str(error)) from None


def _make(root: Path, *, building: bool, asks_requirements: bool, variables: Mapping[str, str]) -> dict[str, Any]:
    document = read_pyproject(root)
    environment = replace(read_environment(), variables=dict(variables), cwd=root)
    theirs = dict(_list_theirs(document, environment=environment))
    environment = environment.with_variables({_OURS[name]: value for name, value in theirs.items()})
    # Under our own backend, with scikit-build-core's plugin of setuptools, settings reach us past both.
    session = find_session()
    request = pipeline.Request(root, environment, config_settings=dict(session.settings) if session else {})
    settings = load_cmake_project(request, has_setuptools=has_setuptools(root))
    if not building:
        return {}
    missing = find_missing_requirements(settings, request=request) if asks_requirements else ()
    if missing:
        return {"build": {"requires": list(missing)}}
    build = resolve_cmake_build(settings, request=request)
    if not asks_requirements:
        write_toolkit(build, request=request)
        _tell(build, theirs=theirs)
    table: dict[str, Any] = {
        "cmake": {"define": dict(build.entries)},
        "env": {"SetuptoolsCuda_DIR": str(PACKAGE_FOLDER)},
    }
    if settings.project.jobs is not None:
        table["env"]["CMAKE_BUILD_PARALLEL_LEVEL"] = str(settings.project.jobs)
    return table


def _list_theirs(document: Mapping[str, Any], *, environment: Environment) -> Iterator[tuple[str, str]]:
    """Yield what the user says to CMake in other words than ours: what comes later wins there.

    ``-C cmake.define.NAME=`` is not among it, which scikit-build-core shows to nobody: it wins in CMake alone.
    """
    table: Any = document.get("tool", {})
    for name in ("scikit-build", "cmake", "define"):
        table = table.get(name, {}) if isinstance(table, Mapping) else {}
    given = [(str(name), value) for name, value in table.items()] if isinstance(table, Mapping) else []
    pairs = (environment.get("SKBUILD_CMAKE_DEFINE") or "").split(";")
    words = shlex.split(environment.get("CMAKE_ARGS") or "")
    pairs += [word.removeprefix("-D") for word in words if word.startswith("-D")]
    for pair in pairs:
        name, equals, value = pair.partition("=")
        given += [(name.partition(":")[0], value)] if equals else []
    yield from ((name, value) for name, value in given if name in _OURS and isinstance(value, str) and value.strip())


def _tell(build: CMakeBuild, *, theirs: Mapping[str, str]) -> None:
    lines = [f"*** setuptools_cuda: {build.summary}"]
    lines += [f"note: {note}" for note in build.notes]
    lines += [f"note: {name} is set by the project: {value}" for name, value in theirs.items()]
    sys.stdout.write("".join(f"{line}\n" for line in lines))
    sys.stdout.flush()
