"""The files of a report, and what their bytes are. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from setuptools_cuda.report.charts import assign_colors, render_bar, render_legend
from setuptools_cuda.report.fatbins import code_place
from setuptools_cuda.report.markup import element, escape, show_bytes, show_count, table, text_element
from setuptools_cuda.report.values import REST, FileRow, Report

MOST = 20
"""Files that a table shows at once, the largest first."""


def render_files(report: Report) -> Iterator[str]:
    """Yield the section on sizes; nothing where nothing was built."""
    shipped = [file for file in report.files if file.kind != "object"]
    objects = [file for file in report.files if file.kind == "object"]
    if not shipped and not objects:
        return
    names = {one.code for file in report.files for one in file.code or ()}
    ordered = sorted(names - {REST}, key=code_place)
    colors = assign_colors([*ordered, *([REST] if REST in names else [])], plain=REST)
    yield text_element("h2", "Size by architecture")
    yield from _total(shipped or objects, colors=colors)
    for title, files in (("Built files", shipped), ("Objects of CUDA sources", objects)):
        if files:
            yield text_element("p", f"{title}, the largest first:", class_="soft small")
            yield from _tables(files, colors=colors)
    yield text_element(
        "p",
        "Bytes as they lie in the files, compressed where they are. sm is machine code, compute is PTX.",
        class_="soft small",
    )


def _total(files: Sequence[FileRow], *, colors: Mapping[str, str]) -> Iterator[str]:
    amounts: Counter[str] = Counter()
    for file in files:
        for one in file.code or ():
            amounts[one.code] += one.size
    total = sum(amounts.values())
    if not total:
        return
    parts = [(name, float(amounts[name]), show_bytes(amounts[name])) for name in colors if amounts[name]]
    yield render_bar(parts, top=total, colors=colors, named=True)
    yield render_legend((colors[name], name, f"{text} ({100 * size / total:.0f} %)") for name, size, text in parts)


def _tables(files: Sequence[FileRow], *, colors: Mapping[str, str]) -> Iterator[str]:
    ordered = sorted(files, key=lambda file: (-file.size, file.path))
    top = float(ordered[0].size)
    yield _table(ordered[:MOST], top=top, colors=colors)
    if len(ordered) > MOST:
        rest = text_element("summary", show_count(len(ordered) - MOST, noun="more file"))
        yield element("details", rest, _table(ordered[MOST:], top=top, colors=colors))


def _table(files: Sequence[FileRow], *, top: float, colors: Mapping[str, str]) -> str:
    head = [("file", "name"), ("", "wide"), ("size", "num"), ("for", "")]
    return table(head, rows=([*_row(file, top=top, colors=colors)] for file in files))


def _row(file: FileRow, *, top: float, colors: Mapping[str, str]) -> Iterator[str]:
    yield escape(file.path)
    if file.code is None:
        yield text_element("span", "not known by architecture", class_="soft small")
    else:
        parts = [(one.code, float(one.size), show_bytes(one.size)) for one in file.code if one.size]
        yield render_bar(parts, top=top, colors=colors, named=False)
    yield show_bytes(file.size)
    yield escape(file.target)
