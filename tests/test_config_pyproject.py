from __future__ import annotations

from pathlib import Path

import pytest

from setuptools_cuda.config.pyproject import find_table
from setuptools_cuda.errors import BuildError, Code


def write(root: Path, content: bytes) -> Path:
    (root / "pyproject.toml").write_bytes(content)
    return root


def test_no_file_is_no_table(tmp_path: Path) -> None:
    assert find_table(tmp_path) is None


@pytest.mark.parametrize("content", [b"", b"[project]\nname='x'\n", b"[tool.other]\na=1\n"])
def test_a_file_without_the_table_is_no_table(tmp_path: Path, content: bytes) -> None:
    assert find_table(write(tmp_path, content)) is None


def test_an_empty_table_is_a_table(tmp_path: Path) -> None:
    assert find_table(write(tmp_path, b"[tool.setuptools-cuda]\n")) == {}


def test_the_table_is_read_as_utf8_with_any_line_end(tmp_path: Path) -> None:
    text = "[tool.setuptools-cuda]\r\nnvcc = 'größe/nvcc'\r\n"
    assert find_table(write(tmp_path, text.encode())) == {"nvcc": "größe/nvcc"}


@pytest.mark.parametrize(
    ("content", "where", "words"),
    [
        (b"[tool]\na = \n", "pyproject.toml:2", "not valid TOML"),
        (b"[tool]\na = 'x", "pyproject.toml:2", "not valid TOML"),
        (b"[tool]\n\na = '\xff'\n", "pyproject.toml:3", "not UTF-8: byte 0xff in line 3"),
        (b"a = " + b"[" * 100_000, "pyproject.toml", ""),
        (b"a = " + b"9" * 10_000, "pyproject.toml", "cannot be read"),
        (b"tool = 3\n", "pyproject.toml", "'tool' is not a table"),
    ],
)
def test_a_bad_file_names_its_line(tmp_path: Path, content: bytes, where: str, words: str) -> None:
    with pytest.raises(BuildError) as caught:
        find_table(write(tmp_path, content))
    (problem,) = caught.value.problems
    assert problem.code is Code.BAD_PYPROJECT
    assert problem.where.startswith(where)
    assert words in problem.what


def test_a_table_that_is_a_value_is_told(tmp_path: Path) -> None:
    with pytest.raises(BuildError) as caught:
        find_table(write(tmp_path, b"[tool]\nsetuptools-cuda = 3\n"))
    (problem,) = caught.value.problems
    assert (problem.code, problem.where) == (Code.WRONG_TYPE, "tool.setuptools-cuda")


def test_a_folder_in_its_place_is_told(tmp_path: Path) -> None:
    (tmp_path / "pyproject.toml").mkdir()
    with pytest.raises(BuildError, match="cannot be read"):
        find_table(tmp_path)


@pytest.mark.parametrize("name", ["setuptools_cuda", "setuptools-cuda-build"])
def test_a_table_that_is_named_after_the_package_is_told(tmp_path: Path, name: str) -> None:
    with pytest.raises(BuildError) as caught:
        find_table(write(tmp_path, f"[tool.{name}]\narchitectures = '90'\n".encode()))
    (problem,) = caught.value.problems
    assert (problem.code, problem.where) == (Code.UNKNOWN_KEY, f"tool.{name}")
    assert problem.fix == ("did you mean [tool.setuptools-cuda]?",)
