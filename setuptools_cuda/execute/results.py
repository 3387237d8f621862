"""What jobs leave when they have run: made into records, and into entries of the cache."""

from __future__ import annotations

import contextlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from setuptools_cuda.environment import Environment
from setuptools_cuda.execute.absent import list_absent
from setuptools_cuda.execute.check import read_by_command
from setuptools_cuda.execute.digests import FileId, read_id
from setuptools_cuda.execute.fields import Fields, read_fields
from setuptools_cuda.execute.folder import BuildFolder
from setuptools_cuda.execute.journal import Journal, Step, parse_steps
from setuptools_cuda.execute.record import Record, find_record, write_record
from setuptools_cuda.execute.session import Session
from setuptools_cuda.plan.values import BuildPlan, Job


@dataclass(frozen=True, kw_only=True)
class Result:
    """What a job says of its own run. Times are of the clock that only goes forward, in nanoseconds."""

    key: str
    started: int
    ended: int
    mark: int
    """The file system's time when it started to read."""
    kept: bool
    """Whether it did not run, since nothing that it is made of had changed."""
    said: str = ""
    seconds: float = 0.0
    cpu: float = 0.0
    memory: int = 0
    threads: int = 1
    attempts: int = 1
    read: tuple[tuple[str, FileId], ...] = ()
    steps: tuple[Step, ...] = ()


def find_result(path: Path) -> Result | None:
    """Return what a job left in ``path``, None where that cannot be read."""
    with contextlib.suppress(OSError, ValueError, KeyError, IndexError):
        return _parse(read_fields(str(path)))
    return None


def _parse(fields: Fields) -> Result:
    started, ended, mark = (int(number) for number in fields["times"])
    (key,) = fields["key"]
    if "kept" in fields:
        return Result(key=key, started=started, ended=ended, mark=mark, kept=True)
    seconds, cpu, memory, threads, attempts = fields["took"]
    return Result(
        key=key,
        started=started,
        ended=ended,
        mark=mark,
        kept=False,
        said=fields["output"][0],
        seconds=float(seconds),
        cpu=float(cpu),
        memory=int(memory),
        threads=int(threads),
        attempts=int(attempts),
        read=tuple(_read_files(fields["read"])),
        steps=parse_steps(fields["steps"]),
    )


def _read_files(texts: list[str]) -> Iterator[tuple[str, FileId]]:
    rows = zip(texts[::5], texts[1::5], texts[2::5], texts[3::5], texts[4::5], strict=True)
    for path, size, modified, changed, inode in rows:
        yield path, (int(size), int(modified), int(changed), int(inode))


def take_result(job: Job, result: Result, *, session: Session) -> Record:
    """Keep the record of a job that has run, and return it. Raises OSError."""
    outputs = [session.built(output.file) for output in job.outputs]
    session.digests.forget(outputs)
    inputs, sure = _confirm(job, result, session=session)
    absent: tuple[str, ...] = ()
    if job.kind in {"cuda", "device", "host"} and job.inputs:
        source = session.name(job.inputs[0])
        absent = list_absent(job.argv, inputs=inputs, source=source, names=session.names, includes=session.includes)
    record = Record(
        key=result.key,
        inputs=tuple(inputs.items()),
        needs=tuple((need, session.digests.find(session.built(need))) for need in dict.fromkeys(job.needs)),
        outputs=tuple((output.file, session.digests.find(session.built(output.file))) for output in job.outputs),
        absent=absent,
        sure=sure,
    )
    write_record(session.record_path(job), record)
    session.history.note(job, seconds=result.seconds, memory=result.memory)
    return record


def list_inputs(
    plan: BuildPlan, *, folder: BuildFolder, environment: Environment, sites: Sequence[str]
) -> tuple[Path, ...]:
    """Return all files that the last runs of the plan's jobs have read, absolute, sorted."""
    silent = Journal(lambda _line: None)
    session = Session(plan, folder=folder, variables=environment.variables, sites=sites, journal=silent)
    records = (find_record(session.record_path(job)) for job in plan.jobs)
    names = {name for record in records if record for name, _ in record.inputs if not name.startswith("{build}")}
    return tuple(sorted(Path(session.path(name)) for name in names))


def _confirm(job: Job, result: Result, *, session: Session) -> tuple[dict[str, str], bool]:
    """Return all that was read, with digests, and whether it is sure that just that was read."""
    digests: dict[str, str] = {}
    for path, file_id in _every_file(job, result, session=session):
        name = session.name(path)
        digests[name] = session.digests.confirm(
            session.path(name), id=file_id, started=result.started, mark=result.mark
        )
    return digests, all(digests.values())


def _every_file(job: Job, result: Result, *, session: Session) -> Iterable[tuple[str, FileId]]:
    made = {f"{session.names.build}/{need}" for need in job.needs}
    read = dict(row for row in result.read if row[0] not in made)
    yield from read.items()
    listed = {session.name(path) for path in read}
    for name in read_by_command(job, session=session):
        # One that is gone by now was there: the command could not have run without it.
        if name not in listed:
            yield session.path(name), read_id(session.path(name)) or (0, 0, 0, 0)
