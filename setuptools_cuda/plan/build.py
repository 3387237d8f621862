"""Settings and facts to a BuildPlan."""

from __future__ import annotations

from collections.abc import Iterable

from setuptools_cuda.config.model import Settings
from setuptools_cuda.errors import Code as ErrorCode
from setuptools_cuda.errors import Problem, raise_if_any
from setuptools_cuda.plan.compiles import Compiles
from setuptools_cuda.plan.device_jobs import DeviceJobs
from setuptools_cuda.plan.extensions import check_packaged, limited_api_defines, plan_extension
from setuptools_cuda.plan.facts import Facts
from setuptools_cuda.plan.kernel_modules import plan_kernel_module
from setuptools_cuda.plan.libraries import in_link_order, plan_library
from setuptools_cuda.plan.linking import CUDA_PREFIX
from setuptools_cuda.plan.options import FAST, below_root, check_places, launcher_of
from setuptools_cuda.plan.places import Places
from setuptools_cuda.plan.shipped import render_files
from setuptools_cuda.plan.targets import Planning
from setuptools_cuda.plan.values import BuildPlan, Job
from setuptools_cuda.resolution.architecture_codes import describe_codes
from setuptools_cuda.resolution.cuda_libraries import check_cuda_library
from setuptools_cuda.resolution.needs import list_needy


def plan_build(settings: Settings, *, facts: Facts, namespace: str = "") -> BuildPlan:
    """Return the plan of a whole project, or raise one BuildError with all that is wrong.

    ``namespace`` keeps apart the intermediate files of plans that share a build folder.
    """
    compiles = Compiles(
        facts=facts,
        project=settings.project,
        python_includes=_python_includes(settings, facts=facts),
        python_defines=_python_defines(settings, facts=facts),
        namespace=namespace,
        places=_places(facts),
    )
    device = DeviceJobs(project=settings.project, tools=facts.device, plugins=facts.plugins, namespace=namespace)
    planning = Planning(settings=settings, facts=facts, compiles=compiles, device=device)
    planning.notes.extend(_toolchain_notes(facts, profile=settings.project.profile))
    for library in in_link_order(settings):
        plan_library(library, planning=planning)
    for extension in settings.extensions:
        problem = check_packaged(extension, packages=facts.python_packages)
        planning.problems.extend((problem,) if problem else ())
        plan_extension(extension, planning=planning)
    for module in settings.kernel_modules:
        plan_kernel_module(module, planning=planning)
    planning.problems.extend(check_places(facts))
    planning.problems.extend(_unknown_libraries(settings))
    planning.problems.extend(_same_destinations(planning))
    raise_if_any(dict.fromkeys(planning.problems))
    return _finish(settings, planning=planning)


def _finish(settings: Settings, *, planning: Planning) -> BuildPlan:
    facts = planning.facts
    jobs = (*planning.compiles.jobs(facts.toolchain), *planning.device.jobs(), *planning.jobs)
    notes = (*planning.notes, *planning.compiles.repeated_notes(), *_requirement_notes(planning.requirements))
    return BuildPlan(
        jobs=jobs,
        artifacts=tuple(a for a in planning.artifacts if a.destination),
        kernel_modules=tuple(planning.kernel_modules),
        notes=tuple(dict.fromkeys(notes)),
        warnings=(*settings.warnings, *_without_targets(settings), *_same_but_for_case(planning)),
        summary=_summary(facts, jobs=jobs, needy=bool(list_needy(settings))),
        requirements=tuple(planning.requirements),
        toolchain_identity=facts.toolchain.identity if facts.toolchain else "",
        parallel=facts.jobs or facts.cpus,
        tools=_tools(facts),
        places=planning.compiles.places.folders,
        launcher=launcher_of(settings.project, toolchain=facts.toolchain),
        clang_words=_clang_words(facts),
        facts=_manifest_facts(facts),
        shipped=tuple(planning.shipped),
        texts=dict(file for one in planning.shipped for file in render_files(one, version=facts.version)),
    )


def _tools(facts: Facts) -> dict[str, str]:
    return {name: str(path) for name, path in facts.device.paths.items()} if facts.device else {}


def _clang_words(facts: Facts) -> tuple[str, ...]:
    if facts.toolchain is None:
        return ()
    root, *folders = (
        below_root(path, root=facts.root) for path in (facts.toolchain.root, *facts.toolchain.include_dirs)
    )
    return (f"--cuda-path={root}", *(word for folder in folders for word in ("-isystem", folder)))


def _places(facts: Facts) -> Places:
    includes = facts.python.include_dirs if facts.python else ()
    return Places(sites=facts.sites, environment=facts.virtual_environment, python_includes=includes)


def _python_includes(settings: Settings, *, facts: Facts) -> tuple[str, ...]:
    return facts.python.include_dirs if settings.extensions and facts.python else ()


def _python_defines(settings: Settings, *, facts: Facts) -> tuple[str, ...]:
    """Return the limited API's macro where one holds for all: then it makes no compile of its own."""
    if facts.python is None:
        return ()
    macros = {limited_api_defines(extension.limited_api, python=facts.python) for extension in settings.extensions}
    return macros.pop() if len(macros) == 1 else ()


def _toolchain_notes(facts: Facts, *, profile: str) -> Iterable[str]:
    if facts.toolchain:
        if profile == "dev" and FAST in facts.toolchain.lacks:
            yield f"profile 'dev': CUDA {facts.toolchain.release} has no {FAST}, so its kernels are optimised as ever"
        yield from facts.toolchain.notes
        yield from facts.toolchain.host_compiler.notes
    if facts.architectures:
        yield from facts.architectures.notes


def _summary(facts: Facts, *, jobs: tuple[Job, ...], needy: bool) -> str:
    toolkit, requested = facts.toolkit, facts.architectures
    if toolkit is None or requested is None:
        return "no CUDA compiler: host sources alone are built" if needy else "nothing here needs a CUDA compiler"
    passes = [job for job in jobs if job.kind == "cuda"]
    device = [job for job in jobs if job.kind == "device"]
    device_compiles = sum(len(job.codes) for job in passes) + len(device)
    sources = len(passes) + len({job.inputs[0] for job in device if job.inputs})
    host = facts.toolchain.host_compiler if facts.toolchain else None
    shown = f"{host} ({host.found_via.text})" if host else "no host compiler"
    return (
        f"CUDA {toolkit.version} ({toolkit.found_via.text}), {shown}, for {describe_codes(requested.codes)} "
        f"({requested.found_via.text}): {_count(sources, 'CUDA source')}, {_count(device_compiles, 'device compile')}"
    )


def _count(number: int, noun: str) -> str:
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"


def _requirement_notes(requirements: Iterable[str]) -> Iterable[str]:
    for requirement in requirements:
        yield f"what is built needs a shared library at run time: declare {requirement!r} in project.dependencies"


def _manifest_facts(facts: Facts) -> dict[str, object]:
    toolkit, requested = facts.toolkit, facts.architectures
    if toolkit is None or requested is None:
        return {"toolkit": None}
    host = facts.toolchain.host_compiler if facts.toolchain else None
    return {
        "toolkit": {"release": str(toolkit.release), "version": toolkit.version},
        "host_compiler": {"family": host.family, "version": ".".join(map(str, host.version))} if host else None,
        "architectures": [describe_codes([code]) for code in requested.codes],
    }


def _unknown_libraries(settings: Settings) -> Iterable[Problem]:
    for target in settings.targets:
        for name in target.link:
            problem = check_cuda_library(name, where=f"{target.where}.link") if name.startswith(CUDA_PREFIX) else None
            yield from (problem,) if problem else ()


def _destinations(planning: Planning) -> list[tuple[str, str]]:
    """Return the path in the wheel of each file, and its target."""
    modules = [(m.destination, m.module) for m in planning.kernel_modules]
    return [*((a.destination, a.target) for a in planning.artifacts if a.destination), *modules]


def _without_targets(settings: Settings) -> tuple[str, ...]:
    if settings.targets:
        return ()
    return ("[tool.setuptools-cuda] names no extension, library or kernel-module: nothing of CUDA is built",)


def _same_but_for_case(planning: Planning) -> Iterable[str]:
    seen: dict[str, str] = {}
    for destination, _ in _destinations(planning):
        other = seen.setdefault(destination.casefold(), destination)
        if other != destination:
            yield f"{other} and {destination} are one file on Windows and macOS, where case does not count"


def _same_destinations(planning: Planning) -> list[Problem]:
    """Two targets with one output, where the configuration alone could not tell."""
    taken: dict[str, str] = {}
    problems = []
    for destination, target in _destinations(planning):
        other = taken.setdefault(destination, target)
        if other != target:
            problems.append(
                Problem(
                    ErrorCode.DUPLICATE_OUTPUT,
                    f"{other} and {target} would both make {destination}",
                    fix=("give one of them another name or folder",),
                )
            )
    return problems
