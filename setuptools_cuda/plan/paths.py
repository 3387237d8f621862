"""Names of files in the build folder and in the wheel. Pure."""

from __future__ import annotations

import hashlib
import keyword
import re
from collections.abc import Iterable
from urllib.parse import quote

LONGEST_NAME = 120
"""Characters of a file name that are the source's own; a digest tells longer ones apart."""


def digest(*parts: str) -> str:
    """Return 16 hexadecimal digits over ``parts``, each with its length, so that none runs into the next."""
    joined = "".join(f"{len(part)}:{part}" for part in parts)
    return hashlib.sha256(joined.encode("utf-8", "surrogateescape")).hexdigest()[:16]


def source_id(source: str) -> str:
    """Return a name for ``source`` that a shell, a compiler option and a symbol can hold."""
    return quote(source, safe="/._-+")


def object_name(source: str, *, key: str) -> str:
    """Return the file name of an object: it tells the source, and is unique in an archive."""
    flat = quote(source.replace("/", "."), safe="._-+").replace("%", "_")
    return f"{flat[-LONGEST_NAME:]}.{key}.o"


def module_path(module: str) -> str:
    """Return the folder part and stem of a module: 'demo/kernels' of 'demo.kernels'."""
    return module.replace(".", "/")


def without_suffix(source: str) -> str:
    """Return a '/' path without the suffix of its last part."""
    folder, _, name = source.rpartition("/")
    stem = name.rsplit(".", 1)[0] if "." in name else name
    return f"{folder}/{stem}" if folder else stem


def image_destination(module: str, *, source: str, tag: str, extension: str) -> str:
    """Return where an image lies in the wheel (see the layout in the reference of kernel modules)."""
    tagged = f".{tag}" if tag else ""
    return f"{module_path(module)}_images/{without_suffix(source)}{tagged}.{extension}"


def attribute_names(sources: Iterable[str]) -> dict[str, str]:
    """Return the attribute of each source: its stem where that is a unique identifier, else its path with '_'."""
    sources = tuple(sources)
    stems = [without_suffix(s).rsplit("/", 1)[-1] for s in sources]
    names = {}
    for source, stem in zip(sources, stems, strict=True):
        unique = stem.isidentifier() and not keyword.iskeyword(stem) and stems.count(stem) == 1
        names[source] = stem if unique else _identifier(without_suffix(source))
    return names


def _identifier(path: str) -> str:
    name = re.sub(r"\W", "_", path)
    return f"_{name}" if name[:1].isdigit() else name
