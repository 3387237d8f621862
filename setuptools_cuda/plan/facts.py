"""Everything a plan is made from, besides the settings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from setuptools_cuda.config import conditions
from setuptools_cuda.config.model import Flags
from setuptools_cuda.environment import Environment
from setuptools_cuda.plan.values import HostCommands, PythonFacts
from setuptools_cuda.resolution.device_plugins import DevicePlugin
from setuptools_cuda.resolution.device_sources import SourceFacts
from setuptools_cuda.resolution.device_tools import DeviceTools
from setuptools_cuda.resolution.values import Architecture, Architectures, Candidate, Package, Release, Toolchain


@dataclass(frozen=True, kw_only=True)
class Facts:
    """What was found about the world, for one build."""

    root: str
    """The project root, absolute. It never reaches an output: only the prefix map names it."""
    conditions: conditions.Facts
    host: HostCommands | None
    toolchain: Toolchain | None = None
    device: DeviceTools | None = None
    """What compiles device code without nvcc, where anything does."""
    device_search: tuple[Candidate, ...] = ()
    """Where that was looked for."""
    sources: Mapping[str, SourceFacts] = field(default_factory=dict)
    """What sources of IR and PTX say of themselves, and the words of those with instantiations."""
    plugins: Mapping[str, DevicePlugin] = field(default_factory=dict)
    """Device compilers of other distributions."""
    prefers_nvcc: bool = True
    """Whether CUDA C++ of kernel modules goes to nvcc where nobody says otherwise."""
    architectures: Architectures | None = None
    python: PythonFacts | None = None
    packages: Mapping[str, Package] = field(default_factory=dict)
    environment_flags: Flags = field(default_factory=Flags)
    """What the variables ``NVCC_FLAGS``, ``CUDAFLAGS``, ... add, after all flags of the table."""
    version: str = ""
    """The version of the distribution that is built, '' where it is not known."""
    python_packages: frozenset[str] | None = None
    """Packages that the front-end puts into the wheel; None where it does not know."""
    sites: tuple[str, ...] = ()
    """Folders in which packages are installed, absolute."""
    virtual_environment: str = ""
    """The folder of the virtual environment that builds, '' where there is none."""
    cpus: int = 1
    jobs: int | None = None
    memory: int = 0
    """Bytes that compiles may take together; 0 where unknown."""

    @property
    def toolkit(self) -> Toolchain | DeviceTools | None:
        """Return what device code is compiled by: the toolchain of nvcc, else the device compilers' toolkit."""
        return self.toolchain or self.device

    @property
    def known(self) -> tuple[Architecture, ...]:
        """Return the architectures that the toolkit compiles for."""
        return self.toolkit.known if self.toolkit else ()

    @property
    def release(self) -> Release | None:
        """Return the toolkit's release."""
        return self.toolkit.release if self.toolkit else None


def make_condition_facts(
    environment: Environment, *, toolkit: Toolchain | DeviceTools | None, architectures: Architectures | None
) -> conditions.Facts:
    """Return what the conditions of overrides are held against."""
    return conditions.Facts(
        platform_system=environment.platform_system,
        platform_machine=environment.platform_machine,
        python_version=environment.python_version,
        variables=environment.variables,
        cuda=str(toolkit.release) if toolkit else None,
        architectures=tuple(str(code.architecture) for code in architectures.codes) if architectures else (),
    )
