"""Kernel modules: which images of which sources, and where they lie. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from setuptools_cuda.config.model import KernelModule
from setuptools_cuda.errors import Code as ErrorCode
from setuptools_cuda.errors import Problem
from setuptools_cuda.plan.compiles import FATBIN, LTOIR, CudaPass
from setuptools_cuda.plan.device_choice import adapt_codes, choose_compiler, find_idle_compilers
from setuptools_cuda.plan.device_jobs import DevicePass
from setuptools_cuda.plan.device_links import plan_linked
from setuptools_cuda.plan.device_options import describe_left_out
from setuptools_cuda.plan.effective import SourceOptions
from setuptools_cuda.plan.extensions import not_packaged
from setuptools_cuda.plan.instantiations import give_instantiations
from setuptools_cuda.plan.linking import close, inherit
from setuptools_cuda.plan.options import is_compressed
from setuptools_cuda.plan.paths import attribute_names, image_destination, module_path
from setuptools_cuda.plan.targets import Planning
from setuptools_cuda.plan.values import Artifact, KernelFile, KernelModulePlan
from setuptools_cuda.resolution.device_sources import SourceFacts
from setuptools_cuda.resolution.values import Architecture, Code


def plan_kernel_module(module: KernelModule, *, planning: Planning) -> None:
    """Add a kernel module's passes, images and bindings to ``planning``."""
    problem = not_packaged(module.module, where=f"{module.where}.module", packages=planning.facts.python_packages)
    planning.problems.extend((problem,) if problem else ())
    closure = close(module.link, libraries=planning.libraries)
    options = _whole(
        module, options=planning.sources(inherit(module, closure=closure), closure=closure), planning=planning
    )
    planning.problems.extend(find_idle_compilers(module, sources=options, facts=planning.facts))
    options, problems = give_instantiations(module, sources=options, facts=planning.facts)
    planning.problems.extend(problems)
    files = _plan_files(module, options, planning=planning)
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


def _plan_files(module: KernelModule, options: Sequence[SourceOptions], *, planning: Planning) -> list[KernelFile]:
    if module.device_link is not None and options:
        linked = plan_linked(module, sources=options, planning=planning)
        return [linked] if linked else []
    names = attribute_names(o.source for o in options)
    return [f for o in options if (f := _plan_file(module, o, attribute=names[o.source], planning=planning))]


def _whole(module: KernelModule, *, options: Sequence[SourceOptions], planning: Planning) -> tuple[SourceOptions, ...]:
    """Return the options without ``rdc``: a driver loads no image whose device code is still to be linked."""
    if module.rdc:
        planning.notes.append(f"{module.module}: rdc changes nothing: each image holds the code of one source, whole")
    return tuple(replace(one, rdc=False) for one in options)


def _plan_file(
    module: KernelModule, options: SourceOptions, *, attribute: str, planning: Planning
) -> KernelFile | None:
    compiled = _compile(module, options, planning=planning)
    if compiled is None:
        return None
    facts = compiled.want(f"ptx:{_facts_of(compiled, formats=module.formats)}", target=module.module)
    images: list[Artifact] = []
    for name in module.formats:
        made = _images(name, module=module, options=options, compiled=compiled, planning=planning)
        if not made:
            planning.problems.append(_no_image(module, options=options, name=name, compiled=compiled))
        images.extend(made)
    return KernelFile(options.source, attribute, facts, tuple(images))


def _facts_of(compiled: CudaPass | DevicePass, *, formats: Sequence[str]) -> Architecture:
    """Return the architecture whose PTX tells of a source's kernels, and of the version that a fatbin's PTX has.

    LLVM writes for each architecture the oldest version that has it, so the newest in a fatbin decides.
    """
    if isinstance(compiled, DevicePass) and compiled.text is not None:
        return compiled.text
    if isinstance(compiled, DevicePass) and FATBIN in formats and compiled.ptx_in_fatbin:
        return compiled.ptx_in_fatbin[-1]
    return compiled.codes[0].architecture


def _compile(module: KernelModule, options: SourceOptions, *, planning: Planning) -> CudaPass | DevicePass | None:
    """Return the compile of a source by whoever takes it, or None where it is skipped or nobody does."""
    can_carry_ptx = bool({"ptx", "fatbin"} & set(module.formats))
    codes = planning.codes(module, options, can_carry_ptx=can_carry_ptx)
    if not codes:
        return None
    facts = planning.facts
    chosen = choose_compiler(module, options, codes=codes, facts=facts, shared=planning.is_shared(options.source))
    if chosen.problem is not None:
        if chosen.problem.code is ErrorCode.NO_COMPILER and not planning.settings.project.required:
            planning.notes.append(f"{module.module}: {options.source} is left out: {chosen.problem.what}")
        else:
            planning.problems.append(chosen.problem)
        return None
    planning.notes.extend((chosen.note,) if chosen.note else ())
    if chosen.compiler == "nvcc" and facts.toolchain is not None:
        return planning.compiles.cuda(options, codes=codes, toolchain=facts.toolchain)
    about = facts.sources.get(options.source)
    text = about.target if about and about.kind == "ptx" else None
    if about is not None and text is not None:
        codes = _adapt(about, options=options, codes=codes, planning=planning)
        if not codes:
            return None
    made = planning.device.source(options, compiler=chosen.compiler, codes=codes, text=text)
    planning.notes.extend(describe_left_out(made.words, source=options.source, compiler=chosen.compiler))
    return made


def _adapt(
    about: SourceFacts, *, options: SourceOptions, codes: Sequence[Code], planning: Planning
) -> tuple[Code, ...]:
    adapted = adapt_codes(about, options=options, codes=codes, facts=planning.facts)
    planning.notes.extend(adapted.notes)
    if adapted.problem is not None and options.when_empty == "skip" and not adapted.codes:
        planning.notes.append(f"{options.source} is skipped: {adapted.problem.what}")
    elif adapted.problem is not None:
        planning.problems.append(adapted.problem)
    return adapted.codes


def _images(
    name: str,
    *,
    module: KernelModule,
    options: SourceOptions,
    compiled: CudaPass | DevicePass,
    planning: Planning,
) -> list[Artifact]:
    codes = compiled.codes
    if name == "ptx":
        return [_image(module, compiled, role="ptx", code=c) for c in _ptx_codes(compiled)]
    if name == "cubin":
        return [_image(module, compiled, role="cubin", code=c) for c in codes if c.real]
    if name == FATBIN:
        return [_image(module, compiled, role=FATBIN, code=None)]
    code = next((c for c in codes if c.marked == "virtual"), codes[0])
    if isinstance(compiled, DevicePass):
        return [_image(module, compiled, role=LTOIR, code=code)] if compiled.compiler in {"nvrtc", "nvvm"} else []
    toolchain = planning.facts.toolchain
    if toolchain is None:
        return []
    return [_image(module, planning.compiles.ltoir(options, code=code, toolchain=toolchain), role=LTOIR, code=code)]


def _ptx_codes(compiled: CudaPass | DevicePass) -> list[Code]:
    """Return the codes to ship PTX of: a PTX source has one text, which is for its own target."""
    wanted = [code for code in compiled.codes if code.marked != "real"]
    if isinstance(compiled, DevicePass) and compiled.text is not None:
        return [Code(compiled.text, real=False, virtual=True)] if wanted else []
    return wanted


def _image(module: KernelModule, compiled: CudaPass | DevicePass, *, role: str, code: Code | None) -> Artifact:
    architecture = code.architecture if code else None
    tagged = f"{role}:{architecture}" if role in {"ptx", "cubin"} or _names_ltoir(compiled, role) else role
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
        codes=(code,) if code else _fatbin_codes(compiled),
        compressed=role == FATBIN and _is_compressed(compiled),
    )


def _names_ltoir(compiled: CudaPass | DevicePass, role: str) -> bool:
    return role == LTOIR and isinstance(compiled, DevicePass)


def _fatbin_codes(compiled: CudaPass | DevicePass) -> tuple[Code, ...]:
    if isinstance(compiled, CudaPass) or compiled.text is None:
        return compiled.codes
    real = tuple(replace(code, virtual=False) for code in compiled.codes if code.real)
    return (*real, Code(compiled.text, real=False, virtual=True))


def _is_compressed(compiled: CudaPass | DevicePass) -> bool:
    return compiled.compressed if isinstance(compiled, DevicePass) else is_compressed(compiled.options)


def _no_image(module: KernelModule, *, options: SourceOptions, name: str, compiled: CudaPass | DevicePass) -> Problem:
    codes = compiled.codes
    if name == LTOIR:
        return Problem(
            ErrorCode.NOT_AVAILABLE,
            f"the format 'ltoir' cannot be made of {options.source}",
            where=f"{module.where}.formats",
            details=(("why", f"{getattr(compiled, 'compiler', 'nvcc')} writes no LTO-IR; nvcc, nvrtc and nvvm do"),),
            fix=("take 'ltoir' out of formats, or put the source into a module of its own",),
        )
    other = "virtual" if name == "cubin" else "real"
    if not any(code.marked == other for code in codes):
        return _out_of_bounds(module, options=options, name=name, codes=codes)
    asked = ", ".join(f"{c.architecture}-{c.marked}" if c.marked else str(c.architecture) for c in codes)
    return Problem(
        ErrorCode.NO_ARCHITECTURE_LEFT,
        f"the format {name!r} has no image: every architecture is marked {other!r}",
        where=f"{module.where}.formats",
        details=(("source", options.source), ("architectures", asked)),
        fix=(f"take {name!r} out of formats, or ask for an architecture without '-{other}'",),
    )


def _out_of_bounds(module: KernelModule, *, options: SourceOptions, name: str, codes: Sequence[Code]) -> Problem:
    left = ", ".join(code.architecture.virtual for code in codes)
    return Problem(
        ErrorCode.NO_ARCHITECTURE_LEFT,
        f"the format {name!r} has no image of {options.source}",
        where=f"{module.where}.formats",
        details=(("why", f"no requested architecture is within its max-architecture: only PTX is left ({left})"),),
        fix=(f"raise max-architecture, ask for an older architecture, or take {name!r} out of formats",),
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
