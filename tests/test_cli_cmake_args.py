"""What cmake-args prints configures a project by hand, whatever the paths."""

from __future__ import annotations

import shlex
from pathlib import Path

import pytest
from cli_support import STEPS, TABLE, list_tree, run_command, write_project
from toolchain_support import link_tree

CMAKE = """\
cmake_minimum_required(VERSION 3.25)
project(demo LANGUAGES NONE)
message(STATUS "toolkit=${CUDAToolkit_ROOT} compiler=${CMAKE_CUDA_COMPILER} for ${CMAKE_CUDA_ARCHITECTURES} A=${A}")
find_package(SetuptoolsCuda REQUIRED)
"""
MORE = '[tool.setuptools-cuda.cmake.define]\nA = "{architectures:torch} ]=] $x `y`"\n'


def test_the_arguments(tmp_path: Path, bare_environment: dict[str, str]) -> None:
    project = write_project(tmp_path / "demo", TABLE + MORE)
    ran = run_command("cmake-args", cwd=project, env={**bare_environment, **STEPS})
    assert (ran.status, ran.err) == (0, "")
    farm = project / "build/setuptools-cuda/toolkit"
    words = shlex.split(ran.out)
    assert words[:4] == [
        f"-DCMAKE_CUDA_COMPILER={farm}/bin/nvcc",
        "-DCMAKE_CUDA_HOST_COMPILER=/usr/bin/c++",
        "-DCMAKE_CUDA_ARCHITECTURES=80-real;90a-real;120-real;120-virtual",
        f"-DCUDAToolkit_ROOT={farm}",
    ]
    assert words[4:-1] == ["-DA=8.0;9.0a;12.0+PTX ]=] $x `y`"]
    assert words[-1].startswith("-DSetuptoolsCuda_DIR=/")
    assert (farm / "bin/nvcc").exists()


@pytest.mark.parametrize("name", ["demo", "it's a ]] b;c"])
def test_a_cache_script_survives_any_folder(
    tmp_path: Path, toolkit_nvcc: Path, bare_environment: dict[str, str], name: str
) -> None:
    root = link_tree(toolkit_nvcc.parent.parent, tmp_path / name / "cuda")
    project = write_project(tmp_path / name / "project", TABLE + MORE)
    (project / "CMakeLists.txt").write_text(CMAKE)
    env = {**bare_environment, **STEPS, "CUDA_HOME": str(root)}
    ran = run_command("cmake-args", "--cache", "cuda.cmake", cwd=project, env=env)
    assert (ran.status, ran.out) == (0, "")
    assert "set(CMAKE_CUDA_COMPILER [=[" in (project / "cuda.cmake").read_text()


def test_quotes_at_both_ends_reach_cmake(tmp_path: Path, bare_environment: dict[str, str]) -> None:
    flags = """flags.cuda = ["-DA='x y'", '-DB="x y"']\n"""
    project = write_project(tmp_path / "demo", f'[tool.setuptools-cuda]\narchitectures = ["80"]\n{flags}')
    ran = run_command("cmake-args", cwd=project, env={**bare_environment, **STEPS})
    (given,) = (word for word in shlex.split(ran.out) if word.startswith("-DCMAKE_CUDA_FLAGS="))
    # CMake takes one pair of ' away (its source, cmCacheManager::ParseEntry), and nvcc's words are left.
    value = given.partition("=")[2]
    assert (value[0], value[-1]) == ("'", "'")
    assert shlex.split(value[1:-1]) == ["-DA='x y'", '-DB="x y"']


def test_the_project_above_is_named(tmp_path: Path, bare_environment: dict[str, str]) -> None:
    project = write_project(tmp_path / "demo")
    env = {**bare_environment, **STEPS}
    for command in ("cmake-args", "env"):
        ran = run_command(command, cwd=project / "src", env=env)
        assert f"note: {project}/pyproject.toml is not read: it is the current folder that counts\n" in ran.err


def test_no_toolchain_is_told(tmp_path: Path, bare_environment: dict[str, str]) -> None:
    project = write_project(tmp_path / "demo")
    before = list_tree(tmp_path)
    env = {**bare_environment, "SETUPTOOLS_CUDA_TOOLCHAIN_STEPS": "setting"}
    ran = run_command("cmake-args", cwd=project, env=env)
    assert (ran.status, ran.out) == (3, "")
    assert "error: no CUDA compiler (nvcc)" in ran.err
    assert list_tree(tmp_path) == before


def test_without_a_project(tmp_path: Path, bare_environment: dict[str, str]) -> None:
    ran = run_command("cmake-args", "-C", "cuda.architectures=90", cwd=tmp_path, env={**bare_environment, **STEPS})
    assert "-DCMAKE_CUDA_ARCHITECTURES=90-real;90-virtual" in shlex.split(ran.out)
    assert "/.cache/setuptools-cuda/toolkits/" in ran.out
    assert list(tmp_path.iterdir()) == []
