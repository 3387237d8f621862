"""Device compilers of other distributions, by the entry-point group ``setuptools_cuda.device_compilers``.

The entry point's name is what ``device-compiler`` says. Its object has three attributes:

- ``suffixes``: the suffixes of the sources that it reads, as ``{".rs"}``;
- ``identity``: a string that changes whenever the same source gives other PTX, as its version;
- ``command(source, architecture)``: the command that writes PTX of ``source`` for ``architecture`` (as
  '90a') to the file ``{out}``. It is a list of arguments; with ``{depfile}`` among them it also says there, as a
  Makefile rule, which files it read. The command runs in the project's root, for each architecture.

Machine code is made of the PTX by ptxas.
"""

from __future__ import annotations

import difflib
import importlib.metadata
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field

from setuptools_cuda.environment import Environment
from setuptools_cuda.errors import BuildError, Code, Problem
from setuptools_cuda.resolution.entry_points import (
    ask_plugin,
    describe_nonsense,
    find_entry_points,
    load_entry_point,
)

ENTRY_POINTS = "setuptools_cuda.device_compilers"
BUILT_IN = ("nvcc", "nvrtc", "nvvm", "llvm")


@dataclass(frozen=True)
class DevicePlugin:
    """A device compiler of another distribution."""

    name: str
    suffixes: frozenset[str]
    identity: str
    command: Callable[[str, str], tuple[str, ...]] = field(compare=False)
    """Returns the command for a source and an architecture. Raises BuildError where the plug-in fails."""


def find_device_plugins(names: Iterable[str], *, environment: Environment) -> Mapping[str, DevicePlugin]:
    """Return the plug-ins that have one of ``names``; those of our own are left out.

    Raises:
        BuildError: BAD_VALUE for a name that no distribution here has, PLUGIN_FAILED for one that does not load.
    """
    wanted = [name for name in dict.fromkeys(names) if name not in BUILT_IN]
    if not wanted:
        return {}
    points = {point.name: point for point in find_entry_points(ENTRY_POINTS, search_path=environment.search_path)}
    unknown = [name for name in wanted if name not in points]
    if unknown:
        known = (*BUILT_IN, *points)
        raise BuildError(*(_describe_unknown(name, known=known) for name in unknown))
    return {name: _wrap(points[name]) for name in wanted}


def _wrap(point: importlib.metadata.EntryPoint) -> DevicePlugin:
    loaded = load_entry_point(point)
    suffixes, identity = getattr(loaded, "suffixes", None), getattr(loaded, "identity", None)
    command = getattr(loaded, "command", None)
    if not isinstance(suffixes, Iterable) or isinstance(suffixes, str) or not all(map(_is_suffix, suffixes)):
        raise BuildError(
            describe_nonsense(point, got=suffixes, wanted="a set of suffixes such as {'.rs'} in `suffixes`")
        )
    if not isinstance(identity, str) or not identity:
        raise BuildError(describe_nonsense(point, got=identity, wanted="a string in `identity`"))
    if not callable(command):
        raise BuildError(describe_nonsense(point, got=command, wanted="a function `command(source, architecture)`"))

    def call(source: str, architecture: str) -> tuple[str, ...]:
        argv = ask_plugin(point, command, source, architecture)
        if not isinstance(argv, Sequence) or not all(isinstance(word, str) for word in argv) or "{out}" not in argv:
            raise BuildError(describe_nonsense(point, got=argv, wanted="a list of arguments with '{out}' among them"))
        return tuple(argv)

    return DevicePlugin(point.name, frozenset(suffixes), identity, call)


def _is_suffix(word: object) -> bool:
    return isinstance(word, str) and word.startswith(".") and len(word) > 1


def _describe_unknown(name: str, *, known: tuple[str, ...]) -> Problem:
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    return Problem(
        Code.BAD_VALUE,
        f"there is no device compiler {name!r}{hint}",
        "device-compiler",
        (("known here", ", ".join(known)),),
        (f"install the distribution that has it (its entry point is in the group {ENTRY_POINTS})",),
    )
