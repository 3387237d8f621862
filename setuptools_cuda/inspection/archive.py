"""Archives of objects (``.a``): whether one is whole, which cuobjdump does not tell.

The format is that of ar(5): a word, then for each member a head of 60 bytes, with the size in decimal, and its
content, to an even number of bytes. A thin archive has the heads alone: its members lie in other files.
"""

from __future__ import annotations

from pathlib import Path

from setuptools_cuda.errors import BuildError, Code, Problem

MAGIC = b"!<arch>\n"
THIN = b"!<thin>\n"
_HEAD, _END = 60, b"`\n"


def has_members(path: Path) -> bool:
    """Return whether an archive has any member. Raises BuildError (BAD_VALUE) where it is thin or not whole."""
    size = path.stat().st_size
    with path.open("rb") as file:
        if file.read(len(MAGIC)) == THIN:
            fix = ("make it without ar's option T (--thin)",)
            raise BuildError(Problem(Code.BAD_VALUE, "it is a thin archive: its objects lie in other files", fix=fix))
        place = first = len(MAGIC)
        while place < size:
            file.seek(place)
            head = file.read(_HEAD)
            digits = head[48:58].strip()
            if head[58:] != _END or not digits.isdigit() or place + _HEAD + int(digits) > size:
                told = (("said", f"what begins at byte {place} of {size} is no whole member"),)
                raise BuildError(Problem(Code.BAD_VALUE, "it is no whole archive", details=told))
            place += _HEAD + int(digits) + int(digits) % 2
    return place > first
