"""What nvcc is told, held against a real nvcc."""

from __future__ import annotations

import itertools
import re
import subprocess
import sys

import pytest
from architectures_support import KNOWN, request

from setuptools_cuda.resolution.architecture_codes import (
    describe_codes,
    find_all,
    find_all_major,
    find_conflicts,
    render_gencode,
)
from setuptools_cuda.resolution.gpu import find_gpus


def test_arguments():
    assert render_gencode(request("120 80 90-virtual 90a").codes) == (
        "-gencode=arch=compute_80,code=sm_80",
        "-gencode=arch=compute_90,code=compute_90",
        "-gencode=arch=compute_90a,code=sm_90a",
        "-gencode=arch=compute_120,code=sm_120",
    )
    assert render_gencode(request("80 120").codes)[-1] == "-gencode=arch=compute_120,code=[sm_120,compute_120]"


def test_order_does_not_matter():
    codes = request("80 90a 120").codes
    assert {render_gencode(order) for order in itertools.permutations(codes)} == {render_gencode(codes)}


def test_titles():
    assert describe_codes(request("120 80 90a 75-virtual").codes) == "compute_75, sm_80, sm_90a, sm_120"
    assert describe_codes(request("80 90a 120").codes) == "sm_80, sm_90a, sm_120+PTX"


@pytest.fixture
def nvcc(toolkit_nvcc, bare_environment, tmp_path):
    """Return a function that says what a dry run of nvcc prints, and its status."""
    (tmp_path / "k.cu").write_text("__global__ void k() {}\n")

    def run(*arguments: str) -> tuple[int, str]:
        done = subprocess.run(
            [toolkit_nvcc, *arguments], cwd=tmp_path, env=bare_environment, capture_output=True, text=True, check=False
        )
        return done.returncode, done.stdout + done.stderr

    return run


def list_images(output: str) -> list[str]:
    return sorted(set(re.findall(r"kind=elf,sm=(\d+)", output)), key=int)


def test_all_and_all_major_are_those_of_nvcc(nvcc):
    numbers = re.findall(r"sm_(\d+)", nvcc("--list-gpu-code")[1])
    known = [one for one in KNOWN if str(one.number) in numbers]
    for word, find in (("all", find_all), ("all-major", find_all_major)):
        status, output = nvcc("--dryrun", f"-arch={word}", "-c", "k.cu")
        assert status == 0
        assert list_images(output) == [str(one) for one in find(known)]


def test_pairs_are_refused_exactly_where_nvcc_refuses_them(nvcc):
    """Every pair of one major number: a dry run takes 5 ms, and compiles nothing."""
    wrong = []
    for major in (9, 10):
        same = [str(one) for one in KNOWN if one.major == major]
        words = [*same, *(f"{one}-virtual" for one in same if one.endswith("f"))]
        for pair in itertools.combinations(words, 2):
            codes = request(" ".join(pair)).codes
            status, output = nvcc("--dryrun", *render_gencode(codes), "-c", "k.cu")
            if (status != 0) != bool(find_conflicts(codes, where="")):
                wrong.append((pair, output))
    assert wrong == []


def test_the_arguments_compile(nvcc, tmp_path):
    status, output = nvcc(*render_gencode(request("80 90a 90-virtual 100f").codes), "-c", "k.cu", "-o", "k.o")
    assert (status, output) == (0, "")
    assert (tmp_path / "k.o").stat().st_size > 0


FAKE_NVML = """
class NVMLError(Exception):
    pass

def nvmlInit():
    {init}

def nvmlShutdown():
    pass

def nvmlDeviceGetCount():
    return 2

def nvmlDeviceGetHandleByIndex(index):
    return index

def nvmlDeviceGetCudaComputeCapability(handle):
    return [(9, 0), (12, 1)][handle]
"""


@pytest.fixture
def nvml(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    monkeypatch.delitem(sys.modules, "pynvml", raising=False)
    yield lambda init: (tmp_path / "pynvml.py").write_text(FAKE_NVML.format(init=init))
    sys.modules.pop("pynvml", None)


def test_gpus_by_nvml(nvml):
    nvml("pass")
    assert [str(one) for one in find_gpus()] == ["90", "121"]


def test_gpus_by_the_driver_where_nvml_fails(nvml, monkeypatch, tmp_path):
    """A driver of our own, that really is a library with the driver's functions."""
    nvml("raise NVMLError('no NVML here')")
    source = """
    int cuInit(unsigned flags) { return 0; }
    int cuDeviceGetCount(int *count) { *count = 1; return 0; }
    int cuDeviceGet(int *device, int ordinal) { *device = 7; return ordinal != 0; }
    int cuDeviceGetAttribute(int *value, int what, int device) {
        *value = what == 75 ? 8 : what == 76 ? 6 : -1; return device != 7; }
    """
    (tmp_path / "driver.c").write_text(source)
    subprocess.run(["gcc", "-shared", "-fPIC", "driver.c", "-o", "libfake.so"], cwd=tmp_path, check=True)
    monkeypatch.setattr("setuptools_cuda.resolution.gpu._DRIVER", str(tmp_path / "libfake.so"))
    assert [str(one) for one in find_gpus()] == ["86"]
