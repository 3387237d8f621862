"""``setuptools-cuda merge-manifests``: what CMake's package SetuptoolsCuda runs for a wheel with several modules."""

from __future__ import annotations

import argparse
from pathlib import Path

from setuptools_cuda.cli.command import SubParsers, add_command
from setuptools_cuda.environment import Environment
from setuptools_cuda.errors import Exit
from setuptools_cuda.stage.copy import stage_files
from setuptools_cuda.stage.manifest import merge_manifests


def add_parser(subparsers: SubParsers) -> None:
    """Register the sub-command."""
    parser = add_command(subparsers, "merge-manifests", summary="make one manifest of several, for CMake", run=run)
    parser.add_argument("--into", type=Path, required=True, metavar="FILE")
    parser.add_argument("manifests", nargs="+", type=Path, metavar="MANIFEST")


def run(arguments: argparse.Namespace, _environment: Environment) -> Exit:
    """Write the manifest. Raises BuildError where they are of different toolkits."""
    into: Path = arguments.into
    texts = {str(path): path.read_text("utf-8") for path in arguments.manifests}
    stage_files({into.name: merge_manifests(texts).encode("utf-8")}, into=into.parent)
    into.touch()
    return Exit.GOOD
