"""A real nvcc in every layout, through every kind of isolation: what is taken, from which step, and what is said."""

from __future__ import annotations

from pathlib import Path

import pytest
from layouts_support import ISOLATIONS, LAYOUTS, NO_ISOLATION, PAGE, Cell, Layout, render_page

# What an isolation can change is what lies in the build environment, and what a variable says.
ALL_ISOLATIONS = LAYOUTS[:3]
CELLS = [
    (layout, isolation)
    for layout in LAYOUTS
    for isolation in ISOLATIONS
    if layout in ALL_ISOLATIONS or isolation == NO_ISOLATION
]


@pytest.mark.parametrize(("layout", "isolation"), CELLS, ids=[f"{i}-{each.name}" for each, i in CELLS])
def test_cell(
    layout: Layout,
    isolation: str,
    toolkit_nvcc: Path,
    our_wheel: Path,
    shared_folder: Path,
    tmp_path: Path,
    bare_environment: dict[str, str],
) -> None:
    cell = Cell(layout, isolation, toolkit_nvcc, our_wheel, shared_folder)
    status, said = cell.build(tmp_path, variables=bare_environment)
    cell.check(tmp_path, status=status, said=said)


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == render_page(), "run: python tests/layouts_support.py"
