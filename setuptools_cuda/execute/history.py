"""What each job took when it last ran: seconds, and memory. It decides what is started first, and beside what."""

from __future__ import annotations

import contextlib
import json
import math
import statistics
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path

from setuptools_cuda.execute.spec import job_name
from setuptools_cuda.execute.writing import write_whole
from setuptools_cuda.plan.values import Job

_VERSION = 1
_USUAL_RATE = 1e-4
"""Seconds a byte of source and architecture, while nothing is known; only their order matters then."""
_SHORT = 0.05
_COARSENESS = 1.3
"""Times whose quotient is less count as the same, so that an order is not made of noise."""
_MARGIN = 1.15
"""The next compile of a source may need so much more than the last."""


class History:
    """Seconds and bytes of memory by what was made, kept in a file between builds."""

    def __init__(self, file: Path) -> None:
        """Read what earlier builds kept; what cannot be read is nothing."""
        self._file = file
        self._rows: dict[str, tuple[float, int]] = {}
        with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
            kept = json.loads(file.read_bytes())
            if kept["version"] == _VERSION:
                self._rows = {label: (float(row[0]), int(row[1])) for label, row in kept["jobs"].items()}

    def note(self, job: Job, *, seconds: float, memory: int) -> None:
        """Remember what a job took."""
        self._rows[label_of(job)] = (round(seconds, 3), memory)

    def save(self) -> None:
        """Keep all that is remembered. Raises OSError."""
        write_whole(self._file, json.dumps({"version": _VERSION, "jobs": self._rows}).encode())

    def find_seconds(self, job: Job) -> float | None:
        """Return the seconds that a job took last, or None."""
        row = self._rows.get(label_of(job))
        return row[0] if row else None

    def find_need(self, job: Job) -> int:
        """Return the bytes that one thread of a job needs, with some to spare; 0 where unknown."""
        row = self._rows.get(label_of(job))
        return int(row[1] * _MARGIN) if row else 0


def label_of(job: Job) -> str:
    """Return what a job is remembered by: not its key, which another flag changes."""
    return f"{job.kind} {job.title}"


def estimate_seconds(jobs: Iterable[Job], *, history: History, size_of: Callable[[Job], int]) -> Mapping[str, float]:
    """Return by name how long each job will take: as long as last time, or by its size and architectures."""
    jobs = tuple(jobs)
    weights = {job_name(job): max(1, size_of(job)) * max(1, len(job.codes)) for job in jobs}
    known = {job_name(job): seconds for job in jobs if (seconds := history.find_seconds(job)) is not None}
    rates = [seconds / weights[key] for key, seconds in known.items()]
    rate = statistics.median(rates) if rates else _USUAL_RATE
    return {job_name(job): known.get(job_name(job), rate * weights[job_name(job)]) for job in jobs}


def plan_order(jobs: Iterable[Job], *, seconds: Mapping[str, float]) -> Mapping[str, tuple[float, ...]]:
    """Return the place of each job by name: first its priority, then how long it takes with what follows it."""
    jobs = tuple(jobs)
    users: dict[str, list[Job]] = {}
    for job in jobs:
        for need in job.needs:
            users.setdefault(need, []).append(job)
    lengths: dict[str, float] = {}

    def length(job: Job) -> float:
        if job_name(job) not in lengths:
            after = {job_name(user): user for output in job.outputs for user in users.get(output.file, ())}
            lengths[job_name(job)] = seconds[job_name(job)] + max(map(length, after.values()), default=0.0)
        return lengths[job_name(job)]

    return {job_name(job): (float(job.priority), _round(length(job))) for job in jobs}


def _round(seconds: float) -> float:
    return float(int(math.log(max(seconds, _SHORT) / _SHORT, _COARSENESS)))
