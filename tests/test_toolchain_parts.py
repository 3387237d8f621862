"""A toolkit that lacks a part, or is mixed of releases, is told so before anything is compiled."""

from __future__ import annotations

from pathlib import Path

import pytest
from toolchain_support import link_site, link_tree, make_environment, make_settings, site_of

from setuptools_cuda.environment import Environment
from setuptools_cuda.errors import BuildError, Code, Problem
from setuptools_cuda.resolution.toolchain import resolve_toolchain
from setuptools_cuda.resolution.values import Release
from setuptools_cuda.resolution.wheels import find_site, parse_release

MISSING = [
    ("crt", ["include/crt"], "nvidia-cuda-crt", "crt/host_config.h"),
    ("nvvm", ["nvvm/bin"], "nvidia-nvvm", "cicc"),
    ("nvvm", ["nvvm/libdevice"], "nvidia-nvvm", "libdevice.10.bc"),
    ("cccl", ["include/cccl", "include/nv"], "nvidia-cuda-cccl", "nv/target"),
    ("cudart", ["include/cuda_runtime.h"], "nvidia-cuda-runtime", "cuda_runtime.h"),
    ("cudart", ["lib/libcudart_static.a"], "nvidia-cuda-runtime", "libcudart_static.a"),
]


def problems_of(tmp_path: Path, environment: Environment, **project: object) -> tuple[Problem, ...]:
    with pytest.raises(BuildError) as caught:
        resolve_toolchain(make_settings(tmp_path, **project), environment=environment, build_dir=tmp_path / "build")
    return caught.value.problems


def next_minor(version: str) -> str:
    major, minor = version.split(".")[:2]
    return f"{major}.{int(minor) + 5}.37"


def version_of(toolkit_nvcc: Path) -> str:
    (info,) = site_of(toolkit_nvcc).glob("nvidia_cuda_nvcc-*.dist-info")
    return info.name.removesuffix(".dist-info").partition("-")[2]


@pytest.mark.parametrize(("part", "without", "wheel", "file"), MISSING, ids=str)
def test_a_part_of_the_wheels(
    tmp_path: Path, toolkit_nvcc: Path, part: str, without: list[str], wheel: str, file: str
) -> None:
    site = tmp_path / "site"
    link_site(toolkit_nvcc, site, without=without)
    (problem,) = problems_of(tmp_path, make_environment(tmp_path, search_path=[site]))
    assert problem.code is Code.PARTIAL_TOOLKIT
    assert problem.what == f"the toolkit lacks {part}"
    assert problem.where == str(site / "nvidia/cu13")
    assert dict(problem.details)["missing"] == f"{part}: no {file}"
    release = ".".join(version_of(toolkit_nvcc).split(".")[:2])
    assert problem.fix == (
        f'require "cuda-toolkit[nvcc,cccl]=={release}.*": it brings {wheel}, of the same release, into the same folder',
    )


def test_all_parts_at_once(tmp_path: Path, toolkit_nvcc: Path) -> None:
    without = [path for _, paths, _, _ in MISSING for path in paths]
    link_site(toolkit_nvcc, tmp_path / "site", without=without)
    (problem,) = problems_of(tmp_path, make_environment(tmp_path, search_path=[tmp_path / "site"]))
    assert problem.what == "the toolkit lacks crt, nvvm, cccl, cudart"


def test_the_static_runtime_is_not_missed_where_it_is_not_linked(tmp_path: Path, toolkit_nvcc: Path) -> None:
    link_site(toolkit_nvcc, tmp_path / "site", without=["lib/libcudart_static.a"])
    settings = make_settings(tmp_path, cudart="none")
    environment = make_environment(tmp_path, search_path=[tmp_path / "site"])
    assert resolve_toolchain(settings, environment=environment, build_dir=tmp_path / "build").from_wheel


def test_a_part_in_another_environment_is_said(tmp_path: Path, toolkit_nvcc: Path) -> None:
    """pip's isolation keeps static and dynamic requirements in two folders, overlay and normal."""
    site = tmp_path / "overlay"
    link_site(toolkit_nvcc, site, without=["include/cccl", "include/nv"])
    environment = make_environment(tmp_path, search_path=[site, site_of(toolkit_nvcc)])
    (problem,) = problems_of(tmp_path, environment)
    note = dict(problem.details)["note"]
    assert note == f"nvidia-cuda-cccl is in {site_of(toolkit_nvcc)}, where nvcc does not look"


def test_a_part_of_an_installed_toolkit(tmp_path: Path, toolkit_nvcc: Path) -> None:
    root = link_tree(toolkit_nvcc.parent.parent, tmp_path / "cuda", without=["include/crt"])
    (problem,) = problems_of(tmp_path, make_environment(tmp_path, CUDA_HOME=str(root)))
    assert (problem.code, problem.where) == (Code.PARTIAL_TOOLKIT, str(root))
    assert problem.fix[0].startswith("install the whole of toolkit ")


def test_a_part_of_conda(tmp_path: Path, toolkit_nvcc: Path) -> None:
    root = link_tree(toolkit_nvcc.parent.parent, tmp_path / "env", without=["include/crt", "nvvm"])
    (problem,) = problems_of(tmp_path, make_environment(tmp_path, CONDA_PREFIX=str(root)))
    assert problem.fix[0].startswith("conda install -c conda-forge cuda-crt cuda-nvvm cuda-version=")


@pytest.mark.parametrize("wheel", ["nvidia-nvvm", "nvidia-cuda-crt", "nvidia-cuda-runtime"])
def test_mixed_releases(tmp_path: Path, toolkit_nvcc: Path, wheel: str) -> None:
    mine = version_of(toolkit_nvcc)
    other = next_minor(mine)
    link_site(toolkit_nvcc, tmp_path / "site", versions={wheel: other})
    (problem,) = problems_of(tmp_path, make_environment(tmp_path, search_path=[tmp_path / "site"]))
    assert problem.code is Code.MIXED_RELEASES
    assert f"{wheel} not" in problem.what
    found = dict(problem.details)["found"].splitlines()
    assert f"nvidia-cuda-nvcc {mine}" in found
    assert f"{wheel} {other}" in found
    assert "cuda-toolkit[nvcc,cccl]==" in problem.fix[0]


def test_cccl_has_a_version_of_its_own(tmp_path: Path, toolkit_nvcc: Path) -> None:
    link_site(toolkit_nvcc, tmp_path / "site", versions={"nvidia-cuda-cccl": "13.3.5.0.6"})
    environment = make_environment(tmp_path, search_path=[tmp_path / "site"])
    assert resolve_toolchain(make_settings(tmp_path), environment=environment, build_dir=tmp_path / "b").from_wheel


def test_a_mixture_is_found_however_its_nvcc_was_named(tmp_path: Path, toolkit_nvcc: Path) -> None:
    other = next_minor(version_of(toolkit_nvcc))
    nvcc = link_site(toolkit_nvcc, tmp_path / "site", versions={"nvidia-nvvm": other})
    (problem,) = problems_of(tmp_path, make_environment(tmp_path, NVCC=str(nvcc)))
    assert problem.code is Code.MIXED_RELEASES


def test_a_site_needs_the_metadata_of_the_wheels(tmp_path: Path, toolkit_nvcc: Path) -> None:
    nvcc = link_site(toolkit_nvcc, tmp_path / "site")
    assert find_site(nvcc.parent.parent) == tmp_path / "site"
    copied = link_tree(toolkit_nvcc.parent.parent, tmp_path / "copied/nvidia/cu13")
    assert find_site(copied) is None
    assert find_site(tmp_path / "site/nvidia") is None


@pytest.mark.parametrize(
    ("version", "release"),
    [("13.0.88", Release(13, 0)), ("13.5", Release(13, 5)), ("13.3.5.0.6", Release(13, 3)), ("what", None)],
)
def test_release_of_a_version(version: str, release: Release | None) -> None:
    assert parse_release(version) == release
