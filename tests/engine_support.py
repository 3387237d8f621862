"""Small projects of C sources, which compile in no time, for what does not depend on CUDA; and one of both."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from build_support import make_request

from setuptools_cuda import pipeline
from setuptools_cuda.environment import Environment

LIBRARY = """
[tool.setuptools-cuda]
include-dirs = ["inc"]
{project}
[[tool.setuptools-cuda.library]]
name = "c"
sources = ["src/*.c"]
install = "lib"
{library}
"""


def table(project: str = "", library: str = "") -> str:
    return LIBRARY.format(project=project, library=library)


SOURCES = {
    "pyproject.toml": table(),
    "inc/all.h": "#define ALL 1\n",
    "inc/one.h": "#define ONE 1\n",
    "src/a.c": '#include "all.h"\n#include "one.h"\nint a(void) { return ALL + ONE; }\n',
    "src/b.c": '#include "all.h"\nint b(void) { return ALL; }\n',
    "src/c.c": "int c(void) { return 3; }\n",
}


@dataclass
class Project:
    """A project with the variables that it is built under."""

    root: Path
    variables: dict[str, str]
    search_path: Sequence[str] | None = None
    lines: list[str] = field(default_factory=list)

    def write(self, files: Mapping[str, str]) -> Project:
        for name, text in files.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, "utf-8")
        return self

    def build(self, **words: object) -> list[str]:
        """Build, and return the titles of the jobs that ran, sorted."""
        self.lines = []
        request = make_request(self.root, self.variables, **words)
        if self.search_path is not None:
            environment: Environment = replace(request.environment, search_path=tuple(self.search_path))
            request = replace(request, environment=environment)
        self.result = pipeline.build(pipeline.plan(request), echo=self.lines.append)
        return self.titles("made")

    @property
    def folder(self) -> Path:
        """Return the build folder."""
        (log,) = self.root.glob("build/setuptools-cuda/*/last-build.json")
        return log.parent

    def log(self) -> list[dict[str, Any]]:
        jobs: list[dict[str, Any]] = json.loads((self.folder / "last-build.json").read_text("utf-8"))["jobs"]
        return jobs

    def titles(self, how: str) -> list[str]:
        return sorted(row["title"] for row in self.log() if row["how"] == how)

    def reason(self, title: str) -> str:
        """Return why the job with the title ran."""
        (reason,) = (row["reason"] for row in self.log() if row["title"] == title)
        return str(reason)

    def files(self) -> dict[str, bytes]:
        """Return everything that was built, by its path in the wheel."""
        return {
            name: content if isinstance(content, bytes) else content.read_bytes()
            for name, content in self.result.files.items()
        }


def c_project(root: Path, variables: Mapping[str, str], **extra: str) -> Project:
    """Return the project of C sources in ``root``; variables in capitals are added."""
    return Project(root, {**variables, "SETUPTOOLS_CUDA_CACHE": "off", **extra}).write(SOURCES)
