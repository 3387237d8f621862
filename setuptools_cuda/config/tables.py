"""Reads one table into the values of its keys."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace

from setuptools_cuda.config.findings import Finding, Parsed, Report, describe, suggest
from setuptools_cuda.config.keys import ARRAYS, PROJECT, TABLES, Scope, find_scopes
from setuptools_cuda.config.pyproject import TABLE
from setuptools_cuda.config.values import parse_value
from setuptools_cuda.errors import IN, Code, Problem


@dataclass(frozen=True)
class Place:
    """Where a table stands, and how its keys are spelled there."""

    text: str
    python: bool = False

    def at(self, name: str) -> str:
        """Return the dotted place of a key."""
        spelled = name.replace("-", "_") if self.python else name
        bare = re.fullmatch(r"[A-Za-z0-9_-]+", spelled)
        return f"{self.text}.{spelled if bare else json.dumps(spelled, ensure_ascii=False)}"


PROJECT_PLACE = Place(TABLE)


@dataclass(frozen=True)
class TableValues:
    """The good values of one table, by attribute of the model."""

    place: Place
    values: Mapping[str, object] = field(default_factory=dict)
    names: frozenset[str] = frozenset()
    """The keys that were given, good or not."""

    @property
    def whole(self) -> bool:
        """Return whether all values that were given are good."""
        return len(self.values) == len(self.names)

    def lost(self, name: str) -> bool:
        """Return whether the key was given, and its value was not good."""
        return name in self.names and name.replace("-", "_") not in self.values


def read_table(table: object, *, scope: Scope, place: Place, report: Report) -> TableValues:
    """Return the good values of ``table``; report all that is wrong."""
    if not isinstance(table, Mapping):
        found = Finding(f"is {describe(table)}, not a table", Code.WRONG_TYPE)
        report.problems.append(found.problem(where=place.text))
        return TableValues(place)
    values: dict[str, object] = {}
    for name, raw in table.items():
        key = scope.keys.get(str(name))
        if key is None:
            report.add(Parsed(findings=_unknown(str(name), scope=scope)), where=place.at(str(name)))
            continue
        parsed = parse_value(plain(raw) if place.python else raw, key=key)
        report.add(parsed, where=place.at(key.name))
        if not parsed.findings:
            values[key.attribute] = parsed.value
    if scope.required and not _is_given(scope.required, table=table, scope=scope):
        found = Finding(f"has no {scope.required!r}", Code.MISSING_KEY, fix=(f"add {scope.required} = '...'",))
        report.problems.append(found.problem(where=place.text))
    return TableValues(place, values, frozenset(map(str, table)))


def _is_given(required: str, *, table: Mapping[object, object], scope: Scope) -> bool:
    """Return whether the required key is there, if only misspelt: one mistake is told of once."""
    unknown = [str(name).replace("_", "-") for name in table if str(name) not in scope.keys]
    meant = (suggest(name, known=scope.keys) for name in unknown)
    return required in table or suggest(required, known=(required,)) in meant


def name_targets(problems: Iterable[Problem], *, table: Mapping[str, object]) -> list[Problem]:
    """Return ``problems`` with the name of the target that each stands at: people do not count tables."""
    named = {name: f"pyproject.toml, {kind} {title!r}" for name, kind, title in _titles(table)}
    return [
        replace(problem, details=((IN, named[at]), *problem.details))
        if (at := problem.where.partition("]")[0] + "]") in named
        else problem
        for problem in problems
    ]


def _titles(table: Mapping[str, object]) -> Iterator[tuple[str, str, str]]:
    for scope in ARRAYS:
        array = table.get(scope.name)
        for number, one in enumerate(array if isinstance(array, (list, tuple)) else ()):
            title = one.get("module" if scope.name == "kernel-module" else "name") if isinstance(one, Mapping) else None
            if isinstance(title, str) and title:
                yield f"{PROJECT_PLACE.at(scope.name)}[{number}]", scope.name, title


def plain(value: object) -> object:
    """Return a value from Python as TOML has it: paths as text, also within lists."""
    if isinstance(value, os.PathLike):
        text = os.fspath(value)
        return text if isinstance(text, str) else value
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, Mapping):
        return {key: plain(item) for key, item in value.items()}
    return value


def read_array(table: Mapping[str, object], *, scope: Scope, report: Report) -> list[TableValues]:
    """Return the values of each table of an array, as ``[[tool.setuptools-cuda.extension]]``."""
    raw = table.get(scope.name, [])
    where = PROJECT_PLACE.at(scope.name)
    if not isinstance(raw, (list, tuple)):
        fix = (f"write [[{TABLE}.{scope.name}]], with two brackets",)
        found = Finding(f"is {describe(raw)}, not an array of tables", Code.WRONG_TYPE, fix=fix)
        report.problems.append(found.problem(where=where))
        return []
    places = [Place(f"{where}[{number}]") for number in range(len(raw))]
    return [read_table(one, scope=scope, place=place, report=report) for one, place in zip(raw, places, strict=True)]


def read_single(table: Mapping[str, object], *, scope: Scope, report: Report) -> TableValues:
    """Return the values of a table within the table, as ``[tool.setuptools-cuda.cmake]``."""
    place = Place(PROJECT_PLACE.at(scope.name))
    return read_table(table.get(scope.name, {}), scope=scope, place=place, report=report)


def _unknown(name: str, *, scope: Scope) -> tuple[Finding, ...]:
    others = tuple(other.name for other in (*ARRAYS, *TABLES)) if scope is PROJECT else ()
    known = (*scope.keys, *others)
    elsewhere = tuple(other for other in find_scopes(name) if other != scope.name)
    fix = suggest(name.replace("_", "-"), known=known)
    if elsewhere:
        fix = (f"{name!r} is a key of {_list(elsewhere)}",)
    elif not fix:
        fix = (f"known: {', '.join(known)}",)
    return (Finding(f"is no key of {_list((scope.name,))}", Code.UNKNOWN_KEY, fix=fix),)


def head_of(name: str) -> str:
    """Return how a table's head is written, as ``[[tool.setuptools-cuda.extension]]``, by the name of its scope."""
    if name == PROJECT.name:
        return f"[{TABLE}]"
    return f"[{TABLE}.{name}]" if any(name == one.name for one in TABLES) else f"[[{TABLE}.{name}]]"


def _list(names: tuple[str, ...]) -> str:
    tables = [head_of(name) for name in names]
    return " and ".join([", ".join(tables[:-1]), tables[-1]] if len(tables) > 1 else tables)
