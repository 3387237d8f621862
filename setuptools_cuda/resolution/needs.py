"""What a project needs of a CUDA toolkit, as its settings say before anything is resolved."""

from __future__ import annotations

from pathlib import PurePosixPath

from setuptools_cuda.config.model import Extension, KernelModule, Library, Settings, Target
from setuptools_cuda.resolution.cuda_libraries import PREFIX, find_extra

# Extras of the distribution cuda-toolkit. Its extra 'nvcc' brings crt, runtime and nvvm too.
_NVCC = ("nvcc", "cccl")
_COMPILER_EXTRAS: dict[str, tuple[str, ...]] = {
    "nvcc": _NVCC,
    "nvrtc": ("nvrtc", "cudart", "crt", "cccl"),
    "nvvm": ("nvvm",),
    # LLVM comes with llvmlite; ptxas and libdevice are those of nvcc and nvvm.
    "llvm": ("nvcc",),
}
_DEVICE_SUFFIXES = frozenset({".cu", ".ll", ".bc", ".ptx"})
_NAMES = {Extension: "extension", Library: "library", KernelModule: "kernel module"}


def describe_target(target: Target) -> str:
    """Return a target as messages call it: "extension 'demo._native'"."""
    return f"{_NAMES.get(type(target), 'target')} {target.title!r}"


def list_needy(settings: Settings) -> tuple[Target, ...]:
    """Return the targets that cannot be built without a CUDA toolkit."""
    return tuple(target for target in settings.targets if _has_device_code(target) or _list_libraries(target))


def list_extras(settings: Settings) -> tuple[str, ...]:
    """Return the extras of cuda-toolkit that the project needs, those of nvcc first."""
    found: set[str] = set()
    for target in list_needy(settings):
        found.update(extra for name in _list_libraries(target) if (extra := find_extra(name)))
        for compiler in _list_compilers(target, settings):
            found.update(_COMPILER_EXTRAS.get(compiler, _NVCC))
        if isinstance(target, KernelModule) and _needs_ptxas(target, settings):
            found.add("nvcc")
    first = tuple(extra for extra in _NVCC if extra in found)
    return (*first, *sorted(found.difference(first)))


def _has_device_code(target: Target) -> bool:
    return not _DEVICE_SUFFIXES.isdisjoint(PurePosixPath(source).suffix for source in target.sources)


def _list_libraries(target: Target) -> tuple[str, ...]:
    return tuple(name for name in target.link if name.startswith(PREFIX))


def _list_compilers(target: Target, settings: Settings) -> tuple[str, ...]:
    """Return the device compilers of a target; only kernel modules have a choice."""
    if not isinstance(target, KernelModule):
        return ("nvcc",)
    own = target.device_compiler or settings.project.device_compiler or "nvcc"
    overridden = (each.device_compiler for each in settings.overrides if each.target in (None, target.title))
    return (own, *(each for each in overridden if each is not None))


def _needs_ptxas(target: KernelModule, settings: Settings) -> bool:
    """Return whether images are made that libNVVM and NVRTC do not write."""
    writes = {"nvrtc": {"ptx", "cubin", "ltoir"}, "nvvm": {"ptx"}}
    compilers = _list_compilers(target, settings)
    return any(not set(target.formats) <= writes.get(compiler, set()) for compiler in compilers)
