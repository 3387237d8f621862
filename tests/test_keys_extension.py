"""Keys of extensions alone, and what packages bring to them: seen in one wheel, whose modules are called."""

from __future__ import annotations

import shutil
import sysconfig
from pathlib import Path

import pytest
from conftest import only_one_worker
from keys_support import (
    BIND_H,
    HEAD,
    Wheel,
    answers,
    compile_host,
    dynamic,
    exported_symbols,
    keys_installation,
    made_wheel,
    shows,
    wheel_once,
    write_demo,
)
from setuptools_support import Installation

SUFFIX = str(sysconfig.get_config_var("EXT_SUFFIX"))
TABLE = """
architectures = ["80"]

[[tool.setuptools-cuda.extension]]
name = "demo._system"
sources = ["src/_system.c"]
libraries = ["foreign"]
library-dirs = ["lib"]
runtime-library-dirs = ["$ORIGIN/foreign"]

[[tool.setuptools-cuda.extension]]
name = "demo._object"
sources = ["src/_object.c", "src/*.cc", "src/*.cxx"]
extra-objects = ["obj/extra.o"]

[[tool.setuptools-cuda.extension]]
name = "demo._only_objects"
extra-objects = ["obj/_only_objects.o"]

[[tool.setuptools-cuda.library]]
name = "archive"
sources = ["archive/*.c"]

[[tool.setuptools-cuda.extension]]
name = "demo._exporting"
sources = ["src/_exporting.c"]
link = ["archive"]
export-symbols = ["only_exported"]

[[tool.setuptools-cuda.extension]]
name = "demo._linking"
sources = ["src/_linking.c"]
link = ["archive"]

[[tool.setuptools-cuda.extension]]
name = "demo._optional"
sources = ["src/_optional.c", "src/broken.cu"]
optional = true

[[tool.setuptools-cuda.extension]]
name = "demo._language"
sources = ["src/_language.c"]
language = "c++"
flags = { link = ["-Wl,--no-as-needed"] }

[[tool.setuptools-cuda.extension]]
name = "demo._no_language"
sources = ["src/_no_language.c"]
flags = { link = ["-Wl,--no-as-needed"] }

[[tool.setuptools-cuda.extension]]
name = "demo._language_c"
sources = ["src/_language_c.cpp"]
language = "c"
flags = { link = ["-Wl,--no-as-needed"] }

[[tool.setuptools-cuda.extension]]
name = "demo._cython"
sources = ["src/_cython.pyx"]
language = "c++"
flags = { cxx = ["-O0"] }

[[tool.setuptools-cuda.extension]]
name = "demo._numpy"
sources = ["src/_numpy.c"]
uses = ["numpy"]

[[tool.setuptools-cuda.extension]]
name = "demo._pybind11"
sources = ["src/_pybind11.cpp"]
uses = ["pybind11"]
flags = { cxx = ["-O0"] }

[[tool.setuptools-cuda.extension]]
name = "demo._nanobind"
sources = ["src/_nanobind.cpp"]
uses = ["nanobind"]
flags = { cxx = ["-O0"] }

[[tool.setuptools-cuda.extension]]
name = "demo._torch"
sources = ["src/_torch.cpp"]
uses = ["torch"]

[[tool.setuptools-cuda.library]]
name = "against_torch"
type = "interface"
uses = ["torch"]

[[tool.setuptools-cuda.library]]
name = "torch_user"
type = "shared"
install = "demo/lib"
sources = ["torch_user.cpp"]
link = ["against_torch"]

[[tool.setuptools-cuda.library]]
name = "shared"
type = "shared"
install = "demo/lib"
sources = ["shared.c"]

[[tool.setuptools-cuda.extension]]
name = "demo._shared"
sources = ["src/_shared.c"]
link = ["shared"]

[[tool.setuptools-cuda.extension]]
name = "demo._cudart"
sources = ["src/_cudart.c"]
link = ["CUDA::cudart"]

[[tool.setuptools-cuda.extension]]
name = "demo._static"
sources = ["src/_static.c"]
link = ["CUDA::cudart_static"]
cudart = "none"

[[tool.setuptools-cuda.extension]]
name = "demo._driver"
sources = ["src/_driver.c"]
link = ["CUDA::cuda_driver"]
cudart = "none"
"""
RUNTIME = """\
#include <cuda_runtime_api.h>
int runtime(void) { int version = 0; cudaRuntimeGetVersion(&version); return version; }
"""


def bind(name: str, *, call: str = "", answer: int = 0) -> str:
    called = f"#define CALL {call}\n" if call else ""
    return f'#define NAME {name}\n#define ANSWER {answer}\n{called}#include "bind.h"\n'


FILES = {
    "pyproject.toml": HEAD + TABLE,
    "src/bind.h": BIND_H,
    "src/_system.c": bind("_system", call="foreign"),
    "lib/foreign.c": "int foreign(void) { return 11; }\n",
    "src/_object.c": bind("_object", call="extra"),
    "src/part.cc": 'extern "C" int from_cc(void) { return 0; }\n',
    "src/part.cxx": 'extern "C" int from_cxx(void) { return 0; }\n',
    "obj/extra.c": "int extra(void) { return 12; }\n",
    "obj/_only_objects.c": bind("_only_objects", answer=10).replace("bind.h", "../src/bind.h"),
    "archive/linked.c": "int linked(void) { return 13; }\n",
    "archive/exported.c": "int only_exported(void) { return 14; }\n",
    "src/_exporting.c": bind("_exporting", call="linked"),
    "src/_linking.c": bind("_linking", call="linked"),
    "src/_optional.c": bind("_optional"),
    "src/broken.cu": "no C++ at all\n",
    "src/_language.c": bind("_language", answer=15),
    "src/_no_language.c": bind("_no_language", answer=16),
    "src/_language_c.cpp": bind("_language_c", answer=17),
    "src/_cython.pyx": """\
cdef extern from *:
    '''
    #ifdef __cplusplus
    #define IS_CXX 18
    #else
    #define IS_CXX 0
    #endif
    '''
    const int IS_CXX
def answer():
    return IS_CXX
""",
    "src/_numpy.c": bind("_numpy", call="size") + "#define NPY_NO_DEPRECATED_API NPY_1_7_API_VERSION\n"
    "#include <numpy/arrayobject.h>\n"
    "int size(void) { npy_intp shape[2] = {4, 5}; import_array1(-1);\n"
    "    return (int)PyArray_SIZE((PyArrayObject *)PyArray_SimpleNew(2, shape, NPY_INT)); }\n",
    "src/_pybind11.cpp": "#include <pybind11/pybind11.h>\n"
    'PYBIND11_MODULE(_pybind11, m) { m.def("answer", [] { return 21; }); }\n',
    "src/_nanobind.cpp": "#include <nanobind/nanobind.h>\n"
    'NB_MODULE(_nanobind, m) { m.def("answer", [] { return 22; }); }\n',
    "src/_torch.cpp": "#include <torch/torch.h>\n#define NAME TORCH_EXTENSION_NAME\n#define CALL c10\n"
    'extern "C" int c10(void);\n#include "bind.h"\n',
    "torch_user.cpp": '#include <torch/torch.h>\nextern "C" int c10(void);\nint torch_user() { return c10(); }\n',
    "shared.c": "int shared(void) { return 24; }\n",
    "src/_shared.c": bind("_shared", call="shared"),
    "src/_cudart.c": bind("_cudart", call="runtime") + RUNTIME,
    "src/_static.c": bind("_static", call="runtime") + RUNTIME,
    "src/_driver.c": bind("_driver") + "#include <cuda.h>\nint driver(void) { return (int)cuInit(0); }\n",
    # Stands for PyTorch: its layout, without its size.
    "site/torch/version.py": "__version__ = '2.9.0+cu130'\ncuda: str = '13.0'\n",
    "site/torch/include/torch/csrc/api/include/torch/torch.h": "#pragma once\n",
    "site/torch/share/cmake/Torch/TorchConfig.cmake": "set_property(TARGET torch PROPERTY CXX_STANDARD 17)\n",
    "site/torch/lib/c10.c": "int c10(void) { return 23; }\n",
    "site/torch/lib/empty.c": "",
    "site/torch-2.9.0.dist-info/METADATA": "Metadata-Version: 2.1\nName: torch\nVersion: 2.9.0\n",
}
TORCH = ("torch", "torch_cpu", "torch_python", "c10_cuda", "torch_cuda")
LIMITED = """
[[tool.setuptools-cuda.extension]]
name = "demo._limited"
sources = ["_limited.c"]
limited-api = "cp310"
"""


def prepare(project: Path) -> None:
    """Build what the extensions find ready: a library, an object, and those of the stand-in for PyTorch."""
    compile_host(project, "-shared", "-fPIC", "-o", "lib/libforeign.so", "lib/foreign.c")
    include = f"-I{sysconfig.get_path('include')}"
    for name in ("extra", "_only_objects"):
        compile_host(project, "-c", "-fPIC", include, "-o", f"obj/{name}.o", f"obj/{name}.c")
    for name, source in [("c10", "c10"), *((name, "empty") for name in TORCH)]:
        folder = "site/torch/lib"
        compile_host(project, "-shared", "-fPIC", "-o", f"{folder}/lib{name}.so", f"{folder}/{source}.c")


@pytest.fixture(scope="session")
def installation(shared_folder: Path, our_wheel: Path) -> Installation:
    return keys_installation(shared_folder, our_wheel)


@pytest.fixture(scope="session")
def wheel(installation: Installation, shared_folder: Path) -> Wheel:
    folder = shared_folder / "keys-extension"
    variables = {"PYTHONPATH": str(folder / "project/site")}
    return wheel_once(installation, folder, FILES, prepare=prepare, **variables)


@pytest.fixture(scope="session")
def answered(wheel: Wheel, installation: Installation, shared_folder: Path) -> dict[str, int]:
    """Return what each module answers, with the libraries that they need installed beside the package."""
    beside = wheel.unpack()
    with only_one_worker(shared_folder / "keys-extension"):
        if not (beside / "torch").exists():
            (beside / "demo/foreign").mkdir()
            shutil.copy(wheel.project / "lib/libforeign.so", beside / "demo/foreign")
            (beside / "nvidia").symlink_to(site_packages(installation) / "nvidia")
            (beside / "torch").symlink_to(wheel.project / "site/torch")
    return answers(installation, wheel, *(name for name in ANSWERS if wheel.has_module(name)))


def site_packages(installation: Installation) -> Path:
    (folder,) = installation.folder.glob("lib/python*/site-packages")
    return folder


ANSWERS = {
    "_only_objects": 10,
    "_system": 11,
    "_object": 12,
    "_exporting": 13,
    "_linking": 13,
    "_language": 15,
    "_no_language": 16,
    "_language_c": 17,
    "_cython": 18,
    "_numpy": 20,
    "_pybind11": 21,
    "_nanobind": 22,
    "_torch": 23,
    "_shared": 24,
    "_cudart": 13000,
    "_static": 13000,
}


@shows("extension.name", "extension.sources")
def test_modules_have_the_names_that_they_are_imported_by(wheel: Wheel, answered: dict[str, int]) -> None:
    assert answered == ANSWERS
    assert {"from_cc", "from_cxx"} <= exported_symbols(wheel.module("_object"))


@shows("extension.libraries", "extension.library-dirs", "extension.runtime-library-dirs")
def test_system_libraries_are_found_at_link_time_and_at_run_time(wheel: Wheel, answered: dict[str, int]) -> None:
    assert "libforeign.so" in dynamic(wheel.module("_system"), "needed")
    assert "$ORIGIN/foreign" in dynamic(wheel.module("_system"), "runpath")
    assert answered["_system"] == 11


@shows("extension.extra-objects")
def test_extra_objects_are_linked(wheel: Wheel, answered: dict[str, int]) -> None:
    assert "extra" in exported_symbols(wheel.module("_object"))
    assert [answered[name] for name in ("_object", "_only_objects")] == [12, 10]


@shows("extension.export-symbols", "library.type")
def test_exported_symbols_are_taken_from_a_library_that_nothing_else_needs_them_of(wheel: Wheel) -> None:
    assert {"linked", "only_exported"} <= exported_symbols(wheel.module("_exporting"))
    assert "only_exported" not in exported_symbols(wheel.module("_linking"))


@shows("extension.optional")
def test_an_optional_extension_that_does_not_compile_is_a_warning(wheel: Wheel) -> None:
    assert not wheel.has_module("_optional")
    assert not [path for path in wheel.manifest if "_optional" in path]
    assert 'building extension "demo._optional" failed: src/broken.cu does not compile' in wheel.said


@shows("extension.language")
def test_language_decides_the_linker_and_what_cython_makes(wheel: Wheel, answered: dict[str, int]) -> None:
    cxx = "libstdc++.so.6"
    assert cxx in dynamic(wheel.module("_language"), "needed")
    assert cxx not in dynamic(wheel.module("_no_language"), "needed")
    assert cxx not in dynamic(wheel.module("_language_c"), "needed")
    assert answered["_cython"] == 18


@shows("extension.uses")
@pytest.mark.parametrize("package", ["numpy", "pybind11", "nanobind", "torch"])
def test_uses_brings_what_extensions_against_a_package_need(answered: dict[str, int], package: str) -> None:
    assert answered[f"_{package}"] == ANSWERS[f"_{package}"]


@shows("extension.uses", "library.uses")
def test_libraries_of_torch_are_looked_for_beside_the_package(wheel: Wheel) -> None:
    library = wheel.files["demo/lib/libtorch_user.so"]
    for content, up in [(wheel.module("_torch"), "$ORIGIN/.."), (library, "$ORIGIN/../..")]:
        assert "libc10.so" in dynamic(content, "needed")
        assert f"{up}/torch/lib" in dynamic(content, "runpath")


@shows("extension.link", "library.type")
def test_a_shared_library_of_the_wheel_is_found_by_the_extension_that_links_it(
    wheel: Wheel, answered: dict[str, int]
) -> None:
    assert "libshared.so" in dynamic(wheel.module("_shared"), "needed")
    assert "$ORIGIN/../demo/lib" in dynamic(wheel.module("_shared"), "runpath")
    assert answered["_shared"] == 24


@shows("extension.link", "extension.cudart")
def test_libraries_of_the_toolkit_are_linked_by_the_names_of_cmake(wheel: Wheel, answered: dict[str, int]) -> None:
    runtime, folder = "libcudart.so.13", "$ORIGIN/../nvidia/cu13/lib"
    assert runtime in dynamic(wheel.module("_cudart"), "needed")
    assert folder in dynamic(wheel.module("_cudart"), "runpath")
    assert "declare 'nvidia-cuda-runtime==13.*' in project.dependencies" in wheel.said
    assert runtime not in dynamic(wheel.module("_static"), "needed")
    assert [answered[name] for name in ("_cudart", "_static")] == [13000, 13000]
    assert {f"_{name}": wheel.manifest[f"demo/_{name}{SUFFIX}"]["cudart"] for name in ("cudart", "static")} == {
        "_cudart": "shared",
        "_static": "none",
    }


@shows("extension.link", "extension.cudart")
def test_the_drivers_library_is_linked_by_a_stub_and_comes_with_no_wheel(wheel: Wheel) -> None:
    module = wheel.module("_driver")
    assert "libcuda.so.1" in dynamic(module, "needed")
    assert not [name for name in dynamic(module, "needed") if name.startswith("libcudart")]
    assert not [path for path in dynamic(module, "runpath") if "nvidia" in path]


@shows("extension.limited-api")
def test_limited_api_is_suffix_and_macro_and_tag(installation: Installation, tmp_path: Path) -> None:
    source = bind("_limited", answer=19) + "#if Py_LIMITED_API != 0x030A0000\n#error not limited\n#endif\n"
    files = {"pyproject.toml": HEAD + LIMITED, "_limited.c": source, "bind.h": BIND_H}
    wheel = made_wheel(installation, write_demo(tmp_path, files))
    assert wheel.path.name.startswith("demo-1.0-cp310-abi3-linux_")
    assert "_limited.abi3.so" in wheel.names("demo")
    assert answers(installation, wheel, "_limited") == {"_limited": 19}
