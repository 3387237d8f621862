"""What a source includes, found by reading, since libNVRTC does not tell."""

from __future__ import annotations

from pathlib import Path

import pytest

from setuptools_cuda.execute.device_includes import find_includes


def found(root: Path, *options: str, told: tuple[str, ...] = ()) -> list[str]:
    given = tuple(f"-I{root / word[2:]}" if word.startswith("-I") else word for word in options)
    paths = find_includes(str(root / "k/a.cu"), options=given, told=[str(root / folder) for folder in told])
    return sorted(Path(path).resolve().relative_to(root.resolve()).as_posix() for path in paths)


@pytest.fixture
def root(tmp_path: Path) -> Path:
    files = ("k/own.h", "k/deep/x.h", "k/deep/y.h", "inc/sys.h", "inc/own.h", "inc/more.inl", "toolkit/cuda.h")
    for name in files:
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text("")
    (tmp_path / "k/deep/x.h").write_text('#include "y.h"\n')
    return tmp_path


@pytest.mark.parametrize(
    ("text", "files"),
    [
        ('#include "own.h"', ["inc/own.h", "k/own.h"]),
        ("#include <own.h>", ["inc/own.h"]),
        ('#include "deep/x.h"', ["k/deep/x.h", "k/deep/y.h"]),
        ("#include <sys.h>", ["inc/sys.h"]),
        ("# /* a */ include /* b */ <sys.h>", ["inc/sys.h"]),
        ("#inc\\\nlude <sys.h>", ["inc/sys.h"]),
        ("%:include <sys.h>", ["inc/sys.h"]),
        ("#if 0\n#include <sys.h>\n#endif", ["inc/sys.h"]),
        ("#include <gone.h>", []),
        ("int include;", []),
        ("#include <cuda.h>", []),
    ],
)
def test_literal_includes(root: Path, text: str, files: list[str]) -> None:
    (root / "k/a.cu").write_text(text + "\n")
    assert found(root, "-Iinc", "-Itoolkit", told=("toolkit",)) == files


def test_an_include_behind_a_macro_may_be_any_file(root: Path) -> None:
    (root / "k/a.cu").write_text("#include CONFIG\n")
    own = {"k/own.h", "k/deep/x.h", "k/deep/y.h", "inc/sys.h", "inc/own.h", "inc/more.inl", "k/a.cu"}
    assert set(found(root, "-Iinc", "-Itoolkit", told=("toolkit",))) == own


def test_what_comes_before_the_source(root: Path) -> None:
    (root / "k/a.cu").write_text("")
    assert found(root, "-Iinc", "-include=sys.h") == ["inc/sys.h"]


def test_headers_that_include_each_other_come_to_an_end(root: Path) -> None:
    (root / "k/own.h").write_text('#include "deep/x.h"\n')
    (root / "k/deep/y.h").write_text('#include "../own.h"\n')
    (root / "k/a.cu").write_text('#include "own.h"\n')
    assert set(found(root)) == {"k/own.h", "k/deep/x.h", "k/deep/y.h"}


def test_the_toolkit_of_no_wheel_is_read_as_well(root: Path) -> None:
    (root / "k/a.cu").write_text("#include <cuda.h>\n")
    assert found(root, "-Itoolkit") == ["toolkit/cuda.h"]
