"""A real environment with setuptools, our wheel and a toolkit, and small projects to build in it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from conftest import only_one_worker

TOOLKIT = "cuda-toolkit[nvcc,cccl]==13.0.*"

SAXPY_CU = """\
extern "C" __global__ void saxpy(int n, float a, const float *x, float *y)
{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = a * x[i] + y[i];
}
extern "C" int launch_count(void) { int n = 0; cudaGetDeviceCount(&n); return n; }
"""

BIND_CPP = """\
#include <Python.h>
extern "C" int launch_count(void);
#ifndef ANSWER
#define ANSWER 42
#endif
static PyObject *answer(PyObject *, PyObject *) { return PyLong_FromLong(ANSWER); }
static PyObject *count(PyObject *, PyObject *) { return PyLong_FromLong(launch_count()); }
static PyMethodDef methods[] = {
    {"answer", answer, METH_NOARGS, nullptr}, {"count", count, METH_NOARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};
static PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_native", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};
PyMODINIT_FUNC PyInit__native(void) { return PyModule_Create(&module); }
"""

BACKEND = """\
[build-system]
requires = ["setuptools>=77", "setuptools-cuda-build"]
build-backend = "{backend}"

[project]
name = "demo"
version = "1.0"

[tool.setuptools]
packages = {packages}
"""


def pyproject(table: str, *, backend: str = "setuptools_cuda.build_meta", packages: str = '["demo"]') -> str:
    """Return a pyproject.toml with ``table`` at its end; one architecture keeps the builds short."""
    return BACKEND.format(backend=backend, packages=packages) + table


TABLE = '\n[tool.setuptools-cuda]\narchitectures = ["80"]\n'
EXTENSION = TABLE + '\n[[tool.setuptools-cuda.extension]]\nname = "demo._native"\nsources = ["src/*.cpp", "src/*.cu"]\n'
KERNELS = '\n[[tool.setuptools-cuda.kernel-module]]\nmodule = "demo.kernels"\nsources = ["kernels/*.cu"]\n'
LIBRARY = (
    '\n[[tool.setuptools-cuda.library]]\nname = "saxpy"\nsources = ["lib/*.cu"]\ninstall = "demo/lib"\n'
    'headers = ["include/demo/*.h"]\ninclude-dirs = ["include"]\n'
)

EXTENSION_FILES = {"demo/__init__.py": "", "src/bind.cpp": BIND_CPP, "src/saxpy.cu": SAXPY_CU}
KERNEL_FILES = {"demo/__init__.py": "", "kernels/saxpy.cu": SAXPY_CU}
LIBRARY_FILES = {
    "demo/__init__.py": "",
    "lib/saxpy.cu": '#include "demo/saxpy.h"\n' + SAXPY_CU,
    "include/demo/saxpy.h": "#pragma once\n",
}


# One .cu in targets of all kinds, which is compiled once for them all; a .cpp has the same stem.
ALL = (EXTENSION + KERNELS + LIBRARY).replace('"kernels/', '"src/').replace('"lib/', '"src/')
ALL = ALL.replace('include-dirs = ["include"]\n', "").replace("include/demo/*.h", "saxpy.h")
ALL_FILES = {
    "demo/__init__.py": "",
    "src/saxpy.cpp": BIND_CPP,
    "src/saxpy.cu": SAXPY_CU,
    "saxpy.h": "#pragma once\n",
}


@dataclass(frozen=True)
class Done:
    """A program that ran: its status, and all that it said."""

    status: int
    output: str


@dataclass(frozen=True)
class Installation:
    """A virtual environment. Its programs see no CUDA but what is installed in it."""

    folder: Path
    variables: Mapping[str, str] = field(default_factory=dict)

    @property
    def python(self) -> Path:
        return self.folder / "bin" / "python"

    def run(self, *arguments: str | Path, cwd: Path, **variables: str) -> Done:
        """Run Python with ``arguments`` and return what came of it."""
        done = subprocess.run(
            [str(self.python), *map(str, arguments)],
            cwd=cwd,
            env={**self.variables, **variables},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            check=False,
        )
        return Done(done.returncode, done.stdout)

    def succeed(self, *arguments: str | Path, cwd: Path, **variables: str) -> str:
        """Run Python and return its output; a failure fails the test."""
        done = self.run(*arguments, cwd=cwd, **variables)
        assert done.status == 0, done.output
        return done.output

    def hook(self, name: str, project: Path, *, settings: Mapping[str, object] | None = None, **variables: str) -> Done:
        """Call a hook of the project's own backend in ``project``, as a front-end without isolation does."""
        script = (
            "import importlib, json, sys, tomllib, pathlib\n"
            "table = tomllib.loads(pathlib.Path('pyproject.toml').read_text())['build-system']\n"
            "sys.path[:0] = table.get('backend-path', [])\n"
            "backend = importlib.import_module(table['build-backend'])\n"
            "name, folder, settings = sys.argv[1:]\n"
            "sys.argv = ['']\n"
            "hook = getattr(backend, name)\n"
            "made = hook(json.loads(settings)) if name.startswith('get_') else hook(folder, json.loads(settings))\n"
            "print('made:', json.dumps(made))\n"
        )
        (project / "dist").mkdir(exist_ok=True)
        given = json.dumps(dict(settings) if settings else None)
        return self.run("-c", script, name, "dist", given, cwd=project, **variables)

    def made(self, name: str, project: Path, **options: object) -> tuple[object, str]:
        """Call a hook that has to succeed; return what it returned, and what was said."""
        done = self.hook(name, project, **options)  # type: ignore[arg-type]
        assert done.status == 0, done.output
        said, _, result = done.output.rpartition("made: ")
        return json.loads(result), said

    def wheel(self, project: Path, **options: object) -> Path:
        """Build the wheel of ``project``."""
        return project / "dist" / str(self.made("build_wheel", project, **options)[0])

    def sdist_names(self, project: Path) -> set[str]:
        """Build the sdist, and return the names in it without the top folder."""
        name = str(self.made("build_sdist", project)[0])
        with tarfile.open(project / "dist" / name) as archive:
            return {member.name.split("/", 1)[1] for member in archive.getmembers() if member.isfile()}


def full_installation(shared_folder: Path, our_wheel: Path) -> Installation:
    """Return an environment with setuptools, our wheel, a toolkit and what such projects have beside them."""
    others = ("setuptools", "cython", "cffi", "setuptools-scm", "setuptools-rust")
    return shared_installation(shared_folder / "full", [our_wheel, TOOLKIT, *others])


def shared_installation(folder: Path, requirements: Sequence[str | Path]) -> Installation:
    """Return the environment in ``folder``, made by the first worker that asks for it."""
    folder.mkdir(exist_ok=True)
    with only_one_worker(folder):
        if not (folder / "done").exists():
            make_installation(folder / "venv", requirements=requirements)
            (folder / "done").touch()
    return Installation(folder / "venv", clean_variables(folder / "home"))


def make_installation(folder: Path, *, requirements: Sequence[str | Path]) -> None:
    """Make a virtual environment at ``folder`` with ``requirements``, by uv and its cache."""
    uv = [sys.executable, "-m", "uv"]
    for command in (
        [*uv, "venv", "--quiet", "--seed", "--python", sys.executable, str(folder)],
        [*uv, "pip", "install", "--quiet", "--python", str(folder / "bin/python"), *map(str, requirements)],
    ):
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr


# A machine that runs the tests may well have a toolkit among the well-known roots.
STEPS = {
    "SETUPTOOLS_CUDA_TOOLCHAIN_STEPS": "setting,compiler-env,root-env,wheel,pip",
    # Tests count what is compiled: nothing may come out of what another test has compiled.
    "SETUPTOOLS_CUDA_CACHE": "off",
}


def clean_variables(home: Path) -> dict[str, str]:
    """Return the variables of a machine on which CUDA was never heard of."""
    home.mkdir(exist_ok=True)
    kept = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "UV_", "SSL_"))}
    plain = {"PATH": "/usr/bin:/bin", "HOME": str(home), "LANG": "C.UTF-8", "PYTHONDONTWRITEBYTECODE": "1"}
    return {**kept, **STEPS, **plain}


def wheel_names(wheel: Path) -> list[str]:
    """Return the names of all files in ``wheel``, sorted."""
    with zipfile.ZipFile(wheel) as archive:
        return sorted(archive.namelist())


def wheel_text(wheel: Path, name: str) -> str:
    """Return the text of the one file of ``wheel`` whose name ends with ``name``."""
    (path,) = (one for one in wheel_names(wheel) if one.endswith(name))
    with zipfile.ZipFile(wheel) as archive:
        return archive.read(path).decode("utf-8")


def write_project(root: Path, files: Mapping[str, str]) -> Path:
    """Write ``files`` below ``root``, and return it."""
    for name, text in files.items():
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(text, encoding="utf-8")
    return root
