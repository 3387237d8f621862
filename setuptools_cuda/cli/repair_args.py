"""``setuptools-cuda repair-args``: what auditwheel has to leave out of a wheel, and why."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

from setuptools_cuda.cli.command import SubParsers, add_command, add_json_option
from setuptools_cuda.environment import Environment
from setuptools_cuda.errors import BuildError, Code, Exit, Problem, describe_problems
from setuptools_cuda.inspection.repair import RepairPlan, plan_repair
from setuptools_cuda.inspection.wheel import read_linkage

SCHEMA = 1
"""The version of ``--json``."""


def add_parser(subparsers: SubParsers) -> None:
    """Register the sub-command."""
    summary = "print what auditwheel has to leave out of a wheel: auditwheel repair $(setuptools-cuda repair-args W) W"
    parser = add_command(subparsers, "repair-args", summary=summary, run=run)
    parser.add_argument("wheel", type=Path, help="the wheel to be repaired")
    add_json_option(parser)


def run(arguments: argparse.Namespace, environment: Environment) -> Exit:
    """Print the options, one line each; reasons go to the standard error. Raises BuildError.

    A requirement that the wheel does not declare is a finding, and a file that cannot be read an error.
    """
    linkage = read_linkage(arguments.wheel, environment=environment)
    plan = plan_repair(linkage)
    undeclared = _find_undeclared(plan, wheel=arguments.wheel)
    problems = (*(file.problem for file in linkage.files if file.problem), *((undeclared,) if undeclared else ()))
    if arguments.json:
        told = {"problems": describe_problems(problems)}
        print(json.dumps({"schema": SCHEMA, **asdict(plan), "undeclared": plan.undeclared, **told}, indent=2))
    else:
        for exclusion in plan.exclusions:
            print(f"--exclude {exclusion.library}")
        for line in explain(plan):
            print(f"note: {line}", file=sys.stderr)
        if problems:
            print(BuildError(*problems), file=sys.stderr)
    return problems[0].code.status if problems else Exit.GOOD


def explain(plan: RepairPlan) -> Iterator[str]:
    """Yield why each library is left out, and what else is to be known."""
    for name in plan.foreign:
        yield f"{name} is of Windows or macOS, and not read: auditwheel repairs wheels of Linux alone"
    if not plan.has_shared and not plan.foreign:
        yield "there is no shared library in it, so that there is nothing to repair: auditwheel would refuse it"
    for file in plan.static:
        yield f"{file} has the CUDA runtime in it: nothing to leave out for that"
    for each in plan.exclusions:
        brought = f" ({each.requirement})" if each.requirement else ""
        yield f"{each.library} is left out: {each.why}{brought}; {', '.join(each.used_by)} needs it"
        if each.unreachable:
            yield f"no run path leads to it from {', '.join(each.unreachable)}: something has to load it first"


def _find_undeclared(plan: RepairPlan, *, wheel: Path) -> Problem | None:
    if not plan.undeclared:
        return None
    listed = ", ".join(f'"{requirement}"' for requirement in plan.undeclared)
    return Problem(
        Code.UNDECLARED_REQUIREMENT,
        "it loads libraries that its metadata does not require",
        where=str(wheel),
        details=tuple(
            ("loads", f"{each.library}, of {each.requirement}") for each in plan.exclusions if not each.declared
        ),
        fix=(f"add to [project] dependencies: {listed}",),
    )
