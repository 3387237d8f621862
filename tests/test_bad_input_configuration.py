"""Configurations that cannot be built: each fault is told by key or variable, before anything is made."""

from __future__ import annotations

from pathlib import Path

import pytest
from bad_input_support import check_refusal, kernel_project, pip_wheel, read_tree, refuse
from setuptools_support import (
    EXTENSION_FILES,
    KERNELS,
    TABLE,
    Installation,
    full_installation,
    pyproject,
    shared_installation,
    write_project,
)


@pytest.fixture(scope="session")
def installation(shared_folder: Path, our_wheel: Path) -> Installation:
    return full_installation(shared_folder, our_wheel)


@pytest.mark.parametrize(
    ("table", "told"),
    [
        pytest.param(
            TABLE.replace("architectures", "architecture") + KERNELS,
            [
                "tool.setuptools-cuda.architecture: is no key of [tool.setuptools-cuda]",
                "to fix  did you mean 'architectures'?",
            ],
            id="unknown-key",
        ),
        pytest.param(
            TABLE + "jobs = '4'\n" + KERNELS,
            ["tool.setuptools-cuda.jobs: is the string '4', not a whole number", "write it as 4, without quotes"],
            id="wrong-type",
        ),
        pytest.param(
            TABLE + KERNELS.replace("*.cu", "saxpi.cu"),
            ["kernel-module[0].sources: 'kernels/saxpi.cu' does not exist", "did you mean 'kernels/saxpy.cu'?"],
            id="missing-source",
        ),
        pytest.param(
            TABLE + KERNELS.replace("*.cu", "*.cuda"),
            ["kernel-module[0].sources: 'kernels/*.cuda' matches no file", "patterns begin at the project's folder, "],
            id="pattern-without-match",
        ),
        pytest.param(
            TABLE + KERNELS + KERNELS,
            [
                "kernel-module[1]: makes the module 'demo.kernels', as tool.setuptools-cuda.kernel-module[0] does",
                "give one of them another name",
            ],
            id="two-targets-one-output",
        ),
        pytest.param(
            TABLE + KERNELS.replace("demo.kernels", "demo.my-kernels"),
            [
                "kernel-module[0].module: 'demo.my-kernels' is no module name: 'my-kernels' is no identifier",
                "write it as 'demo.my_kernels'",
            ],
            id="no-identifier",
        ),
        pytest.param(
            TABLE + "flags = ['-arch=sm_90', '-o', 'x.o']\n" + KERNELS,
            [
                "tool.setuptools-cuda.flags: '-arch=sm_90' is said by the key 'architectures', not by a flag",
                "set 'architectures' instead",
                "tool.setuptools-cuda.flags: '-o' is set by the build",
            ],
            id="reserved-flags",
        ),
        pytest.param(
            TABLE.replace("80", "sm_8o") + KERNELS.replace("*.cu", "gone.cu") + "format = ['ptx']\n",
            [
                "tool.setuptools-cuda.architectures: 'sm_8o' is no architecture",
                "kernel-module[0].format: is no key of",
                "kernel-module[0].sources: 'kernels/gone.cu' does not exist",
            ],
            id="all-at-once",
        ),
    ],
)
def test_a_fault_of_the_table(installation: Installation, tmp_path: Path, table: str, told: list[str]) -> None:
    refuse(installation, kernel_project(tmp_path, table=table), told=told)


@pytest.mark.parametrize(
    ("setting", "told"),
    [
        ("cuda.architectures=sm_8o", ["-C cuda.architectures: 'sm_8o' is no architecture"]),
        ("cuda.architecture=80", ["-C cuda.architecture: is no setting", "did you mean 'cuda.architectures'?"]),
    ],
)
def test_a_fault_of_a_setting(installation: Installation, tmp_path: Path, setting: str, told: list[str]) -> None:
    refuse(installation, kernel_project(tmp_path), settings=[setting], told=told)


@pytest.mark.parametrize(
    "variable",
    [
        "SETUPTOOLS_CUDA_ARCHITECTURES",
        "CUDAARCHS",
        "CMAKE_CUDA_ARCHITECTURES",
        "TORCH_CUDA_ARCH_LIST",
        "CUDA_COMPUTE_CAPS",
        "CUDA_COMPUTE_CAP",
    ],
)
def test_a_malformed_architecture_in_a_variable(installation: Installation, tmp_path: Path, variable: str) -> None:
    message = refuse(installation, kernel_project(tmp_path), **{variable: "90;sm_8o"})
    assert message.startswith(f"error: {variable}: 'sm_8o' is")
    assert "80, 8.0, sm_80, compute_80, 80-real, 80-virtual" in message
    assert ("Hopper" in message) == (variable == "TORCH_CUDA_ARCH_LIST")


@pytest.mark.parametrize(
    ("variables", "told"),
    [
        ({"MAX_JOBS": "0"}, ["MAX_JOBS: '0' is not a positive whole number", "set MAX_JOBS to a number such as 4"]),
        (
            {"NVCC_PREPEND_FLAGS": "-lineinfo -arch=sm_90"},
            [
                "NVCC_PREPEND_FLAGS=-lineinfo -arch=sm_90: the option -arch is decided by the build",
                "take it out of NVCC_PREPEND_FLAGS; set `architectures`, or SETUPTOOLS_CUDA_ARCHITECTURES",
            ],
        ),
        (
            {"NVCC_FLAGS": "-lineinfo -arch=sm_90 -o x.o"},
            [
                "NVCC_FLAGS: '-arch=sm_90' is said by the key 'architectures', not by a flag",
                "take it out of NVCC_FLAGS, and set the key 'architectures'",
                "NVCC_FLAGS: '-o' is set by the build",
            ],
        ),
        (
            {"CUDAARCHS": "70"},
            [
                "CUDAARCHS: CUDA 13.0 does not compile for 70, and no other is asked for",
                "older than all that it knows",
                "to fix  ask for architectures that it knows\n",
                'CUDA 12.9 compiles for 70 (cuda = "<=12.9")',
            ],
        ),
    ],
    ids=lambda value: "-".join(value) if isinstance(value, dict) else "",
)
def test_a_fault_of_a_variable(
    installation: Installation, tmp_path: Path, variables: dict[str, str], told: list[str]
) -> None:
    refuse(installation, kernel_project(tmp_path), told=told, **variables)


def test_an_architecture_that_the_toolkit_does_not_know(installation: Installation, tmp_path: Path) -> None:
    project = kernel_project(tmp_path, table=TABLE.replace('"80"', '"70", "90"') + KERNELS)
    told = [
        "tool.setuptools-cuda.architectures: CUDA 13.0 does not compile for 70",
        "older than all that it knows",
        "it knows  75, 80,",
        'set unsupported-architectures = "drop"',
    ]
    refuse(installation, project, told=told)


def test_bounds_that_leave_no_architecture(installation: Installation, tmp_path: Path) -> None:
    told = [
        "kernel-module[0]: no architecture is left for it",
        "source            kernels/saxpy.cu",
        "requested         sm_80+PTX (tool.setuptools-cuda.architectures)",
        "min-architecture  90",
        'set when-empty = "skip"',
    ]
    refuse(installation, kernel_project(tmp_path, module='min-architecture = "90"\n'), told=told)


BROKEN = pyproject(TABLE + KERNELS) + "jobs = = 4\n"


def test_a_pyproject_that_is_not_toml_is_told_by_setup_py(shared_folder: Path, our_wheel: Path, tmp_path: Path) -> None:
    # Other plugins of setuptools read the file too, and may come first.
    installation = shared_installation(shared_folder / "without-toolkit", [our_wheel, "setuptools"])
    files = {"pyproject.toml": BROKEN, "setup.py": "import setuptools\nsetuptools.setup()\n", **EXTENSION_FILES}
    project = write_project(tmp_path / "project", files)
    before = read_tree(project)
    done = installation.run("setup.py", "bdist_wheel", cwd=project)
    line = BROKEN[: BROKEN.index("= =")].count("\n") + 1
    assert done.status != 0
    assert f"pyproject.toml:{line}: is not valid TOML" in done.output
    assert "Traceback" not in done.output
    assert read_tree(project) == before


def test_a_pyproject_that_is_not_toml_never_comes_to_us_through_pip(installation: Installation, tmp_path: Path) -> None:
    project = write_project(tmp_path / "project", {"pyproject.toml": BROKEN, **EXTENSION_FILES})
    before = read_tree(project)
    done = pip_wheel(installation, project)
    # pip reads the file before it calls anyone, and what it says of it is its own.
    assert done.status != 0
    assert f"at line {BROKEN[: BROKEN.index('= =')].count(chr(10)) + 1}, " in done.output
    assert "setuptools_cuda" not in done.output
    assert read_tree(project) == before


BACKENDS = ("setuptools_cuda.build_meta", "setuptools.build_meta")


@pytest.mark.parametrize("backend", BACKENDS)
def test_wrong_words_of_targets_in_setup_py(installation: Installation, tmp_path: Path, backend: str) -> None:
    script = """
from setuptools import setup
from setuptools_cuda import CudaExtension, CudaLibrary, KernelModule
native = CudaExtension("demo._native", ["src/bind.cpp"], architecture=["80"], std=17, extra_compile_args={"gcc": []})
kernels = KernelModule("demo.kernels", ["src/saxpy.cu"], format=["ptx"])
library = CudaLibrary("saxpy", ["src/saxpi.cu"])
setup(ext_modules=[native], kernel_modules=[kernels], cuda_libraries=[library])
"""
    files = {"pyproject.toml": pyproject("", backend=backend), "setup.py": script, **EXTENSION_FILES}
    project = write_project(tmp_path / "project", files)
    before = read_tree(project)
    message = check_refusal(pip_wheel(installation, project), project=project, before=before)
    first = "ext_modules[0] (demo._native)"
    for told in [
        f"{first}: CudaExtension has no word 'architecture'\n  to fix  did you mean 'architectures'?",
        "ext_modules[0] (demo._native): extra_compile_args has lists for 'cxx' and 'nvcc', not for 'gcc'",
        "ext_modules[0] (demo._native).std: is the number 17, not a string",
        "KernelModule('demo.kernels'): KernelModule has no word 'format'\n  to fix  did you mean 'formats'?",
        "CudaLibrary('saxpy').sources: 'src/saxpi.cu' does not exist",
    ]:
        assert told in message
