"""Plans without a toolchain: a project's files and table, and the facts of an imagined machine."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from setuptools_cuda.config import conditions
from setuptools_cuda.config.load import parse_settings
from setuptools_cuda.config.model import Origin
from setuptools_cuda.environment import Environment
from setuptools_cuda.plan.build import plan_build
from setuptools_cuda.plan.facts import Facts
from setuptools_cuda.plan.values import BuildPlan, HostCommands, Job, PythonFacts
from setuptools_cuda.resolution.architectures import resolve_architectures
from setuptools_cuda.resolution.values import Architecture, HostCompiler, Release, Toolchain

FOUND = Origin("found", "a test")
KNOWN = (
    *(Architecture(n) for n in (75, 80, 86, 89)),
    Architecture(90),
    Architecture(90, "a"),
    Architecture(100),
    Architecture(100, "a"),
    Architecture(100, "f"),
    Architecture(120),
)
HOST = HostCommands(("gcc", "-fPIC"), ("g++", "-fPIC"), ("gcc", "-shared"), ("g++", "-shared"))
PYTHON = PythonFacts(
    ("/usr/include/python3.11",), (3, 11), False, ".cpython-311-x86_64-linux-gnu.so", "/usr/bin/python3"
)


def make_toolchain(**changes: object) -> Toolchain:
    toolchain = Toolchain(
        nvcc=Path("/cuda/bin/nvcc"),
        launcher=(),
        release=Release(13, 0),
        version="13.0.88",
        root=Path("/cuda"),
        include_dirs=(Path("/cuda/include"),),
        library_dirs=(Path("/cuda/lib"),),
        found_via=FOUND,
        step="path",
        candidates=(),
        known=KNOWN,
        host_compiler=HostCompiler(Path("/usr/bin/g++"), (), "gcc", (12, 2, 0), FOUND),
        identity="identity",
    )
    return replace(toolchain, **changes)  # type: ignore[arg-type]


def write_files(root: Path, *names: str) -> None:
    for name in names:
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("", "utf-8")


def plan_table(root: Path, table: Mapping[str, object], *, toolchain: Toolchain | None, **changes: object) -> BuildPlan:
    environment = Environment({}, root)
    settings = parse_settings(table, root=root, environment=environment)
    architectures = None
    if toolchain is not None:
        architectures = resolve_architectures(
            settings, environment=environment, known=toolchain.known, release=toolchain.release
        )
    codes = architectures.codes if architectures else ()
    facts = Facts(
        root=str(root),
        conditions=conditions.Facts(
            platform_system="Linux",
            platform_machine="x86_64",
            python_version=(3, 11),
            variables={},
            cuda=str(toolchain.release) if toolchain else None,
            architectures=tuple(str(code.architecture) for code in codes),
        ),
        host=HOST,
        toolchain=toolchain,
        architectures=architectures,
        python=PYTHON,
    )
    return plan_build(settings, facts=replace(facts, **changes))  # type: ignore[arg-type]


def jobs_of(plan: BuildPlan, kind: str) -> list[Job]:
    return [job for job in plan.jobs if job.kind == kind]
