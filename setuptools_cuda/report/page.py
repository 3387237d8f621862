"""A report as one HTML page: no script, nothing from anywhere else. Pure, but for its style sheet."""

from __future__ import annotations

import importlib.resources
from collections.abc import Iterator

from setuptools_cuda.report.charts import render_legend
from setuptools_cuda.report.files_view import render_files
from setuptools_cuda.report.jobs_view import render_jobs, render_programs
from setuptools_cuda.report.markup import element, escape, show_bytes, show_count, show_seconds, table, text_element
from setuptools_cuda.report.timeline import NAMES, list_groups, render_timeline
from setuptools_cuda.report.values import Report

_POLICY = "default-src 'none'; style-src 'unsafe-inline'"
"""A browser that holds to it loads nothing and runs nothing, whatever a file name may say."""


def render_page(report: Report) -> str:
    """Return the whole page."""
    state = "failed" if report.failed else "built"
    style = importlib.resources.files(__package__ or "").joinpath("page.css").read_text("utf-8")
    head = (
        '<meta charset="utf-8">',
        f'<meta http-equiv="Content-Security-Policy" content="{escape(_POLICY)}">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        text_element("title", f"{report.project} {state}: build report"),
        f"<style>\n{style}</style>",
    )
    body = element("main", *_sections(report, state=state))
    return f'<!DOCTYPE html>\n<html lang="en"><head>{"".join(head)}</head>\n<body>{body}</body></html>\n'


def _sections(report: Report, *, state: str) -> Iterator[str]:
    badge = text_element("span", state, class_=f"state {state}")
    yield element("h1", escape(f"Build of {report.project} "), badge)
    yield text_element("p", report.summary) if report.summary else ""
    when = f"{report.at.replace('T', ' ').replace('+00:00', ' UTC')}, in {report.root}, by {report.made_by}"
    yield text_element("p", when, class_="soft small")
    yield from _problems(report)
    yield element("div", *_tiles(report), class_="tiles")
    yield from _timeline(report)
    yield from render_programs(report)
    yield from render_files(report)
    yield from render_jobs(report)
    yield from _facts(report)
    yield from _remarks(report)


def _problems(report: Report) -> Iterator[str]:
    for problem in report.problems:
        head = text_element("b", f"{problem.where}: {problem.what}" if problem.where else problem.what, class_="bad")
        details = (
            element("div", text_element("span", label, class_="soft small"), text_element("pre", text))
            for label, text in problem.details
        )
        fixes = "".join(text_element("li", fix) for fix in problem.fix)
        advice = element("div", text_element("span", "to fix", class_="soft small"), element("ul", fixes))
        yield element("div", head, *details, advice if fixes else "", class_="problem")


def _tiles(report: Report) -> Iterator[str]:
    compiling = next((phase.seconds for phase in report.phases if phase.name == "compile and link"), 0.0)
    cpu = sum(job.cpu or 0.0 for job in report.jobs)
    shipped = [file for file in report.files if file.kind != "object"]
    done = f"{report.count('fetched')} from the cache, {report.count('unchanged')} unchanged"
    yield _tile(show_seconds(report.seconds), "from start to end")
    yield _tile(str(report.count("made")), f"of {show_count(len(report.jobs), noun='job')} made; {done}")
    yield _tile(show_seconds(cpu), "of processor time in compilers")
    if compiling and cpu:
        yield _tile(f"{cpu / compiling:.1f}", f"cores busy while compiling, of {report.cores}")
    if shipped:
        size = show_bytes(sum(file.size for file in shipped))
        yield _tile(size, f"in {show_count(len(shipped), noun='built file')}")


def _tile(value: str, label: str) -> str:
    return element("div", text_element("b", value), text_element("span", label), class_="tile")


def _timeline(report: Report) -> Iterator[str]:
    drawing = render_timeline(report)
    if not drawing:
        return
    yield text_element("h2", "Time line")
    groups = list_groups(report)
    entries = [(group, NAMES[group], "") for group in groups]
    if set(groups) - {"fetched"}:
        entries += [("busy", "threads of compilers", ""), ("limit", f"at most {report.parallel} at once", "")]
    yield element("div", drawing, class_="panel")
    yield render_legend(entries)
    yield text_element(
        "p", "A lane is a place for one job at a time. Point at a bar for its title and numbers.", class_="soft small"
    )


def _facts(report: Report) -> Iterator[str]:
    yield text_element("h2", "Made with")
    rows = [(escape(one.label), text_element("code", one.value), escape(one.origin)) for one in report.facts]
    rows.append(("machine", text_element("code", show_count(report.cores, noun="core")), ""))
    yield table([("what", "key-column"), ("value", "name"), ("where that came from", "")], rows=rows)
    phases = [(escape(one.name), escape(show_seconds(one.seconds))) for one in report.phases]
    if phases:
        yield text_element("h2", "Phases")
        yield table([("phase", "name"), ("time", "num")], rows=phases)


def _remarks(report: Report) -> Iterator[str]:
    for title, texts in (("Warnings", report.warnings), ("Notes", report.notes)):
        if texts:
            yield text_element("h2", title)
            yield element("ul", *(text_element("li", text) for text in texts))
