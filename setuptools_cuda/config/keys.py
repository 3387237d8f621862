"""The keys of the table, read from the dataclasses of the model."""

from __future__ import annotations

import dataclasses
import functools
import types
import typing
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal, Union

from setuptools_cuda.config.model import (
    CacheEntries,
    CMake,
    Condition,
    Extension,
    Flags,
    KernelModule,
    Library,
    Override,
    Project,
)

Kind = Literal["text", "switch", "number", "choice", "texts", "choices", "flags", "condition", "cache-entries"]
Model = type[Project] | type[Extension] | type[Library] | type[KernelModule] | type[Override] | type[CMake]
ScopeName = Literal["project", "extension", "library", "kernel-module", "override", "cmake"]

NOT_IN_THIS_RELEASE: Mapping[str, str] = {}
"""Keys that this release refuses, with what to do instead."""

OPEN_NAME = r"^[a-z][a-z0-9_-]*$"
_OPEN = frozenset({"device-compiler"})
"""Keys whose choices other distributions add to, by entry points."""


@dataclass(frozen=True)
class Key:
    """One key of the table. ``name`` has dashes; ``attribute`` is the field of the model."""

    name: str
    attribute: str
    kind: Kind
    choices: tuple[str, ...]
    default: Any
    doc: str
    since: str
    check: str

    @property
    def available(self) -> bool:
        """Return whether this release acts on the key."""
        return self.name not in NOT_IN_THIS_RELEASE

    @property
    def open(self) -> bool:
        """Return whether other distributions may add choices."""
        return self.name in _OPEN

    @property
    def separable(self) -> bool:
        """Return whether one string with separators may stand for the list."""
        return self.check == "architectures"


@dataclass(frozen=True)
class Scope:
    """One kind of table: its name, its dataclass, and the key that it cannot be without."""

    name: ScopeName
    model: Model
    required: str = ""

    @property
    def keys(self) -> Mapping[str, Key]:
        """Return the keys of the scope by dashed name, in the model's order."""
        return keys_of(self)


PROJECT = Scope("project", Project)
EXTENSION = Scope("extension", Extension, "name")
LIBRARY = Scope("library", Library, "name")
KERNEL_MODULE = Scope("kernel-module", KernelModule, "module")
OVERRIDE = Scope("override", Override)
ARRAYS: tuple[Scope, ...] = (EXTENSION, LIBRARY, KERNEL_MODULE, OVERRIDE)
"""The scopes that are arrays of tables."""
CMAKE = Scope("cmake", CMake)
TABLES: tuple[Scope, ...] = (CMAKE,)
"""The scopes that are one table each."""
SCOPES: tuple[Scope, ...] = (PROJECT, *ARRAYS, *TABLES)


@functools.cache
def keys_of(scope: Scope) -> Mapping[str, Key]:
    """Return the keys of a scope by dashed name, the one that it cannot be without first."""
    hints = typing.get_type_hints(scope.model)
    keys = [_key(field, hints[field.name]) for field in dataclasses.fields(scope.model) if "doc" in field.metadata]
    keys.sort(key=lambda key: key.name != scope.required)
    return types.MappingProxyType({key.name: key for key in keys})


def find_scopes(name: str) -> tuple[str, ...]:
    """Return the names of the scopes that have the key ``name``."""
    return tuple(scope.name for scope in SCOPES if name in scope.keys)


def _key(field: dataclasses.Field[Any], annotation: Any) -> Key:
    kind, choices = _kind(annotation)
    return Key(
        name=field.name.rstrip("_").replace("_", "-"),
        attribute=field.name,
        kind=kind,
        choices=choices,
        default=field.default,
        doc=field.metadata["doc"],
        since=field.metadata["since"],
        check=field.metadata["check"],
    )


_SIMPLE: Mapping[Any, Kind] = {
    str: "text",
    bool: "switch",
    int: "number",
    Flags: "flags",
    Condition: "condition",
    CacheEntries: "cache-entries",
}


def _kind(annotation: Any) -> tuple[Kind, tuple[str, ...]]:
    annotation = _without_none(annotation)
    if annotation in _SIMPLE:
        return _SIMPLE[annotation], ()
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if origin is Literal:
        return "choice", arguments
    if origin is tuple and arguments[0] is str:
        return "texts", ()
    if origin is tuple and typing.get_origin(arguments[0]) is Literal:
        return "choices", typing.get_args(arguments[0])
    raise TypeError(f"the model has a key of a type that no table can hold: {annotation}")


def _without_none(annotation: Any) -> Any:
    if typing.get_origin(annotation) not in {Union, types.UnionType}:
        return annotation
    (kept,) = (part for part in typing.get_args(annotation) if part is not type(None))
    return kept
