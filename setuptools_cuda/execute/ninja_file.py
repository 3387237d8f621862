"""The ninja file of one run: the jobs that have to run, in the order that is wished for. Pure.

Ninja only schedules. What has to run is decided before, by content; the outputs that ninja is told
of are never there, so that its own idea of what is old, by times, has no say.
"""

from __future__ import annotations

import io
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path

from ninja import ninja_syntax

from setuptools_cuda.execute.folder import BuildFolder
from setuptools_cuda.execute.priorities import Link
from setuptools_cuda.execute.spec import job_name
from setuptools_cuda.plan.values import Job

RUNNER = Path(__file__).with_name("job.py")
ALL = "all"
"""The name of everything in the file."""


def render_ninja(
    jobs: Sequence[Job],
    *,
    folder: BuildFolder,
    python: Sequence[str],
    memory: int,
    needs: Mapping[str, int],
    chain: Sequence[Link] = (),
) -> str:
    """Return the text of build.ninja.

    ``memory`` is what compiles may take together, in bytes, 0 where that is unknown, and ``needs``
    what each of them needs, by name. The files of ``chain`` have to be there.
    """
    text = io.StringIO()
    writer = ninja_syntax.Writer(text, width=10_000)  # type: ignore[arg-type]  # annotated for files, takes any text
    writer.variable("ninja_required_version", "1.11")
    writer.variable("builddir", _escape_value(folder.relative()))
    pools = {need: memory // need for need in needs.values() if need and memory}
    for need, depth in sorted(pools.items()):
        writer.pool(f"memory_{need}", max(1, depth))
    runner = " ".join(shlex.quote(word) for word in (*python, "-I", "-S", str(RUNNER)))
    writer.rule("job", f"{_escape_value(runner)} $spec", description="$title")
    makers = {output.file: job_name(job) for job in jobs for output in job.outputs}
    for job in jobs:
        need = needs.get(job_name(job), 0)
        after = dict.fromkeys(makers[file] for file in job.needs if file in makers)
        spec = folder.relative(f"jobs/{job_name(job)}.spec")
        writer.build(
            [_stamp(job_name(job), folder=folder)],
            "job",
            [*job.inputs[:1], *(_stamp(name, folder=folder) for name in after)],
            variables={"spec": _escape_value(shlex.quote(spec)), "title": _escape_value(_described(job))},
            pool=f"memory_{need}" if need in pools else None,
        )
    _write_chain(writer, chain, folder=folder)
    ends = [_stamp(job_name(job), folder=folder) for job in jobs]
    writer.build([ALL], "phony", [*ends, *(folder.relative(link.file) for link in chain[:1])])
    return text.getvalue()


def _write_chain(writer: ninja_syntax.Writer, chain: Sequence[Link], *, folder: BuildFolder) -> None:
    # Their inputs are order-only and they are generated files: ninja has nothing to run for them.
    writer.rule("order", ":", generator=True)
    links = {link.file for link in chain}
    for link in chain:
        after = [folder.relative(one) if one in links else _stamp(one, folder=folder) for one in link.after]
        writer.build([folder.relative(link.file)], "order", order_only=after)


def _stamp(name: str, *, folder: BuildFolder) -> str:
    """Return a file that is never made."""
    return folder.relative(f"done/{name}")


def _described(job: Job) -> str:
    verb = {"archive": "archive", "link": "link", "device-link": "link", "cython": "cythonize"}.get(job.kind, "compile")
    return f"{verb} {job.title}"


def _escape_value(text: str) -> str:
    return text.replace("$", "$$")
