"""A source's flags as device compilers other than nvcc spell them. Pure.

Sources: NVIDIA's "NVRTC" (supported compile options), "libNVVM API" (nvvmCompileProgram), and
"CUDA Compiler Driver NVCC" (options of ptxas).
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from setuptools_cuda.config.model import Project
from setuptools_cuda.plan.effective import SourceOptions

# nvcc's options for the host side, or for what libNVRTC does anyway; True where a value follows as a word.
_HOST_SIDE = {
    "-Xcompiler": True,
    "--compiler-options": True,
    "-Xcudafe": True,
    "-Xfatbin": True,
    "--fatbin-options": True,
    "-Xlinker": True,
    "--expt-relaxed-constexpr": False,
    "--extended-lambda": False,
    "--expt-extended-lambda": False,
    "-O": True,
    "-O0": False,
    "-O1": False,
    "-O2": False,
    "-O3": False,
    "-g": False,
}
_PTXAS_WORDS = {"-Xptxas", "--ptxas-options"}
_REGISTERS = {"-maxrregcount", "--maxrregcount"}
_FAST_MATH = ("-ftz=1", "-prec-sqrt=0", "-prec-div=0", "-fma=1")
"""What --use_fast_math stands for, as far as it is not about intrinsics of CUDA C++."""
_NVVM = {
    "-ftz": "-ftz",
    "--ftz": "-ftz",
    "-prec-sqrt": "-prec-sqrt",
    "--prec-sqrt": "-prec-sqrt",
    "-prec-div": "-prec-div",
    "--prec-div": "-prec-div",
    "-fmad": "-fma",
    "--fmad": "-fma",
    "-fma": "-fma",
}
_SWITCHES = {"true": "1", "false": "0"}


@dataclass(frozen=True)
class DeviceWords:
    """The options of one source: for its compiler, for ptxas, and the flags that have no meaning there."""

    compiler: tuple[str, ...] = ()
    ptxas: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()


def nvrtc_words(options: SourceOptions, *, project: Project) -> DeviceWords:
    """Return the options for libNVRTC: those of nvcc, without the host's."""
    kept, left = _split(options.flags.cuda)
    std = (f"-std={options.std}",) if options.std else ()
    includes = tuple(f"-I{folder}" for folder in dict.fromkeys(options.include_dirs))
    defines = tuple(f"-D{define}" for define in options.defines)
    profile = {"release": (), "dev": ("-Ofc=max",), "debug": ("-G",)}[project.profile]
    return DeviceWords((*std, *includes, *defines, *kept, *profile), (), left)


def _split(flags: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    kept, left = [], []
    words = iter(flags)
    for word in words:
        takes_value = _HOST_SIDE.get(word.partition("=")[0])
        if takes_value is None:
            kept.append(word)
        elif takes_value and "=" not in word:
            left.append(f"{word} {next(words, '')}".rstrip())
        else:
            left.append(word)
    return tuple(kept), tuple(left)


def ir_words(options: SourceOptions, *, compiler: str, project: Project) -> DeviceWords:
    """Return the options for libNVVM or LLVM, and for ptxas; those of CUDA C++ are left out."""
    own: list[str] = []
    ptxas: list[str] = ["-O0"] if project.profile == "debug" else []
    left: list[str] = []
    words = iter(options.flags.cuda)
    for word in words:
        name, _, value = word.partition("=")
        if name in _PTXAS_WORDS | _REGISTERS:
            value = value or next(words, "")
            ptxas.extend(value.split(",") if name in _PTXAS_WORDS else (f"-maxrregcount={value}",))
        elif compiler == "nvvm" and word in {"--use_fast_math", "-use_fast_math"}:
            own.extend(_FAST_MATH)
        elif compiler == "nvvm" and name in _NVVM and value:
            own.append(f"{_NVVM[name]}={_SWITCHES.get(value, value)}")
        else:
            left.append(word)
    return DeviceWords(tuple(own), tuple(ptxas), tuple(left))


def describe_left_out(words: DeviceWords, *, source: str, compiler: str) -> Iterator[str]:
    """Yield a note on the flags that a source's compiler has no use for."""
    if words.left_out:
        yield f"{source}: {compiler} has no use for {' '.join(words.left_out)}, which are left out"
