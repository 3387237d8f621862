"""The toolchain step ``depot``: toolkits below the folder that DEPOT names, newest first."""

from __future__ import annotations

from pathlib import Path

from packaging.version import Version

from setuptools_cuda.config.model import Settings
from setuptools_cuda.environment import Environment


def find_toolkits(settings: Settings, environment: Environment) -> list[Path] | None:
    """Return each nvcc in the depot, or None where there is no depot."""
    depot = environment.get("DEPOT")
    if depot is None:
        return None
    found = Path(depot).glob("cuda-*/bin/nvcc")
    return sorted(found, key=lambda nvcc: Version(nvcc.parts[-3].removeprefix("cuda-")), reverse=True)
