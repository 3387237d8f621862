"""Running other programs: the only importer of :mod:`subprocess`.

Programs are always given as a list of arguments, never as a line for a shell. What they print
is read as bytes and decoded so that no byte is an error (``backslashreplace``), since a
compiler speaks in whatever encoding its files have.
"""

from __future__ import annotations

import subprocess
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True)
class Completed:
    """A program that ran to its end. ``status`` is negative for a signal, 127 if not started."""

    argv: tuple[str, ...]
    status: int
    stdout: str
    stderr: str

    @property
    def ok(self) -> bool:
        """Return whether the program ended with status 0."""
        return self.status == 0


def run_tool(
    argv: Sequence[str],
    *,
    variables: Mapping[str, str],
    cwd: Path | None = None,
    stdin: bytes = b"",
    timeout: float | None = 120,
) -> Completed:
    """Run ``argv`` and return what it said.

    A program that cannot be started or does not end within ``timeout`` seconds is not an
    exception: it has status 127 or 124, and the reason in ``stderr``.
    """
    arguments = tuple(argv)
    try:
        done = subprocess.run(  # noqa: S603 - argv lists only, by the rule above
            arguments, input=stdin, capture_output=True, env=dict(variables), cwd=cwd, timeout=timeout, check=False
        )
    except subprocess.TimeoutExpired:
        return Completed(arguments, 124, "", f"no answer within {timeout} s")
    except OSError as error:
        return Completed(arguments, 127, "", f"{error.strerror or error}")
    return Completed(arguments, done.returncode, decode(done.stdout), decode(done.stderr))


def decode(data: bytes) -> str:
    r"""Return ``data`` as text; bytes that are not UTF-8 are shown as ``\\xNN``."""
    return data.decode("utf-8", "backslashreplace")
