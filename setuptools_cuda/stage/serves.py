"""Whether a kernel module has kernels, and whether its images serve the GPUs and drivers that the project names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from setuptools_cuda.errors import Code, Problem
from setuptools_cuda.plan.device_links import LINKED
from setuptools_cuda.plan.values import BuildPlan, KernelModulePlan
from setuptools_cuda.resolution.values import Release
from setuptools_cuda.stage.demangle import demangle
from setuptools_cuda.stage.drivers import gpu_driver, toolkit_isa
from setuptools_cuda.stage.images import list_entries, plan_images
from setuptools_cuda.stage.kernel_runtime import KernelImages, NoImageError, parse_version
from setuptools_cuda.stage.ptx import PtxFacts

_OF_A_TEMPLATE = ('for a template, name what is wanted of it: instantiate = ["NAME<float>"]',)


def check_kernels(plan: KernelModulePlan, *, ptx: Mapping[str, PtxFacts]) -> list[Problem]:
    """Return a problem for each source in which its compiler found no kernel: its images would be of no use.

    LTO-IR is left out, since it may hold functions alone, for others to link.
    """
    return [
        Problem(
            Code.BAD_INPUT_FILE,
            f"{file.source!r} has no kernel",
            where=_key(plan, "sources"),
            details=(("module", plan.module), ("why", _why_none(file.source))),
            fix=(
                *(_OF_A_TEMPLATE if _is_cuda(file.source) else ()),
                "write a kernel into it, or leave it out with 'exclude'",
            ),
        )
        for file in plan.files
        if not list_entries(file, ptx=ptx) and all(image.format != "ltoir" for image in file.images)
    ]


def check_calls(plan: KernelModulePlan, *, ptx: Mapping[str, PtxFacts]) -> list[Problem]:
    """Return a problem for each source whose PTX calls what nobody defines: no driver would load it.

    ptxas sees that, and does not run where PTX alone is made. LTO-IR is for others to link.
    """
    problems = []
    for file in plan.files:
        read = {file.facts, *(image.file for image in file.images if image.format == "ptx")}
        missing = {name for one in read if one in ptx for name in ptx[one].missing}
        if missing and any(image.format != "ltoir" for image in file.images):
            problems.append(_describe_missing(plan, source=file.source, missing=sorted(missing)))
    return problems


def _describe_missing(plan: KernelModulePlan, *, source: str, missing: list[str]) -> Problem:
    linked = source == LINKED
    what = "no source of the module defines" if linked else "it does not define"
    others = 'define it in the same file, or let device-link = "build" link the sources of the module'
    return Problem(
        Code.BAD_INPUT_FILE,
        f"{source!r} calls {', '.join(map(demangle, missing))}, which {what}",
        where=_key(plan, "sources"),
        details=(("why", "a driver loads no image that calls what is not there"),),
        fix=("list the source that defines it, or take the call out" if linked else others,),
    )


def _why_none(source: str) -> str:
    if _is_cuda(source):
        return "there is no __global__ function in what was compiled; a template needs an instantiation"
    if source.endswith((".ll", ".bc")):
        return "no function of it has the calling convention ptx_kernel, or is named in !nvvm.annotations"
    return "its PTX has no .entry"


def _is_cuda(source: str) -> bool:
    return source.endswith(".cu") or source == LINKED


def check_serves(plan: KernelModulePlan, *, images: Mapping[str, KernelImages]) -> list[Problem]:
    """Return a problem for each source and each GPU of ``serves`` that no image of it would run on.

    ``driver`` holds for GPUs that such a driver knows; for newer ones it is the oldest driver that does.
    The choice is that of the generated module itself.
    """
    return [problem for word in plan.serves for problem in _check(plan, word=word, images=images)]


def check_planned_serves(plan: BuildPlan, *, toolkit: Release) -> list[Problem]:
    """Return the problems of :func:`check_serves` that can be told before an hour of compiling.

    Those are the ones of images that nvcc makes, whose PTX has the version of its toolkit. What else
    writes PTX has a version of its own, which is known when it is written.
    """
    made = {output.file for job in plan.jobs if job.kind == "cuda" for output in job.outputs}
    isa = toolkit_isa(toolkit)
    return [
        problem
        for module in plan.kernel_modules
        for problem in check_serves(
            module,
            images=plan_images((file for file in module.files if file.facts in made), isa=isa, toolkit=toolkit),
        )
    ]


def _check(plan: KernelModulePlan, *, word: str, images: Mapping[str, KernelImages]) -> Iterator[Problem]:
    try:
        capability = parse_version(word, whole=10, part=1, example='"9.0" or "90"')
    except ValueError as error:
        yield Problem(Code.BAD_VALUE, str(error), where=_key(plan, "serves"))
        return
    for held in images.values():
        yield from _unserved(plan, held=held, capability=capability)


def _unserved(plan: KernelModulePlan, *, held: KernelImages, capability: tuple[int, int]) -> Iterator[Problem]:
    try:
        held.image_for(capability, _driver(plan, capability=capability))
    except NoImageError as error:
        yield Problem(
            Code.IMAGES_DO_NOT_SERVE,
            str(error).splitlines()[0],
            where=_key(plan, "serves"),
            details=tuple(("held", line) for line in error.held or ("nothing",)),
            fix=error.helps,
        )


def _driver(plan: KernelModulePlan, *, capability: tuple[int, int]) -> tuple[int, int] | None:
    if plan.driver is None:
        return None
    named = parse_version(plan.driver, whole=1000, part=10, example='"13.0"')
    oldest = gpu_driver(capability[0] * 10 + capability[1])
    return max(named, (oldest.major, oldest.minor)) if oldest else named


def _key(plan: KernelModulePlan, name: str) -> str:
    return f"{plan.where}.{name}" if plan.where else f"{plan.module}: {name}"
