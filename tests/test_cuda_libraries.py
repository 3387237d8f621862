"""The catalogue of CUDA's own libraries: its invariants, and the wheels that it speaks of."""

from __future__ import annotations

import importlib.metadata
import re

import pytest

from setuptools_cuda.errors import Code
from setuptools_cuda.resolution.cuda_libraries import (
    FACTS,
    check_cuda_library,
    find_cuda_library,
    find_extra,
    find_requirement,
    order_libraries,
)

NAMES = {fact.name for fact in FACTS}


def test_names_are_unique_and_needs_are_known():
    assert len(NAMES) == len(FACTS)
    for fact in FACTS:
        assert set(fact.needs) <= NAMES
        assert not fact.needs or fact.static


def test_kinds():
    for fact in FACTS:
        assert (fact.kind == "header") == (not fact.link_name)
        assert fact.static or not fact.name.endswith("_static")
        assert fact.kind != "driver" or not fact.in_wheels
        assert fact.extra is None or fact.wheel


def test_every_static_library_has_its_shared_one_of_the_same_wheel():
    for fact in FACTS:
        shared = find_cuda_library(fact.name.removesuffix("_static"))
        if fact.static and shared is not None:
            assert (shared.extra, shared.wheel) == (fact.extra, fact.wheel)


def test_extras_are_those_of_the_meta_package():
    metadata = importlib.metadata.metadata("cuda-toolkit")
    extras = set(metadata.get_all("Provides-Extra") or ())
    requirements = metadata.get_all("Requires-Dist") or []
    for fact in FACTS:
        if fact.extra is not None:
            assert fact.extra in extras
            mine = [line for line in requirements if f"'{fact.extra}'" in line.replace('"', "'")]
            assert any(re.match(rf"{re.escape(fact.wheel)}\b(?!-)", line) for line in mine), fact.name


def test_what_the_runtime_wheel_has(toolkit_nvcc):
    folder = toolkit_nvcc.parent.parent / "lib"
    for fact in FACTS:
        if fact.wheel == "nvidia-cuda-runtime" and fact.link_name:
            assert list(folder.glob(f"lib{fact.link_name}.{'a' if fact.static else 'so.*'}"))


def test_with_and_without_the_prefix():
    fact = find_cuda_library("CUDA::cublas")
    assert fact is not None
    assert fact is find_cuda_library("cublas")
    assert (fact.link_name, fact.static, fact.extra, fact.wheel) == ("cublas", False, "cublas", "nvidia-cublas")


@pytest.mark.parametrize(
    ("name", "link_name", "extra", "requirement"),
    [
        ("CUDA::nvJitLink", "nvJitLink", "nvjitlink", "nvidia-nvjitlink"),
        ("CUDA::nvml", "nvidia-ml", "nvml", None),
        ("CUDA::cuda_driver", "cuda", None, None),
        ("CUDA::cudart", "cudart", None, "nvidia-cuda-runtime"),
        ("CUDA::cudart_static", "cudart_static", None, None),
        ("CUDA::cuFile", "cufile", "cufile", "nvidia-cufile"),
        ("CUDA::nvtx3", "", "nvtx", None),
        ("CUDA::nppif", "nppif", "npp", "nvidia-npp"),
    ],
)
def test_facts(name, link_name, extra, requirement):
    fact = find_cuda_library(name)
    assert fact is not None
    assert fact.link_name == link_name
    assert find_extra(name) == extra
    assert find_requirement(name) == requirement


def test_what_is_needed_comes_after_what_needs_it():
    names = [fact.name for fact in order_libraries(["CUDA::cusparse_static", "CUDA::cusolver_static", "CUDA::nope"])]
    assert len(names) == len(set(names))
    for fact in map(find_cuda_library, names):
        assert fact is not None
        assert all(names.index(need) > names.index(fact.name) for need in fact.needs)


@pytest.mark.parametrize(
    ("name", "meant"),
    [("CUDA::cublass", "CUDA::cublas"), ("CUDA::CUBLAS", "CUDA::cublas"), ("CUDA::cublaslt", "CUDA::cublasLt")],
)
def test_an_unknown_name_gets_a_suggestion(name, meant):
    problem = check_cuda_library(name, where="extension 'demo'.link")
    assert problem is not None
    assert (problem.code, problem.where) == (Code.UNKNOWN_LIBRARY, "extension 'demo'.link")
    assert meant in problem.fix[0]


def test_a_library_that_is_gone_says_what_took_its_place():
    problem = check_cuda_library("CUDA::nvToolsExt", where="link")
    assert problem is not None
    assert "CUDA::nvtx3" in problem.render()


def test_a_known_name_is_no_problem():
    assert check_cuda_library("CUDA::cufft", where="link") is None
    assert find_cuda_library("CUDA::nonesuch") is None
    assert find_extra("CUDA::nonesuch") is None
    assert find_requirement("CUDA::nonesuch") is None
