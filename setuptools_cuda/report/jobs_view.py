"""The jobs of a report as tables, and what nvcc's programs took. Pure."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence

from setuptools_cuda.report.charts import assign_colors, render_bar, render_legend
from setuptools_cuda.report.markup import element, escape, show_bytes, show_count, show_seconds, table, text_element
from setuptools_cuda.report.values import JobRow, Report

LONGEST = 15
"""Jobs that the first table has; the others are in a list that is closed at first."""
_HOST = "host code"


def render_programs(report: Report) -> Iterator[str]:
    """Yield the section on nvcc's programs; nothing where none of them was timed."""
    steps = [step for job in report.jobs for step in job.steps]
    if not steps:
        return
    programs: dict[str, float] = defaultdict(float)
    codes: dict[str, float] = defaultdict(float)
    for step in steps:
        programs[_program(step.program)] += step.seconds
        codes[_architecture(step.program, architecture=step.architecture)] += step.seconds
    yield text_element("h2", "What nvcc spent its time on")
    yield text_element("p", "By program:", class_="soft small")
    yield from _shares(sorted(programs.items(), key=lambda item: -item[1]))
    yield text_element("p", "By architecture:", class_="soft small")
    yield from _shares(sorted(codes.items(), key=lambda item: _place(item[0])), plain=_HOST)


def _program(name: str) -> str:
    if "preprocessing" in name:
        return "preprocessor"
    return "host compiler" if "compiling" in name else name


def _architecture(program: str, *, architecture: str) -> str:
    number = architecture.rpartition("_")[2]
    # cudafe++ and the host compiler run once, whatever architecture nvcc names with them.
    return f"sm_{number}" if number and (program in {"cicc", "ptxas"} or "preprocessing" in program) else _HOST


def _place(name: str) -> tuple[int, str]:
    digits = "".join(filter(str.isdigit, name))
    return (int(digits) if digits else -1, name)


def _shares(amounts: Sequence[tuple[str, float]], *, plain: str = "") -> Iterator[str]:
    total = sum(amount for _, amount in amounts)
    colors = assign_colors((name for name, _ in amounts), plain=plain)
    parts = [(name, amount, _share(amount, total=total)) for name, amount in amounts]
    yield render_bar(parts, top=total, colors=colors, named=True)
    yield render_legend((colors[name], name, text) for name, _, text in parts)


def _share(amount: float, *, total: float) -> str:
    return f"{show_seconds(amount)} ({100 * amount / total:.0f} %)" if total else show_seconds(amount)


def render_jobs(report: Report) -> Iterator[str]:
    """Yield the sections on jobs: those that ran, longest first, and all others by what became of them."""
    ran = sorted((job for job in report.jobs if job.lane is not None), key=lambda job: -(job.seconds or 0.0))
    if ran:
        yield text_element("h2", "Longest jobs")
        yield _table(ran[:LONGEST], top=ran[0].seconds or 0.0)
        if len(ran) > LONGEST:
            rest = show_count(len(ran) - LONGEST, noun="more job")
            yield element("details", text_element("summary", rest), _table(ran[LONGEST:], top=ran[0].seconds or 0.0))
    yield from _reasons(ran)
    for how, title in (("fetched", "from the cache"), ("unchanged", "unchanged"), ("not-reached", "not reached")):
        jobs = [job for job in report.jobs if job.how == how]
        if jobs:
            items = (text_element("li", job.title) for job in jobs)
            summary = text_element("summary", f"{show_count(len(jobs), noun='job')} {title}")
            yield element("details", summary, element("ul", *items))


def _reasons(ran: Sequence[JobRow]) -> Iterator[str]:
    counts = Counter(job.reason for job in ran if job.reason)
    if not counts:
        return
    yield text_element("h2", "Why they ran")
    rows = [(escape(reason), str(count)) for reason, count in counts.most_common(LONGEST)]
    yield table([("reason", "name"), ("jobs", "num")], rows=rows)


def _table(jobs: Sequence[JobRow], *, top: float) -> str:
    head = [("job", "name"), ("", "wide"), ("time", "num"), ("processor", "num"), ("threads", "num"), ("memory", "num")]
    return table(head, rows=(list(_row(job, top=top)) for job in jobs))


def _row(job: JobRow, *, top: float) -> Iterator[str]:
    users = text_element("div", f"{job.kind} for {', '.join(job.used_by)}", class_="soft small")
    state = text_element("span", " failed", class_="bad") if job.how == "failed" else ""
    yield text_element("span", job.title) + state + users
    seconds = job.seconds or 0.0
    yield render_bar([("time", seconds, show_seconds(seconds))], top=top, colors={"time": "c0"}, named=False)
    yield show_seconds(seconds)
    yield "" if job.cpu is None else show_seconds(job.cpu)
    yield str(job.threads)
    yield "" if job.memory is None else show_bytes(job.memory)
