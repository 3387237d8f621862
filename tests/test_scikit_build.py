"""The settings that scikit-build-core gets from us, and whole builds of CMake projects that never heard of us."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
from keys_support import shows
from scikit_build_support import (
    BACKEND,
    EXTENSION_FILES,
    KERNEL_FILES,
    TABLE,
    list_code,
    read_settings,
    scikit_installation,
)
from setuptools_support import Installation, wheel_names, write_project

NAMES = ["METADATA", "RECORD", "WHEEL"]


@pytest.fixture
def skbuild(shared_folder: Path, our_wheel: Path) -> Installation:
    return scikit_installation(shared_folder, our_wheel)


def project_with(root: Path, table: str = TABLE, **more: str) -> Path:
    return write_project(root, {"pyproject.toml": BACKEND + table, "demo/__init__.py": "", **more})


def test_an_unchanged_project_through_pip_without_nvcc(
    our_wheel: Path, pip_toolchain_environment: dict[str, str], skbuild: Installation, tmp_path: Path
) -> None:
    root = write_project(tmp_path / "demo", EXTENSION_FILES)
    links = ["--find-links", str(our_wheel.parent)]
    command = [sys.executable, "-m", "pip", "wheel", "-v", "--no-deps", *links, "-w", str(tmp_path), str(root)]
    done = subprocess.run(command, env=pip_toolchain_environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "cuda-toolkit-13.0." in done.stdout + done.stderr
    assert "Manually-specified variables were not used" not in done.stdout + done.stderr
    (wheel,) = tmp_path.glob("*.whl")
    tag = f"cp{sys.version_info[0]}{sys.version_info[1]}"
    assert wheel.name == f"demo-1.0-{tag}-{tag}-linux_x86_64.whl"
    names = wheel_names(wheel)
    (native,) = (name for name in names if name.endswith(".so"))
    assert names == sorted(["demo/__init__.py", native, *(f"demo-1.0.dist-info/{name}" for name in NAMES)])
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(tmp_path / "out")
    assert list_code(tmp_path / "out" / native, installation=skbuild) == ["sm_80.cubin", "sm_90.cubin", "sm_90.ptx"]
    said = skbuild.succeed("-c", "from demo import _native; print(_native.answer())", cwd=tmp_path / "out")
    assert said == "42\n"


@shows("cmake.define")
def test_what_cmake_is_told(skbuild: Installation, tmp_path: Path) -> None:
    table = (
        '\n[tool.setuptools-cuda]\narchitectures = ["80", "90a", "120-virtual"]\nstd = "c++17"\ncudart = "shared"\n'
        'defines = ["A=1"]\ninclude-dirs = ["inc"]\nflags = { cuda = ["-lineinfo"], cxx = ["-O3"], link = ["-s"] }\n'
        'launcher = "env"\njobs = 3\ncompress = "none"\n'
        '[tool.setuptools-cuda.cmake.define]\nBARE = "{architectures:bare}"\nTORCH = "{architectures:torch}"\n'
        'CMAKE = "{architectures:cmake}"\nMAJOR = "cu{cuda-major}.{cuda-minor}"\nON = true\nN = 3\nL = ["a", "b"]\n'
        'OTHER = "${X} {\\"a\\": 1}"\n'
    )
    root = project_with(tmp_path / "demo", table)
    read = read_settings(skbuild, root, CUDAFLAGS="-Xptxas -v", CXXFLAGS="-g1")
    farm = root / "build/setuptools-cuda/toolkit"
    assert read["define"] == {
        "CMAKE_CUDA_COMPILER": f"{farm}/bin/nvcc",
        "CMAKE_CUDA_HOST_COMPILER": "/usr/bin/c++",
        "CMAKE_CUDA_ARCHITECTURES": "80-real;90a-real;120-virtual",
        "CUDAToolkit_ROOT": str(farm),
        "CMAKE_CXX_STANDARD": "17",
        "CMAKE_CUDA_STANDARD": "17",
        "CMAKE_C_COMPILER_LAUNCHER": "env",
        "CMAKE_CXX_COMPILER_LAUNCHER": "env",
        "CMAKE_CUDA_COMPILER_LAUNCHER": "env",
        "CMAKE_CUDA_FLAGS": f"-I{root}/inc -DA=1 --compress-mode=none -lineinfo -Xptxas -v",
        "CMAKE_CXX_FLAGS": f"-I{root}/inc -DA=1 -O3 -g1",
        "CMAKE_C_FLAGS": f"-I{root}/inc -DA=1",
        "CMAKE_SHARED_LINKER_FLAGS": "-s",
        "CMAKE_MODULE_LINKER_FLAGS": "-s",
        "CMAKE_EXE_LINKER_FLAGS": "-s",
        "CMAKE_CUDA_RUNTIME_LIBRARY": "Shared",
        "BARE": "80;90a;120",
        "TORCH": "8.0;9.0a;12.0+PTX",
        "CMAKE": "80-real;90a-real;120-virtual",
        "MAJOR": "cu13.0",
        "ON": "ON",
        "N": "3",
        "L": "a;b",
        "OTHER": '${X} {"a": 1}',
    }
    assert read["env"].pop("SetuptoolsCuda_DIR").endswith("/setuptools_cuda/frontends/cmake")
    assert read["env"] == {"CMAKE_BUILD_PARALLEL_LEVEL": "3"}
    assert (farm / "bin/nvcc").exists()
    assert (farm.parent / ".gitignore").read_text() == "*\n"


def test_a_plain_table_says_little(skbuild: Installation, tmp_path: Path) -> None:
    read = read_settings(skbuild, project_with(tmp_path / "demo"))
    assert set(read["define"]) == {
        "CMAKE_CUDA_COMPILER",
        "CMAKE_CUDA_HOST_COMPILER",
        "CMAKE_CUDA_ARCHITECTURES",
        "CUDAToolkit_ROOT",
    }


def test_the_user_wins(skbuild: Installation, tmp_path: Path) -> None:
    theirs = '\n[tool.scikit-build.cmake.define]\nCMAKE_CUDA_ARCHITECTURES = "90"\nCMAKE_CUDA_STANDARD = "20"\n'
    table = TABLE + 'std = "c++17"\n[tool.setuptools-cuda.cmake.define]\nARCHS = "{architectures:bare}"\n'
    root = project_with(tmp_path / "demo", theirs + table)
    define = read_settings(skbuild, root)["define"]
    assert (define["CMAKE_CUDA_ARCHITECTURES"], define["CMAKE_CUDA_STANDARD"]) == ("90", "20")
    assert define["ARCHS"] == "90"
    settings = {"cmake.define.CMAKE_CUDA_ARCHITECTURES": "120", "cmake.define.ARCHS": "mine"}
    define = read_settings(skbuild, root, settings=settings)["define"]
    assert (define["CMAKE_CUDA_ARCHITECTURES"], define["ARCHS"]) == ("120", "mine")
    define = read_settings(skbuild, root, SKBUILD_CMAKE_DEFINE="CMAKE_CUDA_ARCHITECTURES=100")["define"]
    assert (define["CMAKE_CUDA_ARCHITECTURES"], define["ARCHS"]) == ("100", "100")


def test_what_c_names_counts_for_us_too(skbuild: Installation, tmp_path: Path) -> None:
    root = project_with(
        tmp_path / "demo", **{"CMakeLists.txt": "cmake_minimum_required(VERSION 3.25)\nproject(demo NONE)\n"}
    )
    (nvcc,) = skbuild.folder.glob("lib/python3*/site-packages/nvidia/cu13/bin/nvcc")
    define = {"cmake.define.CMAKE_CUDA_COMPILER": str(nvcc), "cmake.define.CMAKE_CUDA_ARCHITECTURES": "90"}
    steps = {"SETUPTOOLS_CUDA_TOOLCHAIN_STEPS": "setting,pip"}
    requirements, _ = skbuild.made("get_requires_for_build_wheel", root, settings=define, **steps)
    assert "toolkit" not in str(requirements)
    _, said = skbuild.made("build_wheel", root, settings=define, **steps)
    assert "*** setuptools_cuda: CUDA 13.0.88 (CMAKE_CUDA_COMPILER), sm_90+PTX\n" in said
    assert f"note: CMAKE_CUDA_COMPILER is set for CMake: {nvcc}\n" in said


def test_what_is_wrong_has_the_name_that_the_user_gave_it(skbuild: Installation, tmp_path: Path) -> None:
    theirs = '\n[tool.scikit-build.cmake.define]\nCMAKE_CUDA_ARCHITECTURES = ["80", "x"]\n'
    done = skbuild.hook("build_wheel", project_with(tmp_path / "demo", theirs + TABLE))
    assert done.output.startswith("error: CMAKE_CUDA_ARCHITECTURES: 'x' is no architecture\n")
    define = {"cmake.define.CMAKE_CUDA_COMPILER": "/no/nvcc"}
    done = skbuild.hook("build_wheel", project_with(tmp_path / "compiler"), settings=define)
    assert done.output.startswith("error: CMAKE_CUDA_COMPILER=/no/nvcc: this nvcc cannot be used\n")
    done = skbuild.hook("build_wheel", project_with(tmp_path / "other"), CMAKE_ARGS="'")
    assert done.output.startswith("error: CMAKE_ARGS: ")
    assert "cannot be split into arguments: No closing quotation" in done.output


def test_architectures_may_be_off(skbuild: Installation, tmp_path: Path) -> None:
    read = read_settings(skbuild, project_with(tmp_path / "demo"), CMAKE_ARGS="-DCMAKE_CUDA_ARCHITECTURES=OFF")
    assert read["define"]["CMAKE_CUDA_ARCHITECTURES"] == "80-real;80-virtual"


def test_variables_of_ours_choose(skbuild: Installation, tmp_path: Path) -> None:
    define = read_settings(skbuild, project_with(tmp_path / "demo"), SETUPTOOLS_CUDA_ARCHITECTURES="90a")["define"]
    assert define["CMAKE_CUDA_ARCHITECTURES"] == "90a-real"


@pytest.mark.parametrize("state", ["sdist", "metadata_wheel", "metadata_editable"])
def test_nothing_is_looked_for_where_nothing_is_built(skbuild: Installation, tmp_path: Path, state: str) -> None:
    root = project_with(tmp_path / "demo")
    read = read_settings(skbuild, root, state=state, SETUPTOOLS_CUDA_TOOLCHAIN_STEPS="setting")
    assert read == {"define": {}, "requires": [], "env": {}}
    assert not (root / "build").exists()


@shows("cmake.link")
def test_the_toolchain_is_asked_for_where_none_is_found(skbuild: Installation, tmp_path: Path) -> None:
    root = project_with(tmp_path / "demo", TABLE + '[tool.setuptools-cuda.cmake]\nlink = ["CUDA::cublas"]\n')
    found, _ = skbuild.made("get_requires_for_build_wheel", root, SETUPTOOLS_CUDA_TOOLCHAIN_STEPS="pip,path")
    assert isinstance(found, list)
    # The environment has the wheels: where 'pip' looks for what it asked for, nothing lacks.
    steps = {"SETUPTOOLS_CUDA_TOOLCHAIN_STEPS": "path,pip", "PATH": "/nowhere"}
    for hook in ("get_requires_for_build_wheel", "get_requires_for_build_editable"):
        requirements, _ = skbuild.made(hook, root, **steps)
        assert "cuda-toolkit[nvcc,cccl,cublas]==13.0.*" in requirements  # type: ignore[operator]
    requirements, _ = skbuild.made("get_requires_for_build_sdist", root, **steps)
    assert requirements == []


def test_no_toolchain_is_told_before_cmake_starts(skbuild: Installation, tmp_path: Path) -> None:
    root = project_with(tmp_path / "demo", **{"CMakeLists.txt": EXTENSION_FILES["CMakeLists.txt"]})
    done = skbuild.hook("build_wheel", root, SETUPTOOLS_CUDA_TOOLCHAIN_STEPS="setting,path")
    assert done.status == 1
    assert done.output.startswith("error: no CUDA compiler (nvcc) for CMake project 'demo'\n")
    assert "looked at  nvcc setting  not set\n" in done.output
    assert "  to fix  " in done.output
    assert "Traceback" not in done.output
    assert "Configuring" not in done.output


def test_everything_wrong_in_the_table_is_told_at_once(skbuild: Installation, tmp_path: Path) -> None:
    table = (
        '\n[tool.setuptools-cuda]\narchitectures = ["8x"]\n[tool.setuptools-cuda.cmake]\nlink = ["CUDA::cublass"]\n'
        'define = { A = "{architectures}", B = "{cuda_major}", C = [1] }\n'
    )
    done = skbuild.hook("get_requires_for_build_wheel", project_with(tmp_path / "demo", table))
    assert (done.status, "Traceback" in done.output) == (1, False)
    for place in ("architectures", "cmake.define.A", "cmake.define.B", "cmake.define.C"):
        assert f"error: tool.setuptools-cuda.{place}: " in done.output
    assert "did you mean 'cuda-major'?" in done.output
    done = skbuild.hook("build_sdist", project_with(tmp_path / "demo2", table.replace("8x", "80").partition("def")[0]))
    assert done.status == 1
    assert ("error: tool.setuptools-cuda.cmake.link: CUDA has no library 'CUDA::cublass'") in done.output


def test_what_setuptools_alone_serves_is_refused_by_name(skbuild: Installation, tmp_path: Path) -> None:
    table = TABLE + (
        'uses = ["numpy"]\n[[tool.setuptools-cuda.extension]]\nname = "demo.x"\nsources = ["a.cu"]\n'
        '[[tool.setuptools-cuda.library]]\nname = "x"\nsources = ["a.cu"]\n'
        '[[tool.setuptools-cuda.kernel-module]]\nmodule = "demo.k"\nsources = ["a.cu"]\n'
        '[[tool.setuptools-cuda.override]]\nmatch = "a.cu"\nmax-architecture = "90"\n'
    )
    done = skbuild.hook("build_wheel", project_with(tmp_path / "demo", table, **{"a.cu": ""}))
    assert done.status == 1
    for name in ("extension", "library", "kernel-module", "override"):
        assert f"error: tool.setuptools-cuda.{name}[0]: [[tool.setuptools-cuda.{name}]] is not for a" in done.output
    assert "error: tool.setuptools-cuda.uses: 'uses' (numpy) is not for a project that CMake builds" in done.output
    assert "setuptools_cuda_add_kernel_module()" in done.output


def test_cuda_may_be_missing_where_the_project_says_so(skbuild: Installation, tmp_path: Path) -> None:
    table = TABLE + 'required = false\n[tool.setuptools-cuda.cmake.define]\nA = "{cuda-major}"\nB = "x"\n'
    cmake = (
        "cmake_minimum_required(VERSION 3.25)\nproject(demo LANGUAGES NONE)\ninclude(CheckLanguage)\n"
        'check_language(CUDA)\nmessage(STATUS "compiler: ${CMAKE_CUDA_COMPILER} A=${A} B=${B}")\n'
    )
    root = project_with(tmp_path / "demo", table, **{"CMakeLists.txt": cmake})
    _, said = skbuild.made("build_wheel", root, SETUPTOOLS_CUDA_TOOLCHAIN_STEPS="path")
    assert "note: A is left out: it has a placeholder, and there is no toolkit\n" in said
    assert "compiler: NOTFOUND A= B=x" in said


def test_a_project_without_our_table_is_left_alone(skbuild: Installation, tmp_path: Path) -> None:
    cmake = "cmake_minimum_required(VERSION 3.25)\nproject(demo LANGUAGES C)\ninstall(FILES x.txt DESTINATION demo)\n"
    kept = '\n[tool.scikit-build]\nbuild-dir = "b"\n'
    made = []
    for off in ("", "1"):
        files = {"CMakeLists.txt": cmake, "x.txt": "x"}
        root = project_with(tmp_path / "demo", "", **files)
        text = BACKEND.replace("[tool.scikit-build]\n", kept.lstrip())
        (root / "pyproject.toml").write_text(text + "\n# setuptools-cuda is installed, and not meant\n")
        wheel = skbuild.wheel(root, SKBUILD_NO_ENTRYPOINT_CONFIG=off, SOURCE_DATE_EPOCH="1700000000")
        cache = (root / "b/CMakeCache.txt").read_text()
        made.append(
            (wheel.read_bytes(), [line for line in cache.splitlines() if "/wheel/" not in line and "/tmp" not in line])
        )
        assert not (root / "build").exists()
        root.rename(tmp_path / f"done{off}")
    assert made[0] == made[1]


def test_importing_the_provider_costs_nothing(skbuild: Installation, tmp_path: Path) -> None:
    code = (
        "import sys\nfrom setuptools_cuda.frontends.scikit_build import provide_settings\n"
        "print(provide_settings('wheel', {}), sorted(m for m in sys.modules if m.startswith('setuptools_cuda')))"
    )
    write_project(tmp_path, {"pyproject.toml": BACKEND.replace('"setuptools-cuda-build"', "")})
    said = skbuild.succeed("-c", code, cwd=tmp_path)
    assert said == "{} ['setuptools_cuda', 'setuptools_cuda.frontends', 'setuptools_cuda.frontends.scikit_build']\n"


def test_the_sdist_holds_nothing_of_ours(skbuild: Installation, tmp_path: Path) -> None:
    root = write_project(tmp_path / "demo", {"pyproject.toml": BACKEND + TABLE, **KERNEL_FILES})
    read_settings(skbuild, root)
    assert (root / "build/setuptools-cuda/toolkit").is_dir()
    assert skbuild.sdist_names(root) == {"PKG-INFO", "pyproject.toml", *KERNEL_FILES}
