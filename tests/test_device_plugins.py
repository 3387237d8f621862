"""Device compilers of other distributions: an entry point, a command that writes PTX."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from device_support import DATA, Project, entries

from setuptools_cuda import pipeline

PLUGIN = """\
class Copier:
    suffixes = {".tile"}
    identity = "copier 1"

    @staticmethod
    def command(source, architecture):
        return ["/bin/sh", "-c", 'sed "s/sm_80/sm_$3/" "$1" > "$2"', "sh", source, "{out}", architecture]


class Broken(Copier):
    @staticmethod
    def command(source, architecture):
        raise RuntimeError("no licence")


class Nameless(Copier):
    identity = ""
"""


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Project:
    site = tmp_path / "site"
    info = site / "tiles-1.0.dist-info"
    info.mkdir(parents=True)
    (site / "tiles_of_tests.py").write_text(PLUGIN)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: tiles\nVersion: 1.0\n")
    lines = [f"{name.lower()} = tiles_of_tests:{name}" for name in ("Copier", "Broken", "Nameless")]
    (info / "entry_points.txt").write_text("\n".join(["[setuptools_cuda.device_compilers]", *lines, ""]))
    monkeypatch.syspath_prepend(str(site))
    made = Project(tmp_path / "project", path="/usr/bin:/bin")
    made.environment = replace(made.environment, search_path=(str(site), *made.environment.search_path))
    return made.write({"k/a.tile": (DATA / "hand.ptx").read_text().replace("7.0", "8.0")})


def test_its_ptx_becomes_images_like_any_other(project: Project) -> None:
    files = project.copy("typed.ll").build("k/*", architectures="80 86", device_compiler="copier")
    assert b".target sm_86\n" in files["k_images/k/a.compute_86.ptx"]
    assert files["k_images/k/a.sm_86.cubin"].startswith(b"\x7fELF")
    assert entries(files["k.py"]) == ["addone", "wave"]
    assert "compile k/a.tile by copier (ptx 86)" in project.compiled
    assert "note: k: k/a.tile is compiled by copier" in project.lines


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("broken", ["the plug-in 'broken' of tiles failed", "RuntimeError: no licence"]),
        ("nameless", ["the plug-in 'nameless' of tiles failed", "a string in `identity`"]),
        ("copierr", ["there is no device compiler 'copierr'; did you mean 'copier'?"]),
        ("nvrct", ["'nvrct' is not one of", "did you mean 'nvrtc'?"]),
    ],
)
def test_faults_are_told(project: Project, name: str, words: list[str]) -> None:
    message = project.refuse("k/a.tile", device_compiler=name)
    assert [word for word in words if word not in message] == []


def test_a_source_that_the_plug_in_does_not_read(project: Project) -> None:
    project.write({"k/b.other": ""})
    message = project.refuse("k/*", device_compiler="copier")
    assert "no device compiler that is named reads k/b.other" in message


@pytest.mark.parametrize(
    ("project_words", "override"),
    [
        ({}, {"target": "k", "sources": ["k/a.tile"], "device-compiler": "copier"}),
        ({"device-compiler": "copier"}, {"target": "k", "sources": ["k/a.tile"]}),
    ],
)
def test_an_override_adds_its_sources(
    project: Project, project_words: dict[str, object], override: dict[str, object]
) -> None:
    table = {
        "toolchain-steps": ["wheel"],
        "architectures": ["80"],
        **project_words,
        "kernel-module": [{"module": "k", "sources": ["k/typed.ll"]}],
        "override": [override],
    }
    project.copy("typed.ll")
    planned = pipeline.plan(pipeline.Request(project.root, project.environment, table=table))
    assert "k: k/a.tile is compiled by copier" in planned.plan.notes


def test_a_match_may_name_it_for_sources_of_the_module(project: Project) -> None:
    table = {
        "toolchain-steps": ["wheel"],
        "architectures": ["80"],
        "kernel-module": [{"module": "k", "sources": ["k/*"]}],
        "override": [{"match": "k/*.tile", "device-compiler": "copier"}],
    }
    planned = pipeline.plan(pipeline.Request(project.root, project.environment, table=table))
    assert "k: k/a.tile is compiled by copier" in planned.plan.notes
