"""NVIDIA's ``cuobjdump``: where it is. It reads device code, and comes as a wheel of its own."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from setuptools_cuda.config.load import parse_settings
from setuptools_cuda.environment import Environment
from setuptools_cuda.errors import BuildError, Code, Problem
from setuptools_cuda.process import run_tool
from setuptools_cuda.resolution.programs import find_program, probe_variables
from setuptools_cuda.resolution.search import survey_nvcc
from setuptools_cuda.resolution.values import Release

WHEEL = "nvidia-cuda-cuobjdump"
_NAME = "cuobjdump"
_VERSION = re.compile(r"release (\d+)\.(\d+), V([\d.]+)")


def list_cuobjdumps(environment: Environment) -> tuple[tuple[str, Path], ...]:
    """Return (where it was found, path) of each: NVIDIA's wheel, the toolkit that a build would take, PATH."""
    found: dict[Path, tuple[str, Path]] = {}
    for via, path in _look(environment):
        found.setdefault(path.resolve(), (via, path))
    return tuple(found.values())


def _look(environment: Environment) -> Iterator[tuple[str, Path]]:
    for entry in environment.search_path:
        for path in sorted((environment.cwd / entry).glob(f"nvidia/cu*/bin/{_NAME}"), reverse=True):
            yield f"the wheel {WHEEL}", path
    nvcc = _find_nvcc(environment)
    if nvcc is not None:
        for folder in dict.fromkeys((nvcc.parent, nvcc.resolve().parent)):
            if (folder / _NAME).is_file():
                yield f"the toolkit of {nvcc}", folder / _NAME
    on_path = find_program(_NAME, environment=environment)
    if on_path is not None:
        yield "PATH", on_path


def resolve_version(path: Path, *, environment: Environment) -> tuple[Release, str]:
    """Return release and version of a cuobjdump. Raises BuildError (TOOL_FAILED) where it does not say."""
    done = run_tool([str(path), "--version"], variables=probe_variables(environment))
    found = _VERSION.search(done.stdout)
    if not done.ok or found is None:
        said = (done.stderr or done.stdout).strip() or f"status {done.status}"
        raise BuildError(Problem(Code.TOOL_FAILED, "it does not say its version", str(path), (("said", said),)))
    return Release(int(found[1]), int(found[2])), found[3]


def describe_missing_cuobjdump() -> Problem:
    """Return the problem that there is none, and how to get it."""
    return Problem(
        Code.MISSING_TOOL,
        "there is no cuobjdump, which reads device code",
        details=(("looked at", f"the wheel {WHEEL}, the toolkit that a build would take, PATH"),),
        fix=(
            "pip install 'setuptools-cuda-build[inspect]'",
            "or name the one of a toolkit: --cuobjdump /usr/local/cuda/bin/cuobjdump",
        ),
    )


def _find_nvcc(environment: Environment) -> Path | None:
    """Return the nvcc that a build outside of any project would take, or None."""
    try:
        settings = parse_settings({}, root=environment.cwd, environment=environment, config_settings={})
    except BuildError:
        return None
    chosen = survey_nvcc(settings, environment=environment).chosen
    return chosen.nvcc if chosen else None
