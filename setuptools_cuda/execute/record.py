"""What the last run of a job read and made, kept in the build folder."""

from __future__ import annotations

import contextlib
import json
from dataclasses import dataclass
from pathlib import Path

from setuptools_cuda.execute.writing import write_whole

_VERSION = 1
Listed = tuple[tuple[str, str], ...]


@dataclass(frozen=True, kw_only=True)
class Record:
    """One run. Files are (name, digest), as :class:`setuptools_cuda.execute.names.Names` has them."""

    key: str
    """The key of the job's fingerprint."""
    inputs: Listed
    """Everything that was read, but for what other jobs made."""
    needs: Listed
    """What other jobs made and it read, relative to the build folder."""
    outputs: Listed
    """Relative to the build folder."""
    absent: tuple[str, ...] = ()
    """Names of files that would have been read instead of an input, had they been there."""
    sure: bool = True
    """False where an input may have changed while it was read."""


def write_record(path: Path, record: Record) -> None:
    """Keep ``record`` in ``path``."""
    write_whole(path, json.dumps({"version": _VERSION, **vars(record)}).encode("utf-8"))


def find_record(path: Path) -> Record | None:
    """Return the record in ``path``; None where there is none, or none that can be read."""
    with contextlib.suppress(OSError, ValueError, TypeError, KeyError):
        kept = json.loads(path.read_bytes())
        if kept.pop("version") == _VERSION:
            return Record(
                key=kept["key"],
                inputs=_pairs(kept["inputs"]),
                needs=_pairs(kept["needs"]),
                outputs=_pairs(kept["outputs"]),
                absent=tuple(kept["absent"]),
                sure=bool(kept["sure"]),
            )
    return None


def _pairs(rows: list[list[str]]) -> Listed:
    return tuple((name, digest) for name, digest in rows)
