"""Members of a wheel: read so that damage of any kind is one problem, which names the wheel and the member."""

from __future__ import annotations

import shutil
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from setuptools_cuda.errors import BuildError, Code, Problem, spell_controls

_BLOCK = 1 << 20
_ANEW = ("fetch or build it anew",)


@dataclass(frozen=True)
class Members:
    """An open wheel."""

    path: Path
    archive: zipfile.ZipFile

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names of all members."""
        return tuple(self.archive.namelist())

    def list(self) -> tuple[zipfile.ZipInfo, ...]:
        """Return the members that are files, by name; of several of one name the last, which is what is installed."""
        files = {member.filename: member for member in self.archive.infolist() if not member.is_dir()}
        return tuple(files[name] for name in sorted(files))

    def read(self, name: str) -> bytes:
        """Return the content of a member. Raises BuildError (BAD_VALUE) where it is damaged."""
        with _told(self.path, member=name):
            return self.archive.read(name)

    def read_head(self, member: zipfile.ZipInfo, *, size: int) -> bytes:
        """Return the first ``size`` bytes of a member. Raises BuildError (BAD_VALUE) where it is damaged."""
        with _told(self.path, member=member.filename), self.archive.open(member) as file:
            return file.read(size)

    def unpack(self, member: zipfile.ZipInfo, *, into: Path) -> None:
        """Write a member to a file.

        Raises:
            BuildError: BAD_VALUE where it is damaged, DISK_FULL where there is no room for it.
        """
        free = shutil.disk_usage(into.parent).free
        if member.file_size > free:
            raise BuildError(_describe_room(self.path, member=member, free=free, folder=into.parent.parent))
        with into.open("wb") as target:
            for block in self._read_blocks(member):
                target.write(block)

    def _read_blocks(self, member: zipfile.ZipInfo) -> Iterator[bytes]:
        with _told(self.path, member=member.filename):
            source = self.archive.open(member)
        with source:
            while True:
                with _told(self.path, member=member.filename):
                    block = source.read(_BLOCK)
                if not block:
                    return
                yield block


@contextmanager
def open_wheel(path: Path) -> Iterator[Members]:
    """Yield the members of a wheel. Raises BuildError (BAD_VALUE) where it cannot be opened."""
    with _told(path):
        archive = zipfile.ZipFile(path)
    with archive:
        yield Members(path, archive)


@contextmanager
def _told(path: Path, *, member: str = "") -> Iterator[None]:
    """Turn what zipfile and its decompressors stumble over into a problem: errors of a dozen classes, for damage."""
    try:
        yield
    except Exception as error:  # as said above
        because = ("because", spell_controls(str(error)) or type(error).__name__)
        details = (("member", spell_controls(member)), because) if member else (because,)
        raise BuildError(
            Problem(Code.BAD_VALUE, "the wheel cannot be unpacked", str(path), details=details, fix=_ANEW)
        ) from error


def _describe_room(path: Path, *, member: zipfile.ZipInfo, free: int, folder: Path) -> Problem:
    details = (
        ("member", f"{spell_controls(member.filename)}: {member.file_size} bytes"),
        ("free", f"{free} bytes in {folder}"),
    )
    fix = ("name a folder with more room: TMPDIR=/path",)
    return Problem(Code.DISK_FULL, "there is no room to unpack the wheel", str(path), details=details, fix=fix)
