"""Where installed packages lie: files and metadata on the search path, without any import."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from setuptools_cuda.environment import Environment
from setuptools_cuda.errors import Code, Problem
from setuptools_cuda.resolution.values import Package

Provider = Callable[[Environment], Package | Problem]
"""Gives what a package brings, or what is missing. It imports nothing of the package."""


def list_sites(environment: Environment) -> tuple[str, ...]:
    """Return the folders of the search path in which packages are installed, absolute."""
    every = dict.fromkeys(entry.rstrip("/") for entry in environment.search_path if entry.startswith("/"))
    return tuple(entry for entry in every if entry.endswith(("/site-packages", "/dist-packages")))


@dataclass(frozen=True)
class Installed:
    """A package's folder on the search path, and the version that its metadata says."""

    folder: Path
    version: str
    distribution: str

    def list_folders(self, *names: str) -> tuple[str, ...]:
        """Return those of the subfolders that exist, absolute."""
        return tuple(str(path) for name in names if (path := self.folder / name).is_dir())

    def read_text(self, name: str) -> str:
        """Return the text of a file of the package, '' where there is none."""
        path = self.folder / name
        return path.read_text("utf-8", "backslashreplace") if path.is_file() else ""


def find_installed(
    folder: str, *, markers: Sequence[str], distributions: Sequence[str], environment: Environment
) -> Installed | Problem:
    """Return the first ``folder`` on the search path that has one of the files ``markers``.

    ``distributions`` are the names under which it is installed, the usual one first. A problem
    says which of them to require, or that the one which is there lacks the files.
    """
    name, version = _find_distribution(distributions, environment=environment)
    for entry in environment.search_path:
        path = environment.cwd / entry / folder
        if any((path / marker).exists() for marker in markers):
            return Installed(path, version, name or distributions[0])
    if name:
        return _describe_incomplete(folder, name=name, version=version, markers=markers)
    return _describe_missing(distributions)


def _find_distribution(names: Sequence[str], *, environment: Environment) -> tuple[str, str]:
    path = [str(environment.cwd / entry) for entry in environment.search_path]
    for name in names:
        for distribution in importlib.metadata.distributions(name=name, path=path):
            return name, distribution.version
    return "", ""


def _describe_incomplete(folder: str, *, name: str, version: str, markers: Sequence[str]) -> Problem:
    return Problem(
        Code.UNKNOWN_PACKAGE,
        f"{name} {version} is installed, but brings no headers",
        details=(("looked for", ", ".join(f"{folder}/{marker}" for marker in markers)),),
        fix=(f"reinstall {name} from a wheel, not from an unfinished or editable build",),
    )


def _describe_missing(distributions: Sequence[str]) -> Problem:
    named = " or ".join(f'"{name}"' for name in distributions)
    return Problem(
        Code.UNKNOWN_PACKAGE,
        f"{distributions[0]} is not in the build environment",
        fix=(f"add {named} to build-system.requires (without build isolation: pip install it here too)",),
    )
