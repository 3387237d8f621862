"""Globs over the project's files: ``**`` recurses, ``*`` and ``?`` stay within one folder.

A wildcard matches no name that starts with a dot, nor the project's own ``build`` folder;
``**`` also passes over virtual environments and does not follow links to folders.
"""

from __future__ import annotations

import fnmatch
import functools
import os
import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

OWN_BUILD_FOLDER = "build/setuptools-cuda"


@dataclass(frozen=True)
class Folder:
    """The names in one folder. ``links`` are those of ``folders`` that are symbolic links."""

    files: frozenset[str] = frozenset()
    folders: frozenset[str] = frozenset()
    links: frozenset[str] = frozenset()


class FileTree:
    """The files below a project's root, each folder read once. Paths are relative, with '/'."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._read: dict[str, Folder] = {}
        self.unreadable: list[str] = []
        """Folders that could not be read, with the reason."""

    def folder(self, path: str) -> Folder:
        """Return what is in the folder ``path`` ('' is the root); nothing where there is none."""
        if path not in self._read:
            self._read[path] = Folder() if path == OWN_BUILD_FOLDER else self._scan(path)
        return self._read[path]

    def has_file(self, path: str) -> bool:
        """Return whether ``path`` is a file, in just this spelling."""
        return _climb(path.split("/"), tree=self)

    def _scan(self, path: str) -> Folder:
        try:
            with os.scandir(self.root / path) as entries:
                return _sorted_out(list(entries))
        except (FileNotFoundError, NotADirectoryError):
            return Folder()
        except OSError as error:
            self.unreadable.append(f"{path or '.'}: {error.strerror}")
            return Folder()


def _sorted_out(entries: list[os.DirEntry[str]]) -> Folder:
    folders = frozenset(entry.name for entry in entries if _is(entry.is_dir))
    return Folder(
        files=frozenset(entry.name for entry in entries if _is(entry.is_file)),
        folders=folders,
        links=frozenset(entry.name for entry in entries if entry.name in folders and entry.is_symlink()),
    )


def _is(asked: Callable[[], bool]) -> bool:
    """Return what an entry answers; a link that leads to itself is neither file nor folder, and no error."""
    try:
        return asked()
    except OSError:
        return False


def _climb(parts: list[str], *, tree: FileTree) -> bool:
    above = ""
    for part in parts[:-1]:
        if part not in tree.folder(above).folders:
            return False
        above = _join(above, part)
    return parts[-1] in tree.folder(above).files


def is_wild(pattern: str) -> bool:
    """Return whether the pattern has a wildcard in it."""
    return any(letter in pattern for letter in "*?[")


def normalise(pattern: str) -> str:
    """Return the pattern without './', doubled slashes and doubled '**'."""
    parts: list[str] = []
    for part in pattern.split("/"):
        if part not in {"", "."} and not (part == "**" and parts[-1:] == ["**"]):
            parts.append(part)
    return "/".join(parts)


def find_files(pattern: str, *, tree: FileTree) -> tuple[str, ...]:
    """Return the files that a pattern matches, sorted. A pattern that is a file's name means that file."""
    plain = normalise(pattern)
    if tree.has_file(plain):
        return (plain,)
    if not is_wild(plain):
        return ()
    return tuple(sorted(set(_walk(tuple(plain.split("/")), above="", tree=tree))))


def matches(pattern: str, *, path: str) -> bool:
    """Return whether ``pattern`` matches ``path``, by the rules of :func:`find_files`, without looking at files."""
    plain = normalise(pattern)
    return plain == path or _fits(tuple(plain.split("/")), tuple(path.split("/")), top=True)


def _fits(parts: tuple[str, ...], names: tuple[str, ...], *, top: bool) -> bool:
    if not parts or not names:
        return not parts and not names
    part, name = parts[0], names[0]
    is_folder = len(names) > 1
    if part == "**" and len(parts) > 1 and _fits(parts[1:], names, top=top):
        return True
    if not _admits(part, name, top=top and is_folder):
        return False
    if part == "**":
        return _fits(parts, names[1:], top=False) if is_folder else len(parts) == 1
    return _fits(parts[1:], names[1:], top=False)


def _walk(parts: tuple[str, ...], *, above: str, tree: FileTree) -> Iterator[str]:
    part, rest = parts[0], parts[1:]
    folder = tree.folder(above)
    if part == "**" and rest:
        yield from _walk(rest, above=above, tree=tree)
    if not rest:
        yield from (_join(above, name) for name in folder.files if _admits(part, name, top=False))
    for name in folder.folders:
        if not _admits(part, name, top=not above):
            continue
        below = _join(above, name)
        if part == "**":
            if name not in folder.links and "pyvenv.cfg" not in tree.folder(below).files:
                yield from _walk(parts, above=below, tree=tree)
        elif rest:
            yield from _walk(rest, above=below, tree=tree)


def _admits(part: str, name: str, *, top: bool) -> bool:
    if not is_wild(part):
        return part == name
    if name.startswith(".") and not part.startswith("."):
        return False
    if top and name == "build":
        return False
    return part == "**" or _compiled(part).match(name) is not None


@functools.cache
def _compiled(part: str) -> re.Pattern[str]:
    return re.compile(fnmatch.translate(part))


def _join(above: str, name: str) -> str:
    return f"{above}/{name}" if above else name
