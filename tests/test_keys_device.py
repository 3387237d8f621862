"""Keys that decide by what kernels are compiled, and of what: seen in one wheel."""

from __future__ import annotations

from pathlib import Path

import pytest
from keys_support import HEAD, Wheel, keys_installation, shows, wheel_once
from setuptools_support import Installation

TABLE = """
architectures = ["80"]
device-compiler = "nvrtc"

[[tool.setuptools-cuda.kernel-module]]
module = "demo.by_project"
sources = ["k.cu"]

[[tool.setuptools-cuda.kernel-module]]
module = "demo.by_module"
sources = ["k.cu"]
device-compiler = "nvcc"

[[tool.setuptools-cuda.kernel-module]]
module = "demo.by_override"
sources = ["k.cu"]

[[tool.setuptools-cuda.override]]
target = "demo.by_override"
match = "k.cu"
device-compiler = "nvcc"
defines = ["OVERRIDDEN"]

[[tool.setuptools-cuda.kernel-module]]
module = "demo.instances"
sources = ["template.cu"]
instantiate = ["scale<float>", "scale<int>"]

[[tool.setuptools-cuda.kernel-module]]
module = "demo.linked"
sources = ["calls.cu", "called.cu"]
device-link = "build"
"""
FILES = {
    "pyproject.toml": HEAD + TABLE,
    "k.cu": """\
#if defined(__CUDACC_RTC__)
extern "C" __global__ void by_nvrtc() {}
#elif defined(OVERRIDDEN)
extern "C" __global__ void by_nvcc_overridden() {}
#else
extern "C" __global__ void by_nvcc() {}
#endif
""",
    "template.cu": "template <class T> __global__ void scale(T* x, T a) { x[threadIdx.x] *= a; }\n",
    "calls.cu": 'extern __device__ int twice(int);\nextern "C" __global__ void calls(int* x) { *x = twice(*x); }\n',
    "called.cu": "__device__ int twice(int x) { return 2 * x; }\n",
}


@pytest.fixture(scope="session")
def installation(shared_folder: Path, our_wheel: Path) -> Installation:
    return keys_installation(shared_folder, our_wheel)


@pytest.fixture(scope="session")
def wheel(installation: Installation, shared_folder: Path) -> Wheel:
    return wheel_once(installation, shared_folder / "keys-device", FILES)


@shows("project.device-compiler", "kernel-module.device-compiler", "override.device-compiler")
def test_device_compiler_of_the_override_goes_before_that_of_the_module_and_that_before_the_projects(
    wheel: Wheel,
) -> None:
    assert wheel.shown("demo/by_project_images/k") == {"by_nvrtc"}
    assert wheel.shown("demo/by_module_images/k") == {"by_nvcc"}
    assert wheel.shown("demo/by_override_images/k") == {"by_nvcc_overridden"}


@shows("kernel-module.instantiate")
def test_instantiations_are_kernels(wheel: Wheel) -> None:
    assert wheel.shown("demo/instances_images/template") == {"_Z5scaleIfEvPT_S0_", "_Z5scaleIiEvPT_S0_"}


@shows("kernel-module.device-link")
def test_linked_sources_are_one_image(wheel: Wheel) -> None:
    assert wheel.names("demo/linked_images") == ["linked.compute_80.ptx", "linked.sm_80.cubin"]
    assert wheel.shown("demo/linked_images/linked") == {"calls"}
