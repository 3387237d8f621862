"""The options of each source in each target, after project, target and overrides are put together."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from setuptools_cuda.config.checks import parse_memory
from setuptools_cuda.config.conditions import holds
from setuptools_cuda.config.globs import matches
from setuptools_cuda.config.model import (
    DeviceCompiler,
    Extension,
    Flags,
    Override,
    Project,
    Settings,
    Target,
    WhenEmpty,
)
from setuptools_cuda.errors import Code as ErrorCode
from setuptools_cuda.errors import Problem
from setuptools_cuda.plan.facts import Facts
from setuptools_cuda.resolution.values import Package

NO_FLAGS = Flags()
CUDA_SUFFIX = ".cu"
C_SUFFIXES = frozenset({".c"})
CXX_SUFFIXES = frozenset({".cc", ".cpp", ".cxx", ".c++", ".C"})
CYTHON_SUFFIX = ".pyx"


@dataclass(frozen=True, kw_only=True)
class SourceOptions:
    """One source of one target, with everything that decides how it is compiled."""

    source: str
    architectures: tuple[str, ...] | None = None
    min_architecture: str | None = None
    max_architecture: str | None = None
    when_empty: WhenEmpty = "error"
    std: str | None = None
    flags: Flags = NO_FLAGS
    defines: tuple[str, ...] = ()
    include_dirs: tuple[str, ...] = ()
    device_compilers: tuple[DeviceCompiler, ...] = ()
    """Those named for the source, the most general first; one that does not read it does not count."""
    rdc: bool = False
    memory: int = 0
    priority: int = 0
    instantiate: tuple[str, ...] = ()
    """Instantiations of its kernel templates, as 'scale<float>'."""
    depends: tuple[str, ...] = ()
    """Files besides the source and what it includes, after whose change it is compiled again."""

    @property
    def suffix(self) -> str:
        """Return the source's suffix, with its dot and case."""
        return suffix_of(self.source)


def suffix_of(path: str) -> str:
    """Return the suffix of a '/' path with its dot, or ''."""
    name = path.rsplit("/", 1)[-1]
    return "." + name.rsplit(".", 1)[1] if "." in name else ""


def is_cuda(source: str) -> bool:
    """Return whether ``source`` is CUDA C++."""
    return suffix_of(source) == CUDA_SUFFIX


def plan_sources(target: Target, *, settings: Settings, facts: Facts) -> tuple[SourceOptions, ...]:
    """Return the options of every source of ``target``, in the order of its sources."""
    overrides = tuple(_holding(target, overrides=settings.overrides, facts=facts))
    base = _base(target, project=settings.project, facts=facts)
    planned = (
        _apply(replace(base, source=source), overrides=_matching(overrides, source=source))
        for source in _selected(target, overrides=overrides)
    )
    return tuple(replace(o, flags=o.flags + facts.environment_flags) for o in planned)


def plan_link_flags(target: Target, *, settings: Settings, facts: Facts) -> tuple[str, ...]:
    """Return the linker's flags of ``target``: of the project, its own, of overrides, of the environment.

    An override with a ``match`` counts where it fits a source of the target.
    """
    overrides = tuple(_holding(target, overrides=settings.overrides, facts=facts))
    sources = _selected(target, overrides=overrides)
    fitting = (o for o in overrides if o.match is None or any(matches(o.match, path=source) for source in sources))
    added = tuple(flag for override in fitting for flag in override.flags.link)
    return (*settings.project.flags.link, *target.flags.link, *added, *facts.environment_flags.link)


def _holding(target: Target, *, overrides: Sequence[Override], facts: Facts) -> Iterator[Override]:
    for override in overrides:
        applies = override.target is None or override.target == target.title
        if applies and (override.if_ is None or holds(override.if_, facts=facts.conditions)):
            yield override


def _selected(target: Target, *, overrides: Sequence[Override]) -> tuple[str, ...]:
    """Return the sources after overrides without ``match`` added and left out some."""
    chosen = dict.fromkeys(target.sources)
    for override in overrides:
        chosen.update(dict.fromkeys(override.sources))
        for source in tuple(chosen):
            if any(matches(pattern, path=source) for pattern in override.exclude):
                del chosen[source]
    return tuple(chosen)


def _matching(overrides: Sequence[Override], *, source: str) -> Iterator[Override]:
    return (o for o in overrides if o.match is None or matches(o.match, path=source))


def _base(target: Target, *, project: Project, facts: Facts) -> SourceOptions:
    uses = [facts.packages[name] for name in (*project.uses, *target.uses) if name in facts.packages]
    package_flags = Flags(
        cuda=tuple(flag for package in uses for flag in package.cuda_flags),
        cxx=tuple(flag for package in uses for flag in package.cxx_flags),
    )
    short_name = target.title.rsplit(".", 1)[-1] if isinstance(target, Extension) else target.title
    package_defines = tuple(d.replace("{name}", short_name) for package in uses for d in package.defines)
    package_includes = tuple(folder for package in uses for folder in package.include_dirs)
    return SourceOptions(
        source="",
        architectures=target.architectures,
        min_architecture=target.min_architecture,
        max_architecture=target.max_architecture,
        when_empty=target.when_empty or "error",
        std=target.std or project.std or least_standard(uses) or None,
        flags=package_flags + project.flags + target.flags,
        defines=package_defines + project.defines + target.defines,
        include_dirs=project.include_dirs + target.include_dirs + package_includes,
        device_compilers=tuple(
            name for name in (project.device_compiler, getattr(target, "device_compiler", None)) if name is not None
        ),
        rdc=target.rdc,
        memory=parse_memory(target.memory) if target.memory else 0,
        priority=target.priority or 0,
        depends=target.depends,
    )


def least_standard(packages: Sequence[Package]) -> str:
    """Return the oldest standard that all ``packages`` can be used with, or ''."""
    return max((package.minimum_std for package in packages), key=_standard_year, default="")


def _standard_year(std: str) -> int:
    """Return 17 of 'c++17', and of 'gnu++98' what sorts before 'c++11'."""
    digits = "".join(character for character in std if character.isdigit())
    return int(digits) % 98 if digits else 0


def check_standards(target: Target, *, settings: Settings, facts: Facts) -> list[Problem]:
    """Return a problem for each package that needs a newer standard than the one asked for."""
    std = target.std or settings.project.std
    names = (*settings.project.uses, *target.uses)
    return [
        Problem(
            ErrorCode.CONFLICT,
            f"{name} {facts.packages[name].version} needs {facts.packages[name].minimum_std}, and std is {std}",
            where=f"{target.where}.std" if target.std else "tool.setuptools-cuda.std",
            fix=(f"set std to {facts.packages[name].minimum_std!r} or newer",),
        )
        for name in names
        if std and name in facts.packages and _standard_year(std) < _standard_year(facts.packages[name].minimum_std)
    ]


def _apply(options: SourceOptions, *, overrides: Iterator[Override]) -> SourceOptions:
    for o in overrides:
        options = replace(
            options,
            architectures=options.architectures if o.architectures is None else o.architectures,
            min_architecture=o.min_architecture or options.min_architecture,
            max_architecture=o.max_architecture or options.max_architecture,
            when_empty=o.when_empty or options.when_empty,
            std=o.std or options.std,
            flags=options.flags + o.flags,
            defines=options.defines + o.defines,
            include_dirs=options.include_dirs + o.include_dirs,
            device_compilers=(*options.device_compilers, *((o.device_compiler,) if o.device_compiler else ())),
            memory=parse_memory(o.memory) if o.memory else options.memory,
            priority=options.priority if o.priority is None else o.priority,
        )
    return options
