"""Puts what a build made besides extensions into a tree, and takes away what is no longer planned."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

from setuptools_cuda.errors import Code, Problem, raise_if_any
from setuptools_cuda.frontends.places import Tree
from setuptools_cuda.frontends.project import Build
from setuptools_cuda.stage.bindings import TABLE_MARK, is_generated
from setuptools_cuda.stage.copy import stage_files
from setuptools_cuda.stage.record import read_record, remove_stale, write_record


def stage_others(build: Build, *, tree: Tree) -> None:
    """Write the files of ``build`` into ``tree``, and record all that is ours in it.

    Raises BuildError where a file cannot be written, or where a generated module would replace
    a module that somebody wrote.
    """
    files = dict(_placed(build.other_files, tree=tree))
    raise_if_any(_written_by_hand(files, tree=tree))
    ours = [*files, *map(tree.place, build.extensions.values())]
    remove_stale({**tree.leftovers, **read_record(tree.record)}, keep=ours, root=tree.root)
    stage_files(files, into=tree.root)
    write_record(tree.record, files=[name for name in ours if (tree.root / name).is_file()], root=tree.root)


def find_left_over(build: Build, *, tree: Tree, packages: Iterable[str]) -> tuple[str, ...]:
    """Return the generated modules in ``tree`` that the build does not make, relative to its root.

    A record can be lost with the build folder, and what it named is then copied into the wheel like
    a module of the project. Modules that a Builder has written are the project's own.
    """
    made = {tree.place(path) for path in build.other_files}
    folders = {"", *(name.replace(".", "/") for name in packages)}
    places = {Path(tree.place(f"{folder}/_").lstrip("/")).parent for folder in folders}
    files = (file for place in sorted(places) for file in sorted((tree.root / place).glob("*.py")))
    names = ((file, file.relative_to(tree.root).as_posix()) for file in files if file.is_relative_to(tree.root))
    return tuple(name for file, name in names if name not in made and is_generated(file, mark=TABLE_MARK))


def _placed(files: Mapping[str, Path | bytes], *, tree: Tree) -> Iterator[tuple[str, Path | bytes]]:
    for path, made in files.items():
        name = tree.place(path)
        # A header can lie in the source tree just where it is shipped: it stays the project's.
        if made != tree.root / name:
            yield name, made


def _written_by_hand(files: Mapping[str, Path | bytes], *, tree: Tree) -> Iterator[Problem]:
    for name, made in files.items():
        there = tree.root / name
        if isinstance(made, bytes) and there.is_file() and not is_generated(there):
            yield Problem(
                Code.DUPLICATE_OUTPUT,
                f"the generated file {name} would replace a file of the same name that was not generated",
                fix=("give one of them another name",),
            )
