"""nvcc's command as clang would have it, for editors: clang stops at nvcc's own options. Pure.

Options of nvcc are from "CUDA Compiler Driver NVCC", those of clang from "Compiling CUDA with clang"
and its command-line reference.
"""

from __future__ import annotations

import shlex
from collections.abc import Iterator, Sequence

_JOINED = ("-isystem", "-include", "-std", "-I", "-D", "-U")
"""Options that both have, with the value in the same word or in the next."""
_LONG = {
    "--include-path": "-I",
    "--system-include": "-isystem",
    "--define-macro": "-D",
    "--undefine-macro": "-U",
    "--pre-include": "-include",
    "--std": "-std",
}
_TO_OTHERS = frozenset(
    {
        *("-Xptxas", "-Xcudafe", "-Xfatbin", "-Xnvlink", "-Xlinker", "-Xarchive", "-ccbin", "-o", "-MF", "--keep-dir"),
        *("--ptxas-options", "--fatbin-options", "--nvlink-options", "--linker-options", "--archive-options"),
    }
)
"""Options whose next word is no option of the compiler, whatever it looks like."""
_HOST = frozenset({"-Xcompiler", "--compiler-options"})
_SWITCHES = {
    "-dc": ("-fgpu-rdc",),
    "-rdc=true": ("-fgpu-rdc",),
    "--relocatable-device-code=true": ("-fgpu-rdc",),
    "-g": ("-g",),
    "-w": ("-w",),
    "--default-stream=per-thread": ("-DCUDA_API_PER_THREAD_DEFAULT_STREAM=1",),
}


def translate(argv: Sequence[str]) -> Iterator[str]:
    """Yield those options of nvcc's command that decide what a source means, in clang's words."""
    words = iter(argv)
    for word in words:
        name, _, value = word.partition("=")
        if name in _LONG:
            yield from _joined(_LONG[name], value=value or next(words, ""))
        elif name in _HOST:
            yield from _host_words(value or next(words, ""))
        elif word in _TO_OTHERS:
            next(words, None)
        elif word in _SWITCHES:
            yield from _SWITCHES[word]
        else:
            option = next((one for one in _JOINED if word.startswith(one)), "")
            if option:
                yield from _joined(option, value=word[len(option) :].removeprefix("=") or next(words, ""))


def _joined(option: str, *, value: str) -> Iterator[str]:
    """Yield an option with its value as clang takes it."""
    if option in {"-isystem", "-include"}:
        yield from (option, value)
    else:
        # nvcc takes lists, with commas between their items and backslashes before commas in them.
        yield f"-std={value}" if option == "-std" else option + value.replace("\\,", ",")


def _host_words(value: str) -> Iterator[str]:
    """Yield the options for the host compiler that an editor has a use for; nvcc splits them at commas."""
    try:
        words = [word for part in value.split(",") for word in shlex.split(part)]
    except ValueError:
        return
    yield from (word for word in words if word.startswith(("-D", "-U", "-I", "-W", "-fPIC", "-fopenmp", "-pthread")))
