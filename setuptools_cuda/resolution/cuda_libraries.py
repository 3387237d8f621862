"""CUDA's own libraries by the names CMake gives them: ``CUDA::cublas``.

The names, link names and needs are those of CMake's FindCUDAToolkit. Which wheel has which file
was read from NVIDIA's wheels for CUDA 13: ``nvidia/cu13/lib`` holds ``lib*.so.N`` without the
unversioned link, and of the static libraries cudart, cudadevrt, culibos and nvptxcompiler alone.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Literal

from setuptools_cuda.errors import Code, Problem

PREFIX = "CUDA::"

Kind = Literal["shared", "static", "header", "driver"]


@dataclass(frozen=True)
class CudaLibraryFact:
    """What is known about one library of the toolkit.

    A 'header' has nothing to link. A 'driver' library is linked against a stub and comes with
    the user's driver, never with a wheel.
    """

    name: str
    """Without the prefix, as 'cublas'."""
    link_name: str
    """What follows ``-l``, or '' for headers."""
    kind: Kind
    extra: str | None
    """The extra of the distribution cuda-toolkit that brings it, or None where nvcc's brings it."""
    wheel: str
    """The distribution that has its headers, as 'nvidia-cublas', or ''."""
    in_wheels: bool = True
    """Whether a wheel has the library itself; most static ones come with an installed toolkit alone."""
    needs: tuple[str, ...] = ()
    """Libraries of the toolkit that a static link needs after it."""
    system: tuple[str, ...] = ()
    """Libraries of the system that a static link needs, as 'dl'."""

    @property
    def static(self) -> bool:
        """Return whether it is a static library."""
        return self.kind == "static"


_SYSTEM = ("rt", "pthread", "dl")


def _shared(name: str, extra: str, wheel: str, *, link_name: str = "") -> CudaLibraryFact:
    return CudaLibraryFact(name, link_name or name, "shared", extra, wheel)


def _static(
    name: str, extra: str, wheel: str, *needs: str, link_name: str = "", in_wheels: bool = False
) -> CudaLibraryFact:
    return CudaLibraryFact(name, link_name or name, "static", extra, wheel, in_wheels, needs, _SYSTEM)


_NPP = ("nppial", "nppicc", "nppicom", "nppidei", "nppif", "nppig", "nppim", "nppist", "nppisu", "nppitc", "npps")

FACTS: tuple[CudaLibraryFact, ...] = (
    CudaLibraryFact("toolkit", "", "header", None, "nvidia-cuda-runtime"),
    CudaLibraryFact("cuda_driver", "cuda", "driver", None, "", in_wheels=False),
    CudaLibraryFact("cudart", "cudart", "shared", None, "nvidia-cuda-runtime"),
    CudaLibraryFact("cudart_static", "cudart_static", "static", None, "nvidia-cuda-runtime", system=_SYSTEM),
    CudaLibraryFact("cudadevrt", "cudadevrt", "static", None, "nvidia-cuda-runtime"),
    _static("culibos", "culibos", "nvidia-cuda-culibos", in_wheels=True),
    _shared("cublas", "cublas", "nvidia-cublas"),
    _static("cublas_static", "cublas", "nvidia-cublas", "cublasLt_static", "culibos"),
    _shared("cublasLt", "cublas", "nvidia-cublas"),
    _static("cublasLt_static", "cublas", "nvidia-cublas", "culibos"),
    _shared("nvblas", "cublas", "nvidia-cublas"),
    _shared("cuFile", "cufile", "nvidia-cufile", link_name="cufile"),
    _static("cuFile_static", "cufile", "nvidia-cufile", "culibos", link_name="cufile_static"),
    _shared("cuFile_rdma", "cufile", "nvidia-cufile", link_name="cufile_rdma"),
    _static("cuFile_rdma_static", "cufile", "nvidia-cufile", "cuFile_static", link_name="cufile_rdma_static"),
    _shared("cufft", "cufft", "nvidia-cufft"),
    _static("cufft_static", "cufft", "nvidia-cufft", "culibos"),
    _static("cufft_static_nocallback", "cufft", "nvidia-cufft", "culibos"),
    _shared("cufftw", "cufft", "nvidia-cufft"),
    _static("cufftw_static", "cufft", "nvidia-cufft", "cufft_static"),
    _static("cufilt", "cuxxfilt", "nvidia-cuda-cuxxfilt"),
    _shared("curand", "curand", "nvidia-curand"),
    _static("curand_static", "curand", "nvidia-curand", "culibos"),
    _shared("cusolver", "cusolver", "nvidia-cusolver"),
    _static(
        "cusolver_static",
        "cusolver",
        "nvidia-cusolver",
        "cusolver_lapack_static",
        "cusolver_metis_static",
        "cublas_static",
        "cusparse_static",
    ),
    _static("cusolver_lapack_static", "cusolver", "nvidia-cusolver", link_name="lapack_static"),
    _static("cusolver_metis_static", "cusolver", "nvidia-cusolver", link_name="metis_static"),
    _shared("cusolverMg", "cusolver", "nvidia-cusolver"),
    _shared("cusparse", "cusparse", "nvidia-cusparse"),
    _static("cusparse_static", "cusparse", "nvidia-cusparse", "nvJitLink_static", "culibos"),
    _shared("cupti", "cupti", "nvidia-cuda-cupti"),
    _static("cupti_static", "cupti", "nvidia-cuda-cupti"),
    _shared("nvperf_host", "cupti", "nvidia-cuda-cupti"),
    _static("nvperf_host_static", "cupti", "nvidia-cuda-cupti"),
    _shared("nvperf_target", "cupti", "nvidia-cuda-cupti"),
    _shared("pcsamplingutil", "cupti", "nvidia-cuda-cupti"),
    _shared("nppc", "npp", "nvidia-npp"),
    _static("nppc_static", "npp", "nvidia-npp", "culibos"),
    *(_shared(name, "npp", "nvidia-npp") for name in _NPP),
    *(_static(f"{name}_static", "npp", "nvidia-npp", "nppc_static") for name in _NPP),
    _shared("nvfatbin", "nvfatbin", "nvidia-nvfatbin"),
    _static("nvfatbin_static", "nvfatbin", "nvidia-nvfatbin"),
    _shared("nvJitLink", "nvjitlink", "nvidia-nvjitlink"),
    _static("nvJitLink_static", "nvjitlink", "nvidia-nvjitlink", "nvptxcompiler_static"),
    _shared("nvjpeg", "nvjpeg", "nvidia-nvjpeg"),
    _static("nvjpeg_static", "nvjpeg", "nvidia-nvjpeg", "culibos"),
    CudaLibraryFact("nvml", "nvidia-ml", "driver", "nvml", "nvidia-nvml-dev", in_wheels=False),
    _static("nvptxcompiler_static", "nvptxcompiler", "nvidia-nvptxcompiler", in_wheels=True),
    _shared("nvrtc", "nvrtc", "nvidia-cuda-nvrtc"),
    _shared("nvrtc_builtins", "nvrtc", "nvidia-cuda-nvrtc", link_name="nvrtc-builtins"),
    _static("nvrtc_static", "nvrtc", "nvidia-cuda-nvrtc", "nvrtc_builtins_static", "nvptxcompiler_static"),
    _static("nvrtc_builtins_static", "nvrtc", "nvidia-cuda-nvrtc", link_name="nvrtc-builtins_static"),
    CudaLibraryFact("nvtx3", "", "header", "nvtx", "nvidia-nvtx", system=("dl",)),
    _shared("nvtx3_interop", "nvtx", "nvidia-nvtx", link_name="nvtx3interop"),
    _shared("OpenCL", "opencl", "nvidia-cuda-opencl"),
)

_BY_NAME = {fact.name: fact for fact in FACTS}

# Targets that CMake knows and CUDA no longer has, with what took their place.
_GONE = {
    "nvToolsExt": "it is gone since CUDA 12.9: use CUDA::nvtx3 and <nvtx3/nvToolsExt.h>",
    "nvgraph": "it is gone since CUDA 11.0",
    "nvgraph_static": "it is gone since CUDA 11.0",
}


def find_cuda_library(name: str) -> CudaLibraryFact | None:
    """Return the fact for 'CUDA::cublas' or 'cublas', or None."""
    return _BY_NAME.get(name.removeprefix(PREFIX))


def find_extra(name: str) -> str | None:
    """Return the extra of cuda-toolkit that brings the library, or None.

    None: unknown, part of the driver, or there with nvcc anyway (cudart).
    """
    fact = find_cuda_library(name)
    return None if fact is None else fact.extra


def find_requirement(name: str) -> str | None:
    """Return the distribution that an installed file linked to ``name`` needs at run time, or None.

    None: unknown, static, headers, the driver's, or in no wheel.
    """
    fact = find_cuda_library(name)
    return fact.wheel if fact is not None and fact.kind == "shared" and fact.in_wheels else None


def order_libraries(names: Iterable[str]) -> tuple[CudaLibraryFact, ...]:
    """Return the facts of ``names`` and of all that they need, each after what needs it.

    Names that are unknown are left out: :func:`check_cuda_library` speaks of them.
    """
    found: dict[str, CudaLibraryFact] = {}
    waiting = [fact for name in names if (fact := find_cuda_library(name)) is not None]
    while waiting:
        fact = waiting.pop(0)
        # What is needed again has to come later again on a linker's command line.
        found.pop(fact.name, None)
        found[fact.name] = fact
        waiting.extend(_BY_NAME[name] for name in fact.needs)
    return tuple(found.values())


def check_cuda_library(name: str, *, where: str) -> Problem | None:
    """Return the problem that ``name`` is no library of the toolkit, or None."""
    if find_cuda_library(name) is not None:
        return None
    bare = name.removeprefix(PREFIX)
    details = (("why", _GONE[bare]),) if bare in _GONE else ()
    folded = {known.casefold(): known for known in _BY_NAME}
    close = difflib.get_close_matches(bare.casefold(), folded, n=3)
    meant = " or ".join(PREFIX + folded[one] for one in close)
    fix = f"did you mean {meant}?" if meant else "CUDA's libraries are called by CMake's names, as CUDA::cublas"
    return Problem(Code.UNKNOWN_LIBRARY, f"CUDA has no library {name!r}", where, details, (fix,))
