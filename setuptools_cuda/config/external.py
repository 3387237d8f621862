"""Values of project keys from outside the project: config settings and variables."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from setuptools_cuda.config.findings import Finding, Report, describe, shorten, suggest
from setuptools_cuda.config.keys import PROJECT, Key, find_scopes
from setuptools_cuda.config.model import Origin
from setuptools_cuda.config.values import split_words
from setuptools_cuda.environment import Environment
from setuptools_cuda.errors import Code

SETTING_PREFIX = "cuda."
VARIABLE_PREFIX = "SETUPTOOLS_CUDA_"
ConfigSettings = Mapping[str, str | Sequence[str]]
_TRUE = frozenset({"1", "true", "yes", "on"})
_FALSE = frozenset({"0", "false", "no", "off"})


@dataclass(frozen=True)
class Given:
    """A value as a table would hold it, and where it came from."""

    raw: object
    origin: Origin


def setting_name(key: Key) -> str:
    """Return the config setting of a project key, as ``cuda.host-compiler``."""
    return SETTING_PREFIX + key.name


def variable_name(key: Key) -> str:
    """Return the variable of a project key, as ``SETUPTOOLS_CUDA_HOST_COMPILER``."""
    return VARIABLE_PREFIX + key.name.upper().replace("-", "_")


def read_external(
    config_settings: Mapping[str, object] | None, *, environment: Environment, report: Report
) -> dict[str, Given]:
    """Return the values that settings and variables give to project keys, by dashed name.

    A config setting goes before our variable, and that before FORCE_CUDA. What is empty is unset.
    """
    given = _forced(environment)
    given.update(_read_variables(environment, report=report))
    given.update(_read_settings(config_settings or {}, report=report))
    return given


def _forced(environment: Environment) -> dict[str, Given]:
    if (environment.get("FORCE_CUDA") or "").strip().lower() not in _TRUE:
        return {}
    return {"required": Given(raw=True, origin=Origin("environment", "FORCE_CUDA"))}


def _read_variables(environment: Environment, *, report: Report) -> dict[str, Given]:
    keys = {variable_name(key): key for key in PROJECT.keys.values()}
    given: dict[str, Given] = {}
    for name in sorted(environment.variables):
        value = environment.get(name)
        if not name.startswith(VARIABLE_PREFIX) or value is None:
            continue
        if name in keys:
            _take([value], key=keys[name], origin=Origin("environment", name), given=given, report=report)
        else:
            known = [one.removeprefix(VARIABLE_PREFIX) for one in keys]
            hint = suggest(name.removeprefix(VARIABLE_PREFIX), known=known, prefix=VARIABLE_PREFIX)
            report.warnings.append(f"{name} is set, but is no variable of setuptools_cuda{_after(hint)}")
    return given


def _after(hint: tuple[str, ...]) -> str:
    return f"; {hint[0]}" if hint else ""


def _read_settings(settings: Mapping[str, object], *, report: Report) -> dict[str, Given]:
    keys = {setting_name(key): key for key in PROJECT.keys.values()}
    given: dict[str, Given] = {}
    for name, value in settings.items():
        if not name.startswith(SETTING_PREFIX):
            continue
        where = f"-C {name}"
        texts = [value] if isinstance(value, str) else value
        if name not in keys:
            report.problems.append(_unknown(name, known=keys).problem(where=where))
        elif not isinstance(texts, (list, tuple)) or not all(isinstance(text, str) for text in texts):
            what = f"is {describe(value)}, not a string or a list of strings"
            report.problems.append(Finding(what, Code.WRONG_TYPE).problem(where=where))
        else:
            origin = Origin("config-setting", where)
            _take([text for text in texts if text.strip()], key=keys[name], origin=origin, given=given, report=report)
    return given


def _unknown(name: str, *, known: Mapping[str, Key]) -> Finding:
    key = name.removeprefix(SETTING_PREFIX)
    scopes = find_scopes(key)
    hint = suggest(key, known=PROJECT.keys, prefix=SETTING_PREFIX) or (f"known: {', '.join(known)}",)
    if scopes:
        hint = (f"{key!r} is a key of {', '.join(scopes)} in pyproject.toml; a setting cannot give it",)
    return Finding("is no setting", Code.UNKNOWN_KEY, fix=hint)


def _take(texts: list[str], *, key: Key, origin: Origin, given: dict[str, Given], report: Report) -> None:
    if not texts:
        return
    raw = _raw(texts, key=key)
    if isinstance(raw, Finding):
        report.problems.append(raw.problem(where=origin.text))
    else:
        given[key.name] = Given(raw, origin)


def _raw(texts: list[str], *, key: Key) -> object:
    if key.kind in {"texts", "choices"}:
        return [word for text in texts for word in split_words(text)]
    if key.kind == "flags":
        return _split_flags(texts)
    if len(set(texts)) > 1:
        return Finding(f"is given more than once: {', '.join(map(shorten, texts))}", Code.CONFLICT)
    if key.kind == "switch":
        return _switch(texts[0].strip())
    return _number(texts[0].strip()) if key.kind == "number" else texts[0].strip()


def _split_flags(texts: list[str]) -> object:
    try:
        return [flag for text in texts for flag in shlex.split(text)]
    except ValueError as error:
        fix = ("write it as a shell would read it",)
        return Finding(f"{shorten(' '.join(texts))} cannot be split into flags: {error}", fix=fix)


def _switch(text: str) -> object:
    word = text.lower()
    if word in _TRUE | _FALSE:
        return word in _TRUE
    return Finding(f"{shorten(text)} is not true or false", fix=("write true or false (1, yes, on; 0, no, off)",))


def _number(text: str) -> object:
    digits = text.removeprefix("-")
    if digits.isascii() and digits.isdigit() and len(digits) < 20:
        return int(text)
    return Finding(f"{shorten(text)} is not a whole number")
