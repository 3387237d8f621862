"""The range of host compilers is the toolkit's own word."""

from __future__ import annotations

from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st
from toolchain_support import make_environment, write_gcc

from setuptools_cuda.resolution.catalogue import find_facts
from setuptools_cuda.resolution.host_probe import probe_header
from setuptools_cuda.resolution.host_range import HEADER, HostRange, find_host_range, parse_host_range
from setuptools_cuda.resolution.probe import parse_nvcc_version, probe_version
from setuptools_cuda.resolution.wheels import parse_release

GXX = Path("/usr/bin/g++")
GCC = "#error -- unsupported GNU version! gcc versions later than 11 are not supported! The nvcc flag"
GRACE = "#error -- unsupported Grace clang version! The version must be 16.x to 17.x. The nvcc flag"
HOS = "#error -- unsupported HOS clang version! The version must be must be less than 99 and greater than 3.2 . The"
CLANG = "#error -- unsupported clang version! clang version must be less than 15 and greater than 3.2 . The nvcc flag"


def test_the_lines_of_the_header() -> None:
    text = "\n".join((GRACE, GCC, HOS, CLANG))
    assert parse_host_range(text) == HostRange(11, 14, "3.2")
    assert str(parse_host_range(text)) == "gcc up to 11, clang newer than 3.2 and up to 14"


def test_a_header_that_states_nothing() -> None:
    assert parse_host_range("") == HostRange(None, None)
    assert str(parse_host_range(GCC)) == "gcc up to 11, clang: no limit stated"
    assert str(parse_host_range(CLANG)) == "gcc: no limit stated, clang newer than 3.2 and up to 14"


def test_the_installed_toolkit_says_what_the_catalogue_says(toolkit_nvcc: Path, tmp_path: Path) -> None:
    environment = make_environment(tmp_path)
    facts = find_facts(probe_version(toolkit_nvcc, environment=environment).release)
    found = find_host_range(GXX, include_dirs=[toolkit_nvcc.parent.parent / "include"], environment=environment)
    assert found is not None
    assert (found.gcc, found.clang) == (facts.gcc, facts.clang)


def test_a_compiler_that_is_refused_finds_the_header_too(toolkit_nvcc: Path, tmp_path: Path) -> None:
    folder, environment = toolkit_nvcc.parent.parent / "include", make_environment(tmp_path)
    gcc = write_gcc(tmp_path / "g++-99", 99)
    assert probe_header(gcc, name=HEADER, include_dirs=[folder], environment=environment) == folder / HEADER


def test_a_header_in_the_compilers_own_folders(toolkit_nvcc: Path, tmp_path: Path) -> None:
    environment = make_environment(tmp_path, CPLUS_INCLUDE_PATH=str(toolkit_nvcc.parent.parent / "include"))
    assert find_host_range(GXX, include_dirs=[], environment=environment) is not None
    assert find_host_range(GXX, include_dirs=[], environment=make_environment(tmp_path)) is None


PIECES = st.sampled_from([GCC, CLANG, "#error", "less than ", "9" * 5000, "release 13.0, V13.0.88", "\n", "13.0", "٣"])


@given(st.lists(PIECES, max_size=6).map("".join) | st.text(max_size=30))
def test_any_text_is_read_or_names_nothing(text: str) -> None:
    str(parse_host_range(text))
    parse_nvcc_version(text)
    parse_release(text)
