"""``setuptools-cuda env``: the toolchain as variables, for other build systems."""

from __future__ import annotations

import argparse
import hashlib
import os
import shlex
import sys
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from setuptools_cuda import pipeline
from setuptools_cuda.cli.command import SubParsers, add_command, add_settings_option, make_request
from setuptools_cuda.config.pyproject import find_table
from setuptools_cuda.environment import Environment
from setuptools_cuda.errors import Exit
from setuptools_cuda.execute.cache_folder import find_user_cache
from setuptools_cuda.resolution.architecture_spellings import spell_for_cmake, spell_for_torch
from setuptools_cuda.resolution.farm import write_farm
from setuptools_cuda.resolution.programs import find_program
from setuptools_cuda.resolution.values import Architectures, Toolchain


def add_parser(subparsers: SubParsers) -> None:
    """Register the sub-command."""
    summary = 'print the toolchain as shell variables, for other build systems: eval "$(setuptools-cuda env)"'
    add_settings_option(add_command(subparsers, "env", summary=summary, run=run))


def run(arguments: argparse.Namespace, environment: Environment) -> Exit:
    """Print the variables as lines for a POSIX shell. Where the toolkit is made of wheels, its links are written."""
    request = place_links(make_request(arguments, environment))
    toolchain, architectures = pipeline.resolve_facts(request)
    if toolchain.farm is not None:
        write_farm(toolchain.farm, host_compiler=toolchain.host_compiler.path, environment=environment)
        print(f"note: {toolchain.root} holds links to the toolkit's wheels", file=sys.stderr)
    tell_of_project_above(request.root)
    for note in (*toolchain.notes, *architectures.notes):
        print(f"note: {note}", file=sys.stderr)
    print_exactly(render_exports(toolchain, architectures, environment=environment))
    return Exit.GOOD


def render_exports(toolchain: Toolchain, architectures: Architectures, *, environment: Environment) -> str:
    """Return an ``export`` line for each variable, quoted for a POSIX shell."""
    pairs = _list_variables(toolchain, architectures)
    lines = [f"export {name}={shlex.quote(value)}\n" for name, value in pairs]
    if find_program("nvcc", environment=environment) != toolchain.nvcc:
        lines.append(f'export PATH={shlex.quote(str(toolchain.nvcc.parent))}"${{PATH:+:$PATH}}"\n')
    return "".join(lines)


def _list_variables(toolchain: Toolchain, architectures: Architectures) -> Iterator[tuple[str, str]]:
    """Yield name and value: what CMake reads, what PyTorch reads, and what nvcc itself reads."""
    root, host = str(toolchain.root), toolchain.host_compiler
    yield from (("CUDA_HOME", root), ("CUDA_PATH", root), ("CUDAToolkit_ROOT", root))
    yield "CUDACXX", str(toolchain.nvcc)
    yield from (("CUDAHOSTCXX", str(host.path)), ("NVCC_CCBIN", str(host.path)))
    yield "CUDAARCHS", spell_for_cmake(architectures.codes)
    yield "TORCH_CUDA_ARCH_LIST", spell_for_torch(architectures.codes)
    if toolchain.launcher:
        yield "CMAKE_CUDA_COMPILER_LAUNCHER", ";".join(toolchain.launcher)


def place_links(request: pipeline.Request) -> pipeline.Request:
    """Return a request that keeps links in the user's cache where there is no project to keep them in."""
    if find_table(request.root) is not None:
        return request
    cache = find_user_cache(request.environment)
    if cache is None:
        return request
    interpreter = hashlib.sha256(os.fsencode(sys.prefix)).hexdigest()[:16]
    return replace(request, build_base=cache / "toolkits" / interpreter)


def tell_of_project_above(folder: Path) -> None:
    """Say on the standard error that the project around ``folder`` is not read, where there is one and none here."""
    files = (parent / "pyproject.toml" for parent in folder.parents)
    if find_table(folder) is None:
        for file in files:
            if file.is_file() and b"tool.setuptools-cuda" in file.read_bytes():
                print(f"note: {file} is not read: it is the current folder that counts", file=sys.stderr)
                return


def print_exactly(text: str) -> None:
    """Print ``text`` with the bytes of its paths, whatever the encoding of the terminal."""
    sys.stdout.flush()
    sys.stdout.buffer.write(os.fsencode(text))
    sys.stdout.buffer.flush()
