"""The record of a failed job, as a problem in the user's words. Pure."""

from __future__ import annotations

import re
import shlex
from pathlib import Path
from typing import Any

from setuptools_cuda.errors import Code, Problem
from setuptools_cuda.execute.fields import read_fields
from setuptools_cuda.execute.memory import was_out_of_memory

LINES = 20
"""Lines of a compiler's output that a message shows, from its first error on."""
_WIDTH = 1000
"""Letters of a line that it shows."""
_ERROR = re.compile(
    r"\b(?:fatal\s*)?error\b|\bfatal\b|undefined reference|No such file|multiple definition|cannot find"
    r"|final link failed|No space left",
    re.I,
)
_FULL = re.compile(r"No space left on device|Disk quota exceeded")
_FREE = "free some space where the project and where TMPDIR (else /tmp) lies, and build again"
_BY_NVCC = 'or let device-compiler = "nvcc" compile the source (it needs a C++ compiler)'
# What is searched is the title of the job, a line of its own, and what the compiler said.
HINTS = (
    (re.compile(r"Unsupported \.version"), "the toolkit mixes releases: install one release of all its wheels"),
    (
        re.compile(
            r'open source file "(?:nv/target|cuda/std/|cub/|thrust/)'
            r"|(?:nv/target|(?:cuda/std|cub|thrust)/[\w./]+): No such file"
        ),
        "the toolkit's C++ libraries are missing: add the wheel nvidia-cuda-cccl",
    ),
    (re.compile(r"unsupported GNU version|unsupported clang version"), "set host-compiler to an older compiler"),
    (
        re.compile(r"\A[^\n]+ linked for [^\n]+\n.*Unresolved extern function", re.DOTALL),
        "no source of the kernel module defines that function: list the source that does, or take the call out",
    ),
    (
        re.compile(r"\A[^\n]+ by ptxas [^\n]+\n.*Unresolved extern function", re.DOTALL),
        "put the definition into the same file: PTX is not linked with other sources",
    ),
    (
        re.compile(r"\A(?![^\n]+ (?:linked for|by ptxas) ).*Unresolved extern function", re.DOTALL),
        'set rdc = true for the target (for a kernel module: device-link = "build"), so that device code is linked',
    ),
    (
        re.compile(r"_instances\.cu\(\d+\): error|__nv_name_map"),
        "look at `instantiate`: the template may have another name or namespace, or take other arguments",
    ),
    (
        re.compile(
            r'\A[^\n]+ by nvrtc .*open source file "(?:[a-z_]+|(?:std\w+|assert|limits|math|string)\.h)"', re.DOTALL
        ),
        f"NVRTC has no headers of C and C++: include <cuda/std/cstdint> and the like, {_BY_NVCC}",
    ),
    (
        re.compile(r"not allowed in JIT mode"),
        f"NVRTC compiles no code for the host: put such code under #ifndef __CUDACC_RTC__, {_BY_NVCC}",
    ),
    (
        re.compile(r"(pybind11/\w+|nanobind/\w+|numpy/\w+|torch/\w+)\.h: No such file"),
        'name the package that has this header in `uses` (uses = ["pybind11"]), and in build-system.requires',
    ),
    (re.compile(r"Python\.h: No such file"), "install the headers of this Python (python3-dev on Debian)"),
    # process.py shows a byte that is not UTF-8 so.
    (re.compile(r"invalid multibyte|unrecognized token\n.*\\x[89a-f]"), "save the source in UTF-8"),
)


def describe_failure(record: dict[str, Any]) -> Problem:
    """Return the problem: the first error, the source, the architecture, and the command to repeat it."""
    output = str(record["output"])
    details = [("error", _first_error(output, status=int(record["status"])))]
    if record["source"]:
        details.append(("source", str(record["source"])))
    if record["codes"]:
        details.append(("for", _architectures(record)))
    details.append(("used by", ", ".join(record["used_by"])))
    details.append(("command", _repeatable(record["argv"])))
    code, what, fix = _classify(record, output=output)
    return Problem(code, what, details=tuple(details), fix=fix)


def read_failure(path: Path) -> dict[str, Any]:
    """Return the record of a failed job that its runner left. Raises OSError, ValueError."""
    fields = read_fields(str(path))
    one = ("kind", "title", "source", "architecture", "status", "attempts", "output", "started", "time")
    return {**fields, **{name: fields[name][0] for name in one}}


def describe_stop(output: str) -> Problem:
    """Return the problem that ninja ended without a record of a failed job; ``output`` is what it said."""
    details = (("said", output),)
    if _FULL.search(output):
        return Problem(Code.DISK_FULL, "the disk became full during the build", details=details, fix=(_FREE,))
    return Problem(Code.TOOL_FAILED, "ninja, which runs the compilers, did not finish", details=details)


def _classify(record: dict[str, Any], *, output: str) -> tuple[Code, str, tuple[str, ...]]:
    title = record["title"]
    if _FULL.search(output):
        return Code.DISK_FULL, f"the disk became full while {title} was made", (_FREE,)
    if was_out_of_memory(int(record["status"]), output=output):
        return _describe_lack(title, attempts=int(record["attempts"]))
    fix = tuple(hint for pattern, hint in HINTS if pattern.search(f"{title}\n{output}"))
    if record["kind"] in {"link", "device-link", "archive"}:
        return Code.LINK_FAILED, f"{title} does not link", fix
    return Code.COMPILE_FAILED, f"{record['source'] or title} does not compile", fix


def _describe_lack(title: str, *, attempts: int) -> tuple[Code, str, tuple[str, ...]]:
    lower = 'set jobs (or MAX_JOBS) lower, or memory for this source, as memory = "4 GiB"'
    what = f"the compiler of {title} was killed: most likely the machine is out of memory"
    if attempts < 2:
        return Code.OUT_OF_MEMORY, what, (lower,)
    what = f"the compiler of {title} was killed, and again when it ran alone: there is too little memory for it"
    fix = (
        "give the machine or its container more memory, or swap; fewer architectures and NVCC_THREADS=1 need less",
        "a source that is split into several needs less, too",
    )
    return Code.OUT_OF_MEMORY, what, fix


def _first_error(output: str, *, status: int) -> str:
    lines = output.strip().splitlines()
    start = next((number for number, line in enumerate(lines) if _ERROR.search(line)), 0)
    shown = [_readable(line) for line in lines[start : start + LINES]]
    if len(lines) - start > LINES:
        shown.append(f"... and {len(lines) - start - LINES} lines more")
    ended = f"was ended by signal {-status}" if status < 0 else f"ended with status {status}"
    return "\n".join(shown) or f"it {ended}, and said nothing"


def _readable(line: str) -> str:
    """Return a line without what a terminal would obey, and not longer than a person reads."""
    kept = line if len(line) <= _WIDTH else f"{line[:_WIDTH]} ... and {len(line) - _WIDTH} letters more"
    return "".join(
        letter if letter.isprintable() or letter == "\t" else letter.encode("unicode_escape").decode("ascii")
        for letter in kept
    )


def _architectures(record: dict[str, Any]) -> str:
    everything = ", ".join(f"sm_{code}" for code in record["codes"])
    failing = record["architecture"]
    return f"sm_{failing} (of {everything})" if failing and len(record["codes"]) > 1 else everything


def _repeatable(argv: list[str]) -> str:
    """Return the command without what leads to the scratch folder, which is gone, and with no output."""
    words: list[str] = []
    for previous, word in zip(("", *argv), argv, strict=False):
        if previous in {"-o", "-MF"}:
            words.append("/dev/null")
        elif word not in {"--keep", "--keep-dir"} and previous != "--keep-dir":
            words.append(word)
    return shlex.join(words)
