"""What the driver's libraries say of it: real libraries, with the driver's functions."""

from __future__ import annotations

from pathlib import Path

import pytest
from cli_support import make_driver, make_library, make_nvml

from setuptools_cuda.resolution import driver
from setuptools_cuda.resolution.driver import Driver, find_driver, parse_cuda_number
from setuptools_cuda.resolution.values import Release


@pytest.fixture
def look(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Return a function that asks the libraries of a folder, which need not be there."""

    def find(cuda: Path = tmp_path / "none", nvml: Path = tmp_path / "none") -> Driver | None:
        monkeypatch.setattr(driver, "_CUDA", str(cuda / "libcuda.so.1"))
        monkeypatch.setattr(driver, "_NVML", str(nvml / "libnvidia-ml.so.1"))
        return find_driver()

    return find


def test_none(look) -> None:
    assert look() is None


def test_libcuda_alone(look, tmp_path: Path) -> None:
    folder = make_driver(tmp_path / "cuda", 12040)
    assert look(cuda=folder) == Driver(Release(12, 4), "", str(folder / "libcuda.so.1"))


def test_nvml_alone(look, tmp_path: Path) -> None:
    folder = make_nvml(tmp_path / "nvml", 13010)
    assert look(nvml=folder) == Driver(Release(13, 1), "580.159.03", str(folder / "libnvidia-ml.so.1"))


def test_libcuda_decides_and_nvml_adds_the_version(look, tmp_path: Path) -> None:
    """A libcuda that was put in front of the driver's own (CUDA's forward compatibility) is what loads code."""
    found = look(cuda=make_driver(tmp_path / "cuda", 13020), nvml=make_nvml(tmp_path / "nvml", 12080))
    assert (found.cuda, found.version) == (Release(13, 2), "580.159.03")


def test_an_nvml_that_does_not_start(look, tmp_path: Path) -> None:
    assert look(nvml=make_nvml(tmp_path / "nvml", 13000, status=9)) is None


def test_a_stub_is_no_driver(look, tmp_path: Path) -> None:
    """The stubs of toolkits give an error (34, CUDA_ERROR_STUB_LIBRARY), or have no such function."""
    refusing = make_library(tmp_path / "a", "libcuda.so.1", "int cuDriverGetVersion(int *v) { return 34; }")
    empty = make_library(tmp_path / "b", "libcuda.so.1", "int nothing;")
    assert look(cuda=refusing) is None
    assert look(cuda=empty, nvml=make_library(tmp_path / "c", "libnvidia-ml.so.1", "int nothing;")) is None


@pytest.mark.parametrize(
    ("number", "release"), [(13000, Release(13, 0)), (12040, Release(12, 4)), (13120, Release(13, 12)), (0, None)]
)
def test_numbers(number: int, release: Release | None) -> None:
    assert parse_cuda_number(number) == release
