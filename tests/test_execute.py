"""The pieces of execution that need no compiler: depfiles, kept files, records of failures, ninja's file."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import ninja
import pytest
from hypothesis import given
from hypothesis import strategies as st
from plan_support import make_toolchain, plan_table, write_files

from setuptools_cuda.errors import Code
from setuptools_cuda.execute import depfile, images
from setuptools_cuda.execute.failure import describe_failure
from setuptools_cuda.execute.folder import BuildFolder
from setuptools_cuda.execute.ninja_file import render_ninja
from setuptools_cuda.execute.spec import job_name

PATHS = st.text(
    st.characters(codec="utf-8", exclude_characters="\0\n\r\t\\;<>|*`^\x7f", exclude_categories=["Cc", "Cs"]),
    min_size=1,
)


def make_record(**changes: Any) -> dict[str, Any]:
    record = {
        "kind": "cuda",
        "title": "a.cu for sm_80",
        "source": "a.cu",
        "used_by": ["demo.kernels"],
        "codes": ["80"],
        "architecture": "",
        "argv": ["nvcc", "-c", "--keep-dir", "/scratch/keep", "-MF", "/scratch/out.d", "a.cu", "-o", "/scratch/out.o"],
        "status": 1,
        "attempts": 1,
        "output": "a.cu(1): error: no",
        "time": 1,
    }
    return {**record, **changes}


def test_depfiles_of_nvcc_have_unescaped_targets_and_escaped_spaces() -> None:
    text = "out dir/k.o : a\\ b/k\\#1.cu \\\n    /cuda/bin/..//include/x.h \\\n    inc/h.h\nother: rule\n"
    assert depfile.parse_depfile(text) == ("a b/k#1.cu", "/cuda/bin/..//include/x.h", "inc/h.h")


@given(st.lists(PATHS.map(str.strip).filter(bool), unique=True))
def test_depfiles_that_we_write_read_back(paths: list[str]) -> None:
    assert depfile.parse_depfile(depfile.render_depfile("o.o", paths)) == tuple(paths)


@given(st.text())
def test_any_text_parses(text: str) -> None:
    depfile.parse_depfile(text)


@pytest.mark.parametrize(
    ("kept", "codes", "failing"),
    [
        # Recorded with nvcc 13.0: the front end of the host stops first, and blames no architecture.
        (["k.cpp4.ii"], ["80", "90"], ""),
        (["k.cpp4.ii", "k.compute_80.cpp1.ii", "k.compute_90.cpp1.ii"], ["80", "90"], ""),
        (
            [
                "k.cpp4.ii",
                "k.compute_90.cudafe1.cpp",
                "k.compute_80.cpp1.ii",
                "k.compute_80.ptx",
                "k.compute_80.cubin",
                "k.compute_90.cpp1.ii",
            ],
            ["80", "90"],
            "90",
        ),
        (["k.cpp4.ii", "k.compute_90.cudafe1.cpp", "k.compute_80.cpp1.ii", "k.compute_80.ptx"], ["80", "90"], "80"),
        (["k.cpp4.ii", "k.cudafe1.cpp", "k.cpp1.ii"], ["80"], "80"),
    ],
)
def test_the_architecture_that_failed_is_told_by_what_was_kept(
    kept: list[str], codes: list[str], failing: str, tmp_path: Path
) -> None:
    write_files(tmp_path, *kept)
    assert images.find_failing(tmp_path, codes=codes) == failing


@pytest.mark.parametrize(
    ("changes", "code"),
    [
        ({}, Code.COMPILE_FAILED),
        ({"kind": "link", "output": "undefined reference to `f'"}, Code.LINK_FAILED),
        ({"kind": "link", "output": "/usr/bin/ld: final link failed: No space left on device"}, Code.DISK_FULL),
        ({"output": "nvcc error   : 'cicc' died due to signal 9 (Kill signal)", "status": 9}, Code.OUT_OF_MEMORY),
        ({"output": "g++: fatal error: Killed signal terminated program cc1plus"}, Code.OUT_OF_MEMORY),
        ({"status": -9, "output": ""}, Code.OUT_OF_MEMORY),
    ],
)
def test_failures_are_told_apart(changes: dict[str, Any], code: Code) -> None:
    assert describe_failure(make_record(**changes)).code is code


def test_a_failure_shows_its_first_error_and_a_command_that_can_be_run_again() -> None:
    output = "warning: x\na.cu(3): error: first\na.cu(4): error: second\n"
    details = dict(describe_failure(make_record(output=output)).details)
    assert details["error"].splitlines()[0] == "a.cu(3): error: first"
    assert details["command"] == "nvcc -c -MF /dev/null a.cu -o /dev/null"


def test_ninja_reads_the_file_whatever_the_names_are(tmp_path: Path) -> None:
    root = tmp_path / "ro ot: %x #1"
    write_files(root, "a b/k:1.cu", "c.cpp", "pre/out$/x.cpp")
    table = {"extension": [{"name": "e", "sources": ["a b/k:1.cu", "c.cpp"]}]}
    plan = plan_table(root, table, toolchain=make_toolchain())
    folder = BuildFolder(root, root / "build" / "dir: 1")
    folder.write()
    text = render_ninja(plan.jobs, folder=folder, python=("/usr/bin/py thon",), memory=0, needs={})
    (folder.path / "build.ninja").write_text(text, "utf-8")
    command = [str(Path(ninja.BIN_DIR) / "ninja"), "-f", folder.relative("build.ninja"), "-n", "-v", "all"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout
    assert "'/usr/bin/py thon' -I -S" in done.stdout


def test_memory_bounds_how_many_compiles_run_at_once(tmp_path: Path) -> None:
    write_files(tmp_path, "k.cu")
    table = {"kernel-module": [{"module": "k", "sources": ["k.cu"], "memory": "2 GiB"}]}
    plan = plan_table(tmp_path, table, toolchain=make_toolchain())
    (job,) = plan.jobs
    needs = {job_name(job): job.memory}
    folder = BuildFolder(tmp_path, tmp_path / "b")
    text = render_ninja(plan.jobs, folder=folder, python=("py",), memory=5 * 2**30, needs=needs)
    assert "pool memory_2147483648\n  depth = 2\n" in text
    assert "  pool = memory_2147483648\n" in text
