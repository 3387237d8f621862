"""Helpers of the tests of the configuration."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from setuptools_cuda.config.load import parse_settings
from setuptools_cuda.config.model import Settings
from setuptools_cuda.environment import Environment
from setuptools_cuda.errors import BuildError, Problem
from setuptools_cuda.targets import Declared


def write_files(root: Path, *paths: str) -> Path:
    """Make empty files below ``root``; return it."""
    for path in paths:
        file = root / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_bytes(b"")
    return root


def load(
    table: Mapping[str, object],
    *,
    root: Path,
    variables: Mapping[str, str] | None = None,
    settings: Mapping[str, str | Sequence[str]] | None = None,
    declared: Sequence[Declared] = (),
) -> Settings:
    """Return the settings that ``table`` means in ``root``."""
    environment = Environment(variables=dict(variables or {}), cwd=root)
    return parse_settings(table, root=root, environment=environment, config_settings=settings, declared=declared)


def problems_of(
    table: Mapping[str, object],
    *,
    root: Path,
    variables: Mapping[str, str] | None = None,
    settings: Mapping[str, str | Sequence[str]] | None = None,
    declared: Sequence[Declared] = (),
) -> tuple[Problem, ...]:
    """Return what is wrong with ``table``; that nothing is wrong fails the test."""
    with pytest.raises(BuildError) as caught:
        load(table, root=root, variables=variables, settings=settings, declared=declared)
    return caught.value.problems


def told(problems: Sequence[Problem]) -> list[tuple[str, str]]:
    """Return the code and place of each problem."""
    return [(problem.code.slug, problem.where.removeprefix("tool.setuptools-cuda.")) for problem in problems]
