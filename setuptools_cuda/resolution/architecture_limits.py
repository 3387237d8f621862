"""The bounds of a source: ``min-architecture`` and ``max-architecture``."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from setuptools_cuda.resolution.architecture_words import parse_architecture
from setuptools_cuda.resolution.values import Architecture


@dataclass(frozen=True)
class Limits:
    """Bounds by number, each included; None is no bound. 90a is within 90."""

    minimum: int | None = None
    maximum: int | None = None

    @property
    def empty(self) -> bool:
        """Return whether nothing can lie within."""
        return self.minimum is not None and self.ends_before(self.minimum)

    def holds(self, number: int) -> bool:
        """Return whether ``number`` lies within."""
        return (self.minimum is None or number >= self.minimum) and not self.ends_before(number)

    def ends_before(self, number: int) -> bool:
        """Return whether ``number`` lies above."""
        return self.maximum is not None and number > self.maximum

    def find_stand_in(self, known: Sequence[Architecture]) -> Architecture | None:
        """Return the highest of ``known`` within, whose PTX stands in for what lies above."""
        return max((one for one in known if not one.variant and self.holds(one.number)), default=None)

    def describe(self) -> tuple[tuple[str, str], ...]:
        """Return each bound that is set, with its key."""
        bounds = (("min-architecture", self.minimum), ("max-architecture", self.maximum))
        return tuple((label, str(number)) for label, number in bounds if number is not None)


def parse_limits(minimum: str | None, *, maximum: str | None) -> Limits:
    """Return the bounds that the two keys say.

    Raises:
        BuildError: BAD_ARCHITECTURE for what is not one architecture.
    """
    low = None if minimum is None else parse_architecture(minimum, where="min-architecture").number
    high = None if maximum is None else parse_architecture(maximum, where="max-architecture").number
    return Limits(low, high)
