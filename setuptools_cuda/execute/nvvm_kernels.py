"""Keeps the kernels of NVVM IR in its LTO-IR: nvJitLink drops one that nothing names, and says nothing.

cicc marks the kernels of CUDA C++ so; IR of others has no reason to. Source for the list of what is
used: "NVVM IR Specification", section "Global Variables" (``llvm.used``).
"""

from __future__ import annotations

import re

from setuptools_cuda.execute.device_program import FailedCompileError

_ANNOTATED = re.compile(r'!\{\s*([^!@{}]+?)\s*(@(?:[\w.$-]+|"[^"\n]*"))\s*,\s*!"kernel"\s*,\s*i32\s+1\b')
_CONVENTION = re.compile(r'^define\s[^@\n]*\bptx_kernel\s[^@\n]*(@(?:[\w.$-]+|"[^"\n]*"))', re.MULTILINE)
_USED = re.compile(r"^@llvm\.used\s*=", re.MULTILINE)


def keep_kernels(text: str, *, source: str) -> str:
    """Return IR with its kernels in ``@llvm.used``. Raises FailedCompileError where that cannot be added."""
    kernels = {name: kind for kind, name in _ANNOTATED.findall(text)}
    kernels |= {name: "ptr" for name in _CONVENTION.findall(text) if name not in kernels}
    if not kernels:
        return text
    if _USED.search(text):
        return _check(text, names=list(kernels), source=source)
    opaque = all(kind == "ptr" for kind in kernels.values())
    items = (f"ptr {name}" if opaque else f"i8* bitcast ({kind} {name} to i8*)" for name, kind in kernels.items())
    pointer = "ptr" if opaque else "i8*"
    entry = f'@llvm.used = appending global [{len(kernels)} x {pointer}] [{", ".join(items)}], section "llvm.metadata"'
    return f"{text}\n{entry}\n"


def _check(text: str, *, names: list[str], source: str) -> str:
    line = next((each for each in text.splitlines() if _USED.match(each)), "")
    lost = [name for name in names if not re.search(rf"{re.escape(name)}(?![\w.$-])", line)]
    if lost:
        raise FailedCompileError(
            f"{source} has an @llvm.used without its kernel {', '.join(lost)}, which a link would drop\n"
            "put the kernel into that list, or leave the list out: then it is made"
        )
    return text
