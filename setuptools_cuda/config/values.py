"""Turns a TOML or Python value into the value of a key, or says what is wrong with it."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

from setuptools_cuda.config.checks import CHECKS
from setuptools_cuda.config.conditions import parse_condition
from setuptools_cuda.config.findings import Finding, Parsed, describe, shorten, show_number, suggest
from setuptools_cuda.config.flags import Reserved, Tool, find_reserved, without_threads
from setuptools_cuda.config.keys import NOT_IN_THIS_RELEASE, OPEN_NAME, Key, Kind
from setuptools_cuda.config.model import CacheEntries, Flags
from setuptools_cuda.config.placeholders import find_placeholder_fault
from setuptools_cuda.errors import Code

TEXT_PATTERN = r"^[^\x00-\x08\x0a-\x1f]*$"
"""Text of one line: no control characters but the tab."""
_TOOLS: tuple[Tool, ...] = ("cuda", "cxx", "c", "link")
_MANY = (list, tuple)


def parse_value(raw: object, *, key: Key) -> Parsed:
    """Return the value of ``key`` that ``raw`` stands for, with all that is wrong with it."""
    if not key.available:
        fix = (NOT_IN_THIS_RELEASE[key.name],)
        return _bad(Finding("is not in this release", Code.NOT_AVAILABLE, fix=fix))
    return _PARSERS[key.kind](raw, key)


def split_words(text: str) -> list[str]:
    """Return the words of ``text``, which ';', ',' or white space part."""
    return [word for word in re.split(r"[;,\s]+", text) if word]


def _bad(*findings: Finding) -> Parsed:
    return Parsed(findings=findings)


def _wrong(raw: object, *, wanted: str, at: str = "", fix: tuple[str, ...] = ()) -> Finding:
    return Finding(f"is {describe(raw)}, not {wanted}", Code.WRONG_TYPE, at, fix=fix)


def _parse_text(raw: object, key: Key) -> Parsed:
    if not isinstance(raw, str):
        fix = (
            (f'write it in quotes: "{show_number(raw)}"',)
            if isinstance(raw, (int, float)) and not isinstance(raw, bool)
            else ()
        )
        return _bad(_wrong(raw, wanted="a string", fix=fix))
    found = find_text_fault(raw) or _checked(raw, key=key)
    return _bad(found) if found else Parsed(raw)


def find_text_fault(text: str) -> Finding | None:
    """Return what is wrong with any text: it is blank, or has a line break or control character."""
    if not text.strip():
        return Finding("is empty", fix=("give it a value, or leave it out where it need not be there",))
    if not re.search(TEXT_PATTERN.replace("$", r"\Z"), text):
        return Finding(f"{shorten(text)} has a line break or control character in it")
    return None


def _checked(value: str | int, *, key: Key) -> Finding | None:
    return CHECKS[key.check].find(value) if key.check else None


def _parse_switch(raw: object, _key: Key) -> Parsed:
    if isinstance(raw, bool):
        return Parsed(raw)
    return _bad(_wrong(raw, wanted="true or false", fix=("write true or false, without quotes",)))


def _parse_number(raw: object, key: Key) -> Parsed:
    if isinstance(raw, bool) or not isinstance(raw, int):
        return _bad(_wrong(raw, wanted="a whole number", fix=("write it as 4, without quotes",)))
    found = _checked(raw, key=key)
    return _bad(found) if found else Parsed(raw)


def _parse_choice(raw: object, key: Key) -> Parsed:
    found = _find_choice_fault(raw, key=key)
    return _bad(found) if found else Parsed(raw)


def _find_choice_fault(raw: object, *, key: Key) -> Finding | None:
    wanted = f"one of {', '.join(map(repr, key.choices))}" if len(key.choices) > 1 else repr(key.choices[0])
    if not isinstance(raw, str):
        return _wrong(raw, wanted=wanted)
    if raw in key.choices:
        return None
    if raw in key.choices:
        return Finding(f"{raw!r} is not in this release", Code.NOT_AVAILABLE, fix=(f"leave it out, or write {wanted}",))
    close = suggest(raw, known=key.choices)
    if key.open and not close and re.search(OPEN_NAME, raw):
        return None
    return Finding(f"{shorten(raw)} is not {wanted}", fix=close)


def _parse_texts(raw: object, key: Key) -> Parsed:
    if key.separable:
        raw = _separated(raw)
    if not isinstance(raw, _MANY):
        return _bad(_wrong(raw, wanted="a list of strings", fix=_as_list(raw)))
    if not raw and key.check and CHECKS[key.check].needs_item:
        return _bad(Finding("is empty", fix=("leave the key out, or name one",)))
    found = [_find_item_fault(item, number=number, key=key) for number, item in enumerate(raw)]
    faults = [one for one in found if one]
    return _bad(*faults) if faults else Parsed(tuple(raw))


def _as_list(raw: object) -> tuple[str, ...]:
    if isinstance(raw, (int, float)) and not isinstance(raw, bool):
        return (f"write it as ['{show_number(raw)}']",) if abs(raw) < 10**6 else ()
    return (f"write it as [{shorten(raw)}]",) if isinstance(raw, str) else ()


def _separated(raw: object) -> object:
    if isinstance(raw, str):
        return split_words(raw)
    if not isinstance(raw, _MANY):
        return raw
    # A blank item stays, to be told.
    return [word for item in raw for word in ((isinstance(item, str) and split_words(item)) or [item])]


def _find_item_fault(item: object, *, number: int, key: Key) -> Finding | None:
    if not isinstance(item, str):
        fix = (
            (f'write it in quotes: "{show_number(item)}"',)
            if isinstance(item, int) and not isinstance(item, bool)
            else ()
        )
        return Finding(f"item {number + 1} is {describe(item)}, not a string", Code.WRONG_TYPE, fix=fix)
    fault = find_text_fault(item)
    if fault:
        return Finding(f"item {number + 1} {fault.what}", fault.code, fix=fault.fix)
    return _checked(item, key=key)


def _parse_choices(raw: object, key: Key) -> Parsed:
    if not isinstance(raw, _MANY):
        return _bad(_wrong(raw, wanted="a list of strings"))
    if not raw:
        return _bad(Finding("is empty", fix=("leave the key out, or name one",)))
    found = [_find_choice_fault(item, key=key) for item in raw]
    faults = [one for one in found if one]
    return _bad(*faults) if faults else Parsed(tuple(dict.fromkeys(raw)))


def _parse_flags(raw: object, _key: Key) -> Parsed:
    if isinstance(raw, _MANY):
        return _parse_tools({"cuda": raw}, bare=True)
    if isinstance(raw, Mapping):
        return _parse_tools({str(name): value for name, value in raw.items()}, bare=False)
    fix = ("write it as ['-lineinfo'], or as { cuda = ['-lineinfo'], cxx = ['-O3'] }",)
    return _bad(_wrong(raw, wanted="a list or a table of lists", fix=fix))


def _parse_tools(table: Mapping[str, object], *, bare: bool) -> Parsed:
    findings: list[Finding] = []
    notes: list[str] = []
    values: dict[str, tuple[str, ...]] = {}
    for name, value in table.items():
        at = "" if bare else f".{name}"
        tool = next((tool for tool in _TOOLS if tool == name), None)
        if tool is None:
            fix = suggest(name, known=_TOOLS) or (f"known: {', '.join(_TOOLS)}",)
            findings.append(Finding("is no tool that takes flags", Code.UNKNOWN_KEY, at, fix=fix))
            continue
        faults = tuple(_find_flag_faults(value, tool=tool, at=at))
        findings.extend(faults)
        if not faults:
            values[name], dropped = _split_threads(value, tool=tool)
            notes.extend(dropped)
    return Parsed(Flags(**values), tuple(findings), tuple(notes))


def _find_flag_faults(value: object, *, tool: Tool, at: str) -> list[Finding]:
    if not isinstance(value, _MANY):
        fix = (f"write it as [{shorten(value)}]",) if isinstance(value, str) else ()
        return [_wrong(value, wanted="a list of strings", at=at, fix=fix)]
    faults = [_find_flag_item_fault(item, number=number, at=at) for number, item in enumerate(value)]
    found = [fault for fault in faults if fault]
    return found or [_refusal(one, tool=tool, at=at) for one in find_reserved(value, tool=tool)]


def _find_flag_item_fault(item: object, *, number: int, at: str) -> Finding | None:
    if not isinstance(item, str):
        return Finding(f"item {number + 1} is {describe(item)}, not a string", Code.WRONG_TYPE, at)
    fault = find_text_fault(item)
    return Finding(f"item {number + 1} {fault.what}", fault.code, at, fix=fault.fix) if fault else None


def _refusal(reserved: Reserved, *, tool: Tool, at: str) -> Finding:
    if reserved.key:
        what = f"{shorten(reserved.flag)} is said by the key {reserved.key!r}, not by a flag"
        return Finding(what, Code.RESERVED_FLAG, at, fix=(f"set {reserved.key!r} instead",))
    program = "nvcc" if tool == "cuda" else "the compiler"
    what = f"{shorten(reserved.flag)} is set by the build, which calls {program}"
    return Finding(what, Code.RESERVED_FLAG, at, fix=("leave it out",))


def _split_threads(value: object, *, tool: Tool) -> tuple[tuple[str, ...], list[str]]:
    flags: tuple[str, ...] = tuple(value) if isinstance(value, _MANY) else ()
    if tool != "cuda":
        return flags, []
    kept, dropped = without_threads(flags)
    note = f"{' '.join(dropped)} is left out: the build shares out threads and jobs together ('jobs')"
    return kept, [note] if dropped else []


def _parse_if(raw: object, _key: Key) -> Parsed:
    return parse_condition(raw)


def _parse_entries(raw: object, _key: Key) -> Parsed:
    if not isinstance(raw, Mapping):
        return _bad(_wrong(raw, wanted="a table", fix=("write it as { NAME = 'value' }",)))
    values = {str(name): _cache_text(value) for name, value in raw.items()}
    faults = [_find_entry_fault(name, text=values[str(name)], raw=value) for name, value in raw.items()]
    found = [fault for fault in faults if fault]
    good = tuple((name, text) for name, text in values.items() if text is not None)
    return _bad(*found) if found else Parsed(CacheEntries(good))


def _cache_text(value: object) -> str | None:
    """Return a value as CMake's cache holds it, or None where it cannot."""
    if isinstance(value, bool):
        return "ON" if value else "OFF"
    if isinstance(value, (list, tuple)) and all(isinstance(item, str) for item in value):
        return ";".join(value)
    return str(value) if isinstance(value, (str, int)) else None


def _find_entry_fault(name: str, *, text: str | None, raw: object) -> Finding | None:
    at = f".{name}"
    if not re.fullmatch(r"[A-Za-z0-9_./+-]+", name):
        return Finding(f"{shorten(name)} is no name of a variable in CMake", Code.BAD_NAME)
    if text is None:
        return _wrong(raw, wanted="a string, a number, true or false, or a list of strings", at=at)
    if not re.search(TEXT_PATTERN.replace("$", r"\Z"), text):
        return Finding(f"{shorten(text)} has a line break or control character in it", at=at)
    return find_placeholder_fault(text, at=at)


_PARSERS: Mapping[Kind, Callable[[object, Key], Parsed]] = {
    "text": _parse_text,
    "switch": _parse_switch,
    "number": _parse_number,
    "choice": _parse_choice,
    "texts": _parse_texts,
    "choices": _parse_choices,
    "flags": _parse_flags,
    "condition": _parse_if,
    "cache-entries": _parse_entries,
}
