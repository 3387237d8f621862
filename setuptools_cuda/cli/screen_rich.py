"""A screen in colour, by rich. Loaded where it is used, since rich is an extra."""

from __future__ import annotations

from rich.console import Console
from rich.table import Table
from rich.text import Text

from setuptools_cuda.cli.screen import GUTTER, Row, Screen, Section, Tone

_STYLES: dict[Tone, str] = {"": "", "good": "green", "bad": "red", "faint": "dim"}


def show(screen: Screen) -> None:
    """Print ``screen`` to the terminal."""
    console = Console(highlight=False, markup=False, emoji=False)
    for section in screen:
        if section.rows:
            console.print(_lay_out(section))


def _lay_out(section: Section) -> Table:
    outer = Table.grid(padding=0)
    outer.add_column(width=GUTTER, no_wrap=True)
    outer.add_column(overflow="fold")
    titles = [section.title]
    for rows in _group(section.rows):
        outer.add_row(Text(titles.pop() if titles else "", style="bold"), _lay_out_rows(rows))
    return outer


def _group(rows: tuple[Row, ...]) -> list[list[Row]]:
    """Return runs of rows with the same number of cells: each run is a table of its own."""
    groups: list[list[Row]] = []
    for each in rows:
        if groups and len(groups[-1][0].cells) == len(each.cells):
            groups[-1].append(each)
        else:
            groups.append([each])
    return groups


def _lay_out_rows(rows: list[Row]) -> Table:
    table = Table.grid(padding=(0, 2, 0, 0))
    for _ in rows[0].cells:
        table.add_column(overflow="fold")
    for each in rows:
        table.add_row(*(Text(cell, style=_STYLES[each.tone]) for cell in each.cells))
    return table
