"""What is shown to a person: sections of rows, and their plain text. How it looks is decided here alone."""

from __future__ import annotations

import importlib
import importlib.util
import sys
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from setuptools_cuda.environment import Environment
from setuptools_cuda.errors import spell_controls

Tone = Literal["", "good", "bad", "faint"]
GUTTER = 16
"""Characters that the titles of sections take at the left."""
_GAP = 2


@dataclass(frozen=True)
class Row:
    """Cells that stand beside each other. A cell may have several lines."""

    cells: tuple[str, ...]
    tone: Tone = ""


@dataclass(frozen=True)
class Section:
    """Rows under one title. Cells of rows of one length stand in columns."""

    title: str
    rows: tuple[Row, ...]


Screen = tuple[Section, ...]


def row(*cells: str, tone: Tone = "") -> Row:
    """Return a row of ``cells``; control characters, which would act on the terminal, are spelled out."""
    return Row(tuple(spell_controls(cell, keep="\n\t") for cell in cells), tone)


def list_rows(texts: Iterable[str], *, tone: Tone = "") -> tuple[Row, ...]:
    """Return a row for each text."""
    return tuple(row(text, tone=tone) for text in texts)


def show(screen: Screen, *, environment: Environment) -> None:
    """Print ``screen``: in colour where a person looks and rich is installed, else as plain text."""
    if wants_colour(environment, terminal=sys.stdout.isatty()):
        importlib.import_module("setuptools_cuda.cli.screen_rich").show(screen)
    else:
        print(render_plain(screen))


def wants_colour(environment: Environment, *, terminal: bool) -> bool:
    """Return whether to colour: on a terminal that can, unless NO_COLOR (https://no-color.org) is set."""
    refused = environment.variables.get("NO_COLOR") or environment.get("TERM") == "dumb"
    return terminal and not refused and importlib.util.find_spec("rich") is not None


def render_plain(screen: Screen) -> str:
    """Return ``screen`` as text, without a trailing newline."""
    return "\n".join(line for section in screen if section.rows for line in _render_section(section))


def _render_section(section: Section) -> list[str]:
    widths = measure_columns(section.rows)
    lines = [line for each in section.rows for line in _render_row(each, widths=widths[len(each.cells)])]
    titles = [section.title, *[""] * (len(lines) - 1)]
    return [f"{title:<{GUTTER}}{line}".rstrip() for title, line in zip(titles, lines, strict=True)]


def measure_columns(rows: Sequence[Row]) -> dict[int, tuple[int, ...]]:
    """Return the widths of the columns, for rows of each number of cells."""
    lengths = {len(each.cells) for each in rows}
    return {
        length: tuple(
            max(len(line) for each in rows if len(each.cells) == length for line in _lines(each.cells[column]))
            for column in range(length)
        )
        for length in lengths
    }


def _render_row(row: Row, *, widths: Sequence[int]) -> list[str]:
    columns = [_lines(cell) for cell in row.cells]
    height = max(map(len, columns))
    padded = [[*column, *[""] * (height - len(column))] for column in columns]
    return [_join(cells, widths=widths) for cells in zip(*padded, strict=True)]


def _join(cells: Sequence[str], *, widths: Sequence[int]) -> str:
    *first, last = cells
    return "".join(f"{cell:<{width + _GAP}}" for cell, width in zip(first, widths, strict=False)) + last


def _lines(cell: str) -> list[str]:
    return cell.splitlines() or [""]
