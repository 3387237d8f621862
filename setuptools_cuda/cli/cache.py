"""``setuptools-cuda cache``: what the artifact cache holds, and a way to empty it."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from setuptools_cuda import pipeline
from setuptools_cuda.cli.command import SubParsers, add_command, add_json_option, add_settings_option, make_request
from setuptools_cuda.config.checks import parse_memory
from setuptools_cuda.environment import Environment
from setuptools_cuda.errors import BuildError, Code, Exit, Problem
from setuptools_cuda.execute.cache_folder import find_cache_folder
from setuptools_cuda.execute.eviction import Usage, clear, measure, write_limit
from setuptools_cuda.execute.folder import telling

_LEAST = 1 << 20
"""Bytes: less holds hardly one object, and is a number whose unit was forgotten."""
_ACTIONS = ("show", "clear", "limit")
_UNITS = ("B", "KiB", "MiB", "GiB", "TiB")


def add_parser(subparsers: SubParsers) -> None:
    """Register the sub-command."""
    summary = "show the artifact cache, empty it, or set how much it may hold"
    parser = add_command(subparsers, "cache", summary=summary, run=run)
    parser.add_argument("action", nargs="?", choices=_ACTIONS, default="show", help="what to do (default: show)")
    parser.add_argument("size", nargs="?", type=_parse_size, help="for limit: what it may hold, as '10 GiB'")
    add_json_option(parser)
    add_settings_option(parser)


def _parse_size(text: str) -> int:
    try:
        size = parse_memory(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{text!r} is no size, such as '10 GiB'") from error
    if 0 < size < _LEAST and text.strip().isdecimal():
        raise argparse.ArgumentTypeError(f"{text!r} has no unit, and would be bytes; write it as '10 GiB'")
    if size <= 0:
        raise argparse.ArgumentTypeError("a cache that may hold nothing is said by SETUPTOOLS_CUDA_CACHE=off")
    return size


def run(arguments: argparse.Namespace, environment: Environment) -> Exit:
    """Do the action. Raises BuildError where the cache is off or cannot be written to."""
    settings = pipeline.load(make_request(arguments, environment))
    folder = find_cache_folder(settings, environment=environment)
    if folder is None:
        return _tell_off(arguments)
    with telling(folder):
        if arguments.action == "clear":
            usage = clear(folder)
            _tell(folder, usage, arguments=arguments, verb="removed")
        else:
            if arguments.action == "limit":
                write_limit(folder, _wanted(arguments))
            _tell(folder, measure(folder), arguments=arguments, verb="holds")
    return Exit.GOOD


def _wanted(arguments: argparse.Namespace) -> int:
    size: int | None = arguments.size
    if size is None:
        fix = ("say how much it may hold, as in: setuptools-cuda cache limit '10 GiB'",)
        raise BuildError(Problem(Code.MISSING_KEY, "limit needs a size", where="setuptools-cuda cache", fix=fix))
    return size


def _tell_off(arguments: argparse.Namespace) -> Exit:
    if arguments.json:
        print(json.dumps({"version": 1, "folder": None}))
    else:
        print("the cache is off")
    return Exit.GOOD


def _tell(folder: Path, usage: Usage, *, arguments: argparse.Namespace, verb: str) -> None:
    if arguments.json:
        facts = {"version": 1, "folder": str(folder), "entries": usage.entries, "bytes": usage.size}
        print(json.dumps({**facts, "limit": usage.limit}))
        return
    print(f"{folder}\n{verb} {usage.entries} entries, {show_size(usage.size)}; may hold {show_size(usage.limit)}")


def show_size(size: int) -> str:
    """Return ``size`` bytes for a person, as '1.5 GiB'."""
    shown, unit = float(size), 0
    while shown >= 1024 and unit + 1 < len(_UNITS):
        shown /= 1024
        unit += 1
    return f"{shown:.1f} {_UNITS[unit]}" if unit else f"{size} B"
