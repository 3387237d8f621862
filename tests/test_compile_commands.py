"""compile_commands.json: host commands run as they stand, and clangd reads CUDA sources by theirs."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from build_support import make_request
from engine_support import c_project, table

from setuptools_cuda import pipeline
from setuptools_cuda.errors import BuildError
from setuptools_cuda.execute.clang_words import translate

CUDA = """
[tool.setuptools-cuda]
architectures = ["80", "100f"]
std = "c++17"
defines = ["SCALE=3"]
include-dirs = ["inc"]
flags = ["--expt-relaxed-constexpr", "-Xptxas", "-v", "-Xcompiler", "-Wall,-Wextra"]
[[tool.setuptools-cuda.library]]
name = "ops"
sources = ["src/*.cu"]
rdc = true
install = "lib"
"""
SOURCE = """
#include <cub/block/block_reduce.cuh>
#include <cooperative_groups.h>
#include "sizes.cuh"
constexpr int scaled(int x) { return x * SCALE; }
__global__ void sum(const int* x, int* y) {
    using Reduce = cub::BlockReduce<int, THREADS>;
    __shared__ typename Reduce::TempStorage storage;
    cooperative_groups::this_thread_block().sync();
    int total = Reduce(storage).Sum(scaled(x[threadIdx.x]));
    if (threadIdx.x == 0) *y = total;
}
void launch(const int* x, int* y) { sum<<<1, THREADS>>>(x, y); }
"""


def read(root: Path) -> list[dict[str, Any]]:
    text = (root / "build/setuptools-cuda/compile_commands.json").read_text("utf-8")
    entries: list[dict[str, Any]] = json.loads(text)
    return entries


def test_host_commands_run_as_they_stand(bare_environment: dict[str, str], tmp_path: Path) -> None:
    project = c_project(tmp_path, bare_environment)
    project.build()
    entries = read(tmp_path)
    assert [entry["file"] for entry in entries] == ["src/a.c", "src/b.c", "src/c.c"]
    for entry in entries:
        made = tmp_path / entry["output"]
        before = made.read_bytes()
        made.unlink()
        subprocess.run(entry["arguments"], cwd=entry["directory"], check=True)
        assert made.read_bytes() == before


def test_the_file_changes_with_the_commands_alone(bare_environment: dict[str, str], tmp_path: Path) -> None:
    project = c_project(tmp_path, bare_environment)
    project.build()
    file = tmp_path / "build/setuptools-cuda/compile_commands.json"
    first, written = file.read_bytes(), file.stat().st_mtime_ns
    project.write({"src/a.c": "int a(void) { return 5; }\n"}).build(jobs=1)
    assert (file.read_bytes(), file.stat().st_mtime_ns) == (first, written)
    project.write({"pyproject.toml": table('defines = ["NEW"]'), "src/b.c": "int b = wrong;\n"})
    with pytest.raises(BuildError):
        project.build()
    assert all("-DNEW" in entry["arguments"] for entry in read(tmp_path))


def test_no_launcher_is_left_in_commands(bare_environment: dict[str, str], tmp_path: Path) -> None:
    project = c_project(tmp_path, bare_environment).write({"pyproject.toml": table('launcher = "env -u NOTHING"')})
    project.build()
    assert {"env", "-u"}.isdisjoint(word for entry in read(tmp_path) for word in entry["arguments"])


def run_clangd(root: Path, file: str, *, variables: Mapping[str, str]) -> str:
    command = ["clangd", f"--check={file}", "--compile-commands-dir=build/setuptools-cuda"]
    folder = Path(sys.executable).parent
    done = subprocess.run(
        command,
        executable=folder / "clangd",
        cwd=root,
        env=dict(variables),
        capture_output=True,
        text=True,
        check=False,
    )
    return done.stderr


def test_clangd_reads_cuda_sources_and_headers(
    make_project: Any, pip_toolchain_environment: dict[str, str], tmp_path: Path
) -> None:
    files = {"pyproject.toml": CUDA, "src/sum.cu": SOURCE, "inc/sizes.cuh": "#pragma once\n#define THREADS 128\n"}
    root = make_project(files)
    pipeline.run(make_request(root, pip_toolchain_environment), echo=lambda _: None)
    (entry,) = read(root)
    assert "--cuda-gpu-arch=sm_100" in entry["arguments"]
    assert "-fgpu-rdc" in entry["arguments"]
    for file in ("src/sum.cu", "inc/sizes.cuh"):
        said = run_clangd(root, file, variables=pip_toolchain_environment)
        assert "All checks completed, 0 errors" in said, said
    (root / "src/sum.cu").write_text(SOURCE.replace("int total", "wrong total"), "utf-8")
    assert "unknown type name 'wrong'" in run_clangd(root, "src/sum.cu", variables=pip_toolchain_environment)


@pytest.mark.parametrize(
    ("argv", "words"),
    [
        (
            "nvcc -ccbin g++ -c -Iinc -I inc2 -DA=1 -D B -U C -std=c++17 a.cu -o a.o",
            "-Iinc -Iinc2 -DA=1 -DB -UC -std=c++17",
        ),
        ("nvcc -std c++20 --include-path=a --define-macro B --pre-include c.h", "-std=c++20 -Ia -DB -include c.h"),
        ("nvcc -isystem x -include y.h --system-include=z", "-isystem x -include y.h -isystem z"),
        ("nvcc -gencode=arch=compute_80,code=[sm_80,compute_80] --compress-mode=size -Xptxas -Iv -O3", ""),
        ("nvcc -Xcompiler -fPIC,-Wall --compiler-options=-DX -Xcompiler -ffile-prefix-map=x=.", "-fPIC -Wall -DX"),
        (
            "nvcc -dc -rdc=true --default-stream=per-thread -lineinfo",
            "-fgpu-rdc -fgpu-rdc -DCUDA_API_PER_THREAD_DEFAULT_STREAM=1",
        ),
        (r"nvcc -DPAIR(a,b)=a\,b", "-DPAIR(a,b)=a,b"),
        ("nvcc --keep-dir -Ikeep -MF -Ddep -Xcudafe -Uname", ""),
    ],
)
def test_words_for_clang(argv: str, words: str) -> None:
    assert " ".join(translate(argv.split())) == words
