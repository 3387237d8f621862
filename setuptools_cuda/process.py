"""Running other programs: the only importer of :mod:`subprocess`.

Programs are always given as a list of arguments, never as a line for a shell. What they print
is read as bytes and decoded so that no byte is an error (``backslashreplace``), since a
compiler speaks in whatever encoding its files have.
"""

from __future__ import annotations

import subprocess
from collections.abc import Callable, Mapping, Sequence
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


def run_streaming(
    argv: Sequence[str],
    *,
    variables: Mapping[str, str],
    cwd: Path,
    on_line: Callable[[str], None],
    inherits: Sequence[int] = (),
) -> int:
    """Run ``argv``, hand each line that it prints to ``on_line``, and return its exit status.

    It and what it starts keep the file descriptors ``inherits``, and so the locks on them. Raises
    OSError where it cannot be started. An exception in ``on_line``, Ctrl-C included, ends the
    program before it goes on.
    """
    with subprocess.Popen(  # noqa: S603 - argv lists only, by the rule above
        tuple(argv),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        env=dict(variables),
        cwd=cwd,
        pass_fds=tuple(inherits),
    ) as running:
        try:
            for line in running.stdout or ():
                on_line(decode(line).rstrip("\r\n"))
            return running.wait()
        except BaseException:
            running.terminate()
            # On Ctrl-C leaving the block would not wait, and what runs is still writing.
            running.wait()
            raise


@dataclass(frozen=True)
class Finished:
    """A program that ran in this process's own environment; both streams in one text."""

    status: int
    output: str


def run_inheriting(argv: Sequence[str]) -> Finished:
    """Run ``argv`` in this process's folder and environment, and return what it printed.

    A program that cannot be started has status 127 and the reason as its output.
    """
    try:
        done = subprocess.run(  # noqa: S603 - argv lists only, by the rule above
            tuple(argv), stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, check=False
        )
    except OSError as error:
        return Finished(127, f"{argv[0]}: {error.strerror or error}\n")
    return Finished(done.returncode, decode(done.stdout))
