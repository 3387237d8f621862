"""``setuptools-cuda plan``: what a build in the current folder would do. Nothing is run or written."""

from __future__ import annotations

import argparse
import json
import sysconfig
from dataclasses import replace

from setuptools_cuda import pipeline
from setuptools_cuda.cli.command import SubParsers, add_command, add_json_option, add_settings_option, make_request
from setuptools_cuda.cli.plan_view import PlanView, describe, describe_failure, lay_out
from setuptools_cuda.cli.screen import show
from setuptools_cuda.config.pyproject import TABLE, find_table
from setuptools_cuda.environment import Environment
from setuptools_cuda.errors import BuildError, Code, Exit, Problem
from setuptools_cuda.frontends.cmake_project import brings_toolkit, is_built_by_cmake, load_project
from setuptools_cuda.frontends.compiler import read_python_facts
from setuptools_cuda.resolution.pip_step import plan_isolated_requirements


def add_parser(subparsers: SubParsers) -> None:
    """Register the sub-command."""
    summary = "print the jobs and files of a build in the current folder, and run nothing"
    parser = add_command(subparsers, "plan", summary=summary, run=run)
    parser.add_argument("--commands", action="store_true", help="print the command of each job too")
    add_settings_option(parser)
    add_json_option(parser)


def run(arguments: argparse.Namespace, environment: Environment) -> Exit:
    """Print the plan. Raises BuildError where there is none; with ``--json`` the problems are printed as JSON."""
    try:
        view = make_view(make_request(arguments, environment))
    except BuildError as error:
        if not arguments.json:
            raise
        print(json.dumps(describe_failure(error), indent=2))
        return error.status
    if arguments.json:
        print(json.dumps(describe(view), indent=2))
    else:
        show(lay_out(view, commands=arguments.commands), environment=environment)
    return Exit.GOOD


def make_view(request: pipeline.Request) -> PlanView:
    """Return that plan, with what an isolated build would ask for. Raises BuildError."""
    if find_table(request.root) is None:
        raise BuildError(_describe_no_table(request))
    try:
        planned = plan_here(request)
    except BuildError as error:
        raise BuildError(*explain_isolated(error.problems, request=request)) from error
    requirements = plan_isolated_requirements(load_project(request), environment=request.environment)
    has_setup_py = (request.root / "setup.py").is_file()
    return PlanView(planned, requirements, has_cmake=is_built_by_cmake(request.root), has_setup_py=has_setup_py)


def explain_isolated(problems: tuple[Problem, ...], *, request: pipeline.Request) -> tuple[Problem, ...]:
    """Return problems; that there is no nvcc with what an isolated build does about it, where it does."""
    if not any(problem.code is Code.NO_COMPILER for problem in problems) or not _brings_toolkit(request):
        return problems
    first = "nothing for `pip install .`, whose isolated build gets a toolkit from pip; for a build without isolation"
    return tuple(replace(each, fix=(first, *each.fix)) if each.code is Code.NO_COMPILER else each for each in problems)


def _brings_toolkit(request: pipeline.Request) -> bool:
    try:
        settings = load_project(request)
        return brings_toolkit(request.root) and bool(
            plan_isolated_requirements(settings, environment=request.environment)
        )
    except BuildError:
        return False


def plan_here(request: pipeline.Request) -> pipeline.Planned:
    """Return the plan of the project in ``request``, for extensions of this Python. Raises BuildError."""
    suffix = str(sysconfig.get_config_var("EXT_SUFFIX"))
    return pipeline.plan(replace(request, python=read_python_facts(suffix)))


def _describe_no_table(request: pipeline.Request) -> Problem:
    return Problem(
        Code.MISSING_KEY,
        f"there is no table [{TABLE}], so there is nothing to plan",
        str(request.root / "pyproject.toml"),
        fix=(f"run this in a folder with a pyproject.toml that has [{TABLE}]",),
    )
