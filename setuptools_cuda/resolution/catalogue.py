"""What each toolkit release knows: facts as data, each read from the release itself.

Numbers are what ``nvcc --list-gpu-code`` prints (for releases before 13.0, of which PyPI has
only ptxas, what ``ptxas --help`` names), variants what ``ptxas --help`` names and nvcc accepts
in ``-gencode``. The PTX ISA is the ``.version`` that the release's ptxas calls its current one.
Limits of host compilers are those of ``crt/host_config.h`` for x86-64 and Arm Linux.
"""

from __future__ import annotations

from dataclasses import dataclass

from setuptools_cuda.resolution.values import Architecture, Release


@dataclass(frozen=True)
class ReleaseFacts:
    """One toolkit release."""

    release: Release
    numbers: tuple[int, ...]
    """Architectures, in numeric order."""
    specific: tuple[int, ...]
    """Those of them that have a variant 'a' (architecture-specific code)."""
    family: tuple[int, ...]
    """Those of them that have a variant 'f' (family-specific code)."""
    ptx_isa: tuple[int, int]
    """The version of PTX that it writes, which a driver has to know."""
    gcc: int
    """The newest major version of gcc that it accepts."""
    clang: int
    """The newest major version of clang that it accepts."""
    on_pypi: bool = False
    """Whether PyPI has wheels with an nvcc."""

    @property
    def architectures(self) -> tuple[Architecture, ...]:
        """Return all architectures with their variants, in order."""
        return add_variants(self.numbers, facts=self)

    def accepts(self, family: str, major: int) -> bool:
        """Return whether a host compiler of that family and major version is not too new."""
        limit = {"gcc": self.gcc, "clang": self.clang}.get(family)
        return limit is None or major <= limit


_UP_TO_90 = (50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90)
_FROM_75 = (75, 80, 86, 87, 88, 89, 90, 100, 103, 110, 120, 121)
_NEW_IN_12_8 = (100, 101, 120)
_NEW_IN_12_9 = (100, 101, 103, 120, 121)
_NEW_IN_13_0 = (100, 103, 110, 120, 121)
_NEW_IN_13_4 = (100, 103, 107, 110, 120, 121)


def _at(major: int, minor: int) -> Release:
    return Release(major, minor)


CATALOGUE: tuple[ReleaseFacts, ...] = (
    ReleaseFacts(_at(11, 8), (35, 37, *_UP_TO_90), (), (), (7, 8), gcc=11, clang=14),
    ReleaseFacts(_at(12, 0), _UP_TO_90, (90,), (), (8, 0), gcc=12, clang=14),
    ReleaseFacts(_at(12, 1), _UP_TO_90, (90,), (), (8, 1), gcc=12, clang=15),
    ReleaseFacts(_at(12, 2), _UP_TO_90, (90,), (), (8, 2), gcc=12, clang=16),
    ReleaseFacts(_at(12, 3), _UP_TO_90, (90,), (), (8, 3), gcc=12, clang=16),
    ReleaseFacts(_at(12, 4), _UP_TO_90, (90,), (), (8, 4), gcc=13, clang=17),
    ReleaseFacts(_at(12, 5), _UP_TO_90, (90,), (), (8, 5), gcc=13, clang=17),
    ReleaseFacts(_at(12, 6), _UP_TO_90, (90,), (), (8, 5), gcc=13, clang=18),
    ReleaseFacts(_at(12, 8), (*_UP_TO_90, *_NEW_IN_12_8), (90, *_NEW_IN_12_8), (), (8, 7), gcc=14, clang=19),
    ReleaseFacts(_at(12, 9), (*_UP_TO_90, *_NEW_IN_12_9), (90, *_NEW_IN_12_9), _NEW_IN_12_9, (8, 8), gcc=14, clang=19),
    ReleaseFacts(_at(13, 0), _FROM_75, (90, *_NEW_IN_13_0), _NEW_IN_13_0, (9, 0), gcc=15, clang=20, on_pypi=True),
    ReleaseFacts(_at(13, 1), _FROM_75, (90, *_NEW_IN_13_0), _NEW_IN_13_0, (9, 1), gcc=15, clang=21, on_pypi=True),
    ReleaseFacts(_at(13, 2), _FROM_75, (90, *_NEW_IN_13_0), _NEW_IN_13_0, (9, 2), gcc=15, clang=21, on_pypi=True),
    ReleaseFacts(_at(13, 3), _FROM_75, (90, *_NEW_IN_13_0), _NEW_IN_13_0, (9, 3), gcc=15, clang=21, on_pypi=True),
    ReleaseFacts(
        _at(13, 4),
        (*_FROM_75[:9], 107, *_FROM_75[9:]),
        (90, *_NEW_IN_13_4),
        _NEW_IN_13_4,
        (9, 4),
        gcc=16,
        clang=22,
        on_pypi=True,
    ),
    ReleaseFacts(
        _at(13, 5),
        (*_FROM_75[:9], 107, *_FROM_75[9:]),
        (90, *_NEW_IN_13_4),
        _NEW_IN_13_4,
        (9, 5),
        gcc=16,
        clang=22,
        on_pypi=True,
    ),
)


def find_facts(release: Release) -> ReleaseFacts | None:
    """Return what is known of ``release``, or None for one that the catalogue does not have."""
    return next((facts for facts in CATALOGUE if facts.release == release), None)


def list_pypi() -> tuple[ReleaseFacts, ...]:
    """Return the releases that PyPI has an nvcc of, oldest first."""
    return tuple(facts for facts in CATALOGUE if facts.on_pypi)


def add_variants(numbers: tuple[int, ...], *, facts: ReleaseFacts) -> tuple[Architecture, ...]:
    """Return ``numbers`` as architectures, each with the variants that ``facts`` knows, in order."""
    plain = [Architecture(number) for number in numbers]
    specific = [Architecture(number, "a") for number in numbers if number in facts.specific]
    family = [Architecture(number, "f") for number in numbers if number in facts.family]
    return tuple(sorted(plain + specific + family))
