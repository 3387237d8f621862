"""Who runs now, with how much memory and how many threads: the book that the jobs of a build keep.

Ninja knows how many jobs may run; what each of them needs, it does not. So each job enters itself
here before it starts its compiler, and waits where the memory is spoken for.
"""

from __future__ import annotations

import os
import sys
import time

from setuptools_cuda.execute.fields import parse_fields, render_fields

if sys.platform != "win32":
    import fcntl

TYPE_CHECKING = False
"""As in :mod:`typing`, which is slow to import."""
if TYPE_CHECKING:
    from collections.abc import Iterable

SHARING = ("cuda",)
"""Kinds of jobs that can use several cores."""
_WAIT = 0.05
UNKNOWN_NEED = 512 << 20
"""Bytes that a compile is taken to need while nothing is known of any: a CUDA source of a few hundred lines."""


class _Row:
    """One job that runs."""

    __slots__ = ("need", "pid", "started", "threads")

    def __init__(self, pid: int, *, need: int, threads: int, started: int) -> None:
        self.pid = pid
        self.need = need
        self.threads = threads
        self.started = started


class _Book:
    """What is written in the ledger; open, nobody else reads or writes it."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
        fcntl.flock(self._file, fcntl.LOCK_EX)
        self.left, self.peak, self.rows = _parse(os.pread(self._file, 1 << 20, 0))

    def __enter__(self) -> _Book:
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._file)

    def write(self) -> None:
        data = _render(self.left, self.peak, self.rows)
        os.pwrite(self._file, data, 0)
        os.ftruncate(self._file, len(data))


class Ledger:
    """The book, as one job uses it."""

    def __init__(self, path: str, *, parallel: int, memory: int, last_threads: int = 0) -> None:
        """Open the book at ``path``. ``memory`` are the bytes for all jobs together, 0 where unknown.

        ``last_threads`` may the last to start take, also where fewer cores are free.
        """
        self._path = path
        self._parallel = parallel
        self._memory = memory
        self._last_threads = last_threads

    def enter(self, *, need: int, together: int, most_threads: int, shares: bool = True) -> int:
        """Wait until there is room, take it, and return the threads that were got.

        ``need`` are the bytes of one thread, ``together`` those of all, each 0 where unknown;
        ``most_threads`` can be used. What does not share in the cores, a host compiler, is over so soon
        that nvcc, which cannot take more threads later, is not to get fewer for it.
        """
        while True:
            with _Book(self._path) as book:
                threads, needed = self._weigh(book, need=need, together=together, most_threads=most_threads)
                if threads:
                    taken = threads if shares else 0
                    row = _Row(os.getpid(), need=needed, threads=taken, started=time.monotonic_ns())
                    book.rows.append(row)
                    book.left = max(0, book.left - 1) if shares else book.left
                    book.write()
                    return threads
            time.sleep(_WAIT)

    def leave(self, *, memory: int) -> None:
        """Give the room back, and tell what the largest process took."""
        with _Book(self._path) as book:
            book.rows = [row for row in book.rows if row.pid != os.getpid()]
            book.peak = max(book.peak, memory)
            book.write()

    def is_oldest(self) -> bool:
        """Return whether nobody that runs began before us."""
        with _Book(self._path) as book:
            first = min(book.rows, key=lambda row: row.started, default=None)
            return first is None or first.pid == os.getpid()

    def _weigh(self, book: _Book, *, need: int, together: int, most_threads: int) -> tuple[int, int]:
        """Return the threads and bytes to give, no threads where there is no room yet."""
        free = self._parallel - sum(row.threads for row in book.rows)
        # No core is to idle, and none to be taken twice: those that are still to start get their share.
        share = free // max(1, book.left)
        # While the last one runs, cores fall idle: where others end, and where its steps wait for each other.
        share = max(share, self._last_threads) if book.left <= 1 else share
        threads = max(1, min(most_threads, share))
        one = need or book.peak or UNKNOWN_NEED
        room = self._memory - sum(row.need for row in book.rows)
        if self._memory and not together:
            threads = max(1, min(threads, room // one))
        needed = together or one * threads
        fits = not self._memory or not book.rows or needed <= room
        return (threads, needed) if fits else (0, 0)


def render_ledger(*, left: int) -> bytes:
    """Return the text of a new book, of a build in which ``left`` compiles are to start that share in the cores."""
    return _render(left, 0, [])


def _render(left: int, peak: int, rows: Iterable[_Row]) -> bytes:
    fields = {"left": [str(left)], "peak": [str(peak)]}
    fields |= {str(row.pid): [str(row.need), str(row.threads), str(row.started)] for row in rows}
    return render_fields(fields)


def _parse(data: bytes) -> tuple[int, int, list[_Row]]:
    """Return what the book says, with those struck out that have ended without a word."""
    try:
        fields = parse_fields(data)
        left, peak = int(fields.pop("left")[0]), int(fields.pop("peak")[0])
        rows = [
            _Row(int(pid), need=int(need), threads=int(threads), started=int(started))
            for pid, (need, threads, started) in fields.items()
        ]
    except (ValueError, KeyError, IndexError):
        # Its writer was killed at it. Who runs is lost, and all that it costs is some waiting less.
        return 0, 0, []
    return left, peak, [row for row in rows if _runs(row.pid)]


def _runs(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


class Turn:
    """Whose turn it is: many at once, or one alone after all others."""

    def __init__(self, path: str) -> None:
        """Open the lock at ``path``, which does not have to exist."""
        self._file = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)

    def share(self) -> None:
        """Wait until nobody runs alone, and run beside others."""
        fcntl.flock(self._file, fcntl.LOCK_SH)

    def take_alone(self) -> None:
        """Wait until nobody runs, and keep all others waiting."""
        fcntl.flock(self._file, fcntl.LOCK_UN)
        fcntl.flock(self._file, fcntl.LOCK_EX)
