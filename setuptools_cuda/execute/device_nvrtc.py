"""Compiles CUDA C++ by libNVRTC: PTX, machine code and LTO-IR, without nvcc and without a host compiler.

Source: NVIDIA's "NVRTC" (the functions and options). What it includes is found by reading, since
libNVRTC tells nothing of it: see ``device_includes.py``.
"""

from __future__ import annotations

import argparse
import ctypes
import sys
from collections.abc import Sequence
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

from setuptools_cuda.execute.depfile import render_depfile
from setuptools_cuda.execute.device_includes import find_includes
from setuptools_cuda.execute.device_program import (
    FailedCompileError,
    encode_words,
    load_library,
    read_buffer,
    run_program,
)


def main(argv: Sequence[str]) -> None:
    """Compile as the arguments say. Raises FailedCompileError."""
    words, options = _split(argv)
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", required=True)
    parser.add_argument("--keep", required=True)
    parser.add_argument("--depfile", required=True)
    parser.add_argument("--told", action="append", default=[])
    parser.add_argument("--instantiate", action="append", default=[])
    parser.add_argument("source")
    given = parser.parse_args(words)
    # Read before the compile, so that a header changed meanwhile counts as changed.
    included = find_includes(given.source, options=options, told=given.told)
    compiler = _Nvrtc(given.library)
    made = compiler.compile(given.source, options=options, expressions=given.instantiate)
    architecture = next(word.partition("_")[2] for word in options if word.startswith("-arch="))
    for kind, data in made.items():
        (Path(given.keep) / f"{kind}-{architecture}").write_bytes(data)
    Path(given.depfile).write_text(render_depfile("out", included), "utf-8", "surrogateescape")


def _split(argv: Sequence[str]) -> tuple[list[str], list[str]]:
    place = list(argv).index("--")
    return list(argv[:place]), list(argv[place + 1 :])


class _Nvrtc:
    """The library, by the few functions of it that are used."""

    def __init__(self, path: str) -> None:
        """Load it, and its built-in headers first: it looks for them by name, where no loader would."""
        folder = Path(path).resolve().parent
        for builtins in sorted(folder.glob("libnvrtc-builtins.so.[0-9]*")):
            load_library(str(builtins))
        self._library = load_library(path)
        self._library.nvrtcGetErrorString.restype = ctypes.c_char_p

    def compile(self, source: str, *, options: Sequence[str], expressions: Sequence[str]) -> dict[str, bytes]:
        """Return what was made, by kind: 'ptx', 'cubin', 'ltoir'."""
        library, program = self._library, ctypes.c_void_p()
        text = Path(source).read_bytes()
        self._check(
            library.nvrtcCreateProgram(ctypes.byref(program), text, source.encode("utf-8"), 0, None, None), source
        )
        for expression in expressions:
            self._check(library.nvrtcAddNameExpression(program, expression.encode("utf-8")), expression)
        status = library.nvrtcCompileProgram(program, *encode_words(options))
        log = read_buffer(library.nvrtcGetProgramLogSize, library.nvrtcGetProgramLog, program)
        said = log.rstrip(b"\0").decode("utf-8", "backslashreplace").strip()
        if status != 0:
            reason = library.nvrtcGetErrorString(status).decode()
            raise FailedCompileError(f"{said or 'libNVRTC said nothing'}\n({reason})")
        if said:
            sys.stdout.write(f"{said}\n")
        made = {
            kind: read_buffer(getattr(library, f"nvrtcGet{name}Size"), getattr(library, f"nvrtcGet{name}"), program)
            for kind, name in (("ptx", "PTX"), ("cubin", "CUBIN"), ("ltoir", "LTOIR"))
        }
        made["ptx"] = made["ptx"].rstrip(b"\0")
        return {kind: data for kind, data in made.items() if data}

    def _check(self, status: int, what: str) -> None:
        if status != 0:
            raise FailedCompileError(f"{what}: {self._library.nvrtcGetErrorString(status).decode()}")


if __name__ == "__main__":
    sys.exit(run_program(main))
