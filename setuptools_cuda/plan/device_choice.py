"""Who compiles a source of a kernel module, decided before anything runs. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

from setuptools_cuda.config.model import KernelModule
from setuptools_cuda.errors import Code as ErrorCode
from setuptools_cuda.errors import Problem
from setuptools_cuda.plan.effective import SourceOptions
from setuptools_cuda.plan.facts import Facts
from setuptools_cuda.resolution.architecture_codes import describe_codes
from setuptools_cuda.resolution.catalogue import CATALOGUE
from setuptools_cuda.resolution.device_compilers import READS, find_nvvm_refusal, list_candidates, list_tools, reads
from setuptools_cuda.resolution.device_sources import NVVM_LINES, SourceFacts
from setuptools_cuda.resolution.device_tools import LLVMLITE, LLVMLITE_REQUIREMENT
from setuptools_cuda.resolution.values import Architecture, Code, Release

_LANGUAGES = {".cu": "CUDA C++", ".ll": "LLVM IR", ".bc": "LLVM bitcode", ".ptx": "PTX"}
_WHEELS = {
    "nvrtc": "nvrtc",
    "nvvm": "nvvm",
    "libdevice": "nvvm",
    "nvjitlink": "nvjitlink",
    "ptxas": "nvcc",
    "fatbinary": "nvcc",
}
"""The extra of cuda-toolkit that brings each tool."""


@dataclass(frozen=True)
class Chosen:
    """The compiler of one source, or the problem that none takes it."""

    compiler: str = ""
    note: str = ""
    problem: Problem | None = None


def choose_compiler(
    module: KernelModule, options: SourceOptions, *, codes: Sequence[Code], facts: Facts, shared: bool
) -> Chosen:
    """Return who compiles ``options.source`` for ``codes``; ``shared`` says that an extension compiles it too."""
    about = facts.sources.get(options.source)
    named = _find_named(options, facts=facts)
    numbers = tuple(code.architecture.number for code in codes)
    candidates = list_candidates(
        options.source, facts=about, named=named, numbers=numbers, prefers_nvcc=facts.prefers_nvcc or shared
    )
    if not candidates:
        return Chosen(problem=_describe_unread(module, options))
    if candidates == ("nvvm",) and about is not None and (reason := find_nvvm_refusal(about, numbers=numbers)):
        return Chosen(problem=_describe_refused(module, options, about=about, codes=codes, reason=reason))
    usable = [one for one in candidates if not _list_missing(one, module=module, facts=facts)]
    if not usable:
        return Chosen(problem=_describe_missing(module, options, candidates=candidates, codes=codes, facts=facts))
    shown = f", {about.dialect}" if about is not None and about.kind in {"ir", "bitcode"} else ""
    note = f"{module.module}: {options.source} is compiled by {usable[0]}{shown}" if usable[0] != "nvcc" else ""
    return Chosen(usable[0], note)


def _find_named(options: SourceOptions, *, facts: Facts) -> str | None:
    """Return the last of the compilers named for a source that reads such sources."""
    fitting = [name for name in options.device_compilers if reads(name, options.source, plugins=facts.plugins)]
    return fitting[-1] if fitting else None


def find_idle_compilers(module: KernelModule, *, sources: Sequence[SourceOptions], facts: Facts) -> list[Problem]:
    """Return a problem where the module names a compiler that reads none of its sources."""
    named = module.device_compiler
    if named is None or not sources or any(reads(named, one.source, plugins=facts.plugins) for one in sources):
        return []
    own = facts.plugins[named].suffixes if named in facts.plugins else READS.get(named, frozenset())
    suffixes = ", ".join(sorted(own))
    return [
        Problem(
            ErrorCode.CONFLICT,
            f"{named} reads {suffixes}, and no source of the module is such",
            where=f"{module.where}.device-compiler",
            details=(("sources", ", ".join(one.source for one in sources[:5])),),
            fix=("leave device-compiler out: each source then goes to a compiler that reads it",),
        )
    ]


def _list_missing(compiler: str, *, module: KernelModule, facts: Facts) -> list[str]:
    if compiler == "nvcc" and facts.toolchain is None:
        return ["nvcc"]
    there = facts.device.paths if facts.device else {}
    needed = list_tools(compiler, formats=module.formats, linked=module.device_link is not None)
    return [name for name in needed if name not in there]


def _describe_unread(module: KernelModule, options: SourceOptions) -> Problem:
    return Problem(
        ErrorCode.BAD_VALUE,
        f"no device compiler that is named reads {options.source}",
        where=f"{module.where}.sources",
        fix=(f"name one that does in device-compiler; those of our own read {', '.join(_LANGUAGES)}",),
    )


def _describe_missing(
    module: KernelModule, options: SourceOptions, *, candidates: Sequence[str], codes: Sequence[Code], facts: Facts
) -> Problem:
    missing = {one: _list_missing(one, module=module, facts=facts) for one in candidates}
    about = facts.sources.get(options.source)
    details = [("source", options.source)]
    if about is not None and about.kind in {"ir", "bitcode"}:
        details.append(("it is", about.dialect))
        reason = find_nvvm_refusal(about, numbers=[code.architecture.number for code in codes])
        details.extend((("not nvvm", reason),) if reason else ())
    details.extend((one, f"needs {', '.join(names)}") for one, names in missing.items())
    looked = "\n".join(f"{each.where}  {each.verdict}" for each in facts.device_search)
    details.extend((("looked at", looked),) if looked else ())
    return Problem(
        ErrorCode.NO_COMPILER,
        f"{options.source} has no compiler here: {' or '.join(candidates)} would take it",
        where=module.where,
        details=tuple(details),
        fix=tuple(_suggest(missing, facts=facts, about=about)),
    )


def _suggest(missing: dict[str, list[str]], *, facts: Facts, about: SourceFacts | None) -> list[str]:
    release = facts.release or Release(13, 0)
    ways = []
    for names in missing.values():
        extras = ",".join(sorted({_WHEELS[name] for name in names if name in _WHEELS} | ({"nvcc"} & set(names))))
        wanted = [f"'cuda-toolkit[{extras}]=={release}.*'"] if extras else []
        wanted += [f"'{LLVMLITE_REQUIREMENT}'"] if LLVMLITE in names else []
        ways.append(f"add to build-system.requires: {', '.join(wanted)}")
    if about is not None and about.pointers in {"opaque", "mixed"} and about.nvvm_version is not None:
        ways.append("or ask for architectures from 100 on alone, for which libNVVM takes it")
    return ways


def _describe_refused(
    module: KernelModule, options: SourceOptions, *, about: SourceFacts, codes: Sequence[Code], reason: str
) -> Problem:
    """Return why libNVVM, which was named for a source, does not take it: in words for who wrote the source."""
    fix = ["let device-compiler = \"llvm\" compile it, which takes any LLVM IR (it needs llvmlite: the extra 'llvm')"]
    if about.kind == "ir" and about.nvvm_version is None:
        fix.append("or write NVVM IR by hand or by a generator for it: a line !nvvmir.version = !{!0}, typed pointers")
    elif about.lacks:
        fix.append("or add, near the top, " + " and ".join(NVVM_LINES[name] for name in about.lacks))
    elif about.kind == "ir" and about.pointers in {"opaque", "mixed"}:
        fix.append("or write it with typed pointers (float*), which serve every architecture")
        fix.append("or ask for architectures from 100 on alone")
    return Problem(
        ErrorCode.CONFLICT,
        f"{options.source} is not IR that nvvm compiles for {describe_codes(codes)}",
        where=f"{module.where}.device-compiler",
        details=(
            ("it is", about.dialect),
            ("why", reason),
            ("nvvm is", "NVIDIA's own compiler for LLVM IR (libNVVM); it reads a dialect of its own"),
        ),
        fix=tuple(fix),
    )


@dataclass(frozen=True)
class Adapted:
    """The codes that a PTX source is compiled to, and what it does not serve."""

    codes: tuple[Code, ...]
    notes: tuple[str, ...] = ()
    problem: Problem | None = None


def adapt_codes(about: SourceFacts, *, options: SourceOptions, codes: Sequence[Code], facts: Facts) -> Adapted:
    """Return the codes that PTX of some ``.target`` can be translated to, each under the name that ptxas needs."""
    release, target = facts.release, about.target
    if release is None or target is None:
        return Adapted(())
    newest = max((one.ptx_isa for one in CATALOGUE if one.release <= release), default=(0, 0))
    if about.isa > newest:
        return Adapted((), problem=_describe_too_new(options, about=about, release=release, newest=newest))
    served = {code.architecture: _serve(target, code.architecture) for code in codes}
    kept = {found: replace(code, architecture=found) for code in codes if (found := served[code.architecture])}
    dropped = [str(architecture) for architecture, found in served.items() if found is None]
    notes = (f"{options.source}: PTX for sm_{target} does not serve {', '.join(dropped)}",) if dropped else ()
    if kept:
        return Adapted(tuple(kept.values()), notes)
    return Adapted(
        (),
        notes,
        Problem(
            ErrorCode.NO_ARCHITECTURE_LEFT,
            f"{options.source} serves none of the architectures {describe_codes(codes)}",
            where=options.source,
            details=(("why", f"its text says .target sm_{target}, which runs on {_describe_reach(target)}"),),
            fix=(f"ask for such an architecture, or write the PTX for .target sm_{codes[0].architecture}",),
        ),
    )


def _serve(target: Architecture, requested: Architecture) -> Architecture | None:
    """Return the machine code that PTX of ``target`` becomes for a GPU ("PTX ISA", chapter "Directives", .target)."""
    if target.variant == "a":
        return target if requested.number == target.number else None
    if target.variant == "f":
        same = requested.major == target.major and requested.number >= target.number
        return (requested if requested.variant else Architecture(requested.number, "f")) if same else None
    return requested if requested.number >= target.number else None


def _describe_reach(target: Architecture) -> str:
    if target.variant == "a":
        return f"GPUs of compute capability {target.number} alone"
    if target.variant == "f":
        return f"GPUs of the family of {target.number}"
    return f"GPUs from {target.number} on"


def _describe_too_new(
    options: SourceOptions, *, about: SourceFacts, release: Release, newest: tuple[int, int]
) -> Problem:
    isa = f"{about.isa[0]}.{about.isa[1]}"
    return Problem(
        ErrorCode.BAD_INPUT_FILE,
        f"{options.source} is PTX {isa}, and CUDA {release} knows PTX up to {newest[0]}.{newest[1]}",
        where=options.source,
        details=(("why", "a driver, too, loads PTX only up to the version that it knows"),),
        fix=(
            f"write '.version {newest[0]}.{newest[1]}' where the text needs no more",
            "or build with a newer toolkit",
        ),
    )
