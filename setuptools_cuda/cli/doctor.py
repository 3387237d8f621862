"""``setuptools-cuda doctor``: what a build would use here, why, and what is wrong."""

from __future__ import annotations

import argparse

from setuptools_cuda.cli.command import SubParsers, add_command, add_json_option, add_settings_option, make_request
from setuptools_cuda.cli.diagnose import find_diagnosis
from setuptools_cuda.cli.doctor_json import render_json
from setuptools_cuda.cli.doctor_screen import lay_out
from setuptools_cuda.cli.machine import find_machine
from setuptools_cuda.cli.screen import show
from setuptools_cuda.environment import Environment
from setuptools_cuda.errors import Exit


def add_parser(subparsers: SubParsers) -> None:
    """Register the sub-command."""
    summary = "show what a build in the current folder would use, why, and what is wrong"
    parser = add_command(subparsers, "doctor", summary=summary, run=run)
    add_settings_option(parser)
    add_json_option(parser)


def run(arguments: argparse.Namespace, environment: Environment) -> Exit:
    """Print the diagnosis. Returns FINDING where anything is wrong."""
    diagnosis = find_diagnosis(make_request(arguments, environment), machine=find_machine())
    if arguments.json:
        print(render_json(diagnosis))
    else:
        show(lay_out(diagnosis), environment=environment)
    return Exit.GOOD if diagnosis.good else Exit.FINDING
