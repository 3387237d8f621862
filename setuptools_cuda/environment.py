"""One snapshot of the outside world: variables, machine, interpreter.

This is the only module that reads ``os.environ``. Everything below takes the snapshot as an
argument, so that a decision can be repeated, tested and explained.
"""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from setuptools_cuda.errors import BuildError, Code, Problem


@dataclass(frozen=True)
class Environment:
    """What the process was started with. Frozen: later changes to the process are not seen."""

    variables: Mapping[str, str]
    cwd: Path
    platform_system: str = "Linux"
    platform_machine: str = "x86_64"
    python_version: tuple[int, int] = (3, 11)
    search_path: tuple[str, ...] = field(default=())
    """``sys.path``: where distributions of the build environment are looked for."""
    prefix: str = ""
    """The virtual environment that runs us, '' where there is none."""

    def get(self, name: str) -> str | None:
        """Return the variable, or None. An empty or blank variable is an unset one."""
        value = self.variables.get(name, "")
        return value if value.strip() else None

    def first(self, *names: str) -> tuple[str, str] | None:
        """Return (name, value) of the first of ``names`` that is set, or None."""
        for name in names:
            value = self.get(name)
            if value is not None:
                return name, value
        return None

    def find_place(self, text: str, *, root: Path) -> Path | None:
        """Return the path that ``text`` names, relative to ``root``; None for ``~`` where HOME is not set."""
        if text != "~" and not text.startswith("~/"):
            return root / text
        home = self.get("HOME")
        return Path(home) / text[2:] if home else None

    def with_variables(self, changes: Mapping[str, str | None]) -> Environment:
        """Return a copy with ``changes`` applied; None removes a variable."""
        merged = {**self.variables, **{k: v for k, v in changes.items() if v is not None}}
        for name in (k for k, v in changes.items() if v is None):
            merged.pop(name, None)
        return replace(self, variables=merged)


def read_environment() -> Environment:
    """Return a snapshot of this process's environment. Raises BuildError where the current folder was removed."""
    try:
        cwd = Path.cwd()
    except FileNotFoundError:
        problem = Problem(Code.BAD_VALUE, "the current folder was removed", fix=("change to a folder that exists",))
        raise BuildError(problem) from None
    return Environment(
        variables=dict(os.environ),
        cwd=cwd,
        platform_system=platform.system(),
        platform_machine=platform.machine(),
        python_version=sys.version_info[:2],
        search_path=tuple(sys.path),
        prefix=sys.prefix if sys.prefix != sys.base_prefix else "",
    )
