"""ELF files by pyelftools: how a host file is linked, and what a cubin says of itself."""

from __future__ import annotations

import importlib
import io
import re
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from setuptools_cuda.errors import BuildError, Code, Problem
from setuptools_cuda.inspection.values import CubinFacts, ElfFacts, Kind, Linkage

if TYPE_CHECKING:
    from elftools.elf.elffile import ELFFile

CUDA_LIBRARY = re.compile(
    r"lib(?:cuda|nvidia-ml|nvidia-ptxjitcompiler|cudart|cublas|cublasLt|nvblas|cufft|cufftw|cufile|cufile_rdma|curand|"
    r"cusolver|cusolverMg|cusparse|cusparseLt|cupti|cudnn\w*|nccl|nvshmem\w*|npp\w+|nvfatbin|nvJitLink|nvjpeg|nvrtc|"
    r"nvrtc-builtins|nvToolsExt|nvtx3interop|nvvm|nvperf_\w+|pcsamplingutil|cutensor\w*|OpenCL|torch\w*|c10\w*)"
    r"(?:-[0-9a-f]{8})?\.so(?:\.[\d.]+)?"
)
"""Libraries of the toolkit, the driver, NVIDIA's other wheels and PyTorch; also as auditwheel renames them."""
_RUNTIME = re.compile(r"libcudart(?:-[0-9a-f]{8})?\.so(?:\.[\d.]+)?")
_RUNTIME_FUNCTION = re.compile(r"(?:__)?cuda[A-Z]\w+")
_DEVICE_SECTIONS = (".nv_fatbin", "__nv_relfatbin")
_DRIVER_NAME = b"libcuda.so.1\0"
CUDA_MACHINE = "EM_CUDA"
# "PTX Writer's Guide to Interoperability", System Calls: the driver has these.
SYSTEM_CALLS = frozenset({"vprintf", "malloc", "free", "__assertfail"})
_UNDEFINED = "SHN_UNDEF"


@contextmanager
def open_elf(content: bytes) -> Iterator[ELFFile]:
    """Yield a reader of ``content``.

    Raises:
        BuildError: MISSING_TOOL where pyelftools is not installed; BAD_VALUE for no ELF file, and for a
            damaged one, whatever it is that the reader stumbles over.
    """
    try:
        module: Any = importlib.import_module("elftools.elf.elffile")
    except ImportError as error:
        raise BuildError(
            Problem(
                Code.MISSING_TOOL,
                "pyelftools, which reads ELF files, is not installed",
                fix=("pip install 'setuptools-cuda-build[inspect]'",),
            )
        ) from error
    try:
        yield module.ELFFile(io.BytesIO(content))
    except Exception as error:  # a damaged file leads the reader anywhere
        said = str(error) or type(error).__name__
        raise BuildError(Problem(Code.BAD_VALUE, "it is no whole ELF file", details=(("said", said),))) from error


def read_host(path: Path) -> ElfFacts:
    """Return how an object, a shared library or a program is linked with CUDA. Raises BuildError."""
    content = path.read_bytes()
    with open_elf(content) as elf:
        return _read_host(elf, content=content)


def _read_host(elf: ELFFile, *, content: bytes) -> ElfFacts:
    kinds: dict[str, Kind] = {"ET_REL": "object", "ET_EXEC": "executable"}
    kind = kinds.get(str(elf.header["e_type"]), "shared")
    sizes = [section["sh_size"] for name in _DEVICE_SECTIONS if (section := elf.get_section_by_name(name))]
    needed = _dynamic(elf, "DT_NEEDED")
    runpath = (*_dynamic(elf, "DT_RUNPATH"), *_dynamic(elf, "DT_RPATH"))
    return ElfFacts(
        kind,
        needed=tuple(name for name in needed if CUDA_LIBRARY.fullmatch(name)),
        runpath=tuple(part for each in runpath for part in each.split(":")),
        cudart=None if kind == "object" else _find_linkage(elf, needed=needed, content=content),
        device_size=sum(sizes),
    )


def _find_linkage(elf: ELFFile, *, needed: tuple[str, ...], content: bytes) -> Linkage | None:
    """Return how the runtime is linked, by what must hold; None where a stripped file does not tell.

    Code that nvcc compiled registers itself by a function of the runtime. So a file with such
    code either leaves that function to a shared runtime, or has the static one in it.
    """
    if any(_RUNTIME.fullmatch(name) for name in needed):
        return "shared"
    undefined = {name for name, section in _symbols(elf, ".dynsym") if section == _UNDEFINED}
    if any(_RUNTIME_FUNCTION.fullmatch(name) for name in undefined):
        return "shared"
    names = {name for name, section in _symbols(elf, ".symtab") if section != _UNDEFINED}
    if elf.get_section_by_name(".nvFatBinSegment") or any(map(_RUNTIME_FUNCTION.fullmatch, names)):
        return "static"
    if names or _DRIVER_NAME not in content:
        return "none"
    return None


def read_cubin(content: bytes) -> CubinFacts:
    """Return what a cubin says of itself. Raises BuildError where it is no whole ELF file."""
    with open_elf(content) as elf:
        return _read_cubin(elf, content=content)


def _read_cubin(elf: ELFFile, *, content: bytes) -> CubinFacts:
    note = elf.get_section_by_name(".note.nv.cuinfo")
    maker = b"%d %d " % (content[8], elf.header["e_flags"]) + content[20:24] + (note.data() if note else b"")
    family = _find_family(elf)
    if str(elf.header["e_type"]) != "ET_REL":
        return CubinFacts(relocatable=False, maker=maker, family=family)
    symbols = [
        (symbol.name, str(symbol["st_shndx"]), str(symbol["st_info"]["bind"]))
        for symbol in _iterate(elf, ".symtab")
        if symbol.name and symbol["st_info"]["bind"] != "STB_LOCAL"
    ]
    # A weak one may stay undefined, as those do that NVIDIA's own tables bring.
    undefined = frozenset(name for name, section, bind in symbols if section == _UNDEFINED and bind == "STB_GLOBAL")
    defined = frozenset(name for name, section, _ in symbols if section != _UNDEFINED)
    return CubinFacts(relocatable=True, maker=maker, family=family, undefined=undefined - SYSTEM_CALLS, defined=defined)


def _find_family(elf: ELFFile) -> str:
    """Return '100f' where ptxas noted that it made code of a family: cuobjdump calls such a cubin '100'."""
    note = elf.get_section_by_name(".note.nv.tkinfo")
    found = set(re.findall(rb"-arch sm_(\d+[af]?)(?![\w])", note.data())) if note else set[bytes]()
    name = found.pop().decode("ascii") if len(found) == 1 else ""
    return name if name.endswith("f") else ""


def is_cubin(content: bytes) -> bool:
    """Return whether an ELF file is one of NVIDIA's machines."""
    with open_elf(content) as elf:
        return str(elf.header["e_machine"]) == CUDA_MACHINE


def _symbols(elf: ELFFile, name: str) -> Iterator[tuple[str, str]]:
    for symbol in _iterate(elf, name):
        yield symbol.name, str(symbol["st_shndx"])


def _iterate(elf: ELFFile, name: str) -> Iterator[Any]:
    section: Any = elf.get_section_by_name(name)
    if section is not None and hasattr(section, "iter_symbols"):
        yield from section.iter_symbols()


def _dynamic(elf: ELFFile, tag: str) -> tuple[str, ...]:
    section: Any = elf.get_section_by_name(".dynamic")
    if section is None or not hasattr(section, "iter_tags"):
        return ()
    field = tag.removeprefix("DT_").lower()
    return tuple(str(getattr(each, field)) for each in section.iter_tags() if each.entry.d_tag == tag)
