"""Putting files where they belong: into the wheel tree or the source tree, and taking stale ones away.

A file is first written beside its destination and then renamed over it, so that nobody sees
half a file. Nothing is renamed before everything is written.
"""

from __future__ import annotations

import errno
import io
import os
import shutil
import stat
import tempfile
from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path, PurePosixPath, PureWindowsPath
from typing import IO

from setuptools_cuda.errors import BuildError, Code, Problem, raise_if_any

_BLOCK = 1 << 20
_FULL = frozenset({errno.ENOSPC, errno.EDQUOT})


def stage_files(
    files: Mapping[str, Path | bytes], *, into: Path, executables: Collection[str] = ()
) -> tuple[Path, ...]:
    """Put ``files`` into a folder and return their paths there, in the order given.

    Keys are destinations below ``into``, with '/'; values the file to copy, or the content.
    Modes are 0644, or 0755 for shared libraries and ``executables``. A file that is there
    already with the same content is not touched, so it keeps its time. On failure no
    temporary file stays, and no destination has changed unless a rename itself failed.

    Raises:
        BuildError: a destination is not below ``into`` (``UNSAFE_PATH``), a source cannot be
            read (``BAD_INPUT_FILE``), or a destination not written (``DISK_FULL``, ``NOT_WRITABLE``).
    """
    raise_if_any(check_destinations(files))
    temporaries: list[tuple[Path, Path]] = []
    try:
        for name, content in files.items():
            destination = into / name
            mode = 0o755 if name in executables or _is_shared_library(name) else 0o644
            with _told(destination):
                if not _is_current(destination, content=content):
                    temporaries.append((_write_beside(destination, content=content, mode=mode), destination))
                elif stat.S_IMODE(destination.stat().st_mode) != mode:
                    destination.chmod(mode)
        while temporaries:
            temporary, destination = temporaries[0]
            with _told(destination):
                temporary.replace(destination)
            del temporaries[0]
    finally:
        for temporary, _ in temporaries:
            temporary.unlink(missing_ok=True)
    return tuple(into / name for name in files)


def check_destinations(names: Collection[str]) -> list[Problem]:
    """Return a problem for each of ``names`` that is not a plain path below a folder."""
    return [
        Problem(Code.UNSAFE_PATH, f"the destination {name!r} is not below the folder that is written to")
        for name in names
        if not is_below(name)
    ]


def is_below(name: str) -> bool:
    """Return whether ``name`` is a relative path that does not lead out of its folder, in its plainest spelling."""
    path = PurePosixPath(name)
    plain = bool(path.parts) and ".." not in path.parts and not path.is_absolute() and str(path) == name
    return plain and "\\" not in name and not PureWindowsPath(name).drive and "\0" not in name


def _is_shared_library(name: str) -> bool:
    return ".so" in PurePosixPath(name).suffixes


def _is_current(destination: Path, *, content: Path | bytes) -> bool:
    if destination.is_symlink() or not destination.is_file():
        return False
    with _read(content) as new, destination.open("rb") as old:
        return _same(new, old)


def _same(one: IO[bytes], other: IO[bytes]) -> bool:
    while True:
        block, other_block = one.read(_BLOCK), other.read(_BLOCK)
        if block != other_block or not block:
            return block == other_block


def _write_beside(destination: Path, *, content: Path | bytes, mode: int) -> Path:
    destination.parent.mkdir(parents=True, exist_ok=True)
    if destination.is_dir() and not destination.is_symlink():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(destination))
    descriptor, name = tempfile.mkstemp(prefix=f".{destination.name[:60]}.", suffix=".tmp", dir=destination.parent)
    temporary = Path(name)
    try:
        with os.fdopen(descriptor, "wb") as target, _read(content) as source:
            shutil.copyfileobj(source, target, _BLOCK)
        temporary.chmod(mode)
    except BaseException:
        temporary.unlink(missing_ok=True)
        raise
    return temporary


@contextmanager
def _read(content: Path | bytes) -> Iterator[IO[bytes]]:
    if isinstance(content, bytes):
        yield io.BytesIO(content)
        return
    try:
        source = content.open("rb")
    except OSError as error:
        raise BuildError(
            Problem(
                Code.BAD_INPUT_FILE,
                "the file cannot be read",
                where=str(content),
                details=(("because", error.strerror or str(error)),),
            )
        ) from error
    with source:
        yield source


@contextmanager
def _told(destination: Path) -> Iterator[None]:
    """Turn a failure of the file system into a problem that names the destination."""
    try:
        yield
    except OSError as error:
        full = error.errno in _FULL
        raise BuildError(
            Problem(
                Code.DISK_FULL if full else Code.NOT_WRITABLE,
                "the file cannot be written",
                where=str(destination),
                details=(("because", error.strerror or str(error)),),
                fix=("make room on that disk" if full else "see who may write there, and what is in the way",),
            )
        ) from error
