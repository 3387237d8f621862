"""Compiles any LLVM IR or bitcode by the LLVM in llvmlite: PTX, with libdevice linked.

Sources: LLVM's "User Guide for NVPTX Back-end" (linking libdevice, kernels), llvmlite's
documentation of its binding layer.
"""

from __future__ import annotations

import argparse
import importlib
import re
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

from setuptools_cuda.execute.device_program import FailedCompileError, check_resolved, run_program, write_text
from setuptools_cuda.resolution.device_sources import FOR_GPUS, describe_foreign

TRIPLE = "nvptx64-nvidia-cuda"
_VERSION = re.compile(r"^\.version (\d+)\.(\d+)$", re.MULTILINE)
_TARGET = re.compile(r"^\.target (\w+)", re.MULTILINE)
_ENTRY = re.compile(r"^\s*(?:\.visible\s+)?\.entry\b", re.MULTILINE)
_CPU = re.compile(r'"(?:target-cpu|target-features|tune-cpu)"="[^"]*"')
_UNKNOWN = (3, 2)
"""The PTX version that LLVM falls back to for an architecture that it does not know."""


def main(argv: Sequence[str]) -> None:
    """Compile as the arguments say. Raises FailedCompileError."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--site", required=True)
    parser.add_argument("--libdevice", required=True)
    parser.add_argument("--output", required=True)
    parser.add_argument("--cpu", required=True)
    parser.add_argument("source")
    given = parser.parse_args(list(argv))
    # At the end: whatever else lies in that folder is not to come before Python's own modules.
    sys.path.append(given.site)
    text = _compile(given.source, cpu=given.cpu, libdevice=Path(given.libdevice))
    check_resolved(text, source=given.source)
    write_text(Path(given.output), text)


def _compile(source: str, *, cpu: str, libdevice: Path) -> str:
    try:
        binding: Any = importlib.import_module("llvmlite.binding")
    except ImportError as error:
        raise FailedCompileError(f"llvmlite cannot be imported: {error}") from error
    binding.initialize_all_targets()
    binding.initialize_all_asmprinters()
    module = _parse(binding, source)
    foreign = describe_foreign(module.triple, layout=module.data_layout)
    if foreign:
        raise FailedCompileError(f"{source} is not for GPUs: {foreign}\n{FOR_GPUS}")
    _link_libdevice(binding, module, libdevice=libdevice)
    module.triple = TRIPLE
    target = binding.Target.from_triple(TRIPLE)
    machine = target.create_target_machine(cpu=cpu, opt=3)
    module.data_layout = str(machine.target_data)
    _optimise(binding, module, machine=machine)
    text = str(machine.emit_assembly(module))
    _check_target(text, cpu=cpu, version=".".join(map(str, binding.llvm_version_info)))
    if not _ENTRY.search(text):
        raise FailedCompileError(
            f"{source} holds no kernel\n"
            'a kernel has the calling convention ptx_kernel (rustc: extern "ptx-kernel"; clang: __global__, '
            "or __attribute__((nvptx_kernel))), or is named in !nvvm.annotations"
        )
    return text


def _parse(binding: Any, source: str) -> Any:
    data = Path(source).read_bytes()
    try:
        bitcode = source.endswith(".bc")
        module = binding.parse_bitcode(data) if bitcode else binding.parse_assembly(data.decode("utf-8"))
        module.verify()
    except (RuntimeError, UnicodeDecodeError) as error:
        version = ".".join(map(str, binding.llvm_version_info))
        raise FailedCompileError(
            f"LLVM {version} (of llvmlite) does not read {source}: {error}\n"
            "IR of a newer LLVM needs a newer llvmlite, or a compiler as old as that LLVM"
        ) from error
    return _without_cpus(binding, module)


def _without_cpus(binding: Any, module: Any) -> Any:
    """Return the module without the processors that its functions name: LLVM inlines none of another processor.

    rustc names sm_30 whatever the module is compiled for, and libdevice names none.
    """
    text = str(module)
    return binding.parse_assembly(_CPU.sub("", text)) if _CPU.search(text) else module


def _link_libdevice(binding: Any, module: Any, *, libdevice: Path) -> None:
    """Link what the module calls of libdevice, and keep the rest of it out of the image."""
    library = binding.parse_bitcode(libdevice.read_bytes())
    names = {function.name for function in library.functions if not function.is_declaration}
    called = {function.name for function in module.functions if function.is_declaration} & names
    if not called:
        return
    # Linking warns of triples and layouts that differ; both modules are for this target.
    library.triple, library.data_layout = module.triple, module.data_layout
    module.link_in(library)
    for function in module.functions:
        if function.name in names and not function.is_declaration:
            function.linkage = "internal"


def _optimise(binding: Any, module: Any, *, machine: Any) -> None:
    options = binding.create_pipeline_tuning_options(speed_level=3)
    builder = binding.create_pass_builder(machine, options)
    builder.getModulePassManager().run(module, builder)


def _check_target(text: str, *, cpu: str, version: str) -> None:
    isa, target = _VERSION.search(text), _TARGET.search(text)
    known = isa is not None and (int(isa[1]), int(isa[2])) > _UNKNOWN
    if not known or target is None or target[1] != cpu:
        raise FailedCompileError(
            f"LLVM {version} (of llvmlite) does not know {cpu}\ntake {cpu} out of the source's architectures, or "
            "build with a newer llvmlite"
        )


if __name__ == "__main__":
    sys.exit(run_program(main))
