"""The build backend: setuptools' hooks, with ``-C cuda.*`` settings and the toolchain's wheels."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from os import PathLike
from pathlib import Path
from typing import TypeAlias

from setuptools import build_meta as setuptools_backend

from setuptools_cuda.config.pyproject import find_table
from setuptools_cuda.errors import BuildError, Code, Problem
from setuptools_cuda.frontends.session import ConfigSettings, Session, open_session, without_ours
from setuptools_cuda.plan.cmake import as_cmake_project
from setuptools_cuda.resolution.pip_step import plan_requirements

NOTHING_ASKED = (
    "the build backend is setuptools_cuda.build_meta, but pyproject.toml has no [tool.setuptools-cuda], and no "
    "extension has a .cu source: nothing is compiled by nvcc"
)
Folder: TypeAlias = "str | PathLike[str]"


@contextmanager
def _hook(config_settings: ConfigSettings | None) -> Iterator[Session]:
    """Run one hook: our errors leave it as SystemExit, which front-ends tell without a traceback."""
    try:
        with open_session(config_settings) as session:
            yield session
    except BuildError as error:
        raise SystemExit(str(error)) from None


def get_requires_for_build_sdist(config_settings: ConfigSettings | None = None) -> list[str]:
    """Return setuptools' requirements: nothing of CUDA is needed for an sdist (PEP 517)."""
    with _hook(config_settings):
        return setuptools_backend.get_requires_for_build_sdist(without_ours(config_settings))


def get_requires_for_build_wheel(config_settings: ConfigSettings | None = None) -> list[str]:
    """Return setuptools' requirements, and the wheels of a toolchain where none is found (PEP 517)."""
    return _with_toolchain(setuptools_backend.get_requires_for_build_wheel, config_settings)


def get_requires_for_build_editable(config_settings: ConfigSettings | None = None) -> list[str]:
    """Return the same as for a wheel (PEP 660)."""
    return _with_toolchain(setuptools_backend.get_requires_for_build_editable, config_settings)


def prepare_metadata_for_build_wheel(metadata_directory: Folder, config_settings: ConfigSettings | None = None) -> str:
    """Write the metadata, and return the name of its folder (PEP 517). No CUDA is looked for."""
    with _hook(config_settings):
        return setuptools_backend.prepare_metadata_for_build_wheel(metadata_directory, without_ours(config_settings))


def prepare_metadata_for_build_editable(
    metadata_directory: Folder, config_settings: ConfigSettings | None = None
) -> str:
    """Write the metadata, and return the name of its folder (PEP 660). No CUDA is looked for."""
    with _hook(config_settings):
        return setuptools_backend.prepare_metadata_for_build_editable(metadata_directory, without_ours(config_settings))


def build_sdist(sdist_directory: Folder, config_settings: ConfigSettings | None = None) -> str:
    """Build the sdist, and return its name (PEP 517)."""
    with _hook(config_settings):
        return setuptools_backend.build_sdist(sdist_directory, without_ours(config_settings))


def build_wheel(
    wheel_directory: Folder,
    config_settings: ConfigSettings | None = None,
    metadata_directory: Folder | None = None,
) -> str:
    """Build the wheel, and return its name (PEP 517)."""
    with _hook(config_settings) as session:
        name = setuptools_backend.build_wheel(wheel_directory, without_ours(config_settings), metadata_directory)
        return _made_with_us(name, folder=wheel_directory, session=session)


def build_editable(
    wheel_directory: Folder,
    config_settings: ConfigSettings | None = None,
    metadata_directory: Folder | None = None,
) -> str:
    """Build the editable wheel, and return its name (PEP 660)."""
    with _hook(config_settings) as session:
        name = setuptools_backend.build_editable(wheel_directory, without_ours(config_settings), metadata_directory)
        return _made_with_us(name, folder=wheel_directory, session=session)


def _made_with_us(name: str, *, folder: Folder, session: Session) -> str:
    """Return ``name``, unless setuptools never called us: a wheel without what the table asks for is no success."""
    if session.projects:
        return name
    if find_table(Path.cwd()) is None:
        sys.stderr.write(f"warning: {NOTHING_ASKED}\n")
        return name
    Path(folder, name).unlink(missing_ok=True)
    raise BuildError(
        Problem(
            Code.NOT_AVAILABLE,
            "setuptools did not call setuptools_cuda, so the wheel would lack all that the table asks for",
            details=(("why", "its entry points are not installed: it was only put on sys.path"),),
            fix=("install the distribution setuptools-cuda-build into the build environment",),
        )
    )


def _with_toolchain(find: Callable[..., list[str]], config_settings: ConfigSettings | None) -> list[str]:
    with _hook(config_settings) as session:
        requirements = list(find(without_ours(config_settings)))
        for project in session.projects:
            settings = project.load()
            needs = as_cmake_project(settings, name=str(project.dist.get_name())) if project.has_cmake else settings
            requirements.extend(plan_requirements(needs, environment=project.environment))
        return list(dict.fromkeys(requirements))
