"""One setuptools Distribution as the pipeline sees it: its request, and the one build made for it."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

import setuptools

from setuptools_cuda import pipeline
from setuptools_cuda.config.model import Settings
from setuptools_cuda.config.pyproject import read_pyproject
from setuptools_cuda.environment import read_environment
from setuptools_cuda.errors import BuildError, Code, Problem, raise_if_any
from setuptools_cuda.frontends import discovery, table
from setuptools_cuda.frontends.declare import declare, is_cuda
from setuptools_cuda.frontends.records import read_source_records
from setuptools_cuda.frontends.session import find_session
from setuptools_cuda.plan.values import BuildPlan
from setuptools_cuda.targets import CudaLibrary, Declared, KernelModule


class CudaProject:
    """What we know of one Distribution. It is kept as the Distribution's ``cuda_project``."""

    def __init__(self, dist: setuptools.Distribution, *, root: Path, has_table: bool) -> None:
        self.dist = dist
        self.root = root
        self.has_table = has_table
        self.environment = read_environment()
        self.table_extensions: tuple[table.TableExtension, ...] = ()
        self.serves_every_python = False
        """Whether the wheel has libraries for a platform, and nothing else that is for one Python."""
        self._request: pipeline.Request | None = None
        self._outcome: Build | BuildError | None = None
        self._session = find_session()
        self.lock = threading.RLock()
        """Held while an extension of ours is built: with ``-j`` setuptools builds each in a thread."""
        self.names_packages: bool | None = None
        """Whether the project names its packages or modules; None where that could not be seen in time."""

    @property
    def active(self) -> bool:
        """Return whether the project asks for us: by the table, our classes or a ``.cu`` source."""
        return self.has_table or bool(self.other_declared()) or bool(self.cuda_extensions())

    @property
    def has_cmake(self) -> bool:
        """Return whether scikit-build-core builds by CMake beside setuptools, as its own settings or setup.py say."""
        tool = read_pyproject(self.root).get("tool", {})
        return "scikit-build" in tool or bool(getattr(self.dist, "cmake_source_dir", None))

    def cuda_extensions(self) -> list[setuptools.Extension]:
        """Return the extensions that we build, in the order of ``ext_modules``."""
        return [extension for extension in self.extensions if is_cuda(extension)]

    @property
    def extensions(self) -> list[setuptools.Extension]:
        """Return all extensions of the Distribution."""
        return cast("list[setuptools.Extension]", list(self.dist.ext_modules or ()))

    def other_declared(self) -> tuple[Declared, ...]:
        """Return the libraries and kernel modules that setup.py gives as keywords."""
        libraries: Iterable[CudaLibrary] = getattr(self.dist, "cuda_libraries", None) or ()
        modules: Iterable[KernelModule] = getattr(self.dist, "kernel_modules", None) or ()
        return (*(one.declare() for one in libraries), *(one.declare() for one in modules))

    def declared(self, *, limited_api: str | None = None) -> tuple[Declared, ...]:
        """Return every target that comes from Python. Those of the table come from the table.

        Raises BuildError where a command of setup.py changed an extension of the table.
        """
        ours = [
            declare(one, index=index, root=self.root, name=self._full_name(one.name), limited_api=limited_api)
            for index, one in enumerate(self.extensions)
            if is_cuda(one) and not isinstance(one, table.TableExtension)
        ]
        for extension in self.table_extensions:
            table.check_unchanged(extension, root=self.root)
        return (*ours, *self.other_declared())

    def _full_name(self, name: str) -> str:
        package = getattr(self.dist, "ext_package", None)
        return f"{package}.{name}" if package else name

    def request(self, *, limited_api: str | None = None, packages: frozenset[str] | None = None) -> pipeline.Request:
        """Return the request for this project; a build adds what only its command knows."""
        return pipeline.Request(
            root=self.root,
            environment=self.environment,
            config_settings=dict(self._session.settings) if self._session else {},
            declared=self.declared(limited_api=limited_api),
            packages=packages,
            version=str(self.dist.metadata.get_version()),
        )

    @property
    def packages(self) -> frozenset[str]:
        """Return the packages that setuptools packages, once it has read its configuration."""
        return frozenset(self.dist.packages or ())

    def note_discovery(self) -> None:
        """Remember, before setuptools looks for packages by itself, whether the project names any."""
        if self.names_packages is None:
            self.names_packages = self.dist.packages is not None or self.dist.py_modules is not None

    def forget_made(self, build_base: str) -> None:
        """Take out of ``packages`` and ``py_modules`` what only builds have put into the source tree.

        Raises BuildError where the record of it cannot be read.
        """
        dist: Any = self.dist
        made = read_source_records(self.root / build_base / pipeline.FOLDER)
        where: dict[str, Any] = {"made": made, "root": self.root, "package_dir": dist.package_dir or {}}
        packages, modules = dist.packages, dist.py_modules
        if made and packages:
            lost = discovery.find_made_packages(packages, **where)
            dist.packages = [name for name in packages if name not in lost]
        if made and modules:
            lost = discovery.find_made_modules(modules, **where)
            dist.py_modules = [name for name in modules if name not in lost]

    def check_top_level(self, files: Iterable[str]) -> None:
        """Raise BuildError where ``files``, put into the source tree, would stop setuptools' discovery."""
        dist: Any = self.dist
        if self.names_packages is False:
            found = {str(name).partition(".")[0] for name in (*(dist.packages or ()), *(dist.py_modules or ()))}
            flat = "" not in (dist.package_dir or {})
            raise_if_any(discovery.check_top_level(files, found=found, flat=flat))

    def load(self) -> Settings:
        """Return the settings, from the configuration alone. Raises BuildError."""
        return pipeline.load(self.request())

    @property
    def built(self) -> Build | None:
        """Return the last build that succeeded in this process, or None."""
        return self._outcome if isinstance(self._outcome, Build) else None

    def last_build(self) -> Build:
        """Return the build that ``build_ext`` made. Raises BuildError, also where it made none."""
        if isinstance(self._outcome, BuildError):
            raise self._outcome
        if self._outcome is None:
            names = ", ".join(one.name for one in self.cuda_extensions())
            fix = ("let its build_extension() call super().build_extension(ext)",)
            raise BuildError(
                Problem(Code.CONFLICT, f"the command build_ext of setup.py did not build {names}", fix=fix)
            )
        return self._outcome

    def build(self, request: pipeline.Request, *, echo: Callable[[str], None]) -> Build:
        """Return the build of ``request``: one graph for all targets, run once however often it is asked for.

        A build that failed fails again without a run. Raises BuildError.
        """
        with self.lock:
            if self._request != request:
                self._outcome = self._run(request, echo=echo)
                self._request = request
        if not isinstance(self._outcome, Build):
            raise self._outcome or RuntimeError("a build has an outcome")
        return self._outcome

    def _run(self, request: pipeline.Request, *, echo: Callable[[str], None]) -> Build | BuildError:
        package_dir = cast("Any", self.dist).package_dir or {}

        def check(plan: BuildPlan) -> Iterable[Problem]:
            return discovery.check_written_by_hand(plan.kernel_modules, root=self.root, package_dir=package_dir)

        try:
            return Build(*pipeline.run(request, echo=echo, check=check))
        except BuildError as error:
            return error


@dataclass(frozen=True)
class Build:
    """One run of the graph that succeeded."""

    planned: pipeline.Planned
    result: pipeline.BuildResult

    @property
    def extensions(self) -> Mapping[str, str]:
        """Return the path in the wheel of each extension that was planned, by its name."""
        return {one.target: one.destination for one in self.planned.plan.artifacts if one.kind == "extension"}

    @property
    def other_files(self) -> Mapping[str, Path | bytes]:
        """Return what is shipped besides extensions, by its path in the wheel."""
        return {path: self.result.files[path] for path in other_destinations(self.planned.plan)}


def other_destinations(plan: BuildPlan) -> tuple[str, ...]:
    """Return the paths in the wheel of kernel modules, images, libraries and what comes with those, sorted."""
    files = {one.destination for one in plan.artifacts if one.kind != "extension" and one.destination}
    return tuple(sorted({*files, *plan.texts, *(module.destination for module in plan.kernel_modules)}))
