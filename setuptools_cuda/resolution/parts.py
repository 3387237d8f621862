"""The parts of a toolkit that a compile needs: which are there, and what brings those that are not."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from setuptools_cuda.config.model import Settings
from setuptools_cuda.environment import Environment
from setuptools_cuda.errors import Code, Problem
from setuptools_cuda.resolution.host_probe import probe_headers, probe_library
from setuptools_cuda.resolution.probe import Layout, Toolkit
from setuptools_cuda.resolution.wheels import find_elsewhere


@dataclass(frozen=True)
class Part:
    """One part, which wheels and distributions ship by itself."""

    name: str
    wheel: str
    conda: str
    debian: str
    headers: tuple[str, ...] = ()
    """Headers of which each has to be found."""


# The wheels as NVIDIA names them on PyPI, the others as conda-forge and Debian do.
PARTS = (
    Part("crt", "nvidia-cuda-crt", "cuda-crt", "nvidia-cuda-dev", headers=("crt/host_config.h",)),
    Part("nvvm", "nvidia-nvvm", "cuda-nvvm", "nvidia-cuda-toolkit"),
    Part("cccl", "nvidia-cuda-cccl", "cuda-cccl", "libcu++-dev", headers=("nv/target",)),
    Part("cudart", "nvidia-cuda-runtime", "cuda-cudart-dev", "nvidia-cuda-dev", headers=("cuda_runtime.h",)),
)
_STATIC_RUNTIME = "libcudart_static.a"


def diagnose_parts(
    toolkit: Toolkit, *, settings: Settings, host_compiler: Path, environment: Environment
) -> Problem | None:
    """Return what a toolkit lacks, all parts at once, or None for a whole one."""
    layout = toolkit.layout
    missing = _list_missing(layout, host_compiler=host_compiler, environment=environment)
    static = settings.project.cudart in (None, "static")
    if static and not missing["cudart"] and not _has_runtime(layout, host_compiler, environment=environment):
        missing["cudart"] = (_STATIC_RUNTIME,)
    parts = tuple(part for part in PARTS if missing[part.name])
    if not parts:
        return None
    lines = "\n".join(f"{part.name}: no {', no '.join(missing[part.name])}" for part in parts)
    details = [("missing", lines), ("nvcc", f"{layout.nvcc}, release {toolkit.release}")]
    if toolkit.site is not None:
        details.extend(_explain_split(parts, site=toolkit.site, environment=environment))
    what = f"the toolkit lacks {', '.join(part.name for part in parts)}"
    fix = _suggest(parts, toolkit=toolkit, environment=environment)
    return Problem(Code.PARTIAL_TOOLKIT, what, str(layout.root), tuple(details), fix)


def _list_missing(layout: Layout, *, host_compiler: Path, environment: Environment) -> dict[str, tuple[str, ...]]:
    """Return what is not found of each part, by its name."""
    headers = tuple(header for part in PARTS for header in part.headers)
    found = probe_headers(host_compiler, names=headers, include_dirs=layout.include_dirs, environment=environment)
    missing = {part.name: tuple(name for name in part.headers if name not in found) for part in PARTS}
    tools = (("cicc", layout.cicc), ("libdevice.10.bc", layout.libdevice))
    return missing | {"nvvm": tuple(name for name, path in tools if path is None)}


def _has_runtime(layout: Layout, host_compiler: Path, *, environment: Environment) -> bool:
    inside = any((folder / _STATIC_RUNTIME).is_file() for folder in layout.library_dirs)
    return inside or probe_library(host_compiler, name=_STATIC_RUNTIME, environment=environment) is not None


def _explain_split(parts: tuple[Part, ...], *, site: Path, environment: Environment) -> tuple[tuple[str, str], ...]:
    """Say where a missing wheel is after all: pip keeps static and dynamic requirements apart."""
    found = {part.wheel: find_elsewhere(part.wheel, site=site, search_path=environment.search_path) for part in parts}
    lines = [f"{wheel} is in {folder}, where nvcc does not look" for wheel, folder in found.items() if folder]
    return (("note", "\n".join(lines)),) if lines else ()


def _suggest(parts: tuple[Part, ...], *, toolkit: Toolkit, environment: Environment) -> tuple[str, ...]:
    root, release = toolkit.layout.root, toolkit.release
    if toolkit.site is not None:
        wheels = ", ".join(part.wheel for part in parts)
        spec = f'"cuda-toolkit[nvcc,cccl]=={release}.*"'
        return (f"require {spec}: it brings {wheels}, of the same release, into the same folder",)
    prefix = environment.get("CONDA_PREFIX")
    if prefix and root.is_relative_to(Path(prefix).resolve()):
        return (f"conda install -c conda-forge {' '.join(part.conda for part in parts)} cuda-version={release}",)
    if root.is_relative_to("/usr") and not root.is_relative_to("/usr/local"):
        packages = dict.fromkeys(part.debian for part in parts)
        return (f"install what the distribution splits off (Debian, Ubuntu: apt-get install {' '.join(packages)})",)
    wheels = ", ".join(part.wheel for part in parts)
    whole = f"install the whole of toolkit {release} (on PyPI, {wheels} has what is missing),"
    return (whole, "or name another nvcc with SETUPTOOLS_CUDA_NVCC")
