"""Sections of ELF files, and members of archives: as far as it takes to find device code. Pure."""

from __future__ import annotations

import struct
from collections.abc import Iterator

_ELF_CLASS_64, _LITTLE = 2, 1
_SECTION = struct.Struct("<IIQQQQIIQQ")
_NO_BITS = 8
_ARCHIVE = b"!<arch>\n"
_MEMBER = 60


class UnknownFormatError(ValueError):
    """A file that is not as its format says, or of a kind that is not read here."""


def list_objects(data: bytes) -> Iterator[bytes]:
    """Yield the object files in ``data``: itself, or the members of an archive. Raises UnknownFormatError.

    Archives are as ar(5) has them: a header of 60 bytes, with the size at 48, before each member.
    """
    if not data.startswith(_ARCHIVE):
        yield data
        return
    at = len(_ARCHIVE)
    while at + _MEMBER <= len(data):
        header = data[at : at + _MEMBER]
        if header[58:] != b"`\n" or not header[48:58].strip().isdigit():
            raise UnknownFormatError("no header of an archive's member")
        size = int(header[48:58])
        member = data[at + _MEMBER : at + _MEMBER + size]
        if member.startswith(b"\x7fELF"):
            yield member
        at += _MEMBER + size + size % 2


def list_sections(data: bytes, *, names: frozenset[bytes]) -> Iterator[bytes]:
    """Yield the contents of the sections with one of ``names`` in a 64-bit ELF file. Raises UnknownFormatError.

    After the System V ABI, "ELF Header" and "Sections".
    """
    if data[:4] != b"\x7fELF" or data[4] != _ELF_CLASS_64 or data[5] != _LITTLE:
        raise UnknownFormatError("no ELF file of 64 bits, little-endian")
    try:
        (offset,) = struct.unpack_from("<Q", data, 40)
        size, count, names_at = struct.unpack_from("<HHH", data, 58)
        sections = [_SECTION.unpack_from(data, offset + number * size) for number in range(count)]
        texts = _content(data, sections[names_at]) if sections else b""
    except (struct.error, IndexError) as error:
        raise UnknownFormatError("an ELF file without its sections") from error
    for section in sections:
        if texts[section[0] :].partition(b"\0")[0] in names and section[1] != _NO_BITS:
            yield _content(data, section)


def _content(data: bytes, section: tuple[int, ...]) -> bytes:
    return data[section[4] : section[4] + section[5]]
