"""The step 'pip': which toolkit wheels a front-end is asked to put into the build environment.

The oldest release that serves is asked for: PTX of a toolkit newer than the user's driver
does not load (CUDA_ERROR_UNSUPPORTED_PTX_VERSION), PTX of an older one does.
"""

from __future__ import annotations

import functools
import shlex
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace

from setuptools_cuda.config.model import Settings
from setuptools_cuda.environment import Environment
from setuptools_cuda.errors import BuildError, Code, Problem
from setuptools_cuda.resolution.acceptance import find_acceptance, fits
from setuptools_cuda.resolution.architecture_steps import StepContext, resolve_request
from setuptools_cuda.resolution.catalogue import ReleaseFacts, list_pypi
from setuptools_cuda.resolution.device_compilers import Wanted, find_wanted
from setuptools_cuda.resolution.device_tools import LLVMLITE, LLVMLITE_REQUIREMENT, find_llvmlite, search_device_tools
from setuptools_cuda.resolution.host_compiler import allows_unsupported, find_fitting, find_host_program
from setuptools_cuda.resolution.needs import describe_target, list_extras, list_needy, needs_nvcc
from setuptools_cuda.resolution.nvcc_flags import resolve_nvcc_flags
from setuptools_cuda.resolution.search import Chosen, plan_steps, search_nvcc
from setuptools_cuda.resolution.values import Architecture

_OTHER_WAYS = (
    "install such a toolkit (NVIDIA's installer, or conda install -c conda-forge cuda-nvcc) and point CUDA_HOME at it"
)


@dataclass(frozen=True)
class _Demand:
    """One thing that the release has to meet, and what to say where none does."""

    meets: Callable[[ReleaseFacts], bool]
    problem: Problem


def plan_requirements(settings: Settings, *, environment: Environment) -> tuple[str, ...]:
    """Return the requirements that bring a toolkit into the build environment.

    None are needed where no target needs a toolkit, where a step before 'pip' finds a usable
    nvcc and the device compilers that are used, or where the project does not name that step and
    does without CUDA (``required = false``). llvmlite, which has LLVM within, is asked for by itself.

    Raises:
        BuildError: NOT_AVAILABLE for what PyPI does not have, and whatever the search for an
            nvcc raises.
    """
    named = settings.project.toolchain_steps
    steps = {step.name for step in plan_steps(settings, environment=environment)}
    optional = not settings.project.required and named is None
    if "pip" not in steps or optional or not list_needy(settings):
        return ()
    wanted = find_wanted(settings, environment=environment)
    llvm = _list_llvm(wanted, environment=environment)
    tools = [name for name in wanted.tools if name != LLVMLITE]
    chosen = None
    if needs_nvcc(settings, wanted=wanted):
        chosen = search_nvcc(settings, environment=environment, before="pip").chosen
        if chosen is None:
            return (*render_requirements(settings, environment=environment), *llvm)
    found = not tools or search_device_tools(settings, environment=environment, needs=tools, before="pip")[0]
    if found:
        return llvm
    return (*render_requirements(settings, environment=environment, beside=chosen), *llvm)


def plan_isolated_requirements(settings: Settings, *, environment: Environment) -> tuple[str, ...]:
    """Return the requirements that an isolated build asks for: it does not see the wheels of this environment.

    Raises:
        BuildError: as :func:`plan_requirements` does.
    """
    named = settings.project.toolchain_steps
    if named is None and not settings.project.required:
        return ()
    steps = plan_steps(settings, environment=environment)
    project = replace(settings.project, toolchain_steps=tuple(step.name for step in steps if step.name != "wheel"))
    return plan_requirements(replace(settings, project=project), environment=environment)


def render_requirement(settings: Settings, *, environment: Environment, beside: Chosen | None = None) -> str:
    """Return the requirement for the oldest release on PyPI that serves: "cuda-toolkit[nvcc,cccl]==13.0.*".

    ``beside`` is an nvcc that is used: then it is what lacks beside that, of its release.

    Raises:
        BuildError: NOT_AVAILABLE where no release does, with every demand that none meets.
    """
    extras = ",".join(list_extras(settings, environment=environment) or ("nvcc", "cccl"))
    release = beside.version.release if beside else resolve_release(settings, environment=environment).release
    return f"cuda-toolkit[{extras}]=={release}.*"


def render_requirements(
    settings: Settings, *, environment: Environment, beside: Chosen | None = None
) -> tuple[str, ...]:
    """Return :func:`render_requirement`, and nvJitLink of the same release where a module is linked: that pins none.

    Raises:
        BuildError: as :func:`render_requirement` does.
    """
    requirement = render_requirement(settings, environment=environment, beside=beside)
    linked = any(module.device_link is not None for module in settings.kernel_modules)
    return (requirement, f"nvidia-nvjitlink=={requirement.partition('==')[2]}") if linked else (requirement,)


def _list_llvm(wanted: Wanted, *, environment: Environment) -> tuple[str, ...]:
    lacks = LLVMLITE in wanted.tools and find_llvmlite(environment) is None
    return (LLVMLITE_REQUIREMENT,) if lacks else ()


def resolve_release(settings: Settings, *, environment: Environment) -> ReleaseFacts:
    """Return the oldest release on PyPI that serves.

    Raises:
        BuildError: as :func:`render_requirement` does.
    """
    candidates = list_pypi()
    demands = _list_demands(settings, environment=environment)
    impossible = [each.problem for each in demands if not any(each.meets(facts) for facts in candidates)]
    if impossible:
        raise BuildError(*impossible)
    served = [facts for facts in candidates if all(each.meets(facts) for each in demands)]
    if not served:
        raise BuildError(_describe_conflict(demands, candidates=candidates))
    return served[0]


def render_install_hint(settings: Settings, *, environment: Environment) -> str:
    """Return the command that installs what is missing, or '' where PyPI does not have it."""
    try:
        needed = render_requirements(settings, environment=environment)
        needed += _list_llvm(find_wanted(settings, environment=environment), environment=environment)
    except BuildError:
        return ""
    return f"pip install {' '.join(map(shlex.quote, needed))}"


def _list_demands(settings: Settings, *, environment: Environment) -> tuple[_Demand, ...]:
    return (
        *_demand_cuda(settings),
        *_demand_majors(settings, environment=environment),
        *_demand_architectures(settings, environment=environment),
        *_demand_host_compiler(settings, environment=environment),
    )


def _demand_cuda(settings: Settings) -> Iterable[_Demand]:
    cuda = settings.project.cuda
    if cuda is None:
        return
    what = f"PyPI has no nvcc within `cuda` = {cuda!r}"
    fix = (f"{_OTHER_WAYS},", "or widen `cuda`")
    problem = _describe(what, where="cuda", settings=settings, fix=fix)
    yield _Demand(lambda facts: fits(facts.release, cuda=cuda), problem)


def _demand_majors(settings: Settings, *, environment: Environment) -> Iterable[_Demand]:
    for name, major in find_acceptance(settings, environment=environment).majors.items():
        what = f"{name} is made for CUDA {major}, and PyPI has no nvcc of CUDA {major}"
        fix = (f"{_OTHER_WAYS},", f"or build with a {name} for CUDA {list_pypi()[-1].release.major}")
        problem = _describe(what, where="uses", settings=settings, fix=fix)
        yield _Demand(functools.partial(_is_of, major=major), problem)


def _is_of(facts: ReleaseFacts, *, major: int) -> bool:
    return facts.release.major == major


def _demand_architectures(settings: Settings, *, environment: Environment) -> Iterable[_Demand]:
    """Yield a demand for each requested architecture.

    Those of another tool's variable that no release knows are left to the build, which drops them.
    """
    newest = list_pypi()[-1]
    context = StepContext(settings, environment, newest.architectures, newest.release)
    request = resolve_request(context)
    lenient = request.lenient or settings.project.unsupported_architectures == "drop"
    known = {each for facts in list_pypi() for each in facts.architectures}
    wanted = dict.fromkeys(word.architecture for word in request.words if word.architecture is not None)
    for architecture in wanted:
        if architecture in known or not lenient:
            yield _demand_architecture(architecture, where=request.origin.text, settings=settings)


def _demand_architecture(architecture: Architecture, *, where: str, settings: Settings) -> _Demand:
    what = f"no nvcc on PyPI compiles for {architecture}"
    fix = (f"take {architecture} out of the architectures,", f"or {_OTHER_WAYS}")
    problem = _describe(what, where=where, settings=settings, fix=fix)
    return _Demand(lambda facts: architecture in facts.architectures, problem)


def _demand_host_compiler(settings: Settings, *, environment: Environment) -> Iterable[_Demand]:
    """Yield the demand that the release takes the host compiler, or a sibling that may stand in.

    Where no target needs nvcc there is none: NVRTC, libNVVM and LLVM call no host compiler.
    """
    if settings.targets and not needs_nvcc(settings, wanted=find_wanted(settings, environment=environment)):
        return
    flags = resolve_nvcc_flags(environment)
    program = find_host_program(settings, environment=environment, nvcc_flags=flags)
    if program is None or flags.allow_unsupported or allows_unsupported(settings):
        return
    hosts = find_fitting(program, environment=environment)
    what = f"no nvcc on PyPI takes the host compiler {program.facts} ({program.path})"
    fix = ("install an older one, and name it with SETUPTOOLS_CUDA_HOST_COMPILER",)
    problem = _describe(what, where=program.origin.text, settings=settings, fix=fix)
    yield _Demand(lambda facts: any(facts.accepts(host.family, host.version[0]) for host in hosts), problem)


def _describe(what: str, *, where: str, settings: Settings, fix: tuple[str, ...]) -> Problem:
    releases = list_pypi()
    numbers = ", ".join(map(str, releases[-1].numbers))
    needy = list_needy(settings)
    wanted = (("needed by", describe_target(needy[0])),) if needy else ()
    has = f"nvcc {releases[0].release} to {releases[-1].release}, for architectures {numbers}"
    return Problem(Code.NOT_AVAILABLE, what, where, (("PyPI has", has), *wanted), fix)


def _describe_conflict(demands: tuple[_Demand, ...], *, candidates: tuple[ReleaseFacts, ...]) -> Problem:
    lines = [
        f"{each.problem.where}: {', '.join(str(facts.release) for facts in candidates if each.meets(facts))}"
        for each in demands
    ]
    what = "no toolkit release on PyPI meets all that is asked for"
    fix = ("widen `cuda`, ask for fewer architectures, or name another host compiler",)
    return Problem(Code.NOT_AVAILABLE, what, "toolchain", (("served by", "\n".join(lines)),), fix)
