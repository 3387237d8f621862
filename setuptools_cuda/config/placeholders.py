"""Placeholders in values for CMake: ``{architectures:torch}``, ``{cuda-major}``."""

from __future__ import annotations

import re
from collections.abc import Mapping

from setuptools_cuda.config.findings import Finding, suggest

PLACEHOLDERS: Mapping[str, str] = {
    "architectures:cmake": "the requested architectures in CMake's words, as `80-real;90-real;90-virtual`",
    "architectures:torch": "the same in PyTorch's words, as `8.0;9.0+PTX`",
    "architectures:bare": "their numbers alone, as `80;90`",
    "cuda-major": "the toolkit's major release, as `13`",
    "cuda-minor": "its minor release, as `0`",
}
"""What each placeholder stands for."""

# CMake's own ${NAME} and $ENV{NAME} are none; nor is JSON, whose braces are followed by quotes.
_PLACEHOLDER = re.compile(r"(?<!\$)(?<!\$ENV)(?<!\$CACHE)\{([A-Za-z][A-Za-z0-9:_-]*)\}")


def find_placeholders(text: str) -> tuple[str, ...]:
    """Return the names of all placeholders in ``text``, known or not, in order."""
    return tuple(_PLACEHOLDER.findall(text))


def find_placeholder_fault(text: str, *, at: str) -> Finding | None:
    """Return what is wrong with the placeholders in ``text``, or None."""
    unknown = next((name for name in find_placeholders(text) if name not in PLACEHOLDERS), None)
    if unknown is None:
        return None
    known = f"known: {', '.join(f'{{{name}}}' for name in PLACEHOLDERS)}"
    fix = (*suggest(unknown, known=PLACEHOLDERS), known)
    return Finding(f"{{{unknown}}} is no placeholder", at=at, fix=fix)


def fill_placeholders(text: str, *, values: Mapping[str, str]) -> str:
    """Return ``text`` with each placeholder replaced by its value in ``values``, which has them all."""
    return _PLACEHOLDER.sub(lambda match: values[match[1]], text)
