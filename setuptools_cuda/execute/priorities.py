"""Makes ninja start jobs of a higher priority earlier. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from setuptools_cuda.plan.values import Job


@dataclass(frozen=True)
class Link:
    """One link of a chain: a file that comes after others, but never has to be made again for them."""

    file: str
    after: tuple[str, ...]


def plan_chain(jobs: Sequence[Job]) -> tuple[Link, ...]:
    """Return a chain of links that makes the way from a job of high priority to the end of the build longer.

    Ninja starts first what has the most steps after it (its critical path), whatever the order in
    its file. The first link is the last step. There are none where all jobs have one priority.
    """
    ranks = {priority: rank for rank, priority in enumerate(sorted({job.priority for job in jobs}))}
    if len(ranks) < 2:
        return ()
    longest = max(_count_steps(jobs).values())
    waiting: list[list[str]] = [[] for _ in range(longest * (len(ranks) - 1) + 1)]
    for job in jobs:
        if ranks[job.priority]:
            waiting[longest * ranks[job.priority]].extend(output.file for output in job.outputs)
    files = [f"order/{number}" for number in range(len(waiting))]
    return tuple(Link(file, (*files[number + 1 : number + 2], *waiting[number])) for number, file in enumerate(files))


def _count_steps(jobs: Sequence[Job]) -> Mapping[str, int]:
    """Return by output how many jobs run one after the other up to it."""
    makers = {output.file: job for job in jobs for output in job.outputs}
    steps: dict[str, int] = {}

    def count(file: str) -> int:
        if file not in makers:
            return 0
        if file not in steps:
            steps[file] = 1 + max(map(count, makers[file].needs), default=0)
        return steps[file]

    return {file: count(file) for file in makers}
