"""The command ``build_cuda``: kernel modules, libraries and headers, into the wheel or the source tree."""

from __future__ import annotations

import functools
import logging
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any, ClassVar

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from setuptools import Command

from setuptools_cuda import pipeline
from setuptools_cuda.config.headers import find_hidden_includes, find_sdist_files
from setuptools_cuda.frontends.attach import find_or_make_project
from setuptools_cuda.frontends.compiler import read_python_facts
from setuptools_cuda.frontends.failures import told_by_setuptools
from setuptools_cuda.frontends.places import Tree, source_path, wheel_path
from setuptools_cuda.frontends.project import Build, CudaProject, other_destinations
from setuptools_cuda.frontends.records import read_source_records, source_record
from setuptools_cuda.frontends.staging import find_left_over, stage_others
from setuptools_cuda.stage.copy import stage_files

MANIFEST = "setuptools_cuda.json"
"""The manifest's name, in our build folder and in the wheel's ``.dist-info``."""


class build_cuda(Command):  # noqa: N801 - a command's class is named as the command is
    """A step of ``build``, after setuptools' ``SubCommand`` protocol."""

    description = "build CUDA kernel modules and libraries"
    user_options: ClassVar[list[tuple[str, str | None, str]]] = [
        ("build-lib=", "d", "folder that the wheel is made from"),
        ("inplace", "i", "put the files into the source tree"),
        ("parallel=", "j", "number of compiles that run at once"),
    ]
    boolean_options: ClassVar[list[str]] = ["inplace"]

    editable_mode: bool = False
    build_lib: str
    build_base: str
    parallel: int | None

    def initialize_options(self) -> None:
        """Set the options to their defaults."""
        self.build_lib = None  # type: ignore[assignment] # set by finalize_options, as in setuptools
        self.build_base = None  # type: ignore[assignment] # the same
        self.inplace = False
        self.editable_mode = False
        self.after_build_ext = False
        self.parallel = None

    def finalize_options(self) -> None:
        """Take what was not given from the command ``build``."""
        self.set_undefined_options(
            "build", ("build_lib", "build_lib"), ("build_base", "build_base"), ("parallel", "parallel")
        )

    @property
    def cuda_project(self) -> CudaProject:
        """Return the project that this command builds."""
        return find_or_make_project(self.distribution)

    def run(self) -> None:
        """Put what was built where it belongs, and take away what is no longer planned."""
        with told_by_setuptools():
            build = self._build()
            self._stage(build)
        declared = getattr(self.distribution, "install_requires", None) or ()
        for requirement in undeclared(build.planned.plan.requirements, declared=declared):
            text = f"add {requirement!r} to the project's dependencies: the built files need it to load"
            self.announce(text, logging.WARNING)

    def get_source_files(self) -> list[str]:
        """Return all sources, and the headers that they include, relative to the project."""
        with told_by_setuptools():
            settings = self.cuda_project.load()
        for file in find_hidden_includes(settings):
            text = f"warning: {file} includes a header by a macro, which is not followed: name the header in `depends`"
            self.announce(f"{text}, or the sdist may lack it", logging.WARNING)
        return list(find_sdist_files(settings))

    def get_outputs(self) -> list[str]:
        """Return the files that are put into ``build_lib``."""
        return [str(Path(self.build_lib, destination)) for destination in self._destinations()]

    def get_output_mapping(self) -> dict[str, str]:
        """Return the file in the source tree of each output, where the files are put there."""
        if not self._in_source_tree:
            return {}
        return {str(Path(self.build_lib, path)): self._source_path(path) for path in self._destinations()}

    @property
    def _in_source_tree(self) -> bool:
        return bool(self.editable_mode or self.inplace)

    def _build(self) -> Build:
        """Return the one build: that of ``build_ext`` where there are extensions, else our own."""
        project = self.cuda_project
        if not project.cuda_extensions():
            return project.build(self._request(), echo=self._say)
        if not self.after_build_ext:
            self.run_command("build_ext")
        return project.last_build()

    def _request(self) -> pipeline.Request:
        project = self.cuda_project
        return replace(
            project.request(packages=project.packages),
            python=read_python_facts(".so"),
            jobs=None if self.parallel is None else int(self.parallel),
            build_base=project.root / self.build_base,
        )

    def _destinations(self) -> tuple[str, ...]:
        """Return the paths in the wheel, also before anything was built."""
        with told_by_setuptools():
            built = self.cuda_project.built
            planned = built.planned if built else pipeline.plan(self._request())
        return other_destinations(planned.plan)

    def _stage(self, build: Build) -> None:
        folder = build.planned.request.build_folder
        # An editable wheel is packed before the build, so its manifest can only be kept here.
        stage_files({MANIFEST: build.result.manifest.encode("utf-8")}, into=folder)
        if self._in_source_tree:
            self.cuda_project.check_top_level(map(self._source_path, build.other_files))
        tree = self._source_tree(folder) if self._in_source_tree else self._wheel_tree(folder)
        stage_others(build, tree=tree)
        if self.cuda_project.has_cmake:
            # CMake has put generated modules of its own into the same tree.
            return
        for name in find_left_over(build, tree=tree, packages=self.cuda_project.packages):
            self._tell_left_over(name, tree=tree)

    def _tell_left_over(self, name: str, *, tree: Tree) -> None:
        if self._in_source_tree:
            text = f"warning: {name} was generated, and no kernel-module makes it now: delete it"
        else:
            (tree.root / name).unlink()
            text = f"warning: {name} is left out of the wheel: it was generated, and no kernel-module makes it now"
        self.announce(text, logging.WARNING)

    def _source_tree(self, folder: Path) -> Tree:
        return Tree(self.cuda_project.root, source_record(folder), self._source_path)

    def _wheel_tree(self, folder: Path) -> Tree:
        """Return the folder of the wheel; build_py has copied into it what editable builds left in the source tree."""
        project, record = self.cuda_project, read_source_records(folder)
        locate = functools.partial(
            wheel_path, packages=project.packages, root=project.root, package_dir=self._package_dir
        )
        copies = {locate(path): digest for path, digest in record.items()}
        build_lib = Path(self.build_lib)
        return Tree(build_lib, folder / f"staged-{build_lib.name}.json", str, copies)

    def _source_path(self, destination: str) -> str:
        return source_path(destination, root=self.cuda_project.root, package_dir=self._package_dir)

    def _package_dir(self, package: str) -> str:
        build_py: Any = self.get_finalized_command("build_py")
        return str(build_py.get_package_dir(package))

    def _say(self, text: str) -> None:
        self.announce(text, logging.INFO)


def undeclared(requirements: Iterable[str], *, declared: Iterable[str]) -> list[str]:
    """Return those of ``requirements`` whose distribution is not among ``declared``."""
    names = {canonicalize_name(Requirement(one).name) for one in declared}
    return [one for one in requirements if canonicalize_name(Requirement(one).name) not in names]
