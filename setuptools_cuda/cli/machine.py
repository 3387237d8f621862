"""What a look at this machine finds: GPU and driver, versions of tools, folders. Nothing is changed."""

from __future__ import annotations

import importlib.metadata
import os
import platform
from pathlib import Path

from setuptools_cuda import __version__
from setuptools_cuda.cli.diagnosis import Folder, Machine, PtxFit, Version
from setuptools_cuda.environment import Environment
from setuptools_cuda.errors import BuildError
from setuptools_cuda.resolution.catalogue import find_facts
from setuptools_cuda.resolution.driver import Driver, find_driver
from setuptools_cuda.resolution.gpu import find_gpus
from setuptools_cuda.resolution.programs import find_program
from setuptools_cuda.resolution.values import Release
from setuptools_cuda.stage.drivers import ptx_driver, toolkit_isa

DISTRIBUTIONS = ("pip", "setuptools", "scikit-build-core", "ninja")
LAUNCHERS = ("ccache", "sccache")


def find_machine() -> Machine:
    """Return GPUs and driver of this machine."""
    try:
        return Machine(find_gpus(), "", find_driver())
    except BuildError as error:
        said = (text if text.startswith(label) else f"{label}: {text}" for label, text in error.problems[0].details)
        return Machine((), "; ".join(said), find_driver())


def find_ptx_fit(release: Release, *, driver: Driver | None) -> PtxFit:
    """Return whether ``driver`` translates the PTX that a toolkit of ``release`` writes."""
    facts = find_facts(release)
    isa = facts.ptx_isa if facts else toolkit_isa(release)
    return PtxFit(release, isa, ptx_driver(isa), driver.cuda if driver else None)


def find_versions(environment: Environment) -> tuple[Version, ...]:
    """Return the versions of Python, of ourselves, and of the build tools of this environment."""
    own = (
        Version(platform.python_implementation(), platform.python_version()),
        Version("setuptools_cuda", __version__),
    )
    return (*own, *(Version(name, _find_version(name, environment=environment)) for name in DISTRIBUTIONS))


def _find_version(name: str, *, environment: Environment) -> str:
    found = importlib.metadata.distributions(name=name, path=list(environment.search_path))
    return next((each.version for each in found), "")


def find_launchers(environment: Environment) -> tuple[tuple[str, Path | None], ...]:
    """Return the compiler caches, and where each is on PATH."""
    return tuple((name, find_program(name, environment=environment)) for name in LAUNCHERS)


def find_folder(path: Path) -> Folder:
    """Return what there is of a build folder, and whether it can be written to or made."""
    parent = next((each for each in (path, *path.parents) if each.exists()), path)
    return Folder(path, path.is_dir(), _measure(path), os.access(parent, os.W_OK))


def _measure(path: Path) -> int:
    """Return the bytes of the files below ``path``; what cannot be read counts as nothing."""
    return sum(_size(Path(folder, name)) for folder, _, names in os.walk(path) for name in names)


def _size(file: Path) -> int:
    try:
        return file.lstat().st_size
    except OSError:
        return 0
