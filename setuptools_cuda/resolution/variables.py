"""Flags that the environment adds to every compile and link, after all flags of the table."""

from __future__ import annotations

import re
import shlex
from collections.abc import Sequence

from setuptools_cuda.config.flags import find_reserved, without_threads
from setuptools_cuda.config.model import Flags
from setuptools_cuda.environment import Environment
from setuptools_cuda.errors import BuildError, Code, Problem, raise_if_any

COMMAND_VARIABLES = ("CC", "CXX", "CPP", "CFLAGS", "CXXFLAGS", "CPPFLAGS", "LDSHARED", "LDFLAGS", "AR", "ARFLAGS")
"""What setuptools makes commands of."""
CUDA_VARIABLES = ("NVCC_FLAGS", "CUDAFLAGS")


def read_environment_flags(
    environment: Environment, *, c: Sequence[str], cxx: Sequence[str], link: Sequence[str]
) -> Flags:
    """Return the flags of ``NVCC_FLAGS``, ``CUDAFLAGS``, ``CFLAGS``, ``CXXFLAGS`` and ``LDFLAGS``.

    ``c``, ``cxx`` and ``link`` are the host's commands: setuptools may have put some of these flags
    there already, and then they are not added again. Raises BuildError for a flag that has a key.
    """
    problems = [p for name in CUDA_VARIABLES for p in _reserved(name, environment=environment)]
    raise_if_any(problems)
    cuda = [flag for name in CUDA_VARIABLES for flag in _words(name, environment=environment)]
    return Flags(
        cuda=without_threads(cuda)[0],
        cxx=_missing("CXXFLAGS", command=cxx, environment=environment),
        c=_missing("CFLAGS", command=c, environment=environment),
        link=_missing("LDFLAGS", command=link, environment=environment),
    )


def check_variables(environment: Environment) -> list[Problem]:
    """Return a problem for each variable that setuptools would end in a traceback over.

    Those are commands and flags that cannot be split as a shell would, and a SOURCE_DATE_EPOCH that is no number.
    """
    problems: list[Problem] = []
    for name in COMMAND_VARIABLES:
        try:
            _words(name, environment=environment)
        except BuildError as error:
            problems.extend(error.problems)
    epoch = environment.get("SOURCE_DATE_EPOCH")
    if epoch is not None and not re.fullmatch(r"\s*[+-]?[0-9]+\s*", epoch, re.ASCII):
        what = f"{epoch!r} is no number of seconds since 1970-01-01"
        fix = ("set it as `git log -1 --format=%ct` prints it, or unset it",)
        problems.append(Problem(Code.UNUSABLE_SETTING, what, "SOURCE_DATE_EPOCH", fix=fix))
    return problems


def _words(name: str, *, environment: Environment) -> list[str]:
    value = environment.get(name)
    if value is None:
        return []
    try:
        return shlex.split(value)
    except ValueError as error:
        problem = Problem(Code.UNUSABLE_SETTING, f"{value!r} cannot be split into flags: {error}", where=name)
        raise_if_any([problem])
        raise


def _missing(name: str, *, command: Sequence[str], environment: Environment) -> tuple[str, ...]:
    words = _words(name, environment=environment)
    length = len(words)
    there = any(list(command[start : start + length]) == words for start in range(len(command) - length + 1))
    return () if there else tuple(words)


def _reserved(name: str, *, environment: Environment) -> list[Problem]:
    found = find_reserved(_words(name, environment=environment), tool="cuda")
    return [
        Problem(
            Code.RESERVED_FLAG,
            f"{reserved.flag!r} is said by the key {reserved.key!r}, not by a flag"
            if reserved.key
            else f"{reserved.flag!r} is set by the build",
            where=name,
            fix=(f"take it out of {name}" + (f", and set the key {reserved.key!r}" if reserved.key else ""),),
        )
        for reserved in found
    ]
