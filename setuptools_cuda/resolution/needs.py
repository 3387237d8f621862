"""What a project needs of a CUDA toolkit, as its settings say before anything is resolved."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import PurePosixPath

from setuptools_cuda.config.model import CMakeProject, Extension, KernelModule, Library, Override, Settings, Target
from setuptools_cuda.environment import Environment
from setuptools_cuda.resolution.cuda_libraries import PREFIX, find_extra
from setuptools_cuda.resolution.device_compilers import Wanted, find_wanted, list_tools

# Extras of the distribution cuda-toolkit. Its extra 'nvcc' brings crt, runtime and nvvm too.
_NVCC = ("nvcc", "cccl")
_COMPILER_EXTRAS: dict[str, tuple[str, ...]] = {
    "nvcc": _NVCC,
    "nvrtc": ("nvrtc", "cudart", "crt", "cccl"),
    "nvvm": ("nvvm",),
    # LLVM comes with llvmlite; the extra nvcc brings ptxas, and libdevice with nvvm.
    "llvm": ("nvcc",),
    "ptxas": ("nvcc",),
}
_TOOL_EXTRAS = {"ptxas": "nvcc", "fatbinary": "nvcc"}
_DEVICE_SUFFIXES = frozenset({".cu", ".ll", ".bc", ".ptx"})
_NAMES = {Extension: "extension", Library: "library", KernelModule: "kernel module", CMakeProject: "CMake project"}


def describe_target(target: Target) -> str:
    """Return a target as messages call it: "extension 'demo._native'"."""
    return f"{_NAMES.get(type(target), 'target')} {target.title!r}"


def list_needy(settings: Settings) -> tuple[Target, ...]:
    """Return the targets that cannot be built without a CUDA toolkit."""
    return tuple(
        target
        for target in settings.targets
        if isinstance(target, CMakeProject)
        or _has_device_code(target, overrides=settings.overrides)
        or _list_libraries(target)
        or _names_runtime(target)
    )


def needs_nvcc(settings: Settings, *, wanted: Wanted) -> bool:
    """Return whether anything of a project needs nvcc: extensions and libraries do, kernel modules may."""
    return wanted.nvcc or any(isinstance(target, (Extension, Library)) for target in list_needy(settings))


def list_extras(settings: Settings, *, environment: Environment) -> tuple[str, ...]:
    """Return the extras of cuda-toolkit that the project needs, those of nvcc first."""
    found: set[str] = set()
    wanted = find_wanted(settings, environment=environment)
    for target in list_needy(settings):
        found.update(extra for name in _list_libraries(target) if (extra := find_extra(name)))
        if not isinstance(target, KernelModule):
            found.update(_NVCC)
            continue
        for compiler in wanted.compilers.get(target.title, ()):
            found.update(_COMPILER_EXTRAS.get(compiler, _NVCC))
            tools = list_tools(compiler, formats=target.formats, linked=target.device_link is not None)
            found.update(extra for name, extra in _TOOL_EXTRAS.items() if name in tools)
    first = tuple(extra for extra in _NVCC if extra in found)
    return (*first, *sorted(found.difference(first)))


def _has_device_code(target: Target, *, overrides: Iterable[Override]) -> bool:
    """Return whether any source may be device code: also one that an override adds, if it applies."""
    if isinstance(target, KernelModule) and target.sources:
        return True
    added = (source for override in overrides if override.target == target.title for source in override.sources)
    return not _DEVICE_SUFFIXES.isdisjoint(PurePosixPath(source).suffix for source in (*target.sources, *added))


def _names_runtime(target: Target) -> bool:
    """Return whether the target asks for the CUDA runtime by itself, as a host source that calls it does."""
    return target.cudart in {"static", "shared"} and not isinstance(target, KernelModule)


def _list_libraries(target: Target) -> tuple[str, ...]:
    return tuple(name for name in target.link if name.startswith(PREFIX))
