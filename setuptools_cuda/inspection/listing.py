"""What cuobjdump prints, as values. Pure.

Two of its listings are read ("CUDA Binary Utilities", cuobjdump): the head of each entry of the
fatbins, and the names of the files that it unpacks. Entries of a kind stand in one order in both.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from setuptools_cuda.resolution.values import Release

_HEAD = re.compile(r"^Fatbin (?P<kind>\w+) code:$")
_FIELD = re.compile(r"^(?P<name>[\w ]+?) = ?(?P<value>.*)$")
_UNPACKED = re.compile(r"^Extracting (?P<kind>ELF|PTX) file[^\d]*\d+: (?P<file>\S+\.(?P<code>sm_\w+)\.(?:cubin|ptx))\b")
_ARCHITECTURE = re.compile(r"sm_[1-9]\d{1,2}[af]?")
_TOOLKIT = re.compile(r"\btoolkit=(?:(?P<major>\d+)\.(?P<minor>\d+)|(?P<number>\d{2,3}))\b")
_LISTED = re.compile(r"^ELF file +\d+: \S+\.(?P<code>sm_\w+)\.cubin$", re.MULTILINE)

KINDS = {"elf": "sm", "ptx": "compute", "nvvm": "lto"}
"""The prefix of an architecture's name, by cuobjdump's word for the kind of code."""


@dataclass(frozen=True)
class Entry:
    """One entry of a fatbin."""

    kind: str
    """'elf', 'ptx' or 'nvvm'."""
    architecture: str
    """As '90a'."""
    version: tuple[int, int]
    compressed: bool
    options: str
    """What ptxas is to be called with; '' for machine code."""

    @property
    def name(self) -> str:
        """Return the name of the code, as 'sm_90a' or 'compute_90'."""
        return f"{KINDS[self.kind]}_{self.architecture}"


@dataclass(frozen=True)
class Unpacked:
    """One file that cuobjdump wrote."""

    kind: str
    architecture: str
    file: str


def parse_entries(text: str) -> tuple[Entry, ...]:
    """Return the entries of ``cuobjdump --all-fatbin``. Raises ValueError for what is not understood."""
    found: list[Entry] = []
    kind, fields, words = "", dict[str, str](), set[str]()
    for line in [*text.splitlines(), ""]:
        head = _HEAD.match(line)
        field = _FIELD.match(line)
        if head:
            kind, fields, words = head["kind"], {}, set()
        elif field:
            fields[field["name"]] = field["value"].strip()
        elif line.strip():
            words.add(line.strip())
        elif kind:
            found.append(_make_entry(kind, fields=fields, words=words))
            kind = ""
    return tuple(found)


def _make_entry(kind: str, *, fields: dict[str, str], words: set[str]) -> Entry:
    architecture, version = fields.get("arch", ""), re.findall(r"\d+", fields.get("code version", ""))
    if kind not in KINDS or not _ARCHITECTURE.fullmatch(architecture) or len(version) != 2:
        raise ValueError(f"an entry of kind {kind!r}, arch {architecture!r}, version {version}")
    options = fields.get("ptxasOptions", "")
    compressed = "compressed" in words
    return Entry(kind, architecture.removeprefix("sm_"), (int(version[0]), int(version[1])), compressed, options)


def parse_unpacked(text: str) -> tuple[Unpacked, ...]:
    """Return the files of ``cuobjdump --extract-elf all --extract-ptx all``."""
    lines = (_UNPACKED.match(line) for line in text.splitlines())
    return tuple(
        Unpacked(each["kind"].lower(), each["code"].removeprefix("sm_"), each["file"]) for each in lines if each
    )


def parse_cubin(text: str) -> str | None:
    """Return the architecture of a cubin, as '90a', of ``cuobjdump --list-elf``; None where none is told."""
    found = _LISTED.search(text)
    return found["code"].removeprefix("sm_") if found else None


def parse_toolkit(text: str) -> Release | None:
    """Return the toolkit in a line of ``cuobjdump --dump-elf``, which says '118' or '13.0'; None if it has none."""
    found = _TOOLKIT.search(text)
    if found is None:
        return None
    if found["number"]:
        return Release(int(found["number"][:-1]), int(found["number"][-1]))
    return Release(int(found["major"]), int(found["minor"]))
