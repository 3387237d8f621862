"""Which device compiler takes which source: by what the source is, and by what the machine has.

nvcc and libNVRTC take CUDA C++, libNVVM and LLVM (through llvmlite) take LLVM IR, ptxas takes
PTX. Which dialect of IR libNVVM takes for which architecture was tried out on 12.9, 13.0 and
13.5, which agree (see the explanation of device compilers in the documentation).
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePosixPath

from setuptools_cuda.config.globs import matches
from setuptools_cuda.config.model import KernelModule, Settings
from setuptools_cuda.environment import Environment
from setuptools_cuda.errors import BuildError
from setuptools_cuda.resolution.architecture_steps import StepContext, resolve_request
from setuptools_cuda.resolution.catalogue import list_pypi
from setuptools_cuda.resolution.device_plugins import DevicePlugin, find_device_plugins
from setuptools_cuda.resolution.device_sources import SourceFacts, read_sources
from setuptools_cuda.resolution.device_tools import LLVMLITE
from setuptools_cuda.resolution.host_compiler import find_host_program
from setuptools_cuda.resolution.nvcc_flags import resolve_nvcc_flags

READS: Mapping[str, frozenset[str]] = {
    "nvcc": frozenset({".cu"}),
    "nvrtc": frozenset({".cu"}),
    "nvvm": frozenset({".ll", ".bc"}),
    "llvm": frozenset({".ll", ".bc"}),
    "ptxas": frozenset({".ptx"}),
}
"""The suffixes that each device compiler reads."""

_TOOLS: Mapping[str, tuple[str, ...]] = {
    "nvcc": (),
    "nvrtc": ("nvrtc",),
    "nvvm": ("nvvm", "libdevice"),
    "llvm": (LLVMLITE, "libdevice"),
    "ptxas": ("ptxas",),
}
_WRITES_CUBIN = frozenset({"nvcc", "nvrtc"})
FIRST_OPAQUE = 100
"""The first architecture for which libNVVM has an LLVM with opaque pointers (libNVVM API, nvvmLLVMVersion)."""
NVVM_IR_MAJOR = 2


@dataclass(frozen=True)
class Wanted:
    """What a project's kernel modules need to be compiled, before anything is looked for."""

    nvcc: bool
    tools: frozenset[str]
    sources: Mapping[str, SourceFacts]
    prefers_nvcc: bool
    """Whether CUDA C++ goes to nvcc where nobody says otherwise: a host compiler is there."""
    compilers: Mapping[str, tuple[str, ...]]
    """The compilers of each kernel module, by its name."""
    plugins: Mapping[str, DevicePlugin]
    """Those of other distributions that the project names."""
    first: str = ""
    """A kernel module that needs one of ``tools``, for messages."""


def suffix_of(source: str) -> str:
    """Return the suffix of a '/' path."""
    return PurePosixPath(source).suffix


def reads(compiler: str, source: str, *, plugins: Mapping[str, DevicePlugin]) -> bool:
    """Return whether a device compiler reads sources of that suffix."""
    own = plugins[compiler].suffixes if compiler in plugins else READS.get(compiler, frozenset())
    return suffix_of(source) in own


def list_candidates(
    source: str,
    *,
    facts: SourceFacts | None,
    named: str | None,
    numbers: Sequence[int],
    prefers_nvcc: bool,
) -> tuple[str, ...]:
    """Return the compilers that may take a source, the first the one to prefer.

    ``named`` is what the project says, of those that read such a source. ``numbers`` are the
    architectures, () where they are not known yet. Nothing of our own reads a suffix that is not in :data:`READS`.
    """
    if named is not None:
        return (named,)
    suffix = suffix_of(source)
    if suffix == ".cu":
        return ("nvcc",) if prefers_nvcc else ("nvrtc",)
    if suffix == ".ptx":
        return ("ptxas",)
    if not any(suffix in suffixes for suffixes in READS.values()):
        return ()
    if facts is None or find_nvvm_refusal(facts, numbers=numbers or (0,)) is not None or not facts.nvvm_layout:
        return ("llvm",)
    return ("nvvm", "llvm")


def find_nvvm_refusal(facts: SourceFacts, *, numbers: Iterable[int]) -> str | None:
    """Return why libNVVM does not take IR for some of ``numbers``, or None where it does."""
    if facts.kind == "bitcode":
        return "libNVVM reads bitcode of LLVM 7 alone, and no clang or rustc of today writes that"
    if facts.nvvm_version is None:
        return "libNVVM takes only IR that names its version in !nvvmir.version, which clang and rustc do not write"
    if facts.nvvm_version[0] != NVVM_IR_MAJOR:
        major, minor = facts.nvvm_version
        return f"libNVVM takes version 2 of NVVM IR, and this says {major}.{minor} in !nvvmir.version"
    if facts.lacks:
        return f"libNVVM takes only IR with the lines 'target datalayout' and 'target triple'; no {_or(facts.lacks)}"
    old = sorted({number for number in numbers if number < FIRST_OPAQUE})
    if facts.pointers in {"opaque", "mixed"} and old:
        shown = ", ".join(map(str, old))
        verb = "is" if len(old) == 1 else "are"
        return f"libNVVM takes opaque pointers (ptr) for architectures from {FIRST_OPAQUE} on; {shown} {verb} below"
    return None


def _or(words: Sequence[str]) -> str:
    return " or ".join(repr(word) for word in words) + " is there"


def list_tools(compiler: str, *, formats: Collection[str], linked: bool = False) -> tuple[str, ...]:
    """Return the tools that a compiler needs to make images of ``formats``."""
    tools = list(_TOOLS.get(compiler, ()))
    if compiler not in _TOOLS or (compiler not in _WRITES_CUBIN and {"cubin", "fatbin"} & set(formats)):
        tools.append("ptxas")
    if compiler != "nvcc" and "fatbin" in formats:
        tools += ["ptxas", "fatbinary"] if compiler not in _WRITES_CUBIN else ["fatbinary"]
    if linked:
        tools.append("nvjitlink")
    return tuple(dict.fromkeys(tools))


def find_wanted(settings: Settings, *, environment: Environment) -> Wanted:
    """Return what the kernel modules need. Files are read, and no tool is looked for but a host compiler.

    Raises:
        BuildError: BAD_INPUT_FILE for sources that are not what their suffix says.
    """
    modules = [(module, list_sources(module, settings)) for module in settings.kernel_modules]
    every = [source for _, sources in modules for source in sources]
    words = [source for module, sources in modules if module.instantiate for source in sources]
    facts = read_sources(every, root=settings.root, words=[source for source in words if suffix_of(source) == ".cu"])
    plugins = find_device_plugins(_list_named(settings), environment=environment)
    asks = any(suffix_of(source) == ".cu" for source in every)
    prefers = asks and _has_host_compiler(settings, environment=environment)
    numbers = _guess_numbers(settings, environment=environment) if facts else ()
    used = {source for target in (*settings.extensions, *settings.libraries) for source in target.sources}
    compilers: dict[str, tuple[str, ...]] = {}
    tools: dict[str, str] = {}
    for module, sources in modules:
        taken = (
            compiler
            for source in sources
            for named in _names(module, source=source, settings=settings, plugins=plugins)
            for compiler in list_candidates(
                source, facts=facts.get(source), named=named, numbers=numbers, prefers_nvcc=prefers or source in used
            )[:1]
        )
        compilers[module.title] = tuple(dict.fromkeys(taken))
        for compiler in compilers[module.title]:
            for tool in list_tools(compiler, formats=module.formats, linked=module.device_link is not None):
                tools.setdefault(tool, module.title)
    nvcc = any("nvcc" in names for names in compilers.values())
    return Wanted(nvcc, frozenset(tools), facts, prefers, compilers, plugins, next(iter(tools.values()), ""))


def list_sources(module: KernelModule, settings: Settings) -> tuple[str, ...]:
    """Return the sources of a kernel module, those that overrides add included."""
    added = (source for one in settings.overrides if one.target in (None, module.title) for source in one.sources)
    return tuple(dict.fromkeys((*module.sources, *added)))


def _list_named(settings: Settings) -> Iterator[str]:
    if not settings.kernel_modules:
        return
    named = [settings.project.device_compiler, *(one.device_compiler for one in settings.kernel_modules)]
    named += [one.device_compiler for one in settings.overrides]
    yield from (name for name in named if name is not None)


def _names(
    module: KernelModule, *, source: str, settings: Settings, plugins: Mapping[str, DevicePlugin]
) -> Iterator[str | None]:
    """Yield each compiler that may be named for a source: overrides with a condition may hold or not."""
    general = (settings.project.device_compiler, module.device_compiler)
    fitting = [name for name in general if name is not None and reads(name, source, plugins=plugins)]
    named: list[str | None] = [fitting[-1] if fitting else None]
    for one in settings.overrides:
        fits = one.target in (None, module.title) and (one.match is None or matches(one.match, path=source))
        if fits and one.device_compiler is not None and reads(one.device_compiler, source, plugins=plugins):
            named = [*named, one.device_compiler] if one.if_ is not None else [one.device_compiler]
    yield from dict.fromkeys(named)


def _has_host_compiler(settings: Settings, *, environment: Environment) -> bool:
    flags = resolve_nvcc_flags(environment)
    return find_host_program(settings, environment=environment, nvcc_flags=flags) is not None


def _guess_numbers(settings: Settings, *, environment: Environment) -> tuple[int, ...]:
    """Return the requested architectures that are named by number, where all are."""
    newest = list_pypi()[-1]
    try:
        request = resolve_request(StepContext(settings, environment, newest.architectures, newest.release))
    except BuildError:
        # What is wrong with the request is told when the toolkit is known.
        return ()
    found = [word.architecture.number if word.architecture else None for word in request.words]
    numbers = [number for number in found if number is not None]
    return tuple(numbers) if len(numbers) == len(found) else ()
