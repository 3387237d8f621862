"""Debian's layout: a profile of absolute paths without a root, a wrapper in /usr/bin, headers elsewhere.

Its profiles of 11.8 and 12.4 set NVVMIR_LIBRARY_DIR, PATH and LIBRARIES, and neither TOP nor INCLUDES.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from toolchain_support import link_debian, link_tree, make_environment, make_settings, write_script

from setuptools_cuda.config.model import Project
from setuptools_cuda.environment import Environment
from setuptools_cuda.plan.options import profile_options, reproducible_options
from setuptools_cuda.process import run_tool
from setuptools_cuda.resolution.toolchain import resolve_toolchain
from setuptools_cuda.resolution.values import Toolchain


@pytest.fixture
def usr(toolkit_nvcc: Path, tmp_path: Path) -> Path:
    """Return a folder that holds what Debian's packages put into /usr."""
    return link_debian(toolkit_nvcc, tmp_path / "usr")


@pytest.fixture
def environment(usr: Path, toolkit_nvcc: Path, tmp_path: Path) -> Environment:
    """Return an environment in which the host compiler finds the headers by itself, as it does in /usr/include."""
    headers = toolkit_nvcc.parent.parent / "include"
    return make_environment(
        tmp_path, PATH=f"{usr / 'bin'}:/usr/bin:/bin", CPLUS_INCLUDE_PATH=f"{headers}:{headers / 'cccl'}"
    )


def resolve(tmp_path: Path, environment: Environment) -> Toolchain:
    return resolve_toolchain(make_settings(tmp_path), environment=environment, build_dir=tmp_path / "build")


def test_it_is_whole(usr: Path, environment: Environment, tmp_path: Path) -> None:
    found = resolve(tmp_path, environment)
    assert (found.step, found.nvcc) == ("path", usr / "bin/nvcc")
    assert found.root == usr / "lib/nvidia-cuda-toolkit"
    assert found.include_dirs == ()
    assert found.library_dirs == (usr / "lib/x86_64-linux-gnu", usr / "lib/x86_64-linux-gnu/stubs")
    assert found.farm is None


@pytest.mark.parametrize("root", ["", "lib/nvidia-cuda-toolkit"])
def test_both_folders_with_an_nvcc_will_do_as_cuda_home(
    usr: Path, environment: Environment, tmp_path: Path, root: str
) -> None:
    found = resolve(tmp_path, environment.with_variables({"CUDA_HOME": str(usr / root)}))
    assert (found.step, found.nvcc) == ("root-env", usr / root / "bin/nvcc")
    assert found.identity == resolve(tmp_path, environment).identity or root


def test_it_compiles(usr: Path, environment: Environment, tmp_path: Path) -> None:
    source = tmp_path / "k.cu"
    source.write_text("#include <cuda_fp16.h>\n__global__ void k(__half* x) { *x = 1; }\n", "utf-8")
    nvcc = str(resolve(tmp_path, environment).nvcc)
    argv = [nvcc, "-ccbin", "g++", "-arch=sm_80", "-shared", "-Xcompiler", "-fPIC", str(source), "-o", "k.so"]
    done = run_tool(argv, variables=environment.variables, cwd=tmp_path)
    assert done.ok, done.stderr


def test_an_nvcc_that_does_not_know_an_option_is_not_given_it(toolkit_nvcc: Path, tmp_path: Path) -> None:
    """nvcc up to 12.5 has no --frandom-seed, and 12.4 no --Ofast-compile."""
    root = link_tree(toolkit_nvcc.parent.parent, tmp_path / "cuda")
    environment = make_environment(tmp_path, CUDA_HOME=str(root))
    assert resolve(tmp_path, environment).lacks == ()
    helped = f"'{root}/bin/nvcc' --help | grep -v -e frandom -e Ofast"
    old = write_script(
        tmp_path / "nvcc", f'if [ "$1" = --help ]; then {helped}; else exec \'{root}/bin/nvcc\' "$@"; fi'
    )
    assert resolve(tmp_path, make_environment(tmp_path, NVCC=str(old))).lacks == (
        "--frandom-seed",
        "--Ofast-compile",
    )


@pytest.mark.parametrize(("lacks", "given"), [((), ("-Ofc=max",)), (("--Ofast-compile",), ())])
def test_a_development_build_goes_without_the_option(lacks: tuple[str, ...], given: tuple[str, ...]) -> None:
    assert profile_options(Project(profile="dev"), lacks=lacks) == given


@pytest.mark.parametrize("lacks", [(), ("--frandom-seed",)])
def test_a_plan_goes_without_the_option(lacks: tuple[str, ...]) -> None:
    options = reproducible_options("a.cu", key="k", keeping=True, lacks=lacks)
    assert ("--frandom-seed=a.cu.k" in options) is not bool(lacks)
    assert "--orig_src_path_name a.cu.k" in options
