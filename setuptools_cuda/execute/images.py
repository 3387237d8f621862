"""What one nvcc pass leaves in its keep folder, and which file of it is which output."""

from __future__ import annotations

import os

TYPE_CHECKING = False
"""As in :mod:`typing`, which is slow to import."""
if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

_TARGET = b".target sm_"
_HEAD = 4096
"""Bytes at the start of a PTX file within which its directives stand."""


class MissingOutputError(OSError):
    """nvcc succeeded without leaving a file that it was expected to leave."""


def collect(
    outputs: Iterable[tuple[str, str]], *, kind: str, codes: Sequence[str], keep: str, made: str
) -> dict[str, str]:
    """Return where each of ``outputs`` (role, file) lies: file, relative to the build folder, to path.

    nvcc names the files that it keeps irregularly, by how many architectures there are; PTX is told
    apart by its ``.target``, a cubin by the one architecture in its name.
    """
    if kind == "device":
        return {file: _first_there(f"{keep}/{role.replace(':', '-')}", made) for role, file in outputs}
    if kind != "cuda":
        return {file: made for _, file in outputs}
    wanted = list(outputs)
    kept = sorted(os.listdir(keep))  # noqa: PTH208 - pathlib is slow to import
    found = {"object": made}
    if any(role.startswith("ptx:") for role, _ in wanted):
        found |= {f"ptx:{_ptx_target(f'{keep}/{name}')}": f"{keep}/{name}" for name in kept if name.endswith(".ptx")}
    for name in kept:
        if name.endswith(".cubin"):
            found[f"cubin:{_cubin_architecture(name, codes=codes)}"] = f"{keep}/{name}"
    # What nvcc was asked to make is the object, where one is wanted, else the fatbin: both are never one file.
    fatbins = [f"{keep}/{name}" for name in kept if name.endswith(".fatbin")]
    found["fatbin"] = next(iter(fatbins), "") if any(role == "object" for role, _ in wanted) else made
    return {file: _find(role, found=found, kept=kept, made=made) for role, file in wanted}


def _first_there(path: str, other: str) -> str:
    return path if os.path.isfile(path) else other  # noqa: PTH113 - pathlib is slow to import


def _find(role: str, *, found: Mapping[str, str], kept: Sequence[str], made: str) -> str:
    kept_role = role.startswith(("ptx:", "cubin:", "fatbin"))
    path = found.get(role, "") if kept_role else found.get(role, made)
    if not path or not os.path.isfile(path):  # noqa: PTH113 - pathlib is slow to import
        raise MissingOutputError(f"nvcc left no {role} among {list(kept)}")
    return path


def _ptx_target(path: str) -> str:
    with open(path, "rb") as file:  # noqa: PTH123 - pathlib is slow to import
        head = b"\n" + file.read(_HEAD)
    for line in head.split(b"\n"):
        if line.replace(b"\t", b" ").startswith(_TARGET):
            return line[len(_TARGET) :].split(b",")[0].strip().decode("ascii", "replace")
    return ""


def _cubin_architecture(name: str, *, codes: Sequence[str]) -> str:
    parts = [part for part in name.split(".")[:-1] if part.startswith(("sm_", "compute_"))]
    return parts[-1].partition("_")[2] if parts else codes[0]


def find_failing(keep: str | os.PathLike[str], *, codes: Sequence[str]) -> str:
    """Return the architecture whose code did not compile, or '' where it is not one alone.

    The front end for the host runs first and sees most errors: then no architecture is to blame.
    """
    kept = os.listdir(keep)  # noqa: PTH208 - pathlib is slow to import
    if _has(kept, ".cpp4.ii") and not _has(kept, ".cudafe1.cpp"):
        return ""
    tags = {code: f".compute_{code}" if len(codes) > 1 else "" for code in codes}
    unfinished = [code for code, tag in tags.items() if _has(kept, f"{tag}.cpp1.ii") and not _has(kept, f"{tag}.ptx")]
    if unfinished:
        # Of several, which threads of nvcc work on at once, any may be the one.
        return unfinished[0] if len(unfinished) == 1 else ""
    for code, tag in tags.items():
        cubins = [name for name in kept if name.endswith(".cubin") and (not tag or f"{tag}." in name)]
        if _has(kept, f"{tag}.ptx") and not cubins:
            return code
    return ""


def _has(names: Iterable[str], end: str) -> bool:
    return any(name.endswith(end) for name in names)
