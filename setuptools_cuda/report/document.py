"""A report as JSON, by the schema ``report.schema.json``. Pure."""

from __future__ import annotations

import json

from setuptools_cuda.errors import describe_problems
from setuptools_cuda.report.values import FileRow, JobRow, Report, Span, StepTime

SCHEMA = 1
"""Raised when a program that reads the JSON has to change; new keys alone do not raise it."""


def render_json(report: Report) -> str:
    """Return ``report`` as JSON text with a newline at its end."""
    return json.dumps(describe(report), indent=1) + "\n"


def describe(report: Report) -> dict[str, object]:
    """Return ``report`` as JSON's own types."""
    return {
        "schema": SCHEMA,
        "made_by": report.made_by,
        "project": report.project,
        "root": report.root,
        "at": report.at,
        "result": "failed" if report.failed else "built",
        "seconds": _round(report.seconds),
        "cores": report.cores,
        "parallel": report.parallel,
        "summary": report.summary,
        "facts": [{"label": one.label, "value": one.value, "origin": one.origin or None} for one in report.facts],
        "phases": [_span(one) for one in report.phases],
        "counts": {
            "made": report.count("made"),
            "fetched": report.count("fetched"),
            "unchanged": report.count("unchanged"),
            "failed": report.count("failed"),
            "not_reached": report.count("not-reached"),
        },
        "jobs": [_job(one) for one in report.jobs],
        "files": [_file(one) for one in report.files],
        "notes": list(report.notes),
        "warnings": list(report.warnings),
        "problems": describe_problems(report.problems),
    }


def _span(span: Span) -> dict[str, object]:
    return {"name": span.name, "started": _round(span.started), "ended": _round(span.ended)}


def _job(job: JobRow) -> dict[str, object]:
    return {
        "name": job.name,
        "title": job.title,
        "kind": job.kind,
        "source": job.source or None,
        "used_by": list(job.used_by),
        "how": job.how,
        "reason": job.reason or None,
        "started": _round(job.started),
        "ended": _round(job.ended),
        "lane": job.lane,
        "cpu": _round(job.cpu),
        "memory": job.memory,
        "threads": job.threads,
        "steps": [_step(one) for one in job.steps],
    }


def _step(step: StepTime) -> dict[str, object]:
    return {"program": step.program, "architecture": step.architecture or None, "seconds": _round(step.seconds)}


def _file(file: FileRow) -> dict[str, object]:
    code = None if file.code is None else {one.code: one.size for one in file.code}
    return {"path": file.path, "kind": file.kind, "target": file.target, "size": file.size, "code": code}


def _round(seconds: float | None) -> float | None:
    return None if seconds is None else round(seconds, 4)
