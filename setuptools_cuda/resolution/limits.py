"""How much of the machine a build may take: cores, jobs, threads of nvcc, memory."""

from __future__ import annotations

import os
from pathlib import Path

from setuptools_cuda.config.model import Settings
from setuptools_cuda.environment import Environment
from setuptools_cuda.errors import BuildError, Code, Problem

_CGROUP_LIMITS = (Path("/sys/fs/cgroup/memory.max"), Path("/sys/fs/cgroup/memory/memory.limit_in_bytes"))
_MEMINFO = Path("/proc/meminfo")


def read_cpus() -> int:
    """Return the cores that this process may run on."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def read_jobs(settings: Settings, *, environment: Environment, asked: int | None) -> int | None:
    """Return how many compiles run at once: the front-end's ``-j``, ``jobs``, ``MAX_JOBS``, or None for all cores.

    Raises BuildError where ``MAX_JOBS`` is no positive number.
    """
    jobs, kind = settings.project.jobs, settings.origin("jobs").kind
    if jobs is not None and kind in {"config-setting", "environment"}:
        return jobs
    return asked or read_count("MAX_JOBS", environment=environment) or jobs


def read_threads(cuda_jobs: int, *, parallel: int, environment: Environment) -> int:
    """Return the threads that each nvcc gets: ``NVCC_THREADS``, or its share of cores that would idle."""
    asked = read_count("NVCC_THREADS", environment=environment)
    return asked or max(1, parallel // max(1, min(cuda_jobs, parallel)))


def read_count(name: str, *, environment: Environment) -> int | None:
    """Return the positive number in a variable, or None where it is not set. Raises BuildError."""
    value = environment.get(name)
    if value is None:
        return None
    if not value.strip().isdecimal() or int(value) < 1:
        raise BuildError(
            Problem(
                Code.UNUSABLE_SETTING,
                f"{value!r} is not a positive whole number",
                where=name,
                fix=(f"set {name} to a number such as 4, or unset it",),
            )
        )
    return int(value)


def read_memory() -> int:
    """Return the bytes of memory that compiles may take: what is available, within the cgroup's limit; 0 if unknown."""
    bounds = [bound for bound in (_available(), *map(_cgroup_limit, _CGROUP_LIMITS)) if bound]
    return min(bounds, default=0)


def _available() -> int:
    try:
        lines = _MEMINFO.read_text("ascii").splitlines()
    except OSError:
        return 0
    return next((int(line.split()[1]) * 1024 for line in lines if line.startswith("MemAvailable:")), 0)


def _cgroup_limit(path: Path) -> int:
    try:
        text = path.read_text("ascii").strip()
    except OSError:
        return 0
    return int(text) if text.isdecimal() else 0
