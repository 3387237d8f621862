"""The steps that look for the requested architectures, and how others add theirs."""

from __future__ import annotations

import difflib
import functools
import importlib.metadata
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from setuptools_cuda.config.model import Origin, Settings
from setuptools_cuda.environment import Environment
from setuptools_cuda.errors import BuildError, Code, Problem
from setuptools_cuda.resolution.architecture_words import SPELLINGS, Dialect, Word, parse_architectures
from setuptools_cuda.resolution.entry_points import (
    ask_plugin,
    check_names,
    describe_nonsense,
    find_entry_points,
    load_entry_point,
)
from setuptools_cuda.resolution.values import Architecture, Release

GROUP = "setuptools_cuda.architecture_steps"
KEY = "architectures"
DEFAULT = "all-major"

# Other tools' variables and the dialect of each, in the order in which they decide.
VARIABLES: tuple[tuple[str, Dialect], ...] = (
    ("CUDAARCHS", "cmake"),
    ("CMAKE_CUDA_ARCHITECTURES", "cmake"),
    ("TORCH_CUDA_ARCH_LIST", "torch"),
    ("CUDA_COMPUTE_CAPS", "ours"),
    ("CUDA_COMPUTE_CAP", "ours"),
)


@dataclass(frozen=True)
class StepContext:
    """What a step may look at. A step reads nothing else, so that its answer can be explained."""

    settings: Settings
    environment: Environment
    known: tuple[Architecture, ...]
    """The architectures that the toolkit compiles for."""
    release: Release


@dataclass(frozen=True)
class Request:
    """The answer of a step."""

    words: tuple[Word, ...]
    origin: Origin
    lenient: bool = False
    """Whether architectures that the toolkit does not know are dropped, with a note."""
    notes: tuple[str, ...] = ()


Step = Callable[[StepContext], Request | None]


def resolve_request(context: StepContext) -> Request:
    """Return the answer of the first step that has one.

    The key ``architecture-steps`` names the steps and their order. Without it they are the
    built-in ones, with those of other distributions, by name, just before the default.

    Raises:
        BuildError: BAD_VALUE for an unknown step, MISSING_KEY where no step has an answer,
            PLUGIN_FAILED for a step of another distribution, BAD_ARCHITECTURE for the words.
    """
    steps = _select_steps(context)
    for step in steps.values():
        request = step(context)
        if request is not None:
            return request
    names = ", ".join(steps) or "none"
    raise BuildError(
        Problem(
            Code.MISSING_KEY,
            "no step gives any architectures",
            KEY,
            (("architecture-steps", names),),
            ("set the key 'architectures', or add \"default\" to architecture-steps, which gives all-major",),
        )
    )


def _select_steps(context: StepContext) -> dict[str, Step]:
    plugins = find_entry_points(GROUP, search_path=context.environment.search_path)
    check_names(plugins, taken=BUILT_IN)
    added: dict[str, Step] = {point.name: functools.partial(_ask_plugin, point=point) for point in plugins}
    last = {"default": BUILT_IN["default"]}
    every = {**{name: step for name, step in BUILT_IN.items() if name not in last}, **added, **last}
    wanted = context.settings.project.architecture_steps
    if wanted is None:
        return every
    unknown = [name for name in wanted if name not in every]
    if unknown:
        where = context.settings.origin("architecture-steps").text
        raise BuildError(*(_describe_unknown(name, names=tuple(every), where=where) for name in unknown))
    return {name: every[name] for name in wanted}


def _describe_unknown(name: str, *, names: Sequence[str], where: str) -> Problem:
    close = difflib.get_close_matches(name, names, n=1)
    meant = f"did you mean {close[0]!r}? " if close else ""
    fix = f"{meant}the steps are {', '.join(names)}"
    return Problem(Code.BAD_VALUE, f"there is no step {name!r}", where, fix=(fix,))


def _step_setting(context: StepContext) -> Request | None:
    origin = context.settings.origin(KEY)
    if origin.kind not in ("config-setting", "environment"):
        return None
    request = _request_key(context, origin=origin)
    if request is None or "environment" not in (context.settings.project.architecture_steps or BUILT_IN):
        return request
    return replace(request, notes=_compare_others(context, name=origin.text, words=request.words, others=VARIABLES))


def _step_project(context: StepContext) -> Request | None:
    origin = context.settings.origin(KEY)
    if origin.kind in ("config-setting", "environment"):
        return None
    return _request_key(context, origin=Origin("pyproject", KEY) if origin.kind == "default" else origin)


def _request_key(context: StepContext, *, origin: Origin) -> Request | None:
    words = context.settings.project.architectures
    return None if words is None else Request(parse_architectures(words, where=origin.text), origin)


def _step_environment(context: StepContext) -> Request | None:
    notes: list[str] = []
    for position, (name, dialect) in enumerate(VARIABLES):
        value = context.environment.get(name)
        if value is None:
            continue
        words = parse_architectures(value, where=name, dialect=dialect)
        if not words:
            notes.append(f"{name}={value} names no architecture and is passed over")
            continue
        notes.extend(_compare_others(context, name=name, words=words, others=VARIABLES[position + 1 :]))
        notes.extend(_compare_key(context, name=name, words=words))
        return Request(words, Origin("environment", name), lenient=True, notes=tuple(notes))
    return None


def _compare_others(
    context: StepContext, *, name: str, words: tuple[Word, ...], others: Sequence[tuple[str, Dialect]]
) -> tuple[str, ...]:
    own = context.environment.get(name)
    shown = name if own is None else f"{name}={own}"
    given = ((other, context.environment.get(other), dialect) for other, dialect in others)
    return tuple(
        f"{other}={value} is not looked at: {shown} comes first"
        for other, value, dialect in given
        if value is not None and not _say_the_same(words, value, dialect=dialect)
    )


def _compare_key(context: StepContext, *, name: str, words: tuple[Word, ...]) -> tuple[str, ...]:
    """Return a note where the key of the project says something else; nothing where it is not even asked."""
    key, steps = context.settings.project.architectures, context.settings.project.architecture_steps
    if key is None or "project" not in (steps or BUILT_IN):
        return ()
    same = _meaning(words) == _meaning(parse_architectures(key, where=KEY))
    return () if same else (f"the key 'architectures' of the project gives way to {name}",)


def _say_the_same(words: tuple[Word, ...], value: str, *, dialect: Dialect) -> bool:
    try:
        others = parse_architectures(value, where="", dialect=dialect)
    except BuildError:
        return False
    return _meaning(words) == _meaning(others)


def _meaning(words: Sequence[Word]) -> set[tuple[str, Architecture | None, str]]:
    return {(word.kind, word.architecture, word.mark) for word in words}


def _step_default(context: StepContext) -> Request | None:
    del context
    return Request(parse_architectures(DEFAULT, where=KEY), Origin("default", f"default ({DEFAULT})"))


BUILT_IN: dict[str, Step] = {
    "setting": _step_setting,
    "environment": _step_environment,
    "project": _step_project,
    "default": _step_default,
}


def _ask_plugin(context: StepContext, *, point: importlib.metadata.EntryPoint) -> Request | None:
    """Return the answer of another distribution's step: words as in the key, or None."""
    found = load_entry_point(point)
    wanted = "a callable that takes the context and returns words such as '80,90' or None"
    if not callable(found):
        raise BuildError(describe_nonsense(point, got=found, wanted=wanted))
    answer = ask_plugin(point, found, context)
    if answer is None:
        return None
    texts = [answer] if isinstance(answer, str) else answer
    if not isinstance(texts, (list, tuple)) or not all(isinstance(text, str) for text in texts):
        raise BuildError(describe_nonsense(point, got=answer, wanted=wanted))
    return _parse_answer(point, texts=texts)


def _parse_answer(point: importlib.metadata.EntryPoint, *, texts: Sequence[str]) -> Request:
    try:
        words = parse_architectures(texts, where=point.name)
    except BuildError as error:
        raise BuildError(describe_nonsense(point, got=list(texts), wanted=f"one of {SPELLINGS}")) from error
    return Request(words, Origin("found", f"the step {point.name!r}"))
