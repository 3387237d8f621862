"""What the programs that compile device code have in common: libraries by ctypes, and how they fail."""

from __future__ import annotations

import ctypes
import re
import sys
from collections.abc import Callable, Sequence
from pathlib import Path

_EXTERN = re.compile(r"^\s*\.extern\s+\.func\b[^;{]*?([A-Za-z_$%][\w$]*)\s*(?:\([^()]*\))?\s*[;\n]", re.MULTILINE)
_DRIVER_HAS = frozenset({"vprintf", "malloc", "free", "__assertfail"})
"""Functions that the driver itself links into PTX (CUDA C++ Programming Guide, device-side system calls)."""


class FailedCompileError(Exception):
    """A compile that failed: the text says why, first line first."""


def run_program(main: Callable[[Sequence[str]], None]) -> int:
    """Run ``main`` with the process's arguments; print why it failed, and return the exit status."""
    try:
        main(sys.argv[1:])
    except (FailedCompileError, OSError) as error:
        sys.stdout.write(f"error: {error}\n")
        return 1
    return 0


def load_library(path: str) -> ctypes.CDLL:
    """Return a shared library. Raises FailedCompileError with what the loader said."""
    try:
        return ctypes.CDLL(path, mode=ctypes.RTLD_GLOBAL)
    except OSError as error:
        raise FailedCompileError(f"{path} cannot be loaded: {error}") from error


def encode_words(words: Sequence[str]) -> tuple[int, ctypes.Array[ctypes.c_char_p]]:
    """Return words as a C array of strings, with their number."""
    encoded = [word.encode("utf-8", "surrogateescape") for word in words]
    return len(encoded), (ctypes.c_char_p * len(encoded))(*encoded)


def read_buffer(size: Callable[..., int], read: Callable[..., int], handle: ctypes.c_void_p) -> bytes:
    """Return what a pair of C functions (one for the size, one for the bytes) gives for ``handle``; b'' for nothing."""
    length = ctypes.c_size_t()
    if size(handle, ctypes.byref(length)) != 0 or not length.value:
        return b""
    buffer = ctypes.create_string_buffer(length.value)
    return buffer.raw if read(handle, buffer) == 0 else b""


def check_resolved(ptx: str, *, source: str) -> None:
    """Refuse PTX that calls what nobody defines: compilers let it pass, and only loading would tell.

    Raises FailedCompileError.
    """
    called = sorted({name for name in _EXTERN.findall(ptx) if name not in _DRIVER_HAS})
    if called:
        names = ", ".join(called)
        raise FailedCompileError(
            f"{source} calls {names}, which it does not define, and which is not in libdevice either\n"
            "an image holds the code of one source: put the definition into the same file (clang and rustc: emit one "
            "module, with codegen-units = 1 and without panics)"
        )


def write_text(path: Path, text: str) -> None:
    """Write text as UTF-8 with plain newlines."""
    path.write_bytes(text.encode("utf-8"))
