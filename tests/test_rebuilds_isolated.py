"""Wheels by pip's own isolation: each in an environment that was never there before."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path

PYPROJECT = """
[build-system]
requires = ["setuptools>=77", "setuptools-cuda-build", "numpy"]
build-backend = "setuptools_cuda.build_meta"

[project]
name = "demo"
version = "1"

[tool.setuptools]
packages = ["demo"]

[tool.setuptools-cuda]
architectures = ["80"]
uses = ["numpy"]

[[tool.setuptools-cuda.extension]]
name = "demo._native"
sources = ["bind.cpp", "k.cu"]
"""
FILES = {
    "pyproject.toml": PYPROJECT,
    "demo/__init__.py": "",
    "k.cu": "__global__ void k() {}\nvoid run() { k<<<1, 1>>>(); }\n",
    "bind.cpp": """\
#include <Python.h>
#include <numpy/arrayobject.h>
void run();
static PyModuleDef module = {PyModuleDef_HEAD_INIT, "_native", "", -1, nullptr, nullptr, nullptr, nullptr, nullptr};
PyMODINIT_FUNC PyInit__native() { import_array(); (void)&run; return PyModule_Create(&module); }
""",
}


def wheel(project: Path, *, variables: Mapping[str, str], links: Path) -> dict[str, str]:
    """Build the wheel, and return what was done for each job of the build."""
    words = ["-m", "pip", "wheel", "--no-deps", "--find-links", str(links), "--wheel-dir", str(project / "dist")]
    command = [sys.executable, *words, str(project)]
    done = subprocess.run(command, env=dict(variables), capture_output=True, text=True, check=False, cwd=project)
    assert done.returncode == 0, done.stdout + done.stderr
    (log,) = project.glob("build/setuptools-cuda/*/last-build.json")
    return {job["title"]: job["how"] for job in json.loads(log.read_text("utf-8"))["jobs"]}


def test_the_second_compiles_nothing_in_this_folder_and_in_another(
    make_project: Callable[..., Path], our_wheel: Path, pip_toolchain_environment: dict[str, str], tmp_path: Path
) -> None:
    variables = {**pip_toolchain_environment, "SETUPTOOLS_CUDA_CACHE": str(tmp_path / "cache")}
    project, other = make_project(FILES), make_project(FILES)
    made = wheel(project, variables=variables, links=our_wheel.parent)
    assert sorted(made.values()) == ["made"] * 3
    assert wheel(project, variables=variables, links=our_wheel.parent) == {}
    elsewhere = wheel(other, variables=variables, links=our_wheel.parent)
    assert sorted(elsewhere.values()) == ["fetched", "fetched", "made"]
    assert next(title for title, how in elsewhere.items() if how == "made").startswith("_native")
