"""The command ``build``, with ``build_cuda`` among its steps."""

from __future__ import annotations

from setuptools.command.build import build


class Build(build):
    """setuptools' ``build``, and our step in it."""

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
