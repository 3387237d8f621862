"""Turns the globs of targets and overrides into lists of files."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path, PurePath, PurePosixPath
from typing import TypeVar

from setuptools_cuda.config.findings import Finding, Report, shorten
from setuptools_cuda.config.globs import FileTree, find_files, is_wild, normalise
from setuptools_cuda.config.keys import EXTENSION, KERNEL_MODULE, LIBRARY, Scope, ScopeName
from setuptools_cuda.config.model import Extension, KernelModule, Library, Override, Target
from setuptools_cuda.config.tables import Place, plain
from setuptools_cuda.errors import Code

_HOST = (".c", ".cc", ".cpp", ".cxx")
SUFFIXES: Mapping[ScopeName, tuple[str, ...]] = {
    "extension": (*_HOST, ".C", ".c++", ".pyx", ".cu"),
    "library": (*_HOST, ".cu"),
    "kernel-module": (".cu", ".ll", ".bc", ".ptx"),
}
"""The suffixes of sources by the kind of target."""
# nvcc hands its commands to a shell: these would be read by it within double quotes.
_UNSAFE = ("$", "`", '"', "\\", "\n", "\r")
_FILE_KEYS = ("sources", "exclude", "depends", "headers")
_SHOWN = 5


AnyTarget = TypeVar("AnyTarget", bound=Target)


@dataclasses.dataclass(frozen=True)
class Expander:
    """Expands the globs of one table. Reads folders; reports what matches nothing."""

    tree: FileTree
    place: Place
    report: Report

    def sources(self, patterns: Sequence[str], *, suffixes: Sequence[str]) -> tuple[str, ...]:
        """Return the files of the key ``sources``, checked by name and suffix."""
        files = self.files("sources", patterns)
        faults = (_find_unsafe(files), _find_unknown_suffix(files, suffixes=suffixes))
        self._add("sources", *(fault for fault in faults if fault))
        return files

    def files(self, key: str, patterns: Sequence[str]) -> tuple[str, ...]:
        """Return the files that ``patterns`` match, sorted, each once. One without a match is an error."""
        found: set[str] = set()
        for pattern in patterns:
            files = find_files(pattern, tree=self.tree)
            found.update(files)
            if not files:
                self._add(key, _missing(pattern, tree=self.tree))
        return tuple(sorted(found))

    def excluded(self, patterns: Sequence[str]) -> tuple[str, ...]:
        """Return the files of the key ``exclude``. A pattern without a match is a warning."""
        found: set[str] = set()
        for pattern in patterns:
            files = find_files(pattern, tree=self.tree)
            found.update(files)
            if not files:
                self.report.warnings.append(f"{self.place.at('exclude')}: {shorten(pattern)} matches no file")
        return tuple(sorted(found))

    def left(self, sources: Sequence[str], *, excluded: Sequence[str]) -> tuple[str, ...]:
        """Return ``sources`` without ``excluded``. That nothing is left is an error."""
        left = tuple(source for source in sources if source not in set(excluded))
        if sources and not left:
            self._add("exclude", Finding("leaves no source", Code.NO_MATCH, fix=("narrow it, or drop the target",)))
        return left

    def _add(self, key: str, *findings: Finding) -> None:
        where = self.place.at(key)
        self.report.problems.extend(finding.problem(where=where) for finding in findings)


def relative_words(words: Mapping[str, object], *, root: Path) -> dict[str, object]:
    """Return the words of a target from Python, with absolute file names within ``root`` made relative.

    A setup.py often names its sources by ``Path(__file__).parent``.
    """
    return {name: _relative(value, root=root) if name in _FILE_KEYS else value for name, value in words.items()}


def _relative(value: object, *, root: Path) -> object:
    if not isinstance(value, (list, tuple)):
        return value
    return [_relative_path(plain(item), root=root) for item in value]


def _relative_path(item: object, *, root: Path) -> object:
    if isinstance(item, str) and (path := PurePath(item)).is_absolute() and path.is_relative_to(root.absolute()):
        return path.relative_to(root.absolute()).as_posix()
    return item


def scope_of(target: Target) -> Scope:
    """Return the kind of table that a target was read from."""
    if isinstance(target, Extension):
        return EXTENSION
    return LIBRARY if isinstance(target, Library) else KERNEL_MODULE


def expand_target(
    target: AnyTarget, *, place: Place, tree: FileTree, report: Report, compilers: Collection[str] = ()
) -> AnyTarget:
    """Return the target with files in place of globs; ``patterns`` keeps the sources as written.

    ``compilers`` are the device compilers that the project or an override names.
    """
    expander = Expander(tree, place, report)
    sources = expander.sources(target.sources, suffixes=_suffixes_of(target, compilers=compilers))
    expanded = dataclasses.replace(
        target,
        patterns=target.sources,
        sources=expander.left(sources, excluded=expander.excluded(target.exclude)),
        depends=expander.files("depends", target.depends),
    )
    if isinstance(expanded, Library):
        return dataclasses.replace(expanded, headers=expander.files("headers", expanded.headers))
    return expanded


def _suffixes_of(target: Target, *, compilers: Collection[str]) -> tuple[str, ...]:
    """Return the suffixes that a target's sources may have; () for any, where a plug-in may compile them."""
    scope = scope_of(target)
    if isinstance(target, KernelModule):
        named = {*compilers, *([target.device_compiler] if target.device_compiler else [])}
        if named - set(scope.keys["device-compiler"].choices):
            return ()
    return SUFFIXES[scope.name]


def expand_override(
    override: Override,
    *,
    target: Target | None,
    place: Place,
    tree: FileTree,
    report: Report,
    compilers: Collection[str] = (),
) -> Override:
    """Return the override with files in place of the globs that add to, or take from, ``target``."""
    expander = Expander(tree, place, report)
    known = _suffixes_of(target, compilers=compilers) if target else SUFFIXES["extension"]
    return dataclasses.replace(
        override,
        sources=expander.sources(override.sources, suffixes=known),
        exclude=expander.excluded(override.exclude),
    )


def _missing(pattern: str, *, tree: FileTree) -> Finding:
    plain = normalise(pattern)
    if is_wild(plain):
        deeper = "; '**' goes into folders, '*' does not" if "**" not in plain else ""
        where = f"patterns begin at the project's folder, {tree.root}{deeper}"
        return Finding(f"{shorten(pattern)} matches no file", Code.NO_MATCH, fix=(where,))
    folder, _, name = plain.rpartition("/")
    around = tree.folder(folder)
    if name in around.folders:
        listed = f"write {plain + '/*.cu'!r} for the files in it"
        return Finding(f"{shorten(pattern)} is a folder", Code.MISSING_SOURCE, fix=(listed,))
    close = difflib.get_close_matches(name, sorted(around.files), n=1)
    meant = f"did you mean {f'{folder}/{close[0]}' if folder else close[0]!r}?" if close else ""
    fix = meant or f"paths begin at the project's folder, {tree.root}"
    return Finding(f"{shorten(pattern)} does not exist", Code.MISSING_SOURCE, fix=(fix,))


def _find_unsafe(files: Sequence[str]) -> Finding | None:
    bad = [file for file in files if any(letter in file for letter in _UNSAFE) or not _is_utf8(file)]
    if not bad:
        return None
    why = ("why", "nvcc hands file names to a shell, which would change this one")
    rename = 'rename it without $, `, ", \\ and line breaks, in UTF-8'
    return Finding(f"{_some(bad)} cannot reach nvcc unchanged", Code.UNSAFE_PATH, details=(why,), fix=(rename,))


def _is_utf8(text: str) -> bool:
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        return False
    return True


def _find_unknown_suffix(files: Sequence[str], *, suffixes: Sequence[str]) -> Finding | None:
    strange = [file for file in files if suffixes and PurePosixPath(file).suffix not in suffixes]
    if not strange:
        return None
    fix = ("name the sources by suffix, as 'src/*.cu', or leave the others out with 'exclude'",)
    return Finding(f"{_some(strange)}: no source this builds; it builds {', '.join(suffixes)}", fix=fix)


def _some(files: Sequence[str]) -> str:
    shown = ", ".join(shorten(file) for file in files[:_SHOWN])
    return shown if len(files) <= _SHOWN else f"{shown} and {len(files) - _SHOWN} more"
