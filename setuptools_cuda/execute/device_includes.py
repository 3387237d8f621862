"""Finds what a source includes, for a compiler that does not tell. Read-only.

The text is read, and conditions are not: each literal ``#include`` counts, also one that this
compile skips, so no change of a header that counts is missed. An include behind a macro can
name anything: then every file of the source's include folders counts. Folders whose content is
told otherwise (those of a toolkit's wheels, by their versions) are left out.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

_SPLICE = re.compile(rb"\\\r?\n")
_DIRECTIVE = re.compile(
    rb"(?:#|%:)(?:[ \t]|/\*.*?\*/)*(?:include|include_next|embed)\b(?:[ \t]|/\*.*?\*/)*"
    rb'(?:"([^"\n]+)"|<([^>\n]+)>|([A-Za-z_]\w*))',
    re.DOTALL,
)
_PRE_INCLUDES = ("-include=", "--pre-include=")
_LARGEST = 4096
"""Files of include folders that are taken in for one include behind a macro."""


def find_includes(source: str, *, options: Sequence[str], told: Sequence[str] = ()) -> tuple[str, ...]:
    """Return the files that a compile of ``source`` may read besides it, as their paths are written.

    ``options`` are those of the compiler; folders in ``told`` are not looked into.
    """
    folders = [word[2:] for word in options if word.startswith("-I") and word != "-I"]
    folders += [word.partition("=")[2] for word in options if word.startswith("--include-path=")]
    search = _Search([folder for folder in dict.fromkeys(folders) if folder not in told])
    starts = [word.partition("=")[2] for word in options if word.startswith(_PRE_INCLUDES)]
    for name in starts:
        search.take(name, beside=".", quoted=True)
    search.read(source)
    return tuple(search.found)


class _Search:
    def __init__(self, folders: Sequence[str]) -> None:
        self._folders = [folder for folder in folders if Path(folder).is_dir()]
        self.found: dict[str, None] = {}
        self._read: set[str] = set()

    def read(self, file: str) -> None:
        """Take in all that ``file`` includes, and what that includes."""
        waiting = [file]
        while waiting:
            one = waiting.pop()
            if one in self._read:
                continue
            self._read.add(one)
            before = len(self.found)
            self._scan(one)
            waiting.extend(list(self.found)[before:])

    def _scan(self, file: str) -> None:
        try:
            text = _SPLICE.sub(b"", Path(file).read_bytes())
        except OSError:
            return
        beside = str(Path(file).parent)
        for quoted, bracketed, macro in _DIRECTIVE.findall(text):
            if macro:
                self._take_all(beside=beside)
            else:
                name = (quoted or bracketed).decode("utf-8", "surrogateescape")
                self.take(name, beside=beside, quoted=bool(quoted))

    def take(self, name: str, *, beside: str, quoted: bool) -> None:
        """Take in the file of that name, and those that other folders have: ``include_next`` may mean them."""
        places = [*([beside] if quoted else []), *self._folders]
        for place in dict.fromkeys(places):
            path = Path(place) / name
            if path.is_file():
                # Without '..', or headers that include each other by it would have ever longer names.
                plain = Path(os.path.normpath(path))
                same = plain.is_file() and plain.samefile(path)
                self.found[str(plain if same else path.resolve())] = None

    def _take_all(self, *, beside: str) -> None:
        for place in dict.fromkeys([beside, *self._folders]):
            for path in _files(place):
                self.found[path] = None


def _files(folder: str) -> Iterator[str]:
    for number, path in enumerate(sorted(Path(folder).rglob("*"))):
        if number == _LARGEST:
            return
        if path.is_file():
            yield str(path)
