from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest
from config_support import load, problems_of, told, write_files

import setuptools_cuda
from setuptools_cuda.config.globs import FileTree, find_files, matches

FILES = (
    *("a.cu", "b.cpp", "src/a.cu", "src/b.cu", "src/old_a.cu", "src/deep/c.cu", "src/deep/er/d.cu"),
    *(".hidden.cu", ".git/x.cu", "src/.cache/y.cu", "build/lib/a.cu", "src/build/gen.cu"),
    *("build/setuptools-cuda/z.cu", "env/pyvenv.cfg", "env/lib/v.cu", "odd/k[1].cu", "odd/k1.cu", "odd/k2.cu"),
)


@pytest.mark.parametrize(
    ("pattern", "found"),
    [
        ("a.cu", ["a.cu"]),
        ("./a.cu", ["a.cu"]),
        ("src//a.cu", ["src/a.cu"]),
        ("*.cu", ["a.cu"]),
        ("src/*.cu", ["src/a.cu", "src/b.cu", "src/old_a.cu"]),
        ("src/?.cu", ["src/a.cu", "src/b.cu"]),
        ("src/[!b].cu", ["src/a.cu"]),
        ("src/[ab].cu", ["src/a.cu", "src/b.cu"]),
        ("*/a.cu", ["src/a.cu"]),
        (
            "src/**/*.cu",
            [*("src/a.cu", "src/b.cu", "src/build/gen.cu"), *("src/deep/c.cu", "src/deep/er/d.cu"), "src/old_a.cu"],
        ),
        ("src/**/**/d.cu", ["src/deep/er/d.cu"]),
        ("src/deep/**", ["src/deep/c.cu", "src/deep/er/d.cu"]),
        ("**/a.cu", ["a.cu", "src/a.cu"]),
        ("**/[cdxyvz].cu", ["src/deep/c.cu", "src/deep/er/d.cu"]),
        ("**/deep/*.cu", ["src/deep/c.cu"]),
        (".hidden.cu", [".hidden.cu"]),
        (".h*.cu", [".hidden.cu"]),
        ("src/.cache/*.cu", ["src/.cache/y.cu"]),
        ("build/lib/a.cu", ["build/lib/a.cu"]),
        ("build/**/*.cu", ["build/lib/a.cu"]),
        ("build/setuptools-cuda/z.cu", []),
        ("env/lib/*.cu", ["env/lib/v.cu"]),
        ("odd/k[1].cu", ["odd/k[1].cu"]),
        ("odd/k[12].cu", ["odd/k1.cu", "odd/k2.cu"]),
        ("odd/k[9-1].cu", []),
        ("odd/k[.cu", []),
        ("SRC/a.cu", []),
        ("src", []),
        ("src/*", ["src/a.cu", "src/b.cu", "src/old_a.cu"]),
        ("nowhere/**/*.cu", []),
        ("x" * 5000, []),
        ("a.cu/*", []),
    ],
)
def test_globs(tmp_path: Path, pattern: str, found: list[str]) -> None:
    tree = FileTree(write_files(tmp_path, *FILES))
    assert list(find_files(pattern, tree=tree)) == found
    # The pure matcher says the same, but for what only a look at the disk can tell.
    assert set(found) <= {file for file in FILES if matches(pattern, path=file)}


@pytest.mark.parametrize("pattern", ["src/*.cu", "src/**/*.cu", "**/a.cu", "*/a.cu", "src/deep/**", "*.cpp", "**/*"])
def test_the_pure_matcher_agrees_with_the_disk(tmp_path: Path, pattern: str) -> None:
    known = [file for file in FILES if not file.startswith(("env/", "build/"))]
    tree = FileTree(write_files(tmp_path, *known))
    assert sorted(file for file in known if matches(pattern, path=file)) == list(find_files(pattern, tree=tree))


def test_links_to_folders_are_not_followed_by_two_stars(tmp_path: Path) -> None:
    write_files(tmp_path, "src/a.cu")
    (tmp_path / "src" / "loop").symlink_to(tmp_path / "src")
    tree = FileTree(tmp_path)
    assert find_files("**/*.cu", tree=tree) == ("src/a.cu",)
    assert find_files("src/loop/*.cu", tree=tree) == ("src/loop/a.cu",)


def library(*sources: str, **words: object) -> dict[str, object]:
    return {"library": [{"name": "x", "sources": list(sources), **words}]}


def test_sources_are_sorted_and_each_is_there_once(tmp_path: Path) -> None:
    write_files(tmp_path, *FILES)
    (made,) = load(library("src/b.cu", "src/*.cu", "a.cu", exclude=["src/old_*"]), root=tmp_path).libraries
    assert made.sources == ("a.cu", "src/a.cu", "src/b.cu")
    assert made.patterns == ("src/b.cu", "src/*.cu", "a.cu")


def test_odd_names_are_good_names(tmp_path: Path) -> None:
    names = ("a b.cu", "it's.cu", "k#1.cu", "größe/ядро.cu", "f(x)&;.cu", "-x.cu", "%41.cu", "{a}.cu")
    write_files(tmp_path, *names)
    assert load(library("**/*.cu"), root=tmp_path).libraries[0].sources == tuple(sorted(names))


def test_odd_names_are_found_in_the_c_locale(tmp_path: Path) -> None:
    write_files(tmp_path, "größe/ядро.cu")
    (tmp_path / "pyproject.toml").write_text(
        "[[tool.setuptools-cuda.library]]\nname='x'\nsources=['größe/*.cu', 'größe/ядро.cu']\n", encoding="utf-8"
    )
    code = (
        "from pathlib import Path; from setuptools_cuda.environment import read_environment\n"
        "from setuptools_cuda.config.load import load_settings\n"
        "print(ascii(load_settings(Path('.').absolute(), environment=read_environment()).libraries[0].sources))"
    )
    home = str(Path(setuptools_cuda.__file__).parents[1])
    variables = {"LC_ALL": "C", "PATH": os.environ["PATH"], "PYTHONPATH": home}
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, env=variables, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == ascii(("größe/ядро.cu",))


@pytest.mark.parametrize("name", ["a$b.cu", "a`b.cu", 'a"b.cu', "a\\b.cu", "a\nb.cu", "d$/a.cu"])
def test_names_that_a_shell_would_read_are_refused(tmp_path: Path, name: str) -> None:
    write_files(tmp_path, name)
    assert told(problems_of(library("**/*.cu"), root=tmp_path)) == [("unsafe-path", "library[0].sources")]


def test_names_that_are_not_utf8_are_refused(tmp_path: Path) -> None:
    Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff.cu")).touch()
    assert told(problems_of(library("*.cu"), root=tmp_path)) == [("unsafe-path", "library[0].sources")]


def test_a_missing_source_is_told_with_the_nearest_name(tmp_path: Path) -> None:
    write_files(tmp_path, *FILES)
    problems = problems_of(library("src/aa.cu", "nowhere/a.cu", "src", "src/*.cpp"), root=tmp_path)
    assert [problem.code.slug for problem in problems] == ["missing-source"] * 3 + ["no-match"]
    assert problems[0].fix[0].startswith("did you mean 'src/")
    assert problems[2].fix == ("write 'src/*.cu' for the files in it",)
    assert problems[3].fix == (
        f"patterns begin at the project's folder, {tmp_path}; '**' goes into folders, '*' does not",
    )


def test_an_exclude_without_a_match_is_a_warning(tmp_path: Path) -> None:
    write_files(tmp_path, "a.cu")
    settings = load(library("a.cu", exclude=["old_*.cu"]), root=tmp_path)
    assert settings.warnings == ("tool.setuptools-cuda.library[0].exclude: 'old_*.cu' matches no file",)


def test_an_exclude_that_leaves_nothing_is_an_error(tmp_path: Path) -> None:
    write_files(tmp_path, "a.cu")
    problems = problems_of(library("*.cu", exclude=["a.cu"]), root=tmp_path)
    assert told(problems) == [("no-match", "library[0].exclude")]


def test_depends_and_headers_are_files_too(tmp_path: Path) -> None:
    write_files(tmp_path, "a.cu", "inc/a.cuh", "inc/deep/b.h", "VERSION")
    words = {"depends": ["VERSION", "inc/*.cuh"], "headers": ["inc/**/*"], "install": "demo/lib"}
    (made,) = load(library("a.cu", **words), root=tmp_path).libraries
    assert made.depends == ("VERSION", "inc/a.cuh")
    assert made.headers == ("inc/a.cuh", "inc/deep/b.h")
    words = {"depends": ["VERSIO"], "headers": ["*.hpp"], "install": "demo/lib"}
    problems = problems_of(library("a.cu", **words), root=tmp_path)
    assert told(problems) == [("missing-source", "library[0].depends"), ("no-match", "library[0].headers")]


@pytest.mark.parametrize(
    ("kind", "good", "bad"),
    [
        ("extension", ["a.c", "a.cc", "a.cpp", "a.cxx", "a.C", "a.c++", "a.pyx", "a.cu"], ["a.m", "a.h", "a", "a.CU"]),
        ("library", ["a.c", "a.cc", "a.cpp", "a.cxx", "a.cu"], ["a.pyx", "a.cuh", "a.ptx"]),
        ("kernel-module", ["a.cu"], ["a.cpp", "a.cuh"]),
    ],
)
def test_each_kind_of_target_takes_its_suffixes(tmp_path: Path, kind: str, good: list[str], bad: list[str]) -> None:
    write_files(tmp_path, *good, *bad)
    name = "module" if kind == "kernel-module" else "name"
    table: dict[str, object] = {kind: [{name: "x", "sources": good}]}
    assert load(table, root=tmp_path).targets[0].sources == tuple(sorted(good))
    for file in bad:
        problems = problems_of({kind: [{name: "x", "sources": [*good, file]}]}, root=tmp_path)
        assert told(problems) == [("bad-value", f"{kind}[0].sources")]
        assert repr(file) in problems[0].what


@pytest.mark.parametrize("file", ["k.ll", "k.bc", "k.ptx"])
def test_kernel_modules_take_ir_and_ptx_and_extensions_do_not(tmp_path: Path, file: str) -> None:
    write_files(tmp_path, file)
    assert load({"kernel-module": [{"module": "k", "sources": [file]}]}, root=tmp_path).targets[0].sources == (file,)
    (problem,) = problems_of({"extension": [{"name": "k", "sources": [file]}]}, root=tmp_path)
    assert problem.code.slug == "bad-value"


def test_a_folder_that_cannot_be_read_is_said(tmp_path: Path) -> None:
    # A name longer than the system takes stands for a folder without permission: root may read all.
    tree = FileTree(tmp_path)
    assert tree.folder("x" * 5000).files == frozenset()
    assert tree.unreadable == ["x" * 5000 + ": File name too long"]
