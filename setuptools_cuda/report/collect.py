"""A build that has ended, well or not, as a report. Reads the sizes of what was built."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from pathlib import Path
from typing import Any

from setuptools_cuda.config.model import Settings
from setuptools_cuda.errors import Problem
from setuptools_cuda.execute.journal import Journal
from setuptools_cuda.execute.spec import job_name
from setuptools_cuda.plan.values import Artifact, BuildPlan, Job
from setuptools_cuda.report.fatbins import measure_code
from setuptools_cuda.report.lanes import assign_lanes
from setuptools_cuda.report.values import CodeSize, Fact, FileRow, How, JobRow, Report, Span, StepTime
from setuptools_cuda.resolution.architecture_codes import describe_codes
from setuptools_cuda.resolution.device_tools import DeviceTools
from setuptools_cuda.resolution.values import Architectures, Code, Toolchain

_NANO = 1e9


@dataclass(frozen=True, kw_only=True)
class Ending:
    """What is known of a build when it has ended, from the last of these that it came to."""

    root: Path
    settings: Settings
    journal: Journal
    began: int
    """Nanoseconds of the clock that only goes forward; ``ended`` too."""
    ended: int
    at: float
    """When it began, as seconds since 1970."""
    made_by: str
    cores: int
    plan: BuildPlan = field(default_factory=BuildPlan)
    folder: Path | None = None
    """The build folder, once there is one."""
    toolchain: Toolchain | None = None
    device: DeviceTools | None = None
    architectures: Architectures | None = None
    problems: tuple[Problem, ...] = ()


def make_report(ending: Ending) -> Report:
    """Return the report of a build. Raises OSError for a file that was built and cannot be read."""
    plan = ending.plan
    jobs = tuple(_jobs(ending))
    phases = (
        Span(name=one.name, started=_since(one.started, ending), ended=_since(one.ended, ending))
        for one in ending.journal.phases
    )
    return Report(
        project=_name(ending),
        root=str(ending.root),
        at=datetime.fromtimestamp(ending.at, tz=timezone.utc).isoformat(timespec="seconds"),
        made_by=ending.made_by,
        seconds=(ending.ended - ending.began) / _NANO,
        cores=ending.cores,
        parallel=plan.parallel,
        summary=plan.summary,
        facts=tuple(_facts(ending)),
        phases=tuple(phases),
        jobs=jobs,
        files=tuple(_files(ending, done={job.name for job in jobs if job.how in {"made", "fetched", "unchanged"}})),
        notes=plan.notes,
        warnings=plan.warnings or ending.settings.warnings,
        problems=ending.problems,
    )


def _name(ending: Ending) -> str:
    return ending.root.name or str(ending.root)


def _since(moment: int, ending: Ending) -> float:
    return (moment - ending.began) / _NANO


def _facts(ending: Ending) -> Iterator[Fact]:
    settings, toolchain, found = ending.settings, ending.toolchain, ending.architectures
    if toolchain:
        yield Fact(label="toolkit", value=f"CUDA {toolchain.version}", origin=toolchain.found_via.text)
        yield Fact(label="nvcc", value=str(toolchain.nvcc), origin=f"step {toolchain.step}")
        host = toolchain.host_compiler
        yield Fact(label="host compiler", value=f"{host} ({host.path})", origin=host.found_via.text)
    elif ending.device:
        yield Fact(label="toolkit", value=f"CUDA {ending.device.version}", origin=ending.device.found_via.text)
    if found:
        yield Fact(label="architectures", value=describe_codes(found.codes), origin=found.found_via.text)
    for name in ("profile", "launcher", "compress", "cache", "jobs"):
        value = getattr(settings.project, name)
        if value is not None:
            yield Fact(label=name, value=str(value), origin=settings.origin(name).text)
    if ending.folder:
        yield Fact(label="build folder", value=str(ending.folder))


def _jobs(ending: Ending) -> Iterator[JobRow]:
    rows: dict[str, dict[str, Any]] = {str(row["name"]): row for row in ending.journal.rows}
    ran = {name: row for name, row in rows.items() if row["how"] != "fetched"}
    lanes = assign_lanes({name: (row["started"], row["ended"]) for name, row in ran.items()})
    for job in ending.plan.jobs:
        name = job_name(job)
        row = _job(job, row=rows.get(name), ending=ending)
        yield replace(row, lane=lanes.get(name))


def _job(job: Job, *, row: Mapping[str, Any] | None, ending: Ending) -> JobRow:
    name = job_name(job)
    nothing: How = "unchanged" if name in ending.journal.unchanged else "not-reached"
    known = JobRow(
        name=name,
        title=job.title,
        kind=job.kind,
        source=job.inputs[0] if job.inputs else "",
        used_by=job.used_by,
        how=nothing,
    )
    if row is None:
        return known
    steps = tuple(
        StepTime(program=step.program, architecture=step.architecture, seconds=step.seconds)
        for step in ending.journal.steps.get(name, ())
    )
    known = replace(known, how=row["how"], reason=row["reason"], steps=steps)
    known = replace(known, cpu=row.get("cpu"), memory=row.get("memory"), threads=int(row.get("threads", 1)))
    return replace(known, started=_since(row["started"], ending), ended=_since(row["ended"], ending))


def _files(ending: Ending, *, done: set[str]) -> Iterator[FileRow]:
    """Yield the files that go into the wheel, then objects and archives between, of jobs that are done."""
    plan, folder = ending.plan, ending.folder
    if folder is None:
        return
    makers = {output.file: job for job in plan.jobs for output in job.outputs}
    codes = {code for job in plan.jobs for code in job.codes}
    shipped = [one for one in plan.artifacts if one.file and job_name(makers[one.file]) in done]
    for artifact in shipped:
        data = (folder / artifact.file).read_bytes()
        code = _image_code(artifact, size=len(data)) or measure_code(data, codes=codes)
        row = FileRow(path=artifact.destination, kind=artifact.kind, target=artifact.target, size=len(data), code=code)
        yield row
    yield from _objects(plan.jobs, folder=folder, done=done, codes=codes)


def _objects(jobs: Sequence[Job], *, folder: Path, done: set[str], codes: set[Code]) -> Iterator[FileRow]:
    for job in jobs:
        for output in job.outputs:
            if output.role == "object" and job.kind == "cuda" and job_name(job) in done:
                data = (folder / output.file).read_bytes()
                code = measure_code(data, codes=codes)
                target = ", ".join(job.used_by)
                yield FileRow(path=job.inputs[0], kind="object", target=target, size=len(data), code=code)


def _image_code(artifact: Artifact, *, size: int) -> tuple[CodeSize, ...] | None:
    architecture = artifact.architecture
    if artifact.kind != "image" or architecture is None or artifact.format not in {"ptx", "cubin", "ltoir"}:
        return None
    names = {"ptx": architecture.virtual, "cubin": architecture.real, "ltoir": f"lto_{architecture}"}
    return (CodeSize(code=names[artifact.format], size=size),)
