"""What a job is, as labelled parts, and the key that they come to. Pure.

Two jobs with one key and the same files before them make the same. Parts are labelled, in a fixed
order and each with its length, so that no two lists of parts run together to one key.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from setuptools_cuda.plan.values import Job

# Raised whenever what goes into a key or into an entry changes, so that old and new never meet.
VERSION = "setuptools_cuda job 2"
_OF_COMPILES = (
    # nvcc.profile builds on these (CUDA Compiler Driver, "nvcc.profile"); an option in one is an option.
    *("INCLUDES", "SYSTEM_INCLUDES", "CUDAFE_FLAGS", "PTXAS_FLAGS", "NVVMIR_LIBRARY_DIR"),
    # "Environment Variables Affecting GCC"; clang reads them too.
    *("CPATH", "C_INCLUDE_PATH", "CPLUS_INCLUDE_PATH", "SOURCE_DATE_EPOCH"),
)
_OF_ALL = (
    *("LIBRARIES", "CICC_PATH", "NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS"),
    *("LIBRARY_PATH", "COMPILER_PATH", "GCC_EXEC_PREFIX", "CCC_OVERRIDE_OPTIONS"),
    *("LD_RUN_PATH", "GNUTARGET", "LDEMULATION", "MACOSX_DEPLOYMENT_TARGET", "SDKROOT"),
)
_COMPILES = (*_OF_COMPILES, *_OF_ALL)
VARIABLES: Mapping[str, tuple[str, ...]] = {
    **dict.fromkeys(("cuda", "device", "host"), _COMPILES),
    **dict.fromkeys(("link", "device-link"), _OF_ALL),
}
"""Variables that change what comes out, by the kind of job; what reads none is not there."""
_FLAGS = ("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS")
_NAMES_ROOT = ("-lineinfo", "--generate-line-info", "-G", "--device-debug")
"""Options of nvcc under which device code names the absolute path of its source."""
_MAKES_MORE = ("--save-temps", "-save-temps", "--coverage", "-ftest-coverage", "-fprofile-arcs", "-gsplit-dwarf")
_READS_MORE = (
    *("-fprofile-use", "-fprofile-dir", "-fauto-profile", "-fbranch-probabilities", "-fmodules", "-fmodule-file"),
    *("-B", "-I-", "-wrapper", "-ldir", "--libdevice-directory"),
)
_CACHED = frozenset({"cuda", "device", "host", "cython", "device-link"})


@dataclass(frozen=True)
class Fingerprint:
    """The parts of a job in their order: (label, text)."""

    parts: tuple[tuple[str, str], ...]

    @property
    def key(self) -> str:
        """Return the key of the parts, in hexadecimal digits."""
        return digest_parts(self.parts)

    def render(self) -> str:
        """Return the parts as lines, to be compared by eye or by diff."""
        return "".join(f"{label}: {text!r}\n" for label, text in self.parts)


def make_fingerprint(
    job: Job, *, identity: str, compiler: Sequence[tuple[str, str]], variables: Mapping[str, str], root: str
) -> Fingerprint:
    """Return the fingerprint of ``job``.

    ``identity`` is the toolchain's, ``compiler`` what is known of the programs that are called
    besides it; ``root`` counts only where the output names it.
    """
    return Fingerprint(
        tuple(_parts(job, identity=identity, compiler=compiler, variables=variables, root=root)),
    )


def _parts(
    job: Job, *, identity: str, compiler: Sequence[tuple[str, str]], variables: Mapping[str, str], root: str
) -> Iterator[tuple[str, str]]:
    yield "version", VERSION
    yield "kind", job.kind
    yield "plan key", job.key
    yield from (("argument", word) for word in job.argv)
    yield from (("output", output.role) for output in job.outputs)
    yield "toolchain", identity
    yield from compiler
    yield from ((f"variable {name}", value) for name in VARIABLES.get(job.kind, ()) if (value := variables.get(name)))
    if names_root((*job.argv, *(word for name in _FLAGS for word in variables.get(name, "").split()))):
        yield "project", root


def names_root(words: Iterable[str]) -> bool:
    """Return whether outputs of a command with these words name the project's folder."""
    return any(word in _NAMES_ROOT for word in words)


def digest_parts(parts: Iterable[tuple[str, str]]) -> str:
    """Return the hexadecimal SHA-256 over labelled parts, in their order."""
    content = hashlib.sha256()
    for pair in parts:
        for text in pair:
            data = text.encode("utf-8", "surrogateescape")
            content.update(b"%d:" % len(data))
            content.update(data)
    return content.hexdigest()


def explain_uncached(job: Job) -> str:
    """Return why outputs of ``job`` are not for the cache, or ''.

    What reads files that no list of dependencies tells of, or makes files that are no outputs, is not.
    """
    if job.kind not in _CACHED:
        return f"{job.kind} reads files of the system that nobody lists"
    if job.launched:
        return "a launcher stands before it"
    for word in job.argv:
        if fault := _find_fault(word):
            return f"{word} {fault}"
    if job.kind != "device-link" and not (job.depfile or job.kind == "device"):
        return "it does not say what it reads"
    return ""


def _find_fault(word: str) -> str:
    if word.startswith(_READS_MORE):
        return "may read files that nobody lists"
    if word.startswith(_MAKES_MORE):
        return "makes other files"
    return "depends on the processor" if word.endswith("=native") else ""
