"""One package ships libraries; others link them, by setuptools, by CMake and by pkg-config."""

from __future__ import annotations

import json
import shlex
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from conftest import only_one_worker
from setuptools_support import TOOLKIT, Installation, pyproject, shared_installation, wheel_names, write_project

from setuptools_cuda.environment import Environment
from setuptools_cuda.errors import BuildError
from setuptools_cuda.resolution.packages import resolve_packages

TOOLS = ("setuptools", "scikit-build-core>=1.0", "cmake", "ninja", "pkgconf")
MAKER = """
[project.entry-points."cmake.prefix"]
maker = "maker"

[tool.setuptools-cuda]
architectures = ["80"]

[[tool.setuptools-cuda.library]]
name = "maker_scale"
sources = ["src/scale.cu"]
include-dirs = ["include"]
link = ["maker_base"]
install = "maker/lib"
headers = ["include/maker/maker.h"]

[[tool.setuptools-cuda.library]]
name = "maker_base"
sources = ["src/base.cu"]
include-dirs = ["include"]
install = "maker/lib"

[[tool.setuptools-cuda.library]]
name = "maker_words"
type = "interface"
defines = ["MAKER_WORD=7", '''MAKER_TEXT="a 'b';c"''']
include-dirs = ["include"]
install = "maker/lib"
headers = ["include/maker/words.h"]

[[tool.setuptools-cuda.library]]
name = "maker_shared"
type = "shared"
sources = ["src/shared.cpp"]
install = "maker/lib"
"""
# The static ones need each other and the runtime; 35 says that the driver is too old, or not there at all.
MAKER_FILES = {
    "maker/__init__.py": "",
    "include/maker/maker.h": "#pragma once\nint maker_scale(int value);\nint maker_base(int value);\n",
    "include/maker/words.h": "#pragma once\n#include <cstring>\n"
    "inline int maker_word() { return std::strcmp(MAKER_TEXT, \"a 'b';c\") ? -1 : MAKER_WORD; }\n",
    "src/scale.cu": '#include "maker/maker.h"\n__global__ void scale(int* x) { *x *= 2; }\n'
    "int maker_scale(int value) { int n = 0; cudaGetDeviceCount(&n); return 2 * maker_base(value); }\n",
    "src/base.cu": '#include "maker/maker.h"\n__global__ void base(int* x) { *x += 1; }\n'
    "int maker_base(int value) { cudaGetLastError(); return value + 1; }\n",
    "src/shared.cpp": 'extern "C" int maker_shared(void) { return 1000; }\n',
}
BIND = """\
#include <Python.h>
#include <maker/maker.h>
#include <maker/words.h>
extern "C" int maker_shared(void);
static PyObject *answer(PyObject *, PyObject *)
{ return PyLong_FromLong(maker_scale(20) + maker_word() + maker_shared()); }
static PyMethodDef methods[] = {{"answer", answer, METH_NOARGS, nullptr}, {nullptr, nullptr, 0, nullptr}};
static PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_native", nullptr, -1, methods, nullptr, nullptr, nullptr, nullptr};
PyMODINIT_FUNC PyInit__native(void) { return PyModule_Create(&module); }
"""
ANSWER = 42 + 7 + 1000
BY_SETUPTOOLS = """
[[tool.setuptools-cuda.extension]]
name = "demo._native"
sources = ["src/bind.cpp"]
uses = ["maker"]
cudart = "static"
"""
BY_CMAKE = {
    "pyproject.toml": """\
[build-system]
requires = ["scikit-build-core>=1.0", "maker"]
build-backend = "scikit_build_core.build"

[project]
name = "demo"
version = "1.0"
""",
    "CMakeLists.txt": """\
cmake_minimum_required(VERSION 3.20)
project(demo LANGUAGES CXX)
find_package(Python REQUIRED COMPONENTS Interpreter Development.Module)
find_package(maker_scale CONFIG REQUIRED)
find_package(maker_words CONFIG REQUIRED)
find_package(maker_shared CONFIG REQUIRED)
Python_add_library(_native MODULE src/bind.cpp WITH_SOABI)
target_link_libraries(_native PRIVATE maker_scale::maker_scale maker_words::maker_words maker_shared::maker_shared)
set_target_properties(_native PROPERTIES INSTALL_RPATH "$ORIGIN/../maker/lib")
install(TARGETS _native DESTINATION demo)
""",
    "src/bind.cpp": BIND,
    "demo/__init__.py": "",
}


@pytest.fixture(scope="session")
def installation(shared_folder: Path, our_wheel: Path) -> Installation:
    """Return an environment with build tools, a toolkit, and the package that ships libraries."""
    made = shared_installation(shared_folder / "shipped", [our_wheel, TOOLKIT, *TOOLS])
    folder = shared_folder / "maker"
    folder.mkdir(exist_ok=True)
    with only_one_worker(folder):
        if not (folder / "done").exists():
            text = pyproject(MAKER, packages='["maker"]').replace('name = "demo"', 'name = "maker"', 1)
            wheel = made.wheel(write_project(folder / "project", {"pyproject.toml": text, **MAKER_FILES}))
            made.succeed("-m", "pip", "install", "--quiet", "--no-deps", "--no-index", wheel, cwd=folder)
            (folder / "done").touch()
    return made


def run_installed(installation: Installation, wheel: Path, *, folder: Path) -> int:
    """Install the wheel beside the package whose libraries it links, and return what its function says."""
    command = ["-m", "pip", "install", "--quiet", "--no-deps", "--no-index", "--force-reinstall", wheel]
    with only_one_worker(installation.folder):
        installation.succeed(*command, cwd=folder)
        return int(installation.succeed("-c", "import demo._native as m; print(m.answer())", cwd=folder))


def test_what_is_shipped(installation: Installation, shared_folder: Path) -> None:
    (wheel,) = (shared_folder / "maker/project/dist").glob("*.whl")
    names = ("maker_base", "maker_scale", "maker_shared", "maker_words")
    assert [name for name in wheel_names(wheel) if name.startswith("maker/lib/")] == sorted(
        [
            *(f"maker/lib/cmake/{name}/{name}Config.cmake" for name in names),
            *(f"maker/lib/pkgconfig/{name}.pc" for name in names),
            "maker/lib/libmaker_base.a",
            "maker/lib/libmaker_scale.a",
            "maker/lib/libmaker_shared.so",
        ]
    )
    assert "-py3-none-" in wheel.name


def test_linked_by_setuptools(installation: Installation, tmp_path: Path) -> None:
    project = write_project(tmp_path / "demo", {"pyproject.toml": pyproject(BY_SETUPTOOLS), "src/bind.cpp": BIND})
    (project / "demo").mkdir()
    (project / "demo/__init__.py").touch()
    made, said = installation.made("build_wheel", project)
    assert "declare 'maker' in project.dependencies" in said
    assert run_installed(installation, project / "dist" / str(made), folder=tmp_path) == ANSWER


def test_linked_by_cmake(installation: Installation, tmp_path: Path) -> None:
    project = write_project(tmp_path / "demo", BY_CMAKE)
    told = installation.succeed("-m", "setuptools_cuda", "env", cwd=tmp_path)
    (root,) = (line.partition("=")[2] for line in told.splitlines() if line.startswith("export CUDAToolkit_ROOT="))
    path = f"{installation.folder / 'bin'}:/usr/bin:/bin"
    command = ["-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation", "--wheel-dir", "dist", "."]
    installation.succeed(*command, cwd=project, CUDAToolkit_ROOT=root, PATH=path)
    (wheel,) = (project / "dist").glob("*.whl")
    assert run_installed(installation, wheel, folder=tmp_path) == ANSWER


def test_linked_by_pkg_config(installation: Installation, toolkit_nvcc: Path, tmp_path: Path) -> None:
    version = f"python{sys.version_info[0]}.{sys.version_info[1]}"
    folder = installation.folder / "lib" / version / "site-packages/maker/lib/pkgconfig"
    ask = ["-m", "pkgconf", "--static", "--cflags", "--libs", "maker_scale", "maker_words"]
    flags = shlex.split(installation.succeed(*ask, cwd=tmp_path, PKG_CONFIG_PATH=str(folder)))
    assert "-DMAKER_WORD=7" in flags
    (tmp_path / "main.cpp").write_text(
        "#include <maker/maker.h>\n#include <maker/words.h>\nint main() { return maker_scale(20) + maker_word(); }\n",
        "utf-8",
    )
    runtime = f"-L{toolkit_nvcc.parent.parent / 'lib'}"
    subprocess.run(["g++", "main.cpp", "-o", "main", runtime, *flags], cwd=tmp_path, check=True)
    assert subprocess.run([tmp_path / "main"], check=False).returncode == 49
    asked = installation.succeed(
        "-m", "pkgconf", "--modversion", "maker_scale", cwd=tmp_path, PKG_CONFIG_PATH=str(folder)
    )
    assert asked.strip() == "1.0"


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (('cudart = "static"', ""), "the libraries of maker call the CUDA runtime, which is not linked"),
        (('uses = ["maker"]', 'uses = ["makr"]'), "there is no package 'makr' to use"),
        (('uses = ["maker"]', 'uses = ["ninja"]'), "it has no libraries that setuptools_cuda knows of"),
    ],
)
def test_errors_of_who_links(change: tuple[str, str], said: str, installation: Installation, tmp_path: Path) -> None:
    table = BY_SETUPTOOLS.replace(*change)
    files = {"pyproject.toml": pyproject(table), "src/bind.cpp": BIND, "demo/__init__.py": ""}
    done = installation.hook("build_wheel", write_project(tmp_path / "demo", files))
    assert (done.status, said in done.output) == (1, True), done.output


def test_an_archive_holds_those_that_are_not_shipped(installation: Installation, tmp_path: Path) -> None:
    base = MAKER.index('name = "maker_base"')
    table = MAKER[:base] + MAKER[base:].replace('install = "maker/lib"\n', "", 1)
    files = {"pyproject.toml": pyproject(table, packages='["maker"]'), **MAKER_FILES}
    wheel = installation.wheel(write_project(tmp_path / "maker", files))
    with zipfile.ZipFile(wheel) as archive:
        archive.extract("maker/lib/libmaker_scale.a", tmp_path)
    listed = subprocess.run(
        ["ar", "t", tmp_path / "maker/lib/libmaker_scale.a"], capture_output=True, text=True, check=True
    )
    assert len(listed.stdout.splitlines()) == 2


def install(root: Path, manifest: str) -> Environment:
    """Lay out an installed distribution with a manifest, and return an environment that finds it."""
    info = root / "demo-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n", "utf-8")
    (info / "setuptools_cuda.json").write_text(manifest, "utf-8")
    return Environment(variables={}, cwd=root, search_path=(str(root),))


def manifest_of(*, links: object) -> str:
    """Return the manifest of a library that links ``links``, and of another that links the first."""
    library = {"type": "static", "folder": "a", "path": None, "include": None, "cuda": [], "defines": []}
    libraries = [{**library, "name": "a", "links": links}, {**library, "name": "b", "links": ["a"]}]
    return json.dumps({"schema": 1, "artifacts": [], "libraries": libraries})


@pytest.mark.parametrize(
    ("manifest", "said"),
    [
        ('{"schema": 1, "artifacts": []}', "it ships no library"),
        ("no json", "cannot be read"),
        (json.dumps({"libraries": [{"name": "a"}]}), "cannot be read"),
        ('{"schema": 99}', "put a newer setuptools-cuda-build into build-system.requires"),
        (manifest_of(links=["b"]), "link each other"),
        (manifest_of(links="b"), r"its libraries\[0\].links is not what it has to be"),
        ("[]", "cannot be read"),
    ],
)
def test_manifests_that_cannot_be_used(manifest: str, said: str, tmp_path: Path) -> None:
    with pytest.raises(BuildError, match=said):
        resolve_packages(["demo"], environment=install(tmp_path, manifest))
