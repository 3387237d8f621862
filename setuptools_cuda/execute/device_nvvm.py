"""Compiles NVVM IR by libNVVM: PTX or LTO-IR, with libdevice linked, no LLVM and no compiler installed.

Source: NVIDIA's "libNVVM API" and "NVVM IR Specification".
"""

from __future__ import annotations

import argparse
import ctypes
import sys
from collections.abc import Sequence
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

from setuptools_cuda.execute.device_program import (
    FailedCompileError,
    check_resolved,
    encode_words,
    load_library,
    read_buffer,
    run_program,
)
from setuptools_cuda.execute.nvvm_kernels import keep_kernels

_HINTS = {
    3: "the IR needs a line such as !nvvmir.version = !{!0} with !0 = !{i32 2, i32 0}",
    6: "libNVVM has an LLVM of its own, and this is not the dialect of IR that it reads for this architecture",
    9: "the data layout may not be that of libNVVM (NVVM IR Specification, Data Layout): "
    'let device-compiler = "llvm" compile the source, or write libNVVM\'s',
}
"""What nvvmResult values mean for who wrote the IR (nvvm.h): IR_VERSION_MISMATCH, INVALID_IR, COMPILATION."""


def main(argv: Sequence[str]) -> None:
    """Compile as the arguments say. Raises FailedCompileError."""
    place = list(argv).index("--")
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", required=True)
    parser.add_argument("--libdevice", required=True)
    parser.add_argument("--output", required=True)
    parser.add_argument("source")
    given = parser.parse_args(list(argv[:place]))
    options = list(argv[place + 1 :])
    made = _Nvvm(given.library).compile(Path(given.source), libdevice=Path(given.libdevice), options=options)
    if "-gen-lto" not in options:
        made = made.rstrip(b"\0")
        check_resolved(made.decode("utf-8", "replace"), source=given.source)
    Path(given.output).write_bytes(made)


class _Nvvm:
    """The library, by the few functions of it that are used."""

    def __init__(self, path: str) -> None:
        self._library = load_library(path)
        self._library.nvvmGetErrorString.restype = ctypes.c_char_p

    def compile(self, source: Path, *, libdevice: Path, options: Sequence[str]) -> bytes:
        """Return what was made of a source: verified first, then compiled with what it uses of libdevice."""
        library, program = self._library, ctypes.c_void_p()
        self._check(library.nvvmCreateProgram(ctypes.byref(program)), program, "cannot be started")
        text, name = source.read_bytes(), str(source).encode("utf-8")
        if "-gen-lto" in options:
            text = keep_kernels(text.decode("utf-8", "surrogateescape"), source=str(source)).encode(
                "utf-8", "surrogateescape"
            )
        size = ctypes.c_size_t(len(text))
        self._check(library.nvvmAddModuleToProgram(program, text, size, name), program, f"does not read {source}")
        device = libdevice.read_bytes()
        added = library.nvvmLazyAddModuleToProgram(program, device, ctypes.c_size_t(len(device)), b"libdevice")
        self._check(added, program, f"does not read {libdevice}")
        words = encode_words(options)
        self._check(library.nvvmVerifyProgram(program, *words), program, f"does not accept {source}")
        self._check(library.nvvmCompileProgram(program, *words), program, f"does not compile {source}")
        return read_buffer(library.nvvmGetCompiledResultSize, library.nvvmGetCompiledResult, program)

    def _check(self, status: int, program: ctypes.c_void_p, what: str) -> None:
        if status == 0:
            return
        library = self._library
        log = read_buffer(library.nvvmGetProgramLogSize, library.nvvmGetProgramLog, program)
        said = log.rstrip(b"\0").decode("utf-8", "backslashreplace").strip()
        reason = library.nvvmGetErrorString(status).decode()
        lines = [f"libNVVM {what}", said, f"({reason})", _HINTS.get(status, "")]
        raise FailedCompileError("\n".join(line for line in lines if line))


if __name__ == "__main__":
    sys.exit(run_program(main))
