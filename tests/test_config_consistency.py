from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from config_support import load, problems_of, told, write_files

Table = dict[str, Any]


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return write_files(tmp_path, "a.cu", "b.cu", "src/c.cu", "inc/a.h")


def extension(name: str, **words: Any) -> Table:
    return {"name": name, "sources": ["a.cu"], **words}


def module(name: str, **words: Any) -> Table:
    return {"module": name, "sources": ["a.cu"], **words}


@pytest.mark.parametrize(
    ("table", "where"),
    [
        ({"extension": [extension("a.x"), extension("a.x")]}, "extension[1]"),
        ({"library": [extension("x"), extension("x")]}, "library[1]"),
        ({"kernel-module": [module("a.x"), module("a.x")]}, "kernel-module[1]"),
        ({"extension": [extension("a.x")], "kernel-module": [module("a.x")]}, "kernel-module[0]"),
    ],
)
def test_two_targets_with_one_output(root: Path, table: Table, where: str) -> None:
    assert told(problems_of(table, root=root)) == [("duplicate-output", where)]


def test_a_library_may_have_the_name_of_an_extension(root: Path) -> None:
    assert len(load({"extension": [extension("x")], "library": [extension("x")]}, root=root).targets) == 2


def test_link_names_libraries_of_the_table_or_of_cuda(root: Path) -> None:
    good = {"library": [extension("attention")], "extension": [extension("e", link=["attention", "CUDA::cublas"])]}
    assert load(good, root=root).extensions[0].link == ("attention", "CUDA::cublas")
    bad = {"library": [extension("attention")], "extension": [extension("e", link=["atention"])]}
    (problem,) = problems_of(bad, root=root)
    assert (problem.code.slug, problem.where) == ("unknown-library", "tool.setuptools-cuda.extension[0].link")
    assert problem.fix[0] == "did you mean 'attention'?"


def test_a_link_to_a_library_with_a_bad_name_is_not_told_twice(root: Path) -> None:
    table = {"library": [extension("at/tention")], "extension": [extension("e", link=["at/tention"])]}
    assert told(problems_of(table, root=root)) == [("bad-name", "library[0].name")]


@pytest.mark.parametrize(
    ("links", "cycle"),
    [
        ({"a": ["a"]}, "a -> a"),
        ({"a": ["b"], "b": ["a"]}, "a -> b -> a"),
        ({"a": ["b"], "b": ["c"], "c": ["b"]}, "b -> c -> b"),
    ],
)
def test_libraries_may_not_link_in_a_circle(root: Path, links: dict[str, list[str]], cycle: str) -> None:
    table = {"library": [extension(name, link=link) for name, link in links.items()]}
    (problem,) = problems_of(table, root=root)
    assert problem.code.slug == "conflict"
    assert cycle in problem.what


def test_a_diamond_of_libraries_is_no_circle(root: Path) -> None:
    links = {"a": ["b", "c"], "b": ["d"], "c": ["d"], "d": ["CUDA::cublas"]}
    table = {"library": [extension(name, link=link) for name, link in links.items()]}
    assert len(load(table, root=root).libraries) == 4


@pytest.mark.parametrize(
    ("words", "part"),
    [
        ({"type": "shared"}, "shipped"),
        ({"type": "interface"}, "no sources"),
        ({"headers": ["inc/*.h"]}, "installed"),
        ({"min-architecture": "90a", "max-architecture": "8.0"}, "above"),
    ],
)
def test_keys_of_a_library_that_contradict(root: Path, words: Table, part: str) -> None:
    (problem,) = problems_of({"library": [extension("x", **words)]}, root=root)
    assert problem.code.slug == "conflict"
    assert part in problem.what


@pytest.mark.parametrize(
    "words",
    [
        {"type": "shared", "install": "demo/lib"},
        {"type": "interface", "sources": []},
        {"type": "interface", "sources": [], "headers": ["inc/*.h"], "install": "demo/lib"},
        {"min-architecture": "90", "max-architecture": "90a"},
    ],
)
def test_keys_of_a_library_that_agree(root: Path, words: Table) -> None:
    assert load({"library": [extension("x", **words)]}, root=root).libraries[0].name == "x"


def test_a_bad_value_brings_no_second_problem(root: Path) -> None:
    table = {"library": [extension("x", type="shared", install="/lib")]}
    assert told(problems_of(table, root=root)) == [("bad-value", "library[0].install")]


@pytest.mark.parametrize(
    ("kind", "words"),
    [
        ("extension", {"name": "x"}),
        ("extension", {"name": "x", "sources": []}),
        ("library", {"name": "x"}),
        ("kernel-module", {"module": "x"}),
    ],
)
def test_a_target_needs_sources(root: Path, kind: str, words: Table) -> None:
    assert told(problems_of({kind: [words]}, root=root)) == [("missing-key", f"{kind}[0]")]


@pytest.mark.parametrize("words", [{"extra-objects": ["a.o"]}, {"uses": ["nanobind"]}])
def test_sources_of_an_extension_may_come_from_elsewhere(root: Path, words: Table) -> None:
    assert load({"extension": [{"name": "x", **words}]}, root=root).extensions[0].sources == ()


def test_an_override_may_bring_the_only_sources(root: Path) -> None:
    table = {"extension": [{"name": "x"}], "override": [{"target": "x", "sources": ["src/*.cu"], "exclude": ["b.cu"]}]}
    (override,) = load(table, root=root).overrides
    assert (override.sources, override.exclude) == (("src/c.cu",), ("b.cu",))


@pytest.mark.parametrize(
    ("override", "expected"),
    [
        ({"match": "z*.cu"}, [("no-match", "override[0].match")]),
        ({"match": "src/*.cu"}, [("no-match", "override[0].match")]),
        ({"target": "demo.y"}, [("no-match", "override[0].target")]),
        ({"match": "a.cu", "target": "lib"}, [("no-match", "override[0].match")]),
        ({"sources": ["b.cu"]}, [("missing-key", "override[0]")]),
        ({"sources": ["b.cu"], "target": "demo.x", "match": "a.cu"}, [("conflict", "override[0]")]),
        ({"sources": ["z.cu"], "target": "demo.x"}, [("missing-source", "override[0].sources")]),
        ({"sources": ["inc/a.h"], "target": "demo.x"}, [("bad-value", "override[0].sources")]),
        ({"min-architecture": "90", "max-architecture": "80"}, [("conflict", "override[0]")]),
    ],
)
def test_overrides_that_fit_nothing(root: Path, override: Table, expected: list[tuple[str, str]]) -> None:
    table = {
        "extension": [extension("demo.x")],
        "library": [{"name": "lib", "sources": ["b.cu"]}],
        "override": [override],
    }
    assert told(problems_of(table, root=root)) == expected


@pytest.mark.parametrize(
    "override",
    [
        {"match": "a.cu"},
        {"match": "**/*.cu", "target": "demo.x"},
        {"target": "lib", "defines": ["A"]},
        {"if": {"cuda": False}, "exclude": ["a.cu"]},
        {"std": "c++17"},
    ],
)
def test_overrides_that_fit(root: Path, override: Table) -> None:
    table = {
        "extension": [extension("demo.x")],
        "library": [{"name": "lib", "sources": ["b.cu"]}],
        "override": [override],
    }
    assert len(load(table, root=root).overrides) == 1


def test_a_match_may_fit_what_another_override_adds(root: Path) -> None:
    table = {
        "extension": [extension("demo.x")],
        "override": [{"target": "demo.x", "sources": ["src/c.cu"]}, {"match": "src/*.cu", "memory": "3 GiB"}],
    }
    assert load(table, root=root).overrides[1].memory == "3 GiB"


def test_an_unknown_target_suggests_the_nearest(root: Path) -> None:
    table = {"extension": [extension("demo._native")], "override": [{"target": "demo.native"}]}
    (problem,) = problems_of(table, root=root)
    assert problem.fix == ("did you mean 'demo._native'?",)


def test_nothing_is_said_of_a_match_while_sources_are_wrong(root: Path) -> None:
    table = {"extension": [extension("x", sources=["zz.cu"])], "override": [{"match": "a.cu"}]}
    assert told(problems_of(table, root=root)) == [("missing-source", "extension[0].sources")]
