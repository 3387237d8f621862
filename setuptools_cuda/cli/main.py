"""The command ``setuptools-cuda``: finds the sub-command, and turns errors into exit statuses."""

from __future__ import annotations

import argparse
import io
import os
import sys
from collections.abc import Callable, Sequence
from typing import NoReturn, TextIO

from setuptools_cuda import __version__
from setuptools_cuda.cli import (
    cache,
    cmake_args,
    doctor,
    env,
    inspect,
    kernel_module,
    merge_manifests,
    new,
    plan,
    repair_args,
)
from setuptools_cuda.cli.command import SubParsers
from setuptools_cuda.environment import read_environment
from setuptools_cuda.errors import BuildError, Exit

COMMANDS: tuple[Callable[[SubParsers], None], ...] = (
    doctor.add_parser,
    plan.add_parser,
    env.add_parser,
    cmake_args.add_parser,
    cache.add_parser,
    inspect.add_parser,
    repair_args.add_parser,
    new.add_parser,
    kernel_module.add_parser,
    merge_manifests.add_parser,
)
"""What adds each sub-command, in the order in which ``--help`` shows them."""

_INTERRUPTED = 130
"""The status of a program that Ctrl-C ended, as shells give it."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command and return its exit status. ``arguments`` are those of the process where not given."""
    _speak_any_encoding()
    parsed = make_parser().parse_args(arguments)
    try:
        status: Exit = parsed.run(parsed, read_environment())
        sys.stdout.flush()
    except BuildError as error:
        print(error, file=sys.stderr)
        return error.status
    except KeyboardInterrupt:
        return _INTERRUPTED
    except BrokenPipeError:
        _drop_output()
        return Exit.GOOD
    except OSError as error:
        print(f"error: {error}", file=sys.stderr)
        return Exit.CONFIGURATION
    return status


def make_parser() -> argparse.ArgumentParser:
    """Return the parser of the whole command."""
    parser = argparse.ArgumentParser(
        prog="setuptools-cuda", description="Looks at CUDA builds of Python projects, and explains them."
    )
    parser.add_argument("--version", action="version", version=f"setuptools_cuda {__version__}")
    subparsers = parser.add_subparsers(title="commands", metavar="COMMAND", required=True)
    for add_parser in COMMANDS:
        add_parser(subparsers)
    return parser


def run_as_program() -> NoReturn:
    """Run the command as ``python -m setuptools_cuda`` does."""
    raise SystemExit(main())


def _speak_any_encoding() -> None:
    """Let no character of a path be an error, whatever the encoding of the terminal, nor a stream that is closed."""
    # Python sets a stream to None that was closed before it began, and print() would send errors to the other.
    if sys.stdout is None:
        sys.stdout = _open_nowhere()
    if sys.stderr is None:
        sys.stderr = _open_nowhere()
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def _open_nowhere() -> TextIO:
    return os.fdopen(os.open(os.devnull, os.O_WRONLY), "w", encoding="utf-8")


def _drop_output() -> None:
    """Send what is left to nowhere: whoever read it has gone, and Python would complain at its end."""
    nowhere = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nowhere, sys.stdout.fileno())
