"""What a report says. Frozen; times are seconds since the build began."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from setuptools_cuda.errors import Problem

How = Literal["made", "fetched", "unchanged", "failed", "not-reached"]
REST = "no device code"
"""What a file holds besides: code of the host, symbols, what is between."""


@dataclass(frozen=True, kw_only=True)
class Span:
    """A named part of the time."""

    name: str
    started: float
    ended: float

    @property
    def seconds(self) -> float:
        """Return how long it is."""
        return self.ended - self.started


@dataclass(frozen=True, kw_only=True)
class StepTime:
    """One program that nvcc ran in a job."""

    program: str
    architecture: str
    """As ``sm_90`` or ``compute_90``; '' where it is for none."""
    seconds: float


@dataclass(frozen=True, kw_only=True)
class JobRow:
    """One job of the build."""

    name: str
    title: str
    kind: str
    source: str
    used_by: tuple[str, ...]
    how: How
    reason: str = ""
    """Why it ran, or was asked of the cache."""
    started: float | None = None
    ended: float | None = None
    lane: int | None = None
    """Which row of the time line it is in, from 0; jobs of one lane never overlap."""
    cpu: float | None = None
    """Seconds of all cores together."""
    memory: int | None = None
    """Bytes of its largest process."""
    threads: int = 1
    steps: tuple[StepTime, ...] = ()

    @property
    def seconds(self) -> float | None:
        """Return how long it took, None where it did not run."""
        return None if self.started is None or self.ended is None else self.ended - self.started


@dataclass(frozen=True, kw_only=True)
class CodeSize:
    """The bytes that code of one kind takes in a file, as they lie there: compressed, where they are."""

    code: str
    """``sm_90a``, ``compute_90``, or :data:`REST`."""
    size: int


@dataclass(frozen=True, kw_only=True)
class FileRow:
    """One file that was built."""

    path: str
    kind: str
    target: str
    size: int
    code: tuple[CodeSize, ...] | None = None
    """What its bytes are; None where that is not known exactly."""


@dataclass(frozen=True, kw_only=True)
class Fact:
    """Something that the build was made with, and where that came from."""

    label: str
    value: str
    origin: str = ""


@dataclass(frozen=True, kw_only=True)
class Report:
    """One build."""

    project: str
    root: str
    at: str
    """When it began, as ISO 8601 in UTC."""
    made_by: str
    seconds: float
    cores: int
    parallel: int
    summary: str
    facts: tuple[Fact, ...] = ()
    phases: tuple[Span, ...] = ()
    jobs: tuple[JobRow, ...] = ()
    files: tuple[FileRow, ...] = ()
    notes: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()
    """Why it failed; nothing where it did not."""

    @property
    def failed(self) -> bool:
        """Return whether the build failed."""
        return bool(self.problems)

    def count(self, how: How) -> int:
        """Return how many jobs ended in this way."""
        return sum(job.how == how for job in self.jobs)
