"""Keeps the artifact cache within its size: what was used least recently goes first."""

from __future__ import annotations

import contextlib
import os
import shutil
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from setuptools_cuda.execute.artifacts import ENTRIES, LAYOUT, LISTS, TEMPORARY, list_files
from setuptools_cuda.execute.folder import lock_file

DEFAULT_LIMIT = 5 << 30
"""Bytes."""
_KEEP = 0.9
"""What is left of the limit after something had to go, so that not every build has to look."""
_LIMIT_FILE, _SIZE_FILE, _LOCK_FILE = "limit", "size", "lock"
_DAY = 86_400.0
_ABANDONED = 3600.0
"""Seconds after which a temporary file is one of a build that was killed."""


@dataclass(frozen=True)
class Usage:
    """What a cache holds."""

    entries: int
    size: int
    limit: int


def read_limit(folder: Path) -> int:
    """Return the bytes that the cache may hold."""
    return _read_number(folder / _LIMIT_FILE) or DEFAULT_LIMIT


def write_limit(folder: Path, limit: int) -> None:
    """Let the cache hold ``limit`` bytes from now on. Raises OSError."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / _LIMIT_FILE).write_text(f"{limit}\n", "ascii")
    with _held(folder):
        _evict(folder)


def measure(folder: Path) -> Usage:
    """Return what the cache holds, by looking."""
    entries = size = 0
    for file in list_files(folder, kinds=(ENTRIES, LISTS)):
        with contextlib.suppress(OSError):
            size += file.stat().st_size
            entries += ENTRIES in Path(file.path).parts
    return Usage(entries, size, read_limit(folder))


def account(folder: Path, *, added: int) -> None:
    """Note that ``added`` bytes came in, and take out what is too much. Raises OSError.

    What is in it is counted anew once a day: builds that were killed have not said what they added.
    """
    with _held(folder):
        size_file = folder / LAYOUT / _SIZE_FILE
        known = _read_number(size_file)
        if known and abs(time.time() - size_file.stat().st_mtime) < _DAY and known + added <= read_limit(folder):
            before = size_file.stat()
            size_file.write_text(f"{known + added}\n", "ascii")
            os.utime(size_file, ns=(before.st_atime_ns, before.st_mtime_ns))
            return
        _evict(folder)


def clear(folder: Path) -> Usage:
    """Take everything out of the cache, and return what it held. Raises OSError."""
    if not (folder / LAYOUT).is_dir():
        return Usage(0, 0, read_limit(folder))
    with _held(folder):
        held = measure(folder)
        for kind in (ENTRIES, LISTS, TEMPORARY):
            if (folder / LAYOUT / kind).is_dir():
                shutil.rmtree(folder / LAYOUT / kind)
        (folder / LAYOUT / _SIZE_FILE).unlink(missing_ok=True)
    return held


def _evict(folder: Path) -> None:
    """Count what is there; where it is too much, remove what was used least recently."""
    _remove_abandoned(folder)
    now = time.time()
    rows = []
    for file in list_files(folder, kinds=(ENTRIES, LISTS)):
        with contextlib.suppress(OSError):
            state = file.stat()
            # A time to come is one of a clock that was put back since.
            rows.append((min(state.st_mtime, now), state.st_size, file.path))
    size, limit = sum(row[1] for row in rows), read_limit(folder)
    if size > limit:
        for _, bytes_, path in sorted(rows):
            if size <= limit * _KEEP:
                break
            with contextlib.suppress(OSError):
                Path(path).unlink()
                size -= bytes_
    size_file = folder / LAYOUT / _SIZE_FILE
    size_file.write_text(f"{size}\n", "ascii")
    os.utime(size_file)


def _remove_abandoned(folder: Path) -> None:
    now = time.time()
    for file in list_files(folder, kinds=(TEMPORARY,)):
        with contextlib.suppress(OSError):
            if abs(now - file.stat().st_mtime) > _ABANDONED:
                Path(file.path).unlink()


@contextlib.contextmanager
def _held(folder: Path) -> Iterator[None]:
    (folder / LAYOUT).mkdir(parents=True, exist_ok=True)
    with (folder / LAYOUT / _LOCK_FILE).open("ab") as file:
        lock_file(file)
        yield


def _read_number(path: Path) -> int:
    try:
        text = path.read_text("ascii").strip()
        # Python refuses to read thousands of digits.
        return int(text) if text.isdecimal() else 0
    except (OSError, ValueError):
        return 0
