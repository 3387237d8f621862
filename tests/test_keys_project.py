"""Keys of the project that decide with what, for what and how all targets are built."""

from __future__ import annotations

import re
from pathlib import Path
from typing import ClassVar

import pytest
from keys_support import (
    BIND_H,
    HEAD,
    PROBE_H,
    PYTHON,
    Wheel,
    answers,
    architectures,
    device_code,
    dynamic,
    exported_symbols,
    keys_installation,
    made_wheel,
    pip_wheel,
    shows,
    wheel_once,
    write_demo,
)
from setuptools_support import Installation

KERNELS = """
[[tool.setuptools-cuda.kernel-module]]
module = "demo.k"
sources = ["k.cu"]
formats = ["ptx", "fatbin"]
"""
EXTENSION = """
[[tool.setuptools-cuda.extension]]
name = "demo._ext"
sources = ["_ext.c", "k.cu"]
"""
CHOSEN = """
cuda = ">=13"
architectures = ["50", "80"]
unsupported-architectures = "drop"
nvcc = "tools/nvcc"
host-compiler = "tools/g++"
toolchain-steps = ["project"]
architecture-steps = ["project"]
device-compiler = "nvcc"
compress = "none"
profile = "debug"
"""
K_CU = """\
#include "probe.h"
SHOW(kernel, there)
extern "C" __attribute__((visibility("default"))) int from_host_compiler(void) { return HOST_COMPILER; }
"""
FILES = {"probe.h": PROBE_H, "bind.h": BIND_H, "k.cu": K_CU.replace("HOST_COMPILER", "0")}
HOST_COMPILER = '#!/bin/sh\nexec /usr/bin/g++ "$@" -DHOST_COMPILER=31\n'


def prepare(project: Path) -> None:
    """Put a program before the nvcc of the tests."""
    nvcc = project.parent.parent / "keys" / "venv"
    (found,) = nvcc.glob("lib/python*/site-packages/nvidia/cu13/bin/nvcc")
    (project / "tools/nvcc").write_text(f'#!/bin/sh\nexec "{found}" "$@"\n', "utf-8")
    (project / "tools/nvcc").chmod(0o755)


@pytest.fixture(scope="session")
def installation(shared_folder: Path, our_wheel: Path) -> Installation:
    return keys_installation(shared_folder, our_wheel)


@pytest.fixture(scope="session")
def wheel(installation: Installation, shared_folder: Path) -> Wheel:
    files = {
        **FILES,
        "pyproject.toml": HEAD + CHOSEN + KERNELS + EXTENSION,
        "tools/g++": HOST_COMPILER,
        "_ext.c": '#define NAME _ext\n#define CALL from_host_compiler\n#include "bind.h"\n',
        "k.cu": K_CU,
    }
    # Each of these would decide, if the steps were all taken.
    variables = {"CUDA_HOME": "/nowhere", "CUDAARCHS": "90"}
    return wheel_once(installation, shared_folder / "keys-project", files, prepare=prepare, **variables)


@shows("project.cuda", "project.nvcc", "project.toolchain-steps", "project.device-compiler")
def test_nvcc_is_taken_from_the_key_where_that_is_the_step(wheel: Wheel) -> None:
    assert re.search(r"CUDA 13\.0\.\d+ \(tool\.setuptools-cuda\.nvcc\)", wheel.said)
    assert "kernel_there" in wheel.shown("demo/k_images/k")


@shows("project.host-compiler")
def test_host_compiler_compiles_the_host_code_of_cuda_sources(wheel: Wheel, installation: Installation) -> None:
    assert answers(installation, wheel, "_ext") == {"_ext": 31}


@shows("project.architectures", "project.unsupported-architectures", "project.architecture-steps")
def test_architectures_are_those_of_the_key_that_the_toolkit_knows(wheel: Wheel) -> None:
    assert architectures(wheel.module("_ext")) == {"sm_80", "compute_80"}
    assert wheel.names("demo/k_images") == ["k.compute_80.ptx", "k.fatbin"]
    assert "CUDA 13.0 does not compile for 50: left out of tool.setuptools-cuda.architectures" in wheel.said


@shows("project.compress", "project.profile")
def test_device_code_is_compressed_as_asked_and_has_symbols_for_a_debugger(
    wheel: Wheel, installation: Installation, tmp_path: Path
) -> None:
    table = f'{HEAD}architectures = ["80"]\n{KERNELS}'
    usual = made_wheel(installation, write_demo(tmp_path, {**FILES, "pyproject.toml": table}))
    assert {code.compressed for code in device_code(usual.files["demo/k_images/k.fatbin"])} == {True}
    assert {code.compressed for code in device_code(wheel.files["demo/k_images/k.fatbin"])} == {False}
    assert {code.compressed for code in device_code(wheel.module("_ext"))} == {False}
    ptx = "demo/k_images/k.compute_80.ptx"
    assert b"debug" not in usual.files[ptx]
    assert b".target sm_80, debug" in wheel.files[ptx]


@shows("project.profile")
def test_the_profile_dev_builds_for_one_architecture_in_a_folder_of_its_own(
    installation: Installation, tmp_path: Path
) -> None:
    table = f'{HEAD}architectures = ["75", "80"]\nprofile = "dev"\n{KERNELS}'
    project = write_demo(tmp_path, {**FILES, "pyproject.toml": table})
    built = made_wheel(installation, project)
    (note,) = re.findall(r"^ *note: profile dev: .*$", built.said, re.MULTILINE)
    images = [name for name in built.names("demo/k_images") if name.endswith(".ptx")]
    assert images == ["k.compute_75.ptx"] or note.endswith("the GPUs of this machine")
    assert (project / "build/setuptools-cuda" / f"{PYTHON}-dev").is_dir()


@shows("project.cache")
def test_what_is_in_the_cache_is_not_compiled_again(tmp_path: Path, installation: Installation) -> None:
    def build(name: str, cache: str) -> Wheel:
        table = f'{HEAD}architectures = ["80"]\ncache = "{cache}"\n{KERNELS}'
        return made_wheel(installation, write_demo(tmp_path / name, {**FILES, "pyproject.toml": table}))

    compiled = ["compile k.cu for sm_80+PTX"]
    first, second, third = build("first", "../kept"), build("second", "../kept"), build("third", "off")
    assert [one.compiled for one in (first, second, third)] == [compiled, [], compiled]
    assert (tmp_path / "kept").is_dir()
    ptx = "demo/k_images/k.compute_80.ptx"
    assert first.files[ptx] == second.files[ptx]


@shows("project.report")
def test_a_report_lies_in_the_folder_that_is_named(tmp_path: Path, installation: Installation) -> None:
    table = f'{HEAD}architectures = ["80"]\nreport = "said"\n{KERNELS}'
    project = write_demo(tmp_path, {**FILES, "pyproject.toml": table})
    wheel = made_wheel(installation, project)
    assert sorted(path.name for path in (project / "said").iterdir()) == ["report.html", "report.json"]
    assert not [name for name in wheel.files if "report" in name]


WITHOUT = """
required = false
{words}

[[tool.setuptools-cuda.extension]]
name = "demo._ext"
sources = ["_ext.c", "k.cu"]
link = ["CUDA::cudart"]

[[tool.setuptools-cuda.library]]
name = "shared"
type = "shared"
install = "demo/lib"
sources = ["lib.c", "k.cu"]
link = ["CUDA::cudart"]

[[tool.setuptools-cuda.override]]
if = {{ cuda = false }}
defines = ["ANSWER=5"]
""" + KERNELS.replace("demo.k", "demo.lost")


@shows("project.required", "project.cuda", "project.toolchain-steps", "override.if")
@pytest.mark.parametrize("words", ['toolchain-steps = ["conda"]', 'cuda = "<5"'])
def test_without_a_toolkit_that_fits_what_needs_none_is_built_where_required_is_false(
    installation: Installation, tmp_path: Path, words: str
) -> None:
    bind = '#define NAME _ext\n#include "bind.h"\n'
    files = {**FILES, "pyproject.toml": HEAD + WITHOUT.format(words=words), "_ext.c": bind, "lib.c": ""}
    wheel = made_wheel(installation, write_demo(tmp_path, files))
    assert answers(installation, wheel, "_ext") == {"_ext": 5}
    for content in (wheel.module("_ext"), wheel.files["demo/lib/libshared.so"]):
        assert "host_kernel_there" not in exported_symbols(content)
        assert not [name for name in dynamic(content, "needed") if "cudart" in name]
    assert not [name for name in wheel.files if "lost" in name]
    assert "note: demo._ext: k.cu is left out, since there is no CUDA compiler" in wheel.said


class TestWhereValuesComeFrom:
    """A setting goes before our variable, and that before pyproject.toml: a scalar, a list and a switch."""

    TABLE: ClassVar[str] = f"""
architectures = ["80"]
std = "c++14"
defines = ["ONE=table", "TWO=table"]
required = true
toolchain-steps = ["wheel"]
{KERNELS}"""
    K_CU = '#include "probe.h"\nSHOW(std, __cplusplus)\nSHOW(one, ONE)\nSHOW(two, TWO)\n'
    VARIABLES: ClassVar[dict[str, str]] = {
        "SETUPTOOLS_CUDA_STD": "c++17",
        "SETUPTOOLS_CUDA_DEFINES": "ONE=variable;TWO=variable",
    }
    SETTINGS = ("cuda.std=c++20", "cuda.defines=ONE=setting", "cuda.defines=TWO=setting")

    @shows("project.std", "project.defines")
    @pytest.mark.parametrize(
        ("variables", "settings", "shown"),
        [
            ({}, (), {"std_201402L", "one_table", "two_table"}),
            (VARIABLES, (), {"std_201703L", "one_variable", "two_variable"}),
            (VARIABLES, SETTINGS, {"std_202002L", "one_setting", "two_setting"}),
            ({}, ("cuda.defines=ONE=setting",), {"std_201402L", "one_setting", "two_TWO"}),
        ],
        ids=["pyproject", "variable", "setting", "a setting replaces"],
    )
    def test_of_text_and_lists(
        self,
        installation: Installation,
        tmp_path: Path,
        variables: dict[str, str],
        settings: tuple[str, ...],
        shown: set[str],
    ) -> None:
        project = write_demo(tmp_path, {**FILES, "pyproject.toml": HEAD + self.TABLE, "k.cu": self.K_CU})
        assert made_wheel(installation, project, *settings, **variables).shown("demo/k_images/k") == shown

    @shows("project.required")
    def test_of_switches(self, installation: Installation, tmp_path: Path) -> None:
        project = write_demo(tmp_path, {**FILES, "k.cu": self.K_CU})
        for table, variables, settings, good in [
            ("true", {"SETUPTOOLS_CUDA_REQUIRED": "0"}, (), True),
            ("true", {"SETUPTOOLS_CUDA_REQUIRED": "0"}, ("cuda.required=true",), False),
            ("false", {"FORCE_CUDA": "1"}, (), False),
        ]:
            text = self.TABLE.replace('["wheel"]', '["conda"]').replace("required = true", f"required = {table}")
            (project / "pyproject.toml").write_text(HEAD + text, "utf-8")
            done = pip_wheel(installation, project, *settings, **variables)
            assert (done.status == 0) is good, done.output
            assert ("error: no CUDA compiler (nvcc) for kernel module 'demo.k'" in done.output) is not good
