"""What has to hold between the keys of a target, and between targets."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence

from setuptools_cuda.config.checks import parse_bound
from setuptools_cuda.config.findings import suggest
from setuptools_cuda.config.globs import matches
from setuptools_cuda.config.keys import ScopeName
from setuptools_cuda.config.model import Extension, Library, Override, Settings, Target
from setuptools_cuda.errors import Code, Problem


def find_contradictions(
    settings: Settings, *, nameless: Collection[ScopeName], sources_known: bool
) -> Iterator[Problem]:
    """Yield what is wrong between targets.

    ``nameless`` are the kinds of which some target has no good name, ``sources_known`` says that
    every glob was expanded: otherwise what seems missing may only be misspelled elsewhere.
    """
    yield from _find_duplicates(settings.targets)
    yield from _find_cycles(settings.libraries)
    if "library" not in nameless:
        yield from _find_unknown_links(settings)
    if not nameless:
        yield from _find_unknown_targets(settings)
    if sources_known:
        for target in settings.targets:
            yield from _find_empty(target, overrides=settings.overrides)
    if sources_known and not nameless:
        yield from _find_idle_matches(settings)


def _find_duplicates(targets: Sequence[Target]) -> Iterator[Problem]:
    seen: dict[tuple[str, str], Target] = {}
    for target in targets:
        kind = "library" if isinstance(target, Library) else "module"
        first = seen.setdefault((kind, target.title), target)
        if target.title and first is not target:
            yield Problem(
                Code.DUPLICATE_OUTPUT,
                f"makes the {kind} {target.title!r}, as {first.where} does",
                target.where,
                fix=("give one of them another name",),
            )


def find_target_contradictions(target: Target) -> Iterator[Problem]:
    """Yield what is wrong between the keys of one target."""
    yield from _find_crossed_bounds(target)
    if not isinstance(target, Library):
        return
    if target.type == "shared" and not target.install:
        yield _conflict(target, "a shared library has to be shipped", fix="add install = 'PACKAGE/lib'")
    if target.type == "interface" and target.patterns:
        yield _conflict(target, "an interface library has no sources", fix="drop 'sources', or the 'type'")
    if target.headers and not target.install:
        yield _conflict(target, "headers are shipped beside an installed library", fix="add install = 'PACKAGE/lib'")


def _conflict(target: Target, what: str, *, fix: str) -> Problem:
    return Problem(Code.CONFLICT, what, target.where, fix=(fix,))


def _find_crossed_bounds(table: Target | Override) -> Iterator[Problem]:
    low, high = table.min_architecture, table.max_architecture
    if low and high and parse_bound(low) > parse_bound(high):
        what = f"min-architecture {low!r} is above max-architecture {high!r}"
        yield Problem(Code.CONFLICT, what, table.where)


def _find_empty(target: Target, *, overrides: Sequence[Override]) -> Iterator[Problem]:
    if target.patterns or (isinstance(target, Library) and target.type == "interface"):
        return
    if isinstance(target, Extension) and (target.extra_objects or target.uses):
        return
    if not any(override.sources and override.target == target.title for override in overrides):
        fix = ("add sources = ['...']",)
        yield Problem(Code.MISSING_KEY, "has no 'sources'", target.where, fix=fix)


def find_override_contradictions(override: Override) -> Iterator[Problem]:
    """Yield what is wrong between the keys of one override."""
    yield from _find_crossed_bounds(override)
    if override.sources and not override.target:
        fix = ("add target = '...': the one that the sources belong to",)
        yield Problem(Code.MISSING_KEY, "adds 'sources', but has no 'target'", override.where, fix=fix)
    if override.match and (override.sources or override.exclude):
        what = "'match' picks sources that are there; it goes with neither 'sources' nor 'exclude'"
        yield Problem(Code.CONFLICT, what, override.where, fix=("make two overrides of it",))


def _find_unknown_links(settings: Settings) -> Iterator[Problem]:
    known = {library.name for library in settings.libraries}
    for target in settings.targets:
        for name in target.link:
            if name not in known and not name.startswith("CUDA::"):
                fix = (*suggest(name, known=known), *_link_help(target))
                what = f"{name!r} is no library of this project"
                yield Problem(Code.UNKNOWN_LIBRARY, what, f"{target.where}.link", fix=fix)


def _link_help(target: Target) -> tuple[str, ...]:
    help_ = ("CUDA's own libraries are written as 'CUDA::cublas'",)
    return (*help_, "the system's go to 'libraries'") if isinstance(target, Extension) else help_


def _find_cycles(libraries: Sequence[Library]) -> Iterator[Problem]:
    links = {library.name: tuple(name for name in library.link) for library in libraries}
    done: set[str] = set()
    for library in libraries:
        cycle = _find_cycle(library.name, links=links, done=done)
        if cycle:
            what = f"libraries link each other in a circle: {' -> '.join(cycle)}"
            yield Problem(
                Code.CONFLICT, what, f"{library.where}.link", fix=("put what they share into a library of its own",)
            )


def _find_cycle(start: str, *, links: Mapping[str, tuple[str, ...]], done: set[str]) -> tuple[str, ...]:
    """Return the first circle that is reached from ``start``; ``done`` keeps what was looked through."""
    trail: list[str] = []
    waiting: list[Iterator[str]] = [iter((start,))]
    while waiting:
        name = next(waiting[-1], None)
        if name is None:
            waiting.pop()
            done.update(trail[-1:])
            del trail[-1:]
        elif name in trail:
            cycle = (*trail[trail.index(name) :], name)
            done.update(trail)
            return cycle
        elif name not in done:
            trail.append(name)
            waiting.append(iter(links.get(name, ())))
    return ()


def _find_unknown_targets(settings: Settings) -> Iterator[Problem]:
    known = {target.title for target in settings.targets}
    for override in settings.overrides:
        if override.target is not None and override.target not in known:
            fix = suggest(override.target, known=known) or (f"known: {', '.join(sorted(known)) or 'no target at all'}",)
            what = f"{override.target!r} is no extension, library or module of this project"
            yield Problem(Code.NO_MATCH, what, f"{override.where}.target", fix=fix)


def _find_idle_matches(settings: Settings) -> Iterator[Problem]:
    for override in settings.overrides:
        if override.match is not None and not _touches(override, override.match, settings=settings):
            within = f" of {override.target!r}" if override.target else ""
            what = f"{override.match!r} fits no source{within}"
            fix = ("it is held against the sources that the targets' globs found",)
            yield Problem(Code.NO_MATCH, what, f"{override.where}.match", fix=fix)


def _touches(override: Override, pattern: str, *, settings: Settings) -> bool:
    wanted = [one for one in settings.targets if override.target in {None, one.title}]
    titles = {target.title for target in wanted}
    sources = [source for target in wanted for source in target.sources]
    added = [source for one in settings.overrides if one.target in titles for source in one.sources]
    return any(matches(pattern, path=source) for source in (*sources, *added))
