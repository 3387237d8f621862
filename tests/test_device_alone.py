"""A machine with Python and pip alone becomes a builder of kernels: no gcc, no nvcc, no LLVM, an empty PATH."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from pathlib import Path

from device_support import AXPY, DATA, HEADER

PYPROJECT = """\
[build-system]
requires = ["setuptools>=77", "setuptools-cuda-build"]
build-backend = "setuptools_cuda.build_meta"

[project]
name = "demo"
version = "1.0"

[tool.setuptools]
packages = ["demo"]

[tool.setuptools-cuda]
architectures = ["75", "90a"]

[[tool.setuptools-cuda.kernel-module]]
module = "demo.kernels"
sources = ["kernels/*.cu", "kernels/*.ll"]
"""


def test_cuda_and_ir_become_a_wheel_for_any_platform(
    tmp_path: Path, our_wheel: Path, bare_environment: Mapping[str, str]
) -> None:
    project, empty = tmp_path / "project", tmp_path / "empty"
    empty.mkdir()
    files = {
        "pyproject.toml": PYPROJECT,
        "demo/__init__.py": "",
        "kernels/axpy.cu": AXPY,
        "kernels/axpy.cuh": HEADER,
        "kernels/wave.ll": (DATA / "typed.ll").read_text("utf-8"),
    }
    for name, text in files.items():
        place = project / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text, "utf-8")
    command = [sys.executable, "-m", "pip", "wheel", "-v", "--no-deps", "--find-links", str(our_wheel.parent)]
    done = subprocess.run(
        [*command, "-w", str(tmp_path / "dist"), str(project)],
        env={**bare_environment, "PATH": str(empty)},
        capture_output=True,
        text=True,
        check=False,
    )
    said = done.stdout + done.stderr
    assert done.returncode == 0, said
    asked = re.search(r"cuda-toolkit\[([\w,]+)\]==13\.0\.\*", said)
    assert asked, said
    assert sorted(asked[1].split(",")) == ["cccl", "crt", "cudart", "nvcc", "nvrtc", "nvvm"]
    assert "kernels/axpy.cu is compiled by nvrtc" in said
    assert "kernels/wave.ll is compiled by nvvm" in said
    (wheel,) = (tmp_path / "dist").iterdir()
    assert wheel.name == "demo-1.0-py3-none-any.whl"
    with zipfile.ZipFile(wheel) as archive:
        names = {name for name in archive.namelist() if "_images/" in name}
        manifest = json.loads(archive.read("demo-1.0.dist-info/setuptools_cuda.json"))
    assert names == {
        f"demo/kernels_images/kernels/{stem}.{tag}"
        for stem in ("axpy", "wave")
        for tag in ("sm_75.cubin", "sm_90a.cubin", "compute_75.ptx", "compute_90a.ptx")
    }
    assert manifest["toolkit"]["release"] == "13.0"
    assert manifest["host_compiler"] is None
