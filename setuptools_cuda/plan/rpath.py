"""Where a shared object finds NVIDIA's libraries at run time, and what has to be installed for that. Pure."""

from __future__ import annotations

from collections.abc import Iterable

from setuptools_cuda.config.model import Cudart
from setuptools_cuda.plan.targets import Planning
from setuptools_cuda.resolution.cuda_libraries import find_requirement
from setuptools_cuda.resolution.values import Toolchain

RUNTIME_WHEEL = "nvidia-cuda-runtime"


def up_to_site(folder: str) -> str:
    """Return the ``$ORIGIN`` path from a folder of the wheel to the folder that it is installed in."""
    depth = len([part for part in folder.split("/") if part])
    return "/".join(["$ORIGIN", *[".."] * depth])


def plan_rpaths(folder: str, *, cuda: Iterable[str], cudart: Cudart, planning: Planning) -> tuple[str, ...]:
    """Return the run paths of a shared object in ``folder``: NVIDIA's wheels, where it needs one of them."""
    toolchain = planning.facts.toolchain
    if toolchain is None or not wheel_requirements(cuda, cudart=cudart, toolchain=toolchain):
        return ()
    return (f"{up_to_site(folder)}/nvidia/cu{toolchain.release.major}/lib",)


def wheel_requirements(cuda: Iterable[str], *, cudart: Cudart, toolchain: Toolchain | None) -> tuple[str, ...]:
    """Return the distributions whose shared libraries are needed at run time, as requirements."""
    if toolchain is None:
        return ()
    wheels = [RUNTIME_WHEEL] if cudart == "shared" else []
    wheels += [wheel for wheel in map(find_requirement, cuda) if wheel]
    return tuple(
        f"{wheel}=={toolchain.release.major}.*" if wheel == RUNTIME_WHEEL else wheel for wheel in dict.fromkeys(wheels)
    )
