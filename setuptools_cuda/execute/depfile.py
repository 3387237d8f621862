"""Dependency files as compilers write them. Pure."""

from __future__ import annotations

TYPE_CHECKING = False
"""As in :mod:`typing`, which is slow to import."""
if TYPE_CHECKING:
    from collections.abc import Iterable


def parse_depfile(text: str) -> tuple[str, ...]:
    r"""Return the prerequisites of a Makefile rule, each once, in order.

    A backslash escapes a space, a '#' and a newline; '$$' is '$'. What stands before the first
    ': ' is the target, which nvcc leaves unescaped (CUDA compiler driver document, "-MD").
    """
    _, _, rest = text.replace("\\\r\n", " ").replace("\\\n", " ").partition(": ")
    line = rest.lstrip(" \t\r\n").partition("\n")[0].replace("\t", " ").replace("\r", " ")
    words = line.split(" ") if "\\" not in line and "$" not in line else _split_escaped(line)
    return tuple(dict.fromkeys(word for word in words if word))


def _split_escaped(line: str) -> list[str]:
    words: list[str] = [""]
    characters = iter(line)
    for character in characters:
        if character == "\\":
            following = next(characters, "")
            words[-1] += following if following in {" ", "#", "\\"} else "\\" + following
        elif character == "$":
            following = next(characters, "")
            words[-1] += "$" if following == "$" else "$" + following
        elif character == " ":
            words.append("")
        else:
            words[-1] += character
    return words


def render_depfile(target: str, inputs: Iterable[str]) -> str:
    """Return a depfile with each special character escaped."""
    lines = " \\\n  ".join(_escape(path) for path in inputs)
    return f"{_escape(target)}: {lines}\n"


def _escape(path: str) -> str:
    escaped = path.replace("$", "$$").replace("#", "\\#")
    return escaped.replace(" ", "\\ ")
