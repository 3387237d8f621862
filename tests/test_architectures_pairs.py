"""Which architectures go together: our verdict is nvcc's, for every pair that the toolkit knows."""

from __future__ import annotations

import itertools
import os
from collections import Counter
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from architectures_support import request
from toolchain_support import make_environment

from setuptools_cuda.environment import Environment
from setuptools_cuda.process import run_tool
from setuptools_cuda.resolution.architecture_codes import find_conflicts, render_gencode
from setuptools_cuda.resolution.catalogue import CATALOGUE
from setuptools_cuda.resolution.probe import probe_known, probe_layout, probe_version
from setuptools_cuda.resolution.values import Architecture, Code

GXX = Path("/usr/bin/g++")


def list_candidates() -> list[str]:
    """Return every number that any release knows, plain and with both variants."""
    numbers = sorted({number for facts in CATALOGUE for number in facts.numbers})
    return [f"{number}{variant}" for number in numbers for variant in ("", "a", "f")]


def list_pairs(known: tuple[Architecture, ...]) -> Iterator[tuple[str, str]]:
    """Yield all pairs of known architectures, each as machine code and as PTX."""
    for one, two in itertools.combinations(known, 2):
        yield from itertools.product((f"{one}-real", f"{one}-virtual"), (f"{two}-real", f"{two}-virtual"))


class Held:
    """nvcc's verdicts beside ours."""

    def __init__(self, nvcc: Path, *, environment: Environment) -> None:
        self._nvcc = nvcc
        self._environment = environment
        self.counts: Counter[str] = Counter()
        self.differences: list[str] = []

    def compare(self, words: str, *, ours: bool, codes: tuple[Code, ...]) -> None:
        argv = [str(self._nvcc), "--dryrun", "-ccbin", str(GXX), *render_gencode(codes), "-c", "-x", "cu", "/dev/null"]
        done = run_tool([*argv, "-o", "/dev/null"], variables=self._environment.variables)
        self.counts["accepted" if done.ok else "refused"] += 1
        if done.ok is not ours:
            self.differences.append(f"{words}: nvcc {'accepts' if done.ok else 'refuses'}: {done.stderr[-200:]}")


def hold(nvcc: Path, *, environment: Environment) -> Held:
    """Return the verdicts on all single architectures of all releases, and on all pairs that ``nvcc`` knows."""
    version = probe_version(nvcc, environment=environment)
    layout = probe_layout(nvcc, host_compiler=GXX, environment=environment)
    known = probe_known(layout, release=version.release, environment=environment)
    held = Held(nvcc, environment=environment)

    def hold_single(word: str) -> None:
        codes = request(f"{word}-real").codes
        held.compare(word, ours=codes[0].architecture in known, codes=codes)

    def hold_pair(pair: tuple[str, str]) -> None:
        codes = request(" ".join(pair)).codes
        held.compare(" ".join(pair), ours=not find_conflicts(codes, where=""), codes=codes)

    with ThreadPoolExecutor(os.cpu_count()) as pool:
        list(pool.map(hold_single, list_candidates()))
        list(pool.map(hold_pair, list_pairs(known)))
    return held


@pytest.fixture(scope="module")
def held(toolkit_nvcc: Path) -> Held:
    return hold(toolkit_nvcc, environment=make_environment(Path("/")))


def test_no_verdict_differs(held: Held) -> None:
    assert held.differences == []


def test_both_verdicts_were_seen(held: Held) -> None:
    assert held.counts["refused"] > 20
    assert held.counts["accepted"] > 500
