"""The variables that env prints are what a shell, nvcc and our own resolution read in them."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from architectures_support import request, resolve, show
from cli_support import STEPS, TABLE, Ran, list_tree, run_command, write_project
from toolchain_support import link_tree, write_script

from setuptools_cuda.resolution.architecture_spellings import spell_for_cmake, spell_for_torch

Bare = dict[str, str]


def evaluate(ran: Ran, command: str, *, cwd: Path, env: Bare) -> str:
    """Return what ``command`` prints in a shell that has read the exports."""
    done = subprocess.run(
        ["sh", "-c", f"{ran.out}{command}"], cwd=cwd, env=env, capture_output=True, text=True, check=True
    )
    return done.stdout.strip()


def test_a_compile_with_nothing_but_the_exports(tmp_path: Path, bare_environment: Bare) -> None:
    project = write_project(tmp_path / "demo")
    ran = run_command("env", cwd=project, env={**bare_environment, **STEPS})
    farm = project / "build/setuptools-cuda/toolkit"
    assert ran.status == 0
    assert ran.err == f"note: {farm} holds links to the toolkit's wheels\n"
    command = (
        'nvcc -shared -Xcompiler -fPIC -cudart shared src/saxpy.cu -o x.so && echo "$CUDA_HOME $(command -v nvcc)"'
    )
    assert evaluate(ran, command, cwd=project, env=bare_environment) == f"{farm} {farm}/bin/nvcc"
    assert (project / "x.so").stat().st_size > 0


def test_every_variable(tmp_path: Path, bare_environment: Bare) -> None:
    project = write_project(tmp_path / "demo")
    ran = run_command("env", cwd=project, env={**bare_environment, **STEPS})
    names = [line.removeprefix("export ").partition("=")[0] for line in ran.out.splitlines()]
    assert names == [
        "CUDA_HOME", "CUDA_PATH", "CUDAToolkit_ROOT", "CUDACXX", "CUDAHOSTCXX", "NVCC_CCBIN",
        "CUDAARCHS", "TORCH_CUDA_ARCH_LIST", "PATH",
    ]  # fmt: skip
    assert evaluate(ran, 'echo "$CUDAARCHS"', cwd=project, env=bare_environment) == (
        "80-real;90a-real;120-real;120-virtual"
    )
    assert evaluate(ran, 'echo "$TORCH_CUDA_ARCH_LIST"', cwd=project, env=bare_environment) == "8.0;9.0a;12.0+PTX"


@pytest.mark.parametrize("name", ["a b", "it's", "$HOME `id` \\n", "grün", "#;&"])
def test_any_folder_survives_the_shell(tmp_path: Path, toolkit_nvcc: Path, bare_environment: Bare, name: str) -> None:
    root = link_tree(toolkit_nvcc.parent.parent, tmp_path / name)
    env = {**bare_environment, **STEPS, "CUDA_HOME": str(root)}
    ran = run_command("env", cwd=tmp_path, env=env)
    assert ran.status == 0
    script = ran.out.encode("utf-8", "surrogateescape") + b'printf %s "$CUDA_HOME"'
    done = subprocess.run(["sh", "-c", script], env=bare_environment, capture_output=True, check=True)
    assert done.stdout.decode("utf-8", "surrogateescape") == str(root)


@pytest.mark.parametrize("name", ['say "hi"', "new\nline", "\udcff"])
def test_a_folder_that_nvcc_cannot_name_is_an_error(
    tmp_path: Path, toolkit_nvcc: Path, bare_environment: Bare, name: str
) -> None:
    root = link_tree(toolkit_nvcc.parent.parent, tmp_path / name)
    ran = run_command("env", cwd=tmp_path, env={**bare_environment, **STEPS, "CUDA_HOME": str(root)})
    assert (ran.status, ran.out) == (3, "")
    assert "nvcc cannot name the folder of its own toolkit" in ran.err


def test_a_toolkit_that_is_whole_is_named_and_nothing_written(
    tmp_path: Path, toolkit_nvcc: Path, bare_environment: Bare
) -> None:
    project = write_project(tmp_path / "demo")
    root = link_tree(toolkit_nvcc.parent.parent, tmp_path / "cuda")
    before = list_tree(project)
    path = f"{root / 'bin'}:/usr/bin:/bin"
    env = {**bare_environment, **STEPS, "CUDA_HOME": str(root), "PATH": path}
    ran = run_command("env", cwd=project, env=env)
    assert f"export CUDACXX={root}/bin/nvcc\n" in ran.out
    assert "export PATH" not in ran.out
    assert list_tree(project) == before


def test_a_launcher(tmp_path: Path, toolkit_nvcc: Path, bare_environment: Bare) -> None:
    write_script(tmp_path / "bin/ccache", 'exec "$@"')
    env = {**bare_environment, **STEPS, "NVCC": f"ccache {toolkit_nvcc}", "PATH": f"{tmp_path / 'bin'}:/usr/bin:/bin"}
    ran = run_command("env", cwd=write_project(tmp_path / "demo"), env=env)
    assert "export CMAKE_CUDA_COMPILER_LAUNCHER=ccache\n" in ran.out


def test_without_a_project_links_are_kept_in_the_users_cache(tmp_path: Path, bare_environment: Bare) -> None:
    (tmp_path / "here").mkdir()
    env = {**bare_environment, **STEPS, "XDG_CACHE_HOME": str(tmp_path / "cache")}
    ran = run_command("env", cwd=tmp_path / "here", env=env)
    assert ran.out.startswith(f"export CUDA_HOME={tmp_path}/cache/setuptools-cuda/toolkits/")
    assert list_tree(tmp_path / "here") == {}


def test_no_toolkit(tmp_path: Path, bare_environment: Bare) -> None:
    env = {**bare_environment, "SETUPTOOLS_CUDA_TOOLCHAIN_STEPS": "path"}
    ran = run_command("env", cwd=write_project(tmp_path / "demo"), env=env)
    assert (ran.status, ran.out) == (3, "")
    assert "error: no CUDA compiler (nvcc)" in ran.err


def test_a_wrong_table(tmp_path: Path, bare_environment: Bare) -> None:
    project = write_project(tmp_path / "demo", TABLE.replace("sources", "sorces"))
    assert run_command("env", cwd=project, env=bare_environment).status == 2


@pytest.mark.parametrize(
    ("words", "cmake", "torch"),
    [
        ("80 120 90a", "80-real;90a-real;120-real;120-virtual", "8.0;9.0a;12.0+PTX"),
        ("80-real 90-virtual", "80-real;90-virtual", "8.0;9.0+PTX"),
        ("8.0+PTX 100f", "80-real;80-virtual;100f-real", "8.0+PTX;10.0f"),
    ],
)
def test_spellings(words: str, cmake: str, torch: str) -> None:
    codes = request(words).codes
    assert (spell_for_cmake(codes), spell_for_torch(codes)) == (cmake, torch)
    assert show(resolve(variables={"CUDAARCHS": cmake}).codes) == show(codes)
