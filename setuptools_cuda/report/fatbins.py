"""How many bytes of a file are code for which architecture. Pure.

What is read are the headers of fatbins, as nvcc 11 to 13 writes them and NVIDIA's cuobjdump reads
them. They are not described by NVIDIA, so all of them have to add up: what is
looked at must be what is expected to the last byte, or nothing is said of the file at all.
"""

from __future__ import annotations

import struct
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Literal

from setuptools_cuda.report.containers import UnknownFormatError, list_objects, list_sections
from setuptools_cuda.report.values import REST, CodeSize
from setuptools_cuda.resolution.values import Architecture, Code

_SECTIONS = frozenset({b".nv_fatbin", b"__nv_relfatbin"})
"""Where objects hold device code: whole programs, and relocatable code."""
_HEADER = struct.Struct("<IHHQ")
"""Magic number, version, size of this header, bytes after it."""
_ENTRY = struct.Struct("<HHIQIIHHIIIQ")
"""Kind, version, size of this header, bytes after it, and more; ninth the architecture, last its flags."""
_VARIANTS: Mapping[int, Literal["", "a", "f"]] = {0: "", 0x100000: "a", 0x200000: "f"}
"""Variant of the architecture by the flags that say so: as nvcc 12.4, 13.0 and 13.5 set them."""
_VARIANT_FLAGS = 0x300000
_MAGIC = 0xBA55ED50
_PTX, _MACHINE = 1, 2
_ALIGNMENT = 8


def measure_code(data: bytes, *, codes: Collection[Code]) -> tuple[CodeSize, ...] | None:
    """Return what the bytes of an object, archive, shared object or fatbin are, or None where that is not certain.

    ``codes`` are those that the project is built for. An architecture with the number of one of them,
    and none of them itself, means that the headers were misread.
    """
    sizes: Counter[str] = Counter()
    try:
        for kind, architecture, size in _list_code(data):
            sizes[architecture.virtual if kind == _PTX else architecture.real] += size
            _check(architecture, codes=codes)
    except UnknownFormatError:
        return None
    ordered = sorted(sizes.items(), key=lambda item: code_place(item[0]))
    rest = CodeSize(code=REST, size=len(data) - sum(sizes.values()))
    return (*(CodeSize(code=name, size=size) for name, size in ordered), rest)


def _check(architecture: Architecture, *, codes: Collection[Code]) -> None:
    planned = {code.architecture for code in codes}
    if architecture not in planned and architecture.number in {one.number for one in planned}:
        raise UnknownFormatError(f"code for {architecture}, of which the plan knows nothing")


def code_place(name: str) -> tuple[int, str]:
    """Return the place of a code in a list: by number, machine code after PTX of the same."""
    _, _, number = name.partition("_")
    return (int("".join(filter(str.isdigit, number)) or 10_000), f"{number} {name}")


def _list_code(data: bytes) -> Iterator[tuple[int, Architecture, int]]:
    if data[:4] == _MAGIC.to_bytes(4, "little"):
        yield from _list_entries(data)
        return
    for member in list_objects(data):
        for section in list_sections(member, names=_SECTIONS):
            yield from _list_entries(section)


def _list_entries(data: bytes) -> Iterator[tuple[int, Architecture, int]]:
    """Yield kind, architecture and size, headers included, of each entry of the fatbins in ``data``."""
    at = 0
    while at < len(data):
        if not any(data[at : at + _ALIGNMENT]):
            at += _ALIGNMENT
            continue
        magic, version, size, length = _unpack(_HEADER, data, at)
        end = at + size + length
        if magic != _MAGIC or version != 1 or size != _HEADER.size or end > len(data):
            raise UnknownFormatError("no header of a fatbin")
        at += size
        while at < end:
            kind, _, head, body, *_, number, _, _, flags = _unpack(_ENTRY, data, at)
            variant = _VARIANTS.get(flags & _VARIANT_FLAGS)
            if kind not in {_PTX, _MACHINE} or head < _ENTRY.size or at + head + body > end or variant is None:
                raise UnknownFormatError("no header of an entry")
            yield kind, Architecture(number, variant), head + body
            at += head + body


def _unpack(form: struct.Struct, data: bytes, at: int) -> tuple[int, ...]:
    try:
        return form.unpack_from(data, at)
    except struct.error as error:
        raise UnknownFormatError("half a header") from error
