"""Dependency files: read as compilers write them, written as ninja reads them. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence

_READABLE = re.compile(r"""[a-zA-Z0-9+?"'&,/_:.~(){}%=@\[\]!\-\\ #$^\x80-\U0010ffff\udc80-\udcff]+""")
"""Paths that ninja's depfile reader takes, some characters escaped (ninja 1.13, depfile_parser.in.cc)."""


def parse_depfile(text: str) -> tuple[str, ...]:
    r"""Return the prerequisites of a Makefile rule, each once, in order.

    A backslash escapes a space, a '#' and a newline; '$$' is '$'. What stands before the first
    ': ' is the target, which nvcc leaves unescaped (CUDA compiler driver document, "-MD").
    """
    _, _, rest = text.replace("\\\r\n", " ").replace("\\\n", " ").partition(": ")
    words: list[str] = []
    word: list[str] = []
    characters = iter(rest)
    for character in characters:
        if character == "\\":
            following = next(characters, "")
            word.append(following if following in {" ", "#", "\\"} else "\\" + following)
        elif character == "$":
            following = next(characters, "")
            word.append("$" if following == "$" else "$" + following)
        elif character == "\n" and not _in_rule(words, word):
            break
        elif character in " \t\r\n":
            _end(words, word)
        else:
            word.append(character)
    _end(words, word)
    return tuple(dict.fromkeys(words))


def _in_rule(words: Sequence[str], word: Sequence[str]) -> bool:
    return not words and not word


def _end(words: list[str], word: list[str]) -> None:
    if word:
        words.append("".join(word))
        word.clear()


def render_depfile(target: str, inputs: Iterable[str]) -> str:
    """Return a depfile for ninja, with each special character escaped."""
    lines = " \\\n  ".join(_escape(path) for path in inputs)
    return f"{_escape(target)}: {lines}\n"


def find_unreadable(inputs: Iterable[str]) -> tuple[str, ...]:
    """Return the paths that no depfile can say to ninja."""
    return tuple(path for path in inputs if not _READABLE.fullmatch(path))


def _escape(path: str) -> str:
    escaped = path.replace("$", "$$").replace("#", "\\#")
    return escaped.replace(" ", "\\ ")
