"""Settings and environment to the requested architectures: which GPUs the build is for."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from setuptools_cuda.config.model import Settings
from setuptools_cuda.environment import Environment
from setuptools_cuda.errors import BuildError, Problem, raise_if_any
from setuptools_cuda.errors import Code as ErrorCode
from setuptools_cuda.resolution.architecture_codes import (
    add_ptx,
    describe_architectures,
    describe_codes,
    expand_words,
    find_all,
    find_conflicts,
    make_code,
    make_codes,
)
from setuptools_cuda.resolution.architecture_steps import Request, StepContext, resolve_request
from setuptools_cuda.resolution.architecture_words import Word
from setuptools_cuda.resolution.catalogue import CATALOGUE
from setuptools_cuda.resolution.gpu import find_gpus
from setuptools_cuda.resolution.values import Architecture, Architectures, Code, Release

FindGpus = Callable[[], Sequence[Architecture]]


def resolve_architectures(
    settings: Settings,
    *,
    environment: Environment,
    known: Sequence[Architecture],
    release: Release,
    gpus: FindGpus | None = None,
) -> Architectures:
    """Return the requested architectures, in canonical order, with where they were found.

    ``known`` are those that the toolkit of ``release`` compiles for, variants included. ``gpus``
    finds the GPUs of this machine; it is called for 'native' and the profile 'dev' alone.

    Raises:
        BuildError: BAD_ARCHITECTURE, UNKNOWN_ARCHITECTURE, NO_ARCHITECTURE_LEFT, CONFLICT, NO_GPU,
            PLUGIN_FAILED, or BAD_VALUE and MISSING_KEY for ``architecture-steps``.
    """
    context = StepContext(settings, environment, tuple(sorted(known)), release)
    find = gpus or find_gpus
    request = resolve_request(context)
    asked = functools.partial(_find_gpus, find, request=request)
    words = expand_words(request.words, known=context.known, gpus=asked)
    kept, notes = _drop_unknown(words, request=request, context=context)
    codes = make_codes(kept)
    raise_if_any(find_conflicts(codes, where=request.origin.text))
    found = Architectures(codes, request.origin, (*request.notes, *notes))
    return _reduce_for_dev(found, context=context, find=find) if settings.project.profile == "dev" else found


def _find_gpus(find: FindGpus, *, request: Request) -> tuple[Architecture, ...]:
    """Return the GPUs; where none answers, the problem names who asked for them."""
    try:
        return tuple(find())
    except BuildError as error:
        raise BuildError(*(replace(one, where=request.origin.text) for one in error.problems)) from None


def _drop_unknown(
    words: Sequence[Word], *, request: Request, context: StepContext
) -> tuple[tuple[Word, ...], tuple[str, ...]]:
    """Return the words that the toolkit knows, and notes on those that it does not."""
    unknown = tuple(dict.fromkeys(word for word in words if word.architecture not in context.known))
    kept = tuple(word for word in words if word not in unknown)
    drop = request.lenient or context.settings.project.unsupported_architectures == "drop"
    problem = describe_unknown(
        tuple(word.architecture for word in unknown if word.architecture is not None),
        known=context.known,
        release=context.release,
        where=request.origin.text,
    )
    if unknown and not drop:
        raise BuildError(problem)
    if not kept:
        # Dropping is what has left nothing here, so that it is no advice.
        fix = ("ask for architectures that it knows", *problem.fix[1:])
        raise BuildError(replace(problem, what=f"{problem.what}, and no other is asked for", fix=fix))
    return kept, (f"{problem.what}: left out of {request.origin.text}",) if unknown else ()


def describe_unknown(
    unknown: Sequence[Architecture], *, known: Sequence[Architecture], release: Release, where: str
) -> Problem:
    """Return the problem that the toolkit of ``release`` does not compile for ``unknown``."""
    whys = tuple((str(one), _explain(one, known=known)) for one in unknown)
    names = ", ".join(map(str, unknown))
    fix = [
        'ask for architectures that it knows, or set unsupported-architectures = "drop"',
        *dict.fromkeys(hint for one in unknown if (hint := _hint(one, release=release))),
    ]
    return Problem(
        ErrorCode.UNKNOWN_ARCHITECTURE,
        f"CUDA {release} does not compile for {names}",
        where,
        (*whys, ("it knows", describe_architectures(known))),
        tuple(fix),
    )


def _explain(one: Architecture, *, known: Sequence[Architecture]) -> str:
    siblings = [other for other in known if other.number == one.number]
    if siblings:
        return f"of {one.number} it knows {describe_architectures(siblings)}"
    numbers = [other.number for other in known]
    if one.number < min(numbers, default=0):
        return "older than all that it knows"
    return "newer than all that it knows" if one.number > max(numbers, default=0) else "not among those that it knows"


def _hint(one: Architecture, *, release: Release) -> str:
    """Return which releases compile for ``one``, as far as the catalogue knows, or ''."""
    releases = [facts.release for facts in CATALOGUE if one in facts.architectures]
    older = max((other for other in releases if other < release), default=None)
    newer = min((other for other in releases if other > release), default=None)
    if newer is not None:
        return f'or build with a newer toolkit: CUDA {newer} compiles for {one} (cuda = ">={newer}")'
    if older is not None:
        return f'or build with an older toolkit: CUDA {older} compiles for {one} (cuda = "<={older}")'
    return ""


@dataclass(frozen=True)
class _Quick:
    """One development build's choice, and why."""

    codes: tuple[Code, ...]
    note: str


def _reduce_for_dev(found: Architectures, *, context: StepContext, find: FindGpus) -> Architectures:
    """Return what the profile 'dev' builds: this machine's GPUs, else the oldest requested."""
    quick = _choose_quick(found, context=context, find=find)
    return replace(found, codes=quick.codes, notes=(*found.notes, f"profile dev: {quick.note}"))


def _choose_quick(found: Architectures, *, context: StepContext, find: FindGpus) -> _Quick:
    first = add_ptx(found.codes[:1])
    oldest = _Quick(first, f"{describe_codes(first)}, the oldest requested, since no GPU answers")
    try:
        present = tuple(sorted(set(find())))
    except BuildError as error:
        if error.problems[0].code is not ErrorCode.NO_GPU:
            raise
        return oldest
    fit = [one for one in present if one in find_all(context.known)]
    if not fit:
        note = f"the GPUs here are {describe_architectures(present)}, which CUDA {context.release} does not compile for"
        return _Quick(first, f"{describe_codes(first)}, the oldest requested: {note}")
    codes = add_ptx(make_code(one, mark="") for one in fit)
    return _Quick(codes, f"{describe_codes(codes)}, the GPUs of this machine")
