"""setuptools' customised compiler and interpreter, as the values that a plan is made from."""

from __future__ import annotations

import os
import sys
import sysconfig
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Protocol

from setuptools_cuda.errors import BuildError, Code, Problem
from setuptools_cuda.plan.values import HostCommands, PythonFacts


class UnixCompiler(Protocol):
    """The public attributes of setuptools' compiler for Unix that are read here."""

    compiler_type: str
    compiler_so: list[str]
    compiler_so_cxx: list[str]
    linker_so: list[str]
    linker_so_cxx: list[str]
    macros: list[tuple[str, str | None] | tuple[str]]
    include_dirs: list[str]
    libraries: list[str]
    library_dirs: list[str]
    runtime_library_dirs: list[str]
    objects: list[str]

    def library_option(self, lib: str) -> str:
        """Return the linker's option for a library."""

    def library_dir_option(self, dir: str) -> str:  # noqa: A002 - the name is setuptools'
        """Return the linker's option for a folder of libraries."""

    def runtime_library_dir_option(self, dir: str) -> str | list[str]:  # noqa: A002 - the name is setuptools'
        """Return the linker's option for a folder that is searched at run time."""


def read_host_commands(compiler: UnixCompiler, *, debug: bool, root: Path) -> HostCommands:
    """Return how ``compiler`` compiles and links, with its macros, folders and libraries.

    Raises BuildError for a compiler that is not of the Unix kind.
    """
    check_kind(compiler)
    symbols = ("-g",) if debug else ()
    options = (*symbols, *_preprocessor_options(compiler, root=root))
    folders = (*map(compiler.library_dir_option, compiler.library_dirs), *_rpath_options(compiler))
    return HostCommands(
        c=(*compiler.compiler_so, *options),
        cxx=(*compiler.compiler_so_cxx, *options),
        link_c=(*compiler.linker_so, *symbols, *folders),
        link_cxx=(*compiler.linker_so_cxx, *symbols, *folders),
        libraries=(*compiler.objects, *map(compiler.library_option, compiler.libraries)),
    )


def read_python_facts(extension_suffix: str, *, include_dirs: Iterable[str] | None = None) -> PythonFacts:
    """Return the facts of this interpreter; ``extension_suffix`` is setuptools' for its modules."""
    headers = dict.fromkeys((sysconfig.get_path("include"), sysconfig.get_path("platinclude")))
    return PythonFacts(
        include_dirs=tuple(headers) if include_dirs is None else tuple(include_dirs),
        version=sys.version_info[:2],
        free_threaded=bool(sysconfig.get_config_var("Py_GIL_DISABLED")),
        extension_suffix=extension_suffix,
        executable=sys.executable,
    )


def check_kind(compiler: UnixCompiler) -> None:
    """Raise BuildError where ``compiler`` takes another kind of command line than gcc and clang."""
    if compiler.compiler_type != "unix":
        raise BuildError(
            Problem(
                Code.NOT_AVAILABLE,
                f"CUDA extensions cannot be built with setuptools' {compiler.compiler_type!r} compiler",
                details=(("why", "Windows is not supported yet"),),
                fix=("build on Linux, or in WSL",),
            )
        )


def _preprocessor_options(compiler: UnixCompiler, *, root: Path) -> tuple[str, ...]:
    macros = tuple(_macro_option(macro) for macro in compiler.macros)
    folders = (folder for folder in compiler.include_dirs if not _is_empty_venv_folder(folder))
    return (*macros, *(f"-I{_relative(folder, root=root)}" for folder in folders))


def _macro_option(macro: Sequence[str | None]) -> str:
    name, *value = macro
    if not value:
        return f"-U{name}"
    return f"-D{name}" if value[0] is None else f"-D{name}={value[0]}"


def _is_empty_venv_folder(folder: str) -> bool:
    """Return whether ``folder`` is a virtual environment's include folder, and holds no file.

    setuptools always names it. An isolated build has a new environment with a new path each time,
    so that naming a folder without headers would make every compile a new one.
    """
    if Path(folder) != Path(sys.exec_prefix, "include"):
        return False
    return not any(files for _, _, files in os.walk(folder))


def _relative(folder: str, *, root: Path) -> str:
    path = Path(folder)
    return path.relative_to(root).as_posix() if path.is_absolute() and path.is_relative_to(root) else folder


def _rpath_options(compiler: UnixCompiler) -> tuple[str, ...]:
    options = (compiler.runtime_library_dir_option(folder) for folder in compiler.runtime_library_dirs)
    return tuple(word for option in options for word in ([option] if isinstance(option, str) else option))
