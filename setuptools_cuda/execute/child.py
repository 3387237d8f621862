"""One compiler as a child process: what it says, how it ends, what it took.

Not by :mod:`subprocess`: this runs once for each compile, wants the child's own resource usage,
and has to be quick to import.
"""

from __future__ import annotations

import _signal  # type: ignore[import-not-found]  # what "signal" is made of, and always loaded
import os
import select
import sys
import time

TYPE_CHECKING = False
"""As in :mod:`typing`, which is slow to import."""
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

_GRACE = 2.0
"""Seconds that a compiler has to take its temporary files away when it is told to end."""
_TERM, _KILL, _PIPE = 15, 9, 13
"""Signals by their numbers (signal(7)): the module that names them is slow to import."""


class Ended:
    """A program that ran to its end."""

    __slots__ = ("cpu", "gave_way", "memory", "output", "seconds", "status")

    def __init__(
        self, status: int, output: str, *, seconds: float, cpu: float, memory: int, gave_way: Sequence[int]
    ) -> None:
        """Hold what there is to say."""
        self.status = status
        """Negative for a signal, 127 if it could not be started."""
        self.output = output
        """Both streams in one text; a byte that is not UTF-8 is shown as ``\\xNN``."""
        self.seconds = seconds
        self.cpu = cpu
        self.memory = memory
        """Bytes of the largest process among it and its children."""
        self.gave_way = bool(gave_way)


def run_child(argv: Sequence[str], *, stays: Callable[[], float]) -> Ended:
    """Run ``argv`` and return what came of it.

    ``stays()`` says for how many seconds it may go on before that is asked again; at 0 it is ended,
    with all that it started. It belongs to this process's group, and so ends by the signals that
    end that.
    """
    started = time.monotonic()
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        _become(argv, writer=writer)
    os.close(writer)
    output, ended = _follow(pid, reader=reader, stays=stays)
    os.close(reader)
    _, status, usage = os.wait4(pid, 0)
    unit = 1 if sys.platform == "darwin" else 1024
    return Ended(
        os.waitstatus_to_exitcode(status),
        output.decode("utf-8", "backslashreplace"),
        seconds=time.monotonic() - started,
        cpu=usage.ru_utime + usage.ru_stime,
        memory=usage.ru_maxrss * unit,
        gave_way=ended,
    )


def _become(argv: Sequence[str], *, writer: int) -> None:
    """Turn this new process into the program."""
    try:
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        os.dup2(writer, 1)
        os.dup2(writer, 2)
        # Python ignores it, and what is ignored stays so in a new program.
        _signal.signal(_PIPE, _signal.SIG_DFL)
        os.execvp(argv[0], list(argv))  # noqa: S606 - no shell is wanted
    except OSError as error:
        os.write(2, f"{argv[0]}: {error.strerror or error}\n".encode("utf-8", "surrogateescape"))
    finally:
        os._exit(127)


def _follow(pid: int, *, reader: int, stays: Callable[[], float]) -> tuple[bytes, list[int]]:
    """Return all that is printed until the last process that may print has ended, and who was ended for it."""
    parts: list[bytes] = []
    ended: list[int] = []
    wait = stays()
    while True:
        ready, _, _ = select.select([reader], [], [], None if ended else wait)
        if ready:
            part = os.read(reader, 1 << 16)
            if not part:
                return b"".join(parts), ended
            parts.append(part)
            continue
        wait = stays()
        if not wait:
            ended = [pid, *list_descendants(pid)]
            _end(ended)


def _end(processes: Sequence[int]) -> None:
    """End processes, the first of which is our child: politely, so that they tidy up, then for certain."""
    _send(processes, _TERM)
    deadline = time.monotonic() + _GRACE
    while time.monotonic() < deadline and not _has_ended(processes[0]):
        time.sleep(0.02)
    _send(processes, _KILL)


def _has_ended(child: int) -> bool:
    return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT) is not None


def _send(processes: Sequence[int], number: int) -> None:
    for pid in processes:
        try:
            os.kill(pid, number)
        except OSError:
            continue


def list_descendants(pid: int) -> list[int]:
    """Return the processes that ``pid`` started, and those that they started (proc(5))."""
    parents: dict[int, int] = {}
    for entry in os.listdir("/proc"):  # noqa: PTH208 - pathlib is slow to import
        if entry.isdecimal():
            parents[int(entry)] = _parent(entry)
    found = [pid]
    for one in found:
        found.extend(child for child, parent in parents.items() if parent == one)
    return found[1:]


def _parent(pid: str) -> int:
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:  # noqa: PTH123 - pathlib is slow to import
            # The name of the program, in parentheses, may hold anything.
            return int(file.read().rpartition(b")")[2].split()[1])
    except (OSError, IndexError, ValueError):
        return 0
