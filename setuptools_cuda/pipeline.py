"""The one way through: words, settings, toolchain and architectures, plan, files.

Every front-end calls these functions and none other. ``load`` reads the configuration alone,
``plan`` looks at the machine too, and only ``build`` acts.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from setuptools_cuda.config.load import parse_settings
from setuptools_cuda.config.model import Settings
from setuptools_cuda.config.pyproject import find_table
from setuptools_cuda.environment import Environment
from setuptools_cuda.errors import BuildError, Problem, raise_if_any
from setuptools_cuda.execute.bounds import Bounds
from setuptools_cuda.execute.cache_folder import find_cache_folder
from setuptools_cuda.execute.folder import BuildFolder
from setuptools_cuda.execute.journal import Journal
from setuptools_cuda.execute.results import list_inputs
from setuptools_cuda.execute.run import describe_run, run_plan
from setuptools_cuda.plan.build import plan_build
from setuptools_cuda.plan.facts import Facts, make_condition_facts
from setuptools_cuda.plan.host import default_host_commands
from setuptools_cuda.plan.values import BuildPlan, HostCommands, PythonFacts
from setuptools_cuda.report.clock import Clock
from setuptools_cuda.report.keep import Reporter, find_reporter
from setuptools_cuda.resolution.architectures import resolve_architectures
from setuptools_cuda.resolution.device_compilers import find_wanted
from setuptools_cuda.resolution.device_toolkit import resolve_device
from setuptools_cuda.resolution.device_tools import DeviceTools
from setuptools_cuda.resolution.farm import write_farm
from setuptools_cuda.resolution.launcher import check_launcher
from setuptools_cuda.resolution.limits import read_cpus, read_jobs, read_memory, read_threads
from setuptools_cuda.resolution.needs import needs_nvcc
from setuptools_cuda.resolution.package_site import list_sites
from setuptools_cuda.resolution.packages import resolve_all_packages
from setuptools_cuda.resolution.toolchain import find_toolchain, resolve_toolchain
from setuptools_cuda.resolution.values import Architectures, Toolchain
from setuptools_cuda.resolution.variables import check_variables, read_environment_flags
from setuptools_cuda.stage.bindings import check_names, render_bindings
from setuptools_cuda.stage.images import make_images
from setuptools_cuda.stage.init_functions import check_init_functions
from setuptools_cuda.stage.manifest import render_manifest
from setuptools_cuda.stage.ptx import PtxFacts, read_ptx_facts
from setuptools_cuda.stage.serves import check_calls, check_kernels, check_planned_serves, check_serves
from setuptools_cuda.targets import Declared

FOLDER = "setuptools-cuda"
"""Our folder below the project's build folder."""


@dataclass(frozen=True)
class Request:
    """What a front-end asks for: where the project is, and what the front-end alone knows."""

    root: Path
    environment: Environment
    config_settings: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    declared: tuple[Declared, ...] = ()
    packages: frozenset[str] | None = None
    python: PythonFacts | None = None
    host: HostCommands | None = None
    jobs: int | None = None
    build_base: Path | None = None
    namespace: str = ""
    """Keeps apart the intermediate files of plans that share a build folder."""
    version: str = ""
    """The version of the distribution, '' where it is not known."""
    table: Mapping[str, object] | None = None
    """The table, in place of the one in ``pyproject.toml``."""

    @property
    def build_folder(self) -> Path:
        """Return our folder for everything between sources and artifacts."""
        base = self.build_base or self.root / "build"
        return (base if base.is_absolute() else self.root / base) / FOLDER


@dataclass(frozen=True)
class Planned:
    """A plan with what it was made from."""

    request: Request
    settings: Settings
    toolchain: Toolchain | None
    architectures: Architectures | None
    plan: BuildPlan
    device: DeviceTools | None = None
    """What compiles device code without nvcc, where anything does."""
    clock: Clock = field(default_factory=Clock, compare=False)
    """When it was begun, and how long planning took."""


@dataclass(frozen=True)
class BuildResult:
    """What a build made: each file of the wheel, as a path or as its content."""

    files: Mapping[str, Path | bytes]
    manifest: str
    failed: Mapping[str, BuildError]
    """Failures of extensions that are optional, by name."""


def load(request: Request) -> Settings:
    """Return the project's settings. Raises BuildError with all that is wrong in them."""
    table = find_table(request.root) if request.table is None else request.table
    return parse_settings(
        table or {},
        root=request.root,
        environment=request.environment,
        config_settings=request.config_settings,
        declared=request.declared,
    )


def plan(request: Request) -> Planned:
    """Return the plan of a project: everything decided, nothing done. Raises BuildError."""
    clock = Clock()
    settings = load(request)
    clock = clock.after("configuration")
    environment = request.environment
    raise_if_any((*check_launcher(settings, environment=environment), *check_variables(environment)))
    wanted = find_wanted(settings, environment=environment)
    toolchain = _toolchain(settings, request=request) if needs_nvcc(settings, wanted=wanted) else None
    device = resolve_device(settings, environment=environment, wanted=wanted, toolchain=toolchain)
    toolkit = toolchain or device.tools
    architectures = _architectures(settings, request=request, toolkit=toolkit) if toolkit else None
    clock = clock.after("toolchain and architectures")
    host = request.host or default_host_commands(
        toolchain, python=request.python, cc=environment.get("CC"), cxx=environment.get("CXX")
    )
    facts = Facts(
        root=str(request.root),
        conditions=make_condition_facts(environment, toolkit=toolkit, architectures=architectures),
        host=host,
        toolchain=toolchain,
        device=device.tools,
        device_search=device.candidates,
        sources=wanted.sources,
        plugins=wanted.plugins,
        prefers_nvcc=wanted.prefers_nvcc,
        architectures=architectures,
        python=request.python,
        packages=resolve_all_packages(settings, environment=environment),
        environment_flags=read_environment_flags(environment, c=host.c, cxx=host.cxx, link=host.link_cxx),
        version=request.version,
        python_packages=request.packages,
        sites=list_sites(environment),
        virtual_environment=environment.prefix,
        cpus=read_cpus(),
        jobs=read_jobs(settings, environment=environment, asked=request.jobs),
    )
    made = plan_build(settings, facts=facts, namespace=request.namespace)
    raise_if_any(
        (
            *(problem for module in made.kernel_modules for problem in check_names(module)),
            *(check_planned_serves(made, toolkit=toolchain.release) if toolchain else ()),
        )
    )
    return Planned(request, settings, toolchain, architectures, made, device.tools, clock.after("plan"))


def resolve_facts(request: Request) -> tuple[Toolchain, Architectures]:
    """Return the toolchain and the requested architectures, whether anything needs them or not. Raises BuildError."""
    settings = load(request)
    toolchain = resolve_toolchain(settings, environment=request.environment, build_dir=request.build_folder)
    return toolchain, _architectures(settings, request=request, toolkit=toolchain)


def find_facts(settings: Settings, *, request: Request) -> tuple[Toolchain, Architectures] | None:
    """Return the same for ``settings`` that were loaded, or None where no nvcc is found. Raises BuildError."""
    toolchain = find_toolchain(settings, environment=request.environment, build_dir=request.build_folder)
    return (toolchain, _architectures(settings, request=request, toolkit=toolchain)) if toolchain else None


def _toolchain(settings: Settings, *, request: Request) -> Toolchain | None:
    find = resolve_toolchain if settings.project.required else find_toolchain
    return find(settings, environment=request.environment, build_dir=request.build_folder)


def _architectures(settings: Settings, *, request: Request, toolkit: Toolchain | DeviceTools) -> Architectures:
    return resolve_architectures(
        settings, environment=request.environment, known=toolkit.known, release=toolkit.release
    )


def run(
    request: Request,
    *,
    echo: Callable[[str], None],
    check: Callable[[BuildPlan], Iterable[Problem]] | None = None,
) -> tuple[Planned, BuildResult]:
    """Plan and build. A report that was asked for is left by a failure of either, too. Raises BuildError.

    ``check`` returns what a front-end has against the plan.
    """
    clock = Clock()
    try:
        planned = plan(request)
        raise_if_any(check(planned.plan) if check else ())
    except BuildError as error:
        # Where the configuration itself is wrong, nobody knows whether a report is wanted.
        with contextlib.suppress(BuildError):
            reporter = find_reporter(load(request), environment=request.environment, clock=clock)
            if reporter is not None:
                reporter.keep(journal=Journal(echo), problems=error.problems)
        raise
    return planned, build(planned, echo=echo)


def build(planned: Planned, *, echo: Callable[[str], None]) -> BuildResult:
    """Make everything in the plan, and return the files of the wheel. Raises BuildError.

    ``echo`` gets what a person is to read, line by line. Nothing is written outside the build folder,
    but for the artifact cache and the report.
    """
    reporter = find_reporter(planned.settings, environment=planned.request.environment, clock=planned.clock)
    journal = Journal(echo, timed=reporter is not None, phases=list(planned.clock.phases))
    if reporter is None:
        return _build(planned, journal=journal)
    reporter.prepare()
    try:
        result = _build(planned, journal=journal)
    except BuildError as error:
        try:
            _report(planned, reporter=reporter, journal=journal, problems=error.problems)
        except BuildError as second:
            echo(f"warning: {second.problems[0].what}")
        raise
    failures = [problem for error in result.failed.values() for problem in error.problems]
    _report(planned, reporter=reporter, journal=journal, problems=failures)
    echo(f"report: {reporter.page}")
    return result


def _report(planned: Planned, *, reporter: Reporter, journal: Journal, problems: Sequence[Problem]) -> None:
    place = _folder(planned).path
    reporter.keep(
        journal=journal,
        problems=problems,
        plan=planned.plan,
        folder=place if place.is_dir() else None,
        toolchain=planned.toolchain,
        device=planned.device,
        architectures=planned.architectures,
    )


def _build(planned: Planned, *, journal: Journal) -> BuildResult:
    request, plan, echo = planned.request, planned.plan, journal.echo
    for line in (plan.summary, *(f"note: {note}" for note in plan.notes), *(f"warning: {w}" for w in plan.warnings)):
        echo(line)
    folder = _folder(planned)
    folder.write()
    if planned.toolchain and planned.toolchain.farm:
        with folder.locked():
            compiler = planned.toolchain.host_compiler.path
            write_farm(planned.toolchain.farm, host_compiler=compiler, environment=request.environment)
    ran = run_plan(
        plan,
        folder=folder,
        environment=request.environment,
        optional={one.name: plan.files_of(one.name) for one in planned.settings.extensions if one.optional},
        bounds=Bounds(plan.parallel, read_memory(), read_threads(request.environment), read_cpus()),
        cache=find_cache_folder(planned.settings, environment=request.environment),
        sites=list_sites(request.environment),
        journal=journal,
    )
    echo(describe_run(ran, jobs=len(plan.jobs)))
    with journal.phase("modules and manifest"):
        return _collect(planned, folder=folder, failed=ran.failed, echo=echo)


def _folder(planned: Planned) -> BuildFolder:
    return BuildFolder(planned.request.root, planned.request.build_folder / _tag(planned))


def list_read(planned: Planned) -> tuple[Path, ...]:
    """Return every file that the compiles of a finished build have read, absolute, sorted."""
    request = planned.request
    folder = _folder(planned)
    sites = list_sites(request.environment)
    return list_inputs(planned.plan, folder=folder, environment=request.environment, sites=sites)


def _tag(planned: Planned) -> str:
    python, profile = planned.request.python, planned.settings.project.profile
    name = "any"
    if python is not None:
        free = "t" if python.free_threaded else ""
        name = f"cp{python.version[0]}{python.version[1]}{free}"
    return name if profile == "release" else f"{name}-{profile}"


def _collect(
    planned: Planned, *, folder: BuildFolder, failed: Mapping[str, BuildError], echo: Callable[[str], None]
) -> BuildResult:
    kept = replace(planned.plan, artifacts=tuple(a for a in planned.plan.artifacts if a.target not in failed))
    built = {a.destination: folder.path / a.file if a.file else folder.root / a.source for a in kept.artifacts}
    problems, warnings = check_init_functions(kept, files=built)
    raise_if_any(problems)
    for warning in warnings:
        echo(f"warning: {warning}")
    ptx = read_ptx_facts(kept, folder=folder.path)
    modules = _render_modules(planned, built=built, ptx=ptx)
    manifest = render_manifest(kept, files=built, ptx=ptx)
    texts = {path: text.encode("utf-8") for path, text in kept.texts.items()}
    return BuildResult({**built, **modules, **texts}, manifest, dict(failed))


def _render_modules(
    planned: Planned, *, built: Mapping[str, Path], ptx: Mapping[str, PtxFacts]
) -> dict[str, Path | bytes]:
    toolkit = planned.toolchain or planned.device
    if toolkit is None:
        return {}
    texts: dict[str, Path | bytes] = {}
    problems: list[Problem] = []
    for module in planned.plan.kernel_modules:
        images = make_images(module, ptx=ptx, files=built, toolkit=toolkit.release)
        problems.extend(check_kernels(module, ptx=ptx))
        problems.extend(check_calls(module, ptx=ptx))
        problems.extend(check_serves(module, images=images))
        texts[module.destination] = render_bindings(module, images=images).encode("utf-8")
    raise_if_any(problems)
    return texts
