"""Reads the project's table from ``pyproject.toml``."""

from __future__ import annotations

import re
import sys
from pathlib import Path
from typing import Any

from setuptools_cuda.errors import BuildError, Code, Problem, raise_if_any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

TABLE = "tool.setuptools-cuda"
_NEAR = frozenset(
    {"setuptools_cuda", "setuptools-cuda-build", "setuptools_cuda_build", "setuptoolscuda", "setuptool-cuda"}
)
"""Names of tables that nobody else has: the package's, the distribution's, and a slip of the hand."""


def find_table(root: Path) -> dict[str, Any] | None:
    """Return the table ``[tool.setuptools-cuda]`` of ``root``, or None where there is none.

    Raises:
        BuildError: the file cannot be read, is not UTF-8 or not TOML, or the table is no table.
    """
    tool = read_pyproject(root).get("tool", {})
    if not isinstance(tool, dict):
        raise BuildError(Problem(Code.BAD_PYPROJECT, "'tool' is not a table", "pyproject.toml"))
    raise_if_any(_misspelt(name) for name in tool if name in _NEAR)
    table = tool.get("setuptools-cuda")
    if table is not None and not isinstance(table, dict):
        fix = (f"write [{TABLE}], and the keys below it",)
        raise BuildError(Problem(Code.WRONG_TYPE, "is not a table", TABLE, fix=fix))
    return table


def _misspelt(name: str) -> Problem:
    return Problem(Code.UNKNOWN_KEY, "is no table of ours", f"tool.{name}", fix=(f"did you mean [{TABLE}]?",))


def read_pyproject(root: Path) -> dict[str, Any]:
    """Return what the ``pyproject.toml`` of ``root`` says, nothing where there is none. Raises BuildError."""
    text = _read(root / "pyproject.toml")
    return {} if text is None else _parse(text)


def _read(file: Path) -> str | None:
    try:
        return file.read_bytes().decode("utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as error:
        line = error.object.count(b"\n", 0, error.start) + 1
        what = f"is not UTF-8: byte 0x{error.object[error.start]:02x} in line {line}"
        raise _bad(what, line=line) from error
    except OSError as error:
        raise _bad(f"cannot be read: {error.strerror}", line=0) from error


def _parse(text: str) -> dict[str, Any]:
    try:
        # TOML allows CR LF as a line end; decoding bytes by hand has kept them.
        return tomllib.loads(text.replace("\r\n", "\n"))
    except tomllib.TOMLDecodeError as error:
        found = re.search(r"\(at line (\d+)", str(error))
        line = int(found[1]) if found else text.count("\n") + 1
        raise _bad(f"is not valid TOML: {error}", line=line) from error
    except ValueError as error:
        # A number of more digits than Python reads.
        raise _bad(f"cannot be read: {error}", line=0) from error
    except RecursionError as error:
        raise _bad("is nested too deeply", line=0) from error


def _bad(what: str, *, line: int) -> BuildError:
    where = f"pyproject.toml:{line}" if line else "pyproject.toml"
    return BuildError(Problem(Code.BAD_PYPROJECT, what, where))
