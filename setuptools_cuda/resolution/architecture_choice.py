"""A request chooses GPUs, a source chooses code: what one source is compiled to."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from setuptools_cuda.errors import Code as ErrorCode
from setuptools_cuda.errors import Problem
from setuptools_cuda.resolution.architecture_codes import (
    add_ptx,
    describe_architectures,
    describe_codes,
    expand_words,
    find_conflicts,
    make_code,
    merge_codes,
)
from setuptools_cuda.resolution.architecture_entries import Entry, Served, serve
from setuptools_cuda.resolution.architecture_limits import Limits, parse_limits
from setuptools_cuda.resolution.architecture_words import Word, speaks_of_ptx
from setuptools_cuda.resolution.architectures import describe_unknown
from setuptools_cuda.resolution.values import Architecture, Architectures, Code, Release


@dataclass(frozen=True)
class Choice:
    """What one source is compiled to, and what was left out of the request for it.

    With a ``problem`` the codes are not to be built. NO_ARCHITECTURE_LEFT is the one problem
    that ``when-empty = "skip"`` answers.
    """

    codes: tuple[Code, ...]
    """In canonical order."""
    dropped: tuple[tuple[Architecture, str], ...] = ()
    """Requested architectures that the source does not serve, each with the reason."""
    notes: tuple[str, ...] = ()
    problem: Problem | None = None


@dataclass(frozen=True)
class _Question:
    """What is the same for all steps of one choice."""

    requested: Architectures
    limits: Limits
    known: tuple[Architecture, ...]
    can_carry_ptx: bool
    where: str
    own: tuple[Word, ...] = field(default=())


def choose_codes(  # noqa: PLR0913 - each is one fact about the source or the toolkit, by name
    requested: Architectures,
    *,
    own: Sequence[Word] | None,
    minimum: str | None,
    maximum: str | None,
    known: Sequence[Architecture],
    can_carry_ptx: bool,
    release: Release,
    unsupported: Literal["error", "drop"] = "error",
    where: str = "",
) -> Choice:
    """Return what a source with these words and bounds is compiled to.

    ``own`` are the source's ``architectures`` (None: it has none), ``minimum`` and ``maximum``
    its bounds, compared by number. ``known`` are what the toolkit of ``release`` compiles for.
    ``can_carry_ptx`` says whether any output of the target holds PTX. ``where`` names the source
    in problems, which are returned, not raised.

    Raises:
        BuildError: BAD_ARCHITECTURE for a bound that is no architecture.
    """
    limits = parse_limits(minimum, maximum=maximum)
    question = _Question(requested, limits, tuple(known), can_carry_ptx, where, tuple(own or ()))
    if limits.empty:
        return Choice((), problem=_describe_empty_range(question))
    if own is None:
        return _choose_by_request(question)
    if any(word.kind == "native" for word in own):
        return Choice((), problem=_describe_native(where))
    return _choose_by_entries(question, release=release, drop=unsupported == "drop")


# Without words of its own: the request within the bounds, and PTX for what lies above.


def _choose_by_request(question: _Question) -> Choice:
    limits = question.limits
    above = _find_above(question)
    codes = tuple(code for code in question.requested.codes if limits.holds(code.architecture.number))
    notes: tuple[str, ...] = ()
    stand_in = limits.find_stand_in(question.known) if above else None
    if stand_in is not None:
        if not question.can_carry_ptx:
            return Choice(codes, problem=_describe_no_carrier(question, above=above, stand_in=stand_in))
        codes = merge_codes((*codes, make_code(stand_in, mark="virtual")))
        names = describe_architectures(code.architecture for code in above)
        notes = (f"{names}: served by PTX of {stand_in.virtual}, since max-architecture is {limits.maximum}",)
    dropped = _find_outside(question, above=() if stand_in is not None else above)
    return Choice(codes, dropped, notes, None if codes else _describe_nothing_left(question, dropped=dropped))


def _find_above(question: _Question) -> tuple[Code, ...]:
    return tuple(code for code in question.requested.codes if question.limits.ends_before(code.architecture.number))


def _find_outside(question: _Question, *, above: Sequence[Code]) -> tuple[tuple[Architecture, str], ...]:
    limits = question.limits
    high = f"above max-architecture {limits.maximum}, and the toolkit knows none within it"
    low = f"below min-architecture {limits.minimum}"
    below = [
        (code.architecture, low)
        for code in question.requested.codes
        if limits.minimum is not None and code.architecture.number < limits.minimum
    ]
    return (*below, *((code.architecture, high) for code in above))


# With words of its own: for each requested architecture the best entry that serves it.


def _choose_by_entries(question: _Question, *, release: Release, drop: bool) -> Choice:
    every = _expand_own(question)
    entries = tuple(
        entry
        for entry in every
        if question.limits.holds(entry.architecture.number) and not (drop and entry.architecture not in question.known)
    )
    served = [serve(code, entries=entries, can_carry_ptx=question.can_carry_ptx) for code in question.requested.codes]
    codes = _make_codes(question, served=served)
    dropped = tuple((one.requested.architecture, one.reason) for one in served if one.code is None)
    unused = {entry.architecture for entry in every} - set(question.known)
    notes = (f"{describe_architectures(unused)} is not used: CUDA {release} does not compile for it",) if unused else ()
    problem = _find_problem(question, codes=codes, served=served, entries=entries, release=release)
    return Choice(codes, dropped, notes, problem)


def _expand_own(question: _Question) -> tuple[Entry, ...]:
    words = expand_words(question.own, known=question.known, gpus=tuple)
    return tuple(Entry(word.architecture, word.mark) for word in words if word.architecture is not None)


def _make_codes(question: _Question, *, served: Sequence[Served]) -> tuple[Code, ...]:
    """Return the codes of ``served``; PTX that the request asks for goes to the newest of them."""
    codes = merge_codes(one.code for one in served if one.code is not None)
    wanted = any(code.virtual for code in question.requested.codes)
    has_ptx = any(code.virtual for code in codes)
    return add_ptx(codes) if wanted and not has_ptx and not speaks_of_ptx(question.own) else codes


def _find_problem(
    question: _Question,
    *,
    codes: tuple[Code, ...],
    served: Sequence[Served],
    entries: Sequence[Entry],
    release: Release,
) -> Problem | None:
    strangers = [code.architecture for code in codes if code.architecture not in question.known]
    if strangers:
        return describe_unknown(strangers, known=question.known, release=release, where=question.where)
    conflicts = find_conflicts(codes, where=question.where)
    if conflicts:
        return conflicts[0]
    above = tuple(one.requested for one in served if one.code is None and one.requested in _find_above(question))
    stand_in = max((entry.architecture for entry in entries if entry.gives_ptx), default=None)
    if above and stand_in is not None and not question.can_carry_ptx:
        return _describe_no_carrier(question, above=above, stand_in=stand_in)
    if codes:
        return None
    dropped = tuple((one.requested.architecture, one.reason) for one in served)
    return _describe_nothing_left(question, dropped=dropped)


# What goes wrong.


def _describe_empty_range(question: _Question) -> Problem:
    what = f"min-architecture {question.limits.minimum} is above max-architecture {question.limits.maximum}"
    return Problem(ErrorCode.CONFLICT, what, question.where, fix=("lower the first or raise the second",))


def _describe_native(where: str) -> Problem:
    return Problem(
        ErrorCode.BAD_ARCHITECTURE,
        "'native' cannot be an architecture of a single source or target",
        where,
        (("why", "it chooses the GPUs that the whole build is for, not the code of a source"),),
        ("set it for the project, or by SETUPTOOLS_CUDA_ARCHITECTURES=native",),
    )


def _describe_no_carrier(question: _Question, *, above: Sequence[Code], stand_in: Architecture) -> Problem:
    names = describe_architectures(code.architecture for code in above)
    limit = question.limits.maximum
    return Problem(
        ErrorCode.CONFLICT,
        f"{names} cannot be served: max-architecture is {limit}, and no format of the target carries PTX",
        question.where,
        (("would serve", f"PTX of {stand_in.virtual}"),),
        ('add "ptx" to the formats of the target', f"or ask for no architecture above {limit}"),
    )


def _describe_nothing_left(question: _Question, *, dropped: Iterable[tuple[Architecture, str]]) -> Problem:
    requested = question.requested
    own = (("its own", ", ".join(word.text for word in question.own)),) if question.own else ()
    whys = tuple((str(one), reason) for one, reason in dropped)
    return Problem(
        ErrorCode.NO_ARCHITECTURE_LEFT,
        "no architecture is left for it",
        question.where,
        (
            ("requested", f"{describe_codes(requested.codes)} ({requested.found_via.text})"),
            *own,
            *question.limits.describe(),
            *whys,
        ),
        (
            "ask for an architecture that it serves, or widen its own architectures or bounds",
            'or set when-empty = "skip" to leave it out',
        ),
    )
