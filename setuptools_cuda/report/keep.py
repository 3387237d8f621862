"""Keeps the report of a build where its settings ask for one."""

from __future__ import annotations

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from setuptools_cuda import __version__
from setuptools_cuda.config.model import Settings
from setuptools_cuda.environment import Environment
from setuptools_cuda.errors import BuildError, Code, Problem
from setuptools_cuda.execute.journal import Journal
from setuptools_cuda.plan.values import BuildPlan
from setuptools_cuda.report.clock import Clock
from setuptools_cuda.report.collect import Ending, make_report
from setuptools_cuda.report.write import PAGE, write_folder, write_report
from setuptools_cuda.resolution.device_tools import DeviceTools
from setuptools_cuda.resolution.limits import read_cpus
from setuptools_cuda.resolution.values import Architectures, Toolchain


@dataclass(frozen=True)
class Reporter:
    """Where a report goes, and since when its build runs."""

    settings: Settings
    folder: Path
    clock: Clock

    @property
    def page(self) -> Path:
        """Return where the page is, once there is one."""
        return self.folder / PAGE

    def prepare(self) -> None:
        """Make sure, before anything is compiled, that a report can be written. Raises BuildError."""
        write_folder(self.folder, settings=self.settings)

    def keep(
        self,
        *,
        journal: Journal,
        problems: Sequence[Problem],
        plan: BuildPlan | None = None,
        folder: Path | None = None,
        toolchain: Toolchain | None = None,
        device: DeviceTools | None = None,
        architectures: Architectures | None = None,
    ) -> None:
        """Write the report of a build that ends now, with what is known of it. Raises BuildError."""
        ending = Ending(
            root=self.settings.root,
            settings=self.settings,
            journal=journal,
            began=self.clock.began,
            ended=time.monotonic_ns(),
            at=self.clock.at,
            made_by=f"setuptools-cuda-build {__version__}",
            cores=read_cpus(),
            plan=plan or BuildPlan(),
            folder=folder,
            toolchain=toolchain,
            device=device,
            architectures=architectures,
            problems=tuple(problems),
        )
        write_report(make_report(ending), folder=self.folder, settings=self.settings)


def find_reporter(settings: Settings, *, environment: Environment, clock: Clock) -> Reporter | None:
    """Return who keeps the report that ``settings`` ask for, or None. Its folder is relative to the project.

    Raises BuildError where it is to lie in a home folder, and there is none.
    """
    asked = settings.project.report
    if not asked:
        return None
    folder = environment.find_place(asked, root=settings.root)
    if folder is None:
        what = f"{asked!r} lies in the home folder, and HOME is not set"
        where = settings.origin("report").text
        raise BuildError(Problem(Code.UNUSABLE_SETTING, what, where, fix=("write the whole path",)))
    return Reporter(settings, folder, clock)
