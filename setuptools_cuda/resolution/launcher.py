"""The program that stands before compilers, such as ccache."""

from __future__ import annotations

import shlex

from setuptools_cuda.config.model import Settings
from setuptools_cuda.environment import Environment
from setuptools_cuda.errors import Code, Problem
from setuptools_cuda.resolution.programs import find_program


def check_launcher(settings: Settings, *, environment: Environment) -> list[Problem]:
    """Return a problem where the key ``launcher`` names no program: each compile would say so for itself."""
    launcher = settings.project.launcher
    if not launcher:
        return []
    program = shlex.split(launcher)[0]
    if find_program(program, environment=environment, base=settings.root) is not None:
        return []
    what = f"there is no program {program!r}" + ("" if "/" in program else " on PATH")
    fix = ("install it, name it by its path, or leave the key out",)
    return [Problem(Code.UNUSABLE_SETTING, what, settings.origin("launcher").text, fix=fix)]
