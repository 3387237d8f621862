"""setuptools' hook. It runs for every project in an environment that has us, so it imports nothing heavy."""

from __future__ import annotations

import functools
import importlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import setuptools

ATTRIBUTE = "cuda_project"
"""Where a Distribution keeps our :class:`CudaProject`; None where the project is not ours so far."""

COMMANDS = frozenset({"build", "build_ext", "bdist_wheel", "sdist"})
"""The commands that get a class of ours beneath the project's own."""

OLDEST_SETUPTOOLS = 77

OTHER_BUILDERS = frozenset({"torch.utils.cpp_extension"})
"""Modules whose ``build_ext`` compiles ``.cu`` by itself: such a project never asked for us."""


def finalize(dist: setuptools.Distribution) -> None:
    """Prepare ``dist`` for CUDA: put the table's extensions into it, and our commands in reach.

    The table is read here, before setuptools reads its own configuration. Whether a project
    without one is ours shows later, when its first build command is asked for. Raises
    SystemExit in our own backend, else setuptools' SetupError, with all that is wrong.
    """
    if ATTRIBUTE in vars(dist):
        return
    setattr(dist, ATTRIBUTE, None)
    wrapped = functools.partial(_command_class, dist, dist.get_command_class)
    dist.get_command_class = wrapped  # type: ignore[method-assign]
    if _mentions_us(Path("pyproject.toml")) or _says_our_words(dist):
        _check_setuptools()
        _load("setuptools_cuda.frontends.attach").attach_project(dist)


finalize.order = 50  # type: ignore[attr-defined]


def check_cuda_libraries(_dist: setuptools.Distribution, attribute: str, value: object) -> None:
    """Check the keyword ``cuda_libraries`` of ``setup()``. Raises setuptools' SetupError."""
    _check_keyword(attribute, value, kind="CudaLibrary")


def check_kernel_modules(_dist: setuptools.Distribution, attribute: str, value: object) -> None:
    """Check the keyword ``kernel_modules`` of ``setup()``. Raises setuptools' SetupError."""
    _check_keyword(attribute, value, kind="KernelModule")


def _check_keyword(attribute: str, value: object, *, kind: str) -> None:
    class_ = getattr(_load("setuptools_cuda.targets"), kind)
    if not isinstance(value, (list, tuple)) or not all(isinstance(item, class_) for item in value):
        raise _load("setuptools.errors").SetupError(f"{attribute!r} has to be a list of setuptools_cuda.{kind}")


def _command_class(dist: setuptools.Distribution, original: Callable[[str], Any], command: str) -> Any:
    """Return the class of ``command``: the one setuptools found, with ours beneath it where the project is ours."""
    found = original(command)
    project = vars(dist)[ATTRIBUTE]
    if project is not None:
        project.note_discovery()
    if command not in COMMANDS or not _is_ours(dist):
        return found
    _check_setuptools()
    _load("setuptools_cuda.frontends.attach").find_or_make_project(dist)
    return _load("setuptools_cuda.frontends.commands").mix(command, found)


def _check_setuptools() -> None:
    """Raise SystemExit under a setuptools whose public API lacks what our commands are made of."""
    found = _load("setuptools").__version__
    major = found.partition(".")[0]
    if major.isdecimal() and int(major) < OLDEST_SETUPTOOLS:
        advice = f"pip install --upgrade 'setuptools>={OLDEST_SETUPTOOLS}' (it is in build-system.requires, "
        why = "which is not looked at without build isolation)"
        text = f"setuptools {found} is too old for setuptools_cuda, which needs {OLDEST_SETUPTOOLS} or newer"
        raise SystemExit(f"error: {text}\n  to fix  {advice}{why}")


def _load(module: str) -> Any:
    """Return ``module``, imported now: projects that are not ours must not pay for it."""
    return importlib.import_module(module)


def _is_ours(dist: setuptools.Distribution) -> bool:
    if vars(dist)[ATTRIBUTE] is not None or _says_our_words(dist):
        return True
    if _mentions_us(Path("pyproject.toml")):
        return _has_cuda_source(dist)
    return _has_cuda_source(dist) and not _is_built_by_others(dist)


def _mentions_us(pyproject: Path) -> bool:
    try:
        return b"setuptools-cuda" in pyproject.read_bytes()
    except OSError:
        return False


def _says_our_words(dist: setuptools.Distribution) -> bool:
    """Return whether setup.py gave targets of our classes."""
    if getattr(dist, "cuda_libraries", None) or getattr(dist, "kernel_modules", None):
        return True
    # An instance of our class can only exist where its module was imported.
    ours = sys.modules.get("setuptools_cuda.frontends.extension")
    return ours is not None and any(isinstance(one, ours.CudaExtension) for one in dist.ext_modules or ())


def _has_cuda_source(dist: setuptools.Distribution) -> bool:
    sources = (source for one in dist.ext_modules or () for source in getattr(one, "sources", None) or ())
    return any(str(source).endswith(".cu") for source in sources)


def _is_built_by_others(dist: setuptools.Distribution) -> bool:
    command = dist.cmdclass.get("build_ext")
    return any(base.__module__ in OTHER_BUILDERS for base in getattr(command, "__mro__", ()))
