"""Which driver loads what: by the CUDA version of the driver.

Sources: NVIDIA's "Parallel Thread Execution ISA", table "PTX Release History"; "CUDA
Compatibility", chapter "Minor Version Compatibility"; the release notes of the toolkits for
the first release that knows an architecture.
"""

from __future__ import annotations

from setuptools_cuda.resolution.values import Architecture, Release

COMPRESSION = Release(12, 4)
"""The oldest driver that reads compressed device code in fatbins and objects."""

FIRST_RELEASES = {
    86: Release(11, 1),
    87: Release(11, 4),
    88: Release(13, 0),
    89: Release(11, 8),
    90: Release(11, 8),
    100: Release(12, 8),
    101: Release(12, 8),
    103: Release(12, 9),
    107: Release(13, 4),
    110: Release(13, 0),
    120: Release(12, 8),
    121: Release(12, 9),
}
"""The first release that knows GPUs of that number. What is below 86 is older than CUDA 11.1."""

FAMILIES = Release(12, 9)
"""The first release that knows 'f' variants."""

_UNEVEN = {
    (6, 0): Release(9, 0),
    (6, 1): Release(9, 1),
    (6, 2): Release(9, 2),
    (6, 3): Release(10, 0),
    (6, 4): Release(10, 1),
    (6, 5): Release(10, 2),
    (8, 6): Release(12, 7),
    (8, 7): Release(12, 8),
    (8, 8): Release(12, 9),
}
"""Versions of the PTX ISA whose release is not just four major numbers ahead."""


def gpu_driver(number: int) -> Release | None:
    """Return the oldest driver that runs GPUs of compute capability ``number``, as 90; None for newer ones."""
    return FIRST_RELEASES.get(number, Release(11, 0) if number < min(FIRST_RELEASES) else None)


def machine_code_driver(architecture: Architecture, *, toolkit: Release) -> Release:
    """Return the oldest driver that loads machine code of ``toolkit``.

    A driver loads what a toolkit of the same major number made, if it knows the GPU; one that
    this table does not have yet is taken to be as new as the toolkit.
    """
    known = gpu_driver(architecture.number) or toolkit
    family = (FAMILIES,) if architecture.variant == "f" else ()
    return max(Release(toolkit.major, 0), known, *family)


def ptx_driver(isa: tuple[int, int]) -> Release:
    """Return the oldest driver that translates PTX of a version, as (9, 0); those below 6.0 count as 8.0."""
    if isa < (6, 0):
        return Release(8, 0)
    return _UNEVEN.get(isa) or Release(isa[0] + 4, isa[1])


def toolkit_isa(toolkit: Release) -> tuple[int, int]:
    """Return the version of the PTX that a toolkit from 11.0 on makes, as (9, 0)."""
    uneven = next((isa for isa, release in _UNEVEN.items() if release == toolkit), None)
    minors = range(toolkit.minor, -1, -1)
    candidates = ((toolkit.major - 4, minor) for minor in minors)
    return uneven or next(isa for isa in candidates if ptx_driver(isa) <= toolkit)
