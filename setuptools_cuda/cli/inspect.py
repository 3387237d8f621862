"""``setuptools-cuda inspect``: what is in a wheel or a built file, for which GPUs and drivers."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Sequence
from pathlib import Path

from setuptools_cuda.cli.command import SubParsers, add_command, add_json_option
from setuptools_cuda.cli.inspect_json import describe, describe_failure
from setuptools_cuda.cli.inspect_picture import FORMATS, render_picture
from setuptools_cuda.cli.inspect_screen import lay_out
from setuptools_cuda.cli.screen import show
from setuptools_cuda.config.checks import parse_memory
from setuptools_cuda.environment import Environment
from setuptools_cuda.errors import BuildError, Code, Exit, Problem
from setuptools_cuda.inspection.checks import check_architectures, check_lists, check_size, parse_wanted
from setuptools_cuda.inspection.values import Cuobjdump, Inspection
from setuptools_cuda.inspection.wheel import inspect_path
from setuptools_cuda.resolution.cuobjdump import describe_missing_cuobjdump, list_cuobjdumps, resolve_version
from setuptools_cuda.stage.copy import stage_files


def add_parser(subparsers: SubParsers) -> None:
    """Register the sub-command."""
    summary = "tell what device code is in a wheel or a built file, and what it needs"
    parser = add_command(subparsers, "inspect", summary=summary, run=run)
    parser.add_argument("file", type=Path, help="a wheel, shared library, object, archive, cubin, fatbin or PTX file")
    parser.add_argument(
        "--require",
        action="append",
        default=[],
        metavar="ARCH",
        help="end with 1 where a file with device code has nothing for ARCH, as 90, sm_90a or compute_90; "
        "may be repeated, or several with commas",
    )
    parser.add_argument("--max-size", type=parse_size, metavar="SIZE", help="end with 1 where it is larger: '100 MiB'")
    parser.add_argument("--picture", type=_parse_picture, metavar="FILE", help="write sizes as bars: .svg or .html")
    parser.add_argument(
        "--cuobjdump",
        action="append",
        default=[],
        type=Path,
        metavar="PATH",
        help="the cuobjdump that reads device code; of several, the first that can",
    )
    add_json_option(parser)


def parse_size(text: str) -> int:
    """Return the bytes of '100 MiB'. Raises ArgumentTypeError."""
    try:
        return parse_memory(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no size, such as '100 MiB'") from error


def _parse_picture(text: str) -> Path:
    path = Path(text)
    if path.suffix not in FORMATS:
        raise argparse.ArgumentTypeError(f"{text!r} ends in neither {' nor '.join(FORMATS)}")
    return path


def run(arguments: argparse.Namespace, environment: Environment) -> Exit:
    """Print what is found. Raises BuildError; with ``--json`` problems are printed as JSON."""
    try:
        return _run(arguments, environment=environment)
    except BuildError as error:
        if not arguments.json:
            raise
        print(json.dumps(describe_failure(error), indent=2))
        return error.status


def _run(arguments: argparse.Namespace, *, environment: Environment) -> Exit:
    words = parse_wanted(arguments.require) if arguments.require else ()
    wrong = check_lists(words)
    if wrong:
        raise BuildError(wrong)
    find_tools = make_finder(arguments.cuobjdump, environment=environment)
    found = inspect_path(arguments.file, find_tools=find_tools, environment=environment)
    too_large = None if arguments.max_size is None else check_size(found, limit=arguments.max_size)
    problems = (
        *(file.problem for file in found.files if file.problem),
        *check_architectures(found, words=words),
        *((too_large,) if too_large else ()),
    )
    if arguments.picture:
        path = environment.cwd / arguments.picture
        stage_files({path.name: render_picture(found, suffix=path.suffix)}, into=path.parent)
    _print(found, problems=problems, arguments=arguments, environment=environment)
    return problems[0].code.status if problems else Exit.GOOD


def _print(
    found: Inspection, *, problems: tuple[Problem, ...], arguments: argparse.Namespace, environment: Environment
) -> None:
    if arguments.json:
        print(json.dumps(describe(found, problems=problems), indent=2))
    else:
        show(lay_out(found, problems=problems), environment=environment)


def make_finder(given: Sequence[Path], *, environment: Environment) -> Callable[[], tuple[Cuobjdump, ...]]:
    """Return a function that finds every cuobjdump, in the order to try: ``given``, or all there are.

    It raises BuildError (MISSING_TOOL) where there is none.
    """

    def find() -> tuple[Cuobjdump, ...]:
        named = [("--cuobjdump", environment.cwd / path) for path in given]
        for _, path in named:
            if not path.is_file():
                raise BuildError(Problem(Code.MISSING_TOOL, "there is no such file", where=f"--cuobjdump {path}"))
        candidates = named or list(list_cuobjdumps(environment))
        if not candidates:
            raise BuildError(describe_missing_cuobjdump())
        return tuple(_make_tool(via, path, environment=environment) for via, path in candidates)

    return find


def _make_tool(via: str, path: Path, *, environment: Environment) -> Cuobjdump:
    release, version = resolve_version(path, environment=environment)
    return Cuobjdump(path, release, version, via)
