"""The marks of an axis. Pure."""

from __future__ import annotations

import math
from collections.abc import Sequence

_STEPS = (1.0, 2.0, 5.0, 10.0)
_CLOCK_STEPS = (60.0, 120.0, 300.0, 600.0, 900.0, 1800.0, 3600.0, 7200.0, 14400.0)


def plan_ticks(top: float, *, most: int = 10) -> Sequence[float]:
    """Return round numbers from 0 up to ``top``, ``most`` at the most after 0."""
    if top <= 0:
        return (0.0,)
    step = _step(top / most)
    return tuple(number * step for number in range(int(top / step + 1e-9) + 1))


def _step(least: float) -> float:
    if least > 20:
        for step in _CLOCK_STEPS:
            if step >= least:
                return step
    power: float = 10.0 ** math.floor(math.log10(least))
    return next(step * power for step in _STEPS if step * power >= least * (1 - 1e-9))


def show_tick(seconds: float, *, top: float) -> str:
    """Return a mark of a time axis that goes up to ``top`` seconds, with its unit."""
    if top >= 180:
        minutes, rest = divmod(round(seconds), 60)
        return f"{minutes}:{rest:02}"
    digits = 0 if top >= 10 else 1 if top >= 1 else 2
    return f"{seconds:.{digits}f}"


def unit_of(top: float) -> str:
    """Return the unit of such an axis."""
    return "minutes:seconds" if top >= 180 else "seconds"
