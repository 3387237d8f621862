"""Libraries that other packages built by us ship: found by the manifest in their ``.dist-info``."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from setuptools_cuda.environment import Environment
from setuptools_cuda.errors import Code, Problem
from setuptools_cuda.resolution.manifest import NewerManifestError, parse_manifest
from setuptools_cuda.resolution.values import Package

MANIFEST = "setuptools_cuda.json"
_RUNTIMES = ("cudart_static", "cudart")


def find_shipped(name: str, *, environment: Environment) -> Package | Problem | None:
    """Return what the libraries of the installed distribution ``name`` bring; None where it is not installed.

    A problem says that it is installed and ships none, or that its manifest cannot be read.
    """
    path = [str(environment.cwd / entry) for entry in environment.search_path]
    for distribution in importlib.metadata.distributions(name=name, path=path):
        return _read(name, distribution=distribution)
    return None


def _read(name: str, *, distribution: importlib.metadata.Distribution) -> Package | Problem:
    text = distribution.read_text(MANIFEST)
    if text is None:
        fix = ("install it from a wheel that was built with a library and 'install'; editable installs have none",)
        return _describe(distribution, "it has no libraries that setuptools_cuda knows of", fix=fix)
    try:
        libraries = list(_order(parse_manifest(text).get("libraries", [])))
        root = Path(str(distribution.locate_file("")))
        package = _make_package(name, libraries=libraries, root=root, version=distribution.version)
    except ValueError as error:
        newer = ("put a newer setuptools-cuda-build into build-system.requires",)
        fix = newer if isinstance(error, NewerManifestError) else ("install it anew",)
        return _describe(distribution, f"its {MANIFEST} cannot be read: {error}", fix=fix)
    if not libraries:
        return _describe(
            distribution, "it ships no library", fix=("set 'install' on a library there, and build it anew",)
        )
    return package


def _order(libraries: list[Mapping[str, Any]]) -> Iterator[Mapping[str, Any]]:
    """Yield each library before those that it links, as a linker needs them."""
    by_name = {str(library["name"]): library for library in libraries}
    ordered: dict[str, None] = {}
    waiting: set[str] = set()

    def visit(name: str) -> None:
        waiting.add(name)
        for needed in by_name[name]["links"]:
            if needed in waiting - ordered.keys():
                raise ValueError(f"{name} and {needed} link each other")
            if needed in by_name and needed not in ordered:
                visit(needed)
        ordered[name] = None

    for name in by_name:
        if name not in ordered:
            visit(name)
    yield from (by_name[name] for name in reversed(ordered))


def _make_package(name: str, *, libraries: list[Mapping[str, Any]], root: Path, version: str) -> Package:
    files = [library for library in libraries if library["path"]]
    shared = [library for library in files if library["type"] == "shared"]
    cuda = tuple(dict.fromkeys(str(each) for library in libraries for each in library["cuda"]))
    return Package(
        name,
        include_dirs=_list_folders(root, libraries, key="include"),
        library_dirs=_list_folders(root, files, key="folder"),
        runtime_library_dirs=tuple(dict.fromkeys(str(library["folder"]) for library in shared)),
        libraries=tuple(str(library["name"]) for library in files),
        defines=tuple(str(define) for library in libraries for define in library["defines"]),
        version=version,
        cuda=tuple(each for each in cuda if each not in _RUNTIMES),
        needs_runtime=any(each in _RUNTIMES for each in cuda),
        requirement=name if shared else "",
    )


def _list_folders(root: Path, libraries: list[Mapping[str, Any]], *, key: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(str(root / library[key]) for library in libraries if library[key]))


def _describe(distribution: importlib.metadata.Distribution, why: str, *, fix: tuple[str, ...]) -> Problem:
    what = f"{distribution.metadata['Name']} {distribution.version} is installed, but cannot be used"
    return Problem(Code.UNKNOWN_PACKAGE, what, details=(("why", why),), fix=fix)
