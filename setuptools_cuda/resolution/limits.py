"""How much of the machine a build may take: cores, jobs, threads of nvcc, memory."""

from __future__ import annotations

import os

from setuptools_cuda.config.findings import shorten
from setuptools_cuda.config.model import Settings
from setuptools_cuda.environment import Environment
from setuptools_cuda.errors import BuildError, Code, Problem
from setuptools_cuda.resolution.headroom import find_groups, read_headroom

_DIGITS = 18
_KEPT_FREE = 16
"""One part in so many of what is free is left to others."""


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


def read_threads(environment: Environment) -> int:
    """Return the threads that each nvcc gets by ``NVCC_THREADS``; 0 where they follow from the cores that would idle.

    Raises BuildError where it is no positive number.
    """
    return read_count("NVCC_THREADS", environment=environment) or 0


def read_count(name: str, *, environment: Environment) -> int | None:
    """Return the positive number in a variable, or None where it is not set. Raises BuildError."""
    value = environment.get(name)
    if value is None:
        return None
    digits = value.strip()
    if not (digits.isascii() and digits.isdecimal() and len(digits) <= _DIGITS) or int(digits) < 1:
        raise BuildError(
            Problem(
                Code.UNUSABLE_SETTING,
                f"{shorten(value)} is not a positive whole number",
                where=name,
                fix=(f"set {name} to a number such as 4, or unset it",),
            )
        )
    return int(digits)


def read_memory() -> int:
    """Return the bytes of memory that compiles may take together, within all limits on this process; 0 if unknown."""
    free = read_headroom(find_groups())
    return free - free // _KEPT_FREE
