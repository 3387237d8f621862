"""What a run did, job by job, kept as ``last-build.json`` in the build folder and told in a report."""

from __future__ import annotations

import contextlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from setuptools_cuda.execute.spec import job_name
from setuptools_cuda.execute.writing import write_whole
from setuptools_cuda.plan.values import Job

LOG = "last-build.json"
"""What the last build did with each job, in the build folder."""


@dataclass(frozen=True)
class Phase:
    """A part of a build. Times are of the clock that only goes forward, in nanoseconds."""

    name: str
    started: int
    ended: int


@dataclass(frozen=True, kw_only=True)
class Step:
    """One program that nvcc ran: what for, for which architecture ('' for none), and its seconds."""

    program: str
    architecture: str
    seconds: float


@dataclass
class Journal:
    """What happens, told and written down as it happens."""

    echo: Callable[[str], None]
    """Gets what a person is to read, line by line."""
    timed: bool = False
    """Whether nvcc is to say how long each of its programs took."""
    rows: list[dict[str, object]] = field(default_factory=list)
    steps: dict[str, tuple[Step, ...]] = field(default_factory=dict)
    """What nvcc ran for a job, by its name."""
    unchanged: set[str] = field(default_factory=set)
    """Names of the jobs that there was nothing to do for."""
    phases: list[Phase] = field(default_factory=list)

    def note(self, job: Job, *, how: str, reason: str, **facts: float) -> None:
        """Write down what became of ``job``: it was made, fetched from the cache, or failed."""
        about = {"name": job_name(job), "title": job.title, "kind": job.kind, "how": how, "reason": reason}
        self.rows.append({**about, **facts})

    @contextlib.contextmanager
    def phase(self, name: str) -> Iterator[None]:
        """Write down how long what is done meanwhile takes."""
        started = time.monotonic_ns()
        try:
            yield
        finally:
            self.phases.append(Phase(name, started, time.monotonic_ns()))

    def save(self, folder: Path, *, parallel: int) -> None:
        """Keep it in the build folder. Raises OSError."""
        log = {"at": time.time(), "parallel": parallel, "jobs": self.rows}
        write_whole(folder / LOG, json.dumps(log, indent=1).encode())


def parse_steps(texts: Sequence[str]) -> tuple[Step, ...]:
    """Return the steps of a result's texts: program, architecture and milliseconds of each, in turn."""
    rows = zip(texts[::3], texts[1::3], texts[2::3], strict=True)
    return tuple(Step(program=name, architecture=code, seconds=float(took) / 1000) for name, code, took in rows)
