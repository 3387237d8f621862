"""A real environment with scikit-build-core, CMake, our wheel and a toolkit, and small projects to build in it."""

from __future__ import annotations

import json
import subprocess
from collections.abc import Mapping
from pathlib import Path

from setuptools_support import BIND_CPP, SAXPY_CU, TOOLKIT, Installation, shared_installation
from test_docs import BLOCKS, files_of

BACKEND = """\
[build-system]
requires = ["scikit-build-core>=1.0", "setuptools-cuda-build"]
build-backend = "scikit_build_core.build"

[project]
name = "demo"
version = "1.0"

[tool.scikit-build]
wheel.packages = ["demo"]
"""
TABLE = '\n[tool.setuptools-cuda]\narchitectures = ["80"]\n'

# The page's own project: what a project had before it heard of us, and the table.
UNCHANGED = files_of([block for block in BLOCKS if block.page == "docs/how-to/scikit-build-core.md" and block.file])
EXTENSION_FILES = {**UNCHANGED, "demo/__init__.py": "", "src/bind.cpp": BIND_CPP, "src/saxpy.cu": SAXPY_CU}

# No language: a project with nothing but kernels needs none, and CMake is done in a second.
KERNELS = """\
cmake_minimum_required(VERSION 3.25...4.0)
project(demo LANGUAGES NONE)
find_package(SetuptoolsCuda REQUIRED)
setuptools_cuda_add_kernel_module(kernels MODULE demo.kernels SOURCES k/a.cu k/b.cu INCLUDE_DIRS inc)
"""
KERNEL_FILES = {
    "CMakeLists.txt": KERNELS,
    "demo/__init__.py": "",
    "k/a.cu": '#include "x.h"\nextern "C" __global__ void ka(float *x) { x[0] = X; }\n',
    "k/b.cu": 'extern "C" __global__ void kb(float *x) { x[1] = 1; }\n',
    "inc/x.h": "#pragma once\n#define X 7\n",
}
KERNEL_NAMES = [
    "demo/kernels.py",
    "demo/kernels_images/k/a.compute_80.ptx",
    "demo/kernels_images/k/a.sm_80.cubin",
    "demo/kernels_images/k/b.compute_80.ptx",
    "demo/kernels_images/k/b.sm_80.cubin",
]

_SETTINGS = """\
import json, os, sys
from scikit_build_core.settings.skbuild_read_settings import SettingsReader
state, settings = sys.argv[1:]
read = SettingsReader.from_file("pyproject.toml", json.loads(settings), state=state).settings
env = {name: value.resolve(os.environ) for name, value in read.env.items()}
print("read:", json.dumps({"define": read.cmake.define, "requires": read.build.requires, "env": env}))
"""


def scikit_installation(shared_folder: Path, our_wheel: Path) -> Installation:
    """Return an environment with all that builds by CMake, made once a test run."""
    others = ("scikit-build-core>=1.0", "cmake", "ninja", "nanobind", "hatchling", "setuptools")
    # cuobjdump reads what is in objects; its first wheel is of 13.2.
    tools = ("nvidia-cuda-cuobjdump",)
    return shared_installation(shared_folder / "scikit-build", [our_wheel, TOOLKIT, *others, *tools])


def read_settings(
    installation: Installation,
    project: Path,
    *,
    state: str = "wheel",
    settings: Mapping[str, str] | None = None,
    **variables: str,
) -> dict[str, dict[str, str]]:
    """Return what scikit-build-core comes to in ``project``: from us, the project, variables and settings."""
    arguments = ("-c", _SETTINGS, state, json.dumps(dict(settings or {})))
    said = installation.succeed(*arguments, cwd=project, **variables)
    read: dict[str, dict[str, str]] = json.loads(said.rpartition("read: ")[2])
    return read


def list_code(object_file: Path, *, installation: Installation) -> list[str]:
    """Return the machine code and PTX in an object, by NVIDIA's cuobjdump: 'sm_80.cubin', 'sm_90.ptx'."""
    (cuobjdump,) = installation.folder.glob("lib/python3*/site-packages/nvidia/cu13/bin/cuobjdump")
    command = [str(cuobjdump), "--list-elf", "--list-ptx", str(object_file)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    files = (line for line in done.stdout.splitlines() if line.startswith(("ELF file", "PTX file")))
    return sorted(".".join(line.split(".")[-2:]) for line in files)
