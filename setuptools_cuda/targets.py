"""Targets declared from Python, in the words of the table with ``_`` for ``-``.

They are light: making one does nothing but keep its words. The loader of
``setuptools_cuda.config`` gives them the same checks as the tables of ``pyproject.toml``.
"""

from __future__ import annotations

import difflib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from setuptools_cuda.errors import Code, Problem

DeclaredKind = Literal["extension", "library", "kernel-module"]

_COMMON = (
    "exclude",
    "depends",
    "architectures",
    "min_architecture",
    "max_architecture",
    "when_empty",
    "std",
    "flags",
    "defines",
    "include_dirs",
    "uses",
    "link",
    "rdc",
    "cudart",
    "memory",
    "priority",
)
LIBRARY_WORDS = (*_COMMON, "type", "install", "headers")
"""The words of :class:`CudaLibrary` besides its name and sources."""
KERNEL_MODULE_WORDS = (*_COMMON, "formats", "instantiate", "serves", "driver", "device_link", "device_compiler")
"""The words of :class:`KernelModule` besides its module and sources."""


@dataclass(frozen=True)
class Declared:
    """One target declared from Python: its kind, where, and its words as the table spells them."""

    kind: DeclaredKind
    where: str
    words: Mapping[str, object]
    problems: tuple[Problem, ...] = ()
    """What was wrong in the declaration itself. The loader tells it with all else that is wrong."""


@dataclass(frozen=True, init=False)
class CudaLibrary:
    """A static, shared or header-only library, as ``[[tool.setuptools-cuda.library]]``."""

    name: str
    sources: object
    words: tuple[tuple[str, object], ...]

    def __init__(self, name: str, sources: Iterable[object] = (), **words: object) -> None:
        """Keep the words. One that is not a key of a library is told when the project is loaded."""
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "sources", _frozen(sources))
        object.__setattr__(self, "words", _pairs(words))

    def declare(self) -> Declared:
        """Return the declaration that the loader takes."""
        where = f"CudaLibrary({self.name!r})"
        return Declared(
            kind="library",
            where=where,
            words={"name": self.name, "sources": self.sources, **_dashed(self.words, known=LIBRARY_WORDS)},
            problems=check_words("CudaLibrary", dict(self.words), known=LIBRARY_WORDS, where=where),
        )


@dataclass(frozen=True, init=False)
class KernelModule:
    """Device code as package data, as ``[[tool.setuptools-cuda.kernel-module]]``."""

    module: str
    sources: object
    words: tuple[tuple[str, object], ...]

    def __init__(self, module: str, sources: Iterable[object] = (), **words: object) -> None:
        """Keep the words. One that is not a key of a kernel module is told when the project is loaded."""
        object.__setattr__(self, "module", module)
        object.__setattr__(self, "sources", _frozen(sources))
        object.__setattr__(self, "words", _pairs(words))

    def declare(self) -> Declared:
        """Return the declaration that the loader takes."""
        where = f"KernelModule({self.module!r})"
        return Declared(
            kind="kernel-module",
            where=where,
            words={"module": self.module, "sources": self.sources, **_dashed(self.words, known=KERNEL_MODULE_WORDS)},
            problems=check_words("KernelModule", dict(self.words), known=KERNEL_MODULE_WORDS, where=where),
        )


def check_words(owner: str, words: Iterable[str], *, known: Collection[str], where: str) -> tuple[Problem, ...]:
    """Return a problem for each of ``words`` that ``owner`` does not have."""
    return tuple(
        Problem(Code.UNKNOWN_KEY, f"{owner} has no word {word!r}", where, fix=(_suggest(word, known=known),))
        for word in words
        if word not in known
    )


def _suggest(word: str, *, known: Collection[str]) -> str:
    close = difflib.get_close_matches(word, sorted(known), n=1)
    return f"did you mean {close[0]!r}?" if close else f"it takes {', '.join(sorted(known))}"


def _pairs(words: Mapping[str, object]) -> tuple[tuple[str, object], ...]:
    return tuple((word, _frozen(value)) for word, value in words.items())


def _dashed(words: tuple[tuple[str, object], ...], *, known: Collection[str]) -> dict[str, object]:
    return {word.replace("_", "-"): value for word, value in words if word in known}


def _frozen(value: object) -> object:
    # A string stays one: split into letters it would pass for a list of names.
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        return value
    return tuple(value)
