"""Keys of kernel modules alone."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from keys_support import (
    HEAD,
    PROBE_H,
    Wheel,
    architectures,
    keys_installation,
    pip_wheel,
    shows,
    wheel_once,
    write_demo,
)
from setuptools_support import Done, Installation

TABLE = """
architectures = ["80"]

[[tool.setuptools-cuda.kernel-module]]
module = "demo.every"
sources = ["k.cu"]
formats = ["ptx", "cubin", "fatbin", "ltoir"]
device-compiler = "nvcc"

[[tool.setuptools-cuda.kernel-module]]
module = "demo.portable"
sources = ["k.cu"]
formats = ["ptx"]
serves = ["80", "12.0"]
driver = "13.0"
"""
FILES = {"pyproject.toml": HEAD + TABLE, "probe.h": PROBE_H, "k.cu": '#include "probe.h"\nSHOW(kernel, there)\n'}
LTO_IR = b"\xedCN\x7f"
"""How a file of LTO-IR begins."""
ONE = """
architectures = ["80"]

[[tool.setuptools-cuda.kernel-module]]
module = "demo.one"
sources = ["k.cu"]
"""


@pytest.fixture(scope="session")
def installation(shared_folder: Path, our_wheel: Path) -> Installation:
    return keys_installation(shared_folder, our_wheel)


@pytest.fixture(scope="session")
def wheel(installation: Installation, shared_folder: Path) -> Wheel:
    return wheel_once(installation, shared_folder / "keys-kernels", FILES)


@shows("kernel-module.module", "kernel-module.sources")
def test_the_module_is_imported_by_its_name_and_has_the_kernels(wheel: Wheel, installation: Installation) -> None:
    code = (
        "import importlib, json\n"
        "modules = [importlib.import_module(f'demo.{name}') for name in ('every', 'portable')]\n"
        "print(json.dumps([[one.name for one in module.images['k.cu'].kernels] for module in modules]))"
    )
    kernels = json.loads(installation.succeed("-c", code, cwd=wheel.unpack()))
    assert kernels == [["kernel_there"], ["kernel_there"]]


@shows("kernel-module.formats", "kernel-module.device-compiler")
def test_each_format_is_an_image(wheel: Wheel) -> None:
    images = {name: wheel.files[f"demo/every_images/{name}"] for name in wheel.names("demo/every_images")}
    assert sorted(images) == ["k.compute_80.ltoir", "k.compute_80.ptx", "k.fatbin", "k.sm_80.cubin"]
    assert b".target sm_80" in images["k.compute_80.ptx"]
    assert images["k.sm_80.cubin"].startswith(b"\x7fELF")
    assert architectures(images["k.fatbin"]) == {"sm_80", "compute_80"}
    assert images["k.compute_80.ltoir"].startswith(LTO_IR)
    assert wheel.names("demo/portable_images") == ["k.compute_80.ptx"]


@shows("kernel-module.serves", "kernel-module.driver")
def test_a_build_fails_whose_images_would_not_serve(installation: Installation, tmp_path: Path) -> None:
    project = write_demo(tmp_path, {**FILES, "pyproject.toml": HEAD + ONE})

    def build(words: str) -> Done:
        (project / "pyproject.toml").write_text(f"{HEAD}{ONE}{words}\n", "utf-8")
        return pip_wheel(installation, project)

    for words, said in [
        ('formats = ["cubin"]\nserves = ["80", "90"]', "9.0"),
        ('formats = ["ptx"]\nserves = ["80"]\ndriver = "12.0"', "12.0"),
    ]:
        done = build(words)
        assert done.status == 1, done.output
        (error,) = re.findall(r"error: tool\.setuptools-cuda\.kernel-module\[0\]\.serves: (.*)", done.output)
        assert said in error
        assert "] compile " not in done.output
        assert "Traceback" not in done.output
        assert not list((project / "dist").glob("*.whl"))
    assert build('serves = ["80", "120"]\ndriver = "13.0"').status == 0
    assert len(list((project / "dist").glob("*.whl"))) == 1
