"""The time line of a build: its jobs in lanes, and how many cores were busy, as SVG. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from setuptools_cuda.report.axis import plan_ticks, show_tick, unit_of
from setuptools_cuda.report.lanes import count_busy
from setuptools_cuda.report.markup import element, shorten_middle, show_bytes, show_seconds, text_element
from setuptools_cuda.report.values import JobRow, Report

WIDTH = 1080.0
LEFT, RIGHT, TOP, BOTTOM = 64.0, 14.0, 6.0, 40.0
_PHASES = 18.0
_BUSY = 64.0
_GAP = 16.0
_LETTER = 6.6
"""Units that a letter of a bar takes, on average; what is longer is cut."""
_HEIGHTS = ((12, 24.0), (32, 16.0), (64, 10.0))
_LEAST_HEIGHT = 5.0
GROUPS = {
    "cuda": "cuda",
    "device": "device",
    "host": "host",
    "cython": "host",
    "archive": "link",
    "link": "link",
    "device-link": "link",
}
"""The colour of a job, by its kind."""
NAMES = {
    "cuda": "nvcc",
    "device": "device compiler",
    "host": "C, C++, Cython",
    "link": "link, archive",
    "fetched": "from the cache",
    "failed": "failed",
}


@dataclass(frozen=True)
class _Frame:
    """Where things are."""

    seconds: float
    lanes: int
    height: float

    @property
    def bottom(self) -> float:
        return TOP + _PHASES + self.lanes * self.height

    def x(self, seconds: float) -> float:
        return LEFT + (WIDTH - LEFT - RIGHT) * min(max(seconds / self.seconds, 0.0), 1.0)

    def y(self, lane: int) -> float:
        return TOP + _PHASES + lane * self.height


def render_timeline(report: Report) -> str:
    """Return the time line as SVG; '' where nothing ran and nothing is known of the time."""
    ran = [job for job in report.jobs if job.lane is not None]
    fetched = [job for job in report.jobs if job.how == "fetched" and job.started is not None]
    lanes = 1 + max((job.lane for job in ran if job.lane is not None), default=-1) + bool(fetched)
    if not lanes and not report.phases:
        return ""
    height = next((height for most, height in _HEIGHTS if lanes <= most), _LEAST_HEIGHT)
    frame = _Frame(max(report.seconds, 1e-3), max(lanes, 1), height)
    busy = list(_busy(ran, report=report, frame=frame)) if ran else []
    total = frame.bottom + (_GAP + _BUSY if ran else 0.0) + BOTTOM
    parts = [
        *_grid(frame, bottom=total - BOTTOM),
        *_phases(report, frame=frame),
        *_labels(frame, cached=bool(fetched)),
        *(_bar(job, frame=frame) for job in ran),
        *(_mark(job, frame=frame) for job in fetched),
        *busy,
        *_axis(frame, bottom=total - BOTTOM),
    ]
    title = text_element("title", "When each job ran")
    return element("svg", title, *parts, viewBox=f"0 0 {WIDTH:.0f} {total:.0f}", role="img", class_="timeline")


def list_groups(report: Report) -> Sequence[str]:
    """Return the groups of colour that the time line has, for its legend."""
    found = {_group(job) for job in report.jobs if job.started is not None}
    return [group for group in NAMES if group in found]


def _group(job: JobRow) -> str:
    return job.how if job.how in {"fetched", "failed"} else GROUPS.get(job.kind, "link")


def _grid(frame: _Frame, *, bottom: float) -> Iterator[str]:
    for tick in plan_ticks(frame.seconds):
        x = frame.x(tick)
        yield element("line", x1=x, x2=x, y1=TOP + _PHASES, y2=bottom, class_="grid")


def _axis(frame: _Frame, *, bottom: float) -> Iterator[str]:
    for tick in plan_ticks(frame.seconds):
        yield text_element(
            "text", show_tick(tick, top=frame.seconds), x=frame.x(tick), y=bottom + 15, class_="tick mid"
        )
    middle = LEFT + (WIDTH - LEFT - RIGHT) / 2
    label = f"time since the build began ({unit_of(frame.seconds)})"
    yield text_element("text", label, x=middle, y=bottom + 32, class_="tick mid")


def _phases(report: Report, *, frame: _Frame) -> Iterator[str]:
    """Yield the bands of the phases above the lanes; what is too short for its name has it in its title alone."""
    for number, phase in enumerate(report.phases):
        left, right = frame.x(phase.started), frame.x(phase.ended)
        width = max(right - left, 0.5)
        title = text_element("title", f"{phase.name}: {show_seconds(phase.seconds)}")
        band = element("rect", x=left, y=TOP, width=width, height=_PHASES - 5, class_=f"phase p{number % 2}")
        fits = len(phase.name) * _LETTER < width - 6
        name = text_element("text", phase.name, x=left + 4, y=TOP + 10, class_="phase-name") if fits else ""
        yield element("g", title, band, name)


def _labels(frame: _Frame, *, cached: bool) -> Iterator[str]:
    every = max(1, round(12 / frame.height + 0.49))
    for lane in range(frame.lanes):
        y = frame.y(lane) + frame.height / 2 + 4
        if cached and lane == frame.lanes - 1:
            yield text_element("text", "cache", x=LEFT - 8, y=y, class_="tick end")
        elif lane % every == 0 and not (cached and frame.lanes - 1 - lane < every):
            name = f"lane {lane + 1}" if frame.height >= 16 else str(lane + 1)
            yield text_element("text", name, x=LEFT - 8, y=y, class_="tick end")
    yield element("line", x1=LEFT, x2=WIDTH - RIGHT, y1=frame.bottom, y2=frame.bottom, class_="base")


def _bar(job: JobRow, *, frame: _Frame) -> str:
    started, ended, lane = job.started or 0.0, job.ended or 0.0, job.lane or 0
    left, width = frame.x(started), max(frame.x(ended) - frame.x(started), 1.0)
    space = 1.0 if frame.height > 8 else 0.5
    top, height = frame.y(lane) + space, frame.height - 2 * space
    rect = element("rect", x=left, y=top, width=width, height=height, rx=min(2.0, height / 4), class_=_group(job))
    return element("g", text_element("title", describe_job(job)), rect, _bar_name(job, frame=frame, at=(left, width)))


def _bar_name(job: JobRow, *, frame: _Frame, at: tuple[float, float]) -> str:
    left, width = at
    room = int((width - 8) / _LETTER)
    if frame.height < 16 or room < 6:
        return ""
    whole = job.source or job.title
    name = whole if len(whole) <= room else whole.rpartition("/")[2]
    y = frame.y(job.lane or 0) + frame.height / 2 + 4
    return text_element("text", shorten_middle(name, most=room), x=left + 4, y=y, class_="bar-name")


def _mark(job: JobRow, *, frame: _Frame) -> str:
    left = frame.x(job.started or 0.0)
    width = max(frame.x(job.ended or 0.0) - left, 1.5)
    top = frame.y(frame.lanes - 1) + 2
    title = text_element("title", describe_job(job))
    return element("g", title, element("rect", x=left, y=top, width=width, height=frame.height - 4, class_="fetched"))


def describe_job(job: JobRow) -> str:
    """Return what is known of a job, in lines."""
    lines = [job.title, f"for {', '.join(job.used_by)}" if job.used_by else ""]
    if job.seconds is not None:
        what = {"fetched": "out of the cache in ", "failed": "failed after "}.get(job.how, "")
        lines.append(f"{what}{show_seconds(job.seconds)}, from {job.started:.1f} s on")
    if job.cpu is not None and job.memory is not None:
        more = f", {job.threads} threads" if job.threads > 1 else ""
        lines.append(f"{show_seconds(job.cpu)} of processor time, {show_bytes(job.memory)} of memory{more}")
    return "\n".join((*filter(None, lines), *((job.reason,) if job.reason else ())))


def _busy(ran: Sequence[JobRow], *, report: Report, frame: _Frame) -> Iterator[str]:
    """Yield the graph of the threads that compilers were given, against the cores of the machine."""
    steps = count_busy([(job.started or 0.0, job.ended or 0.0, job.threads) for job in ran])
    most = max(report.parallel, *(count for _, count in steps))
    top, bottom = frame.bottom + _GAP, frame.bottom + _GAP + _BUSY

    def y(count: float) -> float:
        return bottom - (bottom - top) * count / most

    points, before = [f"{frame.x(0):.1f},{bottom:.1f}"], 0
    for at, count in steps:
        points += [f"{frame.x(at):.1f},{y(before):.1f}", f"{frame.x(at):.1f},{y(count):.1f}"]
        before = count
    yield element("polygon", points=" ".join((*points, f"{frame.x(frame.seconds):.1f},{bottom:.1f}")), class_="busy")
    yield element("line", x1=LEFT, x2=WIDTH - RIGHT, y1=y(report.parallel), y2=y(report.parallel), class_="limit")
    yield element("line", x1=LEFT, x2=WIDTH - RIGHT, y1=bottom, y2=bottom, class_="base")
    yield text_element("text", "threads", x=LEFT - 8, y=(top + bottom) / 2 + 4, class_="tick end")
    yield text_element("text", str(most), x=LEFT - 8, y=top + 8, class_="tick end")
    yield text_element("text", "0", x=LEFT - 8, y=bottom, class_="tick end")
