"""``CudaExtension``: the table's words in a :class:`setuptools.Extension`."""

from __future__ import annotations

import dataclasses
import difflib
from collections.abc import Iterable, Mapping
from os import PathLike
from typing import Any

import setuptools

from setuptools_cuda.config import model

SETUPTOOLS_WORDS = frozenset(
    {
        "name",
        "sources",
        "include_dirs",
        "define_macros",
        "undef_macros",
        "library_dirs",
        "libraries",
        "runtime_library_dirs",
        "extra_objects",
        "extra_compile_args",
        "extra_link_args",
        "export_symbols",
        "swig_opts",
        "depends",
        "language",
        "optional",
        "py_limited_api",
    }
)
"""The keywords of :class:`setuptools.Extension` (its reference, 'API Reference > Extension')."""

OUR_WORDS = (
    frozenset(field.name for field in dataclasses.fields(model.Extension) if "doc" in field.metadata) - SETUPTOOLS_WORDS
)
"""The table's keys that a setuptools extension lacks, with ``_``."""

LOST_BY_CYTHON = frozenset({"optional", "swig_opts"})
"""Keywords of setuptools' own that ``cythonize`` does not carry over to its copies."""


class CudaExtension(setuptools.Extension):
    """An extension module with CUDA sources: setuptools' keywords, and the table's with ``_``.

    ``extra_compile_args`` may be a list (for host sources) or ``{"cxx": [...], "nvcc": [...]}``.
    Raises TypeError for a word that neither setuptools nor the table has.

    Cython replaces an extension by ``type(extension)(**what it knows of)``. So the words are kept
    in a class of this extension's own, and a copy made from that class still has them.
    """

    given: Mapping[str, Any] = {}
    """The words as they were given. It is the class's, so that a copy has them too."""

    def __new__(cls, *_args: Any, **words: Any) -> CudaExtension:
        """Return an instance of a class that remembers ``words``."""
        kept = {word: value for word, value in words.items() if word in OUR_WORDS | LOST_BY_CYTHON}
        device = _device_arguments(words.get("extra_compile_args"))
        if device:
            kept["device_arguments"] = device
        body = {"given": {**cls.given, **kept}, "__module__": cls.__module__, "__doc__": cls.__doc__}
        return super().__new__(type(cls.__name__, (cls,), body) if kept else cls)

    def __init__(self, name: str, sources: Iterable[str | PathLike[str]], *args: Any, **words: Any) -> None:
        _check_words(words)
        options = {word: value for word, value in words.items() if word in SETUPTOOLS_WORDS}
        options.update({word: value for word, value in self.given.items() if word in LOST_BY_CYTHON})
        if isinstance(options.get("extra_compile_args"), Mapping):
            options["extra_compile_args"] = list(options["extra_compile_args"].get("cxx", ()))
        super().__init__(name, sources, *args, **options)
        self.device_arguments: list[str] = list(self.given.get("device_arguments", ()))
        """Arguments for nvcc alone: the list "nvcc" of a dict ``extra_compile_args``."""
        for word in OUR_WORDS:
            setattr(self, word, self.given.get(word))


def _check_words(words: Mapping[str, object]) -> None:
    for word in sorted(set(words) - SETUPTOOLS_WORDS - OUR_WORDS):
        near = difflib.get_close_matches(word, SETUPTOOLS_WORDS | OUR_WORDS, n=1)
        hint = f"; did you mean {near[0]!r}?" if near else ""
        raise TypeError(f"CudaExtension has no word {word!r}{hint}")


def _device_arguments(arguments: object) -> list[str]:
    """Return the nvcc part of ``extra_compile_args``; raise TypeError for a tool that is not known."""
    if not isinstance(arguments, Mapping):
        return []
    unknown = sorted(set(arguments) - {"cxx", "nvcc"})
    if unknown:
        raise TypeError(f"extra_compile_args has lists 'cxx' and 'nvcc', not {unknown[0]!r}")
    return list(arguments.get("nvcc", ()))
