"""Builds of kernel modules by compilers other than nvcc, with the wheels of the test environment and nothing else."""

from __future__ import annotations

import shutil
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from setuptools_cuda import pipeline
from setuptools_cuda.environment import Environment
from setuptools_cuda.errors import BuildError

DATA = Path(__file__).parent / "data" / "device"
AXPY = """\
#include "axpy.cuh"
extern "C" __global__ void axpy(float a, const float* x, float* y, int n) {
  int i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < n) y[i] = STEP(a, x[i], y[i]);
}
"""
HEADER = "#pragma once\n#define STEP(a, x, y) ((a) * (x) + (y))\n"
TEMPLATES = """\
template <class T> __global__ void scale(T* x, T a) { x[threadIdx.x] *= a; }
namespace ns {
template <class T, int N> __global__ void shift(T* x) { x[threadIdx.x] += N; }
}
"""
CALLER = """\
extern __device__ float twice(float);
extern "C" __global__ void both(float* x) { x[threadIdx.x] = twice(x[threadIdx.x]); }
"""
CALLED = "__device__ float twice(float v) { return 2 * v; }\n"


class Project:
    """A project with one kernel module, built where no compiler is installed unless ``path`` leads to one."""

    def __init__(self, root: Path, *, path: str = "") -> None:
        self.root = root
        self.lines: list[str] = []
        empty = root / "empty"
        empty.mkdir(parents=True, exist_ok=True)
        variables = {"PATH": path or str(empty), "HOME": str(root), "LANG": "C.UTF-8"}
        self.environment = Environment(variables, root, search_path=tuple(sys.path))

    def write(self, files: Mapping[str, str]) -> Project:
        for name, text in files.items():
            place = self.root / name
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text, "utf-8")
        return self

    def copy(self, *names: str) -> Project:
        (self.root / "k").mkdir(exist_ok=True)
        for name in names:
            shutil.copy(DATA / name, self.root / "k" / name)
        return self

    def plan(self, *sources: str, architectures: str = "80", **words: object) -> pipeline.Planned:
        table: dict[str, object] = {"toolchain-steps": ["wheel"], "architectures": architectures.split()}
        module = {"module": "k", "sources": list(sources), **words}
        table["kernel-module"] = [{name.replace("_", "-"): value for name, value in module.items()}]
        return pipeline.plan(pipeline.Request(self.root, self.environment, table=table))

    def build(self, *sources: str, architectures: str = "80", **words: object) -> dict[str, bytes]:
        """Return the content of each file of the wheel."""
        planned = self.plan(*sources, architectures=architectures, **words)
        self.lines.clear()
        result = pipeline.build(planned, echo=self.lines.append)
        return {
            name: content if isinstance(content, bytes) else content.read_bytes()
            for name, content in result.files.items()
        }

    @property
    def compiled(self) -> list[str]:
        """Return what the last build ran."""
        return sorted(line.split("] ", 1)[1] for line in self.lines if line.startswith("["))

    def refuse(self, *sources: str, architectures: str = "80", **words: object) -> str:
        """Return the whole message of a build that has to fail."""
        with pytest.raises(BuildError) as caught:
            self.build(*sources, architectures=architectures, **words)
        return str(caught.value)


def compiler_of(planned: pipeline.Planned) -> str:
    """Return the compiler that the plan's note names."""
    (note,) = [note for note in planned.plan.notes if "is compiled by" in note]
    return note.split("is compiled by ")[1].split(",")[0]


def entries(text: bytes) -> list[str]:
    """Return the kernels that a generated module names, in its order."""
    lines = text.decode().splitlines()
    return [lines[number + 1].strip(' ",') for number, line in enumerate(lines) if line.strip() == "Kernel("]
