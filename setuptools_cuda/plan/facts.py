"""Everything a plan is made from, besides the settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from setuptools_cuda.config import conditions
from setuptools_cuda.config.model import Flags
from setuptools_cuda.plan.values import HostCommands, PythonFacts
from setuptools_cuda.resolution.values import Architectures, Package, Toolchain


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What was found about the world, for one build."""

    root: str
    """The project root, absolute. It never reaches an output: only the prefix map names it."""
    conditions: conditions.Facts
    host: HostCommands | None
    toolchain: Toolchain | None = None
    architectures: Architectures | None = None
    python: PythonFacts | None = None
    packages: Mapping[str, Package] = field(default_factory=dict)
    environment_flags: Flags = field(default_factory=Flags)
    """What the variables ``NVCC_FLAGS``, ``CUDAFLAGS``, ... add, after all flags of the table."""
    python_packages: frozenset[str] | None = None
    """Packages that the front-end puts into the wheel; None where it does not know."""
    cpus: int = 1
    jobs: int | None = None
    memory: int = 0
    """Bytes that compiles may take together; 0 where unknown."""
