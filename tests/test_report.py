"""The report of a build: what it says of real builds, whatever their end, and that its page is sound."""

from __future__ import annotations

import importlib.resources
import itertools
import json
import random
import xml.etree.ElementTree as ET
from collections.abc import Sequence
from dataclasses import replace
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from build_support import make_request
from engine_support import c_project, table

from setuptools_cuda import pipeline
from setuptools_cuda.errors import BuildError, Code, Problem
from setuptools_cuda.report.axis import plan_ticks
from setuptools_cuda.report.document import describe
from setuptools_cuda.report.fatbins import measure_code
from setuptools_cuda.report.lanes import assign_lanes, count_busy
from setuptools_cuda.report.markup import shorten_middle, show_bytes, show_seconds
from setuptools_cuda.report.page import render_page
from setuptools_cuda.report.timeline import LEFT, RIGHT, WIDTH, render_timeline
from setuptools_cuda.report.values import REST, CodeSize, FileRow, JobRow, Report, Span, StepTime

REPORTED = table('report = "out/report"')
HOSTILE = "src/<script>alert(1)</script>&\"'\x1b[31m\u202e.cu"
CUDA = """
[tool.setuptools-cuda]
architectures = ["80", "90a"]
std = "c++17"
[[tool.setuptools-cuda.library]]
name = "ops"
sources = ["src/*.cu"]
install = "lib"
[[tool.setuptools-cuda.kernel-module]]
module = "kernels"
sources = ["src/*.cu"]
"""
SOURCE = """
__global__ void twice_{0}(float* x) {{ x[threadIdx.x] *= 2; }}
void launch_{0}(float* x) {{ twice_{0}<<<1, 32>>>(x); }}
"""


class Elements(HTMLParser):
    """Every element of a page, checked to be closed in turn."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.open: list[str] = []
        self.names: set[str] = set()
        self.attributes: list[tuple[str, str | None]] = []
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.names.add(tag)
        self.attributes += attrs
        if tag != "meta":
            self.open.append(tag)

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def read(root: Path, folder: str = "out/report") -> dict[str, Any]:
    """Return the report in ``root``, after a look at its schema and at its page."""
    document: dict[str, Any] = json.loads((root / folder / "report.json").read_text("utf-8"))
    schema = importlib.resources.files("setuptools_cuda.report").joinpath("report.schema.json").read_text("utf-8")
    jsonschema.Draft202012Validator(json.loads(schema)).validate(document)
    check_page((root / folder / "report.html").read_text("utf-8"))
    assert sorted(path.name for path in (root / folder).iterdir()) == ["report.html", "report.json"]
    return document


def check_page(page: str) -> Elements:
    elements = Elements(page)
    assert elements.names.isdisjoint({"script", "link", "img", "iframe", "object", "a", "form"})
    assert not any(name.startswith("on") or name in {"href", "src"} for name, _ in elements.attributes)
    assert "url(" not in page
    assert "@import" not in page
    return elements


def by_source(document: dict[str, Any]) -> dict[str, dict[str, Any]]:
    return {job["source"]: job for job in document["jobs"] if job["source"]}


def test_report_of_a_build_of_cuda_sources(
    make_project: Any, pip_toolchain_environment: dict[str, str], tmp_path: Path
) -> None:
    files = {"pyproject.toml": CUDA, **{f"src/k{n}.cu": SOURCE.format(n) for n in range(2)}}
    cache = {"SETUPTOOLS_CUDA_CACHE": str(tmp_path / "cache")}
    roots = [make_project(files) for _ in range(2)]
    asked = {"cuda.report": "out/report"}
    variables = {**pip_toolchain_environment, **cache}
    _, first = pipeline.run(make_request(roots[0], variables, config_settings=asked), echo=lambda _: None)
    document = read(roots[0])
    assert document["result"] == "built"
    assert document["counts"]["made"] == len(document["jobs"]) == 3
    check_facts(document, first=first)
    check_times(document)
    check_sizes(document, library=Path(str(first.files["lib/libops.a"])))

    # The same again, without a report and in another folder: out of the cache, and the same bytes.
    _, second = pipeline.run(make_request(roots[1], variables), echo=lambda _: None)
    assert {name: content(one) for name, one in first.files.items()} == {
        name: content(one) for name, one in second.files.items()
    }
    assert not (roots[1] / "out").exists()
    pipeline.run(make_request(roots[1], variables, config_settings=asked), echo=lambda _: None)
    assert read(roots[1])["counts"] == {"made": 0, "fetched": 0, "unchanged": 3, "failed": 0, "not_reached": 0}
    assert read(roots[1])["files"] == document["files"]


def content(one: Path | bytes) -> bytes:
    return one if isinstance(one, bytes) else one.read_bytes()


def check_facts(document: dict[str, Any], *, first: pipeline.BuildResult) -> None:
    facts = {fact["label"]: fact for fact in document["facts"]}
    manifest = json.loads(first.manifest)
    assert facts["toolkit"]["value"] == f"CUDA {manifest['toolkit']['version']}"
    assert "nvidia-cuda-nvcc" in facts["toolkit"]["origin"]
    assert facts["architectures"]["origin"] == "tool.setuptools-cuda.architectures"
    assert facts["host compiler"]["value"].startswith("gcc ")


def check_times(document: dict[str, Any]) -> None:
    names = [phase["name"] for phase in document["phases"]]
    assert names[:3] == ["configuration", "toolchain and architectures", "plan"]
    assert names[-2:] == ["compile and link", "modules and manifest"]
    ends = [moment for phase in document["phases"] for moment in (phase["started"], phase["ended"])]
    assert ends == sorted(ends)
    for job in document["jobs"]:
        assert 0 <= job["started"] <= job["ended"] <= document["seconds"]
        assert job["reason"] == "it has not been made"
    programs = {(step["program"], step["architecture"]) for step in by_source(document)["src/k0.cu"]["steps"]}
    assert {("cicc", "compute_80"), ("cicc", "compute_90a"), ("ptxas", "sm_80"), ("ptxas", "sm_90a")} <= programs


def check_sizes(document: dict[str, Any], *, library: Path) -> None:
    files = {file["path"]: file for file in document["files"]}
    assert all(sum(file["code"].values()) == file["size"] for file in files.values())
    assert list(files["kernels_images/src/k0.sm_90a.cubin"]["code"]) == ["sm_90a"]
    assert list(files["kernels_images/src/k0.compute_80.ptx"]["code"]) == ["compute_80"]
    assert files["lib/libops.a"]["size"] == library.stat().st_size
    assert set(files["lib/libops.a"]["code"]) == {"compute_80", "sm_80", "sm_90a", REST}
    objects = [file["code"] for file in document["files"] if file["kind"] == "object"]
    for name in ("compute_80", "sm_80", "sm_90a"):
        assert files["lib/libops.a"]["code"][name] == sum(code[name] for code in objects) > 0


def test_nothing_is_said_of_a_file_that_is_not_as_expected(tmp_path: Path) -> None:
    whole = b"\x50\xed\x55\xba\x01\x00\x10\x00" + (72).to_bytes(8, "little")
    entry = bytearray(72)
    entry[0:2], entry[4:8], entry[8:16] = b"\x02\x00", (64).to_bytes(4, "little"), (8).to_bytes(8, "little")
    entry[28:32] = (90).to_bytes(4, "little")
    assert measure_code(whole + entry, codes=()) == (CodeSize(code="sm_90", size=72), CodeSize(code=REST, size=16))
    for at, byte in ((4, 2), (6, 17), (8, 80), (16, 3), (20, 8), (24, 9), (58, 0x30)):
        changed = bytearray(whole + entry)
        changed[at] = byte
        assert measure_code(bytes(changed), codes=()) is None, at
    assert measure_code(whole + entry[:-1], codes=()) is None
    assert measure_code(b"!<arch>\n" + b"x" * 80, codes=()) is None
    assert measure_code(b"no object at all", codes=()) is None
    assert measure_code(b"\x7fELF\x02\x01", codes=()) is None


def test_report_by_key_variable_and_setting(bare_environment: dict[str, str], tmp_path: Path) -> None:
    project = c_project(tmp_path, bare_environment).write({"pyproject.toml": REPORTED})
    project.build()
    assert read(tmp_path)["counts"]["made"] == 4
    project.variables["SETUPTOOLS_CUDA_REPORT"] = "by variable"
    project.build()
    assert read(tmp_path, "by variable")["counts"]["unchanged"] == 4
    project.build(config_settings={"cuda.report": str(tmp_path / "by/setting")})
    assert read(tmp_path, "by/setting")["root"] == str(tmp_path)
    assert project.lines[-1] == f"report: {tmp_path / 'by/setting/report.html'}"


def test_failed_build_leaves_a_report(bare_environment: dict[str, str], tmp_path: Path) -> None:
    project = c_project(tmp_path, bare_environment).write({"pyproject.toml": REPORTED, "src/b.c": "int b = <wrong>;\n"})
    with pytest.raises(BuildError):
        project.build(jobs=1)
    document = read(tmp_path)
    assert document["result"] == "failed"
    assert [problem["what"] for problem in document["problems"]] == ["src/b.c does not compile"]
    states = {source: job["how"] for source, job in by_source(document).items()}
    assert states["src/b.c"] == "failed"
    assert by_source(document)["src/b.c"]["ended"] > 0
    assert "not-reached" in {job["how"] for job in document["jobs"]}
    assert "&lt;wrong&gt;" in (tmp_path / "out/report/report.html").read_text("utf-8")


def test_build_without_a_plan_leaves_a_report(bare_environment: dict[str, str], tmp_path: Path) -> None:
    project = c_project(tmp_path, bare_environment)
    project.write({"pyproject.toml": table('report = "out/report"', 'uses = ["numpi"]')})
    request = make_request(tmp_path, project.variables)
    with pytest.raises(BuildError):
        pipeline.run(request, echo=lambda _: None)
    assert [problem["code"] for problem in read(tmp_path)["problems"]] == ["unknown-package"]


def test_folder_that_cannot_be_written_ends_the_build_before_it_begins(
    bare_environment: dict[str, str], tmp_path: Path
) -> None:
    project = c_project(tmp_path, bare_environment).write({"pyproject.toml": REPORTED, "out": "a file\n"})
    with pytest.raises(BuildError) as caught:
        project.build()
    assert [problem.code for problem in caught.value.problems] == [Code.NOT_WRITABLE]
    assert "tool.setuptools-cuda.report" in str(caught.value)
    assert not (tmp_path / "build").exists()


def make_report(jobs: int, *, cores: int, failed: bool = False, name: str = HOSTILE) -> Report:
    """Return a report of made-up jobs, as scheduled on so many cores."""
    chance, free, rows = random.Random(7), [1.0] * cores, []
    for number in range(jobs):
        core = free.index(min(free))
        started, took = free[core], chance.lognormvariate(2, 1)
        free[core] += took
        steps = (StepTime(program="cicc", architecture="compute_90", seconds=took),)
        row = JobRow(
            name=f"cuda-{number}", title=f"{name} for sm_90", kind="cuda", source=name, used_by=(name,), how="made"
        )
        rows.append(replace(row, started=started, ended=free[core], cpu=took, memory=1 << 30, reason=name, steps=steps))
    lanes = assign_lanes({row.name: (row.started or 0.0, row.ended or 0.0) for row in rows})
    rows = [replace(row, lane=lanes[row.name]) for row in rows]
    if failed:
        rows[-1] = replace(rows[-1], how="failed", cpu=None, memory=None)
    rows.append(
        JobRow(name="f", title=name, kind="host", source=name, used_by=(), how="fetched", started=0.1, ended=0.2)
    )
    code = (CodeSize(code="sm_90", size=900), CodeSize(code=REST, size=100))
    files = (
        FileRow(path=name, kind="extension", target=name, size=1000, code=code),
        FileRow(path="other.so", kind="extension", target=name, size=10, code=None),
        FileRow(path=name, kind="object", target=name, size=1000, code=code),
    )
    end = max(free) + 1
    return Report(
        project=name,
        root=name,
        at="2030-01-02T03:04:05+00:00",
        made_by="us",
        seconds=end,
        cores=cores,
        parallel=cores,
        summary=name,
        phases=(Span(name="compile and link", started=0.5, ended=end),),
        jobs=tuple(rows),
        files=files * 30,
        notes=(name,),
        warnings=(name,),
        problems=(Problem(Code.COMPILE_FAILED, name, name, ((name, name),), (name,)),) if failed else (),
    )


@pytest.mark.parametrize(("jobs", "cores"), [(0, 1), (1, 1), (30, 8), (300, 16), (300, 128)])
def test_page_holds_any_number_of_jobs_and_any_name(jobs: int, cores: int) -> None:
    report = make_report(jobs, cores=cores, failed=jobs == 30)
    page = render_page(report)
    check_page(page)
    assert "<script>" not in page
    assert "\x1b" not in page
    assert "\u202e" not in page
    json.dumps(describe(report))


@pytest.mark.parametrize(("jobs", "cores"), [(1, 1), (300, 16), (300, 128)])
def test_nothing_of_the_time_line_overlaps_or_lies_outside(jobs: int, cores: int) -> None:
    svg = ET.fromstring(render_timeline(make_report(jobs, cores=cores, name="src/a.cu")))
    _, _, width, height = (float(number) for number in svg.attrib["viewBox"].split())
    assert width == WIDTH
    bars = [box(rect) for rect in svg.iter("rect") if rect.attrib["class"] in {"cuda", "fetched"}]
    assert len(bars) == jobs + 1
    for left, top, right, bottom in bars:
        assert LEFT <= left < right <= WIDTH - RIGHT + 1
        assert 0 <= top < bottom < height
    for lane in {top for _, top, _, _ in bars}:
        row = sorted((left, right) for left, top, right, _ in bars if top == lane)
        assert all(right <= following + 1 for (_, right), (following, _) in itertools.pairwise(row))
    ticks = [float(text.attrib["x"]) for text in svg.iter("text") if "mid" in text.attrib["class"]][:-1]
    assert all(later - earlier > 45 for earlier, later in itertools.pairwise(ticks))


def box(rect: ET.Element) -> Sequence[float]:
    x, y, width, height = (float(rect.attrib[name]) for name in ("x", "y", "width", "height"))
    return x, y, x + width, y + height


def test_lanes_and_busy_threads() -> None:
    intervals = {"a": (0.0, 5.0), "b": (1.0, 2.0), "c": (2.0, 3.0), "d": (2.5, 6.0), "e": (5.0, 6.0)}
    assert assign_lanes(intervals) == {"a": 0, "b": 1, "c": 1, "d": 2, "e": 0}
    assert count_busy([(0.0, 2.0, 2), (1.0, 2.0, 1), (2.0, 3.0, 4)]) == [(0.0, 2), (1.0, 3), (2.0, 4), (3.0, 0)]


def test_numbers_as_people_read_them() -> None:
    shown = [show_seconds(seconds) for seconds in (0.0123, 0.1, 59.94, 59.96, 60, 3599.4, 3600, 90000)]
    assert shown == ["12 ms", "0.1 s", "59.9 s", "1 min 00 s", "1 min 00 s", "59 min 59 s", "1 h 00 min", "25 h 00 min"]
    assert [show_bytes(size) for size in (0, 1023, 1024, 1 << 20, 5 << 30)] == [
        "0 B",
        "1023 B",
        "1.0 KiB",
        "1.0 MiB",
        "5.0 GiB",
    ]
    assert shorten_middle("src/a_long_name.cu", most=10) == "src…ame.cu"
    assert len(shorten_middle("x" * 99, most=12)) == 12
    assert [plan_ticks(top)[-1] for top in (0, 1, 9.7, 61, 700, 90000)] == [0, 1, 9, 60, 600, 86400]
