"""Files that are not there and that a compile would read, had they been: a header that comes before another."""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from setuptools_cuda.execute.includes import Include, Includes
from setuptools_cuda.execute.names import Names

_OPTIONS: Mapping[str, str] = {
    "-iquote": "-iquote",
    **dict.fromkeys(("-I", "--include-path"), "-I"),
    **dict.fromkeys(("-isystem", "--system-include"), "-isystem"),
    "-idirafter": "-idirafter",
}
"""Options that name a folder of headers, of compilers of C and of nvcc, in the order in which those are searched."""


@dataclass(frozen=True)
class Search:
    """The folders of a command in which headers are looked for, by name, in their order."""

    quoted: tuple[str, ...]
    """For ``#include "..."`` alone."""
    every: tuple[str, ...]

    @property
    def all(self) -> tuple[str, ...]:
        """Return all folders."""
        return (*self.quoted, *self.every)


def read_search(argv: Sequence[str], *, names: Names) -> Search:
    """Return the folders that a command names."""
    folders: dict[str, list[str]] = {option: [] for option in _OPTIONS.values()}
    words = iter(argv)
    for word in words:
        option = next((one for one in _OPTIONS if word.startswith(one)), "")
        if option:
            value = word[len(option) :].removeprefix("=") or next(words, "")
            # Python's own -I, by which our programs for device code are started, takes no folder.
            if not value.startswith("-"):
                folders[_OPTIONS[option]].append(names.name(names.replaced([value])[0]).rstrip("/"))
    quoted = folders.pop("-iquote")
    return Search(tuple(quoted), tuple(folder for each in folders.values() for folder in each))


def list_absent(
    argv: Sequence[str], *, inputs: Mapping[str, str], source: str, names: Names, includes: Includes
) -> tuple[str, ...]:
    """Return the names of files that are not there and that would be read in place of one of ``inputs``.

    ``inputs`` are digests by name. A header found in one folder would be found in one that is searched
    before it, had it been there; the folder of the text that includes it comes before all. Where a text
    asks whether there is a header, that header counts too.
    """
    search = read_search(argv, names=names)
    read = {os.path.normpath(name) for name in inputs}
    literal: set[str] = set()
    found: dict[str, None] = {}
    for name, digest in inputs.items():
        if _is_of_project(name):
            for include in includes.find(names.path(name), digest=digest):
                before, there = _look(include, text=name, search=search, names=names)
                if include.asked or _was_read(include, there=there, read=read):
                    found.update(dict.fromkeys(filter(_is_of_project, before)))
                    literal.add(there)
    others = [name for name in inputs if name not in literal]
    found.update(dict.fromkeys(_before_found(others, source=source, search=search, names=names)))
    return tuple(each for each in found if each != source and not os.path.exists(names.path(each)))  # noqa: PTH110 - of thousands of names


def _look(include: Include, *, text: str, search: Search, names: Names) -> tuple[Sequence[str], str]:
    """Return where a header is looked for in vain, and where it is found, '' where that is none of the folders."""
    beside = (str(PurePosixPath(text).parent), *search.quoted) if include.quoted else ()
    wanted = [_join(folder, include.name) for folder in dict.fromkeys((*beside, *search.every))]
    for place, one in enumerate(wanted):
        if os.path.exists(names.path(one)):  # noqa: PTH110 - of thousands of names
            return wanted[:place], one
    return wanted, ""


def _was_read(include: Include, *, there: str, read: set[str]) -> bool:
    """Return whether a compile came to an include, which a condition may hide; it may lie in a folder of the system."""
    if there:
        return os.path.normpath(there) in read
    return any(name.endswith(f"/{include.name}") for name in read)


def _before_found(inputs: Iterable[str], *, source: str, search: Search, names: Names) -> Iterator[str]:
    """Yield the same for what macros and headers of packages include: by the folder that it was found in."""
    toolkit = names.build.rpartition("/")[0]
    for place, folder in enumerate(search.all):
        if not (toolkit and folder.startswith(f"{toolkit}/")):
            before = _of_project((source.rpartition("/")[0], *search.all[:place]), but=folder)
            yield from _instead(inputs, folder=folder, before=before)


def _of_project(folders: Sequence[str], *, but: str) -> tuple[str, ...]:
    """Return the folders in which a project may put a header, none where ``but`` is searched first anyway."""
    if folders[0] == but:
        return ()
    return tuple(folder for folder in dict.fromkeys(folders) if _is_of_project(folder) and folder != but)


def _instead(inputs: Iterable[str], *, folder: str, before: Sequence[str]) -> Iterator[str]:
    prefix = "" if folder in {"", "."} else f"{folder}/"
    for name in inputs if before else ():
        if name.startswith(prefix) and (prefix or _is_of_project(name)):
            yield from (_join(other, name[len(prefix) :]) for other in before)


def _is_of_project(name: str) -> bool:
    return not name.startswith(("/", "{"))


def _join(folder: str, name: str) -> str:
    return name if folder in {"", "."} else f"{folder}/{name}"
