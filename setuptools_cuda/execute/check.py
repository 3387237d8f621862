"""Which jobs have to run: decided by the content of everything that they read, and of what they made."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from setuptools_cuda.execute.inputs import list_libraries, list_named
from setuptools_cuda.execute.record import Record, find_record
from setuptools_cuda.execute.session import Session
from setuptools_cuda.execute.spec import job_name
from setuptools_cuda.plan.values import Job


@dataclass(frozen=True)
class Verdict:
    """Whether a job has to run, and why."""

    state: Literal["fresh", "stale", "waits"]
    """'waits': only if what other jobs are about to make differs from what it was."""
    reason: str = ""
    record: Record | None = None


FRESH = Verdict("fresh")


def check_job(job: Job, *, session: Session, verdicts: Mapping[str, Verdict]) -> Verdict:
    """Return whether ``job`` has to run. ``verdicts`` are those of the jobs that it needs, by name."""
    record = find_record(session.record_path(job))
    if record is None:
        return Verdict("stale", "it has not been made")
    reason = _find_change(job, record=record, session=session)
    if reason:
        # What is looked at before the job runs, and is the same after it, is what the job has read.
        for name, _ in record.inputs:
            session.digest_of(name)
        return Verdict("stale", reason)
    makers = [job_name(session.makers[need]) for need in job.needs if need in session.makers]
    if any(verdicts[maker].state != "fresh" for maker in makers):
        return Verdict("waits", "what it is made of is made again", record)
    return _check_needs(job, record=record, session=session)


def _find_change(job: Job, *, record: Record, session: Session) -> str:
    if record.key != session.fingerprint(job).key:
        return "the command, the compiler or a variable has changed"
    if not record.sure:
        return "a file was changed while it was read"
    if tuple(file for file, _ in record.outputs) != tuple(output.file for output in job.outputs):
        return "other outputs are wanted"
    for file, digest in record.outputs:
        if session.digests.find(session.built(file)) != digest:
            return f"{file} is not what was made"
    return _find_changed_input(job, record=record, session=session)


def _find_changed_input(job: Job, *, record: Record, session: Session) -> str:
    for name, digest in record.inputs:
        found = session.digest_of(name)
        if found != digest:
            return f"{name} has changed" if found else f"{name} is gone"
    for name in record.absent:
        if session.exists(name):
            return f"{name} is new, and comes before what was read"
    listed = {name for name, _ in record.inputs}
    return next((f"{name} is read now" for name in read_by_command(job, session=session) if name not in listed), "")


def _check_needs(job: Job, *, record: Record, session: Session) -> Verdict:
    if tuple(need for need, _ in record.needs) != tuple(dict.fromkeys(job.needs)):
        return Verdict("stale", "it is made of other files")
    for need, digest in record.needs:
        if session.digests.find(session.built(need)) != digest:
            return Verdict("stale", f"{need} has changed")
    return FRESH


def read_by_command(job: Job, *, session: Session) -> tuple[str, ...]:
    """Return the names of files that a job reads by its command line alone."""
    libraries = list_libraries(job.argv, names=session.names) if job.kind in {"link", "device-link"} else ()
    return tuple(dict.fromkeys((*list_named(job, names=session.names), *libraries)))


def in_order(jobs: Sequence[Job], *, session: Session) -> tuple[Job, ...]:
    """Return the jobs with those that they need, each after what it needs."""
    ordered: dict[str, Job] = {}

    def visit(job: Job) -> None:
        if job_name(job) not in ordered:
            for need in job.needs:
                if need in session.makers:
                    visit(session.makers[need])
            ordered[job_name(job)] = job

    for job in jobs:
        visit(job)
    return tuple(ordered.values())
