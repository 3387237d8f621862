"""The ``if`` table of an override: reading it, and whether it holds."""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from packaging.specifiers import SpecifierSet

from setuptools_cuda.config.checks import CHECKS, parse_bound
from setuptools_cuda.config.findings import Finding, Parsed, describe, shorten, suggest
from setuptools_cuda.config.model import Condition
from setuptools_cuda.errors import Code

ARCHITECTURES_PATTERN = r"^(?:<=|>=|<|>|==)? *(?:(?:sm_|compute_)?[0-9]{2,3}[af]?|[0-9]{1,2}\.[0-9][af]?)$"
"""What ``architectures`` in a condition looks like: a token, or a bound as '<80'."""
_WORDS = ("platform-system", "platform-machine", "python-version", "cuda", "architectures")
_FALSE = frozenset({"", "0", "false", "off", "no", "n", "f"})
_COMPARISONS: Mapping[str, Callable[[int, int], bool]] = {
    "<": operator.lt,
    "<=": operator.le,
    ">": operator.gt,
    ">=": operator.ge,
    "==": operator.eq,
}
# What scikit-build-core and others call the systems that Python's platform.system() names so.
_SYSTEMS = {"win32": "Windows", "windows_nt": "Windows", "macos": "Darwin", "macosx": "Darwin", "osx": "Darwin"}


@dataclass(frozen=True)
class Facts:
    """What conditions are held against."""

    platform_system: str
    platform_machine: str
    python_version: tuple[int, int]
    variables: Mapping[str, str]
    cuda: str | None
    """The toolkit's release as 'X.Y', or None without a toolkit."""
    architectures: tuple[str, ...]
    """The requested architectures, as '80' and '90a'."""


def holds(condition: Condition, *, facts: Facts) -> bool:
    """Return whether all parts of ``condition`` hold."""
    python = ".".join(map(str, facts.python_version))
    return (
        _same(condition.platform_system, facts.platform_system)
        and _same(condition.platform_machine, facts.platform_machine)
        and (condition.python_version is None or _within(python, specifier=condition.python_version))
        and _cuda_holds(wanted=condition.cuda, release=facts.cuda)
        and _architectures_hold(condition.architectures, requested=facts.architectures)
        and all(_variable_holds(facts.variables.get(name, ""), wanted=wanted) for name, wanted in condition.env)
    )


def _same(wanted: str | None, found: str) -> bool:
    return wanted is None or wanted.casefold() == found.casefold()


def _within(version: str, *, specifier: str) -> bool:
    return SpecifierSet(specifier).contains(version, prereleases=True)


def _cuda_holds(*, wanted: str | bool | None, release: str | None) -> bool:
    if wanted is None:
        return True
    if isinstance(wanted, bool):
        return wanted is (release is not None)
    return release is not None and _within(release, specifier=wanted)


def _architectures_hold(wanted: str | None, *, requested: tuple[str, ...]) -> bool:
    if wanted is None:
        return True
    found = re.match(r"[<>=]*", wanted)
    sign = found[0] if found else ""
    token = wanted[len(sign) :].strip()
    if not sign:
        return re.sub(r"sm_|compute_|\.", "", token) in requested
    compare = _COMPARISONS[sign]
    return any(compare(parse_bound(one), parse_bound(token)) for one in requested)


def _variable_holds(value: str, *, wanted: str | bool) -> bool:
    if isinstance(wanted, bool):
        return wanted is (value.strip().lower() not in _FALSE)
    return value == wanted


def parse_condition(raw: object) -> Parsed:
    """Return the :class:`Condition` of an ``if`` table, with all that is wrong in it."""
    if not isinstance(raw, Mapping):
        fix = ("write it as a table, as if = { platform-system = 'Windows' }",)
        return Parsed(findings=(Finding(f"is {describe(raw)}, not a table", Code.WRONG_TYPE, fix=fix),))
    findings: list[Finding] = []
    env: list[tuple[str, str | bool]] = []
    words: dict[str, str | bool] = {}
    for name, value in raw.items():
        part = str(name)
        if part == "env" or part.startswith("env."):
            env.extend(_parse_env(part, value, findings=findings))
        elif part in _WORDS:
            found = _check_part(part, value)
            findings.extend([found] if found else [])
            words[part.replace("-", "_")] = value
        else:
            hint = suggest(part, known=(*_WORDS, "env")) or (f"known: {', '.join(_WORDS)}, env.NAME",)
            findings.append(Finding("is no condition", Code.UNKNOWN_KEY, f".{part}", fix=hint))
    if findings:
        return Parsed(findings=tuple(findings))
    return Parsed(Condition(**words, env=tuple(env)))  # type: ignore[arg-type]  # checked by _check_part


def _parse_env(name: str, value: object, *, findings: list[Finding]) -> list[tuple[str, str | bool]]:
    pairs = dict(value) if name == "env" and isinstance(value, Mapping) else {name.removeprefix("env."): value}
    good: list[tuple[str, str | bool]] = []
    for variable, wanted in pairs.items():
        if name == "env" and not isinstance(value, Mapping):
            fix = ("write it as \"env.NAME\" = true, or env = { NAME = 'value' }",)
            findings.append(Finding(f"is {describe(value)}, not a table", Code.WRONG_TYPE, ".env", fix=fix))
        elif not isinstance(wanted, (str, bool)):
            what = f"is {describe(wanted)}, not true, false or a string"
            findings.append(Finding(what, Code.WRONG_TYPE, f".env.{variable}"))
        elif not str(variable) or "=" in str(variable):
            findings.append(Finding(f"{shorten(str(variable))} is no variable", at=".env"))
        else:
            good.append((str(variable), wanted))
    return good


def _check_part(name: str, value: object) -> Finding | None:
    if name == "cuda" and isinstance(value, bool):
        return None
    if not isinstance(value, str):
        kinds = "true, false or a string" if name == "cuda" else "a string"
        return Finding(f"is {describe(value)}, not {kinds}", Code.WRONG_TYPE, f".{name}")
    if not value.strip():
        return Finding("is empty", at=f".{name}", fix=("leave it out",))
    return _check_text(name, value)


def _check_text(name: str, value: str) -> Finding | None:
    at = f".{name}"
    if name in {"python-version", "cuda"} and (found := CHECKS["specifier"].find(value)):
        return Finding(found.what, at=at, fix=("write it as '>=3.11'",) if name == "python-version" else found.fix)
    if name == "architectures" and not re.search(ARCHITECTURES_PATTERN, value):
        fix = ("write one architecture, as '90a', or a bound, as '<80'",)
        return Finding(f"{shorten(value)} is no architecture", Code.BAD_ARCHITECTURE, at, fix=fix)
    if name == "platform-system" and value.casefold() in _SYSTEMS:
        fix = (f"write {_SYSTEMS[value.casefold()]!r}",)
        return Finding(f"{shorten(value)} is not what Python calls a system", at=at, fix=fix)
    return None
