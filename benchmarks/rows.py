"""The rows of the table: what is measured, against what, and what it may come to at the most."""

from __future__ import annotations

import functools
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from measure import Command, Ratio, Took, compare, describe, ratio, run
from peers import Machine, cmake, hook, ours, passes, real, same_commands, torch
from workloads import Sources, make_back_end, make_heavy, make_small, make_with_headers, render_table

FOUR = ("80", "86", "90", "100")
# Separate passes are to make the same files: with nvcc's own default an object is larger, and made sooner.
COMPRESSED = ("--compress-mode=size",)
EDITABLE = """
from setuptools_cuda.build_meta import build_editable
build_editable("out", {"cuda.report": "report"})
"""
PLANNING = """
import resource
from pathlib import Path
from setuptools_cuda import pipeline
from setuptools_cuda.environment import read_environment
request = pipeline.Request(Path.cwd(), read_environment())
before = resource.getrusage(resource.RUSAGE_SELF)
jobs = pipeline.plan(request).plan.jobs
after = resource.getrusage(resource.RUSAGE_SELF)
assert len(jobs) >= 1000, len(jobs)
print(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
"""


@dataclass(frozen=True)
class Options:
    """How much is measured."""

    machine: Machine
    repeats: int
    small: int
    heavy: int
    editable: int
    planned: int
    our_wheel: Path


@dataclass(frozen=True)
class Outcome:
    """One line of the table."""

    what: str
    against: str
    value: float
    shown: str
    limit: float
    lines: tuple[str, ...] = ()

    @property
    def good(self) -> bool:
        """Return whether it is within its limit."""
        return self.value <= self.limit


Row = Callable[[Options], Iterator[Outcome]]


def three_artifacts(options: Options) -> Iterator[Outcome]:
    """Measure an extension, a library and PTX of the same sources, for one architecture."""
    sources, machine = make_heavy(options.heavy), options.machine
    to_object = ("-gencode=arch=compute_80,code=[sm_80,compute_80]", *COMPRESSED, "-c")
    sides = [
        ours(sources, targets=("extension", "library", "kernels"), words=("80",), machine=machine),
        passes(sources, words=(to_object, to_object, ("-arch=compute_80", "-ptx")), machine=machine),
    ]
    took = compare(sides, repeats=options.repeats)
    what = "extension + library + PTX, 1 architecture, cold, processor time"
    yield _ratio(what, "separate passes", took, limit=0.42, of="cpu")


def extension_and_ptx(options: Options) -> Iterator[Outcome]:
    """Measure an extension and PTX of the same sources, for four architectures."""
    sources, machine = make_heavy(1), options.machine
    codes = tuple(f"-gencode=arch=compute_{number},code=sm_{number}" for number in FOUR)
    to_object = (*codes, "-gencode=arch=compute_100,code=compute_100", *COMPRESSED, "-c")
    images = tuple((f"-arch=compute_{number}", "-ptx") for number in FOUR)
    sides = [
        ours(sources, targets=("extension", "kernels"), words=FOUR, machine=machine),
        passes(sources, words=(to_object, *images), machine=machine),
    ]
    took = compare(sides, repeats=options.repeats)
    what = "extension + PTX, 4 architectures, cold, processor time"
    yield _ratio(what, "separate passes", took, limit=0.66, of="cpu")


def one_heavy_file(options: Options) -> Iterator[Outcome]:
    """Measure one file for four architectures, on two cores."""
    machine = Machine(options.machine.root, 2, options.machine.torch_python)
    if not machine.torch_python:
        return
    for name, sources in (("CUB", make_heavy(1)), ("back end", make_back_end(1))):
        sides = [
            ours(sources, targets=("extension",), words=real(FOUR), machine=machine),
            torch(sources, architectures=("80", "86", "90", "100"), machine=machine),
        ]
        took = compare(sides, repeats=options.repeats)
        yield _ratio(f"one heavy file ({name}), 4 architectures, 2 cores, wall", "torch", took, limit=0.55)


def small_files(options: Options) -> Iterator[Outcome]:
    """Measure many small files for one architecture, against everybody."""
    sources, machine = make_small(options.small), options.machine
    mine = functools.partial(ours, sources, targets=("extension",), words=real(("80",)), machine=machine)
    sides = [
        mine(),
        mine(cache="on", name="ours, cache on"),
        same_commands(sources, words=real(("80",)), machine=machine),
        *((torch(sources, architectures=("80",), machine=machine),) if machine.torch_python else ()),
        *((cmake(sources, architectures=("80",), machine=machine),) if shutil.which("cmake") else ()),
    ]
    took = compare(sides, repeats=options.repeats)
    what = f"{options.small} small files, 1 architecture, cold, wall"
    for side in ("ours", "ours, cache on"):
        note = "" if side == "ours" else ", with an empty cache of ours"
        for other in ("torch", "cmake"):
            if other in took:
                yield _ratio(what + note, other, took, limit=1.0, mine=side)
        yield _ratio("our whole overhead, cold, wall" + note, "bare nvcc", took, limit=1.05, mine=side)


def _ratio(
    what: str, other: str, took: dict[str, list[Took]], *, limit: float, of: str = "wall", mine: str = "ours"
) -> Outcome:
    found: dict[str, Ratio] = {
        kind: ratio([getattr(one, kind) for one in took[mine]], [getattr(one, kind) for one in took[other]])
        for kind in ("wall", "cpu")
    }
    lines = []
    for name in (mine, other):
        wall, cpu = ([getattr(one, kind) for one in took[name]] for kind in ("wall", "cpu"))
        lines.append(f"{name:<16} wall {describe(wall)}, processor {describe(cpu)}")
    lines.append(f"{'ratio':<16} wall {found['wall']}, processor {found['cpu']}")
    return Outcome(what, other, found[of].value, str(found[of]), limit, tuple(lines))


def isolated_wheel(options: Options) -> Iterator[Outcome]:
    """Measure a second ``pip wheel``, in a fresh isolated environment: what its compile phase takes of the first's."""
    cold: list[float] = []
    warm: list[float] = []
    for _ in range(max(1, options.repeats // 2)):
        with _project(make_small(options.small), targets=("extension", "kernels"), options=options) as folder:
            for phases in (cold, warm):
                shutil.rmtree(folder / "dist", ignore_errors=True)
                run(_pip_wheel(options), folder=folder)
                phases.append(_compile_phase(folder))
    found = ratio(warm, cold)
    lines = (f"{'first':<16} {describe(cold)}", f"{'second':<16} {describe(warm)}")
    what = f"nothing changed, fresh isolated pip wheel, {options.small} files, compile phase"
    yield Outcome(what, "cold", found.value, f"{found.value:.4f}", 0.02, lines)


def _pip_wheel(options: Options) -> Command:
    argv = (sys.executable, "-m", "pip", "wheel", "--no-deps", "--wheel-dir", "dist", "-C", "cuda.report=report", ".")
    variables = {**options.machine.variables, "SETUPTOOLS_CUDA_CACHE": "off"}
    links = f"{os.environ.get('PIP_FIND_LINKS', '')} {options.our_wheel.parent}".strip()
    return Command(argv, {**variables, "PIP_FIND_LINKS": links}, ("dist/*.whl",))


def _report(folder: Path) -> dict[str, object]:
    document: dict[str, object] = json.loads((folder / "report/report.json").read_text("utf-8"))
    return document


def _compile_phase(folder: Path) -> float:
    """Return the seconds from the plan to the manifest."""
    phases: list[dict[str, object]] = _report(folder)["phases"]  # type: ignore[assignment]
    names = {"check and cache", "compile and link"}
    return sum(float(str(one["ended"])) - float(str(one["started"])) for one in phases if one["name"] in names)


def _compile_processor_time(folder: Path) -> float:
    jobs: list[dict[str, object]] = _report(folder)["jobs"]  # type: ignore[assignment]
    return sum(float(str(one["cpu"])) for one in jobs if one["cpu"] is not None)


def editable_without_change(options: Options) -> Iterator[Outcome]:
    """Measure an editable build of many sources in which nothing has changed: all of ours in it."""
    with _project(make_small(options.editable), targets=("extension",), options=options) as folder:
        command = Command(
            (sys.executable, "-c", EDITABLE), {**options.machine.variables, "SETUPTOOLS_CUDA_CACHE": "off"}
        )
        run(command, folder=folder)
        seconds = []
        for _ in range(options.repeats):
            run(command, folder=folder)
            seconds.append(float(str(_report(folder)["seconds"])))
    shown = describe(seconds)
    what = f"nothing changed, editable, {options.editable} sources, our phase"
    yield Outcome(what, "", statistics.median(seconds), shown, 0.5)


def planning(options: Options) -> Iterator[Outcome]:
    """Measure the processor time of a plan, our own process alone."""
    with _project(make_small(options.planned), targets=("library",), options=options) as folder:
        command = (sys.executable, "-c", PLANNING)
        variables = {**os.environ, **options.machine.variables}
        seconds = []
        for _ in range(options.repeats):
            done = subprocess.run(command, cwd=folder, env=variables, capture_output=True, text=True, check=True)
            seconds.append(float(done.stdout))
    what = f"planning {options.planned} sources x 4 architectures, processor time"
    yield Outcome(what, "", statistics.median(seconds), describe(seconds), 1.5)


def edited_header(options: Options) -> Iterator[Outcome]:
    """Measure the build after one of 40 headers was edited, against the compiles of the sources that include it."""
    users = max(2, options.small // 4)
    sources = make_with_headers(options.small, headers=40, users=users)
    few = Sources(dict(list(sources.texts.items())[:users]), sources.headers)
    mine: list[Took] = []
    bare: list[Took] = []
    with _project(sources, targets=("library",), options=options, words=real(("80",))) as folder:
        argv = hook("setuptools_cuda.build_meta")
        command = Command(
            argv,
            {**options.machine.variables, "SETUPTOOLS_CUDA_CACHE": "off", "SETUPTOOLS_CUDA_REPORT": "report"},
            ("out/*.whl",),
        )
        run(command, folder=folder)
        for number in range(options.repeats):
            (folder / "inc/h0.h").write_text(f"constexpr int h0 = {number + 2};\n", "utf-8")
            run(command, folder=folder)
            mine.append(Took(_compile_phase(folder), _compile_processor_time(folder)))
            alone = same_commands(few, words=real(("80",)), machine=options.machine, target="library")
            bare.extend(compare([alone], repeats=1)[alone.name])
    took = {"ours": mine, "dependents alone": bare}
    yield _ratio(
        f"one header of 40 edited, {users} of {options.small} files include it, compile phase",
        "dependents alone",
        took,
        limit=1.05,
    )


def object_size(options: Options) -> Iterator[Outcome]:
    """Compare the size of an object with that of nvcc's default."""
    sources, machine = make_heavy(1), options.machine
    codes = [f"-gencode=arch=compute_{number},code=sm_{number}" for number in FOUR]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        run(passes(sources, words=((*codes, "-c"),), machine=machine).prepare(folder), folder=folder)
        (plain,) = folder.glob("out/0-*.o")
        run(ours(sources, targets=("extension",), words=real(FOUR), machine=machine).prepare(folder), folder=folder)
        (mine,) = folder.glob("build/setuptools-cuda/*/objects/*heavy0*.o")
        sizes = mine.stat().st_size, plain.stat().st_size
    lines = (f"{'ours':<16} {sizes[0]:,} bytes", f"{'default':<16} {sizes[1]:,} bytes")
    yield Outcome(
        "object size, 4 architectures", "nvcc's default", sizes[0] / sizes[1], f"{sizes[0] / sizes[1]:.2f}", 0.52, lines
    )


@contextmanager
def _project(
    sources: Sources, *, targets: Sequence[str], options: Options, words: Sequence[str] = FOUR
) -> Iterator[Path]:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve() / "project"
        folder.mkdir()
        sources.write(folder)
        text = render_table(targets, architectures=words, jobs=options.machine.jobs)
        (folder / "pyproject.toml").write_text(text, "utf-8")
        yield folder


ROWS: dict[str, Row] = {
    "three-artifacts": three_artifacts,
    "extension-and-ptx": extension_and_ptx,
    "one-heavy-file": one_heavy_file,
    "small-files": small_files,
    "isolated-wheel": isolated_wheel,
    "editable": editable_without_change,
    "planning": planning,
    "edited-header": edited_header,
    "object-size": object_size,
}
