"""Where CMake runs at all, and folders of it that are kept from one build to the next."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from scikit_build_support import BACKEND, KERNEL_FILES, TABLE, scikit_installation
from setuptools_support import Installation, write_project


@pytest.fixture
def skbuild(shared_folder: Path, our_wheel: Path) -> Installation:
    return scikit_installation(shared_folder, our_wheel)


def test_an_sdist_for_which_cmake_runs(skbuild: Installation, tmp_path: Path) -> None:
    table = "sdist.cmake = true\n" + TABLE
    root = write_project(tmp_path / "demo", {"pyproject.toml": BACKEND + table, **KERNEL_FILES})
    assert skbuild.sdist_names(root) == {"PKG-INFO", "pyproject.toml", *KERNEL_FILES}
    steps = {"SETUPTOOLS_CUDA_TOOLCHAIN_STEPS": "path,pip", "PATH": "/nowhere"}
    requirements, _ = skbuild.made("get_requires_for_build_sdist", root, **steps)
    assert "cuda-toolkit[nvcc,cccl]==13.0.*" in str(requirements)


def test_a_kept_folder_of_another_compiler_is_configured_anew(skbuild: Installation, tmp_path: Path) -> None:
    cmake = (
        "cmake_minimum_required(VERSION 3.25)\nproject(demo LANGUAGES CUDA)\n"
        'message(STATUS "for ${CMAKE_CUDA_ARCHITECTURES}, ${CMAKE_BUILD_TYPE}, with ${CMAKE_CUDA_COMPILER}")\n'
        'message(STATUS "host ${CMAKE_CUDA_HOST_COMPILER}")\n'
    )
    files = {"pyproject.toml": BACKEND + 'build-dir = "b/{wheel_tag}"\n' + TABLE, "CMakeLists.txt": cmake}
    root = write_project(tmp_path / "demo", {**files, "demo/__init__.py": ""})
    said = [skbuild.made("build_wheel", root)[1] for _ in range(2)]
    farm = root / "build/setuptools-cuda/toolkit"
    other = shutil.copytree(farm, tmp_path / "other", symlinks=True)
    said.append(skbuild.made("build_wheel", root, CUDACXX=f"{other}/bin/nvcc")[1])
    # A newer release at the same path, which CMake does not see.
    (info,) = (root / "b").glob("*/CMakeFiles/*/CMakeCUDACompiler.cmake")
    info.write_text(info.read_text().replace('VERSION "13.0.88"', 'VERSION "13.0.48"'))
    said.append(skbuild.made("build_wheel", root, CUDACXX=f"{other}/bin/nvcc")[1])
    host = {"CUDACXX": f"{other}/bin/nvcc", "SETUPTOOLS_CUDA_HOST_COMPILER": "/usr/bin/g++"}
    said.append(skbuild.made("build_wheel", root, **host)[1])
    assert "-- host /usr/bin/g++\n" in said[-1]
    for text, folder in zip(said, (farm, farm, other, other, other), strict=True):
        assert f"-- for 80-real;80-virtual, Release, with {folder}/bin/nvcc\n" in text
        assert "You have changed variables" not in text
    anew = ["is configured anew: it was made with another CUDA compiler\n" in text for text in said]
    assert anew == [False, False, True, True, True]


def test_a_wheel_without_cmake_needs_no_toolchain(skbuild: Installation, tmp_path: Path) -> None:
    root = write_project(
        tmp_path / "demo", {"pyproject.toml": BACKEND + "wheel.cmake = false\n" + TABLE, "demo/__init__.py": ""}
    )
    assert skbuild.wheel(root, SETUPTOOLS_CUDA_TOOLCHAIN_STEPS="setting").name == "demo-1.0-py3-none-any.whl"
