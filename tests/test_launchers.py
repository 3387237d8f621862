"""ccache and sccache before real compiles: one cache serves all folders, and images lose nothing."""

from __future__ import annotations

import json
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from launcher_support import build, find_launcher, read_ccache

from setuptools_cuda.errors import BuildError
from setuptools_cuda.execute.launchers import launcher_variables
from setuptools_cuda.plan.values import Job


def test_ccache_shares_objects_between_folders(pip_toolchain_environment: dict[str, str], tmp_path: Path) -> None:
    launcher = find_launcher("ccache")
    variables = {**pip_toolchain_environment, "CCACHE_DIR": str(tmp_path / "ccache")}
    first = build(tmp_path / "one", launcher, variables=variables)
    assert b".entry _Z5scalePf" in first["kernels_images/src/a.compute_80.ptx"]
    second = build(tmp_path / "two/deeper", launcher, variables=variables)
    counts = read_ccache(launcher, variables=variables)
    assert (counts["cache_miss"], counts["direct_cache_hit"]) == (2, 2)
    assert second == first
    third = build(tmp_path / "three", launcher, variables=variables, scale=3)
    counts = read_ccache(launcher, variables=variables)
    # The C source does not include the header that changed.
    assert (counts["cache_miss"], counts["direct_cache_hit"]) == (3, 3)
    assert third["lib/libops.a"] != first["lib/libops.a"]


@pytest.fixture
def sccache(pip_toolchain_environment: dict[str, str], tmp_path: Path) -> Iterator[dict[str, str]]:
    """Give the variables of a server of sccache's own, which ends with the test."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    own = {"SCCACHE_DIR": str(tmp_path / "sccache"), "SCCACHE_SERVER_PORT": str(port), "SCCACHE_IDLE_TIMEOUT": "120"}
    variables = {**pip_toolchain_environment, **own}
    yield variables
    subprocess.run([find_launcher("sccache"), "--stop-server"], env=variables, capture_output=True, check=False)


def test_sccache_and_the_server_that_it_leaves_running(sccache: dict[str, str], tmp_path: Path) -> None:
    launcher = find_launcher("sccache")
    first = build(tmp_path / "one", launcher, variables=sccache)
    # The server was started by the first compile, whose scratch folder is gone.
    second = build(tmp_path / "two", launcher, variables=sccache)
    assert second == first
    command = [str(launcher), "--show-stats", "--stats-format", "json"]
    done = subprocess.run(command, env=sccache, capture_output=True, text=True, check=True)
    hits = json.loads(done.stdout)["stats"]["cache_hits"]["counts"]
    assert hits.get("CUDA", 0) > 0 or hits.get("CUBIN", 0) > 0


def test_missing_launcher_is_told(pip_toolchain_environment: dict[str, str], tmp_path: Path) -> None:
    with pytest.raises(BuildError) as caught:
        build(tmp_path / "one", Path("/usr/bin/no-such-launcher"), variables=pip_toolchain_environment)
    assert "there is no program 'no-such-launcher' on PATH" in str(caught.value)


def make_job(*argv: str, launched: bool = True) -> Job:
    return Job("k", "cuda", argv, ("a.cu",), (), (), "a.cu", ("x",), launched=launched)


def test_the_folder_is_left_out_of_keys_where_objects_do_not_hold_it() -> None:
    assert launcher_variables([make_job("ccache", "nvcc")], variables={}) == {"CCACHE_NOHASHDIR": "true"}
    assert launcher_variables([make_job("nvcc", launched=False)], variables={}) == {}
    assert launcher_variables([make_job("ccache", "nvcc", "-lineinfo")], variables={}) == {}
    assert launcher_variables([make_job("ccache", "nvcc")], variables={"CCACHE_HASHDIR": "1"}) == {}
