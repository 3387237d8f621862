"""Wheels of projects that set keys of the table, and what can be read from the files in them."""

from __future__ import annotations

import io
import json
import re
import struct
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TypeVar

from conftest import only_one_worker
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from setuptools_support import TOOLKIT, Done, Installation, shared_installation, write_project

Test = TypeVar("Test", bound=Callable[..., None])

SHOWN: dict[tuple[str, str], tuple[str, ...]] = {}
"""The keys, as 'scope.key', that each test shows the effect of, by the test's module and name."""


def shows(*keys: str) -> Callable[[Test], Test]:
    """Return a decorator that notes which keys a test shows, each as 'scope.key' ('*': the three kinds of targets)."""

    def note(test: Test) -> Test:
        kinds = ("extension", "library", "kernel-module")
        named = (name.removeprefix("*.") for name in keys if name.startswith("*."))
        every = [f"{kind}.{name}" for name in named for kind in kinds]
        SHOWN[test.__module__, test.__qualname__] = (*every, *(name for name in keys if not name.startswith("*.")))
        return test

    return note


# Each SHOW makes a kernel and a host function, whose names hold what the compiler made of the value.
PROBE_H = """\
#define SHOW_(name, value) \\
    extern "C" __global__ void name##_##value(void) {} \\
    extern "C" __attribute__((visibility("default"))) int host_##name##_##value(void) { return 0; }
#define SHOW(name, value) SHOW_(name, value)
"""

BIND_H = """\
#include <Python.h>
#ifndef ANSWER
#define ANSWER 0
#endif
#ifdef CALL
int CALL(void);
#else
#define CALL() ANSWER
#endif
static PyObject *answer(PyObject *self, PyObject *unused) { return PyLong_FromLong(CALL()); }
static PyMethodDef methods[] = {{"answer", answer, METH_NOARGS, 0}, {0, 0, 0, 0}};
#define JOIN_(a, b) a##b
#define JOIN(a, b) JOIN_(a, b)
#define TEXT_(a) #a
#define TEXT(a) TEXT_(a)
static struct PyModuleDef module = {PyModuleDef_HEAD_INIT, TEXT(NAME), 0, -1, methods, 0, 0, 0, 0};
PyMODINIT_FUNC JOIN(PyInit_, NAME)(void) { return PyModule_Create(&module); }
"""
"""A module NAME whose ``answer()`` is the number ANSWER, or what the function CALL returns."""

DEVICE_TOOLS = ("nvidia-cuda-nvrtc==13.0.*", "nvidia-nvjitlink==13.0.*")
"""What compiles and links kernels besides nvcc."""

HEAD = """\
[build-system]
requires = ["setuptools>=77", "setuptools-cuda-build"]
build-backend = "setuptools_cuda.build_meta"

[project]
name = "demo"
version = "1.0"

[tool.setuptools]
packages = ["demo"]

[tool.setuptools-cuda]
"""


@dataclass(frozen=True)
class Wheel:
    """A wheel, what was said while it was built, and the project that it was built in."""

    path: Path
    said: str
    project: Path

    @property
    def compiled(self) -> list[str]:
        """Return what was compiled or linked for it, in the words of the build's progress."""
        return sorted(re.findall(r"^ *\[\d+/\d+\] ((?:compile|archive|link) .*)$", self.said, re.MULTILINE))

    @cached_property
    def files(self) -> dict[str, bytes]:
        """Return the content of each file, by its name."""
        with zipfile.ZipFile(self.path) as archive:
            return {name: archive.read(name) for name in archive.namelist()}

    def names(self, folder: str) -> list[str]:
        """Return the names of the files in ``folder``, below it, sorted."""
        return sorted(name.removeprefix(f"{folder}/") for name in self.files if name.startswith(f"{folder}/"))

    def module(self, name: str) -> bytes:
        """Return the content of the extension module demo.NAME."""
        (file,) = (file for file in self.files if re.fullmatch(rf"demo/{name}\.[^/]*so", file))
        return self.files[file]

    def has_module(self, name: str) -> bool:
        """Return whether there is an extension module demo.NAME."""
        return any(re.fullmatch(rf"demo/{name}\.[^/]*so", file) for file in self.files)

    @cached_property
    def manifest(self) -> dict[str, dict[str, object]]:
        """Return the manifest's artifacts by path."""
        (text,) = (content for name, content in self.files.items() if name.endswith("/setuptools_cuda.json"))
        return {str(one["path"]): one for one in json.loads(text)["artifacts"]}

    def shown(self, target: str) -> set[str]:
        """Return what the probes say in a target: 'demo/k_images/src/probe' (PTX), or a file with symbols."""
        ptx = [content for name, content in self.files.items() if re.fullmatch(rf"{target}\.compute_\d+\.ptx", name)]
        if ptx:
            return set(re.findall(r"\.entry (\w+)", b"".join(ptx).decode("ascii")))
        return {name.removeprefix("host_") for name in defined_symbols(self.files[target]) if name.startswith("host_")}

    def unpack(self) -> Path:
        """Return a folder with the content of the wheel."""
        folder = self.project / "unpacked"
        with only_one_worker(self.path.parent):
            if not folder.exists():
                with zipfile.ZipFile(self.path) as archive:
                    archive.extractall(folder)
        return folder


def keys_installation(shared_folder: Path, our_wheel: Path) -> Installation:
    """Return an environment with a toolkit and what extensions use, in which no variable of ours is set."""
    others = ("setuptools", "cython", "numpy", "pybind11", "nanobind", *DEVICE_TOOLS)
    requirements = [our_wheel, TOOLKIT, *others]
    made = shared_installation(shared_folder / "keys", requirements)
    variables = {name: value for name, value in made.variables.items() if not name.startswith("SETUPTOOLS_CUDA_")}
    return Installation(made.folder, variables)


def pip_wheel(installation: Installation, project: Path, *settings: str, **variables: str) -> Done:
    """Build the wheel of ``project`` into its folder 'dist', as ``pip wheel -C`` does."""
    words = ["--verbose", "--no-build-isolation", "--no-deps", "--disable-pip-version-check", "--wheel-dir", "dist"]
    given = [word for setting in settings for word in ("-C", setting)]
    return installation.run("-m", "pip", "wheel", *words, *given, ".", cwd=project, **variables)


def made_wheel(installation: Installation, project: Path, *settings: str, **variables: str) -> Wheel:
    """Build the wheel of ``project``; a failure fails the test."""
    done = pip_wheel(installation, project, *settings, **variables)
    assert done.status == 0, done.output
    (path,) = (project / "dist").glob("*.whl")
    return Wheel(path, done.output, project)


def write_demo(project: Path, files: Mapping[str, str]) -> Path:
    """Write a project with the package demo; what begins with '#!' can be run."""
    write_project(project, {"demo/__init__.py": "", **files})
    for name, text in files.items():
        if text.startswith("#!"):
            (project / name).chmod(0o755)
    return project


def wheel_once(
    installation: Installation,
    folder: Path,
    files: Mapping[str, str],
    *settings: str,
    prepare: Callable[[Path], None] | None = None,
    **variables: str,
) -> Wheel:
    """Return the wheel of the project ``files`` in ``folder``, built once a test run, whichever worker asks first.

    ``prepare`` gets the project before it is built.
    """
    folder.mkdir(exist_ok=True)
    project, said = folder / "project", folder / "said.txt"
    with only_one_worker(folder):
        if not said.exists():
            write_demo(project, files)
            if prepare:
                prepare(project)
            said.write_text(made_wheel(installation, project, *settings, **variables).said, "utf-8")
    (path,) = (project / "dist").glob("*.whl")
    return Wheel(path, said.read_text("utf-8"), project)


def answers(installation: Installation, wheel: Wheel, *modules: str) -> dict[str, int]:
    """Return what ``answer()`` of each extension module of ``wheel`` returns, by its name."""
    code = (
        "import importlib, json, sys\n"
        "print(json.dumps({name: importlib.import_module(f'demo.{name}').answer() for name in sys.argv[1:]}))"
    )
    text = installation.succeed("-c", code, *modules, cwd=wheel.unpack())
    found: dict[str, int] = json.loads(text)
    return found


def defined_symbols(content: bytes) -> set[str]:
    """Return the global symbols that an object, archive or shared library defines."""
    return _symbols(content, "--defined-only", "--extern-only")


def exported_symbols(content: bytes) -> set[str]:
    """Return the symbols that a shared library exports."""
    return _symbols(content, "--defined-only", "--dynamic")


def _symbols(content: bytes, *options: str) -> set[str]:
    with tempfile.NamedTemporaryFile() as file:
        file.write(content)
        file.flush()
        command = ["nm", "--format=posix", *options, file.name]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    lines = [line.split() for line in done.stdout.splitlines()]
    return {words[0] for words in lines if len(words) > 1}


def dynamic(content: bytes, tag: str) -> list[str]:
    """Return the values of a shared library's dynamic entries 'needed', 'runpath' (also rpath) or 'soname'."""
    names = {"DT_RUNPATH", "DT_RPATH"} if tag == "runpath" else {f"DT_{tag.upper()}"}
    section = ELFFile(io.BytesIO(content)).get_section_by_name(".dynamic")
    assert isinstance(section, DynamicSection)
    found = [one for one in section.iter_tags() if one.entry.d_tag in names]
    values = [str(getattr(one, one.entry.d_tag.removeprefix("DT_").lower())) for one in found]
    return [part for value in values for part in value.split(":")]


@dataclass(frozen=True)
class DeviceCode:
    """One entry of a fatbin."""

    kind: str
    """'sm' for machine code, 'compute' for PTX."""
    number: int
    compressed: bool

    def __str__(self) -> str:
        return f"{self.kind}_{self.number}"


_KINDS = {1: "compute", 2: "sm"}
_COMPRESSED = 0x2000 | 0x8000
_FATBIN = struct.pack("<I", 0xBA55ED50)


def device_code(content: bytes) -> list[DeviceCode]:
    """Return all device code in a file: a fatbin, or objects that hold fatbins."""
    starts = [match.start() for match in re.finditer(re.escape(_FATBIN), content)]
    return [code for start in starts for code in _fatbin(content, start=start)]


def _fatbin(content: bytes, *, start: int) -> list[DeviceCode]:
    _, _, head, size = struct.unpack_from("<IHHQ", content, start)
    place, end, found = start + head, start + head + size, []
    while place < end:
        kind, _, entry_head, entry_size = struct.unpack_from("<HHIQ", content, place)
        (number,) = struct.unpack_from("<I", content, place + 28)
        (flags,) = struct.unpack_from("<Q", content, place + 40)
        found.append(DeviceCode(_KINDS[kind], number, bool(flags & _COMPRESSED)))
        place += entry_head + entry_size
    return found


def architectures(content: bytes) -> set[str]:
    """Return the names of the device code in a file, as 'sm_80' and 'compute_80'."""
    return {str(code) for code in device_code(content)}


def compile_host(project: Path, *arguments: str) -> None:
    """Run the machine's C compiler in ``project``."""
    subprocess.run(["cc", *arguments], cwd=project, check=True)


PYTHON = f"cp{sys.version_info[0]}{sys.version_info[1]}"
