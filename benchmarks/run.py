"""Time our Builder against bare nvcc under xargs, on small generated files.

Needs Linux, a toolkit that :func:`setuptools_cuda.resolve` finds, and g++.
"""

from __future__ import annotations

import argparse
import os
import shlex
import statistics
import subprocess
import sys
import tempfile
import time
import zipfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from setuptools_cuda import resolve

SOURCE = """\
#include <cuda_runtime.h>

template <int N>
__device__ float power(float x) {{ return x * power<N - 1>(x); }}
template <>
__device__ float power<0>(float x) {{ return 1; }}

extern "C" __global__ void kernel_{number}(const float* x, float* y, int n) {{
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < n) y[i] = power<{degree}>(x[i]);
}}

int launch_{number}(const float* x, float* y, int n) {{
    kernel_{number}<<<(n + 255) / 256, 256>>>(x, y, n);
    return cudaGetLastError();
}}
"""

LIBRARY = """\
from setuptools_cuda import Builder
Builder(["src/*.cu"], architectures={architectures}, std="c++17", jobs={jobs}).build_library("liball.a")
"""

# The same sources in two targets: objects and PTX come out of one run of nvcc each.
WHEEL = """\
from setuptools_cuda.build_meta import build_wheel
build_wheel("out")
"""

TABLE = """\
[project]
name = "bench"
version = "1"

[tool.setuptools]
packages = []

[tool.setuptools-cuda]
architectures = {architectures}
std = "c++17"
jobs = {jobs}

[[tool.setuptools-cuda.library]]
name = "all"
sources = ["src/*.cu"]
install = "bench/lib"

[[tool.setuptools-cuda.kernel-module]]
module = "bench_kernels"
sources = ["src/*.cu"]
formats = ["ptx"]
"""


@dataclass(frozen=True)
class Options:
    """What the command line asks for."""

    files: int
    repeats: int
    jobs: int
    architectures: tuple[str, ...]
    nvcc: Path


@dataclass(frozen=True)
class Pair:
    """Seconds of ours and of the bare compiler, measured in turn."""

    ours: tuple[float, ...]
    bare: tuple[float, ...]

    def __str__(self) -> str:
        ratios = [a / b for a, b in zip(self.ours, self.bare, strict=True)]
        return (
            f"ours {describe(self.ours)}   bare {describe(self.bare)}   "
            f"ratio {statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
        )


def describe(seconds: tuple[float, ...]) -> str:
    """Return the median and the spread."""
    return f"{statistics.median(seconds):6.2f} s ({min(seconds):.2f} to {max(seconds):.2f})"


def write_sources(folder: Path, *, files: int) -> None:
    """Write ``files`` small sources into ``folder``/src."""
    (folder / "src").mkdir(parents=True)
    for number in range(files):
        text = SOURCE.format(number=number, degree=8 + number % 8)
        (folder / "src" / f"k{number:03}.cu").write_text(text, encoding="utf-8")


def run_ours(folder: Path, *, options: Options, kernels: bool) -> None:
    """Build with ours in a process of its own: a library by the Builder, or a wheel with kernels too."""
    words = {"architectures": list(options.architectures), "jobs": options.jobs}
    (folder / "out").mkdir(exist_ok=True)
    if kernels:
        (folder / "pyproject.toml").write_text(TABLE.format(**words), encoding="utf-8")
    script = WHEEL if kernels else LIBRARY.format(**words)
    done = subprocess.run([sys.executable, "-c", script], cwd=folder, check=False, capture_output=True, text=True)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    check_made(folder, options=options, kernels=kernels)


def check_made(folder: Path, *, options: Options, kernels: bool) -> None:
    """Stop if our build did not make all that it is timed for."""
    if kernels:
        (wheel,) = (folder / "out").glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            made = {name for name in archive.namelist() if name.endswith((".a", ".ptx"))}
        wanted = 1 + options.files * len(options.architectures)
    else:
        made = {file.name for file in (folder / "out").glob("*.a")}
        wanted = 1
    if len(made) != wanted:
        raise SystemExit(f"{len(made)} files instead of {wanted}: is setuptools-cuda-build installed?")


def run_bare(folder: Path, *, options: Options, kernels: bool) -> None:
    """Build with nvcc under xargs."""
    (folder / "out").mkdir(exist_ok=True)
    newest = options.architectures[-1]
    codes = [f"-gencode=arch=compute_{a},code=sm_{a}" for a in options.architectures]
    codes.append(f"-gencode=arch=compute_{newest},code=compute_{newest}")
    common = [str(options.nvcc), "-std=c++17", "-Xcompiler=-fPIC"]
    lines = [[*common, *codes, "-c", f"src/{s.name}", "-o", f"out/{s.stem}.o"] for s in sources(folder)]
    if kernels:
        lines += [
            [*common, f"-arch=compute_{a}", "-ptx", f"src/{s.name}", "-o", f"out/{s.stem}.{a}.ptx"]
            for s in sources(folder)
            for a in options.architectures
        ]
    text = "\n".join(shlex.join(line) for line in lines)
    xargs = ["xargs", "-P", str(options.jobs), "-I", "{}", "sh", "-c", "{}"]
    subprocess.run(xargs, input=text, text=True, cwd=folder, check=True)
    objects = [f"out/{s.stem}.o" for s in sources(folder)]
    subprocess.run(["ar", "rcsD", "out/liball.a", *objects], cwd=folder, check=True)


def sources(folder: Path) -> list[Path]:
    """Return the generated sources."""
    return sorted((folder / "src").glob("*.cu"))


def measure(action: Callable[[], None]) -> float:
    """Return the seconds that ``action`` takes."""
    start = time.perf_counter()
    action()
    return time.perf_counter() - start


def compare(*, options: Options, kernels: bool) -> Pair:
    """Return the times of both sides, each run in a fresh folder, one after the other."""
    ours, bare = [], []
    for _ in range(options.repeats):
        for run, times in ((run_ours, ours), (run_bare, bare)):
            with tempfile.TemporaryDirectory() as name:
                folder = Path(name)
                write_sources(folder, files=options.files)
                times.append(measure(lambda: run(folder, options=options, kernels=kernels)))  # noqa: B023 - run at once
    return Pair(tuple(ours), tuple(bare))


def measure_second_build(*, options: Options) -> tuple[float, ...]:
    """Return the times of builds that find everything built."""
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        write_sources(folder, files=options.files)
        run_ours(folder, options=options, kernels=True)
        return tuple(measure(lambda: run_ours(folder, options=options, kernels=True)) for _ in range(options.repeats))


def parse_arguments() -> Options:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--files", type=int, default=12, help="sources to make (12)")
    parser.add_argument("--repeats", type=int, default=5, help="runs of each side (5)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at once (all cores)")
    parser.add_argument("--architectures", default="80,90", help="plain numbers, ascending (80,90)")
    given = parser.parse_args()
    architectures = tuple(given.architectures.split(","))
    return Options(given.files, given.repeats, given.jobs, architectures, find_nvcc())


def find_nvcc() -> Path:
    """Return the nvcc that a build here takes, by the path at which it was found."""
    chosen = [one.nvcc for one in resolve().toolchain.candidates if one.verdict == "chosen"]
    if not chosen or chosen[0] is None:
        raise SystemExit("no nvcc")
    return chosen[0]


def main() -> None:
    """Print one line for each comparison."""
    options = parse_arguments()
    print(
        f"{options.files} files, architectures {','.join(options.architectures)}, {options.jobs} jobs, {options.nvcc}"
    )
    print("objects          ", compare(options=options, kernels=False))
    print("objects and PTX  ", compare(options=options, kernels=True))
    print("nothing to do    ", "ours", describe(measure_second_build(options=options)))


if __name__ == "__main__":
    main()
