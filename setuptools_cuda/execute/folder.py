"""The build folder: stable from build to build, shared by all that build in one project."""

from __future__ import annotations

import contextlib
import errno
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import IO

from setuptools_cuda.errors import BuildError, Code, Problem

if sys.platform == "win32":
    import msvcrt

    def lock_file(file: IO[bytes]) -> None:
        """Take an exclusive lock that ends when ``file`` is closed, also by a kill."""
        msvcrt.locking(file.fileno(), msvcrt.LK_LOCK, 1)

else:
    import fcntl

    def lock_file(file: IO[bytes]) -> None:
        """Take an exclusive lock that ends when ``file`` is closed, also by a kill."""
        fcntl.flock(file, fcntl.LOCK_EX)


SUBFOLDERS = (
    *("scratch", "failures", "results", "jobs", "order", "records"),
    *("objects", "images", "generated", "libraries", "linked"),
)


@dataclass(frozen=True)
class BuildFolder:
    """A folder below the project root that holds everything between sources and artifacts."""

    root: Path
    path: Path

    def relative(self, file: str = "") -> str:
        """Return a file of the folder as ninja, which runs in the root, is to call it."""
        try:
            place = self.path.relative_to(self.root)
        except ValueError:
            place = self.path
        return f"{place.as_posix()}/{file}" if file else place.as_posix()

    def write(self) -> None:
        """Make the folder and what it holds. Raises BuildError where that cannot be."""
        with telling(self.path):
            for name in SUBFOLDERS:
                (self.path / name).mkdir(parents=True, exist_ok=True)

    @contextlib.contextmanager
    def locked(self) -> Iterator[IO[bytes]]:
        """Hold the folder: other builds, of this process or another, wait. Gives the lock's file."""
        with hold(self.path / "lock") as file:
            yield file


@contextlib.contextmanager
def hold(lock: Path) -> Iterator[IO[bytes]]:
    """Hold the file ``lock``: whoever else wants it waits. Raises BuildError where it cannot be made."""
    with telling(lock):
        lock.parent.mkdir(parents=True, exist_ok=True)
        file = lock.open("ab")
    with file:
        with telling(lock):
            lock_file(file)
        yield file


@contextlib.contextmanager
def telling(path: Path) -> Iterator[None]:
    """Turn an OSError about ``path`` into a BuildError that says what to do."""
    try:
        yield
    except OSError as error:
        raise BuildError(describe_os_error(error, path=path)) from error


def describe_os_error(error: OSError, *, path: Path) -> Problem:
    """Return the problem that an OSError is, in the user's words."""
    place = str(error.filename or path)
    if error.errno in {errno.ENOSPC, errno.EDQUOT}:
        return Problem(Code.DISK_FULL, f"the disk is full: {place} cannot be written", fix=("free some space",))
    return Problem(
        Code.NOT_WRITABLE,
        f"{place} cannot be written: {error.strerror or error}",
        details=(("why", "a build keeps its files in the project's build folder"),),
        fix=("build from a copy of the project that you may write to",),
    )
