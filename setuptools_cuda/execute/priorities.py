"""Makes ninja start jobs in an order that is wished for. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from setuptools_cuda.execute.spec import job_name
from setuptools_cuda.plan.values import Job


@dataclass(frozen=True)
class Link:
    """One link of a chain: a file that comes after others, but never has to be made again for them."""

    file: str
    after: tuple[str, ...]
    """Links by their files, jobs by their names."""


def plan_chain(jobs: Sequence[Job], *, order: Mapping[str, tuple[float, ...]]) -> tuple[Link, ...]:
    """Return a chain of links that makes the way from a job that is to start early to the end of the build longer.

    Ninja starts first what has the most steps after it (its critical path), whatever the order in
    its file. ``order`` is by name: the greater, the earlier. The first link is the last step. There
    are none where all jobs have one place.
    """
    ranks = {place: rank for rank, place in enumerate(sorted({order[job_name(job)] for job in jobs}))}
    if len(ranks) < 2:
        return ()
    longest = max(count_steps(jobs).values())
    waiting: list[list[str]] = [[] for _ in range(longest * (len(ranks) - 1) + 1)]
    for job in jobs:
        if ranks[order[job_name(job)]]:
            waiting[longest * ranks[order[job_name(job)]]].append(job_name(job))
    files = [f"order/{number}" for number in range(len(waiting))]
    return tuple(Link(file, (*files[number + 1 : number + 2], *waiting[number])) for number, file in enumerate(files))


def count_steps(jobs: Sequence[Job]) -> Mapping[str, int]:
    """Return by name how many of the jobs run one after the other up to it."""
    makers = {output.file: job for job in jobs for output in job.outputs}
    steps: dict[str, int] = {}

    def count(job: Job) -> int:
        if job_name(job) not in steps:
            before = {job_name(makers[need]): makers[need] for need in job.needs if need in makers}
            steps[job_name(job)] = 1 + max(map(count, before.values()), default=0)
        return steps[job_name(job)]

    for job in jobs:
        count(job)
    return steps
