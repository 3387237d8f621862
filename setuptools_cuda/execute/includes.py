"""What sources and headers say of the headers that they want: ``#include``, and ``__has_include``."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

_NAME = rb'(?:"([^"\n]+)"|<([^>\n]+)>)'
_INCLUDED = re.compile(rb"^[ \t]*(?:#|%:)[ \t]*(?:include|include_next|import)[ \t]*" + _NAME, re.M)
_ASKED_FOR = re.compile(rb"\b__has_include(?:_next)?[ \t]*\(?[ \t]*" + _NAME)


@dataclass(frozen=True)
class Include:
    """A header as a text names it."""

    name: str
    quoted: bool
    """Whether it is looked for beside the text first."""
    asked: bool
    """Whether the text only asks if there is such a header."""


class Includes:
    """The headers that texts name, remembered by the digests of the texts."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self._known: dict[str, tuple[Include, ...]] = {}

    def find(self, path: str, *, digest: str) -> tuple[Include, ...]:
        """Return what the text in ``path`` names, nothing where it cannot be read."""
        if digest not in self._known:
            try:
                self._known[digest] = parse_includes(Path(path).read_bytes())
            except OSError:
                return ()
        return self._known[digest]


def parse_includes(text: bytes) -> tuple[Include, ...]:
    """Return the headers that ``text`` names, each once; those that a macro names are not among them."""
    return tuple(dict.fromkeys((*_parse(text, _INCLUDED, asked=False), *_parse(text, _ASKED_FOR, asked=True))))


def _parse(text: bytes, pattern: re.Pattern[bytes], *, asked: bool) -> Iterator[Include]:
    for quoted, angled in pattern.findall(text):
        yield Include((quoted or angled).decode("utf-8", "surrogateescape"), bool(quoted), asked)
