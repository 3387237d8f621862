"""What planning of each target kind shares: the state of one planning, and a source's codes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from setuptools_cuda.config.model import Cudart, KernelModule, Settings, Target
from setuptools_cuda.errors import Code as ErrorCode
from setuptools_cuda.errors import Problem
from setuptools_cuda.plan.compiles import OBJECT, Compiles
from setuptools_cuda.plan.device_jobs import DeviceJobs
from setuptools_cuda.plan.effective import SourceOptions, check_standards, is_cuda, plan_link_flags, plan_sources
from setuptools_cuda.plan.facts import Facts
from setuptools_cuda.plan.linking import BuiltLibrary, Closure
from setuptools_cuda.plan.options import check_shell_safe
from setuptools_cuda.plan.values import Artifact, Job, KernelModulePlan, ShippedLibrary
from setuptools_cuda.resolution.architecture_choice import choose_codes
from setuptools_cuda.resolution.architecture_words import parse_architectures
from setuptools_cuda.resolution.values import Code, Package


@dataclass(kw_only=True)
class Planning:
    """One planning under way: what every target adds to."""

    settings: Settings
    facts: Facts
    compiles: Compiles
    device: DeviceJobs
    libraries: dict[str, BuiltLibrary] = field(default_factory=dict)
    jobs: list[Job] = field(default_factory=list)
    """Links and archives; compiles come from :attr:`compiles`."""
    artifacts: list[Artifact] = field(default_factory=list)
    kernel_modules: list[KernelModulePlan] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    requirements: dict[str, None] = field(default_factory=dict)
    shipped: list[ShippedLibrary] = field(default_factory=list)

    def sources(self, target: Target, *, closure: Closure) -> tuple[SourceOptions, ...]:
        """Return the options of the target's sources that this build compiles."""
        from_links = tuple(d for built in closure.libraries for d in built.include_dirs)
        kept = []
        for options in plan_sources(target, settings=self.settings, facts=self.facts):
            if self._left_out(target, options):
                self.notes.append(f"{target.title}: {options.source} is left out, since there is no CUDA compiler")
                continue
            kept.append(_with_includes(options, extra=from_links))
        self.problems.extend(check_standards(target, settings=self.settings, facts=self.facts))
        self.problems.extend(p for o in kept for p in check_shell_safe(o, where=target.where))
        return tuple(kept)

    def _left_out(self, target: Target, options: SourceOptions) -> bool:
        """Return whether a source has no compiler, in a project that does without CUDA."""
        if isinstance(target, KernelModule):
            return self.facts.toolkit is None
        return self.facts.toolchain is None and is_cuda(options.source)

    def codes(self, target: Target, options: SourceOptions, *, can_carry_ptx: bool) -> tuple[Code, ...]:
        """Return the codes of a source; () where nothing is left and that may be, or where it is a problem."""
        release, requested = self.facts.release, self.facts.architectures
        if release is None or requested is None:
            return ()
        own = options.architectures
        choice = choose_codes(
            requested,
            own=None if own is None else parse_architectures(own, where=f"{target.where}.architectures"),
            minimum=options.min_architecture,
            maximum=options.max_architecture,
            known=self.facts.known,
            can_carry_ptx=can_carry_ptx,
            release=release,
            unsupported=self.settings.project.unsupported_architectures,
            where=target.where,
        )
        dropped = (f"not for {architecture}: {reason}" for architecture, reason in choice.dropped)
        self.notes.extend(f"{target.title}: {options.source}: {note}" for note in (*choice.notes, *dropped))
        if choice.problem is None:
            return choice.codes
        if options.when_empty == "skip" and choice.problem.code is ErrorCode.NO_ARCHITECTURE_LEFT:
            self.notes.append(f"{target.title}: {options.source} is skipped: {choice.problem.what}")
        else:
            self.problems.append(_of_source(choice.problem, target=target, options=options))
        return ()

    def is_shared(self, source: str) -> bool:
        """Return whether an extension or library compiles ``source``."""
        return any(source in target.sources for target in (*self.settings.extensions, *self.settings.libraries))

    def cuda_object(self, target: Target, options: SourceOptions) -> str | None:
        """Return the object of a .cu, or None where it is skipped."""
        codes = self.codes(target, options, can_carry_ptx=True)
        toolchain = self.facts.toolchain
        if not codes or toolchain is None:
            return None
        return self.compiles.cuda(options, codes=codes, toolchain=toolchain).want(OBJECT, target=target.title)

    def cudart(self, target: Target, *, cuda: Sequence[str] = ()) -> Cudart:
        """Return how the target, which links ``cuda`` too, links the CUDA runtime."""
        asked = target.cudart or self.settings.project.cudart
        return asked or ("shared" if "cudart" in cuda else "static")

    def packages(self, target: Target) -> list[Package]:
        """Return the packages that the target uses, those of the project first."""
        names = dict.fromkeys((*self.settings.project.uses, *target.uses))
        return [self.facts.packages[name] for name in names if name in self.facts.packages]

    def link_flags(self, target: Target) -> tuple[str, ...]:
        """Return the target's flags for the linker."""
        return plan_link_flags(target, settings=self.settings, facts=self.facts)

    def link_codes(self) -> tuple[Code, ...]:
        """Return the machine code that device links are made for: the requested set."""
        requested = self.facts.architectures
        return tuple(code for code in (requested.codes if requested else ()) if code.real)


def _of_source(problem: Problem, *, target: Target, options: SourceOptions) -> Problem:
    where = problem.where or target.where
    details = (("source", options.source), ("target", target.title), *problem.details)
    return Problem(problem.code, problem.what, where=where, details=details, fix=problem.fix)


def _with_includes(options: SourceOptions, *, extra: Sequence[str]) -> SourceOptions:
    return replace(options, include_dirs=tuple(dict.fromkeys((*options.include_dirs, *extra)))) if extra else options
