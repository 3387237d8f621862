"""``setuptools-cuda cmake-args``: toolchain and architectures as arguments of CMake, for whoever runs it."""

from __future__ import annotations

import argparse
import shlex
import sys
from collections.abc import Mapping
from pathlib import Path

from setuptools_cuda.cli.command import SubParsers, add_command, add_settings_option, make_request
from setuptools_cuda.cli.env import place_links, print_exactly, tell_of_project_above
from setuptools_cuda.environment import Environment
from setuptools_cuda.errors import Exit
from setuptools_cuda.frontends.cmake_project import (
    PACKAGE_FOLDER,
    load_cmake_project,
    resolve_cmake_build,
    write_toolkit,
)
from setuptools_cuda.stage.copy import stage_files


def add_parser(subparsers: SubParsers) -> None:
    """Register the sub-command."""
    summary = 'print the toolchain as arguments of CMake: eval "cmake -S . -B build $(setuptools-cuda cmake-args)"'
    parser = add_command(subparsers, "cmake-args", summary=summary, run=run)
    parser.epilog = (
        "The words are quoted for a shell: without eval the quotes stay in them, and CMake reads none of those."
    )
    parser.add_argument(
        "--cache", type=Path, metavar="FILE", help="write the variables into FILE, for cmake -C FILE, and print nothing"
    )
    add_settings_option(parser)


def run(arguments: argparse.Namespace, environment: Environment) -> Exit:
    """Print the arguments. Where the toolkit is made of wheels, its links are written. Raises BuildError."""
    request = place_links(make_request(arguments, environment))
    settings = load_cmake_project(request, has_setuptools=True)
    build = resolve_cmake_build(settings, request=request)
    write_toolkit(build, request=request)
    tell_of_project_above(request.root)
    for note in build.notes:
        print(f"note: {note}", file=sys.stderr)
    entries = {**build.entries, "SetuptoolsCuda_DIR": str(PACKAGE_FOLDER)}
    if arguments.cache is None:
        print_exactly(" ".join(shlex.quote(f"-D{name}={_guarded(value)}") for name, value in entries.items()) + "\n")
    else:
        text = render_initial_cache(entries)
        file: Path = environment.cwd / arguments.cache
        stage_files({file.name: text.encode("utf-8", "surrogateescape")}, into=file.parent)
    return Exit.GOOD


def _guarded(value: str) -> str:
    """Return a value of ``-D``, from which CMake takes one pair of quotes away where they stand at both ends."""
    return f"'{value}'" if len(value) > 1 and value[0] == value[-1] == "'" else value


def render_initial_cache(entries: Mapping[str, str]) -> str:
    """Return a script for ``cmake -C``. Values stand in brackets, in which CMake reads nothing."""
    return "".join(
        f'set({name} {_bracketed(value)} CACHE STRING "Set by setuptools_cuda" FORCE)\n'
        for name, value in entries.items()
    )


def _bracketed(value: str) -> str:
    equals = "="
    while f"]{equals}]" in f"{value}]":
        equals += "="
    return f"[{equals}[{value}]{equals}]"
