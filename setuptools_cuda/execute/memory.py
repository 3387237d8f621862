"""How a compiler looks that was killed for want of memory. Pure."""

from __future__ import annotations

_SIGNS = (
    *("died due to signal 9", "Killed signal terminated", "terminated by signal 9", "\nKilled", "Killed\n"),
    *("virtual memory exhausted", "out of memory allocating", "Cannot allocate memory", "std::bad_alloc"),
)
"""What nvcc, gcc, clang and shells say of it."""
_STATUSES = frozenset({-9, 9, 137})
"""Killed; nvcc ended with the number of its tool's signal; a shell's way to say killed."""


def was_out_of_memory(status: int, *, output: str) -> bool:
    """Return whether a program that ended so was killed, or got no memory."""
    return status != 0 and (status in _STATUSES or any(sign in output for sign in _SIGNS))
