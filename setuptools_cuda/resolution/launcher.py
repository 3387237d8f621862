"""The program that stands before compilers, such as ccache."""

from __future__ import annotations

import shlex

from setuptools_cuda.config.findings import shorten
from setuptools_cuda.config.model import Settings
from setuptools_cuda.environment import Environment
from setuptools_cuda.errors import Code, Problem
from setuptools_cuda.resolution.programs import find_program


def check_launcher(settings: Settings, *, environment: Environment) -> list[Problem]:
    """Return a problem where the key ``launcher`` names no program: each compile would say so for itself."""
    launcher = settings.project.launcher
    if not launcher:
        return []
    where = settings.origin("launcher").text
    try:
        program = shlex.split(launcher)[0]
    except (ValueError, IndexError) as error:
        what = f"{shorten(launcher)} cannot be split into a program and its arguments: {error}"
        return [Problem(Code.BAD_VALUE, what, where, fix=("quote it as a shell would have it",))]
    if find_program(program, environment=environment, base=settings.root) is not None:
        return []
    what = f"there is no program {program!r}" + ("" if "/" in program else " on PATH")
    fix = ("install it, name it by its path, or leave the key out",)
    return [Problem(Code.UNUSABLE_SETTING, what, where, fix=fix)]
