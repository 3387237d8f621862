"""The files that an sdist needs beside what setuptools knows of."""

from __future__ import annotations

from pathlib import Path

import pytest

from setuptools_cuda.config.headers import find_headers, find_sdist_files
from setuptools_cuda.config.model import Extension, Library, Override, Project, Settings


def write(root: Path, files: dict[str, str]) -> None:
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")


def settings(root: Path, *sources: str, **words: object) -> Settings:
    return Settings(root=root, extensions=(Extension(name="demo.x", sources=sources, **words),))


def test_quoted_includes_are_found_beside_the_source_and_transitively(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "src/a.cu": '#include "a.cuh"\n  #  include "sub/b.h"\n#include <vector>\n',
            "src/a.cuh": '#include "sub/c.h"\n',
            "src/sub/b.h": "",
            "src/sub/c.h": '#include "../a.cuh"\n',
            "src/unused.h": "",
        },
    )
    assert find_headers(settings(tmp_path, "src/a.cu")) == ("src/a.cuh", "src/sub/b.h", "src/sub/c.h")


def test_include_folders_of_project_target_and_override(tmp_path: Path) -> None:
    write(
        tmp_path,
        {
            "a.cu": '#include <one.h>\n#include <two.h>\n#include "three.h"\n',
            "i1/one.h": "",
            "i2/two.h": "",
            "i3/three.h": "",
        },
    )
    made = Settings(
        root=tmp_path,
        project=Project(include_dirs=("i1",)),
        extensions=(Extension(name="x", sources=("a.cu",), include_dirs=("./i2/",)),),
        overrides=(Override(include_dirs=("i3",)),),
    )
    assert find_headers(made) == ("i1/one.h", "i2/two.h", "i3/three.h")


def test_brackets_do_not_look_beside_the_source(tmp_path: Path) -> None:
    write(tmp_path, {"a.cu": "#include <one.h>\n", "one.h": ""})
    assert find_headers(settings(tmp_path, "a.cu")) == ()


@pytest.mark.parametrize("include", ["../outside.h", "/etc/passwd", "missing.h", "sub"])
def test_what_the_root_does_not_hold_is_left_out(tmp_path: Path, include: str) -> None:
    root = tmp_path / "root"
    write(tmp_path, {"outside.h": "", "root/sub/x.h": "", "root/a.cu": f'#include "{include}"\n'})
    assert find_headers(settings(root, "a.cu", include_dirs=("/usr/include", ".."))) == ()


def test_a_source_that_includes_itself_or_is_not_text(tmp_path: Path) -> None:
    write(tmp_path, {"a.cu": '#include "a.cu"\n'})
    (tmp_path / "b.cu").write_bytes(b'\xff\xfe#include "\xff.h"\n#include "\xff\n')
    assert find_headers(settings(tmp_path, "a.cu", "b.cu")) == ()


def test_cython_names_headers_too(tmp_path: Path) -> None:
    write(tmp_path, {"a.pyx": 'cdef extern from "saxpy.h" nogil:\n    void f()\n', "include/saxpy.h": ""})
    assert find_headers(settings(tmp_path, "a.pyx", include_dirs=("include",))) == ("include/saxpy.h",)


def test_sdist_files_are_sources_depends_and_shipped_headers(tmp_path: Path) -> None:
    write(tmp_path, {"a.cu": '#include "a.cuh"\n', "a.cuh": "", "x.cu": "", "data.bin": "", "include/api.h": ""})
    made = Settings(
        root=tmp_path,
        extensions=(Extension(name="x", sources=("a.cu",), depends=("data.bin",)),),
        libraries=(Library(name="l", headers=("include/api.h",)),),
        overrides=(Override(sources=("x.cu",)),),
    )
    assert find_sdist_files(made) == ("a.cu", "a.cuh", "data.bin", "include/api.h", "x.cu")
