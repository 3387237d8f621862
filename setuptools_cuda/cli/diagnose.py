"""Finds out what ``doctor`` shows. It reads, asks compilers who they are, and changes nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, replace
from pathlib import Path

from setuptools_cuda import pipeline
from setuptools_cuda.cli.diagnosis import Diagnosis, Machine, Project, PtxFit
from setuptools_cuda.cli.machine import find_folder, find_launchers, find_ptx_fit, find_versions
from setuptools_cuda.cli.plan import explain_isolated, plan_here
from setuptools_cuda.cli.tools import Tools, find_tools
from setuptools_cuda.cli.variables import list_variables
from setuptools_cuda.config.load import parse_settings
from setuptools_cuda.config.model import CMakeProject, Settings
from setuptools_cuda.config.pyproject import TABLE, find_table
from setuptools_cuda.environment import Environment
from setuptools_cuda.errors import BuildError, Code, Problem
from setuptools_cuda.execute.cache_folder import find_cache_folder
from setuptools_cuda.frontends.cmake_project import load_project, resolve_cmake_build
from setuptools_cuda.resolution.architectures import resolve_architectures
from setuptools_cuda.resolution.catalogue import add_variants, find_facts
from setuptools_cuda.resolution.needs import describe_target, list_needy
from setuptools_cuda.resolution.pip_step import plan_isolated_requirements, render_requirement, resolve_release
from setuptools_cuda.resolution.search import Search
from setuptools_cuda.resolution.values import Architecture, Architectures, Release


@dataclass(frozen=True)
class _Loaded:
    """The settings that can be used, and what was wrong with those that were asked for."""

    settings: Settings
    project: Project
    needs_toolkit: bool
    """Whether any target needs one; taken for granted of a project that declares nothing, or cannot be read."""
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True)
class _Codes:
    """What would be built for, with which release in mind."""

    release: Release | None = None
    known: tuple[Architecture, ...] = ()
    architectures: Architectures | None = None
    problems: tuple[Problem, ...] = ()


def find_diagnosis(request: pipeline.Request, *, machine: Machine) -> Diagnosis:
    """Return what is there for a build of the project, what is wrong, and how to mend it."""
    environment = request.environment
    loaded = _load(request)
    settings = loaded.settings
    tools = find_tools(settings, request=request, needs_toolkit=loaded.needs_toolkit)
    codes = _find_codes(settings, tools=tools, environment=environment, machine=machine)
    ptx = find_ptx_fit(codes.release, driver=machine.driver) if codes.release else None
    driver = _find_driver_problem(ptx, codes=codes, machine=machine) if tools.found else ()
    known = (*loaded.problems, *tools.problems, *codes.problems)
    planning = _find_plan_problems(request, settings=settings) if not known and settings.targets else ()
    known = explain_isolated(known, request=request)
    return Diagnosis(
        project=loaded.project,
        candidates=tuple(sorted(tools.search.candidates, key=lambda each: each.verdict != "chosen")),
        chosen=tools.search.chosen,
        toolchain=tools.toolchain,
        device=tools.device,
        compilers=tools.compilers,
        needs_nvcc=tools.needs_nvcc,
        needs_host=tools.needs_host,
        host=tools.host,
        architectures=codes.architectures,
        known=codes.known,
        release=codes.release,
        machine=machine,
        ptx=ptx,
        requirements=_find_requirements(loaded, search=tools.search, environment=environment),
        versions=find_versions(environment),
        build_folder=find_folder(request.build_folder),
        artifact_cache=find_cache_folder(settings, environment=environment),
        launchers=find_launchers(environment),
        variables=list_variables(environment),
        notes=_list_notes(loaded, tools=tools, codes=codes),
        problems=tuple(dict.fromkeys((*known, *planning, *driver, *_find_folder_problem(request)))),
    )


def _load(request: pipeline.Request) -> _Loaded:
    """Return the settings; where they are wrong, those that variables and options give, else the defaults."""
    root = request.root
    try:
        table = find_table(root)
        settings = load_project(request)
    except BuildError as error:
        return _load_what_is_right(request, problems=error.problems)
    if table is None:
        file = "no pyproject.toml here" if not (root / "pyproject.toml").is_file() else f"no [{TABLE}] in it"
        return _Loaded(settings, Project(root, f"{file}; the defaults are shown", ()), needs_toolkit=True)
    targets = tuple(map(describe_target, settings.targets))
    project = Project(root, f"[{TABLE}]", targets)
    return _Loaded(settings, project, bool(list_needy(settings)))


def _load_what_is_right(request: pipeline.Request, *, problems: tuple[Problem, ...]) -> _Loaded:
    """Return the settings without what ``problems`` name: variables and options, or the whole table."""
    named = {problem.where.partition("=")[0] for problem in problems}
    wrong = tuple(name for name in request.environment.variables if name in named)
    right = replace(request, environment=request.environment.with_variables(dict.fromkeys(wrong)))
    loaded = _load(right) if wrong else None
    if loaded is not None and not loaded.problems:
        project = replace(loaded.project, table=f"{loaded.project.table}, without {' and '.join(wrong)}")
        return replace(loaded, project=project, problems=problems)
    words = f"[{TABLE}] cannot be used as it is; the defaults are shown"
    project = Project(request.root, words, ())
    return _Loaded(_load_without_table(request), project, needs_toolkit=True, problems=problems)


def _load_without_table(request: pipeline.Request) -> Settings:
    try:
        return parse_settings(
            {}, root=request.root, environment=request.environment, config_settings=request.config_settings
        )
    except BuildError:
        return Settings(root=request.root)


def _find_codes(settings: Settings, *, tools: Tools, environment: Environment, machine: Machine) -> _Codes:
    base = _find_known(settings, tools=tools, environment=environment)
    if base.release is None:
        return base
    try:
        architectures = resolve_architectures(
            settings,
            environment=environment,
            known=base.known,
            release=base.release,
            gpus=lambda: _resolve_gpus(machine),
        )
    except BuildError as error:
        return _Codes(base.release, base.known, None, error.problems)
    return _Codes(base.release, base.known, architectures)


def _find_known(settings: Settings, *, tools: Tools, environment: Environment) -> _Codes:
    """Return the release, and what it compiles for: of the toolkit, or of the one that pip would bring."""
    toolkit = tools.toolchain if tools.needs_nvcc else tools.device or tools.toolchain
    if toolkit is not None:
        return _Codes(toolkit.release, toolkit.known)
    if tools.search.chosen is not None:
        release = tools.search.chosen.version.release
        facts = find_facts(release)
        return _Codes(release, facts.architectures) if facts else _Codes()
    try:
        facts = resolve_release(settings, environment=environment)
    except BuildError:
        # What PyPI does not have is told as the way to mend the missing toolkit.
        return _Codes()
    return _Codes(facts.release, add_variants(facts.numbers, facts=facts))


def _resolve_gpus(machine: Machine) -> tuple[Architecture, ...]:
    if machine.gpus:
        return machine.gpus
    what, fix = "'native' needs a GPU, and none answers", "name the architectures instead"
    raise BuildError(Problem(Code.NO_GPU, what, "architectures", (("why", machine.why_no_gpu),), (fix,)))


def _find_plan_problems(request: pipeline.Request, *, settings: Settings) -> tuple[Problem, ...]:
    """Return what a build would fail over before it compiles anything, where all that it needs is there.

    Whether a GPU answers has been asked before.
    """
    try:
        if any(isinstance(target, CMakeProject) for target in settings.targets):
            resolve_cmake_build(settings, request=request)
        plan_here(request)
    except BuildError as error:
        return tuple(problem for problem in error.problems if problem.code is not Code.NO_GPU)
    return ()


def _find_folder_problem(request: pipeline.Request) -> tuple[Problem, ...]:
    """Return the problem that a file stands where the build would make a folder."""
    inside = (request.build_folder, *request.build_folder.parents)
    path = next((each for each in inside if each.exists() and not each.is_dir()), None)
    if path is None:
        return ()
    what = "a file is where the build makes a folder"
    return (Problem(Code.BAD_VALUE, what, str(path), fix=("move it, or build with another folder",)),)


def _find_driver_problem(ptx: PtxFit | None, *, codes: _Codes, machine: Machine) -> tuple[Problem, ...]:
    """Return the problem that what is built here does not load here."""
    driver = machine.driver
    asked = codes.architectures.codes if codes.architectures else ()
    makes_ptx = not asked or any(code.marked != "real" for code in asked)
    if ptx is None or driver is None or ptx.loads or not (makes_ptx or not ptx.machine_code_loads):
        return ()
    isa = ".".join(map(str, ptx.isa))
    kinds = "PTX" if ptx.machine_code_loads else "PTX and machine code"
    details = (
        ("PTX", f"CUDA {ptx.toolkit} writes version {isa}, which drivers for CUDA {ptx.needs} and newer translate"),
        ("driver", f"for CUDA {driver.cuda}" + (f" (version {driver.version})" if driver.version else "")),
        ("loads", "machine code, where it is of this GPU's architecture" if ptx.machine_code_loads else "nothing"),
    )
    fix = (
        f'build with a toolkit that is not newer than the driver: cuda = "<={driver.cuda}",',
        *(("or build machine code for the GPU here (as native does),",) if ptx.machine_code_loads else ()),
        "or install a newer driver",
    )
    what = f"{kinds} of this toolkit will not load on this machine's driver"
    return (Problem(Code.DRIVER_TOO_OLD, what, details=details, fix=fix),)


def _find_requirements(loaded: _Loaded, *, search: Search, environment: Environment) -> tuple[str, ...]:
    settings = loaded.settings
    try:
        if settings.targets:
            return plan_isolated_requirements(settings, environment=environment)
        asked = search.chosen is None and not search.problems and loaded.needs_toolkit
        return (render_requirement(settings, environment=environment),) if asked else ()
    except BuildError:
        # Whatever ends the search for an nvcc has been told, and so has what PyPI does not have.
        return ()


def _list_notes(loaded: _Loaded, *, tools: Tools, codes: _Codes) -> tuple[str, ...]:
    every: Iterable[str] = (
        *loaded.settings.warnings,
        *(tools.toolchain.notes if tools.toolchain else tools.search.notes),
        *(codes.architectures.notes if codes.architectures else ()),
        *_explain_setup_py(loaded.settings.root),
        *tools.notes,
        *_explain_no_toolkit(loaded, tools=tools),
    )
    return tuple(dict.fromkeys(every))


def _explain_setup_py(root: Path) -> Iterable[str]:
    if (root / "setup.py").is_file():
        yield "targets that setup.py declares are not seen here"


def _explain_no_toolkit(loaded: _Loaded, *, tools: Tools) -> Iterable[str]:
    if tools.found:
        return
    if not loaded.needs_toolkit:
        yield "no target of the project needs a toolkit"
    elif not loaded.settings.project.required:
        yield "the project is built without CUDA where there is no toolkit (required = false)"
