"""A source's own architectures, and which of them serves a requested one best."""

from __future__ import annotations

from dataclasses import dataclass

from setuptools_cuda.resolution.architecture_codes import make_code
from setuptools_cuda.resolution.architecture_words import Mark
from setuptools_cuda.resolution.values import Architecture, Code

_RANK = {"": 0, "f": 1, "a": 2}


@dataclass(frozen=True)
class Entry:
    """One of a source's own architectures, with the mark it was written with."""

    architecture: Architecture
    mark: Mark

    @property
    def sort_key(self) -> tuple[int, int]:
        """Return what the best entry has most of: number, then variant."""
        return self.architecture.number, _RANK[self.architecture.variant]

    @property
    def gives_ptx(self) -> bool:
        """Return whether PTX of it runs on every later GPU. That of 90a and 100f does not."""
        return self.mark != "real" and not self.architecture.variant

    def serves_within_major(self, target: Architecture) -> bool:
        """Return whether its code runs on ``target`` as it is.

        Machine code runs on its own number and on later ones of its major number, that of the
        variant 'a' on its own number alone (CUDA C++ Programming Guide, "Binary compatibility").
        """
        one = self.architecture
        later = one.major == target.major and one.number < target.number and one.variant != "a"
        return later or one.number == target.number


@dataclass(frozen=True)
class Served:
    """How one requested architecture is served: by which code, or why by none."""

    requested: Code
    code: Code | None
    reason: str = ""


def serve(requested: Code, *, entries: tuple[Entry, ...], can_carry_ptx: bool) -> Served:
    """Return the best of ``entries`` for ``requested``, as the code that is made of it.

    The variant of that number comes first, else the newest entry of the same major number that
    is not newer, else across major numbers the PTX of the newest older one.
    """
    target = requested.architecture
    usable = tuple(entry for entry in entries if can_carry_ptx or entry.mark != "virtual")
    same = [entry for entry in usable if entry.serves_within_major(target)]
    if same:
        best = max(same, key=lambda entry: entry.sort_key)
        return Served(requested, make_code(best.architecture, mark=_choose_mark(best, requested=requested)))
    older = [entry for entry in usable if entry.gives_ptx and entry.architecture.number < target.number]
    if older and can_carry_ptx:
        best = max(older, key=lambda entry: entry.sort_key)
        return Served(requested, make_code(best.architecture, mark="virtual"))
    return Served(requested, None, _explain(target, entries=entries, can_carry_ptx=can_carry_ptx))


def _choose_mark(entry: Entry, *, requested: Code) -> Mark:
    """Return the source's own mark, else that of the request.

    A request for both kinds needs no mark: its PTX is that of the newest code, once for all.
    """
    return entry.mark if entry.mark or requested.marked == "ptx" else requested.marked


def _explain(target: Architecture, *, entries: tuple[Entry, ...], can_carry_ptx: bool) -> str:
    if not entries:
        return "of the source's own, none is within its bounds and known to the toolkit"
    older = [entry for entry in entries if entry.architecture.number <= target.number]
    if not older:
        return "older than all that the source is for"
    if all(entry.architecture.variant for entry in older):
        return "code with the variant a or f does not run on it"
    if not can_carry_ptx:
        return "needs PTX, which no format of the target carries"
    return "needs PTX, and the source's architectures are marked -real"
