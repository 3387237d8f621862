"""How much of the machine a run may take."""

from __future__ import annotations

from dataclasses import dataclass

_LEAST, _MOST = 64 << 20, 512 << 20
_PART = 16
_CROWD = 2
"""Threads for each core: measured, four threads on two cores took 0.92 of the time of two."""


@dataclass(frozen=True)
class Bounds:
    """Cores and memory for all jobs together."""

    parallel: int
    """Jobs that run at once."""
    memory: int = 0
    """Bytes that compiles may take together, 0 where unknown."""
    threads: int = 0
    """Threads of each nvcc, 0 for those that would idle."""
    cores: int = 0
    """Cores of this process, 0 where that is not to count."""

    @property
    def last_threads(self) -> int:
        """Return the threads that the last compile to start may take, 0 for the cores that idle then.

        They may be more than the cores, where the build has all of them: nvcc's steps wait for each other.
        """
        return _CROWD * self.cores if 1 < self.cores <= self.parallel else 0

    @property
    def reserve(self) -> int:
        """Return the bytes that are kept back: where less is left, the youngest compile gives way; 0 for none."""
        return min(max(self.memory // _PART, _LEAST), _MOST) if self.memory else 0
