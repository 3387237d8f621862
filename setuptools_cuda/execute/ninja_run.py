"""Ninja itself: what it and the jobs are told, and what it says."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

import ninja

from setuptools_cuda.errors import BuildError, Code, Problem
from setuptools_cuda.execute.bounds import Bounds
from setuptools_cuda.execute.failure import describe_failure, describe_stop, read_failure
from setuptools_cuda.execute.fields import render_fields
from setuptools_cuda.execute.history import estimate_seconds, plan_order
from setuptools_cuda.execute.launchers import launcher_variables
from setuptools_cuda.execute.ledger import SHARING, render_ledger
from setuptools_cuda.execute.ninja_file import ALL, render_ninja
from setuptools_cuda.execute.priorities import plan_chain
from setuptools_cuda.execute.record import Listed
from setuptools_cuda.execute.scratch import write_beside
from setuptools_cuda.execute.session import Session
from setuptools_cuda.execute.spec import job_name, render_spec
from setuptools_cuda.execute.writing import write_if_changed
from setuptools_cuda.plan.places import quoted
from setuptools_cuda.plan.values import Job
from setuptools_cuda.process import run_streaming
from setuptools_cuda.resolution.headroom import find_groups

_COMPILES = frozenset({"cuda", "device", "host", "cython"})


def prepare(jobs: Sequence[Job], *, session: Session, bounds: Bounds, known: Mapping[str, Listed], lock: int) -> None:
    """Write what ninja and the runners of ``jobs`` read.

    ``known`` are the needs of jobs that may turn out to be as they were, by name. Raises OSError,
    BuildError.
    """
    folder = session.folder.path
    needs = {job_name(job): _pool(job, session=session, bounds=bounds) for job in jobs if job.kind in _COMPILES}
    seconds = estimate_seconds(jobs, history=session.history, size_of=lambda job: _size(job, session=session))
    chain = plan_chain(jobs, order=plan_order(jobs, seconds=seconds))
    for link in chain:
        (folder / link.file).touch()
    for job in jobs:
        _write_spec(folder / "jobs" / f"{job_name(job)}.spec", job)
    fields = _run_fields(jobs, session=session, bounds=bounds, known=known, lock=lock)
    write_beside(f"{folder}/run.fields", render_fields(fields))
    write_beside(f"{folder}/ledger", render_ledger(left=sum(job.kind in SHARING for job in jobs)))
    text = render_ninja(
        jobs, folder=session.folder, python=(sys.executable,), memory=bounds.memory, needs=needs, chain=chain
    )
    write_if_changed(folder / "build.ninja", text)


def _pool(job: Job, *, session: Session, bounds: Bounds) -> int:
    """Return the bytes by which ninja is to hold back a job; what it does not hold back waits for itself."""
    learned = session.history.find_need(job)
    return job.memory or (learned if learned and bounds.memory // learned < bounds.parallel else 0)


def _size(job: Job, *, session: Session) -> int:
    try:
        return Path(session.path(session.name(job.inputs[0]))).stat().st_size if job.inputs else 0
    except OSError:
        return 0


def _write_spec(path: Path, job: Job) -> None:
    try:
        data = render_spec(job)
    except ValueError as error:
        problem = Problem(Code.BAD_VALUE, f"{job.title}: its command holds a control character", fix=("remove it",))
        raise BuildError(problem) from error
    if not path.is_file() or path.read_bytes() != data:
        write_beside(str(path), data)


def _run_fields(
    jobs: Sequence[Job], *, session: Session, bounds: Bounds, known: Mapping[str, Listed], lock: int
) -> dict[str, Iterable[str]]:
    """Return what jobs are told at each run, and what is no reason to run them again."""
    fields: dict[str, Iterable[str]] = {
        "root": [str(session.folder.root)],
        "places": [text for pair in _places(session) for text in pair],
        "bounds": [str(bounds.parallel), str(bounds.memory), str(bounds.threads), str(bounds.last_threads)],
        "reserve": [str(bounds.reserve)],
        "groups": [file for group in find_groups() for file in group],
        "lock": [str(lock)],
        "timed": ["yes"] if session.journal.timed else [],
    }
    for job in jobs:
        name = job_name(job)
        fields[f"key {name}"] = [session.fingerprint(job).key]
        if job.memory or session.history.find_need(job):
            together = job.memory
            fields[f"need {name}"] = [str(0 if together else session.history.find_need(job)), str(together)]
        if name in known:
            fields[f"known {name}"] = [text for pair in known[name] for text in pair]
    return fields


def _places(session: Session) -> Iterable[tuple[str, str]]:
    for placeholder, folder in session.names.folders.items():
        yield placeholder, folder
        yield quoted(placeholder), _quote(folder)


def _quote(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def run_ninja(
    session: Session, *, bounds: Bounds, lock: int, echo: Callable[[str], None], after_line: Callable[[], None]
) -> None:
    """Run what was prepared. Raises BuildError with the first failure."""
    folder = session.folder
    program = Path(ninja.BIN_DIR) / ("ninja.exe" if os.name == "nt" else "ninja")
    argv = [str(program), "-f", folder.relative("build.ninja"), "-j", str(bounds.parallel), ALL]
    output = _Output(echo, after_line)
    # The host compiler is in each command; told twice in other words, nvcc would warn of it.
    inherited = {name: value for name, value in session.variables.items() if name != "NVCC_CCBIN"}
    inherited |= launcher_variables(session.plan.jobs, variables=session.variables)
    variables = {**inherited, "NINJA_STATUS": "[%f/%t] ", "PWD": str(folder.root)}
    status = run_streaming(argv, variables=variables, cwd=folder.root, on_line=output.line, inherits=(lock,))
    if status != 0:
        raise _failure(folder.path, output=output, status=status)


class _Output:
    """What ninja prints: progress and warnings are passed on, the noise around a failure is kept back."""

    def __init__(self, echo: Callable[[str], None], after_line: Callable[[], None]) -> None:
        self._echo = echo
        self._after_line = after_line
        self._failing = False
        self.kept: list[str] = []

    def line(self, text: str) -> None:
        """Take one line."""
        if text.startswith("FAILED: "):
            self._failing = True
        elif text.startswith("["):
            self._failing = False
        if self._failing or text.startswith("ninja: "):
            self.kept.append(text)
        else:
            self._echo(text)
        # One such line for each job that has ended; compilers may print millions of others.
        if text.startswith("["):
            self._after_line()


def _failure(folder: Path, *, output: _Output, status: int) -> BuildError:
    records = [read_failure(path) for path in (folder / "failures").iterdir() if path.suffix != ".new"]
    if records:
        return BuildError(describe_failure(min(records, key=lambda record: int(record["time"]))))
    return BuildError(describe_stop("\n".join(output.kept) or f"ninja ended with status {status}"))
