"""Host commands where no build system gives them. Pure."""

from __future__ import annotations

import shlex

from setuptools_cuda.plan.values import HostCommands, PythonFacts
from setuptools_cuda.resolution.values import Toolchain


def default_host_commands(
    toolchain: Toolchain | None, *, python: PythonFacts | None, cc: str | None, cxx: str | None
) -> HostCommands:
    """Return how host sources are compiled outside setuptools: by nvcc's host compiler, position-independent.

    ``cc`` and ``cxx`` are the variables ``CC`` and ``CXX``; without a toolchain ``CXX`` decides.
    """
    c = tuple(shlex.split(cc)) if cc else ("cc",)
    plus = tuple(shlex.split(cxx)) if cxx else ("c++",)
    if toolchain is not None:
        compiler = toolchain.host_compiler
        plus = (*compiler.launcher, str(compiler.path))
    includes = tuple(f"-I{folder}" for folder in python.include_dirs) if python else ()
    return HostCommands(
        c=(*c, "-fPIC", *includes),
        cxx=(*plus, "-fPIC", *includes),
        link_c=(*c, "-shared"),
        link_cxx=(*plus, "-shared"),
    )
