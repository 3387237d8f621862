"""The digest that says whether two toolchains make the same of the same source."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable
from pathlib import Path

# Raised whenever what goes into the digest changes, so that old and new never meet.
_VERSION = "setuptools_cuda toolchain 1"
_BLOCK = 1 << 20


def digest_facts(facts: Iterable[tuple[str, str]]) -> str:
    """Return the hexadecimal SHA-256 over labelled facts, in their order.

    Label and text are each preceded by their length, so that no two lists of facts run
    together to the same bytes.
    """
    digest = hashlib.sha256()
    for label, text in (("version", _VERSION), *facts):
        for part in (label.encode(), text.encode("utf-8", "surrogateescape")):
            digest.update(len(part).to_bytes(8, "big"))
            digest.update(part)
    return digest.hexdigest()


def digest_file(path: Path) -> str:
    """Return the hexadecimal SHA-256 of a file's content (some 70 ms for an nvcc of 30 MB)."""
    digest = hashlib.sha256()
    with path.open("rb") as file:
        while block := file.read(_BLOCK):
            digest.update(block)
    return digest.hexdigest()
