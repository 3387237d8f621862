"""Runs sides in turn, and says what they took: wall time, and the processor time of all that they started."""

from __future__ import annotations

import os
import resource
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

Side = Callable[[Path], None]
"""Prepares and is measured: what it returns, a command to run in the folder, is what counts."""


@dataclass(frozen=True)
class Took:
    """Seconds of one run."""

    wall: float
    cpu: float


@dataclass(frozen=True)
class Command:
    """A command with its variables, and what has to be there after it."""

    argv: tuple[str, ...]
    variables: Mapping[str, str]
    makes: tuple[str, ...] = ()
    stdin: str = ""


def run(command: Command, *, folder: Path) -> Took:
    """Run ``command`` in ``folder``. Stops all where it fails, or makes other than it should."""
    before, start = resource.getrusage(resource.RUSAGE_CHILDREN), time.perf_counter()
    done = subprocess.run(
        command.argv,
        cwd=folder,
        env={**os.environ, **command.variables},
        input=command.stdin,
        capture_output=True,
        text=True,
        check=False,
    )
    wall, after = time.perf_counter() - start, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command.argv)}\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    for pattern in command.makes:
        if not list(folder.glob(pattern)):
            raise SystemExit(f"{' '.join(command.argv)} made no {pattern}\n{done.stdout[-4000:]}{done.stderr[-4000:]}")
    return Took(wall, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)


@dataclass(frozen=True)
class Peer:
    """One side of a comparison: writes its project into a folder and returns the command that builds it."""

    name: str
    prepare: Callable[[Path], Command]


def compare(peers: Sequence[Peer], *, repeats: int) -> dict[str, list[Took]]:
    """Return what each peer took, each run in a fresh folder, in turn, and each round from another one on."""
    took: dict[str, list[Took]] = {peer.name: [] for peer in peers}
    for round_ in range(repeats):
        first = round_ % len(peers)
        for peer in (*peers[first:], *peers[:first]):
            with tempfile.TemporaryDirectory() as name:
                folder = Path(name).resolve() / "project"
                folder.mkdir()
                took[peer.name].append(run(peer.prepare(folder), folder=folder))
    return took


@dataclass(frozen=True)
class Ratio:
    """Ours against another, as the ratio of medians, with the least and the greatest of the rounds."""

    value: float
    least: float
    most: float

    def __str__(self) -> str:
        return f"{self.value:.2f} ({self.least:.2f} to {self.most:.2f})"


def ratio(ours: Sequence[float], other: Sequence[float]) -> Ratio:
    """Return the ratio of the medians of two sides that ran in turn."""
    rounds = [one / two for one, two in zip(ours, other, strict=True)]
    return Ratio(statistics.median(ours) / statistics.median(other), min(rounds), max(rounds))


def describe(seconds: Sequence[float]) -> str:
    """Return the median, with the least and the greatest."""
    return f"{statistics.median(seconds):.2f} s ({min(seconds):.2f} to {max(seconds):.2f})"
