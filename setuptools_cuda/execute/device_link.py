"""Links LTO-IR of several sources into one image by nvJitLink: machine code or PTX.

Source: NVIDIA's "nvJitLink" (the functions, the options ``-lto`` and ``-ptx``).
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
    encode_words,
    load_library,
    read_buffer,
    run_program,
)

_LTOIR = 3
"""``NVJITLINK_INPUT_LTOIR`` of nvJitLink.h."""


def main(argv: Sequence[str]) -> None:
    """Link as the arguments say. Raises FailedCompileError."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--library", required=True)
    parser.add_argument("--keep", required=True)
    parser.add_argument("--arch", required=True)
    parser.add_argument("--kind", action="append", choices=("ptx", "cubin"), required=True)
    parser.add_argument("inputs", nargs="+")
    given = parser.parse_args(list(argv))
    library = load_library(given.library)
    for kind in given.kind:
        made = _link(library, given.inputs, architecture=given.arch, kind=kind)
        (Path(given.keep) / f"{kind}-{given.arch}").write_bytes(made)


def _link(library: ctypes.CDLL, inputs: Sequence[str], *, architecture: str, kind: str) -> bytes:
    handle = ctypes.c_void_p()
    words = [f"-arch=sm_{architecture}", "-lto", *(("-ptx",) if kind == "ptx" else ())]
    status = library.nvJitLinkCreate(ctypes.byref(handle), *encode_words(words))
    if status != 0:
        raise FailedCompileError(f"nvJitLink does not take {' '.join(words)} (status {status})")
    for path in inputs:
        data = Path(path).read_bytes()
        size = ctypes.c_size_t(len(data))
        _check(library, handle, library.nvJitLinkAddData(handle, _LTOIR, data, size, path.encode("utf-8")))
    _check(library, handle, library.nvJitLinkComplete(handle))
    name = "Ptx" if kind == "ptx" else "Cubin"
    size_of, read = getattr(library, f"nvJitLinkGetLinked{name}Size"), getattr(library, f"nvJitLinkGetLinked{name}")
    made = read_buffer(size_of, read, handle)
    return made.rstrip(b"\0") if kind == "ptx" else made


def _check(library: ctypes.CDLL, handle: ctypes.c_void_p, status: int) -> None:
    if status == 0:
        return
    log = read_buffer(library.nvJitLinkGetErrorLogSize, library.nvJitLinkGetErrorLog, handle)
    said = log.rstrip(b"\0").decode("utf-8", "backslashreplace").strip()
    raise FailedCompileError(said or f"nvJitLink ends with status {status} and says nothing")


if __name__ == "__main__":
    sys.exit(run_program(main))
