"""One run of a plan: what is known of its files, commands and compilers while it goes on."""

from __future__ import annotations

import importlib.metadata
import os
from collections.abc import Mapping, Sequence
from pathlib import Path

from setuptools_cuda.execute.compilers import Compilers
from setuptools_cuda.execute.digests import Digests
from setuptools_cuda.execute.fingerprint import Fingerprint, make_fingerprint
from setuptools_cuda.execute.folder import BuildFolder
from setuptools_cuda.execute.history import History
from setuptools_cuda.execute.includes import Includes
from setuptools_cuda.execute.journal import Journal
from setuptools_cuda.execute.names import Names, make_folders
from setuptools_cuda.execute.spec import job_name
from setuptools_cuda.plan.values import BuildPlan, Job


class Session:
    """What the parts of a run share."""

    def __init__(
        self,
        plan: BuildPlan,
        *,
        folder: BuildFolder,
        variables: Mapping[str, str],
        sites: Sequence[str],
        journal: Journal,
    ) -> None:
        """Read what earlier builds left. ``sites`` are the folders in which packages are installed."""
        self.plan = plan
        self.folder = folder
        self.journal = journal
        self.variables = variables
        self.names = make_names(plan, folder=folder, sites=sites)
        self.digests = Digests(folder.path / "digests.json")
        self.history = History(folder.path / "history.json")
        self.includes = Includes()
        self.makers = {output.file: job for job in plan.jobs for output in job.outputs}
        self._compilers = Compilers(
            digests=self.digests, names=self.names, variables=variables, cython=_find_cython(sites)
        )
        self._fingerprints: dict[str, Fingerprint] = {}
        self._paths: dict[str, str] = {}
        self._named: dict[str, str] = {}

    def fingerprint(self, job: Job) -> Fingerprint:
        """Return what a job is, as it stands now."""
        name = job_name(job)
        if name not in self._fingerprints:
            self._fingerprints[name] = make_fingerprint(
                job,
                identity=self.plan.toolchain_identity,
                compiler=self._compilers.describe(job),
                variables=self.variables,
                root=str(self.folder.root),
            )
        return self._fingerprints[name]

    def record_path(self, job: Job) -> Path:
        """Return where the record of a job is kept."""
        return self.folder.path / "records" / f"{job_name(job)}.json"

    def built(self, file: str) -> str:
        """Return the path of what a job makes, absolute."""
        return f"{self.folder.path}/{file}"

    def name(self, path: str) -> str:
        """Return the name of a file that a compiler has read."""
        found = self._named.get(path)
        if found is None:
            found = self._named[path] = self.names.name(path)
        return found

    def path(self, name: str) -> str:
        """Return where the file of a name lies, absolute."""
        found = self._paths.get(name)
        if found is None:
            found = self._paths[name] = self.names.path(name)
        return found

    def digest_of(self, name: str) -> str:
        """Return the digest of a file by its name, '' where there is none."""
        return self.digests.find(self.path(name))

    def exists(self, name: str) -> bool:
        """Return whether there is such a file or folder."""
        return os.path.exists(self.path(name))  # noqa: PTH110 - asked thousands of times

    @property
    def is_dated(self) -> bool:
        """Return whether compilers are told which time to call now."""
        return bool(self.variables.get("SOURCE_DATE_EPOCH"))


def make_names(plan: BuildPlan, *, folder: BuildFolder, sites: Sequence[str]) -> Names:
    """Return the names of files in a build of ``plan``."""
    folders = make_folders(places=plan.places, tools=plan.tools)
    return Names(root=str(folder.root), build=folder.relative(), folders=folders, sites=sites)


def _find_cython(sites: Sequence[str]) -> str:
    found = importlib.metadata.distributions(name="cython", path=list(sites))
    return next((distribution.version for distribution in found), "")
