"""The toolkit that kernel modules are compiled by without nvcc: found, or the one message that it is not."""

from __future__ import annotations

from dataclasses import dataclass

from setuptools_cuda.config.model import Settings
from setuptools_cuda.environment import Environment
from setuptools_cuda.errors import BuildError, Code, Problem
from setuptools_cuda.resolution.device_compilers import Wanted
from setuptools_cuda.resolution.device_tools import LLVMLITE, DeviceTools, search_device_tools
from setuptools_cuda.resolution.pip_step import render_install_hint
from setuptools_cuda.resolution.search import plan_steps
from setuptools_cuda.resolution.values import Candidate, Toolchain


@dataclass(frozen=True)
class FoundDevice:
    """What the search for device compilers came to."""

    tools: DeviceTools | None = None
    candidates: tuple[Candidate, ...] = ()


def resolve_device(
    settings: Settings, *, environment: Environment, wanted: Wanted, toolchain: Toolchain | None
) -> FoundDevice:
    """Return the tools that device compilers need, where any does.

    Beside an nvcc that was found, missing tools are left to the plan, which names the source that
    needs them. Where there is none, and the project needs one:

    Raises:
        BuildError: NO_COMPILER with all that was looked at.
    """
    if not wanted.tools:
        return FoundDevice()
    tools, candidates = search_device_tools(
        settings, environment=environment, needs=sorted(wanted.tools), toolchain=toolchain
    )
    if tools is None:
        tools = _find_other(settings, environment=environment, wanted=wanted, toolchain=toolchain)
    if tools is not None or toolchain is not None or not settings.project.required:
        return FoundDevice(tools, candidates)
    raise BuildError(_describe_none(settings, environment=environment, wanted=wanted, candidates=candidates))


def _find_other(
    settings: Settings, *, environment: Environment, wanted: Wanted, toolchain: Toolchain | None
) -> DeviceTools | None:
    """Return a toolkit that compiles IR by LLVM where libNVVM is not there: what LLVM takes is more."""
    if "nvvm" not in wanted.tools:
        return None
    needs = sorted((wanted.tools - {"nvvm"}) | {LLVMLITE})
    return search_device_tools(settings, environment=environment, needs=needs, toolchain=toolchain)[0]


def _describe_none(
    settings: Settings, *, environment: Environment, wanted: Wanted, candidates: tuple[Candidate, ...]
) -> Problem:
    width = max((len(each.where) for each in candidates), default=0)
    looked = "\n".join(f"{each.where:<{width}}  {each.verdict}" for each in candidates)
    steps = ", ".join(step.name for step in plan_steps(settings, environment=environment)) or "it names none"
    hint = render_install_hint(settings, environment=environment)
    install = f"{hint} (with build isolation: add that to build-system.requires)" if hint else ""
    by_hand = f"install a toolkit within `cuda` = {settings.project.cuda!r} and point CUDA_HOME at it, or widen `cuda`"
    in_place_of_nvcc = "nvrtc" in wanted.tools and not wanted.prefers_nvcc
    why = (("why", "there is no C++ compiler, which nvcc needs, so that NVRTC is to compile .cu"),)
    host = ("or install a C++ compiler (Debian, Ubuntu: apt-get install g++), for nvcc",)
    return Problem(
        Code.NO_COMPILER,
        f"no device compiler for kernel module {wanted.first!r}: it needs {', '.join(sorted(wanted.tools))}",
        details=(
            *(why if in_place_of_nvcc else ()),
            ("looked at", looked or f"nothing was there to look at, by toolchain-steps: {steps}"),
        ),
        fix=(install or by_hand, *(host if in_place_of_nvcc else ()), "setuptools-cuda doctor shows the whole search"),
    )
