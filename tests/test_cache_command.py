"""The command ``setuptools-cuda cache``."""

from __future__ import annotations

import argparse
import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from engine_support import c_project

from setuptools_cuda.cli import cache as command
from setuptools_cuda.cli.cache import show_size
from setuptools_cuda.environment import Environment
from setuptools_cuda.errors import BuildError, Exit


def run(root: Path, variables: Mapping[str, str], *words: str) -> Exit:
    parser = argparse.ArgumentParser()
    command.add_parser(parser.add_subparsers())
    arguments = parser.parse_args(["cache", *words])
    status = arguments.run(arguments, Environment(dict(variables), root))
    assert isinstance(status, Exit)
    return status


@pytest.fixture
def variables(tmp_path: Path, bare_environment: Mapping[str, str]) -> Mapping[str, str]:
    cached = {"SETUPTOOLS_CUDA_CACHE": str(tmp_path / "cache")}
    project = c_project(tmp_path, {**bare_environment, **cached})
    project.variables.update(cached)
    project.build()
    return project.variables


def test_show_is_what_it_does_by_itself(
    tmp_path: Path, variables: Mapping[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    assert run(tmp_path, variables) is Exit.GOOD
    said = capsys.readouterr().out.splitlines()
    assert said[0] == str(tmp_path / "cache")
    assert said[1].startswith("holds 3 entries, ")
    assert said[1].endswith("; may hold 5.0 GiB")
    run(tmp_path, variables, "show", "--json")
    facts = json.loads(capsys.readouterr().out)
    assert (facts["version"], facts["entries"], facts["limit"]) == (1, 3, 5 * 2**30)
    assert facts["folder"] == str(tmp_path / "cache")


def test_clear(tmp_path: Path, variables: Mapping[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    run(tmp_path, variables, "clear")
    assert "removed 3 entries" in capsys.readouterr().out
    run(tmp_path, variables)
    assert "holds 0 entries, 0 B" in capsys.readouterr().out


def test_limit(tmp_path: Path, variables: Mapping[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    run(tmp_path, variables, "limit", "2 GiB")
    assert "may hold 2.0 GiB" in capsys.readouterr().out
    run(tmp_path, variables, "limit", "1 kB")
    assert "holds 0 entries" in capsys.readouterr().out
    with pytest.raises(BuildError, match="limit needs a size"):
        run(tmp_path, variables, "limit")
    for wrong in ("much", "0", "10"):
        with pytest.raises(SystemExit):
            run(tmp_path, variables, "limit", wrong)


def test_settings_count(tmp_path: Path, variables: Mapping[str, str], capsys: pytest.CaptureFixture[str]) -> None:
    run(tmp_path, variables, "-C", "cuda.cache=off")
    assert capsys.readouterr().out == "the cache is off\n"
    run(tmp_path, variables, "-C", "cuda.cache=off", "--json")
    assert json.loads(capsys.readouterr().out)["folder"] is None
    run(tmp_path, variables, "-C", "cuda.cache=elsewhere")
    assert capsys.readouterr().out.startswith(f"{tmp_path / 'elsewhere'}\nholds 0 entries")


@pytest.mark.parametrize(
    ("size", "shown"),
    [(0, "0 B"), (1023, "1023 B"), (1024, "1.0 KiB"), (5 << 30, "5.0 GiB"), (1 << 60, "1048576.0 TiB")],
)
def test_sizes(size: int, shown: str) -> None:
    assert show_size(size) == shown
