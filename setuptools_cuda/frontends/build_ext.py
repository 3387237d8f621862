"""The command ``build_ext``: our extensions out of one graph, all others by setuptools."""

from __future__ import annotations

import logging
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

import setuptools
from setuptools.command.build_ext import build_ext

from setuptools_cuda.errors import BuildError, raise_if_any
from setuptools_cuda.frontends import limited_api
from setuptools_cuda.frontends.attach import find_or_make_project
from setuptools_cuda.frontends.compiler import UnixCompiler, read_host_commands, read_python_facts
from setuptools_cuda.frontends.declare import is_cuda
from setuptools_cuda.frontends.failures import as_setuptools_error, told_by_setuptools
from setuptools_cuda.frontends.project import Build, CudaProject
from setuptools_cuda.frontends.table import TableExtension
from setuptools_cuda.plan.values import PythonFacts
from setuptools_cuda.resolution.variables import check_variables
from setuptools_cuda.stage.copy import stage_files


class BuildExt(build_ext):
    """setuptools' ``build_ext``, and our extensions in it."""

    @property
    def cuda_project(self) -> CudaProject:
        """Return the project that this command builds."""
        return find_or_make_project(self.distribution)

    def initialize_options(self) -> None:
        """Set the options to their defaults."""
        super().initialize_options()
        self.not_made: set[str] = set()

    def finalize_options(self) -> None:
        """Let the names of our extensions follow their limited-api tags."""
        limited_api.set_suffixes(self.cuda_project.cuda_extensions(), python=read_python_facts(""))
        super().finalize_options()

    def run(self) -> None:
        """Build the extensions; in the source tree, also what the other targets make."""
        inplace = bool(self.inplace)
        with told_by_setuptools():
            raise_if_any(check_variables(self.cuda_project.environment))
        super().run()
        if inplace and not self.editable_mode:
            others: Any = self.get_finalized_command("build_cuda")
            others.inplace = others.after_build_ext = True
            self.run_command("build_cuda")

    def build_extension(self, ext: setuptools.Extension) -> None:
        """Build ``ext``: the first of ours builds all targets of the project, the others take what it made.

        Raises an error of setuptools, which warns of it where the extension is optional.
        """
        if not is_cuda(ext):
            super().build_extension(ext)
            return
        with self.cuda_project.lock:
            try:
                build = self._build_all()
            except BuildError as error:
                raise _error_for(ext, error=error) from None
            self._stage(ext, build=build)

    def _build_all(self) -> Build:
        project = self.cuda_project
        compiler = cast("UnixCompiler", self.compiler)
        command: Any = self.get_finalized_command("build")
        self._warn_of_options()
        request = replace(
            project.request(limited_api=self._wheel_tag(), packages=project.packages),
            python=self._python_facts(),
            host=read_host_commands(compiler, debug=bool(self.debug), root=project.root),
            jobs=self._jobs(),
            build_base=project.root / command.build_base,
        )
        return project.build(request, echo=self._say)

    def _warn_of_options(self) -> None:
        """Say that options of the command reach no CUDA source: all targets compile it in one way, the table's."""
        given = self.distribution.get_option_dict("build_ext")
        keys = {"define": "defines", "undef": "flags", "include_dirs": "include-dirs"}
        for name in (name for name in keys if name in given):
            text = f"build_ext's {name.replace('_', '-')} reaches C and C++ sources alone: for CUDA set {keys[name]!r}"
            self.announce(f"warning: {text} in [tool.setuptools-cuda]", logging.WARNING)

    def _python_facts(self) -> PythonFacts:
        probe = "module"
        filename: str = self.get_ext_filename(probe)  # type: ignore[no-untyped-call] # untyped in the stubs
        return read_python_facts(filename.removeprefix(probe))

    def _jobs(self) -> int | None:
        # setuptools' "parallel" may be True, which leaves the number to the builder.
        return None if self.parallel is None or isinstance(self.parallel, bool) else int(self.parallel)

    def _wheel_tag(self) -> str | None:
        ours = self.cuda_project.cuda_extensions()
        if not any(one.py_limited_api and not limited_api.find_tag(one) for one in ours):
            return None
        command: Any = self.get_finalized_command("bdist_wheel")
        tag: str | None = command.py_limited_api or None
        limited_api.check_tags_known(ours, tag=tag)
        return tag

    def _stage(self, ext: setuptools.Extension, *, build: Build) -> None:
        name = ext.name if isinstance(ext, TableExtension) else self.get_ext_fullname(ext.name)
        failure = build.result.failed.get(name)
        if failure is not None:
            raise as_setuptools_error(failure)
        destination = build.extensions.get(name)
        if destination is None:
            self.not_made.add(ext.name)
            return
        target = Path(self.get_ext_fullpath(ext.name))
        with told_by_setuptools():
            stage_files({target.name: build.result.files[destination]}, into=target.parent)

    def copy_extensions_to_source(self) -> None:
        """Copy what was made: an extension that lost all its sources for want of a toolkit was not."""
        every = self.extensions
        self.extensions = [one for one in every if one.name not in self.not_made]
        super().copy_extensions_to_source()
        self.extensions = every

    def _say(self, text: str) -> None:
        self.announce(text, logging.INFO)


def _error_for(ext: setuptools.Extension, *, error: BuildError) -> BaseException:
    """Return what a failure of the whole build is for ``ext``.

    setuptools turns every error of an optional extension into a warning. A wrong table or a
    missing toolkit is not the failure of one extension, so it has to leave by another way.
    """
    return SystemExit(str(error)) if ext.optional else as_setuptools_error(error)
