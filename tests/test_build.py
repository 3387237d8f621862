"""Builds with a real nvcc: what comes out, what is built again, and what failing leaves."""

from __future__ import annotations

import shutil
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from build_support import Built, make_python, make_request

from setuptools_cuda.errors import BuildError, Code

MakeProject = Callable[..., Path]
KERNEL = 'extern "C" __global__ void {name}(float* x) {{ x[threadIdx.x] += {value}; }}\n'
LAUNCH = '#include "h.h"\n' + KERNEL + "int run_{name}() {{ {name}<<<1, 1>>>(nullptr); return cudaGetLastError(); }}\n"
TABLE = """
[tool.setuptools-cuda]
architectures = ["80"]
include-dirs = ["inc"]
"""
BIND = """
#include <Python.h>
#include "h.h"
static PyObject* call(PyObject*, PyObject*) { return Py_BuildValue("i", CALL); }
static PyMethodDef methods[] = {{"call", call, METH_NOARGS, ""}, {nullptr, nullptr, 0, nullptr}};
static PyModuleDef module = {PyModuleDef_HEAD_INIT, "_native", "", -1, methods, nullptr, nullptr, nullptr, nullptr};
PyMODINIT_FUNC PyInit__native() { return PyModule_Create(&module); }
"""
REDUCE = """
#include <cub/block/block_reduce.cuh>
#include <cstdio>
#include "h.h"
static __device__ int hidden;
__global__ void a(int* x) {
  typedef cub::BlockReduce<int, 32> Reduce;
  __shared__ typename Reduce::TempStorage storage;
  hidden = Reduce(storage).Sum(*x);
  printf("%s", __FILE__);
}
int run_a() { a<<<1, 1>>>(nullptr); return cudaGetLastError(); }
"""
CALLING = {
    "inc/h.h": "int run_k();\n",
    "twice.cu": "__device__ float twice(float x) { return 2 * x; }\n",
    "k.cu": '#include "h.h"\nextern __device__ float twice(float);\n'
    "__global__ void k(float* x) { *x = twice(*x); }\n"
    "int run_k() { k<<<1, 1>>>(nullptr); return cudaGetLastError(); }\n",
    "bind.cpp": BIND.replace("CALL", "run_k()"),
}
"""Two sources, of which one calls device code of the other."""
NO_DRIVER = {35, 100}
"""cudaErrorInsufficientDriver and cudaErrorNoDevice (CUDA Runtime API, cudaError_t)."""


def imported(so: bytes, folder: Path) -> int:
    """Return what ``call()`` of an extension says, in a process of its own."""
    (folder / "_native.so").write_bytes(so)
    done = subprocess.run(
        [sys.executable, "-c", "import _native; print(_native.call())"],
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return int(done.stdout)


@pytest.fixture
def project(make_project: MakeProject) -> Path:
    return make_project(
        {
            "pyproject.toml": TABLE
            + """
[[tool.setuptools-cuda.extension]]
name = "_native"
sources = ["bind.cpp", "a/k.cu", "b/k.cu", "k.cpp"]
[[tool.setuptools-cuda.kernel-module]]
module = "kernels"
sources = ["*/k.cu"]
""",
            "inc/h.h": "int run_a();\nint run_b();\nint host();\n",
            "a/k.cu": LAUNCH.format(name="a", value=1),
            "b/k.cu": LAUNCH.format(name="b", value=2),
            "k.cpp": '#include "h.h"\nint host() { return 40; }\n',
            "bind.cpp": BIND.replace("CALL", "run_a() == run_b() ? run_a() : -host()"),
        }
    )


def test_sources_that_agree_in_their_stem_live_in_one_extension_and_one_module(
    project: Path, bare_environment: Mapping[str, str], tmp_path: Path
) -> None:
    built = Built(make_request(project, bare_environment))
    so = next(name for name in built.result.files if name.startswith("_native."))
    assert imported(built.read(so), tmp_path) in NO_DRIVER | {0}
    assert sorted(name for name in built.result.files if name != so) == [
        "kernels.py",
        "kernels_images/a/k.compute_80.ptx",
        "kernels_images/a/k.sm_80.cubin",
        "kernels_images/b/k.compute_80.ptx",
        "kernels_images/b/k.sm_80.cubin",
    ]
    assert b".entry a(" in built.read("kernels_images/a/k.compute_80.ptx")
    assert b".entry b(" in built.read("kernels_images/b/k.compute_80.ptx")


def test_a_second_build_compiles_nothing_and_an_edit_what_depends_on_it(
    project: Path, bare_environment: Mapping[str, str]
) -> None:
    request = make_request(project, bare_environment)
    assert len(Built(request).compiled) == 5
    assert Built(request).compiled == []
    (project / "a/k.cu").write_text(LAUNCH.format(name="a", value=3), "utf-8")
    assert Built(request).compiled == ["compile a/k.cu for sm_80+PTX", "link " + so_name()]
    (project / "inc/h.h").write_text("int run_a();\nint run_b();\nint host();\nint more();\n", "utf-8")
    assert len(Built(request).compiled) == 5
    changed = {**bare_environment, "CUDAARCHS": "86"}
    again = Built(make_request(project, changed))
    assert [line for line in again.compiled if line.endswith(".cpp")] == []
    assert Built(request).compiled == [] or Built(request).compiled == ["link " + so_name()]


def so_name() -> str:
    return f"_native{sysconfig.get_config_var('EXT_SUFFIX')}"


def test_a_source_that_does_not_compile_is_told_with_source_architecture_and_command(
    project: Path, bare_environment: Mapping[str, str]
) -> None:
    text = '#include "h.h"\n__global__ void k(int* x) {\n#if __CUDA_ARCH__ == 900\n*x = nonsense;\n#endif\n}\n'
    (project / "a/k.cu").write_text(text, "utf-8")
    with pytest.raises(BuildError) as caught:
        Built(make_request(project, {**bare_environment, "CUDAARCHS": "80;90"}))
    (problem,) = caught.value.problems
    details = dict(problem.details)
    assert problem.code is Code.COMPILE_FAILED
    assert problem.what == "a/k.cu does not compile"
    assert details["error"].startswith('a/k.cu(4): error: identifier "nonsense" is undefined')
    assert details["for"] == "sm_90 (of sm_80, sm_90)"
    assert details["command"].endswith("a/k.cu -o /dev/null")
    assert not list((project / "build").rglob("a.k.cu*.o"))
    assert not [path for path in (project / "build").rglob("scratch/**/*") if path.is_file()]


def test_names_that_shells_make_files_and_ninja_stumble_over(
    make_project: MakeProject, bare_environment: Mapping[str, str], tmp_path: Path
) -> None:
    names = ["a b/k 1.cu", "c#d/k#.cu", "it's/(k)&;.cu", "größe/核.cu", "%d/100%.cu"]
    kernels = {
        name: '#include "h 1#.h"\n' + LAUNCH.format(name=f"k{n}", value=n).split("\n", 1)[1]
        for n, name in enumerate(names)
    }
    listed = ", ".join(f'"{name}"' for name in names)
    calls = "".join(f"int run_k{n}();" for n in range(len(names)))
    project = make_project(
        {
            "pyproject.toml": f"""
[tool.setuptools-cuda]
architectures = ["80"]
include-dirs = ["in c#"]
[[tool.setuptools-cuda.extension]]
name = "_native"
sources = ["bind it.cpp", {listed}]
[[tool.setuptools-cuda.kernel-module]]
module = "kernels"
sources = [{listed}]
""",
            "in c#/h 1#.h": "#define HEADER 1\n",
            "in c#/h.h": calls,
            "bind it.cpp": BIND.replace("CALL", "+".join(f"run_k{n}() * 0" for n in range(len(names)))),
            **kernels,
        },
        "pro ject #1 'ü",
    )
    variables = {**bare_environment, "LC_ALL": "C"}
    built = Built(make_request(project, variables))
    so = next(name for name in built.result.files if name.startswith("_native."))
    assert imported(built.read(so), tmp_path) == 0
    assert "kernels_images/größe/核.sm_80.cubin" in built.result.files
    assert Built(make_request(project, variables)).compiled == []
    (project / "in c#/h 1#.h").write_text("#define HEADER 2\n", "utf-8")
    assert sum("for sm_80" in line for line in Built(make_request(project, variables)).compiled) == len(names)


def test_relocatable_device_code_is_linked_and_imports(
    make_project: MakeProject, bare_environment: Mapping[str, str], tmp_path: Path
) -> None:
    project = make_project(
        {
            "pyproject.toml": TABLE
            + """
[[tool.setuptools-cuda.library]]
name = "dev"
sources = ["twice.cu"]
rdc = true
[[tool.setuptools-cuda.extension]]
name = "_native"
sources = ["bind.cpp", "k.cu"]
rdc = true
link = ["dev"]
""",
            **CALLING,
        }
    )
    built = Built(make_request(project, bare_environment))
    (so,) = built.result.files
    assert imported(built.read(so), tmp_path) in NO_DRIVER | {0}
    assert sum("device code" in line for line in built.compiled) == 1


@pytest.mark.parametrize("direct", ["", ', "dev"'])
def test_a_shipped_library_holds_the_device_code_that_it_links(
    make_project: MakeProject,
    bare_environment: Mapping[str, str],
    tmp_path: Path,
    toolkit_nvcc: Path,
    direct: str,
) -> None:
    project = make_project(
        {
            "pyproject.toml": TABLE
            + f"""
[[tool.setuptools-cuda.library]]
name = "dev"
sources = ["twice.cu"]
rdc = true
[[tool.setuptools-cuda.library]]
name = "shipped"
sources = ["k.cu"]
rdc = true
link = ["dev"]
install = "lib"
[[tool.setuptools-cuda.extension]]
name = "_native"
sources = ["bind.cpp"]
link = ["shipped"{direct}]
""",
            **CALLING,
            "main.cpp": '#include "h.h"\nint main() { return run_k() == 0 || run_k() > 1 ? 0 : 1; }\n',
        }
    )
    built = Built(make_request(project, bare_environment))
    (so,) = (name for name in built.result.files if name.startswith("_native"))
    assert imported(built.read(so), tmp_path) in NO_DRIVER | {0}
    # Whoever gets the archive alone can link it: nothing of the other library is wanting.
    (tmp_path / "libshipped.a").write_bytes(built.read("lib/libshipped.a"))
    libraries = toolkit_nvcc.parent.parent / "lib"
    command = ["g++", "-Iinc", "main.cpp", str(tmp_path / "libshipped.a"), f"-L{libraries}"]
    command += ["-lcudart_static", "-ldl", "-lrt", "-lpthread", "-o", str(tmp_path / "main")]
    subprocess.run(command, cwd=project, env=dict(bare_environment), check=True)
    assert subprocess.run([str(tmp_path / "main")], check=False).returncode == 0


def test_definitions_with_commas_are_the_same_in_every_language(
    make_project: MakeProject, bare_environment: Mapping[str, str], tmp_path: Path
) -> None:
    show = "#define TEXT_(...) #__VA_ARGS__\n#define TEXT(...) TEXT_(__VA_ARGS__)\n"
    project = make_project(
        {
            "pyproject.toml": TABLE
            + """
[[tool.setuptools-cuda.extension]]
name = "_native"
sources = ["bind.cpp", "k.cu"]
defines = ["PAIR=a,b", "ARGUMENTS=(int a, float)"]
""",
            "inc/h.h": show + "const char* from_cuda();\n",
            "k.cu": '#include "h.h"\n__global__ void k(int a, int b) {}\n'
            'const char* from_cuda() { return TEXT(PAIR) " " TEXT(ARGUMENTS); }\n',
            "bind.cpp": "#include <string>\n"
            + BIND.replace(
                "CALL", 'std::string(from_cuda()) == "a,b (int a, float)" && std::string(TEXT(PAIR)) == "a,b"'
            ),
        }
    )
    built = Built(make_request(project, bare_environment))
    (so,) = built.result.files
    assert imported(built.read(so), tmp_path) == 1


def test_an_archive_with_unlinked_device_code_is_refused_before_it_fails_at_import(
    make_project: MakeProject, bare_environment: Mapping[str, str], toolkit_nvcc: Path
) -> None:
    project = make_project(
        {
            "pyproject.toml": TABLE
            + """
[[tool.setuptools-cuda.extension]]
name = "_native"
sources = ["bind.cpp", "plain.cu"]
extra-objects = ["foreign.o"]
""",
            "inc/h.h": "int run_k();\n",
            "plain.cu": "__global__ void plain() {}\n",
            "foreign.cu": "__device__ int f(int x) { return x; }\n__global__ void k(int* x) { *x = f(*x); }\n"
            "int run_k() { k<<<1, 1>>>(nullptr); return 0; }\n",
            "bind.cpp": BIND.replace("CALL", "run_k()"),
        }
    )
    command = [str(toolkit_nvcc), "-dc", "-arch=sm_80", "-Xcompiler", "-fPIC", "foreign.cu", "-o", "foreign.o"]
    subprocess.run(command, cwd=project, env=dict(bare_environment), check=True)
    with pytest.raises(BuildError) as caught:
        Built(make_request(project, bare_environment))
    assert caught.value.problems[0].code is Code.LINK_FAILED
    assert "relocatable device code was linked without a device link" in str(caught.value)


def test_objects_and_images_are_the_same_in_any_folder(
    project: Path, bare_environment: Mapping[str, str], tmp_path: Path
) -> None:
    (project / "a/k.cu").write_text(REDUCE, "utf-8")
    table = (project / "pyproject.toml").read_text("utf-8").replace('sources = ["bind', 'rdc = true\nsources = ["bind')
    (project / "pyproject.toml").write_text(table, "utf-8")
    other = tmp_path / "some where else" / "deeper"
    shutil.copytree(project, other)
    first, second = (
        Built(make_request(root, bare_environment, jobs=jobs)) for root, jobs in [(project, 1), (other, 8)]
    )
    assert first.result.files.keys() == second.result.files.keys()
    for name in first.result.files:
        assert first.read(name) == second.read(name), name
    assert first.result.manifest == second.result.manifest


def test_lto_ir_and_what_cython_made_are_the_same_in_any_folder(
    make_project: MakeProject, bare_environment: Mapping[str, str], tmp_path: Path
) -> None:
    files = {
        "pyproject.toml": TABLE
        + """
[[tool.setuptools-cuda.kernel-module]]
module = "k"
sources = ["k.cu"]
formats = ["ltoir"]
[[tool.setuptools-cuda.extension]]
name = "_native"
sources = ["_native.pyx"]
""",
        "inc/h.h": "",
        "k.cu": '#include <cassert>\n#include "h.h"\nnamespace { __global__ void k(int* x) { assert(*x); *x = 1; } }\n'
        "void run() { k<<<1, 1>>>(nullptr); }\n",
        "_native.pyx": "def call(): return 1\n",
    }
    first, other = make_project(files), make_project(files, "another one, longer")
    python = tmp_path / "python-by-another-name"
    # As in an environment at another place.
    script = f'#!/bin/sh\nexec "{sys.executable}" "$@"\n'
    python.write_text(script, "utf-8")
    python.chmod(0o755)
    one = Built(make_request(first, bare_environment))
    two = Built(
        replace(
            make_request(other, bare_environment),
            python=replace(make_python(), executable=str(python)),
        )
    )
    assert sorted(one.result.files) == sorted(two.result.files)
    for name in one.result.files:
        assert one.read(name) == two.read(name), name


def test_threads_of_nvcc_in_a_folder_with_a_space(
    make_project: MakeProject, bare_environment: Mapping[str, str]
) -> None:
    """nvcc with several threads looks for its temporary files in vain there, where it is told the whole path."""
    table = TABLE.replace('"80"', '"80", "90"') + '[[tool.setuptools-cuda.library]]\nname = "k"\nsources = ["k.cu"]\n'
    files = {"pyproject.toml": f'{table}install = "lib"\n', "k.cu": "__global__ void k(int* x) { *x = 1; }\n"}
    variables = {**bare_environment, "NVCC_THREADS": "2"}
    odd, plain = make_project(files, "a folder with 'spaces'"), make_project(files, "plain")
    one, two = (Built(make_request(root, variables)) for root in (odd, plain))
    assert list(one.result.files)
    for name in one.result.files:
        assert one.read(name) == two.read(name), name


def test_builds_of_one_folder_at_once_wait_for_each_other(project: Path, bare_environment: Mapping[str, str]) -> None:
    outcomes: list[object] = []

    def build(architecture: str) -> None:
        try:
            built = Built(make_request(project, {**bare_environment, "CUDAARCHS": architecture}))
            outcomes.append(
                built.read(f"kernels_images/a/k.compute_{architecture}.ptx").count(f"sm_{architecture}".encode())
            )
        except BaseException as error:  # noqa: BLE001 - the test looks at whatever went wrong in a thread
            outcomes.append(error)

    threads = [threading.Thread(target=build, args=(name,)) for name in ("80", "86", "80", "86")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes == [1, 1, 1, 1]


def test_the_compiler_has_no_scratch_files_left(project: Path, bare_environment: Mapping[str, str]) -> None:
    Built(make_request(project, bare_environment))
    assert not [path for path in (project / "build").rglob("scratch/**/*") if path.is_file()]
    assert not list((project / "build").rglob("*.ii"))


def test_an_optional_extension_may_fail_and_the_rest_is_built(
    project: Path, bare_environment: Mapping[str, str]
) -> None:
    table = (project / "pyproject.toml").read_text("utf-8")
    table += '[[tool.setuptools-cuda.extension]]\nname = "_extra"\nsources = ["extra.cu"]\noptional = true\n'
    (project / "pyproject.toml").write_text(table, "utf-8")
    (project / "extra.cu").write_text("nonsense;\n", "utf-8")
    built = Built(make_request(project, bare_environment))
    assert list(built.result.failed) == ["_extra"]
    assert built.result.failed["_extra"].problems[0].code is Code.COMPILE_FAILED
    assert "kernels.py" in built.result.files
    assert not any(name.startswith("_extra") for name in built.result.files)
    assert "_extra" not in built.result.manifest


def test_a_symbol_that_nothing_defines_is_told_at_the_link_and_not_at_import(
    project: Path, bare_environment: Mapping[str, str]
) -> None:
    bind = (project / "bind.cpp").read_text("utf-8")
    (project / "bind.cpp").write_text(
        "int forgotten(int);\n" + bind.replace("run_a() == run_b()", "forgotten(1)"), "utf-8"
    )
    with pytest.raises(BuildError) as caught:
        Built(make_request(project, bare_environment))
    (problem,) = caught.value.problems
    assert problem.code is Code.LINK_FAILED
    assert "undefined symbol: forgotten(int)" in dict(problem.details)["error"]
    assert "Py" not in dict(problem.details)["error"].split("Nothing")[0]
    table = (project / "pyproject.toml").read_text("utf-8")
    ignored = '[tool.setuptools-cuda]\nflags = { link = ["-Wl,--unresolved-symbols=ignore-all"] }'
    (project / "pyproject.toml").write_text(table.replace("[tool.setuptools-cuda]", ignored, 1), "utf-8")
    built = Built(make_request(project, bare_environment))
    assert not any("undefined" in line for line in built.lines)
