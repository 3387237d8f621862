"""The build backend: setuptools' hooks, with ``-C cuda.*`` settings and the toolchain's wheels."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from os import PathLike
from typing import TypeAlias

from setuptools import build_meta as setuptools_backend

from setuptools_cuda.errors import BuildError
from setuptools_cuda.frontends.session import ConfigSettings, Session, open_session, without_ours
from setuptools_cuda.resolution.pip_step import plan_requirements

Folder: TypeAlias = "str | PathLike[str]"


@contextmanager
def _hook(config_settings: ConfigSettings | None) -> Iterator[Session]:
    """Run one hook: our errors leave it as SystemExit, which front-ends tell without a traceback."""
    with open_session(config_settings) as session:
        try:
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
    with _hook(config_settings):
        return setuptools_backend.build_wheel(wheel_directory, without_ours(config_settings), metadata_directory)


def build_editable(
    wheel_directory: Folder,
    config_settings: ConfigSettings | None = None,
    metadata_directory: Folder | None = None,
) -> str:
    """Build the editable wheel, and return its name (PEP 660)."""
    with _hook(config_settings):
        return setuptools_backend.build_editable(wheel_directory, without_ours(config_settings), metadata_directory)


def _with_toolchain(find: Callable[..., list[str]], config_settings: ConfigSettings | None) -> list[str]:
    with _hook(config_settings) as session:
        requirements = list(find(without_ours(config_settings)))
        for project in session.projects:
            requirements.extend(plan_requirements(project.load(), environment=project.environment))
        return list(dict.fromkeys(requirements))
