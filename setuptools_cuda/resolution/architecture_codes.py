"""From words to codes: one for each architecture, in canonical order, and what nvcc is told."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace

from setuptools_cuda.errors import Code as ErrorCode
from setuptools_cuda.errors import Problem
from setuptools_cuda.resolution.architecture_words import Mark, Word, speaks_of_ptx
from setuptools_cuda.resolution.values import Architecture, Code


def find_all(known: Iterable[Architecture]) -> tuple[Architecture, ...]:
    """Return what ``nvcc -arch=all`` builds for: each number that it knows."""
    return tuple(sorted({Architecture(architecture.number) for architecture in known}))


def find_all_major(known: Iterable[Architecture]) -> tuple[Architecture, ...]:
    """Return what ``nvcc -arch=all-major`` builds for: each major number, and the oldest of all.

    By nvcc's help text; 13.0 gives 75, 80, 90, 100, 110, 120.
    """
    numbers = find_all(known)
    return tuple(one for position, one in enumerate(numbers) if position == 0 or one.number % 10 == 0)


def expand_words(
    words: Iterable[Word], *, known: Sequence[Architecture], gpus: Callable[[], Sequence[Architecture]]
) -> tuple[Word, ...]:
    """Return ``words`` with 'all', 'all-major' and 'native' replaced by single architectures.

    ``gpus`` is called where a word is 'native', and only there.
    """
    expanded: list[Word] = []
    for word in words:
        if word.kind == "one":
            expanded.append(word)
        elif word.kind == "native":
            expanded.extend(_spell(word, gpus()))
        else:
            expanded.extend(_spell(word, find_all(known) if word.kind == "all" else find_all_major(known)))
    return tuple(expanded)


def _spell(word: Word, architectures: Iterable[Architecture]) -> tuple[Word, ...]:
    return tuple(replace(word, kind="one", architecture=architecture) for architecture in sorted(set(architectures)))


def make_codes(words: Sequence[Word]) -> tuple[Code, ...]:
    """Return one code for each architecture of the expanded ``words``, in canonical order.

    A bare number is machine code. The newest bare number without a variant also gets PTX,
    unless a word speaks of PTX itself.
    """
    marks: dict[Architecture, Mark] = {}
    for word in words:
        if word.architecture is not None:
            known = marks.get(word.architecture)
            marks[word.architecture] = word.mark if known is None else merge_marks(known, word.mark)
    codes = tuple(make_code(architecture, mark=mark) for architecture, mark in sorted(marks.items()))
    return codes if speaks_of_ptx(words) else add_ptx(codes)


def make_code(architecture: Architecture, *, mark: Mark) -> Code:
    """Return the code that ``mark`` alone asks for."""
    return Code(architecture, real=mark != "virtual", virtual=mark in ("virtual", "ptx"), marked=mark)


def add_ptx(codes: Iterable[Code]) -> tuple[Code, ...]:
    """Return ``codes``, the newest bare number without a variant with PTX."""
    every = tuple(codes)
    bare = [code.architecture for code in every if code.marked == "" and not code.architecture.variant]
    newest = max(bare, default=None)
    return tuple(replace(code, virtual=True) if code.architecture == newest else code for code in every)


def merge_marks(first: Mark, second: Mark) -> Mark:
    """Return the mark that asks for what both ask for."""
    marks = {first, second}
    if len(marks) == 1:
        return first
    return "" if marks == {"", "real"} else "ptx"


def merge_codes(codes: Iterable[Code]) -> tuple[Code, ...]:
    """Return one code for each architecture, in canonical order, with all that is asked of it."""
    merged: dict[Architecture, Code] = {}
    for code in codes:
        old = merged.get(code.architecture, code)
        mark = merge_marks(old.marked, code.marked)
        merged[code.architecture] = Code(
            code.architecture, real=old.real or code.real, virtual=old.virtual or code.virtual, marked=mark
        )
    return tuple(merged[one] for one in sorted(merged))


def find_conflicts(codes: Iterable[Code], *, where: str) -> tuple[Problem, ...]:
    """Return a problem for each pair of machine codes that nvcc refuses together.

    Measured on 13.0: sm_100 beside sm_100f (one number, with and without the family variant) is
    refused, in whatever order; sm_100 beside sm_100a, sm_100a beside sm_100f, sm_100f beside
    sm_103, and PTX of either kind beside anything are taken.
    """
    real = {code.architecture for code in codes if code.real}
    families = sorted(one for one in real if one.variant == "f" and Architecture(one.number) in real)
    return tuple(_describe_conflict(family, where=where) for family in families)


def _describe_conflict(family: Architecture, *, where: str) -> Problem:
    return Problem(
        ErrorCode.CONFLICT,
        f"nvcc does not compile {family.number} and {family} together",
        where,
        (("why", f"{family} is machine code of the same GPUs as {family.number}, for the family"),),
        (f"keep one of them: {family} where the source needs features of the family, {family.number} otherwise",),
    )


def render_gencode(codes: Iterable[Code]) -> tuple[str, ...]:
    """Return the arguments that have nvcc make ``codes``, in canonical order."""
    return tuple(_render_one(code) for code in sorted(codes, key=lambda code: code.architecture) if _kinds(code))


def _render_one(code: Code) -> str:
    kinds = _kinds(code)
    made = kinds[0] if len(kinds) == 1 else f"[{','.join(kinds)}]"
    return f"-gencode=arch={code.architecture.virtual},code={made}"


def _kinds(code: Code) -> tuple[str, ...]:
    real = (code.architecture.real,) if code.real else ()
    return (*real, code.architecture.virtual) if code.virtual else real


def describe_codes(codes: Iterable[Code]) -> str:
    """Return ``codes`` as a person says them: 'sm_80, sm_90a, sm_120+PTX, compute_90'."""
    return ", ".join(_describe_one(code) for code in sorted(codes, key=lambda code: code.architecture))


def _describe_one(code: Code) -> str:
    if not code.real:
        return code.architecture.virtual
    return code.architecture.real + ("+PTX" if code.virtual else "")


def describe_architectures(architectures: Iterable[Architecture]) -> str:
    """Return the architectures, comma-separated, in canonical order, or 'none'."""
    return ", ".join(map(str, sorted(architectures))) or "none"
