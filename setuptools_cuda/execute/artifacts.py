"""The artifact cache: what compiles made, kept for other environments, folders and projects.

It is asked in two steps. The key of a job leads to lists of the files that its compiles have read;
the digests that these files have now lead to an entry. So a header that nobody has seen means
another entry, and never a wrong one. Every entry says what it holds, with digests: one that was
cut short or changed is thrown away. Files come into their place whole, by renaming; any number of
builds may use one cache at once.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import secrets
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from setuptools_cuda.execute.fingerprint import digest_parts

LAYOUT = "v1"
ENTRIES, LISTS, TEMPORARY = "entries", "lists", "tmp"
_MAGIC = b"setuptools_cuda artifact 1\n"
_MOST_LISTS = 8
_BLOCK = 1 << 20
_LONGEST_HEADER = 1 << 24
_TAG = (
    "Signature: 8a477f597d28d172789f06886806bc55\n"
    "# This folder is a cache of setuptools_cuda: it can be removed. See https://bford.info/cachedir/\n"
)

Listed = tuple[tuple[str, str], ...]


@dataclass(frozen=True)
class ReadSet:
    """What a compile read: names of files, and of those that it would have read instead."""

    names: tuple[str, ...]
    absent: tuple[str, ...]


@dataclass(frozen=True)
class Hit:
    """An entry that serves, with the digests of what led to it."""

    path: Path
    inputs: Listed
    absent: tuple[str, ...]


@dataclass(frozen=True)
class Fetched:
    """What was taken out of the cache."""

    digests: Mapping[str, str]
    """By role."""
    said: str
    """What the compiler printed."""


class Artifacts:
    """A cache in a folder. Reading never fails, it only finds nothing; a write may raise OSError."""

    def __init__(self, folder: Path) -> None:
        """Use the cache in ``folder``, which does not have to exist."""
        self.folder = folder / LAYOUT
        self.stored = 0
        """Bytes that were added."""

    def find(self, key: str, *, digest_of: Callable[[str], str], exists: Callable[[str], bool]) -> Hit | None:
        """Return the entry for a job as its files are now.

        ``digest_of`` gives the digest of a file by its name, '' where there is none.
        """
        for read in self._read_lists(key):
            inputs = tuple((name, digest_of(name)) for name in read.names)
            if all(digest for _, digest in inputs) and not any(map(exists, read.absent)):
                path = self._entry(_result_key(key, inputs=inputs))
                if path.is_file():
                    return Hit(path, inputs, read.absent)
        return None

    def fetch(self, hit: Hit, *, into: Mapping[str, Path]) -> Fetched | None:
        """Write the outputs of an entry to ``into``, by role; None, and no such entry any more, if it is damaged."""
        try:
            with hit.path.open("rb") as file:
                header = _read_header(file)
                digests = {role: digest for role, _, digest in header["outputs"]}
                for role, size, digest in header["outputs"]:
                    _copy_out(file, into[role], size=size, digest=digest)
        except FileNotFoundError:
            return None
        except (OSError, ValueError, KeyError, TypeError):
            with contextlib.suppress(OSError):
                hit.path.unlink()
            return None
        with contextlib.suppress(OSError):
            # What was used last is thrown away last; a cache that cannot be written to forgets that.
            os.utime(hit.path)
        return Fetched(digests, str(header["said"]))

    def store(
        self,
        key: str,
        *,
        inputs: Listed,
        absent: tuple[str, ...],
        outputs: Mapping[str, tuple[Path, str]],
        about: Mapping[str, object],
        said: str,
    ) -> None:
        """Keep what a job made: ``outputs`` are path and digest by role. Raises OSError."""
        place = self._entry(_result_key(key, inputs=inputs))
        rows = [(role, path.stat().st_size, digest) for role, (path, digest) in outputs.items()]
        header = {"key": key, "outputs": rows, "said": said, "about": about}
        with self._new_file(place) as file:
            _write_header(file, header)
            for path, digest in outputs.values():
                _copy_in(path, file, digest=digest)
            self.stored += file.tell()
        self._add_list(key, ReadSet(tuple(name for name, _ in inputs), absent))

    def _entry(self, key: str) -> Path:
        return self.folder / ENTRIES / key[:2] / key[2:]

    def _list(self, key: str) -> Path:
        return self.folder / LISTS / key[:2] / key[2:]

    def _read_lists(self, key: str) -> tuple[ReadSet, ...]:
        try:
            data = self._list(key).read_bytes()
        except OSError:
            return ()
        try:
            digest, _, body = data.partition(b"\n")
            _check_digest(body, digest=digest)
            return tuple(ReadSet(tuple(names), tuple(absent)) for names, absent in json.loads(body))
        except (ValueError, TypeError):
            with contextlib.suppress(OSError):
                self._list(key).unlink()
            return ()

    def _add_list(self, key: str, read: ReadSet) -> None:
        before = [other for other in self._read_lists(key) if other != read]
        rows = [(one.names, one.absent) for one in (read, *before)][:_MOST_LISTS]
        body = json.dumps(rows).encode()
        with self._new_file(self._list(key)) as file:
            file.write(hashlib.sha256(body).hexdigest().encode() + b"\n" + body)
            self.stored += file.tell()

    @contextlib.contextmanager
    def _new_file(self, place: Path) -> Iterator[BinaryIO]:
        """Give a file that comes into its place when all is well, and is gone otherwise."""
        temporary = self.folder / TEMPORARY / f"{os.getpid()}-{secrets.token_hex(8)}"
        self._make_folders(place)
        try:
            with temporary.open("xb") as file:
                yield file
            temporary.replace(place)
        except BaseException:
            with contextlib.suppress(OSError):
                temporary.unlink()
            raise

    def _make_folders(self, place: Path) -> None:
        if place.parent.is_dir() and (self.folder / TEMPORARY).is_dir():
            return
        place.parent.mkdir(parents=True, exist_ok=True)
        (self.folder / TEMPORARY).mkdir(exist_ok=True)
        # Not beside it: in a folder that holds other things, backups would leave out those.
        tag = self.folder / "CACHEDIR.TAG"
        if not tag.exists():
            tag.write_text(_TAG, "ascii")


def _result_key(key: str, *, inputs: Listed) -> str:
    return digest_parts((("job", key), *inputs))


def _write_header(file: BinaryIO, header: Mapping[str, object]) -> None:
    line = json.dumps(header).encode() + b"\n"
    file.write(_MAGIC + hashlib.sha256(line).hexdigest().encode() + b"\n" + line)


def _read_header(file: BinaryIO) -> dict[str, Any]:
    """Return the header of an entry. Raises ValueError where it is not whole."""
    if file.readline(len(_MAGIC)) != _MAGIC:
        raise ValueError("no entry")
    digest = file.readline(65).strip()
    line = file.readline(_LONGEST_HEADER)
    _check_digest(line, digest=digest)
    header: dict[str, Any] = json.loads(line)
    return header


def _check_digest(data: bytes, *, digest: bytes) -> None:
    if hashlib.sha256(data).hexdigest().encode() != digest:
        raise ValueError("damaged")


def read_about(path: Path) -> dict[str, Any]:
    """Return what an entry says of itself. Raises OSError, and ValueError for a damaged one."""
    with path.open("rb") as file:
        return _read_header(file)


def _copy_out(file: BinaryIO, destination: Path, *, size: int, digest: str) -> None:
    content = hashlib.sha256()
    with destination.open("wb") as output:
        for part in _blocks(file, size=size):
            content.update(part)
            output.write(part)
    if content.hexdigest() != digest:
        raise ValueError("damaged")


def _blocks(file: BinaryIO, *, size: int) -> Iterator[bytes]:
    while size:
        part = file.read(min(size, _BLOCK))
        if not part:
            raise ValueError("cut short")
        size -= len(part)
        yield part


def _copy_in(path: Path, file: BinaryIO, *, digest: str) -> None:
    content = hashlib.sha256()
    with path.open("rb") as source:
        while part := source.read(_BLOCK):
            content.update(part)
            file.write(part)
    if content.hexdigest() != digest:
        raise OSError(f"{path} was changed while it was stored")


def list_files(folder: Path, *, kinds: Sequence[str]) -> Iterator[os.DirEntry[str]]:
    """Yield the files of a cache of some kinds; what other builds take away meanwhile is left out."""
    for kind in kinds:
        with contextlib.suppress(OSError), os.scandir(folder / LAYOUT / kind) as shards:
            for shard in shards:
                with contextlib.suppress(OSError):
                    if shard.is_file(follow_symlinks=False):
                        yield shard
                    else:
                        with os.scandir(shard.path) as files:
                            yield from files
