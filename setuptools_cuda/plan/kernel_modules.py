"""Kernel modules: which images of which sources, and where they lie. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from setuptools_cuda.config.model import KernelModule
from setuptools_cuda.errors import Code as ErrorCode
from setuptools_cuda.errors import Problem
from setuptools_cuda.plan.compiles import FATBIN, LTOIR, CudaPass
from setuptools_cuda.plan.effective import SourceOptions
from setuptools_cuda.plan.extensions import not_packaged
from setuptools_cuda.plan.linking import close, inherit
from setuptools_cuda.plan.options import is_compressed
from setuptools_cuda.plan.paths import attribute_names, image_destination, module_path
from setuptools_cuda.plan.targets import Planning
from setuptools_cuda.plan.values import Artifact, KernelFile, KernelModulePlan
from setuptools_cuda.resolution.values import Code


def plan_kernel_module(module: KernelModule, *, planning: Planning) -> None:
    """Add a kernel module's passes, images and bindings to ``planning``."""
    problem = not_packaged(module.module, where=f"{module.where}.module", packages=planning.facts.python_packages)
    planning.problems.extend((problem,) if problem else ())
    closure = close(module.link, libraries=planning.libraries)
    options = _whole(
        module, options=planning.sources(inherit(module, closure=closure), closure=closure), planning=planning
    )
    names = attribute_names(o.source for o in options)
    files = [f for o in options if (f := _plan_file(module, o, attribute=names[o.source], planning=planning))]
    if not files:
        planning.notes.append(f"{module.module}: no source is left: no kernel module is made")
        return
    planning.problems.extend(_same_destinations(module, files=files))
    planning.kernel_modules.append(
        KernelModulePlan(
            module.module,
            f"{module_path(module.module)}.py",
            tuple(files),
            serves=module.serves,
            driver=module.driver,
            where=module.where,
        )
    )
    planning.artifacts.extend(image for file in files for image in file.images)


def _whole(module: KernelModule, *, options: Sequence[SourceOptions], planning: Planning) -> tuple[SourceOptions, ...]:
    """Return the options without ``rdc``: a driver loads no image whose device code is still to be linked."""
    if module.rdc:
        planning.notes.append(f"{module.module}: rdc changes nothing: each image holds the code of one source, whole")
    return tuple(replace(one, rdc=False) for one in options)


def _plan_file(
    module: KernelModule, options: SourceOptions, *, attribute: str, planning: Planning
) -> KernelFile | None:
    can_carry_ptx = bool({"ptx", "fatbin"} & set(module.formats))
    codes = planning.codes(module, options, can_carry_ptx=can_carry_ptx)
    toolchain = planning.facts.toolchain
    if not codes or toolchain is None:
        return None
    compiled = planning.compiles.cuda(options, codes=codes, toolchain=toolchain)
    facts = compiled.want(f"ptx:{codes[0].architecture}", target=module.module)
    images: list[Artifact] = []
    for name in module.formats:
        made = _images(name, module=module, options=options, compiled=compiled, planning=planning)
        if not made:
            planning.problems.append(_no_image(module, options=options, name=name, codes=codes))
        images.extend(made)
    return KernelFile(options.source, attribute, facts, tuple(images))


def _images(
    name: str, *, module: KernelModule, options: SourceOptions, compiled: CudaPass, planning: Planning
) -> list[Artifact]:
    codes = compiled.codes
    if name == "ptx":
        return [_image(module, compiled, role="ptx", code=c) for c in codes if c.marked != "real"]
    if name == "cubin":
        return [_image(module, compiled, role="cubin", code=c) for c in codes if c.real]
    if name == FATBIN:
        return [_image(module, compiled, role=FATBIN, code=None)]
    toolchain = planning.facts.toolchain
    if toolchain is None:
        return []
    code = next((c for c in codes if c.marked == "virtual"), codes[0])
    return [_image(module, planning.compiles.ltoir(options, code=code, toolchain=toolchain), role=LTOIR, code=code)]


def _image(module: KernelModule, compiled: CudaPass, *, role: str, code: Code | None) -> Artifact:
    architecture = code.architecture if code else None
    tagged = f"{role}:{architecture}" if role in {"ptx", "cubin"} else role
    tag = ""
    if architecture:
        tag = architecture.real if role == "cubin" else architecture.virtual
    return Artifact(
        "image",
        module.module,
        compiled.want(tagged, target=module.module),
        image_destination(module.module, source=compiled.source, tag=tag, extension=role),
        source=compiled.source,
        format=role,
        architecture=architecture,
        codes=(code,) if code else compiled.codes,
        compressed=role == FATBIN and is_compressed(compiled.options),
    )


def _no_image(module: KernelModule, *, options: SourceOptions, name: str, codes: Sequence[Code]) -> Problem:
    other = "virtual" if name == "cubin" else "real"
    asked = ", ".join(f"{c.architecture}-{c.marked}" if c.marked else str(c.architecture) for c in codes)
    return Problem(
        ErrorCode.NO_ARCHITECTURE_LEFT,
        f"the format {name!r} has no image: every architecture is marked {other!r}",
        where=f"{module.where}.formats",
        details=(("source", options.source), ("architectures", asked)),
        fix=(f"take {name!r} out of formats, or ask for an architecture without '-{other}'",),
    )


def _same_destinations(module: KernelModule, *, files: Sequence[KernelFile]) -> list[Problem]:
    seen: dict[str, str] = {}
    problems = []
    for file in files:
        for image in file.images:
            other = seen.setdefault(image.destination, file.source)
            if other != file.source:
                problems.append(
                    Problem(
                        ErrorCode.DUPLICATE_OUTPUT,
                        f"{other} and {file.source} would both become {image.destination}",
                        where=f"{module.where}.sources",
                        fix=("rename one of them",),
                    )
                )
    return problems
