"""What is asked of a wheel in continuous integration: architectures that it serves, and its size. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from setuptools_cuda.errors import BuildError, Code, Problem
from setuptools_cuda.inspection.values import Image, Inspection
from setuptools_cuda.resolution.architecture_words import Word, parse_architectures
from setuptools_cuda.stage.kernel_values import Code as HeldCode

_LOOSE = ("cubin", "ptx", "ltoir")
_IMAGE_NAME = re.compile(r"\.(?:sm|compute)_\d+[af]?\.(?:cubin|ptx)$|\.ltoir$")
_FIX = ("name GPUs as 90, or code as sm_90 and compute_90",)
_ONE_KIND = re.compile(r"(?:sm_|compute_)|-(?:real|virtual)$", re.IGNORECASE)


@dataclass(frozen=True)
class Group:
    """What has to serve a GPU by itself: a file, or the images of one source that lie beside each other."""

    name: str
    images: tuple[Image, ...]


def parse_wanted(words: Sequence[str]) -> tuple[Word, ...]:
    """Return the architectures of ``--require``. Raises BuildError (BAD_ARCHITECTURE) for a word that names none."""
    try:
        return parse_architectures(words, where="--require")
    except BuildError as error:
        raise BuildError(*(replace(problem, fix=_FIX) for problem in error.problems)) from error


def check_lists(words: Sequence[Word]) -> Problem | None:
    """Return the problem that a word stands for a list, as 'all', of which nobody knows what it holds."""
    lists = [word.text for word in words if word.architecture is None]
    if not lists:
        return None
    return Problem(Code.BAD_ARCHITECTURE, f"{lists[0]!r} names no architecture", where="--require", fix=_FIX)


def check_architectures(inspection: Inspection, *, words: Sequence[Word]) -> tuple[Problem, ...]:
    """Return a problem for each word and each group of device code that does not have it.

    'sm_90' and '90-real' mean machine code of that name, 'compute_90' and '90-virtual' its PTX, '9.0+PTX'
    both; '90' a GPU that something in the group runs on, older machine code of its major number or PTX included.
    """
    groups = tuple(list_groups(inspection))
    if not groups:
        return tuple(_describe(word, group=Group(inspection.path, ())) for word in words)
    return tuple(_describe(word, group=group) for group in groups for word in words if not _has(group, word=word))


def check_size(inspection: Inspection, *, limit: int) -> Problem | None:
    """Return the problem that the file is larger than ``limit`` bytes, with what takes most room in it."""
    if inspection.size <= limit:
        return None
    largest = sorted(inspection.files, key=lambda file: file.size, reverse=True)[:3]
    return Problem(
        Code.TOO_LARGE,
        f"it has {inspection.size} bytes, and may have {limit}",
        where=inspection.path,
        details=tuple(("holds", f"{file.path}: {file.size} bytes unpacked") for file in largest),
        fix=('build for fewer architectures, or with compress = "size"',),
    )


def list_groups(inspection: Inspection) -> Iterator[Group]:
    """Yield what has to serve a GPU by itself, of all that holds device code."""
    loose: dict[str, list[Image]] = {}
    for file in inspection.files:
        if file.kind in _LOOSE:
            loose.setdefault(_IMAGE_NAME.sub("", file.path), []).extend(file.images)
        elif file.images:
            yield Group(file.path, file.loadable)
    for name, images in loose.items():
        yield Group(name, tuple(images))


def _has(group: Group, *, word: Word) -> bool:
    names = {image.name for image in group.images}
    architecture = word.architecture
    if architecture is None:
        return False
    exact = {"real": {architecture.real}, "virtual": {architecture.virtual}, "ptx": {*_both(word)}}
    if _ONE_KIND.search(word.text) or word.mark:
        return exact.get(word.mark, {architecture.real}) <= names
    if architecture.variant:
        return architecture.real in names
    capability = (architecture.number // 10, architecture.number % 10)
    codes = (HeldCode(name, driver=(0, 0)) for name in names if not name.startswith("lto_"))
    return any(code.serves(capability) for code in codes)


def _both(word: Word) -> tuple[str, ...]:
    return (word.architecture.real, word.architecture.virtual) if word.architecture else ()


def _describe(word: Word, *, group: Group) -> Problem:
    held = " ".join(sort_names({image.name for image in group.images})) or "no device code"
    return Problem(
        Code.MISSING_ARCHITECTURE,
        f"it has nothing for {word.text}",
        where=group.name,
        details=(("holds", held),),
        fix=(f"build it with {word.text} among the architectures",),
    )


def sort_names(names: set[str]) -> tuple[str, ...]:
    """Return names of code in canonical order: machine code, PTX, LTO-IR; each by number, then variant."""
    kinds = ("sm", "compute", "lto")

    def key(name: str) -> tuple[int, int, str]:
        kind, _, code = name.partition("_")
        return kinds.index(kind) if kind in kinds else len(kinds), int(re.sub(r"\D", "", code) or 0), code

    return tuple(sorted(names, key=key))
