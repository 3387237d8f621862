"""A project whose compiles go through a launcher, built in folders that have nothing in common but that."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from build_support import make_request

from setuptools_cuda import pipeline

TABLE = """
[tool.setuptools-cuda]
architectures = ["80"]
launcher = "{launcher}"
[[tool.setuptools-cuda.library]]
name = "ops"
sources = ["src/*.cu", "src/*.c"]
install = "lib"
[[tool.setuptools-cuda.kernel-module]]
module = "kernels"
sources = ["src/*.cu"]
formats = ["ptx"]
"""
CUDA = """
#include "scale.h"
__global__ void scale(float* x) { x[threadIdx.x] *= SCALE; }
void launch(float* x) { scale<<<1, 32>>>(x); }
"""


def find_launcher(name: str) -> Path:
    """Return the launcher that pip put beside this Python."""
    return Path(sys.executable).with_name(name)


def build(root: Path, launcher: Path, *, variables: Mapping[str, str], scale: int = 2) -> dict[str, bytes]:
    """Build the project in the new folder ``root`` with no cache of ours; return all files by path in the wheel."""
    files = {
        "pyproject.toml": TABLE.format(launcher=launcher.name),
        "src/a.cu": CUDA,
        "src/scale.h": f"#define SCALE {scale}\n",
        "src/b.c": "int b(void) { return 1; }\n",
    }
    shutil.rmtree(root, ignore_errors=True)
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, "utf-8")
    path = f"{launcher.parent}:/usr/bin:/bin"
    request = make_request(root, {**variables, "SETUPTOOLS_CUDA_CACHE": "off", "PATH": path})
    _, result = pipeline.run(request, echo=lambda _: None)
    return {name: one if isinstance(one, bytes) else one.read_bytes() for name, one in result.files.items()}


def read_ccache(launcher: Path, *, variables: Mapping[str, str]) -> dict[str, int]:
    """Return ccache's own counts."""
    command = [str(launcher), "--print-stats"]
    done = subprocess.run(command, env=dict(variables), capture_output=True, text=True, check=True)
    return {name: int(value) for name, value in (line.split("\t") for line in done.stdout.splitlines())}
