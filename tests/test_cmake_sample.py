"""The sample package by CMake and nanobind: what setuptools makes of the same sources is in the wheel."""

from __future__ import annotations

import json
import shutil
import sys
import zipfile
from pathlib import Path

import pytest
from conftest import only_one_worker
from sample_support import copy_of_sample
from scikit_build_support import list_code, scikit_installation
from setuptools_support import Installation, wheel_names
from test_sample import FILES as SETUPTOOLS_FILES
from test_sample import SUFFIX

OVERLAY = Path(__file__).parent / "scikit_build_sample"
TAG = f"cp{sys.version_info[0]}{sys.version_info[1]}"
OWN_SUFFIX = f".cpython-{TAG[2:]}-x86_64-linux-gnu.so"
# What setuptools adds, and what stands beside a library of the table.
LEFT_OUT = ("dist-info/top_level.txt", "Config.cmake", ".pc")
FILES = sorted(name.replace(SUFFIX, OWN_SUFFIX) for name in SETUPTOOLS_FILES if not name.endswith(LEFT_OUT))
# Built by CMake: not the same bytes, but the same code in them.
OTHER = {"METADATA", "RECORD", "WHEEL", "setuptools_cuda.json", "libsample.a", f"_native{OWN_SUFFIX}"}


@pytest.fixture
def skbuild(shared_folder: Path, our_wheel: Path) -> Installation:
    return scikit_installation(shared_folder, our_wheel)


@pytest.fixture
def by_cmake(shared_folder: Path, skbuild: Installation) -> Path:
    """Return the wheel that scikit-build-core makes."""
    folder = shared_folder / "cmake-sample"
    folder.mkdir(exist_ok=True)
    root = folder / "sample_pkg"
    with only_one_worker(folder):
        if not root.exists():
            copy_of_sample(folder)
            shutil.copytree(OVERLAY, root, dirs_exist_ok=True)
            # Host code without optimisation compiles in half the time; nothing of the device's differs.
            skbuild.wheel(root, settings={"cmake.build-type": "Debug"})
    (wheel,) = (root / "dist").glob("*.whl")
    return wheel


@pytest.fixture
def by_setuptools(sample_build: Path) -> Path:
    (wheel,) = (sample_build / "wheels").glob("*.whl")
    return wheel


def read(wheel: Path, name: str) -> bytes:
    with zipfile.ZipFile(wheel) as archive:
        return archive.read(name)


def test_the_wheel_holds_exactly_this(by_cmake: Path) -> None:
    assert by_cmake.name == f"sample_pkg-0.1.0-{TAG}-{TAG}-linux_x86_64.whl"
    assert wheel_names(by_cmake) == FILES


def test_module_and_images_are_the_same_bytes(by_cmake: Path, by_setuptools: Path) -> None:
    same = [name for name in FILES if name.rpartition("/")[2] not in OTHER]
    assert "sample_pkg/kernels.py" in same
    assert [name for name in same if read(by_cmake, name) != read(by_setuptools, name)] == []


def test_the_manifest_says_the_same_of_the_kernels(by_cmake: Path, by_setuptools: Path) -> None:
    name = "sample_pkg-0.1.0.dist-info/setuptools_cuda.json"
    ours, theirs = json.loads(read(by_cmake, name)), json.loads(read(by_setuptools, name))
    theirs["artifacts"] = [one for one in theirs["artifacts"] if one["kind"] == "image"]
    theirs["libraries"] = []
    assert ours == theirs


def test_extension_and_library_hold_the_same_code(
    by_cmake: Path, by_setuptools: Path, skbuild: Installation, tmp_path: Path
) -> None:
    def code(wheel: Path, name: str) -> list[str]:
        file = tmp_path / Path(name).name
        file.write_bytes(read(wheel, name))
        return list_code(file, installation=skbuild)

    found = code(by_cmake, f"sample_pkg/_native{OWN_SUFFIX}")
    assert found == code(by_setuptools, f"sample_pkg/_native{SUFFIX}")
    assert sorted(set(found)) == ["sm_120.cubin", "sm_120.ptx", "sm_80.cubin", "sm_90.cubin", "sm_90.ptx"]
    library = "sample_pkg/lib/libsample.a"
    assert code(by_cmake, library) == code(by_setuptools, library)


def test_the_package_checks_itself(by_cmake: Path, skbuild: Installation, tmp_path: Path) -> None:
    with zipfile.ZipFile(by_cmake) as archive:
        archive.extractall(tmp_path)
    said = skbuild.succeed("-m", "sample_pkg", cwd=tmp_path)
    assert "all checks passed, on the " in said
    assert "built by nvcc 13.0.88" in said
