"""The same operations in plain Python: slow, and easy to believe. Checks compare with these."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any


def saxpy(a: float, x: Iterable[float], y: Any) -> str:
    """Add ``a * x`` to the mutable sequence ``y`` in place and return "cpu"."""
    for index, value in enumerate(x):
        y[index] += a * value
    return "cpu"


def block_sum(x: Iterable[float]) -> tuple[float, str]:
    """Return the sum of ``x`` and "cpu"."""
    return math.fsum(x), "cpu"
