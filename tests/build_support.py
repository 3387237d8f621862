"""Builds through the pipeline, with a real nvcc from pip and nothing else of the machine."""

from __future__ import annotations

import sys
import sysconfig
from collections.abc import Mapping
from pathlib import Path

from setuptools_cuda import pipeline
from setuptools_cuda.environment import Environment
from setuptools_cuda.plan.values import PythonFacts


def make_environment(variables: Mapping[str, str], root: Path) -> Environment:
    return Environment(dict(variables), root, search_path=tuple(sys.path))


def make_python() -> PythonFacts:
    suffix = str(sysconfig.get_config_var("EXT_SUFFIX"))
    return PythonFacts((sysconfig.get_path("include"),), sys.version_info[:2], False, suffix, sys.executable)


def make_request(root: Path, variables: Mapping[str, str], **words: object) -> pipeline.Request:
    environment = make_environment(variables, root)
    return pipeline.Request(root, environment, python=make_python(), **words)  # type: ignore[arg-type]


class Built:
    """A build with what it said."""

    def __init__(self, request: pipeline.Request) -> None:
        self.lines: list[str] = []
        self.planned = pipeline.plan(request)
        self.result = pipeline.build(self.planned, echo=self.lines.append)

    @property
    def compiled(self) -> list[str]:
        """Return what was compiled or linked, in ninja's words."""
        return sorted(line.split("] ", 1)[1] for line in self.lines if line.startswith("["))

    def read(self, name: str) -> bytes:
        content = self.result.files[name]
        return content if isinstance(content, bytes) else content.read_bytes()
