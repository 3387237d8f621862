"""Reading the manifest ``setuptools_cuda.json`` of a wheel, of this release or an older one. Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from typing import Any

READ_SCHEMA = 1
"""The newest schema that is understood."""

Check = Callable[[Any], bool]


class NewerManifestError(ValueError):
    """The manifest is of a schema that a newer release writes."""


def parse_manifest(text: str | bytes) -> dict[str, Any]:
    """Return the content of a manifest.

    Raises:
        NewerManifestError: its schema is newer than :data:`READ_SCHEMA`.
        ValueError: it is no manifest, or one of its values is not what the schema says of it.
    """
    try:
        content: Any = json.loads(text)
    except RecursionError as error:
        raise ValueError("it is nested too deeply") from error
    schema = content.get("schema") if isinstance(content, dict) else None
    if not isinstance(content, dict) or type(schema) is not int or schema < 1:
        raise ValueError("it does not say the number of its schema")
    if schema > READ_SCHEMA:
        raise NewerManifestError(f"its schema is {schema}, and this release reads {READ_SCHEMA}")
    _check(content)
    return content


def _check(content: Mapping[str, Any]) -> None:
    """Hold the values that are read against what they have to be. Raises ValueError."""
    _check_values({**_MAY_LACK, **content}, checks=_TOP, where="")
    if content.get("toolkit") is not None:
        _check_values(content["toolkit"], checks=_TOOLKIT, where="toolkit.")
    for key, checks in (("artifacts", _ARTIFACT), ("libraries", _LIBRARY), ("kernel_modules", _MODULE)):
        for number, each in enumerate(content.get(key, ())):
            _check_values(each, checks=checks, where=f"{key}[{number}].")


def _check_values(values: Mapping[str, Any], *, checks: Mapping[str, Check], where: str) -> None:
    for key, is_good in checks.items():
        if key not in values:
            raise ValueError(f"it has no {where}{key}")
        if not is_good(values[key]):
            raise ValueError(f"its {where}{key} is not what it has to be")


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_text_or_null(value: Any) -> bool:
    return value is None or isinstance(value, str)


def _is_release(value: Any) -> bool:
    return isinstance(value, str) and bool(re.match(r"\d{1,4}\.\d", value, re.ASCII))


def _is_texts(value: Any) -> bool:
    return isinstance(value, list) and all(map(_is_text, value))


def _is_tables(value: Any) -> bool:
    return isinstance(value, list) and all(isinstance(each, dict) for each in value)


def _is_table_or_null(value: Any) -> bool:
    return value is None or isinstance(value, dict)


def _is_architectures(value: Any) -> bool:
    return isinstance(value, dict) and all(_is_texts(value.get(key)) for key in ("real", "virtual"))


def _is_truth(value: Any) -> bool:
    return isinstance(value, bool)


# Keys that an early release did not write, or that no reader needs.
_MAY_LACK: Mapping[str, Any] = {
    "toolkit": None,
    "host_compiler": None,
    "architectures": [],
    "libraries": [],
    "kernel_modules": [],
}
_TOP: Mapping[str, Check] = {
    "toolkit": _is_table_or_null,
    "host_compiler": _is_table_or_null,
    "architectures": _is_texts,
    "artifacts": _is_tables,
    "libraries": _is_tables,
    "kernel_modules": _is_tables,
}
_TOOLKIT: Mapping[str, Check] = {"release": _is_release, "version": _is_release}
_ARTIFACT: Mapping[str, Check] = {
    "path": _is_text,
    "architectures": _is_architectures,
    "compressed": _is_truth,
    "cudart": _is_text_or_null,
}
_LIBRARY: Mapping[str, Check] = {
    "name": _is_text,
    "type": _is_text,
    "folder": _is_text,
    "path": _is_text_or_null,
    "include": _is_text_or_null,
    "links": _is_texts,
    "cuda": _is_texts,
    "defines": _is_texts,
}
_MODULE: Mapping[str, Check] = {"module": _is_text}
