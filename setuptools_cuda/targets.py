"""Targets declared from Python, in the words of the table with ``_`` for ``-``.

They are light: making one checks its words and does nothing else. The loader of
``setuptools_cuda.config`` gives them the same checks as the tables of ``pyproject.toml``.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

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


@dataclass(frozen=True, init=False)
class CudaLibrary:
    """A static, shared or header-only library, as ``[[tool.setuptools-cuda.library]]``."""

    name: str
    sources: object
    words: tuple[tuple[str, object], ...]

    def __init__(self, name: str, sources: Iterable[object] = (), **words: object) -> None:
        """Keep the words. Raises TypeError for one that is not a key of a library."""
        _check_words("CudaLibrary", words, known=LIBRARY_WORDS)
        object.__setattr__(self, "name", name)
        object.__setattr__(self, "sources", _frozen(sources))
        object.__setattr__(self, "words", _pairs(words))

    def declare(self) -> Declared:
        """Return the declaration that the loader takes."""
        return Declared(
            kind="library",
            where=f"CudaLibrary({self.name!r})",
            words={"name": self.name, "sources": self.sources, **_dashed(self.words)},
        )


@dataclass(frozen=True, init=False)
class KernelModule:
    """Device code as package data, as ``[[tool.setuptools-cuda.kernel-module]]``."""

    module: str
    sources: object
    words: tuple[tuple[str, object], ...]

    def __init__(self, module: str, sources: Iterable[object] = (), **words: object) -> None:
        """Keep the words. Raises TypeError for one that is not a key of a kernel module."""
        _check_words("KernelModule", words, known=KERNEL_MODULE_WORDS)
        object.__setattr__(self, "module", module)
        object.__setattr__(self, "sources", _frozen(sources))
        object.__setattr__(self, "words", _pairs(words))

    def declare(self) -> Declared:
        """Return the declaration that the loader takes."""
        return Declared(
            kind="kernel-module",
            where=f"KernelModule({self.module!r})",
            words={"module": self.module, "sources": self.sources, **_dashed(self.words)},
        )


def _check_words(owner: str, words: Mapping[str, object], *, known: tuple[str, ...]) -> None:
    for word in words:
        if word in known:
            continue
        close = difflib.get_close_matches(word, known, n=1)
        hint = f"; did you mean {close[0]!r}?" if close else f"; it takes {', '.join(sorted(known))}"
        raise TypeError(f"{owner} has no word {word!r}{hint}")


def _pairs(words: Mapping[str, object]) -> tuple[tuple[str, object], ...]:
    return tuple((word, _frozen(value)) for word, value in words.items())


def _dashed(words: tuple[tuple[str, object], ...]) -> dict[str, object]:
    return {word.replace("_", "-"): value for word, value in words}


def _frozen(value: object) -> object:
    # A string stays one: split into letters it would pass for a list of names.
    if isinstance(value, (str, bytes, Mapping)) or not isinstance(value, Iterable):
        return value
    return tuple(value)
