"""Reading PTX text: its version, its target, and the kernels with their parameters.

The grammar is that of NVIDIA's "Parallel Thread Execution ISA" (chapters "Syntax", "State
Spaces, Types, and Variables" and "Directives"). What stands inside function bodies is not read.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from setuptools_cuda.errors import BuildError, Code, Problem
from setuptools_cuda.plan.values import BuildPlan
from setuptools_cuda.stage.kernel_values import Parameter

_NOT_CODE = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)
_PRAGMA = re.compile(r"\.pragma\b[^;{}]*;")
_VERSION = re.compile(r"\s*\.version\s+(\d{1,4})\.(\d{1,4})(?![\w.])", re.ASCII)
_TARGET = re.compile(r"\s*\.target\s+([A-Za-z]\w*)", re.ASCII)
_NAME = r"(?:[A-Za-z][\w$]*|[_$%][\w$]+)"
_ENTRY = re.compile(rf"(?<![\w$.])\.entry\s+({_NAME})\s*(\([^()]*\))?", re.ASCII)
_EXTERN = re.compile(rf"\.extern\s+\.func\s*(?:\([^()]*\)\s*)?({_NAME})", re.ASCII)
_DRIVERS = re.compile(r"vprintf|malloc|free|__assertfail|_*cuda.*")
"""System calls, which a driver links, and functions of the device runtime (CUDA C++ Programming Guide)."""
_ENTRY_WORD = re.compile(r"(?<![\w$.])\.entry(?![\w$.])", re.ASCII)
_BODY_OR_END = re.compile(r"[{;]")
_PARAMETER = re.compile(
    rf"""\s*\.param\s*
    (?:\.align\s+(?P<alignment>\d{{1,9}})\s*)?
    (?:\.v(?P<lanes>[24])\s*)?
    \.(?P<type>[a-z]+\d*(?:x\d)?)\s*
    (?:\.ptr\s*(?:\.[a-z]+\s*)?(?:\.align\s+\d+\s*)?)?   # what a pointer points to, not the parameter
    {_NAME}\s*
    (?P<extents>(?:\[\s*\d{{1,12}}\s*\]\s*){{0,8}})$""",
    re.ASCII | re.VERBOSE,
)
_SCALAR = re.compile(r"(?:b|u|s|f|bf|tf)(8|16|32|64|128)(?:x(2))?")
_HANDLES = frozenset({"texref", "samplerref", "surfref"})


@dataclass(frozen=True)
class Entry:
    """One kernel of a PTX file."""

    name: str
    parameters: tuple[Parameter, ...]


@dataclass(frozen=True)
class PtxFacts:
    """What a PTX file says of itself.

    ``isa`` is the version of its instruction set, as (9, 0); ``target`` the first word of
    ``.target``, as 'sm_90a'; ``kernels`` are in the order of the text. ``missing`` are the functions
    that it calls, and that neither it nor a driver has.
    """

    isa: tuple[int, int]
    target: str
    kernels: tuple[Entry, ...]
    missing: tuple[str, ...] = ()


def read_ptx_facts(plan: BuildPlan, *, folder: Path) -> dict[str, PtxFacts]:
    """Return what the PTX files of a plan, built in ``folder``, say, by their names in the plan."""
    names = {file.facts for module in plan.kernel_modules for file in module.files}
    names |= {one.file for one in plan.artifacts if one.format == "ptx"}
    return {name: parse_ptx((folder / name).read_text("utf-8"), where=name) for name in sorted(names)}


def parse_ptx(text: str, *, where: str = "") -> PtxFacts:
    """Return what ``text`` says of itself; ``where`` names the file in messages.

    Kernels that are only declared, without a body, are left out.

    Raises:
        BuildError: the text is not PTX (``BAD_INPUT_FILE``).
    """
    code = _PRAGMA.sub(" ", _NOT_CODE.sub(" ", text))
    version = _VERSION.match(code)
    if version is None:
        raise _malformed(where, why="it does not begin with '.version'")
    target = _TARGET.match(code, version.end())
    if target is None:
        raise _malformed(where, why="no '.target' follows '.version'")
    kernels = {entry.name: entry for entry in _entries(code, where=where)}
    isa = int(version[1]), int(version[2])
    missing = sorted({name for name in _EXTERN.findall(code) if not _DRIVERS.fullmatch(name)})
    return PtxFacts(isa, target[1], tuple(kernels.values()), tuple(missing))


def _entries(code: str, *, where: str) -> Iterator[Entry]:
    for word in _ENTRY_WORD.finditer(code):
        head = _ENTRY.match(code, word.start())
        if head is None:
            raise _malformed(where, why="an '.entry' has no name")
        body = _BODY_OR_END.search(code, head.end())
        if body is None or "(" in code[head.end() : body.start()]:
            raise _malformed(where, why=f"the head of '.entry {head[1]}' does not end")
        if body[0] == "{":
            yield Entry(head[1], tuple(_parameters(head[2] or "()", kernel=head[1], where=where)))


def _parameters(listing: str, *, kernel: str, where: str) -> Iterator[Parameter]:
    declared = listing[1:-1]
    for declaration in declared.split(",") if declared.strip() else ():
        match = _PARAMETER.match(declaration)
        width = _width(match["type"]) if match else None
        if match is None or width is None:
            shown = " ".join(declaration.split())
            raise _malformed(where, why=f"'.entry {kernel}' has the parameter '{shown}', which is not understood")
        element = width * int(match["lanes"] or 1)
        size = element
        for extent in re.findall(r"\d+", match["extents"]):
            size *= int(extent)
        yield Parameter(match["type"], size=size, alignment=int(match["alignment"] or element))


def _width(type_name: str) -> int | None:
    """Return the bytes of one value of a PTX type, or None where it has none."""
    if type_name in _HANDLES:
        return 8
    match = _SCALAR.fullmatch(type_name)
    return int(match[1]) // 8 * int(match[2] or 1) if match else None


def _malformed(where: str, *, why: str) -> BuildError:
    return BuildError(
        Problem(
            Code.BAD_INPUT_FILE,
            "not a PTX file that can be read",
            where=where,
            details=(("because", why),),
            fix=("look at the file, or have it made anew from its source",),
        )
    )
