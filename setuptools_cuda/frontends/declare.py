"""Extensions of setup.py in the table's words."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import setuptools

from setuptools_cuda.errors import Code, Problem
from setuptools_cuda.frontends.extension import OUR_WORDS, SETUPTOOLS_WORDS, CudaExtension
from setuptools_cuda.targets import Declared, check_words


def is_cuda(extension: object) -> bool:
    """Return whether ``extension`` is one that we build: of our class, or with a ``.cu`` source."""
    if isinstance(extension, CudaExtension):
        return True
    if not isinstance(extension, setuptools.Extension) or isinstance(extension, setuptools.extension.Library):
        return False
    return any(str(source).endswith(".cu") for source in extension.sources)


def declare(
    extension: setuptools.Extension, *, index: int, root: Path, name: str = "", limited_api: str | None = None
) -> Declared:
    """Return ``extension`` as a declared target; ``index`` is its place in ``ext_modules``.

    ``name`` is its full name where setuptools puts a package before it. ``limited_api`` is the
    wheel's tag, for an extension that says ``py_limited_api=True`` and no tag. Paths inside
    ``root`` become relative, since a build must not depend on where the project lies.
    """
    words = _shared_words(extension, root=root)
    words["name"] = name or extension.name
    words["flags"] = _flags(extension)
    words.update(_own_words(extension, root=root))
    words["defines"] = [*_defines(extension), *_list(getattr(extension, "defines", None))]
    if limited_api and extension.py_limited_api:
        words.setdefault("limited-api", limited_api)
    where = f"ext_modules[{index}] ({words['name']})"
    said = {word: value for word, value in words.items() if _says_something(value)}
    return Declared("extension", where, said, tuple(_faults(extension, where=where)))


def _faults(extension: setuptools.Extension, *, where: str) -> Iterable[Problem]:
    """Yield what is wrong with the words themselves. An extension of setuptools' own refuses them by itself."""
    words, known = getattr(extension, "unknown_words", ()), SETUPTOOLS_WORDS | OUR_WORDS
    yield from check_words("CudaExtension", words, known=known, where=where)
    for tool in getattr(extension, "unknown_tools", ()):
        what = f"extra_compile_args has lists for 'cxx' and 'nvcc', not for {tool!r}"
        yield Problem(Code.UNKNOWN_KEY, what, where, fix=("name the tool 'cxx' (host sources) or 'nvcc'",))


def _shared_words(extension: setuptools.Extension, *, root: Path) -> dict[str, Any]:
    """Return the words that setuptools and the table have in common."""
    return {
        "sources": relative_paths(extension.sources, root=root),
        "depends": _present(relative_paths(extension.depends, root=root), root=root),
        "include-dirs": relative_paths(extension.include_dirs, root=root),
        "libraries": _list(extension.libraries),
        "library-dirs": relative_paths(extension.library_dirs, root=root),
        "runtime-library-dirs": _list(extension.runtime_library_dirs),
        "extra-objects": relative_paths(extension.extra_objects, root=root),
        "export-symbols": _list(extension.export_symbols),
        "language": extension.language,
        "optional": bool(extension.optional),
    }


def _own_words(extension: setuptools.Extension, *, root: Path) -> dict[str, Any]:
    own = {word: getattr(extension, word, None) for word in OUR_WORDS - {"flags", "defines"}}
    if own.get("exclude"):
        own["exclude"] = relative_paths(own["exclude"], root=root)
    return {word.replace("_", "-"): value for word, value in own.items() if value is not None}


def _flags(extension: setuptools.Extension) -> dict[str, list[str]]:
    """Return the flags by tool: those of the word ``flags``, then those of setuptools' words."""
    flags = getattr(extension, "flags", None) or {}
    by_tool = dict(flags) if isinstance(flags, Mapping) else {"cuda": _list(flags)}
    arguments = extension.extra_compile_args or []
    host, device = arguments, list(getattr(extension, "device_arguments", ()))
    if isinstance(arguments, Mapping):
        host, device = arguments.get("cxx", ()), [*device, *arguments.get("nvcc", ())]
    undefined = [f"-U{macro}" for macro in extension.undef_macros or ()]
    added = {
        "cuda": [*device, *undefined],
        "cxx": [*host, *undefined],
        "c": [*host, *undefined],
        "link": _list(extension.extra_link_args),
    }
    merged = {tool: [*_list(by_tool.pop(tool, None)), *more] for tool, more in added.items()}
    return {tool: words for tool, words in merged.items() if words} | by_tool


def _defines(extension: setuptools.Extension) -> list[str]:
    """Return macros as ``A`` or ``A=value``; a macro of None is defined without a value."""
    macros = (tuple(map(str, (part for part in macro if part is not None))) for macro in extension.define_macros or ())
    return ["=".join(macro) for macro in macros]


def relative_paths(paths: Iterable[object] | None, *, root: Path) -> list[str]:
    """Return ``paths`` with '/', those inside ``root`` relative to it."""
    return [_relative(str(path), root=root) for path in paths or ()]


def _present(paths: Iterable[str], *, root: Path) -> list[str]:
    # setuptools lets "depends" name what is missing or elsewhere, and Cython does. What a compile
    # reads is found out by the compiler itself, so that only the project's own files matter here.
    return [path for path in paths if not Path(path).is_absolute() and (root / path).is_file()]


def _relative(path: str, *, root: Path) -> str:
    given = Path(path)
    if given.is_absolute() and given.is_relative_to(root):
        given = given.relative_to(root)
    return given.as_posix()


def _list(value: object) -> list[str]:
    if value is None:
        return []
    return [value] if isinstance(value, str) else [str(item) for item in value]  # type: ignore[attr-defined]


def _says_something(value: object) -> bool:
    return value is not None and value is not False and value not in ([], {}, ())
