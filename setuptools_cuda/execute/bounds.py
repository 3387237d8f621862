"""How much of the machine a run may take."""

from __future__ import annotations

from dataclasses import dataclass

_LEAST, _MOST = 64 << 20, 512 << 20
_PART = 16


@dataclass(frozen=True)
class Bounds:
    """Cores and memory for all jobs together."""

    parallel: int
    """Jobs that run at once."""
    memory: int = 0
    """Bytes that compiles may take together, 0 where unknown."""
    threads: int = 0
    """Threads of each nvcc, 0 for those that would idle."""

    @property
    def reserve(self) -> int:
        """Return the bytes that are kept back: where less is left, the youngest compile gives way; 0 for none."""
        return min(max(self.memory // _PART, _LEAST), _MOST) if self.memory else 0
