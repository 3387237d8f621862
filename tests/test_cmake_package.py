"""find_package(SetuptoolsCuda): kernel modules in CMake, by both generators and all of scikit-build-core's fronts."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
from scikit_build_support import BACKEND, KERNEL_FILES, KERNEL_NAMES, KERNELS, TABLE, scikit_installation
from setuptools_support import Done, Installation, wheel_names, wheel_text, write_project

import setuptools_cuda

MAKE = {"CMAKE_GENERATOR": "Unix Makefiles"}
HATCH = """\
[build-system]
requires = ["hatchling", "scikit-build-core>=1.0", "setuptools-cuda-build"]
build-backend = "hatchling.build"

[project]
name = "demo"
version = "1.0"

[tool.hatch.build.targets.wheel]
packages = ["demo"]

[tool.hatch.build.targets.wheel.hooks.scikit-build]
experimental = true
"""
SETUPTOOLS = """\
[build-system]
requires = ["setuptools", "scikit-build-core>=1.0", "setuptools-cuda-build"]
build-backend = "BACKEND"

[project]
name = "demo"
version = "1.0"

[tool.setuptools]
packages = ["demo"]

[tool.scikit-build]
cmake.source-dir = "."
"""


@pytest.fixture
def skbuild(shared_folder: Path, our_wheel: Path) -> Installation:
    return scikit_installation(shared_folder, our_wheel)


def kernels_project(root: Path, *, cmake: str = KERNELS, backend: str = BACKEND, table: str = TABLE) -> Path:
    return write_project(root, {"pyproject.toml": backend + table, **KERNEL_FILES, "CMakeLists.txt": cmake})


def configure(skbuild: Installation, root: Path, *, cmake: str = KERNELS, table: str = TABLE) -> Done:
    return skbuild.hook("build_wheel", kernels_project(root, cmake=cmake, table=table))


def run_cmake(skbuild: Installation, root: Path, *arguments: str) -> Done:
    """Run CMake by hand, as whoever does without a Python backend."""
    package = next(skbuild.folder.glob("lib/python3*/site-packages/setuptools_cuda/frontends/cmake"))
    code = "import sys, subprocess, cmake; sys.exit(subprocess.call([cmake.CMAKE_BIN_DIR + '/cmake', *sys.argv[1:]]))"
    given = arguments or (f"-DSetuptoolsCuda_DIR={package}", f"-DSetuptoolsCuda_PYTHON={skbuild.python}")
    return skbuild.run("-c", code, "-S", root, "-B", root / "b", *given, cwd=root)


def test_the_package_has_our_version() -> None:
    folder = Path(setuptools_cuda.__file__).parent / "frontends/cmake"
    text = (folder / "SetuptoolsCudaConfigVersion.cmake").read_text()
    assert f'set(PACKAGE_VERSION "{setuptools_cuda.__version__}")' in text


def test_a_wheel_of_kernels_by_make_and_what_makes_it_anew(skbuild: Installation, tmp_path: Path) -> None:
    words = '[tool.scikit-build]\nbuild-dir = "build/cmake"\nwheel.py-api = "py3"\nwheel.platlib = false\n'
    root = kernels_project(tmp_path / "d mo", backend=BACKEND.replace("[tool.scikit-build]\n", words))
    wheel = skbuild.wheel(root, **MAKE)
    assert wheel.name == "demo-1.0-py3-none-any.whl"
    own = [f"demo-1.0.dist-info/{name}" for name in ("METADATA", "RECORD", "WHEEL", "setuptools_cuda.json")]
    assert wheel_names(wheel) == sorted(["demo/__init__.py", *KERNEL_NAMES, *own])
    manifest = json.loads(wheel_text(wheel, "setuptools_cuda.json"))
    assert [one["path"] for one in manifest["artifacts"]] == KERNEL_NAMES[1:]
    assert manifest["toolkit"]["release"] == "13.0"
    assert "/tmp" not in json.dumps(manifest)

    (root / "inc/x.h").write_text("#pragma once\n#define X 8\n")
    _, said = skbuild.made("build_wheel", root, **MAKE)
    assert ("compile k/a.cu" in said, "compile k/b.cu" in said) == (True, False)
    assert "1090519040" in wheel_text(wheel, "a.compute_80.ptx")

    (root / "CMakeLists.txt").write_text(KERNELS.replace(" k/b.cu", ""))
    skbuild.made("build_wheel", root, **MAKE)
    assert [name for name in wheel_names(wheel) if "kernels" in name] == KERNEL_NAMES[:3]

    (root / "inc/x.h").write_text("#define X nothing\n")
    done = skbuild.hook("build_wheel", root, **MAKE)
    assert done.status == 1
    assert "error: k/a.cu does not compile" in done.output
    assert "Traceback" not in done.output


def test_an_editable_install_builds_anew_on_import(skbuild: Installation, tmp_path: Path) -> None:
    backend = BACKEND.replace("[tool.scikit-build]\n", '[tool.scikit-build]\nbuild-dir = "build/cmake"\n')
    root = kernels_project(
        tmp_path / "demo", backend=backend.replace("wheel.pack", "editable.rebuild = true\nwheel.pack")
    )
    name, _ = skbuild.made("build_editable", root)
    with zipfile.ZipFile(root / "dist" / str(name)) as archive:
        archive.extractall(tmp_path / "site")
    code = "import site; site.addsitedir('.'); import demo.kernels as k; print(k.images['k/a.cu'].ptx)"
    assert "1088421888" in skbuild.succeed(
        "-c", code, cwd=tmp_path / "site", PATH=f"{skbuild.folder}/bin:/usr/bin:/bin"
    )
    (root / "inc/x.h").write_text("#pragma once\n#define X 8\n")
    said = skbuild.succeed("-c", code, cwd=tmp_path / "site", PATH=f"{skbuild.folder}/bin:/usr/bin:/bin")
    assert "compile k/a.cu" in said
    assert "1090519040" in said


def test_the_hatch_plugin(skbuild: Installation, tmp_path: Path) -> None:
    root = kernels_project(tmp_path / "demo", backend=HATCH)
    requirements, _ = skbuild.made(
        "get_requires_for_build_wheel", root, SETUPTOOLS_CUDA_TOOLCHAIN_STEPS="path,pip", PATH="/nowhere"
    )
    assert "cuda-toolkit[nvcc,cccl]==13.0.*" in requirements  # type: ignore[operator]
    names = wheel_names(skbuild.wheel(root))
    # hatchling has a folder of its own for what build hooks put into .dist-info.
    assert {*KERNEL_NAMES, "demo-1.0.dist-info/extra_metadata/setuptools_cuda.json"} <= set(names)


def test_the_setuptools_plugin(skbuild: Installation, tmp_path: Path) -> None:
    """Targets of the table and of CMake go into one wheel, with one manifest."""
    table = TABLE + '[[tool.setuptools-cuda.kernel-module]]\nmodule = "demo.more"\nsources = ["k/b.cu"]\n'
    backend = SETUPTOOLS.replace("BACKEND", "setuptools_cuda.build_meta")
    wheel = skbuild.wheel(
        kernels_project(tmp_path / "demo", backend=backend, table=table), settings={"cuda.architectures": "90"}
    )
    more = ["demo/more.py", "demo/more_images/k/b.compute_80.ptx", "demo/more_images/k/b.sm_80.cubin"]
    names = [name.replace("_80", "_90") for name in [*KERNEL_NAMES, *more]]
    assert [name for name in wheel_names(wheel) if name.startswith("demo/")] == sorted(["demo/__init__.py", *names])
    manifest = json.loads(wheel_text(wheel, "setuptools_cuda.json"))
    assert [one["module"] for one in manifest["kernel_modules"]] == ["demo.kernels", "demo.more"]
    assert "none" not in wheel.name


def test_our_backend_asks_for_what_cmake_needs(skbuild: Installation, tmp_path: Path) -> None:
    root = kernels_project(tmp_path / "demo", backend=SETUPTOOLS.replace("BACKEND", "setuptools_cuda.build_meta"))
    steps = {"SETUPTOOLS_CUDA_TOOLCHAIN_STEPS": "path,pip", "PATH": "/nowhere"}
    requirements, _ = skbuild.made("get_requires_for_build_wheel", root, **steps)
    assert "cuda-toolkit[nvcc,cccl]==13.0.*" in requirements  # type: ignore[operator]


def test_words_for_cmake_without_cmake_are_refused(skbuild: Installation, tmp_path: Path) -> None:
    backend = SETUPTOOLS.replace("BACKEND", "setuptools_cuda.build_meta").partition("[tool.scikit-build]")[0]
    table = TABLE + '[tool.setuptools-cuda.cmake.define]\nA = "1"\n'
    done = skbuild.hook("build_wheel", kernels_project(tmp_path / "demo", backend=backend, table=table))
    assert done.output.startswith("error: tool.setuptools-cuda.cmake: is for a project that CMake builds")


def test_arguments_and_properties(skbuild: Installation, tmp_path: Path) -> None:
    cmake = KERNELS.partition("setuptools_cuda_add")[0] + "add_subdirectory(k)\n"
    inner = (
        "setuptools_cuda_add_kernel_module(one MODULE demo.one SOURCES a.cu b.cu INCLUDE_DIRS ../inc FORMATS ptx\n"
        '  ARCHITECTURES 80 90 STD c++17 DEFINES "X=Y" "Y=(1 + 1)" "S=int s[2]\\;"\n'
        "  FLAGS -lineinfo SERVES 80 9.0 DRIVER 13.0)\n"
        "set_source_files_properties(a.cu PROPERTIES SETUPTOOLS_CUDA_MAX_ARCHITECTURE 80)\n"
        "setuptools_cuda_add_kernel_module(two MODULE demo.two SOURCES t.cu INSTANTIATE twice<float> FORMATS cubin)\n"
        "setuptools_cuda_add_kernel_module(other MODULE demo.other SOURCES t.cu INSTANTIATE twice<float> NO_INSTALL)\n"
        "add_custom_target(after ALL)\nadd_dependencies(after one)\n"
    )
    root = kernels_project(tmp_path / "demo", cmake=cmake, table=TABLE.replace('"80"', '"80", "90"'))
    write_project(root, {"k/CMakeLists.txt": inner, "inc/x.h": "S\n", "k/t.cu": TWICE})
    wheel = skbuild.wheel(root)
    assert [name for name in wheel_names(wheel) if name.startswith(("demo/one", "demo/two", "demo/other"))] == [
        "demo/one.py",
        "demo/one_images/k/a.compute_80.ptx",
        "demo/one_images/k/b.compute_80.ptx",
        "demo/one_images/k/b.compute_90.ptx",
        "demo/two.py",
        "demo/two_images/k/t.sm_80.cubin",
        "demo/two_images/k/t.sm_90.cubin",
    ]
    manifest = json.loads(wheel_text(wheel, "setuptools_cuda.json"))
    assert [one["module"] for one in manifest["kernel_modules"]] == ["demo.one", "demo.two"]


TWICE = "template <typename T> __global__ void twice(T *x) { x[0] *= 2; }\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ("MODULE demo.k", "SOURCES is missing"),
        ("SOURCES k/b.cu", "MODULE is missing"),
        ("MODULE demo.k SOURCES k/b.cu FORMAT ptx", "there is no file FORMAT in "),
        ("MODULE demo.k SOURCES k/*.cuh", "no file matches k/*.cuh"),
        ("MODULE demo.k SOURCES k/**.cu", "CMake has no '**'"),
        ("MODULE demo.k SOURCES /etc/hosts", "/etc/hosts lies outside of the project"),
        ("MODULE demo.k SOURCES k/b.cu STD", "without a value: STD"),
        ('MODULE "" SOURCES k/b.cu', "MODULE is missing"),
        ('MODULE demo.k SOURCES ""', "SOURCES is missing"),
        ("MODULE demo.k MODULE demo.j SOURCES k/b.cu", "MODULE is given twice"),
        ("MODULE ../../k SOURCES k/b.cu", "'../../k' is no module name: write it as pkg.kernels"),
        ('MODULE "demo.k;demo.j" SOURCES k/b.cu', "'demo.k;demo.j' is no module name"),
        ("MODULE demo.k SOURCES k/b.cu DEFINES A=[1 B=2", "CMake cannot keep a '[' without its ']' in a list"),
        ("MODULE demo.k SOURCES k/b.cu INCLUDE_DIRS $<1:inc>", "INCLUDE_DIRS takes folders, and no generator"),
    ],
)  # fmt: skip
def test_wrong_arguments_end_the_configuration(
    skbuild: Installation, tmp_path: Path, arguments: str, said: str
) -> None:
    cmake = KERNELS.partition("setuptools_cuda_add")[0] + f"setuptools_cuda_add_kernel_module(kernels {arguments})\n"
    done = run_cmake(skbuild, kernels_project(tmp_path / "demo", cmake=cmake))
    assert done.status == 1
    assert said in " ".join(done.output.split())


def test_wrong_values_are_told_in_the_words_of_cmake(skbuild: Installation, tmp_path: Path) -> None:
    cmake = KERNELS.replace("SOURCES", "FORMATS elf STD c++98 WHEN_EMPTY no PRIORITY 1.5 SOURCES")
    cmake += "set_source_files_properties(k/a.cu PROPERTIES SETUPTOOLS_CUDA_MAX_ARCHITECTURE new)\n"
    done = configure(skbuild, tmp_path / "demo", cmake=cmake)
    assert done.status == 1
    for said in (
        "FORMATS: 'elf' is not",
        "STD: 'c++98' is no",
        "WHEN_EMPTY: 'no' is not",
        "PRIORITY: is the string '1.5'",
    ):
        assert f"error: setuptools_cuda_add_kernel_module(kernels) {said}" in done.output
    assert "error: property SETUPTOOLS_CUDA_MAX_ARCHITECTURE of k/a.cu: 'new' is no" in done.output
    assert "without quotes" not in done.output
    assert "Traceback" not in done.output


def test_contradictions_are_told_in_the_words_of_cmake(skbuild: Installation, tmp_path: Path) -> None:
    cmake = KERNELS.replace("SOURCES", "MIN_ARCHITECTURE 90 SOURCES")
    done = configure(skbuild, tmp_path / "demo", cmake=cmake)
    assert "error: setuptools_cuda_add_kernel_module(kernels): no architecture is left for it" in done.output
    assert "below MIN_ARCHITECTURE 90" in done.output
    assert "or set WHEN_EMPTY skip to leave it out" in done.output
    assert "min-architecture" not in done.output


def test_a_folder_that_cmake_cannot_name_is_told(skbuild: Installation, tmp_path: Path) -> None:
    done = run_cmake(skbuild, kernels_project(tmp_path / "de;mo"))
    assert "CMake cannot keep this path in a list, where ';' ends an item" in " ".join(done.output.split())


def test_a_generated_source_is_named_by_its_place_in_the_project(skbuild: Installation, tmp_path: Path) -> None:
    cmake = KERNELS.partition("setuptools_cuda_add")[0] + (
        "set(from ${CMAKE_SOURCE_DIR}/k/b.cu)\n"
        "add_custom_command(OUTPUT g.cu DEPENDS k/b.cu COMMAND ${CMAKE_COMMAND} -E copy ${from} g.cu)\n"
        "setuptools_cuda_add_kernel_module(kernels MODULE demo.kernels SOURCES ${CMAKE_BINARY_DIR}/g.cu\n"
        "  INCLUDE_DIRS ${CMAKE_BINARY_DIR}/not_yet)\n"
    )
    root = kernels_project(tmp_path / "demo", cmake=cmake)
    done = skbuild.hook("build_wheel", root)
    assert 'Let CMake build there: build-dir = "build/cmake" in [tool.scikit-build]' in " ".join(done.output.split())
    name, said = skbuild.made("build_wheel", root, settings={"build-dir": "build/cmake"})
    assert "CMake Warning" not in said
    assert "demo/kernels_images/build/cmake/g.sm_80.cubin" in wheel_names(root / "dist" / str(name))


def test_an_editable_install_in_place_is_refused(skbuild: Installation, tmp_path: Path) -> None:
    done = skbuild.hook("build_editable", kernels_project(tmp_path / "demo"), settings={"editable.mode": "inplace"})
    assert done.status == 1
    assert 'Take editable.mode = "redirect", or NO_INSTALL' in " ".join(done.output.split())


def test_two_targets_cannot_make_one_module(skbuild: Installation, tmp_path: Path) -> None:
    cmake = KERNELS + "setuptools_cuda_add_kernel_module(more MODULE demo.kernels SOURCES k/b.cu)\n"
    done = run_cmake(skbuild, kernels_project(tmp_path / "demo", cmake=cmake))
    assert "another target makes the module demo.kernels already" in " ".join(done.output.split())


def test_architectures_are_those_of_cmake_wherever_it_installs(skbuild: Installation, tmp_path: Path) -> None:
    settings = {"cmake.define.CMAKE_CUDA_ARCHITECTURES": "80-real;90-virtual", "wheel.install-dir": "demo/native"}
    wheel = skbuild.wheel(kernels_project(tmp_path / "demo"), settings=settings)
    images = [name.rpartition("/")[2] for name in wheel_names(wheel) if "_images/k/a" in name]
    assert images == ["a.compute_90.ptx", "a.sm_80.cubin"]
    assert "demo/kernels.py" in wheel_names(wheel)
