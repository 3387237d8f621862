"""``CudaExtension``: the table's words in a :class:`setuptools.Extension`."""

from __future__ import annotations

import dataclasses
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
    A word that neither setuptools nor the table has is told when the project is loaded.

    Cython replaces an extension by ``type(extension)(**what it knows of)``. So the words are kept
    in a class of this extension's own, and a copy made from that class still has them.
    """

    given: Mapping[str, Any] = {}
    """The words as they were given. It is the class's, so that a copy has them too."""

    def __new__(cls, *_args: Any, **words: Any) -> CudaExtension:
        """Return an instance of a class that remembers ``words``."""
        kept = {word: value for word, value in words.items() if word not in SETUPTOOLS_WORDS - LOST_BY_CYTHON}
        arguments = words.get("extra_compile_args")
        if isinstance(arguments, Mapping):
            kept["tool_arguments"] = dict(arguments)
        body = {"given": {**cls.given, **kept}, "__module__": cls.__module__, "__doc__": cls.__doc__}
        return super().__new__(type(cls.__name__, (cls,), body) if kept else cls)

    def __init__(self, name: str, sources: Iterable[str | PathLike[str]], *args: Any, **words: Any) -> None:
        options = {word: value for word, value in words.items() if word in SETUPTOOLS_WORDS}
        options.update({word: value for word, value in self.given.items() if word in LOST_BY_CYTHON})
        if isinstance(options.get("extra_compile_args"), Mapping):
            options["extra_compile_args"] = list(options["extra_compile_args"].get("cxx", ()))
        super().__init__(name, sources, *args, **options)
        tools: Mapping[str, Any] = self.given.get("tool_arguments", {})
        self.device_arguments: list[str] = list(tools.get("nvcc", ()))
        """Arguments for nvcc alone: the list "nvcc" of a dict ``extra_compile_args``."""
        self.unknown_tools = tuple(sorted(set(tools) - {"cxx", "nvcc"}))
        """Names in a dict ``extra_compile_args`` that are no tool."""
        self.unknown_words = tuple(sorted(set(self.given) - SETUPTOOLS_WORDS - OUR_WORDS - {"tool_arguments"}))
        """Words that neither setuptools nor the table has."""
        for word in OUR_WORDS:
            setattr(self, word, self.given.get(word))
