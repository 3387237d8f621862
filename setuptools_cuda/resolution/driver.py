"""The driver of this machine: for which CUDA it is. Asked for by people who look, never by a build.

Two libraries of the driver say it: libcuda, which loads what a toolkit makes, and NVML, which
also knows the driver's own version. Neither needs a GPU that is free, or a package of Python.
"""

from __future__ import annotations

import ctypes
from dataclasses import dataclass

from setuptools_cuda.resolution.values import Release

_CUDA = "libcuda.so.1"
_NVML = "libnvidia-ml.so.1"
# NVML_SYSTEM_DRIVER_VERSION_BUFFER_SIZE of nvml.h.
_LENGTH = 80


@dataclass(frozen=True)
class Driver:
    """An NVIDIA driver."""

    cuda: Release
    """The release of CUDA that it is for: it translates PTX of that release and of older ones."""
    version: str
    """Its own version, as '580.159.03', or '' where NVML does not say."""
    found_via: str
    """The library that was asked."""


def find_driver() -> Driver | None:
    """Return the driver of this machine, or None where there is none."""
    cuda = _ask_cuda()
    other, version = _ask_nvml()
    found = cuda or other
    return Driver(found, version, _CUDA if cuda else _NVML) if found else None


def parse_cuda_number(number: int) -> Release | None:
    """Return the release that CUDA's own number means, 12.4 for 12040; None for one below 1.0.

    cuda.h, cuDriverGetVersion: the number is 1000 * major + 10 * minor.
    """
    return Release(number // 1000, number % 1000 // 10) if number >= 1000 else None


def _ask_cuda() -> Release | None:
    library = _load(_CUDA)
    return _read_release(library, "cuDriverGetVersion") if library else None


def _ask_nvml() -> tuple[Release | None, str]:
    library = _load(_NVML)
    if library is None or _call(library, "nvmlInit_v2"):
        return None, ""
    text = ctypes.create_string_buffer(_LENGTH)
    status = _call(library, "nvmlSystemGetDriverVersion", text, ctypes.c_uint(_LENGTH))
    release = _read_release(library, "nvmlSystemGetCudaDriverVersion_v2")
    _call(library, "nvmlShutdown")
    return release, "" if status else text.value.decode("ascii", "backslashreplace")


def _load(name: str) -> ctypes.CDLL | None:
    try:
        return ctypes.CDLL(name)
    except OSError:
        return None


def _read_release(library: ctypes.CDLL, function: str) -> Release | None:
    number = ctypes.c_int()
    status = _call(library, function, ctypes.byref(number))
    return None if status else parse_cuda_number(number.value)


def _call(library: ctypes.CDLL, function: str, *arguments: object) -> int:
    """Return the status of a call, 0 for success. A library that lacks the function does not answer."""
    try:
        status: int = getattr(library, function)(*arguments)
    except AttributeError:
        return -1
    return status
