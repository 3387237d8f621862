"""The search for an nvcc: the first usable candidate wins, and every candidate is kept."""

from __future__ import annotations

import difflib
import functools
import importlib.metadata
import itertools
import os
from dataclasses import dataclass, replace
from pathlib import Path

from setuptools_cuda.config.model import Origin, Settings
from setuptools_cuda.environment import Environment
from setuptools_cuda.errors import BuildError, Code, Problem, raise_if_any
from setuptools_cuda.resolution.acceptance import Acceptance, find_acceptance, fits
from setuptools_cuda.resolution.entry_points import (
    ask_plugin,
    check_names,
    describe_nonsense,
    find_entry_points,
    load_entry_point,
)
from setuptools_cuda.resolution.probe import NvccVersion, Unusable, probe_version
from setuptools_cuda.resolution.programs import is_file, is_one_place
from setuptools_cuda.resolution.steps import STEPS, Location, Step
from setuptools_cuda.resolution.values import Candidate, Release

ENTRY_POINTS = "setuptools_cuda.toolchain_steps"

# Steps of others come before this one: after all that a user has set, before what lies about.
_OTHERS_BEFORE = "wheel"


@dataclass(frozen=True)
class Chosen:
    """The nvcc that won."""

    step: str
    location: Location
    nvcc: Path
    version: NvccVersion


@dataclass(frozen=True)
class Search:
    """What a search came to."""

    candidates: tuple[Candidate, ...]
    chosen: Chosen | None
    notes: tuple[str, ...]
    problems: tuple[Problem, ...] = ()
    """What ended the search: something set that cannot be used, or a step that failed."""


@dataclass(frozen=True)
class _Judged:
    """What came of one location."""

    outcome: Chosen | Candidate
    notes: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


def search_nvcc(settings: Settings, *, environment: Environment, before: str = "") -> Search:
    """Return the first usable nvcc, with all that was looked at; see :func:`survey_nvcc`.

    Raises:
        BuildError: UNUSABLE_SETTING or UNFIT_RELEASE for something set that cannot be used,
            PLUGIN_FAILED for a step of others, BAD_VALUE for an unknown step.
    """
    search = survey_nvcc(settings, environment=environment, before=before)
    raise_if_any(search.problems)
    return search


def survey_nvcc(settings: Settings, *, environment: Environment, before: str = "") -> Search:
    """Return the first usable nvcc, with all that was looked at, and with what ended the search if it failed.

    Steps after the one that ends the search are still looked at, but no nvcc of theirs is run.
    With ``before`` only the steps in front of the one of that name are taken.
    """
    try:
        steps = plan_steps(settings, environment=environment)
    except BuildError as error:
        return Search((), None, (), error.problems)
    accept = find_acceptance(settings, environment=environment)
    found = Search((), None, ())
    for step in itertools.takewhile(lambda step: step.name != before, steps):
        found = _take(step, found, settings=settings, accept=accept, environment=environment)
    return found


def _take(step: Step, found: Search, *, settings: Settings, accept: Acceptance, environment: Environment) -> Search:
    """Return ``found`` with what ``step`` adds to it."""
    if found.chosen or found.problems:
        return _look_only(step, found, settings=settings, environment=environment)
    try:
        locations = tuple(step.look(settings, environment))
    except BuildError as error:
        failed = Candidate(step.name, f"step {step.name}", None, "failed")
        return replace(found, candidates=(*found.candidates, failed), problems=error.problems)
    judge = functools.partial(_judge, step=step, settings=settings, accept=accept, environment=environment)
    judged = [judge(location) for location in locations]
    usable = [each.outcome for each in judged if isinstance(each.outcome, Chosen)]
    chosen = _choose(usable, newest=step.newest)
    return Search(
        (*found.candidates, *(_record(each.outcome, chosen=chosen) for each in judged)),
        chosen,
        (*found.notes, *(note for each in judged for note in each.notes)),
        tuple(problem for each in judged for problem in each.problems),
    )


def plan_steps(settings: Settings, *, environment: Environment) -> tuple[Step, ...]:
    """Return the steps to take, in order: those of ``toolchain-steps``, or all.

    Steps of others (entry points ``setuptools_cuda.toolchain_steps``) stand before 'wheel'.
    Where 'pip' is named and 'wheel' is not, 'pip' looks for the wheels that it has asked for.

    Raises:
        BuildError: BAD_VALUE for a name that no step has, PLUGIN_FAILED for a step of others that has a name of ours.
    """
    points = find_entry_points(ENTRY_POINTS, search_path=environment.search_path)
    check_names(points, taken={step.name for step in STEPS})
    others = tuple(map(_wrap, points))
    place = [step.name for step in STEPS].index(_OTHERS_BEFORE)
    known = (*STEPS[:place], *others, *STEPS[place:])
    names = settings.project.toolchain_steps
    if names is None:
        return known
    by_name = {step.name: step for step in known}
    unknown = [name for name in names if name not in by_name]
    if unknown:
        where = settings.origin("toolchain-steps").text
        raise BuildError(*(_describe_unknown(name, known=tuple(by_name), where=where) for name in unknown))
    if "wheel" not in names:
        by_name["pip"] = Step("pip", by_name["wheel"].look)
    return tuple(by_name[name] for name in dict.fromkeys(names))


def _judge(
    location: Location, *, step: Step, settings: Settings, accept: Acceptance, environment: Environment
) -> _Judged:
    """Return what came of one location, with the notes to show."""
    if location.nvcc is None:
        return _judge_unusable(location, step=step, why=location.absent, said=location.absent)
    version = probe_version(location.nvcc, environment=environment)
    if isinstance(version, Unusable):
        why = f"{location.nvcc} {version.reason}"
        return _judge_unusable(location, step=step, why=why, said=version.reason)
    if accept.explain_refusal(version.release):
        return _judge_unfit(location, step=step, release=version.release, settings=settings, accept=accept)
    return _Judged(Chosen(step.name, location, location.nvcc, version), location.notes)


def _judge_unusable(location: Location, *, step: Step, why: str, said: str) -> _Judged:
    problems = (_describe_unusable(location, why=why),) if location.binding else ()
    return _Judged(Candidate(step.name, location.where, location.nvcc, said), problems=problems)


def _judge_unfit(
    location: Location, *, step: Step, release: Release, settings: Settings, accept: Acceptance
) -> _Judged:
    verdict = accept.explain_refusal(release)
    candidate = Candidate(step.name, location.where, location.nvcc, verdict)
    if location.binding == "compiler":
        problem = _describe_unfit(location, settings=settings, accept=accept, release=release)
        return _Judged(candidate, problems=(problem,))
    return _Judged(candidate, (f"{location.where} is passed over: {verdict}",) if location.binding else ())


def _choose(usable: list[Chosen], *, newest: bool) -> Chosen | None:
    if newest:
        return max(usable, key=lambda each: each.version.release, default=None)
    return usable[0] if usable else None


def _record(each: Chosen | Candidate, *, chosen: Chosen | None) -> Candidate:
    if isinstance(each, Candidate):
        return each
    verdict = "chosen" if each is chosen else f"{each.version.release}; not needed"
    return Candidate(each.step, each.location.where, each.nvcc, verdict)


def _look_only(step: Step, found: Search, *, settings: Settings, environment: Environment) -> Search:
    """Return ``found`` with what ``step`` would look at; what somebody has set and is not taken gets a note."""
    if step.name not in {each.name for each in STEPS}:
        after = "has one" if found.chosen else "failed"
        unasked = Candidate(step.name, f"step {step.name}", None, f"not asked; an earlier step {after}")
        return replace(found, candidates=(*found.candidates, unasked))
    reason = "not needed" if found.chosen else "not asked"
    places = tuple(step.look(settings, environment))
    seen = (Candidate(step.name, each.where, each.nvcc, reason if each.nvcc else each.absent) for each in places)
    notes = tuple(
        f"{each.where} is not looked at: {found.chosen.location.where} comes first"
        for each in places
        if found.chosen and each.binding and (each.nvcc is None or not is_one_place(each.nvcc, found.chosen.nvcc))
    )
    return replace(found, candidates=(*found.candidates, *seen), notes=(*found.notes, *notes))


def _wrap(point: importlib.metadata.EntryPoint) -> Step:
    """Return a step of others as one of ours."""

    def look(settings: Settings, environment: Environment) -> tuple[Location, ...]:
        step = load_entry_point(point)
        if not callable(step):
            raise BuildError(describe_nonsense(point, got=step, wanted="a callable (settings, environment)"))
        return _parse_answer(ask_plugin(point, step, settings, environment), point=point)

    return Step(point.name, look)


def _parse_answer(answer: object, *, point: importlib.metadata.EntryPoint) -> tuple[Location, ...]:
    where = f"step {point.name}"
    if answer is None:
        return (Location(where, None, "found none"),)
    many = answer if isinstance(answer, (list, tuple)) else (answer,)
    wanted = "the path of an nvcc, several of them, or None"
    locations = []
    for each in many:
        path = ask_plugin(point, os.fspath, each) if isinstance(each, os.PathLike) else each
        if not isinstance(path, str) or not Path(path).is_absolute() or not is_file(Path(path)):
            raise BuildError(describe_nonsense(point, got=each, wanted=wanted))
        locations.append(Location(where, Path(path), origin=Origin("found", f"{where} ({path})")))
    return tuple(locations) or (Location(where, None, "found none"),)


def _describe_unusable(location: Location, *, why: str) -> Problem:
    if location.binding == "toolkit":
        what, fix = "there is no usable nvcc in it", "point it at a toolkit, or unset it"
    else:
        what, fix = "this nvcc cannot be used", "name an nvcc by its path or its name on PATH, or take the setting away"
    return Problem(Code.UNUSABLE_SETTING, what, location.where, (("why", why),), (fix,))


def _describe_unfit(location: Location, *, settings: Settings, accept: Acceptance, release: Release) -> Problem:
    cuda = settings.project.cuda
    if fits(release, cuda=cuda):
        return _describe_other_major(location, accept=accept, release=release)
    return Problem(
        Code.UNFIT_RELEASE,
        f"this nvcc is of toolkit {release}, which is not within `cuda` = {cuda!r}",
        location.where,
        (("nvcc", str(location.nvcc)), ("cuda", f"{cuda} ({settings.origin('cuda').text})")),
        (f"name an nvcc within {cuda}, or widen `cuda`",),
    )


def _describe_other_major(location: Location, *, accept: Acceptance, release: Release) -> Problem:
    name, major = next(each for each in accept.majors.items() if each[1] != release.major)
    return Problem(
        Code.UNFIT_RELEASE,
        f"this nvcc is of toolkit {release}, and {name} is made for CUDA {major}",
        location.where,
        (("nvcc", str(location.nvcc)), ("why", f"what links with {name} has to be of its major release")),
        (f"name an nvcc of CUDA {major}, or build with a {name} for CUDA {release.major}",),
    )


def _describe_unknown(name: str, *, known: tuple[str, ...], where: str) -> Problem:
    close = difflib.get_close_matches(name, known, n=1)
    hint = f"; did you mean {close[0]!r}?" if close else ""
    what = f"there is no step {name!r}{hint}"
    return Problem(Code.BAD_VALUE, what, where, fix=(f"the steps are {', '.join(known)}",))
