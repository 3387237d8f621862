"""The record of files of ours in the source tree, and taking away those no longer planned."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping
from pathlib import Path

from setuptools_cuda.errors import BuildError, Code, Problem
from setuptools_cuda.stage.copy import is_below, stage_files

VERSION = 1


def read_record(path: Path) -> dict[str, str]:
    """Return the recorded files: path below the project root, with '/', to the SHA-256 of its content.

    Without a record there are none. Raises BuildError (``BAD_INPUT_FILE``) if it is not one of ours.
    """
    try:
        content = json.loads(path.read_bytes())
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise _unreadable(path, why=str(error)) from error
    if not isinstance(content, dict) or content.get("version") != VERSION:
        raise _unreadable(path, why=f"it is not a record of version {VERSION}")
    files = content.get("files")
    if not isinstance(files, dict) or not all(
        is_below(name) and isinstance(digest, str) for name, digest in files.items()
    ):
        raise _unreadable(path, why="its files are not paths below the project with their digests")
    return files


def write_record(path: Path, *, files: Collection[str], root: Path) -> None:
    """Write that ``files`` below ``root`` are ours, with the content that they have now. Raises BuildError."""
    content = {"version": VERSION, "files": {name: digest_file(root / name) for name in files}}
    text = json.dumps(content, indent=1, sort_keys=True) + "\n"
    stage_files({path.name: text.encode()}, into=path.parent)


def remove_stale(record: Mapping[str, str], *, keep: Collection[str], root: Path) -> tuple[Path, ...]:
    """Remove recorded files that are not among ``keep``, and return which were removed.

    A file that somebody has changed since is left alone. Folders that are empty after it go too.
    """
    removed = []
    for name in sorted(set(record) - set(keep)):
        path = root / name
        if path.is_symlink() or not path.is_file() or digest_file(path) != record[name]:
            continue
        path.unlink()
        removed.append(path)
        _remove_empty(path.parent, root=root)
    return tuple(removed)


def digest_file(path: Path) -> str:
    """Return the SHA-256 of a file's content, in hexadecimal."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def _remove_empty(folder: Path, *, root: Path) -> None:
    while folder != root and not any(folder.iterdir()):
        folder.rmdir()
        folder = folder.parent


def _unreadable(path: Path, *, why: str) -> BuildError:
    return BuildError(
        Problem(
            Code.BAD_INPUT_FILE,
            "the record of staged files cannot be read",
            where=str(path),
            details=(("because", why),),
            fix=("delete it; files that an earlier build left in the source tree then have to be deleted by hand",),
        )
    )
