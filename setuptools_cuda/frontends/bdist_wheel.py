"""The command ``bdist_wheel``: tags, manifest and file modes."""

from __future__ import annotations

import json
import logging
import shutil
from pathlib import Path
from typing import Any

from setuptools.command.bdist_wheel import bdist_wheel

from setuptools_cuda.errors import raise_if_any
from setuptools_cuda.execute.folder import hold
from setuptools_cuda.frontends import limited_api
from setuptools_cuda.frontends.attach import find_or_make_project
from setuptools_cuda.frontends.build_cuda import MANIFEST
from setuptools_cuda.frontends.compiler import read_python_facts
from setuptools_cuda.frontends.failures import told_by_setuptools
from setuptools_cuda.frontends.project import CudaProject
from setuptools_cuda.pipeline import FOLDER
from setuptools_cuda.resolution.variables import check_variables
from setuptools_cuda.stage.manifest import merge_manifests


class BdistWheel(bdist_wheel):
    """setuptools' ``bdist_wheel``, and the manifest of what was built in it."""

    @property
    def cuda_project(self) -> CudaProject:
        """Return the project that the wheel is made of."""
        return find_or_make_project(self.distribution)

    def run(self) -> None:
        """Make the wheel, one at a time: setuptools' folders below ``build`` are the same for all builds."""
        command: Any = self.get_finalized_command("build")
        folder = self.cuda_project.root / command.build_base / FOLDER
        with told_by_setuptools(), hold(folder / "wheel.lock"):
            raise_if_any(check_variables(self.cuda_project.environment))
            if self.bdist_dir and not self.skip_build:
                # What a build that failed has left there would stop this one.
                shutil.rmtree(self.bdist_dir, ignore_errors=True)
            super().run()

    def finalize_options(self) -> None:
        """Take the wheel's tag from the extensions that keep to the limited API."""
        with told_by_setuptools():
            found = limited_api.resolve_wheel_tag(
                self.cuda_project.extensions,
                asked=self.py_limited_api or None,
                python=read_python_facts(""),
            )
        if found.notice:
            self.announce(found.notice, logging.WARNING)
        self.py_limited_api = found.tag or False
        super().finalize_options()

    def get_tag(self) -> tuple[str, str, str]:
        """Return the wheel's tag: libraries without extensions serve every Python of a platform.

        Whether there are any is known once they are built: all sources of one may be skipped.
        """
        python, abi, platform = super().get_tag()
        if not self.cuda_project.serves_every_python or self.distribution.ext_modules:
            return (python, abi, platform)
        named = self.plat_name_supplied and self.plat_name
        return (self.python_tag, "none", platform if named or self._has_libraries() else "any")

    def _has_libraries(self) -> bool:
        """Return whether libraries go into the wheel, as far as that is known."""
        built = self.cuda_project.built
        return built is None or any(one.kind == "library" and one.destination for one in built.planned.plan.artifacts)

    def write_wheelfile(self, wheelfile_base: str, *args: Any, **options: Any) -> None:
        """Write WHEEL, and with it what else can only be known after the build.

        setuptools calls this just before it makes the archive. In editable builds it is called
        before anything is built, and there is nothing to write yet.
        """
        self.root_is_pure = self.root_is_pure or self.get_tag()[2] == "any"
        super().write_wheelfile(wheelfile_base, *args, **options)
        built = self.cuda_project.built
        if built is None:
            if self.skip_build:
                self.announce("nothing was built here, so the wheel gets no manifest", logging.WARNING)
            return
        tree = Path(wheelfile_base).parent
        texts = {"setuptools": built.result.manifest, **self._read_manifest_of_cmake(tree)}
        Path(wheelfile_base, MANIFEST).write_text(merge_manifests(texts), encoding="utf-8")
        set_modes(tree)

    def _read_manifest_of_cmake(self, tree: Path) -> dict[str, str]:
        """Return the manifest of the kernel modules that CMake has built, where it builds beside setuptools.

        One that names a file that is not in the wheel is of an earlier build, and does not count.
        """
        build: Any = self.get_finalized_command("build")
        texts = {file: file.read_text("utf-8") for file in Path(build.build_temp).glob(f"*/{FOLDER}/{MANIFEST}")}
        return {
            str(file): text
            for file, text in texts.items()
            if all((tree / artifact["path"]).is_file() for artifact in json.loads(text)["artifacts"])
        }


def set_modes(tree: Path) -> None:
    """Set the modes of all files below ``tree``: 0755 for what is loaded or run, else 0644.

    Whatever the builder's umask is, and whatever modes a checkout gave, the wheel is the same.
    """
    for file in tree.rglob("*"):
        if file.is_file() and not file.is_symlink():
            runs = file.suffix == ".so" or ".so." in file.name or file.stat().st_mode & 0o111
            file.chmod(0o755 if runs else 0o644)
