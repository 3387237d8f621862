"""Finds what an sdist needs: sources, and the headers of the project that they include."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path, PurePosixPath

from setuptools_cuda.config.globs import FileTree
from setuptools_cuda.config.model import Library, Settings

_INCLUDE = re.compile(rb'^[ \t]*#[ \t]*include(?:_next)?[ \t]*(?:"([^"\n]+)"|<([^>\n]+)>)', re.MULTILINE)
_HIDDEN = re.compile(rb"^[ \t]*#[ \t]*include(?:_next)?[ \t]+[A-Za-z_]", re.MULTILINE)
_EXTERN = re.compile(rb"^[ \t]*cdef[ \t]+extern[ \t]+from[ \t]+[\"']([^\"'\n]+)[\"']", re.MULTILINE)
"""Cython's way to name a header: ``cdef extern from "saxpy.h"``."""


def find_sdist_files(settings: Settings) -> tuple[str, ...]:
    """Return every file of the project that its targets are built from, sorted, relative to the root."""
    return tuple(sorted({*_named(settings), *find_headers(settings)}))


def find_headers(settings: Settings) -> tuple[str, ...]:
    """Return the headers of the project that sources include, directly or through others, sorted.

    Includes are read as text: those under a condition count, and those behind a macro are not
    seen. What the root does not contain is left out.
    """
    tree = FileTree(settings.root)
    folders = _include_folders(settings)
    starts = dict.fromkeys(_named(settings))
    seen = set(starts)
    waiting = list(starts)
    while waiting:
        file = waiting.pop()
        fresh = set(_included_by(file, folders=folders, tree=tree, root=settings.root)) - seen
        seen |= fresh
        waiting.extend(fresh)
    return tuple(sorted(seen - set(starts)))


def find_hidden_includes(settings: Settings) -> tuple[str, ...]:
    """Return the files of the project with an ``#include`` of a macro, whose header :func:`find_headers` cannot see."""
    files = sorted({*_named(settings), *find_headers(settings)})
    return tuple(file for file in files if _HIDDEN.search(_read(settings.root / file)))


def _read(file: Path) -> bytes:
    try:
        return file.read_bytes()
    except OSError:
        return b""


def _named(settings: Settings) -> Iterator[str]:
    """Yield the files that the settings name: sources, dependencies and headers to ship."""
    for target in settings.targets:
        yield from (*target.sources, *target.depends)
        if isinstance(target, Library):
            yield from target.headers
    for override in settings.overrides:
        yield from override.sources


def _include_folders(settings: Settings) -> tuple[str, ...]:
    given = [*settings.project.include_dirs]
    given += [folder for target in settings.targets for folder in target.include_dirs]
    given += [folder for override in settings.overrides for folder in override.include_dirs]
    folders = map(_inside, given)
    return tuple(dict.fromkeys(folder for folder in folders if folder is not None))


def _included_by(file: str, *, folders: Iterable[str], tree: FileTree, root: Path) -> Iterator[str]:
    text = _read(root / file)
    beside = str(PurePosixPath(file).parent)
    for quoted, bracketed in _INCLUDE.findall(text):
        name, places = (quoted, (beside, *folders)) if quoted else (bracketed, tuple(folders))
        yield from _first(name, places=places, tree=tree)
    for name in _EXTERN.findall(text):
        yield from _first(name, places=(beside, *folders), tree=tree)


def _first(name: bytes, *, places: Iterable[str], tree: FileTree) -> Iterator[str]:
    """Yield the first file of that name in ``places``, as a compiler would take it."""
    try:
        plain = name.decode("utf-8").strip("<>")
    except UnicodeDecodeError:
        return
    for place in places:
        path = _inside(f"{place}/{plain}")
        if path and not PurePosixPath(plain).is_absolute() and tree.has_file(path):
            yield path
            return


def _inside(path: str) -> str | None:
    """Return ``path`` without '.' and '..', or None where it leaves the project's root."""
    if PurePosixPath(path).is_absolute():
        return None
    kept: list[str] = []
    for part in path.split("/"):
        if part == "..":
            if not kept:
                return None
            kept.pop()
        elif part not in {"", "."}:
            kept.append(part)
    return "/".join(kept)
