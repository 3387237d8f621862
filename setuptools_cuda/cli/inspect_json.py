"""An inspection as JSON. ``inspect.schema.json`` beside this file is its schema. Pure."""

from __future__ import annotations

from setuptools_cuda.errors import BuildError, Problem, describe_problems
from setuptools_cuda.inspection.checks import sort_names
from setuptools_cuda.inspection.device import list_undefined
from setuptools_cuda.inspection.summary import Line, find_least_driver, list_all, summarize
from setuptools_cuda.inspection.values import File, Image, Inspection

SCHEMA = 1
"""Raised when a program that reads it would have to change, and not when keys are added."""


def describe(found: Inspection, *, problems: tuple[Problem, ...] = ()) -> dict[str, object]:
    """Return the inspection as JSON's own types."""
    least = find_least_driver(found.images)
    return {
        "schema": SCHEMA,
        "good": not problems,
        "file": {"path": found.path, "size": found.size, "wheel": found.wheel},
        "cuobjdump": [
            {"version": tool.version, "path": str(tool.path), "found_via": tool.found_via} for tool in found.tools
        ],
        "manifest": found.manifest,
        "toolkit": found.toolkit,
        "architectures": _architectures(found.images),
        "least_driver": str(least) if least else None,
        "code": [_line(line) for line in summarize(list_all(found))],
        "files": [_file(file) for file in found.files],
        "notes": list(found.notes),
        "problems": describe_problems(problems),
    }


def describe_failure(error: BuildError) -> dict[str, object]:
    """Return what is printed where nothing could be looked at."""
    return {"schema": SCHEMA, "good": False, "problems": describe_problems(error.problems)}


def _architectures(images: tuple[Image, ...]) -> dict[str, list[str]]:
    names = sort_names({image.name for image in images})
    return {
        "real": [name for name in names if name.startswith("sm_")],
        "virtual": [name for name in names if name.startswith("compute_")],
        "lto": [name for name in names if name.startswith("lto_")],
    }


def _file(file: File) -> dict[str, object]:
    least = find_least_driver(file.loadable)
    return {
        "path": file.path,
        "kind": file.kind,
        "size": file.size,
        "device_size": file.device_size,
        "architectures": _architectures(file.loadable),
        "least_driver": str(least) if least else None,
        "rdc": file.rdc,
        "cudart": file.cudart,
        "needed": list(file.needed),
        "runpath": list(file.runpath),
        "undefined": {name: list(symbols) for name, symbols in list_undefined(file.images)},
        "code": [_line(line) for line in summarize(file.images)],
        "readable": file.problem is None,
    }


def _line(line: Line) -> dict[str, object]:
    return {
        "name": line.name,
        "images": line.images,
        "size": line.size,
        "compressed": line.compressed,
        "relocatable": line.relocatable,
        "ptx_isa": list(line.isas),
        "toolkits": list(line.toolkits),
        "driver": str(line.driver) if line.driver else None,
    }
