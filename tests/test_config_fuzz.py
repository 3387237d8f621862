"""Whatever a table holds, the loader says what is wrong with it, and nothing else goes wrong."""

from __future__ import annotations

import contextlib
import datetime as dt
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from config_support import load, write_files
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from test_config_checks import BAD, GOOD

from setuptools_cuda.config.checks import CHECKS
from setuptools_cuda.config.conditions import parse_condition
from setuptools_cuda.config.flags import find_reserved, without_threads
from setuptools_cuda.config.globs import matches
from setuptools_cuda.config.keys import ARRAYS, PROJECT, Key, Scope
from setuptools_cuda.config.schema import render_schema
from setuptools_cuda.errors import BuildError

SCHEMA = jsonschema.Draft7Validator(render_schema())
WORDS = st.sampled_from(
    [
        "a.cu",
        "src/*.cu",
        "**",
        "[",
        "x",
        "demo.x",
        "CUDA::cublas",
        "80",
        "native",
        "-arch",
        "--threads",
        "if",
        "3 GiB",
        "",
    ]
) | st.sampled_from(sorted({text for texts in (*GOOD.values(), *BAD.values()) for text in texts}))
TEXTS = WORDS | st.text(max_size=12)
SCALARS = (
    TEXTS
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.dates()
    | st.times()
    | st.datetimes(timezones=st.just(dt.timezone.utc))
)
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(TEXTS, inner, max_size=3), max_leaves=8
)
CONDITIONS = st.dictionaries(
    st.sampled_from(["platform-system", "platform-machine", "python-version", "cuda", "architectures", "env", "env.A"])
    | TEXTS,
    VALUES,
    max_size=3,
)


def near(key: Key) -> st.SearchStrategy[Any]:
    """Return values that are often of the key's type."""
    own: dict[str, st.SearchStrategy[Any]] = {
        "text": TEXTS,
        "switch": st.booleans(),
        "number": st.integers(-2, 5),
        "choice": st.sampled_from(key.choices or ("",)),
        "texts": st.lists(TEXTS, max_size=3) | TEXTS,
        "choices": st.lists(st.sampled_from(key.choices or ("",)), max_size=3),
        "flags": st.lists(TEXTS, max_size=3)
        | st.dictionaries(st.sampled_from(["cuda", "cxx", "c", "link", "x"]), VALUES),
        "condition": CONDITIONS,
    }
    good = [st.sampled_from(GOOD[key.check])] if key.check in GOOD else []
    if key.kind == "texts":
        good = [st.lists(one, max_size=3) for one in good]
    return st.one_of(own[key.kind], *good, *good)


def tables(scope: Scope) -> st.SearchStrategy[dict[str, Any]]:
    keys = {name: near(key) | VALUES if key.check else near(key) for name, key in scope.keys.items() if key.available}
    required = {scope.required: keys.pop(scope.required)} if scope.required else {}
    known = st.fixed_dictionaries(required, optional=keys)
    return known | st.builds(lambda one, other: {**one, **other}, known, st.dictionaries(TEXTS, VALUES, max_size=2))


ARRAY_TABLES = {scope.name: st.lists(tables(scope), max_size=2) | VALUES for scope in ARRAYS}
PROJECTS = st.builds(
    lambda project, arrays: {**project, **arrays}, tables(PROJECT), st.fixed_dictionaries({}, optional=ARRAY_TABLES)
)


def careful(scope: Scope, base: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    """Return tables of few keys besides ``base``, which are often good."""
    keys = [key for key in scope.keys.values() if key.available and key.name not in base]
    pair = st.sampled_from(keys).flatmap(lambda key: st.tuples(st.just(key.name), near(key)))
    return st.lists(pair, max_size=2).map(lambda pairs: {**base, **dict(pairs)})


CAREFUL = careful(PROJECT, {}) | st.one_of(
    *(
        careful(scope, {scope.required: "demo", "sources": ["a.cu"]}).map(
            lambda table, name=scope.name: {name: [table]}
        )
        for scope in ARRAYS
        if scope.required
    )
)
QUIET = settings(max_examples=150, deadline=None, suppress_health_check=list(HealthCheck), derandomize=True)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_files(tmp_path_factory.mktemp("project"), "a.cu", "src/b.cu", "x")


@QUIET
@given(table=PROJECTS | st.dictionaries(TEXTS, VALUES, max_size=4))
def test_a_table_is_loaded_or_its_problems_are_told(root: Path, table: dict[str, Any]) -> None:
    told = ""
    try:
        load(table, root=root)
    except BuildError as error:
        told = str(error)
    assert told or SCHEMA.is_valid(table), "the loader took what the schema refuses"


@QUIET
@given(table=CAREFUL)
def test_the_schema_takes_what_the_loader_takes(root: Path, table: dict[str, Any]) -> None:
    with contextlib.suppress(BuildError):
        load(table, root=root)
        assert SCHEMA.is_valid(table), "the loader took what the schema refuses"


@QUIET
@given(
    given_settings=st.dictionaries(
        st.sampled_from([f"cuda.{name}" for name in PROJECT.keys]) | TEXTS, TEXTS | st.lists(TEXTS, max_size=2) | VALUES
    ),
    variables=st.dictionaries(
        st.sampled_from([f"SETUPTOOLS_CUDA_{name.upper().replace('-', '_')}" for name in PROJECT.keys]), TEXTS
    ),
)
def test_settings_and_variables_are_read_or_told(
    root: Path, given_settings: dict[str, Any], variables: dict[str, str]
) -> None:
    with contextlib.suppress(BuildError):
        load({}, root=root, settings=given_settings, variables=variables)


@QUIET
@given(raw=CONDITIONS | VALUES)
def test_a_condition_is_read_or_told(raw: object) -> None:
    parsed = parse_condition(raw)
    assert (parsed.value is None) is bool(parsed.findings)


@QUIET
@given(name=st.sampled_from(sorted(set(CHECKS) - {"positive"})), text=TEXTS)
def test_checks_find_a_fault_or_none(name: str, text: str) -> None:
    finding = CHECKS[name].find(text)
    assert finding is None or finding.what


@QUIET
@given(flags=st.lists(TEXTS, max_size=5))
def test_flags_are_split_without_loss(flags: list[str]) -> None:
    kept, dropped = without_threads(flags)
    assert sorted((*kept, *dropped)) == sorted(flags)
    find_reserved(flags, tool="cuda")


@QUIET
@given(parts=st.lists(st.text("ab.*?[", min_size=1, max_size=4), min_size=1, max_size=4))
def test_a_path_matches_itself(parts: list[str]) -> None:
    path = "/".join(part for part in parts if part != ".") or "a"
    assert matches(path, path=path) or "**/**" in path


@pytest.mark.parametrize("name", sorted(PROJECT.keys))
def test_a_number_too_long_to_write_out_is_told(root: Path, name: str) -> None:
    # TOML has hexadecimal numbers, which Python reads at any length.
    for value in (16**6000, -(16**6000), [16**6000], {"cuda": [16**6000]}):
        with contextlib.suppress(BuildError):
            load({name: value}, root=root)
