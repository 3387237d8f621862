"""Digests of files by content, remembered by what the file system says of a file.

A file is read again when its size, times or inode have changed. The time of its last change of
state (ctime) is among them: no program can set it, so that new content under an old modification
time is seen too.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import re
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from setuptools_cuda.execute.writing import write_whole

FileId = tuple[int, int, int, int]
"""Size, modification time, change time (both in nanoseconds) and inode of a file."""
MISSING = ""
"""The digest of what is no file or cannot be read."""
_VERSION = 1
_BLOCK = 1 << 20
_COARSE = 2_000_000_000
"""Nanoseconds within which two changes may bear one time: file systems count in up to two seconds (FAT)."""
_TIMED = re.compile(rb"\b__(?:DATE|TIME|TIMESTAMP)__\b")


@dataclass
class Known:
    """What is known of a file."""

    id: FileId
    digest: str
    seen: int
    """When it was read, in nanoseconds of the wall clock."""
    timed: bool
    """Whether the text names the time of the compile, as ``__DATE__`` does."""
    monotonic: int = 0
    """When it was read in this build, by a clock that only goes forward; 0 for an earlier build."""
    since: int = 0
    """Since when, by that clock, it was so whenever it was looked at in this build; 0 if it was not."""

    @property
    def settled(self) -> bool:
        """Return whether a later change cannot have left the same times."""
        return self.monotonic > 0 or self.seen - max(self.id[1], self.id[2]) > _COARSE


def read_id(path: str) -> FileId | None:
    """Return what tells a file from other states of it, or None where it is no file."""
    try:
        found = os.stat(path)  # noqa: PTH116 - called tens of thousands of times in one build
    except (OSError, ValueError):
        return None
    if found.st_mode & 0o170000 != 0o100000:
        return None
    return found.st_size, found.st_mtime_ns, found.st_ctime_ns, found.st_ino


class Digests:
    """The digests of the files of one build, kept in ``file`` between builds."""

    def __init__(self, file: Path) -> None:
        """Read what an earlier build kept; what cannot be read is nothing."""
        self._file = file
        self._known = _load(file)
        self._now: dict[str, str] = {}
        self._changed = False

    def find(self, path: str) -> str:
        """Return the digest of a file, MISSING where there is none; asked once, it is not looked at again."""
        found = self._now.get(path)
        if found is None:
            found = self._now[path] = self._look(path)
        return found

    def forget(self, paths: Iterable[str]) -> None:
        """Look again at files that were written meanwhile."""
        for path in paths:
            self._now.pop(path, None)

    def confirm(self, path: str, *, id: FileId, started: int, mark: int) -> str:  # noqa: A002 - as Known has it
        """Return the digest of what a program read that began at ``started`` and saw ``id`` when it ended.

        MISSING where the file may have changed while the program ran: then nobody knows what it read.
        ``started`` is of the clock that only goes forward, ``mark`` the file system's time then.
        """
        before = self._known.get(path)
        if before is None or before.id != id or not before.settled:
            self.forget([path])
            self.find(path)
        known = self._known.get(path)
        if known is None:
            return MISSING
        # A file of which one more hard link was made, as by an installer with a cache, bears a new time too.
        stayed = 0 < known.since < started
        return known.digest if stayed or (known.id == id and id[2] < mark) else MISSING

    def is_timed(self, path: str) -> bool:
        """Return whether a file that was found names the time of its compile."""
        known = self._known.get(path)
        return known is not None and known.timed

    def save(self) -> None:
        """Keep what was asked for in this build."""
        if not self._changed:
            return
        rows = {path: (*known.id, known.digest, known.seen, known.timed) for path, known in self._used()}
        write_whole(self._file, json.dumps({"version": _VERSION, "files": rows}).encode("utf-8", "surrogateescape"))
        self._changed = False

    def _used(self) -> Iterable[tuple[str, Known]]:
        return ((path, self._known[path]) for path in self._now if path in self._known)

    def _look(self, path: str) -> str:
        id_now = read_id(path)
        if id_now is None:
            return MISSING
        known = self._known.get(path)
        if known is not None and known.id == id_now and known.settled:
            known.since = known.since or time.monotonic_ns()
            return known.digest
        read = _read(path, id_before=id_now)
        self._changed = True
        if read is None:
            self._known.pop(path, None)
            return MISSING
        if known is not None and known.since and known.digest == read.digest:
            read.since = known.since
        self._known[path] = read
        return read.digest


def _read(path: str, *, id_before: FileId) -> Known | None:
    """Return what a file holds, or None where it cannot be read or does not stay as it is."""
    seen, monotonic = time.time_ns(), time.monotonic_ns()
    content = hashlib.sha256()
    timed = False
    tail = b""
    try:
        with open(path, "rb", buffering=0) as file:  # noqa: PTH123 - as read_id
            while block := file.read(_BLOCK):
                content.update(block)
                timed = timed or _TIMED.search(tail + block) is not None
                tail = block[-16:]
    except OSError:
        return None
    if read_id(path) != id_before:
        return None
    return Known(id_before, content.hexdigest(), seen, timed, monotonic, monotonic)


def _load(file: Path) -> dict[str, Known]:
    with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
        kept = json.loads(file.read_text("utf-8", "surrogateescape"))
        if kept["version"] == _VERSION:
            return {path: _parse(row) for path, row in kept["files"].items()}
    return {}


def _parse(row: list[object]) -> Known:
    size, modified, changed, inode, digest, seen, timed = row
    numbers = (size, modified, changed, inode, seen)
    if not all(isinstance(number, int) for number in numbers) or not isinstance(digest, str):
        raise TypeError("no row of digests")
    return Known((size, modified, changed, inode), digest, seen, bool(timed))  # type: ignore[arg-type] # checked above
