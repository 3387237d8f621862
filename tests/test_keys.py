"""Every key of the table has a test that shows its effect, and those that this release refuses say so."""

from __future__ import annotations

import importlib
from pathlib import Path

import pytest
from keys_support import HEAD, SHOWN, keys_installation, shows, write_demo
from setuptools_support import Installation

from setuptools_cuda.config.keys import ARRAYS, SCOPES, Key, Scope

EVERY = {f"{scope.name}.{name}": (scope, key) for scope in SCOPES for name, key in scope.keys.items()}
VALUES = {"text": '"x"', "texts": '["x"]', "choice": '"build"'}


def refused() -> list[tuple[str, str]]:
    """Return each key that is refused with a value, and each value of a key that is refused."""
    absent = [(name, VALUES[key.kind]) for name, (_, key) in EVERY.items() if not key.available]
    return absent + [
        (name, f'"{choice}"')
        for name, (_, key) in EVERY.items()
        if key.available
        for choice in key.choices
        if choice not in key.offered
    ]


REFUSED = refused()


def table_of(scope: Scope, key: Key, value: str) -> str:
    line = f"{key.name} = {value}\n"
    if scope not in ARRAYS:
        return line
    needed = f'{scope.required} = "demo.k"\nsources = ["k.cu"]\n' if scope.required else 'match = "k.cu"\n'
    return f"[[tool.setuptools-cuda.{scope.name}]]\n{needed}{line}"


@pytest.fixture(scope="session")
def installation(shared_folder: Path, our_wheel: Path) -> Installation:
    return keys_installation(shared_folder, our_wheel)


@shows(*dict.fromkeys(name for name, _ in REFUSED))
def test_what_is_not_in_this_release_is_refused_by_name(installation: Installation, tmp_path: Path) -> None:
    for name, value in REFUSED:
        scope, key = EVERY[name]
        files = {"pyproject.toml": HEAD + table_of(scope, key, value), "k.cu": "__global__ void k() {}\n"}
        done = installation.hook("build_wheel", write_demo(tmp_path, files))
        where = f"{scope.name}[0].{key.name}" if scope in ARRAYS else key.name
        assert done.status == 1
        assert f"error: tool.setuptools-cuda.{where}: " in done.output
        assert "is not in this release" in done.output
        assert "to fix  leave it out" in done.output or "to fix  write" in done.output


def test_every_key_has_a_test_that_shows_its_effect() -> None:
    for file in sorted(Path(__file__).parent.glob("test_keys_*.py")):
        importlib.import_module(file.stem)
    covered = {name for names in SHOWN.values() for name in names}
    assert sorted(covered) == sorted(EVERY)
