from __future__ import annotations

from pathlib import Path

import pytest
from config_support import load, problems_of, told, write_files

from setuptools_cuda.config.checks import CHECKS, parse_bound, parse_memory
from setuptools_cuda.config.keys import SCOPES
from setuptools_cuda.errors import Code

GOOD: dict[str, list[str]] = {
    "glob": ["a.cu", "src/**/*.cu", "./a.cu", "a b#('é).cu", "[ab].cu", "...cu"],
    "globs": ["**", "**/x.cu"],
    "folder": ["demo/lib", "demo", "lib/"],
    "module": ["demo", "demo._native", "größe.k", "match.type"],
    "library-name": ["attention", "my-lib", "a.b", "c++abi", "9lib"],
    "architectures": [
        *["80", "8.0", "sm_80", "compute_80", "80-real", "80-virtual", "90a", "100f", "8.0+PTX", "native", "all"],
        *["all-major", "12.0f", "9.0a-real", "90a+PTX", "sm_90a", "10.0", "sm_80-real", "compute_80-virtual"],
    ],
    "architecture": ["80", "8.0", "sm_80", "90a", "120"],
    "capabilities": ["75", "7.5", "120", "12.0"],
    "specifier": [">=12.4", "==13.*", ">=12.4,<14", "~=13.0", "!=13.1", "==13.0.*", ">=13.0.0"],
    "release": ["13.0", "12.9"],
    "std": ["c++11", "c++14", "c++17", "c++20", "c++23", "c++26"],
    "defines": ["A", "_A1=", "B=1", 'C="x y"', "D=a=b"],
    "place": ["build/report", "~", "~/x", "/tmp/x", "../x", "./true", "a b"],
    "cache": ["off", " OFF ", "cache", "~/x", "/mnt/cache"],
    "memory": ["3 GiB", "512 MiB", "1000", "1.5GiB", "2 GB", "1 kB"],
    "cuda-library": ["CUDA::cublas", "CUDA::nvtx3"],
    "limited-api": ["cp32", "cp39", "cp311", "cp313"],
}
BAD: dict[str, list[str]] = {
    "glob": ["/a.cu", "~/a.cu", "C:/a.cu", "../a.cu", "a/../b.cu", "a\\b.cu", "src/**.cu", "a**b/c", ".", "./"],
    "globs": ["/*", "*/.."],
    "folder": ["/lib", "../lib", "a/../b", "a\\b", "C:/lib"],
    "module": ["demo.", ".demo", "de mo", "demo.my-kernels", "1a", "class", "a.import", "a..b"],
    "library-name": ["", "-x", "a/b", "a b", "CUDA::x", "x.a", "libx.so"],
    "architectures": [
        "8",
        "sm80",
        "80-fake",
        "80+",
        "sm_80-virtual",
        "90b",
        "all-real",
        "Hopper",
        "080",
        "٨٠",
        "8.0.0",
    ],
    "architecture": ["native", "all", "80-real", "8.0+PTX", "compute_80", "8"],
    "capabilities": ["sm_75", "75a", "7", "7.55"],
    "specifier": ["12.4", ">=", "x", ",", ">=12.4 <13", "==13.0.88", ">=12.4,!=13.0.2"],
    "release": ["13", "13.0.1", ">=13", "v13.0"],
    "std": ["c++03", "17", "gnu++17", "c++18", "C++17", "c17"],
    "defines": ["-DA", "1A", "A B", "=1", "A-B", "A(x)=x"],
    "place": ["true", "off", "1", "http://x/y", "~root/x", "$HOME/x"],
    "cache": ["on", "no", "0", "s3://bucket", "~root/x", "a/$B"],
    "memory": ["3 G", "3 gib", "lots", "-1", "0", "0 GiB", "1,5 GiB", "GiB"],
    "cuda-library": ["cublas", "CUDA:cublas", "CUDA::", "CUDA::cu blas"],
    "limited-api": ["3.11", "cp31", "cp27", "abi3", "cp3", "py311"],
}


def test_every_check_that_the_model_names_exists_and_is_used() -> None:
    named = {key.check for scope in SCOPES for key in scope.keys.values() if key.check}
    assert named == set(CHECKS)


def test_every_check_has_examples() -> None:
    assert set(GOOD) == set(BAD) == set(CHECKS) - {"positive"}


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in GOOD.items() for text in texts])
def test_good_values_pass(name: str, text: str) -> None:
    assert CHECKS[name].find(text) is None


@pytest.mark.parametrize(("name", "text"), [(name, text) for name, texts in BAD.items() for text in texts])
def test_bad_values_are_found(name: str, text: str) -> None:
    finding = CHECKS[name].find(text)
    assert finding is not None
    assert finding.what


@pytest.mark.parametrize(
    ("name", "text", "fix"),
    [
        ("module", "demo.my-kernels", "'demo.my_kernels'"),
        ("defines", "-DNAME=1", "'NAME=1'"),
        ("limited-api", "3.11", "'cp311'"),
        ("limited-api", "abi3.9", "'cp39'"),
        ("glob", "a\\b.cu", "'/'"),
        ("library-name", "x.a", "libattention.a"),
    ],
)
def test_the_fix_is_said(name: str, text: str, fix: str) -> None:
    finding = CHECKS[name].find(text)
    assert finding is not None
    assert fix in " ".join(finding.fix)


def test_numbers_below_one_are_found() -> None:
    find = CHECKS["positive"].find
    assert find(1) is None
    assert [find(number) is not None for number in (0, -1, -(10**5000))] == [True] * 3


@pytest.mark.parametrize(
    ("text", "amount"),
    [("3 GiB", 3 * 2**30), ("512 MiB", 2**29), ("1.5 GiB", 3 * 2**29), ("1000", 1000), ("2 GB", 2 * 10**9)],
)
def test_memory_is_read_in_bytes(text: str, amount: int) -> None:
    assert parse_memory(text) == amount


def test_bad_memory_is_a_value_error() -> None:
    with pytest.raises(ValueError, match="'much' is no amount of memory"):
        parse_memory("much")


def test_a_bound_is_compared_by_number() -> None:
    assert [parse_bound(text) for text in ("90a", "9.0", "sm_90", "120f")] == [90, 90, 90, 120]


def test_codes_tell_architectures_and_names_apart(tmp_path: Path) -> None:
    write_files(tmp_path, "a.cu")
    table = {
        "architectures": ["80", "x"],
        "kernel-module": [{"module": "a-b", "sources": ["a.cu"], "max-architecture": "all"}],
        "library": [{"name": "a/b", "sources": ["a.cu"]}],
    }
    assert sorted(told(problems_of(table, root=tmp_path))) == [
        ("bad-architecture", "architectures"),
        ("bad-architecture", "kernel-module[0].max-architecture"),
        ("bad-name", "kernel-module[0].module"),
        ("bad-name", "library[0].name"),
    ]
    assert Code.BAD_NAME.slug == "bad-name"


@pytest.mark.parametrize(
    "given", ["80;90a", "80, 90a", "80 90a", ["80", "90a"], ["80;90a"], ("80", "90a"), " 80,;90a;"]
)
def test_architectures_come_in_a_list_or_a_string(tmp_path: Path, given: object) -> None:
    assert load({"architectures": given}, root=tmp_path).project.architectures == ("80", "90a")
