"""Machines to look at: projects, drivers that are real libraries, and the command as a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from importlib import resources
from pathlib import Path

import jsonschema
from toolchain_support import make_environment

from setuptools_cuda.cli.diagnose import find_diagnosis
from setuptools_cuda.cli.diagnosis import Diagnosis, Machine
from setuptools_cuda.cli.doctor_json import describe
from setuptools_cuda.cli.doctor_screen import lay_out
from setuptools_cuda.cli.screen import render_plain
from setuptools_cuda.pipeline import Request

ROOT = Path(__file__).resolve().parent.parent
# What is installed on the machine that runs the tests must not count.
STEPS = {"SETUPTOOLS_CUDA_TOOLCHAIN_STEPS": "setting compiler-env root-env project wheel conda path pip"}
NO_GPU = Machine((), "none", None)
TABLE = """\
[build-system]
requires = ["setuptools>=77", "setuptools-cuda-build"]
build-backend = "setuptools_cuda.build_meta"

[project]
name = "demo"
version = "1.0"

[tool.setuptools-cuda]
architectures = ["80", "90a", "120"]

[[tool.setuptools-cuda.extension]]
name = "demo"
sources = ["src/saxpy.cu"]
"""
SOURCE = "__global__ void saxpy(float a, float* x) { x[threadIdx.x] *= a; }\n"

_DRIVER = """
int cuDriverGetVersion(int *version) { *version = NUMBER; return 0; }
int cuInit(unsigned flags) { return 0; }
int cuDeviceGetCount(int *count) { *count = 1; return 0; }
int cuDeviceGet(int *device, int ordinal) { *device = ordinal; return 0; }
int cuDeviceGetAttribute(int *value, int what, int device) { *value = what == 75 ? 9 : 0; return 0; }
"""
_NVML = """
#include <string.h>
static int ready;
int nvmlInit_v2(void) { ready = 1; return STATUS; }
int nvmlShutdown(void) { ready = 0; return 0; }
int nvmlSystemGetDriverVersion(char *text, unsigned length) { strncpy(text, "580.159.03", length); return !ready; }
int nvmlSystemGetCudaDriverVersion_v2(int *version) { *version = NUMBER; return !ready; }
"""


def write_project(folder: Path, table: str = TABLE, **more: str) -> Path:
    """Make a project with one CUDA source, and return its folder."""
    (folder / "src").mkdir(parents=True)
    (folder / "pyproject.toml").write_text(table, "utf-8")
    (folder / "src/saxpy.cu").write_text(SOURCE, "utf-8")
    for name, text in more.items():
        (folder / f"src/{name}.cu").write_text(text, "utf-8")
    return folder


def make_library(folder: Path, name: str, source: str, **macros: int) -> Path:
    """Compile a shared library ``name`` into ``folder``, which is returned."""
    folder.mkdir(parents=True, exist_ok=True)
    defines = [f"-D{macro}={value}" for macro, value in macros.items()]
    argv = ["gcc", "-shared", "-fPIC", *defines, "-x", "c", "-", "-o", str(folder / name)]
    subprocess.run(argv, input=source, text=True, check=True)
    return folder


def make_driver(folder: Path, number: int) -> Path:
    """Make a libcuda that is for the CUDA of ``number`` (13000 for 13.0), with one GPU of 9.0."""
    return make_library(folder, "libcuda.so.1", _DRIVER, NUMBER=number)


def make_nvml(folder: Path, number: int, *, status: int = 0) -> Path:
    """Make an NVML of a driver 580.159.03; with ``status`` it does not start."""
    return make_library(folder, "libnvidia-ml.so.1", _NVML, NUMBER=number, STATUS=status)


def diagnose(
    root: Path,
    *,
    search_path: Sequence[Path] = (),
    machine: Machine = NO_GPU,
    settings: Mapping[str, str] | None = None,
    **variables: str,
) -> Diagnosis:
    """Return the diagnosis of ``root``, which has been held against schema and screen."""
    environment = make_environment(root, search_path=search_path, **{**STEPS, **variables})
    found = find_diagnosis(Request(root, environment, config_settings=settings or {}), machine=machine)
    described = describe(found)
    check_schema(described)
    text = render_plain(lay_out(found))
    assert all(candidate.where in text and candidate.verdict in text for candidate in found.candidates)
    assert all(line.strip() in text for problem in found.problems for line in problem.render().splitlines())
    return found


def check_schema(document: object) -> None:
    """Hold what ``doctor --json`` prints against its schema."""
    schema = json.loads(resources.files("setuptools_cuda.cli").joinpath("doctor.schema.json").read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(json.loads(json.dumps(document)))


@dataclass(frozen=True)
class Ran:
    status: int
    out: str
    err: str


def run_command(
    *arguments: str, cwd: Path, env: Mapping[str, str], options: Sequence[str] = (), path: str = str(ROOT)
) -> Ran:
    """Run ``python -m setuptools_cuda`` as a process of its own. No run may end in a traceback."""
    done = subprocess.run(
        [sys.executable, *options, "-m", "setuptools_cuda", *arguments],
        cwd=cwd,
        env={**env, "PYTHONPATH": path},
        capture_output=True,
        check=False,
    )
    out, err = done.stdout.decode("utf-8", "surrogateescape"), done.stderr.decode("utf-8", "surrogateescape")
    assert "Traceback" not in out + err, out + err
    return Ran(done.returncode, out, err)


def list_tree(folder: Path) -> dict[str, float]:
    """Return every path below ``folder`` with its time."""
    return {str(path): path.lstat().st_mtime_ns for path in folder.rglob("*")}
