"""Programs by name or path, and command words of variables such as ``ccache g++``."""

from __future__ import annotations

import os
import shlex
import shutil
from dataclasses import dataclass
from pathlib import Path

from setuptools_cuda.environment import Environment

# Variables that change what nvcc does. A question to nvcc has to be answered without them.
_READ_BY_NVCC = ("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS", "NVCC_CCBIN")


@dataclass(frozen=True)
class Command:
    """A command as a variable holds it: ``ccache g++ -m64`` has all three parts."""

    launcher: tuple[str, ...]
    program: str
    options: tuple[str, ...]


def is_file(path: Path) -> bool:
    """Return whether ``path`` is a file. What no path can be, as a text that is too long, is none."""
    try:
        return path.is_file()
    except OSError:
        return False


def is_folder(path: Path) -> bool:
    """Return whether ``path`` is a folder. What no path can be, as a text that is too long, is none."""
    try:
        return path.is_dir()
    except OSError:
        return False


def is_link(path: Path) -> bool:
    """Return whether ``path`` is a symbolic link, wherever it leads. What no path can be is none."""
    try:
        return path.is_symlink()
    except OSError:
        return False


def is_one_place(first: Path, second: Path) -> bool:
    """Return whether two paths lead to one place. ``Path.resolve`` raises where a link leads to itself."""
    return os.path.realpath(first) == os.path.realpath(second)


def find_program(name: str, *, environment: Environment, base: Path | None = None) -> Path | None:
    """Return the absolute path of a program, or None.

    A ``name`` with a slash is a path, relative to ``base``; any other is looked for on PATH.
    Links are kept as they are: nvcc takes the place of its toolkit from the path it is called by.
    """
    folder = base or environment.cwd
    if "/" in name:
        path = folder / name
        return path if is_file(path) and os.access(path, os.X_OK) else None
    found = shutil.which(name, path=environment.get("PATH") or os.defpath)
    return environment.cwd / found if found else None


def list_search_folders(environment: Environment) -> tuple[Path, ...]:
    """Return the folders of PATH that exist, in order, each once."""
    words = (environment.get("PATH") or os.defpath).split(os.pathsep)
    folders = dict.fromkeys(environment.cwd / word for word in words if word)
    return tuple(folder for folder in folders if folder.is_dir())


def parse_command(value: str, *, base: Path) -> Command | None:
    """Return the parts of a command, or None where quotes do not match or nothing is named.

    A value that is a path as a whole, spaces and all, is that program. Of other values the
    last word before any option is the program, and those before it are its launcher.
    """
    whole = value.strip()
    if is_file(base / whole) or is_folder(base / whole):
        return Command((), whole, ())
    try:
        words = shlex.split(whole)
    except ValueError:
        return None
    count = next((place for place, word in enumerate(words) if word.startswith("-")), len(words))
    if count == 0:
        return None
    return Command(tuple(words[: count - 1]), words[count - 1], tuple(words[count:]))


def probe_variables(environment: Environment) -> dict[str, str]:
    """Return the variables for asking a tool: plain messages, and nothing that bends nvcc."""
    kept = {name: value for name, value in environment.variables.items() if name not in _READ_BY_NVCC}
    return {**kept, "LC_ALL": "C"}
