"""Jobs in lanes, as on the cores of a machine. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

Interval = tuple[float, float]


def assign_lanes(intervals: Mapping[str, Interval]) -> Mapping[str, int]:
    """Return a lane for each interval, by name: the first that is free when it starts."""
    ends: list[float] = []
    lanes: dict[str, int] = {}
    for name, (started, ended) in sorted(intervals.items(), key=lambda item: (item[1], item[0])):
        lane = next((number for number, end in enumerate(ends) if end <= started), len(ends))
        ends[lane : lane + 1] = [ended]
        lanes[name] = lane
    return lanes


def count_busy(intervals: Iterable[tuple[float, float, int]]) -> Sequence[tuple[float, int]]:
    """Return how many threads run from when on, in order of time; each interval is (start, end, threads)."""
    changes: dict[float, int] = {}
    for started, ended, threads in intervals:
        changes[started] = changes.get(started, 0) + threads
        changes[ended] = changes.get(ended, 0) - threads
    busy, steps = 0, []
    for at in sorted(changes):
        busy += changes[at]
        steps.append((at, busy))
    return steps
