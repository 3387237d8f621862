"""What parsing a value finds, before it is known where the value stood."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass, field

from setuptools_cuda.errors import Code, Problem

_SLIP = 0.75
"""What a word and its misspelling have in common, at the least."""
_TELLING = 4
"""Letters of a word that are its beginning rather than chance."""


@dataclass(frozen=True)
class Finding:
    """One thing wrong with a value. ``at`` is the place below the key, as ``.cuda``."""

    what: str
    code: Code = Code.BAD_VALUE
    at: str = ""
    details: tuple[tuple[str, str], ...] = ()
    fix: tuple[str, ...] = ()

    def problem(self, *, where: str) -> Problem:
        """Return the problem at the place ``where``."""
        return Problem(self.code, self.what, where + self.at, self.details, self.fix)


@dataclass(frozen=True)
class Parsed:
    """A value with what was found on the way. Where ``findings`` are, the value does not count."""

    value: object = None
    findings: tuple[Finding, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass
class Report:
    """Collects the problems and warnings of one load, in the order in which they are found."""

    problems: list[Problem] = field(default_factory=list)
    warnings: list[str] = field(default_factory=list)

    def add(self, parsed: Parsed, *, where: str) -> None:
        """Take over the findings and notes of a value at ``where``."""
        self.problems.extend(finding.problem(where=where) for finding in parsed.findings)
        self.warnings.extend(f"{where}: {note}" for note in parsed.notes)


def suggest(word: str, *, known: Iterable[str], prefix: str = "") -> tuple[str, ...]:
    """Return the line "did you mean ...?" for the nearest of ``known``, shown after ``prefix``, or nothing."""
    stem = word.removesuffix("s").removesuffix("S")
    longer = [one for one in known if len(stem) >= _TELLING and one.startswith(stem)]
    near = difflib.get_close_matches(word, sorted(known), n=1, cutoff=0.6)
    # A slip of the finger is nearer than a beginning that is common to several words.
    slip = difflib.get_close_matches(word, near, n=1, cutoff=_SLIP)
    close = slip or sorted(longer, key=len) or near
    return (f"did you mean {prefix + close[0]!r}?",) if close else ()


def describe(raw: object) -> str:
    """Return what a TOML or Python value is, in plain words."""
    if isinstance(raw, bool):
        return "true" if raw else "false"
    if isinstance(raw, (int, float)):
        return f"the number {show_number(raw)}"
    if isinstance(raw, str):
        return f"the string {shorten(raw)}"
    for kinds, name in (((list, tuple), "a list"), (dict, "a table")):
        if isinstance(raw, kinds):
            return name
    return "nothing" if raw is None else f"a {type(raw).__name__}"


def show_number(number: float) -> str:
    """Return the number as text; Python refuses to write out very long ones."""
    return "of more than 40 digits" if abs(number) > 10**40 and number == number // 1 else str(number)


def shorten(text: str) -> str:
    """Return ``text`` quoted, with its middle left out where it is long."""
    kept = text if len(text) <= 60 else f"{text[:40]}...{text[-15:]}"
    return repr(kept)
