"""The command ``sdist``, without what an editable build has put into the source tree."""

from __future__ import annotations

from typing import Any

from setuptools.command.sdist import sdist

from setuptools_cuda.frontends.attach import find_or_make_project
from setuptools_cuda.frontends.failures import told_by_setuptools
from setuptools_cuda.frontends.records import read_source_records
from setuptools_cuda.pipeline import Request


class Sdist(sdist):
    """setuptools' ``sdist``. What it needs of ours comes from ``build_cuda`` and ``build_ext``."""

    def make_release_tree(self, base_dir: str, files: list[str]) -> None:
        """Put ``files`` into the archive's folder, but for those that are built."""
        project = find_or_make_project(self.distribution)
        build: Any = self.get_finalized_command("build")
        folder = Request(project.root, project.environment, build_base=project.root / build.build_base).build_folder
        with told_by_setuptools():
            built = read_source_records(folder)
        super().make_release_tree(base_dir, [file for file in files if file not in built])
