"""Small pieces of HTML and SVG, with everything escaped, and numbers as people read them. Pure."""

from __future__ import annotations

import html
from collections.abc import Iterable

Cell = str
"""Markup of one cell of a table, escaped."""


def escape(text: str) -> str:
    """Return ``text`` as markup that shows it; what no browser can show is a question mark."""
    shown = "".join(character if character.isprintable() or character in "\n\t" else "\ufffd" for character in text)
    return html.escape(shown, quote=True)


def element(name: str, *content: str, **attributes: str | float) -> str:
    """Return an element with content that is markup. ``class_`` is class, other '_' are '-'."""
    named = ((key.rstrip("_").replace("_", "-"), value) for key, value in attributes.items() if value != "")
    inside = "".join(f' {key}="{escape(_number(value))}"' for key, value in named)
    return f"<{name}{inside}>{''.join(content)}</{name}>"


def _number(value: str | float) -> str:
    return value if isinstance(value, str) else f"{value:.2f}".rstrip("0").rstrip(".")


def text_element(name: str, text: str, **attributes: str | float) -> str:
    """Return an element that shows ``text``."""
    return element(name, escape(text), **attributes)


def table(head: Iterable[tuple[str, str]], *, rows: Iterable[Iterable[Cell]]) -> str:
    """Return a table. ``head`` is (text, class of the column); cells are markup."""
    columns = list(head)
    titles = "".join(text_element("th", text, class_=style, scope="col") for text, style in columns)
    lines = (
        element("tr", *(element("td", cell, class_=style) for cell, (_, style) in zip(row, columns, strict=True)))
        for row in rows
    )
    inside = element("thead", element("tr", titles)) + element("tbody", *lines)
    return element("div", element("table", inside), class_="scroll")


def show_seconds(seconds: float) -> str:
    """Return a time as '12.3 s', '4 min 05 s' or '85 ms'."""
    if seconds < 0.1:
        return f"{seconds * 1000:.0f} ms"
    if seconds < 60:
        return f"{seconds:.1f} s" if seconds < 59.95 else "1 min 00 s"
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours} h {minutes:02} min" if hours else f"{minutes} min {rest:02} s"


def show_bytes(size: float) -> str:
    """Return a size as '1.2 MiB'."""
    for unit in ("B", "KiB", "MiB"):
        if size < 1024:
            return f"{size:.0f} {unit}" if unit == "B" else f"{size:.1f} {unit}"
        size /= 1024
    return f"{size:.1f} GiB"


def show_count(number: int, *, noun: str) -> str:
    """Return '1 job', '2 jobs'."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def shorten_middle(text: str, *, most: int) -> str:
    """Return ``text``, without its middle where it has more than ``most`` characters: names differ at their ends."""
    if len(text) <= most:
        return text
    head = (most - 1) // 3
    return f"{text[:head]}…{text[head + 1 - most :]}"
