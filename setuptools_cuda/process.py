"""Running other programs: the only importer of :mod:`subprocess`.

Programs are always given as a list of arguments, never as a line for a shell. What they print
is read as bytes and decoded so that no byte is an error (``backslashreplace``), since a
compiler speaks in whatever encoding its files have.
"""

from __future__ import annotations

import contextlib
import os
import signal
import subprocess
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

_ENDING = tuple(getattr(signal, name) for name in ("SIGTERM", "SIGHUP") if hasattr(signal, name))


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
    program before it goes on; so does a signal that ends this process.
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
            with _raising_signals():
                for line in running.stdout or ():
                    on_line(decode(line).rstrip("\r\n"))
                return running.wait()
        except BaseException as error:
            running.terminate()
            # On Ctrl-C leaving the block would not wait, and what runs is still writing.
            running.wait()
            if isinstance(error, _SignalError):
                os.kill(os.getpid(), error.number)
            raise


class _SignalError(BaseException):
    """A signal that is to end this process, and that nobody else takes care of."""

    def __init__(self, number: int) -> None:
        super().__init__(number)
        self.number = number


@contextlib.contextmanager
def _raising_signals() -> Iterator[None]:
    """Raise a signal that would end this process as an exception, so that what it runs is ended first.

    One that somebody else takes care of, or ignores as nohup does, stays theirs. Python lets the
    main thread alone take care of signals (its documentation, "signal").
    """

    def stop(number: int, _frame: FrameType | None) -> None:
        raise _SignalError(number)

    is_main = threading.current_thread() is threading.main_thread()
    numbers = [number for number in _ENDING if is_main and signal.getsignal(number) is signal.SIG_DFL]
    for number in numbers:
        signal.signal(number, stop)
    try:
        yield
    finally:
        for number in numbers:
            signal.signal(number, signal.SIG_DFL)


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
