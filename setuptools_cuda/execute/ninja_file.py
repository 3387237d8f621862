"""The ninja file and the job files of a plan. Pure."""

from __future__ import annotations

import io
import json
import shlex
from collections.abc import Iterable, Sequence
from pathlib import Path

from ninja import ninja_syntax

from setuptools_cuda.execute.folder import BuildFolder
from setuptools_cuda.execute.priorities import Link
from setuptools_cuda.plan.paths import digest
from setuptools_cuda.plan.values import BuildPlan, Job

RUNNER = Path(__file__).with_name("job.py")
SPEC_VERSION = 1


def render_spec(job: Job, *, folder: BuildFolder) -> str:
    """Return the job file of ``job``: all that its runner needs to know, as JSON."""
    spec = {
        "version": SPEC_VERSION,
        "key": job.key,
        "kind": job.kind,
        "argv": job.argv,
        "title": job.title,
        "source": job.inputs[0] if job.inputs else "",
        "used_by": job.used_by,
        "outputs": [[output.role, output.file] for output in job.outputs],
        "codes": [str(code.architecture) for code in job.codes],
        "depfile": f"{job.outputs[0].file}.d" if job.depfile else "",
        "build": folder.relative(),
    }
    return json.dumps(spec, indent=1, sort_keys=True) + "\n"


def spec_name(job: Job) -> str:
    """Return the name of the job's file."""
    return f"{job.kind}-{job.key}.json"


def render_ninja(
    plan: BuildPlan,
    *,
    folder: BuildFolder,
    python: Sequence[str],
    memory: int,
    groups: Iterable[tuple[str, Sequence[str]]],
    chain: Sequence[Link] = (),
) -> str:
    """Return the text of build.ninja.

    ``groups`` are names for sets of files (relative to the build folder) to ask ninja for;
    ``memory`` is what compiles may take together, in bytes, 0 where that is unknown. The files
    of ``chain`` have to be there.
    """
    text = io.StringIO()
    writer = ninja_syntax.Writer(text, width=10_000)  # type: ignore[arg-type]  # annotated for files, takes any text
    writer.variable("ninja_required_version", "1.11")
    writer.variable("builddir", _escape_value(folder.relative()))
    pools = {job.memory: max(1, memory // job.memory) for job in plan.jobs if job.memory and memory}
    for need, depth in sorted(pools.items()):
        writer.pool(f"memory_{need}", depth)
    runner = " ".join(shlex.quote(word) for word in (*python, "-I", "-S", str(RUNNER)))
    writer.rule("job", f"{_escape_value(runner)} $spec $digest", description="$title")
    writer.rule(
        "compile", f"{_escape_value(runner)} $spec $digest", description="$title", depfile="$depfile", deps="gcc"
    )
    for job in plan.jobs:
        _write_edge(writer, job, folder=folder, pools=pools)
    # Their inputs are order-only and they are generated files: ninja has nothing to run for them.
    writer.rule("order", ":", generator=True)
    for link in chain:
        writer.build([folder.relative(link.file)], "order", order_only=[folder.relative(file) for file in link.after])
    for name, files in groups:
        writer.build([name], "phony", [folder.relative(file) for file in files])
    return text.getvalue()


def _write_edge(writer: ninja_syntax.Writer, job: Job, *, folder: BuildFolder, pools: dict[int, int]) -> None:
    spec = folder.relative(f"jobs/{spec_name(job)}")
    variables = {
        "spec": _escape_value(shlex.quote(spec)),
        "digest": digest(render_spec(job, folder=folder)),
        "title": _escape_value(_described(job)),
    }
    if job.depfile:
        variables["depfile"] = _escape_value(folder.relative(f"{job.outputs[0].file}.d"))
    writer.build(
        [folder.relative(output.file) for output in job.outputs],
        "compile" if job.depfile else "job",
        [*job.inputs, *(folder.relative(need) for need in job.needs)],
        variables=variables,
        pool=f"memory_{job.memory}" if job.memory in pools else None,
    )


def _described(job: Job) -> str:
    verb = {"archive": "archive", "link": "link", "device-link": "link", "cython": "cythonize"}.get(job.kind, "compile")
    return f"{verb} {job.title}"


def _escape_value(text: str) -> str:
    return text.replace("$", "$$")
