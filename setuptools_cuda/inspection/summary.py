"""What an inspection comes to, by architecture. Pure."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from setuptools_cuda.inspection.checks import sort_names
from setuptools_cuda.inspection.values import Image, Inspection
from setuptools_cuda.resolution.values import Release


@dataclass(frozen=True)
class Line:
    """All code of one architecture."""

    name: str
    images: int
    size: int | None
    """Bytes, unpacked; None where one of the images is not unpacked by cuobjdump."""
    compressed: int
    """How many of the images are stored compressed."""
    relocatable: int
    isas: tuple[str, ...]
    toolkits: tuple[str, ...]
    driver: Release | None
    """The oldest driver that loads all of it; None where that is not known, or all is to be linked first."""


def summarize(images: Iterable[Image]) -> tuple[Line, ...]:
    """Return a line for each architecture, in canonical order."""
    by_name: dict[str, list[Image]] = {}
    for image in images:
        by_name.setdefault(image.name, []).append(image)
    return tuple(_make_line(name, by_name[name]) for name in sort_names(set(by_name)))


def _make_line(name: str, images: list[Image]) -> Line:
    sizes = [image.size for image in images]
    isas = {image.isa for image in images if image.isa}
    toolkits = {image.toolkit for image in images if image.toolkit}
    return Line(
        name,
        len(images),
        None if None in sizes else sum(size or 0 for size in sizes),
        sum(image.compressed for image in images),
        sum(image.relocatable for image in images),
        tuple(f"{major}.{minor}" for major, minor in sorted(isas)),
        tuple(map(str, sorted(toolkits))),
        _newest([image for image in images if not image.relocatable]),
    )


def _newest(images: list[Image]) -> Release | None:
    drivers = [image.driver for image in images if image.driver]
    return max(drivers) if drivers and len(drivers) == len(images) else None


def find_least_driver(images: Iterable[Image]) -> Release | None:
    """Return the driver below which none of ``images`` loads; None where that is not known."""
    images = [image for image in images if not image.relocatable]
    drivers = [image.driver for image in images if image.driver]
    return min(drivers) if drivers and len(drivers) == len(images) else None


def list_all(inspection: Inspection) -> tuple[Image, ...]:
    """Return every image, also those that are kept for linking beside code that was linked."""
    return tuple(image for file in inspection.files for image in file.images)
