"""A plan as a screen and as JSON. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Iterator
from dataclasses import dataclass

from setuptools_cuda import pipeline
from setuptools_cuda.cli.screen import Row, Screen, Section, list_rows, row
from setuptools_cuda.errors import BuildError, describe_problems
from setuptools_cuda.plan.values import Artifact, BuildPlan, Job

SCHEMA = 1
"""Raised when a program that reads the JSON has to change; new keys alone do not raise it."""

# What a front-end adds, and no plan made here can know.
_HOST_COMMANDS = "extensions are planned with host commands of our own; a build takes setuptools'"
_SETUP_PY = "targets that setup.py declares are not seen here"
_CMAKE = "CMake builds this project, and what it compiles is not planned here; cmake-args shows what it is told"


@dataclass(frozen=True)
class PlanView:
    """A plan, and what an isolated build would ask for from pip."""

    planned: pipeline.Planned
    requirements: tuple[str, ...]
    has_cmake: bool = False
    has_setup_py: bool = False

    @property
    def notes(self) -> tuple[str, ...]:
        """Return the plan's notes, and what it could not know."""
        if self.has_cmake:
            return (*self.planned.plan.notes, _CMAKE)
        return (
            *self.planned.plan.notes,
            *((_HOST_COMMANDS,) if self.planned.settings.extensions else ()),
            *((_SETUP_PY,) if self.has_setup_py else ()),
        )

    @property
    def summary(self) -> str:
        """Return what is built, in a line."""
        return "CMake compiles" if self._is_of_cmake_alone else self.planned.plan.summary

    @property
    def warnings(self) -> tuple[str, ...]:
        """Return the plan's warnings, without the one that nothing is built, where CMake does it."""
        return self.planned.settings.warnings if self._is_of_cmake_alone else self.planned.plan.warnings

    @property
    def _is_of_cmake_alone(self) -> bool:
        return self.has_cmake and not self.planned.settings.targets


def lay_out(view: PlanView, *, commands: bool) -> Screen:
    """Return what a person sees of the plan."""
    plan = view.planned.plan
    asked = ", ".join(view.requirements) or "nothing"
    where = "by an isolated build, with setuptools_cuda.build_meta or scikit-build-core"
    return (
        Section("plan", (row("folder", str(view.planned.request.root)), row("summary", view.summary))),
        Section("from pip", (row(f"{asked} ({where})"),)),
        Section("jobs", tuple(_jobs(plan, commands=commands)) or (row("none"),)),
        Section("files", tuple(_files(plan)) or (row("none"),)),
        Section("needed to load", list_rows(plan.requirements)),
        Section("notes", list_rows(view.notes)),
        Section("warnings", list_rows(view.warnings)),
    )


def _jobs(plan: BuildPlan, *, commands: bool) -> Iterator[Row]:
    for job in plan.jobs:
        yield row(job.kind, job.title, f"for {', '.join(job.used_by)}")
        if commands:
            yield row(f"    {shlex.join(job.argv)}", tone="faint")


def _files(plan: BuildPlan) -> Iterator[Row]:
    for artifact in plan.artifacts:
        yield row(artifact.kind, artifact.destination)
    for module in plan.kernel_modules:
        yield row("module", module.destination)
    for destination in plan.texts:
        yield row("text", destination)


def describe(view: PlanView) -> dict[str, object]:
    """Return the plan as JSON's own types."""
    planned, plan = view.planned, view.planned.plan
    return {
        "schema": SCHEMA,
        "root": str(planned.request.root),
        "summary": view.summary,
        "requirements": list(view.requirements),
        "needed_to_load": list(plan.requirements),
        "toolchain_identity": plan.toolchain_identity,
        "jobs": [_job(each) for each in plan.jobs],
        "files": [
            *(_artifact(each) for each in plan.artifacts),
            *(_file("module", each.destination, target=each.module) for each in plan.kernel_modules),
            *(_file("text", path, target=each.name) for each in plan.shipped for path in (each.cmake, each.pkgconfig)),
        ],
        "notes": list(view.notes),
        "warnings": list(view.warnings),
        "problems": [],
    }


def describe_failure(error: BuildError) -> dict[str, object]:
    """Return why there is no plan, as JSON's own types."""
    return {"schema": SCHEMA, "problems": describe_problems(error.problems)}


def _job(job: Job) -> dict[str, object]:
    return {
        "key": job.key,
        "kind": job.kind,
        "title": job.title,
        "argv": list(job.argv),
        "inputs": list(job.inputs),
        "needs": list(job.needs),
        "outputs": [{"role": each.role, "file": each.file} for each in job.outputs],
        "used_by": list(job.used_by),
        "memory": job.memory,
        "priority": job.priority,
    }


def _artifact(artifact: Artifact) -> dict[str, object]:
    architecture = str(artifact.architecture) if artifact.architecture else None
    more = {"format": artifact.format or None, "architecture": architecture}
    return {**_file(artifact.kind, artifact.destination, target=artifact.target), **more}


def _file(kind: str, destination: str, *, target: str) -> dict[str, object]:
    return {"kind": kind, "destination": destination, "target": target}
