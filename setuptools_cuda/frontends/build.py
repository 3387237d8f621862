"""The command ``build``, with ``build_cuda`` among its steps."""

from __future__ import annotations

from setuptools.command.build import build

from setuptools_cuda.frontends.attach import find_or_make_project
from setuptools_cuda.frontends.failures import told_by_setuptools


class Build(build):
    """setuptools' ``build``, and our step in it."""

    def finalize_options(self) -> None:
        """Leave out of the project's packages what an earlier build of ours put into the source tree."""
        super().finalize_options()
        with told_by_setuptools():
            find_or_make_project(self.distribution).forget_made(str(self.build_base))

    def get_sub_commands(self) -> list[str]:
        """Return the steps in order.

        ``build_cuda`` comes after ``build_ext``, whose customised compiler the one graph needs,
        and after ``build_py``, so that generated modules replace older ones in the source tree.
        setuptools' own list belongs to the class, and stays as it is.
        """
        steps: list[str] = [step for step in super().get_sub_commands() if step != "build_cuda"]
        before = [at for at, step in enumerate(steps) if step in {"build_py", "build_clib", "build_ext"}]
        steps.insert(max(before, default=-1) + 1, "build_cuda")
        return steps
