"""The identity changes with what changes the result, and with nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from toolchain_support import link_site, link_tree, make_environment, make_settings, site_of, write_gcc, write_script

from setuptools_cuda.environment import Environment
from setuptools_cuda.errors import BuildError, Code
from setuptools_cuda.resolution.identity import digest_facts, digest_file
from setuptools_cuda.resolution.nvcc_flags import resolve_nvcc_flags
from setuptools_cuda.resolution.toolchain import resolve_toolchain


def identity(folder: Path, environment: Environment) -> str:
    folder.mkdir(exist_ok=True)
    return resolve_toolchain(make_settings(folder), environment=environment, build_dir=folder / "build").identity


@pytest.fixture
def usual(toolkit_nvcc: Path, tmp_path: Path) -> str:
    return identity(tmp_path / "usual", make_environment(tmp_path, search_path=[site_of(toolkit_nvcc)]))


def test_facts_do_not_run_together() -> None:
    lists = [(), (("a", "bc"),), (("ab", "c"),), (("a", "b"), ("c", "")), (("a", ""), ("b", "c")), (("a", "b"),)]
    digests = {digest_facts(facts) for facts in lists}
    assert len(digests) == len(lists)
    assert all(len(digest) == 64 for digest in digests)


def test_content_of_a_file(tmp_path: Path) -> None:
    one, two = tmp_path / "one", tmp_path / "two"
    one.write_bytes(b"x" * (3 << 20))
    two.write_bytes(b"x" * (3 << 20))
    assert digest_file(one) == digest_file(two)
    two.write_bytes(b"x" * (3 << 20) + b"y")
    assert digest_file(one) != digest_file(two)


def test_the_same_wheels_elsewhere(usual: str, toolkit_nvcc: Path, tmp_path: Path) -> None:
    link_site(toolkit_nvcc, tmp_path / "site")
    environment = make_environment(tmp_path, search_path=[tmp_path / "site"], HOME="/other", USER="other")
    assert identity(tmp_path / "elsewhere", environment) == usual


def test_another_cicc_of_the_same_size(usual: str, toolkit_nvcc: Path, tmp_path: Path) -> None:
    nvcc = link_site(toolkit_nvcc, tmp_path / "site", without=["nvvm/bin"])
    cicc = nvcc.parent.parent / "nvvm/bin/cicc"
    cicc.parent.mkdir()
    real = toolkit_nvcc.parent.parent / "nvvm/bin/cicc"
    content = bytearray(real.read_bytes())
    content[-1] ^= 1
    cicc.write_bytes(content)
    assert identity(tmp_path / "x", make_environment(tmp_path, search_path=[tmp_path / "site"])) != usual


def test_a_wrapper_with_options_of_its_own(toolkit_nvcc: Path, tmp_path: Path) -> None:
    root = link_tree(toolkit_nvcc.parent.parent, tmp_path / "cuda")
    found = []
    for options in ("", "-lineinfo"):
        write_script(tmp_path / "bin/nvcc", f"exec '{root}/bin/nvcc' {options} \"$@\"")
        environment = make_environment(tmp_path, PATH=f"{tmp_path / 'bin'}:/usr/bin:/bin")
        found.append(identity(tmp_path / "x", environment))
    assert found[0] != found[1]


def test_another_host_compiler(usual: str, toolkit_nvcc: Path, tmp_path: Path) -> None:
    gcc = write_gcc(tmp_path / "g++", 11)
    environment = make_environment(tmp_path, search_path=[site_of(toolkit_nvcc)], CXX=str(gcc))
    assert identity(tmp_path / "x", environment) != usual


def test_the_same_host_compiler_by_another_name(usual: str, toolkit_nvcc: Path, tmp_path: Path) -> None:
    environment = make_environment(tmp_path, search_path=[site_of(toolkit_nvcc)], NVCC_CCBIN="/usr/bin/g++")
    assert identity(tmp_path / "x", environment) == usual


def test_options_in_variables_of_nvcc(usual: str, toolkit_nvcc: Path, tmp_path: Path) -> None:
    site = [site_of(toolkit_nvcc)]
    before = identity(tmp_path / "x", make_environment(tmp_path, search_path=site, NVCC_PREPEND_FLAGS="-lineinfo"))
    after = identity(tmp_path / "x", make_environment(tmp_path, search_path=site, NVCC_APPEND_FLAGS="-lineinfo"))
    assert len({usual, before, after}) == 3


def test_conda_names_the_host_compiler_there(usual: str, toolkit_nvcc: Path, tmp_path: Path) -> None:
    """conda's nvcc package sets NVCC_PREPEND_FLAGS to "-ccbin=<path>"; paths are no part of an identity."""
    environment = make_environment(
        tmp_path, search_path=[site_of(toolkit_nvcc)], NVCC_PREPEND_FLAGS=" -ccbin=/usr/bin/g++ "
    )
    found = resolve_toolchain(make_settings(tmp_path), environment=environment, build_dir=tmp_path / "build")
    assert found.host_compiler.path == Path("/usr/bin/g++")
    assert found.identity == usual
    assert found.notes == ("NVCC_PREPEND_FLAGS=-ccbin=/usr/bin/g++ is added to every nvcc call",)


@pytest.mark.parametrize("name", ["NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS"])
@pytest.mark.parametrize(
    ("value", "option", "hint"),
    [
        ("-arch=sm_80", "-arch", "set `architectures`"),
        ("-O3 -gencode arch=compute_80,code=sm_80", "-gencode", "set `architectures`"),
        ("--gpu-code sm_80", "--gpu-code", "set `architectures`"),
        ("--keep", "--keep", "outputs follow from the targets"),
        ("-keep-dir /tmp", "-keep-dir", "outputs follow from the targets"),
        ("--save-temps", "--save-temps", "outputs follow from the targets"),
        ("-o x.o", "-o", "outputs follow from the targets"),
        ("--output-directory=/tmp", "--output-directory", "outputs follow from the targets"),
        ("-ptx", "-ptx", "outputs follow from the targets"),
        ("-dryrun", "-dryrun", "outputs follow from the targets"),
        ("-rdc=true", "-rdc", "set `rdc`"),
    ],
)
def test_what_the_build_decides_is_refused(tmp_path: Path, name: str, value: str, option: str, hint: str) -> None:
    with pytest.raises(BuildError) as caught:
        resolve_nvcc_flags(make_environment(tmp_path, **{name: value}))
    (problem,) = caught.value.problems
    assert problem.code is Code.UNUSABLE_SETTING
    assert problem.where == f"{name}={value}"
    assert f"the option {option} is decided by the build" in problem.what
    assert hint in problem.fix[0]


def test_every_fault_of_both_variables(tmp_path: Path) -> None:
    environment = make_environment(tmp_path, NVCC_PREPEND_FLAGS="-arch=sm_80 -keep", NVCC_APPEND_FLAGS="'-O2")
    with pytest.raises(BuildError) as caught:
        resolve_nvcc_flags(environment)
    assert len(caught.value.problems) == 3
    assert "NVCC_APPEND_FLAGS='-O2: cannot be read" in str(caught.value)


@pytest.mark.parametrize(
    "value", ["-lineinfo -O3", "-Xcompiler -c", "-Xptxas -o -t 4", "--compiler-options -E", "-DX=-arch", "-I/opt/arch"]
)
def test_other_options_are_let_through(tmp_path: Path, value: str) -> None:
    flags = resolve_nvcc_flags(make_environment(tmp_path, NVCC_PREPEND_FLAGS=value))
    assert flags.given == (("NVCC_PREPEND_FLAGS", value),)
    assert flags.notes == (f"NVCC_PREPEND_FLAGS={value} is added to every nvcc call",)


def test_a_refused_option_stops_the_resolution(toolkit_nvcc: Path, tmp_path: Path) -> None:
    root = link_tree(toolkit_nvcc.parent.parent, tmp_path / "cuda")
    environment = make_environment(tmp_path, CUDA_HOME=str(root), NVCC_APPEND_FLAGS="-arch=native")
    with pytest.raises(BuildError) as caught:
        resolve_toolchain(make_settings(tmp_path), environment=environment, build_dir=tmp_path / "b")
    assert caught.value.problems[0].code is Code.UNUSABLE_SETTING
