"""Flags that are not the project's to give: a key of the table says it, or the build sets it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

Tool = Literal["cuda", "cxx", "c", "link"]

_KEYS: Mapping[str, tuple[str, ...]] = {
    "architectures": (
        *("-arch", "--gpu-architecture", "-gencode", "--generate-code", "-code", "--gpu-code"),
        # Not nvcc's own spellings, but written often.
        *("--arch", "--gencode", "--code"),
    ),
    "std": ("-std", "--std"),
    "rdc": (
        *("-rdc", "--relocatable-device-code", "-dc", "--device-c", "-dw", "--device-w"),
        *("-dlink", "--device-link", "-ewp", "--extensible-whole-program"),
    ),
    "host-compiler": ("-ccbin", "--compiler-bindir"),
    "cudart": ("-cudart", "--cudart"),
    "formats": (
        *("-ptx", "--ptx", "-cubin", "--cubin", "-fatbin", "--fatbin"),
        *("-ltoir", "--ltoir", "-dlto", "--dlink-time-opt", "-lto", "--lto"),
    ),
    "compress": ("-compress-mode", "--compress-mode", "-no-compress", "--no-compress"),
}
_SET_BY_THE_BUILD: tuple[str, ...] = (
    *("-o", "--output-file", "-odir", "--output-directory", "-c", "--compile", "-x", "--x"),
    *("-E", "--preprocess", "-cuda", "--cuda", "-lib", "--lib", "-link", "--link", "-run", "--run"),
    *("-keep", "--keep", "-keep-dir", "--keep-dir", "-save-temps", "--save-temps", "-objtemp", "--objdir-as-tempdir"),
    *("-M", "--generate-dependencies", "-MM", "--generate-nonsystem-dependencies"),
    *("-MD", "--generate-dependencies-with-compile", "-MMD", "--generate-nonsystem-dependencies-with-compile"),
    *("-MF", "--dependency-output", "-MT", "--dependency-target-name", "-MP", "--generate-dependency-targets"),
    *("-dryrun", "--dryrun", "-frandom-seed", "--frandom-seed", "-clean", "--clean-targets"),
)
_NVCC: Mapping[str, str] = {
    **{flag: key for key, flags in _KEYS.items() for flag in flags},
    **dict.fromkeys(_SET_BY_THE_BUILD, ""),
}
_THREADS = re.compile(r"(?:--threads|-t)(?:=.*)?|-t\d+")
_FORWARDS = re.compile(r"-X[a-z]+|--(?:compiler|linker|archive|ptxas|nvlink)-options|-run-args|--run-args", re.ASCII)
"""Options of nvcc whose next argument is for another program."""


@dataclass(frozen=True)
class Reserved:
    """A flag that is refused. ``key`` says the same in the table; '' where the build sets it."""

    flag: str
    key: str


def find_reserved(flags: Sequence[str], *, tool: Tool) -> tuple[Reserved, ...]:
    """Return the flags that the project may not give to ``tool``, in order.

    For nvcc the names are those of ``nvcc --help`` of CUDA 13.0. Arguments that nvcc hands on
    (``-Xcompiler -march=native``) are not its own flags and pass.
    """
    if tool == "cuda":
        named = ((flag, _name(flag)) for flag in own_flags(flags))
        return tuple(Reserved(flag, _NVCC[name]) for flag, name in named if name in _NVCC)
    if tool == "link":
        return ()
    return tuple(Reserved(flag, "std") for flag in flags if _is_standard(flag, tool=tool))


def without_threads(flags: Sequence[str]) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return ``flags`` without nvcc's ``--threads``, and what was taken out.

    The build gives threads to nvcc out of the same budget as its jobs.
    """
    kept: list[str] = []
    dropped: list[str] = []
    own = set(_own_places(flags))
    takes_next = False
    for place, flag in enumerate(flags):
        if takes_next or (place in own and _THREADS.fullmatch(flag)):
            dropped.append(flag)
            takes_next = not takes_next and flag in {"--threads", "-t"}
        else:
            kept.append(flag)
    return tuple(kept), tuple(dropped)


def own_flags(flags: Sequence[str]) -> tuple[str, ...]:
    """Return the flags that are nvcc's own, without arguments that it hands on."""
    return tuple(flags[place] for place in _own_places(flags))


def _own_places(flags: Sequence[str]) -> Iterator[int]:
    handed_on = False
    for place, flag in enumerate(flags):
        if not handed_on:
            yield place
        handed_on = not handed_on and _FORWARDS.fullmatch(flag) is not None


def _name(flag: str) -> str:
    return re.split(r"[=\s]", flag, maxsplit=1)[0]


def _is_standard(flag: str, *, tool: Tool) -> bool:
    found = re.match(r"(?:--?std|[-/]std)[=:](.*)", flag)
    # The key std is for C++ and CUDA: a standard of C can only be given as a flag.
    return found is not None and (tool == "cxx" or "++" in found[1])
