"""Finds the compilers that ``doctor`` shows, and what is wrong with those that the project needs."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from setuptools_cuda import pipeline
from setuptools_cuda.cli.diagnosis import Host
from setuptools_cuda.config.model import KernelModule, Settings
from setuptools_cuda.environment import Environment
from setuptools_cuda.errors import BuildError, Code, Problem
from setuptools_cuda.resolution.device_compilers import Wanted, find_wanted
from setuptools_cuda.resolution.device_toolkit import resolve_device
from setuptools_cuda.resolution.device_tools import DeviceTools
from setuptools_cuda.resolution.host_compiler import HostProgram, resolve_host_program
from setuptools_cuda.resolution.host_probe import probe_fit
from setuptools_cuda.resolution.host_range import find_host_range
from setuptools_cuda.resolution.needs import needs_nvcc
from setuptools_cuda.resolution.nvcc_flags import resolve_nvcc_flags
from setuptools_cuda.resolution.probe import Layout, probe_layout
from setuptools_cuda.resolution.search import Chosen, Search, survey_nvcc
from setuptools_cuda.resolution.toolchain import complete_toolchain, render_lack, suggest_toolkit
from setuptools_cuda.resolution.values import Toolchain


@dataclass(frozen=True)
class Tools:
    """The compilers."""

    search: Search
    toolchain: Toolchain | None
    host: Host | None
    device: DeviceTools | None
    """What compiles kernel modules without nvcc, where anything does."""
    compilers: tuple[str, ...]
    """The device compilers of kernel modules, by name."""
    needs_nvcc: bool
    needs_host: bool
    notes: tuple[str, ...]
    problems: tuple[Problem, ...]

    @property
    def found(self) -> bool:
        """Return whether there is a toolkit, with an nvcc or for device code alone."""
        return self.search.chosen is not None or self.device is not None


@dataclass
class _Faults:
    """Collects what is wrong: a problem where it is in the way of a build, else a note."""

    problems: list[Problem]
    notes: list[str]

    def add(self, *found: Problem, needed: bool) -> None:
        if needed:
            self.problems.extend(found)
        else:
            self.notes.extend(f"not needed here: {': '.join(filter(None, (each.where, each.what)))}" for each in found)


def find_tools(settings: Settings, *, request: pipeline.Request, needs_toolkit: bool) -> Tools:
    """Return the compilers; a fault of one that no target needs is a note, as a build does not mind it."""
    environment = request.environment
    faults = _Faults([], [])
    wanted = _find_wanted(settings, environment=environment, faults=faults)
    nvcc = needs_toolkit if wanted is None or not settings.targets else needs_nvcc(settings, wanted=wanted)
    host_code = nvcc or any(not isinstance(target, KernelModule) for target in settings.targets)
    search = survey_nvcc(settings, environment=environment)
    faults.add(*search.problems, needed=nvcc)
    toolchain = _complete(search, settings=settings, request=request, faults=faults, needed=nvcc)
    program = _find_program(settings, environment=environment, faults=faults, needed=host_code)
    host = _find_host(program, chosen=search.chosen, toolchain=toolchain, environment=environment) if program else None
    device = _find_device(settings, environment=environment, wanted=wanted, toolchain=toolchain, faults=faults)
    if nvcc and search.chosen is None and not search.problems and settings.project.required:
        fix = suggest_toolkit(settings, environment=environment)
        faults.add(Problem(Code.NO_COMPILER, render_lack(settings), fix=fix), needed=True)
    notes, problems = dict.fromkeys(faults.notes), dict.fromkeys(faults.problems)
    taken = sorted({name for names in wanted.compilers.values() for name in names}) if wanted else ()
    return Tools(search, toolchain, host, device, tuple(taken), nvcc, host_code, tuple(notes), tuple(problems))


def _find_wanted(settings: Settings, *, environment: Environment, faults: _Faults) -> Wanted | None:
    try:
        return find_wanted(settings, environment=environment)
    except BuildError as error:
        faults.add(*error.problems, needed=True)
        return None


def _complete(
    search: Search, *, settings: Settings, request: pipeline.Request, faults: _Faults, needed: bool
) -> Toolchain | None:
    try:
        return complete_toolchain(
            search, settings=settings, environment=request.environment, build_dir=request.build_folder
        )
    except BuildError as error:
        faults.add(*error.problems, needed=needed)
        return None


def _find_program(settings: Settings, *, environment: Environment, faults: _Faults, needed: bool) -> HostProgram | None:
    try:
        flags = resolve_nvcc_flags(environment)
        return resolve_host_program(settings, environment=environment, nvcc_flags=flags)
    except BuildError as error:
        faults.add(*error.problems, needed=needed)
        return None


def _find_device(
    settings: Settings,
    *,
    environment: Environment,
    wanted: Wanted | None,
    toolchain: Toolchain | None,
    faults: _Faults,
) -> DeviceTools | None:
    """Return the tools beside nvcc that kernel modules need, as a build looks for them."""
    if wanted is None:
        return None
    beside = toolchain if needs_nvcc(settings, wanted=wanted) else None
    try:
        return resolve_device(settings, environment=environment, wanted=wanted, toolchain=beside).tools
    except BuildError as error:
        # What was looked at is a section of its own, as is this command.
        faults.add(*(replace(each, details=(), fix=each.fix[:-1]) for each in error.problems), needed=True)
        return None


def _find_host(
    program: HostProgram, *, chosen: Chosen | None, toolchain: Toolchain | None, environment: Environment
) -> Host:
    layout = _find_layout(chosen.nvcc, program=program, environment=environment) if chosen else None
    folders = layout.include_dirs if layout else ()
    limits = find_host_range(program.path, include_dirs=folders, environment=environment) if layout else None
    if toolchain is not None:
        used = toolchain.host_compiler
        return Host(used.path, str(used), used.found_via, used.launcher, taken=True, range=limits)
    taken = None
    if limits is not None:
        taken = not probe_fit(program.path, include_dirs=folders, environment=environment)
    return Host(program.path, str(program.facts), program.origin, program.launcher, taken=taken, range=limits)


def _find_layout(nvcc: Path, *, program: HostProgram, environment: Environment) -> Layout | None:
    try:
        return probe_layout(nvcc, host_compiler=program.path, environment=environment)
    except BuildError:
        # The same fault has ended the completion of the toolchain, and is told there.
        return None
