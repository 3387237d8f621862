"""Codes in the words of other build systems, for those that are told what to build for."""

from __future__ import annotations

from collections.abc import Iterable

from setuptools_cuda.resolution.values import Architecture, Code


def spell_for_cmake(codes: Iterable[Code]) -> str:
    """Return ``codes`` as CMAKE_CUDA_ARCHITECTURES takes them: '80-real;90-real;90-virtual'.

    Each kind is spelled out, so that the list means the same to CMake and to us.
    """
    ordered = sorted(codes, key=lambda code: code.architecture)
    return ";".join(
        f"{code.architecture}-{kind}"
        for code in ordered
        for kind, wanted in (("real", code.real), ("virtual", code.virtual))
        if wanted
    )


def spell_for_torch(codes: Iterable[Code]) -> str:
    """Return ``codes`` as TORCH_CUDA_ARCH_LIST takes them: '8.0;9.0a;12.0+PTX'.

    PyTorch has no word for PTX without machine code: such a code gets both.
    """
    ordered = sorted(codes, key=lambda code: code.architecture)
    return ";".join(_dotted(code.architecture) + ("+PTX" if code.virtual else "") for code in ordered)


def spell_bare(codes: Iterable[Code]) -> str:
    """Return the numbers of ``codes`` alone: '80;90a;120'."""
    return ";".join(dict.fromkeys(str(architecture) for architecture in sorted(code.architecture for code in codes)))


def _dotted(architecture: Architecture) -> str:
    return f"{architecture.major}.{architecture.number % 10}{architecture.variant}"
