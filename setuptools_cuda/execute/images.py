"""What one nvcc pass leaves in its keep folder, and which file of it is which output."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

_TARGET = re.compile(rb"^\.target\s+sm_(\w+)", re.MULTILINE)
_HEAD = 4096
"""Bytes at the start of a PTX file within which its directives stand."""


class MissingOutputError(OSError):
    """nvcc succeeded without leaving a file that it was expected to leave."""


def collect(spec: dict[str, Any], *, keep: Path, made: Path) -> dict[str, Path]:
    """Return where each output of the job lies: output file (relative to the build folder) to path.

    nvcc names the files that it keeps irregularly, by how many architectures there are; PTX is told
    apart by its ``.target``, a cubin by the one architecture in its name.
    """
    if spec["kind"] != "cuda":
        return {file: made for _, file in spec["outputs"]}
    ptx = {_ptx_target(path): path for path in sorted(keep.glob("*.ptx"))}
    cubins = {_cubin_architecture(path, codes=spec["codes"]): path for path in sorted(keep.glob("*.cubin"))}
    return {file: _find(role, made=made, keep=keep, ptx=ptx, cubins=cubins) for role, file in spec["outputs"]}


def _find(role: str, *, made: Path, keep: Path, ptx: dict[str, Path], cubins: dict[str, Path]) -> Path:
    kind, _, architecture = role.partition(":")
    found: Path | None = made
    if kind == "ptx":
        found = ptx.get(architecture)
    elif kind == "cubin":
        found = cubins.get(architecture)
    elif kind == "fatbin" and made.suffix != ".fatbin":
        found = next(iter(sorted(keep.glob("*.fatbin"))), None)
    if found is None or not found.is_file():
        raise MissingOutputError(f"nvcc left no {role} among {sorted(p.name for p in keep.iterdir())}")
    return found


def _ptx_target(path: Path) -> str:
    with path.open("rb") as file:
        match = _TARGET.search(file.read(_HEAD))
    return match.group(1).decode() if match else ""


def _cubin_architecture(path: Path, *, codes: list[str]) -> str:
    named = re.findall(r"\.(?:sm|compute)_(\w+?)(?=\.)", path.name)
    return named[-1] if named else codes[0]


def find_failing(keep: Path, *, codes: list[str]) -> str:
    """Return the architecture whose code did not compile, or '' where it is not one alone.

    The front end for the host runs first and sees most errors: then no architecture is to blame.
    """
    hosts = list(keep.glob("*.cpp4.ii"))
    if hosts and not list(keep.glob("*.cudafe1.cpp")):
        return ""
    for code in codes:
        tag = f".compute_{code}" if len(codes) > 1 else ""
        if list(keep.glob(f"*{tag}.cpp1.ii")) and not list(keep.glob(f"*{tag}.ptx")):
            return code
    for code in codes:
        tag = f".compute_{code}" if len(codes) > 1 else ""
        if list(keep.glob(f"*{tag}.ptx")) and not list(keep.glob(f"*{tag}*.cubin")):
            return code
    return ""
