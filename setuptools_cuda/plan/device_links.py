"""Kernel modules whose sources are linked into one image: LTO-IR of each, then nvJitLink. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

from setuptools_cuda.config.model import KernelModule
from setuptools_cuda.errors import Code as ErrorCode
from setuptools_cuda.errors import Problem
from setuptools_cuda.plan.device_choice import choose_compiler
from setuptools_cuda.plan.effective import SourceOptions
from setuptools_cuda.plan.options import KEEP, program
from setuptools_cuda.plan.paths import digest, image_destination
from setuptools_cuda.plan.targets import Planning
from setuptools_cuda.plan.values import Artifact, Job, KernelFile, Output
from setuptools_cuda.resolution.architecture_codes import describe_codes
from setuptools_cuda.resolution.values import Architecture, Code

LINKED = "linked"
"""What stands for the source of an image that is linked of several: its key and its attribute."""
_LINKABLE = frozenset({"nvcc", "nvrtc", "nvvm"})


@dataclass
class _Link:
    """The inputs of the links of one module, by architecture."""

    codes: tuple[Code, ...] = ()
    inputs: dict[Architecture, list[str]] = field(default_factory=dict)


def plan_linked(module: KernelModule, *, sources: Sequence[SourceOptions], planning: Planning) -> KernelFile | None:
    """Return the one file of a module that is linked, with its jobs planned; None where it is a problem."""
    planning.problems.extend(_check_formats(module))
    link = _Link()
    before = len(planning.problems)
    for options in sources:
        _add(replace(options, rdc=True), module=module, link=link, planning=planning)
    if len(planning.problems) > before or not link.codes or planning.facts.device is None:
        return None
    jobs = {code.architecture: _plan_job(module, code, link=link, planning=planning) for code in link.codes}
    first = link.codes[0].architecture
    planning.jobs.extend(jobs.values())
    images = tuple(image for name in module.formats for image in _images(name, module=module, link=link, jobs=jobs))
    return KernelFile(LINKED, LINKED, _file(jobs[first], f"ptx:{first}"), images)


def _check_formats(module: KernelModule) -> list[Problem]:
    other = [name for name in module.formats if name not in {"ptx", "cubin"}]
    if not other:
        return []
    return [
        Problem(
            ErrorCode.CONFLICT,
            f"a linked image cannot be {' or '.join(map(repr, other))}",
            where=f"{module.where}.formats",
            details=(("why", "nvJitLink writes machine code and PTX"),),
            fix=("ask for cubin and ptx, or leave device-link out",),
        )
    ]


def _add(options: SourceOptions, *, module: KernelModule, link: _Link, planning: Planning) -> None:
    codes = planning.codes(module, options, can_carry_ptx="ptx" in module.formats)
    if not codes:
        return
    if link.codes and codes != link.codes:
        planning.problems.append(_describe_differing(module, options, codes=codes, others=link.codes))
        return
    link.codes = codes
    chosen = choose_compiler(
        module, options, codes=codes, facts=planning.facts, shared=planning.is_shared(options.source)
    )
    if chosen.problem is None and chosen.compiler not in _LINKABLE:
        planning.problems.append(_describe_unlinkable(module, options, compiler=chosen.compiler))
    if chosen.problem is not None or chosen.compiler not in _LINKABLE:
        planning.problems.extend((chosen.problem,) if chosen.problem else ())
        return
    planning.notes.extend((chosen.note,) if chosen.note else ())
    for code in codes:
        file = _compile(options, code=code, compiler=chosen.compiler, module=module, planning=planning)
        link.inputs.setdefault(code.architecture, []).append(file)


def _compile(options: SourceOptions, *, code: Code, compiler: str, module: KernelModule, planning: Planning) -> str:
    toolchain = planning.facts.toolchain
    if compiler == "nvcc" and toolchain is not None:
        made = planning.compiles.ltoir(options, code=code, toolchain=toolchain)
        return made.want("ltoir", target=module.module)
    one = planning.device.source(options, compiler=compiler, codes=(code,))
    return one.want(f"ltoir:{code.architecture}", target=module.module)


def _plan_job(module: KernelModule, code: Code, *, link: _Link, planning: Planning) -> Job:
    architecture, device = code.architecture, planning.facts.device
    inputs = link.inputs[architecture]
    wanted = [name for name in ("ptx", "cubin") if name == "ptx" or (name in module.formats and code.real)]
    identity = device.identity("nvjitlink") if device else ""
    key = digest(planning.compiles.namespace, module.module, str(architecture), *wanted, "", *inputs, identity)
    argv = (
        *program("device_link.py"),
        *("--library", "{tool:nvjitlink}", "--keep", KEEP, "--arch", str(architecture)),
        *(word for name in wanted for word in ("--kind", name)),
        *(f"{{build}}/{file}" for file in inputs),
    )
    return Job(
        key=key,
        kind="device",
        argv=argv,
        inputs=(),
        needs=tuple(inputs),
        outputs=tuple(Output(f"{name}:{architecture}", f"images/{key}.{architecture}.{name}") for name in wanted),
        title=f"{module.module} linked for {architecture}",
        used_by=(module.module,),
        codes=(code,),
    )


def _images(name: str, *, module: KernelModule, link: _Link, jobs: dict[Architecture, Job]) -> list[Artifact]:
    codes = [code for code in link.codes if (code.marked != "real" if name == "ptx" else code.real)]
    return [
        Artifact(
            "image",
            module.module,
            _file(jobs[code.architecture], f"{name}:{code.architecture}"),
            image_destination(
                module.module,
                source=LINKED,
                tag=code.architecture.virtual if name == "ptx" else code.architecture.real,
                extension=name,
            ),
            source=LINKED,
            format=name,
            architecture=code.architecture,
            codes=(code,),
        )
        for code in codes
    ]


def _file(job: Job, role: str) -> str:
    return next(output.file for output in job.outputs if output.role == role)


def _describe_differing(
    module: KernelModule, options: SourceOptions, *, codes: Sequence[Code], others: Sequence[Code]
) -> Problem:
    return Problem(
        ErrorCode.CONFLICT,
        f"{options.source} is compiled for {describe_codes(codes)}, and what it is linked with for "
        f"{describe_codes(others)}",
        where=f"{module.where}.device-link",
        fix=("give the sources of a linked module the same architectures",),
    )


def _describe_unlinkable(module: KernelModule, options: SourceOptions, *, compiler: str) -> Problem:
    return Problem(
        ErrorCode.NOT_AVAILABLE,
        f"{options.source} cannot be linked with others",
        where=f"{module.where}.device-link",
        details=(("why", f"{compiler} writes no LTO-IR, which is what is linked; nvcc, nvrtc and nvvm do"),),
        fix=("put the source into a kernel module of its own, without device-link",),
    )
