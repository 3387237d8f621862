"""``setuptools-cuda kernel-module``: what CMake's package SetuptoolsCuda runs. Its options are not for people."""

from __future__ import annotations

import argparse
from pathlib import Path
from urllib.parse import unquote

from setuptools_cuda.cli.command import SubParsers, add_command
from setuptools_cuda.environment import Environment
from setuptools_cuda.errors import Exit
from setuptools_cuda.frontends.cmake_kernels import CMakeKernels, build_kernels

_PATHS = ("root", "binary-folder", "wheel-folder", "manifest", "depfile")
_TEXTS = ("nvcc", "host-compiler", "architectures")


def add_parser(subparsers: SubParsers) -> None:
    """Register the sub-command."""
    parser = add_command(subparsers, "kernel-module", summary="build a kernel module for CMake", run=run)
    parser.fromfile_prefix_chars = "@"
    parser.add_argument("--target", required=True)
    for name in _PATHS:
        parser.add_argument(f"--{name}", type=_read_path, required=True)
    for name in _TEXTS:
        parser.add_argument(f"--{name}", default="", type=unquote)
    parser.add_argument("--word", nargs=2, action="append", default=[], metavar=("KEY", "VALUE"))
    parser.add_argument(
        "--source-word", nargs=3, action="append", default=[], metavar=("SOURCE", "KEY", "VALUE"), dest="source_words"
    )


def _read_path(text: str) -> Path:
    return Path(unquote(text))


def run(arguments: argparse.Namespace, environment: Environment) -> Exit:
    """Build the module. CMake encodes what would end a line, or an item of its lists. Raises BuildError."""
    kernels = CMakeKernels(
        root=arguments.root,
        target=arguments.target,
        words=[(key, unquote(value.removeprefix("="))) for key, value in arguments.word],
        source_words=[
            (unquote(source), key, unquote(value.removeprefix("="))) for source, key, value in arguments.source_words
        ],
        binary_folder=arguments.binary_folder,
        wheel_folder=arguments.wheel_folder,
        manifest=arguments.manifest,
        depfile=arguments.depfile,
        nvcc=arguments.nvcc,
        host_compiler=arguments.host_compiler,
        architectures=arguments.architectures,
    )
    build_kernels(kernels, environment=environment, echo=lambda line: print(line, flush=True))
    return Exit.GOOD
