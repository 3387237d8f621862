"""The plug-in of the documentation: installed by a front-end, used by a build, and shown as it is."""

from __future__ import annotations

import re
import subprocess
import sys
import textwrap
from collections.abc import Mapping
from pathlib import Path

import pytest
from conftest import ROOT, only_one_worker
from layouts_support import SOURCE, STEPS
from setuptools_support import EXTENSION, TABLE, pyproject, write_project
from toolchain_support import link_installed, write_nvcc

PLUGIN = ROOT / "tests/plugins"
PAGE = ROOT / "docs/how-to/write-a-plugin.md"


@pytest.fixture(scope="session")
def plugin_wheel(shared_folder: Path) -> Path:
    """Return the wheel of the plug-in, built once a test run."""
    folder = shared_folder / "plugin-wheel"
    folder.mkdir(exist_ok=True)
    with only_one_worker(folder):
        if not list(folder.glob("*.whl")):
            command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(PLUGIN)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Return a project that asks for the plug-in and says nothing of toolkits and architectures."""
    table = pyproject(EXTENSION.replace(TABLE, "").replace('"src/*.cpp", ', "")).replace(
        '"setuptools-cuda-build"', '"depot-steps"'
    )
    return write_project(tmp_path / "project", {"demo/__init__.py": "", "src/one.cu": SOURCE, "pyproject.toml": table})


@pytest.fixture
def depot(toolkit_nvcc: Path, tmp_path: Path) -> Path:
    """Return a folder of toolkits, the newest of which is broken."""
    link_installed(toolkit_nvcc, tmp_path / "depot/cuda-13.0")
    write_nvcc(tmp_path / "depot/cuda-9.2/bin/nvcc", "9.2")
    (tmp_path / "depot/cuda-13.10/bin").mkdir(parents=True)
    (tmp_path / "depot/cuda-13.10/bin/nvcc").write_text("", "utf-8")
    return tmp_path / "depot"


def build(project: Path, *wheels: Path, variables: Mapping[str, str]) -> tuple[int, str]:
    """Build the project's wheel in pip's isolation, with ``wheels`` beside the index."""
    links = " ".join([*(str(wheel.parent) for wheel in wheels), variables.get("PIP_FIND_LINKS", "")])
    command = [sys.executable, "-m", "pip", "wheel", "--verbose", "--no-deps", "--wheel-dir", "out", "."]
    given = {**variables, "PIP_FIND_LINKS": links, "PIP_NO_COMPILE": "1"}
    done = subprocess.run(
        command, cwd=project, env=given, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
    )
    return done.returncode, textwrap.dedent("\n".join(line.removeprefix("  ") for line in done.stdout.splitlines()))


@pytest.fixture
def variables(bare_environment: dict[str, str], depot: Path) -> dict[str, str]:
    """Return the variables of a machine of that site."""
    # Only the step of the plug-in is added: the default order has 'system', which finds what the machine has.
    steps = STEPS.replace("wheel", "depot wheel")
    return {
        **bare_environment,
        "SETUPTOOLS_CUDA_CACHE": "off",
        "SETUPTOOLS_CUDA_TOOLCHAIN_STEPS": steps,
        "DEPOT": str(depot),
        "FLEET": "H100 A100",
    }


def test_both_steps_are_used(
    project: Path, plugin_wheel: Path, our_wheel: Path, depot: Path, variables: dict[str, str]
) -> None:
    status, said = build(project, plugin_wheel, our_wheel, variables=variables)
    assert status == 0, said
    assert f"(step depot ({depot}/cuda-13.0/bin/nvcc))" in said
    (line,) = (line for line in said.splitlines() if line.startswith("CUDA "))
    shown = re.sub(re.escape(str(depot)), "/srv/depot", line)
    assert shape(shown) in [shape(text) for text in PAGE.read_text("utf-8").splitlines()]
    assert list((project / "out").glob("demo-*.whl"))


def shape(line: str) -> str:
    """Return a line without what the machine decides: releases and paths of compilers."""
    return re.sub(r"\d+\.\d+\.\d+", "N", line)


def test_one_that_raises_is_named(
    project: Path, plugin_wheel: Path, our_wheel: Path, variables: dict[str, str]
) -> None:
    status, said = build(project, plugin_wheel, our_wheel, variables={**variables, "FLEET": "B42"})
    assert status != 0
    assert "Traceback" not in said
    blocks = re.findall(r"^```text\n(error.*?)^```$", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE)
    assert len(blocks) == 1
    assert blocks[0].strip() in said


def test_the_page_shows_its_files() -> None:
    """Every block that is headed by a file's name holds that file; no file but the empty-handed is left out."""
    shown = dict(re.findall(r"^```\w+\n# ([\w./-]+)\n(.*?)^```$", PAGE.read_text("utf-8"), re.DOTALL | re.MULTILINE))
    files = {
        path.relative_to(PLUGIN).as_posix(): path.read_text("utf-8")
        for path in PLUGIN.rglob("*")
        if path.suffix in {".py", ".toml"} and path.name != "__init__.py"
    }
    assert shown == files
