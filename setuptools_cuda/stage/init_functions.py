"""Whether an extension can be imported by its name: Python calls a function that is named after it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path

from setuptools_cuda.errors import Code, Problem
from setuptools_cuda.plan.values import BuildPlan

_FUNCTION = re.compile(rb"\0(PyInitU?_\w+)\0")


def init_function(extension: str) -> str:
    """Return the function that Python calls to import ``extension`` (PEP 489, "Export Hook Name")."""
    name = extension.rpartition(".")[2]
    if name.isascii():
        return f"PyInit_{name}"
    return "PyInitU_" + name.encode("punycode").replace(b"-", b"_").decode("ascii")


def check_init_functions(plan: BuildPlan, *, files: Mapping[str, Path]) -> tuple[list[Problem], list[str]]:
    """Return problems for extensions that are modules of another name, and warnings for those that are none.

    ``files`` holds the built file of each artifact by destination. The names are looked for in the
    file's tables of symbols. What has no such function may still be meant: PyTorch loads operators
    from such libraries.
    """
    problems, warnings = [], []
    for name, found in _find_others(plan, files=files):
        if found:
            problems.append(_misnamed(name, found=found))
        else:
            warnings.append(f"{name}: it has no {init_function(name)}, and so cannot be imported as a module")
    return problems, warnings


def _find_others(plan: BuildPlan, *, files: Mapping[str, Path]) -> Iterator[tuple[str, tuple[str, ...]]]:
    for artifact in plan.artifacts:
        if artifact.kind == "extension":
            found = {name.decode("ascii") for name in _FUNCTION.findall(files[artifact.destination].read_bytes())}
            if init_function(artifact.target) not in found:
                yield artifact.target, tuple(sorted(found))


def _misnamed(extension: str, *, found: tuple[str, ...]) -> Problem:
    last, meant = extension.rpartition(".")[2], found[0].partition("_")[2]
    return Problem(
        Code.BAD_NAME,
        f"the extension {extension!r} is no module {last!r}: it would fail at import",
        details=(("why", f"it has {', '.join(found)}, and Python looks for {init_function(extension)}"),),
        fix=(
            f"write {last} where the source says {meant}, in PYBIND11_MODULE, NB_MODULE or PyInit_",
            f"or name the extension {extension.removesuffix(last)}{meant}",
        ),
    )
