"""What device sources other than CUDA C++ say of themselves: the dialect of LLVM IR, the target of PTX.

It is read before planning, so that who compiles a source is decided before anything runs.
Sources: NVIDIA's "NVVM IR Specification" (versions, kernels, data layout), LLVM's "Opaque
Pointers", NVIDIA's "Parallel Thread Execution ISA" (``.version``, ``.target``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Literal

from setuptools_cuda.errors import BuildError, Code, Problem, raise_if_any
from setuptools_cuda.resolution.values import Architecture

Kind = Literal["ir", "bitcode", "ptx", "text"]
Pointers = Literal["typed", "opaque", "mixed", "none"]

FOR_GPUS = "have it made for nvptx64-nvidia-cuda (rustc --target nvptx64-nvidia-cuda, clang --cuda-device-only)"
_BITCODE = (b"BC\xc0\xde", b"\xde\xc0\x17\x0b")
"""How bitcode begins: the raw format, and the wrapper of Apple's tools (LLVM "Bitcode File Format")."""
_STRING_OR_COMMENT = re.compile(r'"[^"\n]*"|;[^\n]*')
_TYPED = re.compile(r"[\w\])}>]\s*(?:addrspace\(\s*\d+\s*\)\s*)?\*")
"""Outside strings and comments a star in LLVM IR is nothing but a typed pointer."""
_OPAQUE = re.compile(r"(?<![\w%@!.$#-])ptr(?![\w.$:-])")
_VERSION_LIST = re.compile(r"^!nvvmir\.version\s*=\s*!\{\s*!(\d+)", re.MULTILINE)
_LAYOUT = re.compile(r'^target\s+datalayout\s*=\s*"([^"]*)"', re.MULTILINE)
_TRIPLE = re.compile(r'^target\s+triple\s*=\s*"([^"]*)"', re.MULTILINE)
_NVVM_LAYOUT = "e-p:64:64:64-i1:8:8"
NVVM_LINES = {
    "target datalayout": 'target datalayout = "e-p:64:64:64-i1:8:8-i8:8:8-i16:16:16-i32:32:32-i64:64:64-i128:128:128'
    '-f32:32:32-f64:64:64-v16:16:16-v32:32:32-v64:64:64-v128:128:128-n16:32:64"',
    "target triple": 'target triple = "nvptx64-nvidia-cuda"',
}
"""The lines that libNVVM wants ("NVVM IR Specification", chapters "Data Layout" and "Target Triple")."""
_SHORT_POINTERS = re.compile(r"(?:^|-)p:32:")
_ANY_MACHINE = ("nvptx64", "unknown")
"""How triples begin of IR that can be for GPUs; generators that set none write 'unknown-unknown-unknown'."""
_PTX_VERSION = re.compile(r"\A\s*\.version\s+(\d+)\.(\d+)", re.ASCII)
_PTX_TARGET = re.compile(r"\s*\.target\s+sm_(\d+)([af]?)\b", re.ASCII)
_PTX_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_WORD = re.compile(r"[A-Za-z_]\w*")
_CUDA_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)
_KERNEL_HEAD = re.compile(r"\b__global__\b([^{;]*)")
_CALLED = re.compile(r"([A-Za-z_]\w*)\s*\(")


@dataclass(frozen=True)
class SourceFacts:
    """One source as its text tells it."""

    kind: Kind
    pointers: Pointers = "none"
    nvvm_version: tuple[int, int] | None = None
    """The ``!nvvmir.version`` of IR, as (2, 0); None where it has none, as IR of clang and rustc."""
    nvvm_layout: bool = True
    """Whether the data layout is the one that libNVVM knows."""
    lacks: tuple[str, ...] = ()
    """The lines of IR that libNVVM wants and that are not there, as 'target triple'."""
    isa: tuple[int, int] = (0, 0)
    """The ``.version`` of PTX."""
    target: Architecture | None = None
    """The ``.target`` of PTX."""
    words: frozenset[str] = frozenset()
    """The identifiers of CUDA C++, read where template instantiations are asked for."""
    kernels: frozenset[str] = frozenset()
    """Those of ``words`` that stand before a '(' in the head of a ``__global__`` function: its name, and attributes."""

    @property
    def dialect(self) -> str:
        """Return the dialect of IR as a person would say it."""
        if self.kind == "bitcode":
            return "LLVM bitcode"
        shown = {
            "typed": "LLVM IR with typed pointers (float*)",
            "opaque": "LLVM IR with opaque pointers (ptr)",
            "mixed": "LLVM IR with typed and with opaque pointers (float*, ptr)",
            "none": "LLVM IR without pointers",
        }[self.pointers]
        if self.nvvm_version is None:
            return f"{shown} and without !nvvmir.version"
        return f"{shown} and !nvvmir.version {self.nvvm_version[0]}.{self.nvvm_version[1]}"


def read_sources(sources: Iterable[str], *, root: Path, words: Iterable[str] = ()) -> Mapping[str, SourceFacts]:
    """Return the facts of each ``.ll``, ``.bc`` and ``.ptx``, and the words of the sources in ``words``.

    Raises:
        BuildError: BAD_INPUT_FILE for each that is not what its suffix says.
    """
    found: dict[str, SourceFacts] = {}
    problems: list[Problem] = []
    for source in dict.fromkeys(sources):
        parse = _PARSERS.get(PurePosixPath(source).suffix)
        if parse is None or not (root / source).is_file():
            continue
        try:
            found[source] = parse((root / source).read_bytes(), source)
        except BuildError as error:
            problems.extend(error.problems)
    raise_if_any(problems)
    for source in dict.fromkeys(words):
        if source not in found and (root / source).is_file():
            found[source] = parse_cuda((root / source).read_text("utf-8", "replace"))
    return found


def parse_cuda(text: str) -> SourceFacts:
    """Return the words of CUDA C++, and which of them are names of kernels, as far as no macro hides them."""
    code = _CUDA_COMMENT.sub(" ", text)
    kernels = {name for head in _KERNEL_HEAD.findall(code) for name in _CALLED.findall(head)}
    return SourceFacts("text", words=frozenset(_WORD.findall(text)), kernels=frozenset(kernels))


def parse_ir(data: bytes, source: str) -> SourceFacts:
    """Return the dialect of textual IR. Raises BuildError for bitcode and for what is no text."""
    if data.startswith(_BITCODE):
        raise BuildError(_bad(source, "it holds LLVM bitcode", fix=("give it the suffix .bc",)))
    text = data.decode("utf-8", "replace")
    layout, triple = _LAYOUT.search(text), _TRIPLE.search(text)
    foreign = describe_foreign(triple[1] if triple else "", layout=layout[1] if layout else "")
    if foreign:
        raise BuildError(_bad(source, foreign, fix=(FOR_GPUS,)))
    lines = {"target datalayout": layout, "target triple": triple}
    code = _STRING_OR_COMMENT.sub(" ", text)
    typed, opaque = _TYPED.search(code) is not None, _OPAQUE.search(code) is not None
    pointers: Pointers = "mixed" if typed and opaque else "typed" if typed else "opaque" if opaque else "none"
    return SourceFacts(
        "ir",
        pointers,
        _find_nvvm_version(code),
        nvvm_layout=layout is not None and layout[1].startswith(_NVVM_LAYOUT),
        lacks=tuple(name for name, line in lines.items() if line is None),
    )


def describe_foreign(triple: str, *, layout: str) -> str:
    """Return why IR with this target triple and data layout is for another machine than a GPU; '' where it is not."""
    if triple and not triple.startswith(_ANY_MACHINE):
        return f"it is IR for {triple}, by its target triple"
    if _SHORT_POINTERS.search(layout):
        return "its data layout has pointers of 32 bits, and GPUs of today have those of 64"
    return ""


def parse_bitcode(data: bytes, source: str) -> SourceFacts:
    """Return the facts of bitcode. Raises BuildError for what is none."""
    if not data.startswith(_BITCODE):
        fix = ("give textual IR the suffix .ll", "or have the file made anew (clang -emit-llvm, rustc --emit=llvm-bc)")
        raise BuildError(_bad(source, "it does not begin as LLVM bitcode does", fix=fix))
    return SourceFacts("bitcode", "opaque")


def parse_ptx_head(data: bytes, source: str) -> SourceFacts:
    """Return version and target of PTX text. Raises BuildError for what is none."""
    code = _PTX_COMMENT.sub(" ", data.decode("utf-8", "replace"))
    version = _PTX_VERSION.match(code)
    target = _PTX_TARGET.match(code, version.end()) if version else None
    if version is None or target is None:
        missing = ".version" if version is None else ".target sm_NN"
        raise BuildError(_bad(source, f"PTX begins with '.version' and '.target'; '{missing}' is not there"))
    variant: Literal["", "a", "f"] = "a" if target[2] == "a" else "f" if target[2] == "f" else ""
    return SourceFacts("ptx", isa=(int(version[1]), int(version[2])), target=Architecture(int(target[1]), variant))


_PARSERS = {".ll": parse_ir, ".bc": parse_bitcode, ".ptx": parse_ptx_head}


def _find_nvvm_version(code: str) -> tuple[int, int] | None:
    named = _VERSION_LIST.search(code)
    if named is None:
        return None
    node = re.search(rf"^!{named[1]}\s*=\s*!\{{\s*i32\s+(\d+)\s*,\s*i32\s+(\d+)", code, re.MULTILINE)
    return (int(node[1]), int(node[2])) if node else (0, 0)


def _bad(source: str, why: str, *, fix: tuple[str, ...] = ()) -> Problem:
    return Problem(Code.BAD_INPUT_FILE, f"{source} is not what its suffix says", source, (("because", why),), fix)
