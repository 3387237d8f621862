"""Says what we found in CMake's words: its variables, and the arguments of its function for kernel modules."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import replace

from setuptools_cuda.errors import Problem

OURS: Mapping[str, str] = {
    "CMAKE_CUDA_COMPILER": "SETUPTOOLS_CUDA_NVCC",
    "CMAKE_CUDA_HOST_COMPILER": "SETUPTOOLS_CUDA_HOST_COMPILER",
    "CMAKE_CUDA_ARCHITECTURES": "SETUPTOOLS_CUDA_ARCHITECTURES",
}
"""CMake's variables, and ours that say the same."""
_HYPHENED = re.compile(
    r"(?<![\w.-])(min-architecture|max-architecture|when-empty|device-link|device-compiler|include-dirs)(?![\w-])"
    r"""(?: = ["'](\w+)["'])?"""
)
_OVERRIDE = re.compile(r"^tool\.setuptools-cuda\.override\[(\d+)\](?:\.([\w-]+))?")


def name_as_cmake(text: str, *, names: Sequence[str]) -> str:
    """Return ``text`` with CMake's ``names`` in place of our variables."""
    for name in names:
        text = text.replace(OURS[name], name).replace(f"{name}=80,90", f'{name} "80;90"')
    return text


def with_names_of_cmake(problem: Problem, *, names: Sequence[str]) -> Problem:
    """Return a problem with CMake's ``names`` in place of our variables."""
    return replace(
        problem,
        what=name_as_cmake(problem.what, names=names),
        where=name_as_cmake(problem.where, names=names),
        details=tuple((label, name_as_cmake(text, names=names)) for label, text in problem.details),
        fix=tuple(name_as_cmake(text, names=names) for text in problem.fix),
    )


def with_arguments_of(problem: Problem, *, call: str, sources: Sequence[str]) -> Problem:
    """Return a problem with a kernel module in the words of ``call``, its function and target.

    An override is what the properties of one of ``sources`` say. What hangs on the project's own
    table, whose keys have the same names, stays as it is.
    """
    override = _OVERRIDE.match(problem.where)
    if override and int(override[1]) < len(sources):
        where = f"property {_argument(override[2] or '', prefix='SETUPTOOLS_CUDA_')} of {sources[int(override[1])]}"
    elif problem.where == call or problem.where.startswith(f"{call}."):
        where = f"{call} {_argument(problem.where.removeprefix(call).removeprefix('.'))}".rstrip()
    else:
        return problem
    return replace(
        problem,
        what=_with_arguments(problem.what),
        where=where,
        details=tuple((_with_arguments(label), _with_arguments(text)) for label, text in problem.details),
        fix=tuple(_with_arguments(text).replace(", without quotes", "") for text in problem.fix),
    )


def _argument(key: str, *, prefix: str = "") -> str:
    return f"{prefix}{key.partition('.')[0].replace('-', '_').upper()}"


def _with_arguments(text: str) -> str:
    return _HYPHENED.sub(lambda found: " ".join(word for word in (_argument(found[1]), found[2]) if word), text)
