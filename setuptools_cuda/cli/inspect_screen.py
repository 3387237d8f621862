"""An inspection for a person to read. Pure."""

from __future__ import annotations

from collections.abc import Iterator

from setuptools_cuda.cli.cache import show_size
from setuptools_cuda.cli.screen import Row, Screen, Section, list_rows, row
from setuptools_cuda.errors import Problem
from setuptools_cuda.inspection.checks import sort_names
from setuptools_cuda.inspection.device import list_undefined
from setuptools_cuda.inspection.summary import Line, find_least_driver, list_all, summarize
from setuptools_cuda.inspection.values import Inspection

_BAR = 24
_SYMBOLS = 5
_CODE_HEAD = ("code", "images", "unpacked", "toolkit", "PTX", "driver")
_FILE_HEAD = ("size", "device code", "cudart", "rdc", "file")


def lay_out(found: Inspection, *, problems: tuple[Problem, ...] = ()) -> Screen:
    """Return the screen: the file, its code by architecture with bars, its files, what is wrong."""
    return (
        Section("file", (row(found.path, show_size(found.size)),)),
        Section("read by", list_rows(_list_readers(found), tone="faint")),
        Section("loads on", list_rows((_describe_driver(found),))),
        Section("device code", tuple(_list_code(found))),
        Section("files", tuple(_list_files(found))),
        Section("needs", tuple(_list_needs(found))),
        Section("undefined", tuple(_list_undefined(found))),
        Section("notes", list_rows(found.notes)),
        Section("problems", list_rows((problem.render() for problem in problems), tone="bad")),
    )


def _list_readers(found: Inspection) -> Iterator[str]:
    for tool in found.tools:
        yield f"cuobjdump {tool.version}, {tool.found_via}"
    if found.manifest:
        yield f"its manifest: toolkit {found.toolkit}" if found.toolkit else "its manifest"


def _describe_driver(found: Inspection) -> str:
    if any(file.problem for file in found.files):
        return "not known: some device code could not be read"
    if any(file.kind == "ltoir" and not file.images for file in found.files) and not found.images:
        return "no driver as it is: it has to be linked first"
    if found.foreign:
        return "not known: files of Windows or macOS are not read"
    if not list_all(found):
        return "any driver: there is no device code"
    if all(image.relocatable for image in found.images):
        return "no driver as it is: it has to be linked first"
    least = find_least_driver(found.images)
    return f"drivers for CUDA {least} and newer; see each line" if least else "not known"


def _list_code(found: Inspection) -> Iterator[Row]:
    lines = summarize(list_all(found))
    largest = max((line.size or 0 for line in lines), default=0)
    if lines:
        yield row(*_CODE_HEAD, "", tone="faint")
    for line in lines:
        yield row(*_cells(line), "#" * round(_BAR * (line.size or 0) / largest) if largest else "")


def _cells(line: Line) -> tuple[str, ...]:
    size = "-" if line.size is None else show_size(line.size)
    packed = " compressed" if line.compressed == line.images else f" {line.compressed} compressed"
    linked = " to link" if line.relocatable == line.images else f" {line.relocatable} to link"
    count = f"{line.images}{packed if line.compressed else ''}{linked if line.relocatable else ''}"
    driver = str(line.driver or "-")
    return line.name, count, size, ", ".join(line.toolkits) or "-", ", ".join(line.isas) or "-", driver


def _list_files(found: Inspection) -> Iterator[Row]:
    if found.files:
        yield row(*_FILE_HEAD, "architectures", tone="faint")
    for file in found.files:
        device = "-" if file.device_size is None else show_size(file.device_size)
        names = " ".join(sort_names({image.name for image in file.loadable}))
        rdc = "yes" if file.rdc else "no" if file.images else "-"
        told = names or ("not read" if file.problem else "-")
        yield row(show_size(file.size), device, file.cudart or "-", rdc, file.path, told)


def _list_needs(found: Inspection) -> Iterator[Row]:
    for file in found.files:
        for name in file.needed:
            yield row(name, f"by {file.path}")


def _list_undefined(found: Inspection) -> Iterator[Row]:
    for file in found.files:
        for name, symbols in list_undefined(file.images):
            yield row(f"{file.path}, {name}:", _shorten(symbols))


def _shorten(symbols: tuple[str, ...]) -> str:
    more = len(symbols) - _SYMBOLS
    return "\n".join((*symbols[:_SYMBOLS], *((f"and {more} more",) if more > 0 else ())))
