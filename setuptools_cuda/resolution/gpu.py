"""The GPUs of this machine: asked for by ``native`` alone.

Two ways: NVML through the distribution nvidia-ml-py, which needs no context on a GPU, then the
driver's own library. Neither is an import of this package.
"""

from __future__ import annotations

import ctypes
import importlib
from collections.abc import Callable, Iterable
from typing import Any

from setuptools_cuda.errors import BuildError, Code, Problem
from setuptools_cuda.resolution.values import Architecture

# CUdevice_attribute of cuda.h: CU_DEVICE_ATTRIBUTE_COMPUTE_CAPABILITY_MAJOR and _MINOR.
_MAJOR, _MINOR = 75, 76
_DRIVER = "libcuda.so.1"

_Answer = tuple[Architecture, ...] | str


def find_gpus() -> tuple[Architecture, ...]:
    """Return the architectures of this machine's GPUs, each once, in order.

    Raises:
        BuildError: NO_GPU, with what each way said, where none answers.
    """
    attempts: list[tuple[str, str]] = []
    ways: tuple[tuple[str, Callable[[], _Answer]], ...] = (("NVML", _ask_nvml), (_DRIVER, _ask_driver))
    for label, ask in ways:
        answer = ask()
        if not isinstance(answer, str):
            return answer
        attempts.append((label, answer))
    raise BuildError(
        Problem(
            Code.NO_GPU,
            "'native' needs a GPU, and none answers",
            "architectures",
            tuple(attempts),
            (
                "name the architectures instead, as in SETUPTOOLS_CUDA_ARCHITECTURES=80,90",
                "or leave them out: all-major is the default, and needs no GPU",
            ),
        )
    )


def _ask_nvml() -> _Answer:
    try:
        nvml: Any = importlib.import_module("pynvml")
    except ImportError:
        return "nvidia-ml-py is not installed"
    try:
        nvml.nvmlInit()
        try:
            handles = map(nvml.nvmlDeviceGetHandleByIndex, range(nvml.nvmlDeviceGetCount()))
            found = [tuple(nvml.nvmlDeviceGetCudaComputeCapability(handle)) for handle in handles]
        finally:
            nvml.nvmlShutdown()
    except nvml.NVMLError as error:
        return str(error)
    return _make(found) or "no GPU is there"


def _ask_driver() -> _Answer:
    try:
        driver = ctypes.CDLL(_DRIVER)
    except OSError as error:
        return str(error)
    try:
        _call(driver, "cuInit", ctypes.c_uint(0))
        count = ctypes.c_int()
        _call(driver, "cuDeviceGetCount", ctypes.byref(count))
        found = {(_ask_device(driver, n, _MAJOR), _ask_device(driver, n, _MINOR)) for n in range(count.value)}
    except _DriverError as error:
        return str(error)
    return _make(found) or "no GPU is there"


class _DriverError(Exception):
    """A call of the driver that did not succeed."""


def _call(driver: ctypes.CDLL, name: str, *arguments: object) -> None:
    status: int = getattr(driver, name)(*arguments)
    if status:
        raise _DriverError(f"{name} gave CUDA error {status}")


def _ask_device(driver: ctypes.CDLL, ordinal: int, attribute: int) -> int:
    device, value = ctypes.c_int(), ctypes.c_int()
    _call(driver, "cuDeviceGet", ctypes.byref(device), ctypes.c_int(ordinal))
    _call(driver, "cuDeviceGetAttribute", ctypes.byref(value), ctypes.c_int(attribute), device)
    return value.value


def _make(found: Iterable[tuple[int, int]]) -> tuple[Architecture, ...]:
    return tuple(sorted(Architecture(major * 10 + minor) for major, minor in set(found)))
