"""Compilers that are missing, broken or incomplete: what was looked at is told, and what would help."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest
from bad_input_support import NOT_OF_THE_MACHINE, check_refusal, kernel_project, read_tree, refuse
from setuptools_support import (
    EXTENSION,
    EXTENSION_FILES,
    Installation,
    full_installation,
    pyproject,
    shared_installation,
    write_project,
)
from toolchain_support import link_site, link_tree


@pytest.fixture(scope="session")
def installation(shared_folder: Path, our_wheel: Path) -> Installation:
    return full_installation(shared_folder, our_wheel)


@pytest.fixture(scope="session")
def without_toolkit(shared_folder: Path, our_wheel: Path) -> Installation:
    return shared_installation(shared_folder / "without-toolkit", [our_wheel, "setuptools"])


@pytest.mark.parametrize(
    ("variables", "told"),
    [
        (
            {"CUDA_HOME": "/no/cuda"},
            [
                "CUDA_HOME=/no/cuda: there is no usable nvcc in it",
                "why  /no/cuda/bin/nvcc does not exist",
                "point it at a toolkit, or unset it",
            ],
        ),
        (
            {"NVCC": "/no/nvcc"},
            ["NVCC=/no/nvcc: this nvcc cannot be used", "why  /no/nvcc does not exist", "name an nvcc by its path"],
        ),
        (
            {"NVCC": "/bin/false"},
            ["NVCC=/bin/false: this nvcc cannot be used", "why  /bin/false does not run (status 1)"],
        ),
        (
            {"SETUPTOOLS_CUDA_NVCC": "nvcc-99"},
            ["SETUPTOOLS_CUDA_NVCC=nvcc-99: this nvcc cannot be used", "there is no program 'nvcc-99' on PATH"],
        ),
    ],
    ids=["CUDA_HOME", "NVCC-missing", "NVCC-broken", "NVCC-not-on-PATH"],
)
def test_a_compiler_that_is_set_and_unusable(
    installation: Installation, tmp_path: Path, variables: Mapping[str, str], told: Sequence[str]
) -> None:
    refuse(installation, kernel_project(tmp_path), told=told, **variables)


def test_no_compiler_anywhere(without_toolkit: Installation, tmp_path: Path) -> None:
    message = refuse(without_toolkit, kernel_project(tmp_path), **NOT_OF_THE_MACHINE)
    lines = [" ".join(line.split()) for line in message.splitlines()]
    assert lines[:8] == [
        "error: no CUDA compiler (nvcc) for kernel module 'demo.kernels'",
        "looked at nvcc setting not set",
        "NVCC, CUDACXX not set",
        "CUDA_HOME, CUDA_PATH, ... not set",
        "nvcc key not set",
        "nvidia-cuda-nvcc wheel not in this build environment",
        "CONDA_PREFIX not set",
        "PATH no nvcc",
    ]
    assert lines[8].startswith('to fix add "cuda-toolkit[nvcc,cccl]==13.0.*" to build-system.requires')
    assert "pip install 'cuda-toolkit[nvcc,cccl]==13.0.*'" in lines[8]
    assert lines[9] == "or point CUDA_HOME at a toolkit"


def test_a_toolkit_that_pip_does_not_have_is_told_before_anything_is_installed(
    without_toolkit: Installation, our_wheel: Path, tmp_path: Path
) -> None:
    project = kernel_project(tmp_path, project='cuda = "<13"\n')
    before = read_tree(project)
    command = ("-m", "pip", "wheel", "--no-deps", "--disable-pip-version-check", "--find-links", our_wheel.parent)
    # With isolation, where pip is asked for the toolkit.
    done = without_toolkit.run(*command, "--wheel-dir", "wheels", project, cwd=tmp_path, **NOT_OF_THE_MACHINE)
    assert "Getting requirements to build wheel" in done.output
    told = ["cuda", "<13", "PyPI has", "needed by  kernel module 'demo.kernels'"]
    check_refusal(done, project=project, before=before, told=told)


def test_no_host_compiler_for_kernels_and_no_nvrtc_that_does_without(
    installation: Installation, tmp_path: Path
) -> None:
    (tmp_path / "empty").mkdir()
    told = [
        "no device compiler for kernel module 'demo.kernels': it needs nvrtc",
        "there is no C++ compiler, which nvcc needs",
        "cuda-toolkit[cccl,crt,cudart,nvrtc]==13.0.*",
        "or install a C++ compiler",
    ]
    refuse(installation, kernel_project(tmp_path), told=told, PATH=str(tmp_path / "empty"))


def test_no_host_compiler_for_an_extension(installation: Installation, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    project = write_project(tmp_path / "project", {"pyproject.toml": pyproject(EXTENSION), **EXTENSION_FILES})
    told = [
        "no C++ compiler: nvcc needs one for everything that it does",
        "SETUPTOOLS_CUDA_HOST_COMPILER, NVCC_CCBIN, CUDAHOSTCXX, CXX: not set",
        f"PATH={tmp_path / 'empty'}: no c++, g++, clang++",
        "apt-get install g++",
    ]
    refuse(installation, project, told=told, PATH=str(tmp_path / "empty"))


PARTS = [
    (["include/cccl", "include/nv"], "cccl: no nv/target", "nvidia-cuda-cccl"),
    (["nvvm"], "nvvm: no cicc, no libdevice.10.bc", "nvidia-nvvm"),
]


@pytest.mark.parametrize(("without", "missing", "wheel"), PARTS, ids=["cccl", "nvvm"])
def test_a_toolkit_without_a_part(
    without_toolkit: Installation, toolkit_nvcc: Path, tmp_path: Path, without: list[str], missing: str, wheel: str
) -> None:
    root = link_tree(toolkit_nvcc.parent.parent, tmp_path / "cuda", without=without)
    told = [f"{root}: the toolkit lacks {missing.partition(':')[0]}", f"missing  {missing}", wheel]
    refuse(without_toolkit, kernel_project(tmp_path), told=told, CUDA_HOME=str(root))


@pytest.mark.parametrize(("without", "missing", "wheel"), PARTS, ids=["cccl", "nvvm"])
def test_toolkit_wheels_without_a_part(
    without_toolkit: Installation, toolkit_nvcc: Path, tmp_path: Path, without: list[str], missing: str, wheel: str
) -> None:
    link_site(toolkit_nvcc, tmp_path / "site", without=without)
    told = [f"missing  {missing}", f'require "cuda-toolkit[nvcc,cccl]==13.0.*": it brings {wheel}']
    project = kernel_project(tmp_path)
    refuse(without_toolkit, project, told=told, PYTHONPATH=str(tmp_path / "site"), **NOT_OF_THE_MACHINE)


def test_toolkit_wheels_of_different_releases_are_told_before_anything_is_compiled(
    without_toolkit: Installation, toolkit_nvcc: Path, tmp_path: Path
) -> None:
    link_site(toolkit_nvcc, tmp_path / "site", versions={"nvidia-nvvm": "13.5.20"})
    told = [
        "the toolkit wheels are of different releases: nvcc is 13.0, nvidia-nvvm not",
        "nvidia-nvvm 13.5.20",
        'require "cuda-toolkit[nvcc,cccl]==13.0.*" in place of nvidia-cuda-nvcc',
    ]
    project = kernel_project(tmp_path)
    message = refuse(without_toolkit, project, told=told, PYTHONPATH=str(tmp_path / "site"), **NOT_OF_THE_MACHINE)
    assert "command" not in message
    assert not list(project.glob("build/setuptools-cuda/*/objects/*"))


def test_a_library_of_cuda_that_the_toolkit_lacks(installation: Installation, tmp_path: Path) -> None:
    text = pyproject(EXTENSION + 'link = ["CUDA::cufft", "CUDA::cublas_static"]\n')
    project = write_project(tmp_path / "project", {"pyproject.toml": text, **EXTENSION_FILES})
    told = [
        "the toolkit has no CUDA::cufft, CUDA::cublas_static, CUDA::cublasLt_static",
        "libcufft.so",
        "pip install 'cuda-toolkit[cufft,culibos]==13.0.*', or add that to build-system.requires",
        "NVIDIA's wheels have no such static library",
    ]
    refuse(installation, project, told=told)


def test_what_the_steps_leave_out_is_no_advice(without_toolkit: Installation, tmp_path: Path) -> None:
    message = refuse(without_toolkit, kernel_project(tmp_path), SETUPTOOLS_CUDA_TOOLCHAIN_STEPS="conda")
    assert "add 'wheel' (a toolkit from pip) or 'root-env' (CUDA_HOME) to SETUPTOOLS_CUDA_TOOLCHAIN_STEPS" in message
    assert "build-system.requires" not in message
