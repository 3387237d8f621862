"""Keys of libraries alone: seen in a wheel that holds nothing else."""

from __future__ import annotations

import ctypes
import re
from pathlib import Path

import pytest
from keys_support import (
    HEAD,
    Wheel,
    defined_symbols,
    dynamic,
    exported_symbols,
    keys_installation,
    shows,
    wheel_once,
)
from setuptools_support import Installation

TABLE = """
[[tool.setuptools-cuda.library]]
name = "tools"
sources = ["tools/*.c"]
include-dirs = ["include"]
install = "demo/lib"
headers = ["include/tools/*.h", "plain.h"]

[[tool.setuptools-cuda.library]]
name = "kept"
sources = ["kept.c"]

[[tool.setuptools-cuda.library]]
name = "words"
type = "interface"
defines = ["WORD=30"]
[tool.setuptools-cuda.library.flags]
c = ["-DFLAG=7"]
link = ["-Wl,--defsym=link_interface=1"]

[[tool.setuptools-cuda.library]]
name = "far"
type = "shared"
install = "demo/far/away"
sources = ["far.c"]

[[tool.setuptools-cuda.library]]
name = "calls"
type = "shared"
install = "demo/lib"
sources = ["calls.c"]
link = ["tools", "kept", "words", "far"]

[[tool.setuptools-cuda.library]]
name = "runtime"
type = "shared"
install = "demo/lib"
sources = ["runtime.c"]
link = ["CUDA::cudart"]

[[tool.setuptools-cuda.library]]
name = "driver"
type = "shared"
install = "demo/lib"
sources = ["driver.c"]
link = ["CUDA::cuda_driver"]
cudart = "none"
"""
FILES = {
    "pyproject.toml": HEAD + TABLE,
    "include/tools/tools.h": "int tools(void);\n",
    "plain.h": "#define PLAIN 1\n",
    "tools/tools.c": '#include "tools/tools.h"\nint tools(void) { return 1000; }\n',
    "kept.c": "int kept(void) { return 200; }\n",
    "far.c": "int far_away(void) { return 40000; }\n",
    "calls.c": '#include "tools/tools.h"\nint kept(void);\nint far_away(void);\n'
    "int calls(void) { return tools() + kept() + far_away() + WORD + FLAG; }\n",
    "runtime.c": "#include <cuda_runtime_api.h>\n"
    "int runtime(void) { int version = 0; cudaRuntimeGetVersion(&version); return version; }\n",
    "driver.c": "#include <cuda.h>\nint driver(void) { return (int)cuInit(0); }\n",
}


@pytest.fixture(scope="session")
def installation(shared_folder: Path, our_wheel: Path) -> Installation:
    return keys_installation(shared_folder, our_wheel)


@pytest.fixture(scope="session")
def wheel(installation: Installation, shared_folder: Path) -> Wheel:
    return wheel_once(installation, shared_folder / "keys-library", FILES)


@shows("library.name", "library.type", "library.install", "library.headers")
def test_what_is_installed_is_in_the_wheel_with_its_headers(wheel: Wheel) -> None:
    assert wheel.names("demo") == [
        "__init__.py",
        "far/away/cmake/far/farConfig.cmake",
        "far/away/libfar.so",
        "far/away/pkgconfig/far.pc",
        "include/plain.h",
        "include/tools/tools.h",
        *(f"lib/cmake/{name}/{name}Config.cmake" for name in ("calls", "driver", "runtime", "tools")),
        "lib/libcalls.so",
        "lib/libdriver.so",
        "lib/libruntime.so",
        "lib/libtools.a",
        *(f"lib/pkgconfig/{name}.pc" for name in ("calls", "driver", "runtime", "tools")),
    ]
    assert re.fullmatch(r"demo-1\.0-py3-none-(linux|manylinux).*\.whl", wheel.path.name)
    assert "tools" in defined_symbols(wheel.files["demo/lib/libtools.a"])


@shows("library.type", "library.link", "library.defines", "library.flags")
def test_a_shared_library_holds_what_it_links_and_finds_the_others_of_the_wheel(wheel: Wheel) -> None:
    content = wheel.files["demo/lib/libcalls.so"]
    assert dynamic(content, "soname") == ["libcalls.so"]
    assert "libfar.so" in dynamic(content, "needed")
    assert {"tools", "kept", "link_interface"} <= exported_symbols(content)
    assert ctypes.CDLL(str(wheel.unpack() / "demo/lib/libcalls.so")).calls() == 41237


@shows("library.link", "library.cudart")
def test_libraries_of_the_toolkit_are_found_in_nvidias_wheels(wheel: Wheel) -> None:
    runtime, driver = wheel.files["demo/lib/libruntime.so"], wheel.files["demo/lib/libdriver.so"]
    assert "libcudart.so.13" in dynamic(runtime, "needed")
    assert "$ORIGIN/../../nvidia/cu13/lib" in dynamic(runtime, "runpath")
    assert wheel.manifest["demo/lib/libruntime.so"]["cudart"] == "shared"
    assert "declare 'nvidia-cuda-runtime==13.*' in project.dependencies" in wheel.said
    assert "libcuda.so.1" in dynamic(driver, "needed")
    assert not [name for name in dynamic(driver, "needed") if name.startswith("libcudart")]
