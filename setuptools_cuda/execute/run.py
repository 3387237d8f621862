"""A BuildPlan to files: decides what has to run, asks the cache, and lets ninja run the rest."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from setuptools_cuda.environment import Environment
from setuptools_cuda.errors import BuildError
from setuptools_cuda.execute.bounds import Bounds
from setuptools_cuda.execute.check import FRESH, Verdict, check_job, in_order
from setuptools_cuda.execute.compile_commands import write_compile_commands
from setuptools_cuda.execute.failure import read_failure
from setuptools_cuda.execute.folder import BuildFolder, telling
from setuptools_cuda.execute.journal import Journal
from setuptools_cuda.execute.ninja_run import prepare, run_ninja
from setuptools_cuda.execute.results import find_result, take_result
from setuptools_cuda.execute.scratch import remove_tree
from setuptools_cuda.execute.session import Session
from setuptools_cuda.execute.shared import SharedArtifacts
from setuptools_cuda.execute.spec import job_name
from setuptools_cuda.plan.values import BuildPlan, Job


@dataclass(frozen=True)
class Ran:
    """What a run came to."""

    failed: Mapping[str, BuildError]
    """Failures of optional targets, by name."""
    made: tuple[str, ...] = ()
    """Titles of the jobs that ran."""
    fetched: tuple[str, ...] = ()
    """Titles of those whose outputs came out of the cache."""


def run_plan(
    plan: BuildPlan,
    *,
    folder: BuildFolder,
    environment: Environment,
    optional: Mapping[str, Sequence[str]],
    bounds: Bounds,
    journal: Journal,
    cache: Path | None = None,
    sites: Sequence[str] = (),
) -> Ran:
    """Build everything in ``plan``.

    ``optional`` maps a target to its files; failures of all others raise BuildError. ``cache`` is
    the folder of the artifact cache, ``sites`` are those in which packages are installed, and
    ``journal`` gets what happens, also where that ends in an error.
    """
    apart = {file for files in optional.values() for file in files}
    needed = [job for job in plan.jobs if not _only_for(job.used_by, optional)]
    needed = [job for job in needed if not any(output.file in apart for output in job.outputs)]
    folder.write()
    with folder.locked() as lock, telling(folder.path):
        session = Session(plan, folder=folder, variables=environment.variables, sites=sites, journal=journal)
        write_compile_commands(plan, folder=folder, names=session.names)
        shared = SharedArtifacts(cache, session=session, echo=journal.echo)
        run = _Run(session, shared, bounds, lock.fileno())
        run.tidy()
        try:
            run.make(needed)
            failed = run.make_optional(optional)
        finally:
            run.close()
        return Ran(failed, tuple(run.made), tuple(run.fetched))


def describe_run(ran: Ran, *, jobs: int) -> str:
    """Return one line that says what had to be made and what had not."""
    unchanged = jobs - len(ran.made) - len(ran.fetched)
    parts = [(len(ran.made), "made"), (len(ran.fetched), "from the cache"), (unchanged, "unchanged")]
    shown = ", ".join(f"{count} {how}" for count, how in parts if count)
    steps = "1 step" if jobs == 1 else f"{jobs} steps"
    return f"{steps}: {shown}" if jobs else "nothing to make"


def _only_for(used_by: Sequence[str], optional: Mapping[str, Sequence[str]]) -> bool:
    return bool(used_by) and set(used_by) <= optional.keys()


@dataclass
class _Run:
    """A run under way."""

    session: Session
    shared: SharedArtifacts
    bounds: Bounds
    lock: int
    made: list[str] = field(default_factory=list)
    fetched: list[str] = field(default_factory=list)
    _verdicts: dict[str, Verdict] = field(default_factory=dict)
    _reasons: dict[str, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Know the jobs by name."""
        self._jobs = {job_name(job): job for job in self.session.plan.jobs}

    def tidy(self) -> None:
        """Take what a build that was killed has left: results count, the rest is removed."""
        self._drain()
        self.made.clear()
        self._verdicts.clear()
        folder = self.session.folder.path
        for name in ("scratch", "failures", "results"):
            for left in (folder / name).iterdir():
                remove_tree(str(left))

    def make(self, jobs: Sequence[Job]) -> None:
        """Make what jobs make, and what they need. Raises BuildError."""
        with self.session.journal.phase("check and cache"):
            todo = [job for job in in_order(jobs, session=self.session) if self._judge(job).state != "fresh"]
        if not todo:
            return
        known = {
            job_name(job): verdict.record.needs
            for job in todo
            if (verdict := self._verdicts[job_name(job)]).state == "waits" and verdict.record
        }
        with self.session.journal.phase("compile and link"):
            prepare(todo, session=self.session, bounds=self.bounds, known=known, lock=self.lock)
            try:
                run_ninja(
                    self.session,
                    bounds=self.bounds,
                    lock=self.lock,
                    echo=self.session.journal.echo,
                    after_line=self._drain,
                )
            finally:
                self._drain()

    def make_optional(self, optional: Mapping[str, Sequence[str]]) -> dict[str, BuildError]:
        """Make the files of each optional target; return the failures."""
        failed: dict[str, BuildError] = {}
        for target, files in optional.items():
            try:
                self.make([self.session.makers[file] for file in files])
            except BuildError as error:
                failed[target] = error
        return failed

    def _judge(self, job: Job) -> Verdict:
        """Return whether a job has to run, after the cache was asked."""
        name = job_name(job)
        known = self._verdicts.get(name)
        if known is not None and known.state == "fresh":
            return known
        verdict = check_job(job, session=self.session, verdicts=self._verdicts)
        started = time.monotonic_ns()
        if verdict.state == "stale" and self._are_fresh(job.needs) and self.shared.fetch(job):
            self.fetched.append(job.title)
            times = {"started": started, "ended": time.monotonic_ns()}
            self.session.journal.note(job, how="fetched", reason=verdict.reason, **times)
            verdict = FRESH
        self._verdicts[name] = verdict
        self._reasons[name] = verdict.reason
        return verdict

    def _are_fresh(self, needs: Sequence[str]) -> bool:
        makers = self.session.makers
        return all(self._verdicts[job_name(makers[need])].state == "fresh" for need in needs if need in makers)

    def _drain(self) -> None:
        """Take the results of the jobs that have ended since."""
        folder = self.session.folder.path / "results"
        found = [(path, find_result(path)) for path in folder.iterdir() if path.name in self._jobs]
        for path, result in sorted(found, key=lambda pair: pair[1].ended if pair[1] else 0):
            job = self._jobs[path.name]
            if result is not None and not result.kept:
                record = take_result(job, result, session=self.session)
                self.shared.store(job, record, said=result.said)
                self.made.append(job.title)
                numbers = {"seconds": result.seconds, "cpu": result.cpu, "memory": result.memory}
                times = {"started": result.started, "ended": result.ended, "threads": result.threads}
                self.session.journal.steps[path.name] = result.steps
                reason = self._reasons.get(path.name, "")
                self.session.journal.note(job, how="made", reason=reason, **numbers, **times)
            if result is not None:
                self._verdicts[path.name] = FRESH
            path.unlink()

    def _note_failures(self) -> None:
        """Write down the jobs that failed, before the next build takes what they left away."""
        for path in (self.session.folder.path / "failures").iterdir():
            job = self._jobs.get(path.name)
            if job is not None:
                failure = read_failure(path)
                times = {"started": int(failure["started"]), "ended": int(failure["time"])}
                self.session.journal.note(job, how="failed", reason=self._reasons.get(path.name, ""), **times)

    def close(self) -> None:
        """Keep what the next build will want to know."""
        session = self.session
        session.digests.save()
        if self.made:
            session.history.save()
        self._note_failures()
        noted = {row["name"] for row in session.journal.rows}
        for job in session.plan.jobs:
            if job_name(job) in noted:
                self._write_parts(job)
        fresh = {name for name, verdict in self._verdicts.items() if verdict.state == "fresh"}
        session.journal.unchanged = fresh - noted
        session.journal.save(session.folder.path, parallel=self.bounds.parallel)
        self.shared.close()

    def _write_parts(self, job: Job) -> None:
        """Keep the parts of a key, to be compared with those of another build."""
        path = self.session.record_path(job).with_suffix(".key")
        path.write_text(self.session.fingerprint(job).render(), "utf-8")
