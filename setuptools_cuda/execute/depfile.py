"""Dependency files: read as compilers write them, written as ninja reads them. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence


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
        elif character.isspace():
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


def _escape(path: str) -> str:
    escaped = path.replace("$", "$$").replace("#", "\\#")
    return escaped.replace(" ", "\\ ")
