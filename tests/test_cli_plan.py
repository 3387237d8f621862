"""plan says what a build would do, and does none of it."""

from __future__ import annotations

import json
import sysconfig
from pathlib import Path

import pytest
from cli_support import ROOT, STEPS, TABLE, list_tree, run_command, write_project
from toolchain_support import make_environment, site_of

from setuptools_cuda.cli.plan import make_view
from setuptools_cuda.cli.plan_view import PlanView, describe
from setuptools_cuda.errors import BuildError, Code
from setuptools_cuda.pipeline import Request

MODULE = """
[[tool.setuptools-cuda.kernel-module]]
module = "demo_kernels"
sources = ["src/saxpy.cu"]
"""


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write_project(tmp_path / "demo", TABLE + MODULE)


def view(root: Path, nvcc: Path, **variables: str) -> PlanView:
    environment = make_environment(root, search_path=[site_of(nvcc)], **{**STEPS, **variables})
    return make_view(Request(root, environment))


def test_jobs_and_files(project: Path, toolkit_nvcc: Path) -> None:
    plan = describe(view(project, toolkit_nvcc))
    assert plan["schema"] == 1
    assert plan["requirements"] == ["cuda-toolkit[nvcc,cccl]==13.0.*"]
    assert [(job["kind"], job["used_by"]) for job in plan["jobs"]] == [
        ("cuda", ["demo", "demo_kernels"]),
        ("link", ["demo"]),
    ]
    assert plan["jobs"][0]["argv"][-1] == "{out}"
    files = {each["destination"]: each["kind"] for each in plan["files"]}
    assert files["demo_kernels.py"] == "module"
    assert files["demo_kernels_images/src/saxpy.sm_90a.cubin"] == "image"
    assert [name for name, kind in files.items() if kind == "extension"] == [
        f"demo{sysconfig.get_config_var('EXT_SUFFIX')}"
    ]


def test_what_it_cannot_know_is_said(project: Path, toolkit_nvcc: Path) -> None:
    of_setup_py = "targets that setup.py declares are not seen here"
    notes = view(project, toolkit_nvcc).notes
    assert "extensions are planned with host commands of our own; a build takes setuptools'" in notes
    assert of_setup_py not in notes
    (project / "setup.py").touch()
    assert of_setup_py in view(project, toolkit_nvcc).notes


def test_an_installed_toolkit_asks_pip_for_nothing(project: Path, toolkit_nvcc: Path) -> None:
    assert view(project, toolkit_nvcc, CUDA_HOME=str(toolkit_nvcc.parent.parent)).requirements == ()


def test_nothing_is_asked_for_where_the_project_does_without(tmp_path: Path, toolkit_nvcc: Path) -> None:
    project = write_project(tmp_path / "demo", TABLE.replace("architectures", "required = false\narchitectures"))
    environment = make_environment(project, search_path=[site_of(toolkit_nvcc)])
    assert make_view(Request(project, environment)).requirements == ()


def test_the_command_writes_nothing(project: Path, tmp_path: Path, bare_environment: dict[str, str]) -> None:
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    env = {**bare_environment, **STEPS, "TMPDIR": str(scratch)}
    before = list_tree(project)
    ran = run_command("plan", cwd=project, env=env)
    assert (ran.status, ran.err) == (0, "")
    assert "src/saxpy.cu for sm_80, sm_90a, sm_120+PTX" in ran.out
    assert "from pip        cuda-toolkit[nvcc,cccl]==13.0.*" in ran.out
    assert "bin/nvcc -ccbin" not in ran.out
    assert "bin/nvcc -ccbin" in run_command("plan", "--commands", cwd=project, env=env).out
    assert json.loads(run_command("plan", "--json", cwd=project, env=env).out)["problems"] == []
    assert list_tree(project) == before
    assert list_tree(scratch) == {}
    assert list_tree(Path(env["HOME"])) == {}


def test_a_setting_counts(project: Path, bare_environment: dict[str, str]) -> None:
    ran = run_command("plan", "-C", "cuda.architectures=75", cwd=project, env={**bare_environment, **STEPS})
    assert "src/saxpy.cu for sm_75+PTX" in ran.out


def test_the_sample_package(toolkit_nvcc: Path) -> None:
    plan = describe(view(ROOT / "sample_pkg", toolkit_nvcc))
    assert {job["kind"] for job in plan["jobs"]} == {"cuda", "host", "archive", "link"}
    assert not (ROOT / "sample_pkg/build/setuptools-cuda/toolkit/new").exists()


def test_no_table(tmp_path: Path, bare_environment: dict[str, str]) -> None:
    ran = run_command("plan", cwd=tmp_path, env=bare_environment)
    assert ran.status == 2
    assert ran.err.startswith(f"error: {tmp_path}/pyproject.toml: there is no table [tool.setuptools-cuda]")


def test_a_wrong_table(tmp_path: Path, bare_environment: dict[str, str]) -> None:
    project = write_project(tmp_path / "demo", TABLE.replace("sources", "sorces"))
    ran = run_command("plan", cwd=project, env=bare_environment)
    assert (ran.status, ran.out) == (2, "")
    assert "did you mean 'sources'?" in ran.err
    ran = run_command("plan", "--json", cwd=project, env=bare_environment)
    assert (ran.status, ran.err) == (2, "")
    assert {problem["code"] for problem in json.loads(ran.out)["problems"]} == {"unknown-key", "missing-key"}


def test_no_toolkit(project: Path) -> None:
    with pytest.raises(BuildError) as caught:
        make_view(Request(project, make_environment(project, **STEPS)))
    assert caught.value.problems[0].code is Code.NO_COMPILER
    assert caught.value.status == 3


def test_a_project_that_cmake_builds(tmp_path: Path, toolkit_nvcc: Path) -> None:
    requires = '[build-system]\nrequires = ["scikit-build-core"]\nbuild-backend = "scikit_build_core.build"\n'
    (tmp_path / "pyproject.toml").write_text(f"{requires}[tool.setuptools-cuda]\narchitectures = ['80']\n", "utf-8")
    found = view(tmp_path, toolkit_nvcc)
    assert (found.summary, found.warnings) == ("CMake compiles", ())
    assert "what it compiles is not planned here" in " ".join(found.notes)
