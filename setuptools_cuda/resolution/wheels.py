"""NVIDIA's toolkit wheels on a search path: which hold an nvcc, and whether they fit together.

Wheels of CUDA 13 and newer share one folder (``nvidia/cu13/bin/nvcc``); those of 11 and 12
have a folder each and no nvcc at all. ``nvidia-cuda-nvcc`` of 13 requires its sisters without
a version, so that pip can mix releases (https://github.com/NVIDIA/cuda-python/issues/2100).
"""

from __future__ import annotations

import importlib.metadata
import os
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from setuptools_cuda.errors import Code, Problem
from setuptools_cuda.resolution.values import Release

NVCC_WHEEL = "nvidia-cuda-nvcc"

# Wheels that have to be of one release. CCCL is not among them: from 13.3 on it has a
# version of its own, and serves every release of the same major.
_ONE_RELEASE = (NVCC_WHEEL, "nvidia-nvvm", "nvidia-cuda-crt", "nvidia-cuda-runtime")
_PTXAS_ONLY = ("nvidia-cuda-nvcc-cu12", "nvidia-cuda-nvcc-cu11")
_TOOLKIT_FOLDER = re.compile(r"cu\d+")


@dataclass(frozen=True)
class NvccWheel:
    """One installed distribution that by its name has nvcc."""

    name: str
    version: str
    folder: Path
    """The site-packages folder."""
    nvcc: Path | None


def find_nvcc_wheels(search_path: Sequence[str]) -> tuple[NvccWheel, ...]:
    """Return the nvcc wheels on ``search_path``, in its order, those with ptxas alone included."""
    found = (
        _parse_wheel(distribution, name=name)
        for name in (NVCC_WHEEL, *_PTXAS_ONLY)
        for distribution in importlib.metadata.distributions(name=name, path=list(search_path))
    )
    return tuple(dict.fromkeys(found))


def find_site(root: Path) -> Path | None:
    """Return the site-packages folder that a toolkit root lies in as wheels, or None."""
    site = root.parent.parent
    if root.parent.name != "nvidia" or not _TOOLKIT_FOLDER.fullmatch(root.name):
        return None
    return site if NVCC_WHEEL in read_versions(site) else None


def read_versions(site: Path) -> Mapping[str, str]:
    """Return the versions of the toolkit wheels installed in ``site``, by name."""
    names = (*_ONE_RELEASE, "nvidia-cuda-cccl")
    found = {name: importlib.metadata.distributions(name=name, path=[str(site)]) for name in names}
    return {name: each.version for name, all_ in found.items() for each in all_}


def find_elsewhere(name: str, *, site: Path, search_path: Sequence[str]) -> Path | None:
    """Return another site-packages folder on the path that has the wheel ``name``, or None."""
    for distribution in importlib.metadata.distributions(name=name, path=list(search_path)):
        folder = Path(str(distribution.locate_file("")))
        if folder.resolve() != site.resolve():
            return folder
    return None


def diagnose_mixture(site: Path, *, release: Release) -> Problem | None:
    """Return what is wrong where the wheels beside an nvcc are not all of its release."""
    versions = {name: version for name, version in read_versions(site).items() if name in _ONE_RELEASE}
    other = {name: version for name, version in versions.items() if parse_release(version) not in (release, None)}
    if not other:
        return None
    lines = "\n".join(f"{name} {version}" for name, version in versions.items())
    return Problem(
        Code.MIXED_RELEASES,
        f"the toolkit wheels are of different releases: nvcc is {release}, {' and '.join(sorted(other))} not",
        str(site),
        (("found", lines), ("why", f"{NVCC_WHEEL} requires its sisters without a version; cuda-toolkit pins them")),
        (f'require "cuda-toolkit[nvcc,cccl]=={release}.*" in place of {NVCC_WHEEL}',),
    )


def parse_release(version: str) -> Release | None:
    """Return the toolkit release that a wheel's version begins with, or None."""
    match = re.match(r"(\d{1,4})\.(\d{1,4})(?:\.|$)", version, re.ASCII)
    return Release(int(match[1]), int(match[2])) if match else None


def _parse_wheel(distribution: importlib.metadata.Distribution, *, name: str) -> NvccWheel:
    folder = Path(str(distribution.locate_file("")))
    files = (str(file) for file in distribution.files or ())
    programs = (folder / file for file in files if file.endswith("/bin/nvcc"))
    nvcc = next((path for path in programs if os.access(path, os.X_OK)), None)
    return NvccWheel(name, distribution.version, folder, nvcc)
