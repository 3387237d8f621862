"""The JSON schema of the table, made from the model.

It checks what a schema can: keys, types, choices, spelling. The loader checks the rest too.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

from setuptools_cuda.config.checks import CHECKS
from setuptools_cuda.config.conditions import ARCHITECTURES_PATTERN
from setuptools_cuda.config.keys import ARRAYS, OPEN_NAME, PROJECT, TABLES, Key, Kind, Scope
from setuptools_cuda.config.values import TEXT_PATTERN

Schema = dict[str, Any]
SCHEMA_ID = "https://json.schemastore.org/setuptools-cuda.json"
_NOT_BLANK = r"\S"


def render_schema() -> Schema:
    """Return the JSON schema (draft 7) of ``[tool.setuptools-cuda]``."""
    arrays = {scope.name: {"type": "array", "items": _table(scope)} for scope in ARRAYS}
    single = {scope.name: _table(scope) for scope in TABLES}
    table = _table(PROJECT)
    return {
        "$schema": "http://json-schema.org/draft-07/schema#",
        "$id": SCHEMA_ID,
        "title": "[tool.setuptools-cuda]",
        "description": "CUDA sources in Python packages: extensions, kernel modules and libraries.",
        **table,
        "properties": {**table["properties"], **arrays, **single},
    }


def tool_schema(tool_name: str) -> Schema:
    """Return the schema for validate-pyproject, which asks for it by the name of the table.

    Raises:
        ValueError: the name is not 'setuptools-cuda'.
    """
    if tool_name != "setuptools-cuda":
        raise ValueError(f"this is the schema of 'setuptools-cuda', not of {tool_name!r}")
    return render_schema()


def _table(scope: Scope) -> Schema:
    schema: Schema = {
        "type": "object",
        "additionalProperties": False,
        "properties": {key.name: _property(key) for key in scope.keys.values() if key.available},
    }
    return {**schema, "required": [scope.required]} if scope.required else schema


def _property(key: Key) -> Schema:
    return {"description": key.doc, **_KINDS[key.kind](key)}


def _line(pattern: str = "") -> Schema:
    patterns = [_NOT_BLANK, TEXT_PATTERN, *([pattern] if pattern else [])]
    return {"type": "string", "allOf": [{"pattern": one} for one in patterns]}


def _pattern(key: Key) -> str:
    return CHECKS[key.check].pattern if key.check else ""


def _text(key: Key) -> Schema:
    return _line(_pattern(key))


def _switch(key: Key) -> Schema:
    return {"type": "boolean", "default": key.default}


def _number(key: Key) -> Schema:
    return {"type": "integer", **({"minimum": 1} if key.check == "positive" else {})}


def _choice(key: Key) -> Schema:
    known: Schema = {"enum": list(key.choices)}
    return {"anyOf": [known, {"type": "string", "pattern": OPEN_NAME}]} if key.open else known


def _texts(key: Key) -> Schema:
    needs_item = bool(key.check) and CHECKS[key.check].needs_item
    item = _words(_pattern(key)) if key.separable else _line(_pattern(key))
    array: Schema = {"type": "array", "items": item, **({"minItems": 1} if needs_item else {})}
    return {"anyOf": [array, item]} if key.separable else array


def _words(pattern: str) -> Schema:
    word = pattern.removeprefix("^").removesuffix("$")
    return {"type": "string", "pattern": rf"^[;,\s]*{word}([;,\s]+{word})*[;,\s]*$"}


def _choices(key: Key) -> Schema:
    return {"type": "array", "items": {"enum": list(key.choices)}, "minItems": 1}


def _flags(_key: Key) -> Schema:
    array = {"type": "array", "items": _line()}
    tools = dict.fromkeys(("cuda", "cxx", "c", "link"), array)
    return {"anyOf": [array, {"type": "object", "additionalProperties": False, "properties": tools}]}


def _condition(_key: Key) -> Schema:
    specifier = {"type": "string", "pattern": CHECKS["specifier"].pattern}
    text = {"type": "string", "pattern": _NOT_BLANK}
    variable = {"type": ["string", "boolean"]}
    name = r"^[^=]+$"
    return {
        "type": "object",
        "additionalProperties": False,
        "properties": {
            "platform-system": text,
            "platform-machine": text,
            "python-version": specifier,
            "cuda": {"anyOf": [{"type": "boolean"}, specifier]},
            "architectures": {"type": "string", "pattern": ARCHITECTURES_PATTERN},
            "env": {"type": "object", "patternProperties": {name: variable}, "additionalProperties": False},
        },
        "patternProperties": {r"^env\.[^=]+$": variable},
    }


def _cache_entries(_key: Key) -> Schema:
    line = {"type": "string", "pattern": TEXT_PATTERN}
    value = {"anyOf": [line, {"type": ["boolean", "integer"]}, {"type": "array", "items": line}]}
    return {
        "type": "object",
        "patternProperties": {r"^[A-Za-z0-9_./+-]+$": value},
        "additionalProperties": False,
    }


_KINDS: Mapping[Kind, Callable[[Key], Schema]] = {
    "text": _text,
    "switch": _switch,
    "number": _number,
    "choice": _choice,
    "texts": _texts,
    "choices": _choices,
    "flags": _flags,
    "condition": _condition,
    "cache-entries": _cache_entries,
}
