"""Projects to build: the same sources for us, for PyTorch's BuildExtension, for CMake, and for bare nvcc."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

Writer = Callable[[Path], None]

SMALL = """\
#include <cuda_runtime.h>
{includes}
template <int N>
__device__ float power(float x) {{ return x * power<N - 1>(x); }}
template <> inline
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
# The host front end and cicc have most to do: much of CUB, for three types.
HEAVY = """\
#include <cub/cub.cuh>
template <typename T>
int all(T* k, int c) {{
    size_t n = 0;
    return cub::DeviceRadixSort::SortPairs(nullptr, n, k, k, k, k, c) +
           cub::DeviceScan::InclusiveSum(nullptr, n, k, k, c) + cub::DeviceReduce::Sum(nullptr, n, k, k, c);
}}
int launch_{number}(const float*, float*, int c) {{
    return all<int>(nullptr, c) + all<{type}>(nullptr, c) + all<double>(nullptr, c);
}}
"""
TYPES = ("float", "unsigned", "long long", "short")
# cicc and ptxas have most to do: one kernel of many steps, unrolled.
BACK_END = """\
__global__ void kernel_{number}(float* x, int n) {{
    float a[32];
    for (int i = 0; i < 32; ++i) a[i] = x[i * n];
#pragma unroll
    for (int step = 0; step < 160; ++step) {{
#pragma unroll
        for (int i = 0; i < 32; ++i) a[i] = fmaf(a[(i + step) & 31], a[i], __sinf(a[(i * 7 + step) & 31]));
    }}
    for (int i = 0; i < 32; ++i) x[i * n] = a[i];
}}
int launch_{number}(const float*, float* y, int n) {{
    kernel_{number}<<<1, 32>>>(y, n);
    return cudaGetLastError();
}}
"""
BIND = """\
#include <Python.h>
{declarations}
static PyObject* run(PyObject*, PyObject*) {{ return PyLong_FromLong({calls}); }}
static PyMethodDef methods[] = {{{{"run", run, METH_NOARGS, nullptr}}, {{nullptr, nullptr, 0, nullptr}}}};
static PyModuleDef module = {{PyModuleDef_HEAD_INIT, "_native", nullptr, -1, methods}};
PyMODINIT_FUNC PyInit__native() {{ return PyModule_Create(&module); }}
"""
TABLE = """\
[build-system]
requires = ["setuptools", "setuptools-cuda-build"]
build-backend = "setuptools_cuda.build_meta"

[project]
name = "bench"
version = "1"

[tool.setuptools]
packages = []

[tool.setuptools-cuda]
architectures = {architectures}
std = "c++17"
jobs = {jobs}
include-dirs = ["inc"]
"""
TARGETS = {
    "extension": '[[tool.setuptools-cuda.extension]]\nname = "_native"\nsources = ["bind.cpp", "src/*.cu"]\n',
    "library": '[[tool.setuptools-cuda.library]]\nname = "all"\nsources = ["src/*.cu"]\ninstall = "bench/lib"\n',
    "kernels": (
        '[[tool.setuptools-cuda.kernel-module]]\nmodule = "kernels"\nsources = ["src/*.cu"]\nformats = ["ptx"]\n'
    ),
}


@dataclass(frozen=True)
class Sources:
    """Sources by name; each defines ``launch_<its number>``."""

    texts: Mapping[str, str]
    headers: Mapping[str, str] = field(default_factory=dict)

    def write(self, folder: Path) -> None:
        """Write them, and a module that calls into all of them."""
        for name in ("src", "inc", "out"):
            (folder / name).mkdir(parents=True, exist_ok=True)
        for name, text in self.texts.items():
            (folder / "src" / name).write_text(text, "utf-8")
        for name, text in self.headers.items():
            (folder / "inc" / name).write_text(text, "utf-8")
        numbers = range(len(self.texts))
        declarations = "\n".join(f"int launch_{number}(const float*, float*, int);" for number in numbers)
        calls = " + ".join(f"launch_{number}(nullptr, nullptr, 0)" for number in numbers)
        (folder / "bind.cpp").write_text(BIND.format(declarations=declarations, calls=calls), "utf-8")


def make_small(count: int) -> Sources:
    """Return ``count`` small files."""
    files = (SMALL.format(number=n, degree=8 + n % 8, includes="") for n in range(count))
    return Sources({f"k{number:03}.cu": text for number, text in enumerate(files)})


def make_heavy(count: int) -> Sources:
    """Return ``count`` files with much of CUB in them."""
    files = (HEAVY.format(number=n, type=TYPES[n % len(TYPES)]) for n in range(count))
    return Sources({f"heavy{number}.cu": text for number, text in enumerate(files)})


def make_back_end(count: int) -> Sources:
    """Return ``count`` files whose kernels take cicc and ptxas long."""
    return Sources({f"big{number}.cu": BACK_END.format(number=number) for number in range(count)})


def make_with_headers(files: int, *, headers: int, users: int) -> Sources:
    """Return files of which ``users`` include the first of ``headers``, and all include another one."""

    def includes(number: int) -> str:
        chosen = ["h0.h"] if number < users else []
        return "".join(f'#include "{name}"\n' for name in (*chosen, f"h{1 + number % (headers - 1)}.h"))

    texts = {f"k{n:03}.cu": SMALL.format(number=n, degree=8 + n % 8, includes=includes(n)) for n in range(files)}
    return Sources(texts, {f"h{number}.h": f"constexpr int h{number} = 1;\n" for number in range(headers)})


def render_table(targets: Iterable[str], *, architectures: Iterable[str], jobs: int) -> str:
    """Return our pyproject.toml for ``targets``: of extension, library, kernels."""
    head = TABLE.format(architectures=list(architectures), jobs=jobs)
    return "\n".join((head, *(TARGETS[target] for target in targets)))
