from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from config_support import load, problems_of

from setuptools_cuda.config import flags as flags_module
from setuptools_cuda.config.flags import Reserved, find_reserved, without_threads
from setuptools_cuda.config.keys import SCOPES
from setuptools_cuda.config.model import Flags
from setuptools_cuda.errors import Code

RESERVED = [
    (["-arch=sm_80"], "architectures"),
    (["-arch", "sm_80"], "architectures"),
    (["--gpu-architecture=sm_80"], "architectures"),
    (["-gencode=arch=compute_80,code=sm_80"], "architectures"),
    (["-gencode arch=compute_80,code=sm_80"], "architectures"),
    (["--generate-code", "arch=compute_80,code=sm_80"], "architectures"),
    (["-code=sm_80"], "architectures"),
    (["-std=c++17"], "std"),
    (["--std", "c++17"], "std"),
    (["-rdc=true"], "rdc"),
    (["--relocatable-device-code=true"], "rdc"),
    (["-dc"], "rdc"),
    (["--device-c"], "rdc"),
    (["-dlink"], "rdc"),
    (["-ccbin", "g++-12"], "host-compiler"),
    (["--compiler-bindir=/usr/bin"], "host-compiler"),
    (["-cudart=shared"], "cudart"),
    (["--cudart", "none"], "cudart"),
    (["-ptx"], "formats"),
    (["-cubin"], "formats"),
    (["-fatbin"], "formats"),
    (["-dlto"], "formats"),
    (["--compress-mode=size"], "compress"),
    (["-o", "x.o"], ""),
    (["-c"], ""),
    (["--keep"], ""),
    (["--keep-dir=x"], ""),
    (["-MD"], ""),
    (["-MMD"], ""),
    (["-MF", "x.d"], ""),
    (["-MT", "x"], ""),
    (["-odir", "x"], ""),
    (["-x", "cu"], ""),
    (["-Xcompiler", "-fPIC", "-arch=sm_80"], "architectures"),
    (["-Xcompiler=-fPIC", "-arch=sm_80"], "architectures"),
]
FREE = [
    ["-I/opt/research/include"],
    ["-I/opt/arch/-gencode"],
    ["-Xcompiler", "-march=native"],
    ["-Xcompiler", "-std=c++17"],
    ["-Xcompiler=-march=native"],
    ["--compiler-options", "-o"],
    ["-Xptxas", "-c"],
    ["-Xcudafe", "--diag_suppress=177"],
    ["-Xlinker", "-x"],
    ["--use_fast_math", "-lineinfo", "-O3", "--expt-relaxed-constexpr", "-DARCH=-arch", "-maxrregcount=64"],
]


@pytest.mark.parametrize(("given", "key"), RESERVED)
def test_what_a_key_says_is_refused_by_its_name(given: list[str], key: str) -> None:
    (reserved,) = find_reserved(given, tool="cuda")
    assert reserved.key == key


@pytest.mark.parametrize("given", FREE)
def test_names_are_compared_whole(given: list[str]) -> None:
    assert find_reserved(given, tool="cuda") == ()


def test_all_keys_that_are_named_exist() -> None:
    known = {name for scope in SCOPES for name in scope.keys}
    assert set(flags_module._KEYS) <= known


def test_the_names_are_those_of_nvcc(toolkit_nvcc: Path) -> None:
    done = subprocess.run([toolkit_nvcc, "--help"], capture_output=True, text=True, check=True)
    words = set(done.stdout.replace("(", " ").replace(")", " ").split())
    written_often = {"--arch", "--gencode", "--code"}
    assert set(flags_module._NVCC) - words == written_often


@pytest.mark.parametrize(
    ("tool", "given", "refused"),
    [
        ("cxx", "-std=c++17", True),
        ("cxx", "--std=c++20", True),
        ("cxx", "/std:c++17", True),
        ("cxx", "-std=gnu17", True),
        ("c", "-std=c++17", True),
        ("c", "-std=c11", False),
        ("link", "-std=c++17", False),
        ("cxx", "-march=native", False),
        ("c", "-stdlib=x", False),
    ],
)
def test_standards_of_host_sources(tool: flags_module.Tool, given: str, refused: bool) -> None:
    expected = (Reserved(given, "std"),) if refused else ()
    assert find_reserved([given], tool=tool) == expected


@pytest.mark.parametrize(
    ("given", "kept", "dropped"),
    [
        (["--threads", "4", "-O3"], ("-O3",), ("--threads", "4")),
        (["-O3", "-t", "0"], ("-O3",), ("-t", "0")),
        (["--threads=4"], (), ("--threads=4",)),
        (["-t4", "-t=2"], (), ("-t4", "-t=2")),
        (["-Xcompiler", "-t", "4"], ("-Xcompiler", "-t", "4"), ()),
        (["-time", "x.csv"], ("-time", "x.csv"), ()),
        (["--threads"], (), ("--threads",)),
        ([], (), ()),
    ],
)
def test_threads_are_taken_out(given: list[str], kept: tuple[str, ...], dropped: tuple[str, ...]) -> None:
    assert without_threads(given) == (kept, dropped)


def test_threads_are_dropped_with_a_warning(tmp_path: Path) -> None:
    settings = load({"flags": ["--threads", "4", "-O3"]}, root=tmp_path)
    assert settings.project.flags == Flags(cuda=("-O3",))
    (warning,) = settings.warnings
    assert warning.startswith("tool.setuptools-cuda.flags: --threads 4 is left out")


def test_each_reserved_flag_is_told_at_its_tool(tmp_path: Path) -> None:
    table = {"flags": {"cuda": ["-arch=sm_80", "-std=c++17"], "cxx": ["-std=c++17"], "link": ["-Wl,-s"]}}
    problems = problems_of(table, root=tmp_path)
    assert [(problem.code, problem.where.rpartition(".")[2], problem.fix[0]) for problem in problems] == [
        (Code.RESERVED_FLAG, "cuda", "set 'architectures' instead"),
        (Code.RESERVED_FLAG, "cuda", "set 'std' instead"),
        (Code.RESERVED_FLAG, "cxx", "set 'std' instead"),
    ]


def test_a_setting_may_give_reserved_flags_no_more_than_the_table(tmp_path: Path) -> None:
    (problem,) = problems_of({}, root=tmp_path, settings={"cuda.flags": "-O3 -gencode=arch=compute_80,code=sm_80"})
    assert (problem.code, problem.where) == (Code.RESERVED_FLAG, "-C cuda.flags")
