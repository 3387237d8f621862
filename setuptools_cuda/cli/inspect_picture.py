"""Sizes by architecture as a picture of bars: SVG, by itself or in a page. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from html import escape
from pathlib import PurePath

from setuptools_cuda.cli.cache import show_size
from setuptools_cuda.inspection.summary import Line, list_all, summarize
from setuptools_cuda.inspection.values import Inspection

FORMATS = (".svg", ".html")
_WIDTH, _ROW, _LEFT, _RIGHT, _TOP = 720, 26, 110, 110, 56
_COLOURS = {"sm": "#4a7a1e", "compute": "#3b6ea5", "lto": "#8a5a9e"}


def render_picture(found: Inspection, *, suffix: str) -> bytes:
    """Return the picture, for a file that ends in ``suffix``, one of :data:`FORMATS`."""
    svg = "\n".join(_render_svg(found)) + "\n"
    if suffix == ".html":
        title = escape(PurePath(found.path).name)
        head = f'<!DOCTYPE html>\n<html lang="en"><meta charset="utf-8"><title>{title}</title>'
        svg = f"{head}\n<body>\n{svg}</body></html>\n"
    return svg.encode("utf-8")


def _render_svg(found: Inspection) -> Iterator[str]:
    lines = summarize(list_all(found))
    height = _TOP + _ROW * len(lines) + 10
    font = 'font-family="sans-serif" font-size="13"'
    yield f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {height}" {font}>'
    yield f'<rect width="{_WIDTH}" height="{height}" fill="#ffffff"/>'
    yield f'<text x="12" y="22" font-weight="bold">{escape(PurePath(found.path).name)}</text>'
    yield f'<text x="12" y="42" fill="#555555">{show_size(found.size)}; device code by architecture, unpacked</text>'
    largest = max((line.size or 0 for line in lines), default=0)
    for place, line in enumerate(lines):
        yield from _render_bar(line, top=_TOP + _ROW * place, largest=largest)
    yield "</svg>"


def _render_bar(line: Line, *, top: int, largest: int) -> Iterator[str]:
    width = round((_WIDTH - _LEFT - _RIGHT) * (line.size or 0) / largest) if largest else 0
    colour = _COLOURS.get(line.name.partition("_")[0], "#777777")
    size = "not told" if line.size is None else show_size(line.size)
    yield f'<text x="{_LEFT - 8}" y="{top + 16}" text-anchor="end">{line.name}</text>'
    yield f'<rect x="{_LEFT}" y="{top + 3}" width="{width}" height="{_ROW - 8}" fill="{colour}"/>'
    yield f'<text x="{_LEFT + width + 6}" y="{top + 16}">{size}</text>'
