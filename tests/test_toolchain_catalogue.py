"""The catalogue holds together, and says of the installed release what that release says."""

from __future__ import annotations

import itertools
from pathlib import Path

import pytest
from toolchain_support import make_environment

from setuptools_cuda.process import run_tool
from setuptools_cuda.resolution.catalogue import CATALOGUE, ReleaseFacts, add_variants, find_facts, list_pypi
from setuptools_cuda.resolution.probe import probe_version
from setuptools_cuda.resolution.values import Architecture, Release

PAIRS = list(itertools.pairwise(CATALOGUE))


def test_releases_are_in_order_and_there_once() -> None:
    releases = [facts.release for facts in CATALOGUE]
    assert releases == sorted(set(releases))
    assert releases[0] == Release(11, 8)


@pytest.mark.parametrize("facts", CATALOGUE, ids=lambda facts: str(facts.release))
def test_one_release(facts: ReleaseFacts) -> None:
    assert list(facts.numbers) == sorted(set(facts.numbers))
    assert set(facts.family) <= set(facts.specific) <= set(facts.numbers)
    assert all(number >= 100 for number in facts.family)
    assert list(facts.architectures) == sorted(set(facts.architectures))
    assert {90, 80, 75} <= set(facts.numbers)


@pytest.mark.parametrize(("older", "newer"), PAIRS, ids=lambda facts: str(facts.release))
def test_a_newer_release_takes_no_less(older: ReleaseFacts, newer: ReleaseFacts) -> None:
    assert newer.ptx_isa >= older.ptx_isa
    assert newer.gcc >= older.gcc
    assert newer.clang >= older.clang
    assert older.on_pypi <= newer.on_pypi
    if newer.release.major == older.release.major:
        assert set(older.numbers) <= set(newer.numbers)
        assert set(older.specific) <= set(newer.specific)
        assert set(older.family) <= set(newer.family)


def test_variants_came_when_they_came() -> None:
    first = {
        architecture: next(str(facts.release) for facts in CATALOGUE if architecture in facts.architectures)
        for facts in CATALOGUE
        for architecture in facts.architectures
    }
    assert first[Architecture(90, "a")] == "12.0"
    assert first[Architecture(100, "a")] == "12.8"
    assert first[Architecture(100, "f")] == "12.9"
    assert first[Architecture(110)] == "13.0"
    assert first[Architecture(107, "f")] == "13.4"
    assert Architecture(90, "f") not in first


def test_pypi_begins_with_cuda_13() -> None:
    assert [str(facts.release) for facts in list_pypi()] == ["13.0", "13.1", "13.2", "13.3", "13.4", "13.5"]


def test_limits_of_host_compilers() -> None:
    facts = find_facts(Release(13, 0))
    assert facts is not None
    assert facts.accepts("gcc", 15)
    assert not facts.accepts("gcc", 16)
    assert facts.accepts("clang", 20)
    assert not facts.accepts("clang", 21)
    assert facts.accepts("msvc", 99)


def test_a_release_that_is_not_there() -> None:
    assert find_facts(Release(12, 7)) is None


def test_variants_go_to_numbers_that_are_there() -> None:
    facts = find_facts(Release(13, 0))
    assert facts is not None
    assert list(map(str, add_variants((75, 90, 121), facts=facts))) == ["75", "90", "90a", "121", "121a", "121f"]


def test_the_installed_release_says_the_same(toolkit_nvcc: Path, tmp_path: Path) -> None:
    environment = make_environment(tmp_path)
    version = probe_version(toolkit_nvcc, environment=environment)
    facts = find_facts(version.release)
    assert facts is not None, "the test environment's toolkit is newer than the catalogue: add it"
    every = sorted({number for each in CATALOGUE for number in each.numbers})
    accepted = []
    for name in (f"{number}{variant}" for number in every for variant in ("", "a", "f")):
        argv = [str(toolkit_nvcc), "--dryrun", f"-gencode=arch=compute_{name},code=sm_{name}", "-x", "cu", "/dev/null"]
        if run_tool(argv, variables=environment.variables).ok:
            accepted.append(name)
    assert accepted == list(map(str, facts.architectures))


def test_the_installed_ptxas_writes_that_isa(toolkit_nvcc: Path, tmp_path: Path) -> None:
    environment = make_environment(tmp_path)
    facts = find_facts(probe_version(toolkit_nvcc, environment=environment).release)
    source = tmp_path / "new.ptx"
    source.write_text(".version 99.0\n.target sm_90\n.address_size 64\n", "utf-8")
    ptxas = toolkit_nvcc.with_name("ptxas")
    said = run_tool([str(ptxas), "-arch=sm_90", str(source)], variables=environment.variables, cwd=tmp_path)
    assert f"current version is '{facts.ptx_isa[0]}.{facts.ptx_isa[1]}'" in said.stderr + said.stdout


def test_the_installed_header_has_those_limits(toolkit_nvcc: Path) -> None:
    facts = find_facts(probe_version(toolkit_nvcc, environment=make_environment(Path("/"))).release)
    text = (toolkit_nvcc.parent.parent / "include/crt/host_config.h").read_text("utf-8")
    assert f"gcc versions later than {facts.gcc} are not supported" in text
    assert f"clang version must be less than {facts.clang + 1} " in text
