"""What the sub-commands have in common: how one is registered, and the project that it looks at.

A sub-command is a module with a function ``add_parser(subparsers)``, which calls
:func:`add_command`, and which ``cli/main.py`` names in its list.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable
from typing import TYPE_CHECKING

from setuptools_cuda import pipeline
from setuptools_cuda.config.keys import PROJECT
from setuptools_cuda.environment import Environment
from setuptools_cuda.errors import Exit

if TYPE_CHECKING:
    # argparse has no public name for what add_subparsers() returns.
    SubParsers = argparse._SubParsersAction[argparse.ArgumentParser]  # noqa: SLF001 - as said above
else:
    SubParsers = object

Run = Callable[[argparse.Namespace, Environment], Exit]
"""Does the work of a sub-command: prints, and returns the exit status. Raises BuildError."""


def add_command(subparsers: SubParsers, name: str, *, summary: str, run: Run) -> argparse.ArgumentParser:
    """Return the parser of a new sub-command, for its own options."""
    parser = subparsers.add_parser(name, help=summary, description=f"{summary[0].upper()}{summary[1:]}.")
    parser.set_defaults(run=run)
    return parser


def add_settings_option(parser: argparse.ArgumentParser) -> None:
    """Add ``-C KEY=VALUE``, which says what it says to pip."""
    parser.add_argument(
        "-C",
        "--config-setting",
        action="append",
        default=[],
        type=_parse_setting,
        dest="settings",
        metavar="KEY=VALUE",
        help="a setting as for pip, such as cuda.architectures=90; may be repeated",
    )


def add_json_option(parser: argparse.ArgumentParser) -> None:
    """Add ``--json``."""
    parser.add_argument("--json", action="store_true", help="print JSON, for programs")


def make_request(arguments: argparse.Namespace, environment: Environment) -> pipeline.Request:
    """Return the request for the project in the current folder, with the settings of the command line."""
    settings: dict[str, list[str]] = {}
    for name, value in arguments.settings:
        settings.setdefault(name, []).append(value)
    return pipeline.Request(environment.cwd, environment, config_settings=settings)


def _parse_setting(text: str) -> tuple[str, str]:
    name, equals, value = text.partition("=")
    if not equals or not name:
        raise argparse.ArgumentTypeError(f"{text!r} is not KEY=VALUE")
    if name in PROJECT.keys:
        raise argparse.ArgumentTypeError(f"{name!r} is a setting of another tool; did you mean cuda.{name}?")
    return name, value
