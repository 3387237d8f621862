"""When a build was begun, and what it has spent its time on since."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace

from setuptools_cuda.execute.journal import Phase


@dataclass(frozen=True)
class Clock:
    """When something began, on the clock that only goes forward (nanoseconds) and on the wall, and the phases since."""

    began: int = field(default_factory=time.monotonic_ns)
    at: float = field(default_factory=time.time)
    phases: tuple[Phase, ...] = ()

    def after(self, name: str) -> Clock:
        """Return the clock with a phase that ends now, and began where the last one ended."""
        started = self.phases[-1].ended if self.phases else self.began
        return replace(self, phases=(*self.phases, Phase(name, started, time.monotonic_ns())))
