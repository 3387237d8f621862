"""Finds out what ``doctor`` shows. It reads, asks compilers who they are, and changes nothing."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from setuptools_cuda import pipeline
from setuptools_cuda.cli.diagnosis import Diagnosis, Host, Machine, Project, PtxFit
from setuptools_cuda.cli.machine import find_folder, find_launchers, find_ptx_fit, find_versions
from setuptools_cuda.cli.variables import list_variables
from setuptools_cuda.config.load import parse_settings
from setuptools_cuda.config.model import Settings
from setuptools_cuda.config.pyproject import TABLE, find_table
from setuptools_cuda.environment import Environment
from setuptools_cuda.errors import BuildError, Code, Problem
from setuptools_cuda.execute.cache_folder import find_cache_folder
from setuptools_cuda.resolution.architectures import resolve_architectures
from setuptools_cuda.resolution.catalogue import add_variants, find_facts
from setuptools_cuda.resolution.host_compiler import HostProgram, resolve_host_program
from setuptools_cuda.resolution.host_probe import probe_fit
from setuptools_cuda.resolution.host_range import find_host_range
from setuptools_cuda.resolution.needs import describe_target, list_needy
from setuptools_cuda.resolution.nvcc_flags import resolve_nvcc_flags
from setuptools_cuda.resolution.pip_step import plan_isolated_requirements, render_requirement, resolve_release
from setuptools_cuda.resolution.probe import Layout, probe_layout
from setuptools_cuda.resolution.search import Chosen, Search, survey_nvcc
from setuptools_cuda.resolution.toolchain import complete_toolchain, render_lack, suggest_toolkit
from setuptools_cuda.resolution.values import Architecture, Architectures, Release, Toolchain


@dataclass(frozen=True)
class _Loaded:
    """The settings that can be used, and what was wrong with those that were asked for."""

    settings: Settings
    project: Project
    needs_toolkit: bool
    problems: tuple[Problem, ...] = ()


@dataclass(frozen=True)
class _Tools:
    """The compilers."""

    search: Search
    toolchain: Toolchain | None
    host: Host | None
    problems: tuple[Problem, ...]


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
    tools = _find_tools(settings, request=request)
    lack = _find_lack(loaded, search=tools.search, environment=environment)
    codes = _find_codes(settings, tools=tools, environment=environment, machine=machine)
    ptx = find_ptx_fit(codes.release, driver=machine.driver) if codes.release else None
    driver = _find_driver_problem(ptx, codes=codes, machine=machine) if tools.search.chosen else ()
    return Diagnosis(
        project=loaded.project,
        candidates=tuple(sorted(tools.search.candidates, key=lambda each: each.verdict != "chosen")),
        chosen=tools.search.chosen,
        toolchain=tools.toolchain,
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
        problems=tuple(dict.fromkeys((*loaded.problems, *tools.problems, *lack, *codes.problems, *driver))),
    )


def _load(request: pipeline.Request) -> _Loaded:
    """Return the settings; where they are wrong, those that variables and options give, else the defaults."""
    root = request.root
    try:
        table = find_table(root)
        settings = pipeline.load(request)
    except BuildError as error:
        words = f"[{TABLE}] cannot be used as it is; the defaults are shown"
        return _Loaded(
            _load_without_table(request), Project(root, words, ()), needs_toolkit=True, problems=error.problems
        )
    if table is None:
        file = "no pyproject.toml here" if not (root / "pyproject.toml").is_file() else f"no [{TABLE}] in it"
        return _Loaded(settings, Project(root, f"{file}; the defaults are shown", ()), needs_toolkit=True)
    targets = tuple(map(describe_target, settings.targets))
    project = Project(root, f"[{TABLE}]", targets)
    return _Loaded(settings, project, bool(list_needy(settings)))


def _load_without_table(request: pipeline.Request) -> Settings:
    try:
        return parse_settings(
            {}, root=request.root, environment=request.environment, config_settings=request.config_settings
        )
    except BuildError:
        return Settings(root=request.root)


def _find_tools(settings: Settings, *, request: pipeline.Request) -> _Tools:
    environment = request.environment
    search = survey_nvcc(settings, environment=environment)
    problems = list(search.problems)
    toolchain = None
    try:
        toolchain = complete_toolchain(
            search, settings=settings, environment=environment, build_dir=request.build_folder
        )
    except BuildError as error:
        problems.extend(error.problems)
    program = None
    try:
        flags = resolve_nvcc_flags(environment)
        program = resolve_host_program(settings, environment=environment, nvcc_flags=flags)
    except BuildError as error:
        problems.extend(error.problems)
    host = _find_host(program, chosen=search.chosen, toolchain=toolchain, environment=environment) if program else None
    return _Tools(search, toolchain, host, tuple(problems))


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


def _find_lack(loaded: _Loaded, *, search: Search, environment: Environment) -> tuple[Problem, ...]:
    settings = loaded.settings
    if search.chosen or search.problems or not loaded.needs_toolkit or not settings.project.required:
        return ()
    fix = suggest_toolkit(settings, environment=environment)
    return (Problem(Code.NO_COMPILER, render_lack(settings), fix=fix),)


def _find_codes(settings: Settings, *, tools: _Tools, environment: Environment, machine: Machine) -> _Codes:
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


def _find_known(settings: Settings, *, tools: _Tools, environment: Environment) -> _Codes:
    """Return the release, and what it compiles for: of the toolkit, or of the one that pip would bring."""
    if tools.toolchain is not None:
        return _Codes(tools.toolchain.release, tools.toolchain.known)
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


def _list_notes(loaded: _Loaded, *, tools: _Tools, codes: _Codes) -> tuple[str, ...]:
    every: Iterable[str] = (
        *loaded.settings.warnings,
        *(tools.toolchain.notes if tools.toolchain else tools.search.notes),
        *(codes.architectures.notes if codes.architectures else ()),
        *_explain_setup_py(loaded.settings.root),
        *_explain_keys(loaded.settings, tools=tools, codes=codes),
        *_explain_no_toolkit(loaded, search=tools.search),
    )
    return tuple(dict.fromkeys(every))


def _explain_setup_py(root: Path) -> Iterable[str]:
    if (root / "setup.py").is_file():
        yield "targets that setup.py declares are not seen here"


def _explain_keys(settings: Settings, *, tools: _Tools, codes: _Codes) -> Iterable[str]:
    """Yield a note for each key of the project that a variable of the environment stands in for."""
    used = {
        "architectures": codes.architectures.found_via if codes.architectures else None,
        "host-compiler": tools.host.found_via if tools.host else None,
    }
    for name, origin in used.items():
        if settings.origin(name).kind in ("pyproject", "python") and origin and origin.kind == "environment":
            yield f"the key {name!r} of the project gives way to {origin.text}"


def _explain_no_toolkit(loaded: _Loaded, *, search: Search) -> Iterable[str]:
    if search.chosen is None and not loaded.needs_toolkit:
        yield "no target of the project needs a toolkit"
    elif search.chosen is None and not loaded.settings.project.required:
        yield "the project is built without CUDA where there is no toolkit (required = false)"
