"""``setuptools-cuda new``: a first project, from a template."""

from __future__ import annotations

import argparse
import keyword
import os
import re
import shlex
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from setuptools_cuda.cli.command import SubParsers, add_command
from setuptools_cuda.environment import Environment
from setuptools_cuda.errors import BuildError, Code, Exit, Problem
from setuptools_cuda.stage.copy import stage_files

TEMPLATES: Mapping[str, tuple[str, ...]] = {
    "pybind11": ("every", "saxpy", "pybind11"),
    "nanobind": ("every", "saxpy", "nanobind"),
    "cython": ("every", "saxpy", "cython"),
    "c-api": ("every", "saxpy", "c-api"),
    "kernels": ("every", "kernels"),
    "scikit-build-core": ("every", "saxpy", "nanobind", "scikit-build-core"),
}
"""The folders of package data that a project is made of, by the template's name; a later one's file counts."""
_FOLDER = Path(__file__).parent / "templates"
_SUFFIX = ".in"
# https://packaging.python.org/en/latest/specifications/name-normalization/
_NAME = re.compile(r"[A-Za-z0-9](?:[A-Za-z0-9._-]*[A-Za-z0-9])?")
# What the templates build or run with, and Python's own tests, which its list of its modules lacks.
_TAKEN = (
    "test",
    "setuptools",
    "setuptools_cuda",
    "pip",
    "pybind11",
    "nanobind",
    "cython",
    "scikit_build_core",
    "cuda",
    "numpy",
)


def add_parser(subparsers: SubParsers) -> None:
    """Register the sub-command."""
    parser = add_command(subparsers, "new", summary="make a first project in a new folder", run=run)
    parser.add_argument("folder", type=Path, help="the folder; its name is the project's, unless --name is given")
    parser.add_argument(
        "--template", choices=TEMPLATES, default="pybind11", help="what it is to be (default: pybind11)"
    )
    parser.add_argument("--name", help="the name of the project")


def run(arguments: argparse.Namespace, environment: Environment) -> Exit:
    """Write the files. Raises BuildError where the name will not do, or something is in the folder already."""
    folder: Path = environment.cwd / arguments.folder
    name = folder.resolve().name if arguments.name is None else arguments.name
    files = dict(render_template(arguments.template, name=name))
    if os.path.lexists(folder) and (not folder.is_dir() or any(folder.iterdir())):
        fix = ("name a folder that is new or empty",)
        raise BuildError(Problem(Code.BAD_VALUE, "something is there already", where=str(arguments.folder), fix=fix))
    stage_files(files, into=folder)
    for path in files:
        print(arguments.folder / path)
    print(f"next: pip install {_spell(arguments.folder)}, then python -m {find_package(name)}")
    return Exit.GOOD


def render_template(template: str, *, name: str) -> Iterator[tuple[str, bytes]]:
    """Yield (path, content) of a project ``name``. Raises BuildError (BAD_NAME) where no package can be called so."""
    words = {"@name@": name, "@package@": find_package(name), "@template@": template}
    for part in TEMPLATES[template]:
        folder = _FOLDER / part
        for file in sorted(folder.rglob(f"*{_SUFFIX}")):
            path = file.relative_to(folder).as_posix().removesuffix(_SUFFIX)
            yield _fill(path, words=words), _fill(file.read_text("utf-8"), words=words).encode("utf-8")


def find_package(name: str) -> str:
    """Return the package of a project: 'my_kernels' of 'my-kernels'. Raises BuildError (BAD_NAME)."""
    package = re.sub(r"[-.]+", "_", name).lower()
    if not _NAME.fullmatch(name) or not package.isidentifier() or keyword.iskeyword(package):
        raise BuildError(
            Problem(
                Code.BAD_NAME,
                f"a project cannot be called {name!r}, since its package has to be importable",
                fix=("name it with letters, digits, '-' and '_', beginning with a letter: --name my-kernels",),
            )
        )
    if package in sys.stdlib_module_names or package in _TAKEN:
        what = f"a project cannot be called {name!r}: its package would stand in for the one of that name"
        raise BuildError(Problem(Code.BAD_NAME, what, fix=("give it a name of its own: --name my-kernels",)))
    return package


def _spell(folder: Path) -> str:
    """Return a folder as a shell and pip take it: pip asks an index for a name that has no '/' in it."""
    return shlex.quote(str(folder) if folder.is_absolute() else f"./{folder.as_posix()}")


def _fill(text: str, *, words: Mapping[str, str]) -> str:
    for mark, word in words.items():
        text = text.replace(mark, word)
    return text
