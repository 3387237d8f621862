"""What a user says to CMake in scikit-build-core's words: in pyproject.toml, by ``-C`` and by variables."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from setuptools_cuda.environment import Environment
from setuptools_cuda.errors import BuildError, Code, Problem

Pair = tuple[str, str]
_NO = frozenset({"", "0", "false", "off", "no"})


def list_defines(
    document: Mapping[str, Any], *, settings: Mapping[str, object], environment: Environment
) -> Iterator[Pair]:
    """Yield names and values of CMake's variables: what comes later wins there.

    ``settings`` are those of ``-C``. What ``[[tool.scikit-build.overrides]]`` says is not among it.
    The order is scikit-build-core's: its documentation, "Configuration", and arguments after the defines.
    Raises BuildError where ``CMAKE_ARGS`` cannot be split into words.
    """
    table = _table_at(document, "tool", "scikit-build", "cmake")
    given = {name.removeprefix("skbuild."): value for name, value in settings.items()}
    yield from _read_table(_table_at(table, "define"), environment=environment)
    prefix = "cmake.define."
    yield from ((name.removeprefix(prefix), str(value)) for name, value in given.items() if name.startswith(prefix))
    yield from _read_pairs((environment.get("SKBUILD_CMAKE_DEFINE") or "").split(";"))
    for arguments in (table.get("args"), given.get("cmake.args"), environment.get("SKBUILD_CMAKE_ARGS")):
        yield from _read_arguments(arguments.split(";") if isinstance(arguments, str) else arguments)
    yield from _read_arguments(_split("CMAKE_ARGS", environment=environment))


def runs_cmake(
    state: str, document: Mapping[str, Any], *, settings: Mapping[str, object], environment: Environment
) -> bool:
    """Return whether CMake runs in ``state``: for wheels if not told otherwise, for sdists if told so."""
    table, usual = ("wheel", True) if state in {"wheel", "editable"} else ("sdist", False)
    if state.startswith("metadata"):
        return False
    said = _find_setting(f"{table}.cmake", document, settings=settings, environment=environment)
    return str(usual if said is None else said).casefold() not in _NO


def find_build_dir(
    document: Mapping[str, Any], *, settings: Mapping[str, object], environment: Environment
) -> str | None:
    """Return the build folder that is kept, with its placeholders, or None."""
    said = _find_setting("build-dir", document, settings=settings, environment=environment)
    return said if isinstance(said, str) and said else None


def _find_setting(
    key: str, document: Mapping[str, Any], *, settings: Mapping[str, object], environment: Environment
) -> object:
    given = {name.removeprefix("skbuild."): value for name, value in settings.items()}
    *tables, name = key.split(".")
    found = (
        environment.get(f"SKBUILD_{re.sub('[.-]', '_', key).upper()}"),
        given.get(key),
        _table_at(document, "tool", "scikit-build", *tables).get(name),
    )
    return next((value for value in found if value is not None), None)


def _table_at(table: Mapping[str, Any], *names: str) -> Mapping[str, Any]:
    for name in names:
        inner = table.get(name)
        table = inner if isinstance(inner, Mapping) else {}
    return table


def _read_table(table: Mapping[str, Any], *, environment: Environment) -> Iterator[Pair]:
    """Yield what is written as text, as a list, or as the name of a variable with a default."""
    for name, written in table.items():
        named = isinstance(written, Mapping)
        value = environment.get(str(written.get("env"))) or written.get("default") if named else written
        if isinstance(value, (str, list)):
            yield name, value if isinstance(value, str) else ";".join(map(str, value))


def _read_arguments(arguments: object) -> Iterator[Pair]:
    """Yield the pairs of ``-DNAME=VALUE`` and ``-D NAME=VALUE``."""
    words = [str(word) for word in arguments] if isinstance(arguments, list) else []
    joined = [f"-D{after}" if word == "-D" else word for word, after in zip(words, [*words[1:], ""], strict=False)]
    yield from _read_pairs([word.removeprefix("-D") for word in joined if word.startswith("-D")])


def _read_pairs(pairs: Sequence[str]) -> Iterator[Pair]:
    for pair in pairs:
        name, equals, value = pair.partition("=")
        if equals:
            yield name.partition(":")[0], value


def _split(name: str, *, environment: Environment) -> list[str]:
    value = environment.get(name) or ""
    try:
        return shlex.split(value)
    except ValueError as error:
        what = f"{value!r} cannot be split into arguments: {error}"
        raise BuildError(Problem(Code.UNUSABLE_SETTING, what, where=name)) from None
