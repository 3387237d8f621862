"""Whether a kernel module has kernels, and whether its images serve the GPUs and drivers that the project names."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from setuptools_cuda.errors import Code, Problem
from setuptools_cuda.plan.values import BuildPlan, KernelModulePlan
from setuptools_cuda.resolution.values import Release
from setuptools_cuda.stage.drivers import gpu_driver, toolkit_isa
from setuptools_cuda.stage.images import plan_images
from setuptools_cuda.stage.kernel_runtime import KernelImages, NoImageError, parse_version
from setuptools_cuda.stage.ptx import PtxFacts


def check_kernels(plan: KernelModulePlan, *, ptx: Mapping[str, PtxFacts]) -> list[Problem]:
    """Return a problem for each source in which nvcc found no kernel: its images would be of no use.

    LTO-IR is left out, since it may hold functions alone, for others to link.
    """
    return [
        Problem(
            Code.BAD_INPUT_FILE,
            f"{file.source!r} has no kernel",
            where=_key(plan, "sources"),
            details=(
                ("module", plan.module),
                ("why", "there is no __global__ function in what nvcc compiled; a template needs an instantiation"),
            ),
            fix=(
                'for a template, name what is wanted of it: instantiate = ["NAME<float>"]',
                "else write a kernel into it, or leave it out with 'exclude'",
            ),
        )
        for file in plan.files
        if not ptx[file.facts].kernels and all(image.format != "ltoir" for image in file.images)
    ]


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
