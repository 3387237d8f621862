"""A BuildPlan to files: writes the build folder, runs ninja, and reports the first error first."""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import ninja

from setuptools_cuda.environment import Environment
from setuptools_cuda.errors import BuildError, Code, Problem
from setuptools_cuda.execute.failure import describe_failure
from setuptools_cuda.execute.folder import BuildFolder, telling
from setuptools_cuda.execute.ninja_file import render_ninja, render_spec, spec_name
from setuptools_cuda.execute.priorities import Link, plan_chain
from setuptools_cuda.plan.values import BuildPlan
from setuptools_cuda.process import run_streaming

Echo = Callable[[str], None]
REQUIRED = "required"


def run_plan(
    plan: BuildPlan,
    *,
    folder: BuildFolder,
    environment: Environment,
    optional: Mapping[str, Sequence[str]],
    memory: int,
    threads: int,
    echo: Echo,
) -> dict[str, BuildError]:
    """Build everything in ``plan``; return the failures of ``optional`` targets, by name.

    ``optional`` maps a target to its files; failures of all others raise BuildError.
    """
    names = {target: f"optional-{number}" for number, target in enumerate(optional)}
    apart = {file for files in optional.values() for file in files}
    needed = [job for job in plan.jobs if not _only_for(job.used_by, optional)]
    chain = plan_chain(needed)
    ends = [o.file for job in needed for o in job.outputs if o.file not in apart]
    groups = [(REQUIRED, [*ends, *(link.file for link in chain[:1])])]
    groups += [(names[target], list(files)) for target, files in optional.items()]
    folder.write()
    with folder.locked():
        _write_files(plan, folder=folder, memory=memory, threads=threads, groups=groups, chain=chain)
        _run_ninja(REQUIRED, plan=plan, folder=folder, environment=environment, echo=echo)
        return _run_optional(names, plan=plan, folder=folder, environment=environment, echo=echo)


def _only_for(used_by: Sequence[str], optional: Mapping[str, Sequence[str]]) -> bool:
    return bool(used_by) and set(used_by) <= optional.keys()


def _run_optional(
    names: Mapping[str, str], *, plan: BuildPlan, folder: BuildFolder, environment: Environment, echo: Echo
) -> dict[str, BuildError]:
    failed: dict[str, BuildError] = {}
    for target, name in names.items():
        try:
            _run_ninja(name, plan=plan, folder=folder, environment=environment, echo=echo)
        except BuildError as error:
            failed[target] = error
    return failed


def _write_files(
    plan: BuildPlan,
    *,
    folder: BuildFolder,
    memory: int,
    threads: int,
    groups: Sequence[tuple[str, Sequence[str]]],
    chain: Sequence[Link],
) -> None:
    python = (sys.executable,)
    text = render_ninja(plan, folder=folder, python=python, memory=memory, groups=groups, chain=chain)
    with telling(folder.path):
        for link in chain:
            (folder.path / link.file).touch()
        for job in plan.jobs:
            write_if_changed(folder.path / "jobs" / spec_name(job), render_spec(job, folder=folder))
        write_if_changed(folder.path / "run.json", json.dumps({"root": str(folder.root), "threads": threads}))
        write_if_changed(folder.path / "build.ninja", text)
        for record in (folder.path / "failures").iterdir():
            record.unlink()


def write_if_changed(path: Path, text: str) -> None:
    """Write ``text`` to ``path`` unless it holds it already; whole or not at all."""
    data = text.encode("utf-8", "surrogateescape")
    if path.is_file() and path.read_bytes() == data:
        return
    temporary = path.with_name(f"{path.name}.new")
    temporary.write_bytes(data)
    temporary.replace(path)


def _run_ninja(group: str, *, plan: BuildPlan, folder: BuildFolder, environment: Environment, echo: Echo) -> None:
    argv = [
        str(Path(ninja.BIN_DIR) / ("ninja.exe" if os.name == "nt" else "ninja")),
        *("-f", folder.relative("build.ninja")),
        *("-j", str(plan.parallel)),
        group,
    ]
    output = _Output(echo)
    # The host compiler is in each command; told twice in other words, nvcc would warn of it.
    inherited = {name: value for name, value in environment.variables.items() if name != "NVCC_CCBIN"}
    variables = {**inherited, "NINJA_STATUS": "[%f/%t] ", "PWD": str(folder.root)}
    with telling(folder.path):
        status = run_streaming(argv, variables=variables, cwd=folder.root, on_line=output.line)
    if status != 0:
        raise _failure(folder, output=output, status=status)


class _Output:
    """What ninja prints: progress and warnings are passed on, the noise around a failure is kept back."""

    def __init__(self, echo: Echo) -> None:
        self._echo = echo
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


def _failure(folder: BuildFolder, *, output: _Output, status: int) -> BuildError:
    records = [json.loads(path.read_text("utf-8")) for path in (folder.path / "failures").glob("*.json")]
    if records:
        first = min(records, key=lambda record: int(record["time"]))
        return BuildError(describe_failure(first))
    text = "\n".join(output.kept) or f"ninja ended with status {status}"
    return BuildError(Problem(Code.TOOL_FAILED, "the build did not run", details=(("ninja", text),)))
