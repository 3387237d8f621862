"""Records of labelled lists of texts, in a form that is read without the import of a parser.

A program that is started once for each compile reads and writes them; JSON takes half as long to
import as all else that it does. Fields end in a record separator, texts in a unit separator
(ASCII 30 and 31), which no path and no option has.
"""

from __future__ import annotations

TYPE_CHECKING = False
"""As in :mod:`typing`, which is slow to import."""
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping


_FIELD, _TEXT = "\x1e", "\x1f"
Fields = dict[str, list[str]]


def render_fields(fields: Mapping[str, Iterable[str]]) -> bytes:
    """Return the record as bytes. Raises ValueError for a text with one of the separators in it."""
    parts = [[name, *texts] for name, texts in fields.items()]
    if any(_FIELD in text or _TEXT in text for part in parts for text in part):
        raise ValueError("a control character in a path or an option")
    return "".join(_TEXT.join(part) + _FIELD for part in parts).encode("utf-8", "surrogateescape")


def without_separators(text: str) -> str:
    """Return ``text``, of which nobody knows what is in it, as a record can hold it."""
    return text.replace(_FIELD, "?").replace(_TEXT, "?")


def parse_fields(data: bytes) -> Fields:
    """Return the fields of a record. Raises ValueError for what is no whole record."""
    text = data.decode("utf-8", "surrogateescape")
    if not text.endswith(_FIELD):
        raise ValueError("half a record")
    parts = (part.split(_TEXT) for part in text[:-1].split(_FIELD))
    return {name: texts for name, *texts in parts}


def read_fields(path: str) -> Fields:
    """Return the record in a file. Raises OSError, and ValueError as :func:`parse_fields` does."""
    with open(path, "rb") as file:  # noqa: PTH123 - pathlib is slow to import
        return parse_fields(file.read())
