"""Keys that decide when and through what compiles run, and what makes them run again."""

from __future__ import annotations

import re
import sysconfig
from pathlib import Path

import pytest
from keys_support import (
    BIND_H,
    HEAD,
    PROBE_H,
    PYTHON,
    Wheel,
    exported_symbols,
    keys_installation,
    made_wheel,
    shows,
    wheel_once,
    write_demo,
)
from setuptools_support import Installation

GIB = 2**30
SUFFIX = str(sysconfig.get_config_var("EXT_SUFFIX"))
TARGETS = """
[[tool.setuptools-cuda.kernel-module]]
module = "demo.k_first"
sources = ["a.cu", "z.cu"]

[[tool.setuptools-cuda.extension]]
name = "demo._ext"
sources = ["e.cu", "_ext.c"]
{extension}

[[tool.setuptools-cuda.library]]
name = "lib"
sources = ["l.cu"]
install = "demo/lib"
{library}

[[tool.setuptools-cuda.kernel-module]]
module = "demo.k_last"
sources = ["k.cu"]
{kernel-module}
"""
KINDS = ("extension", "library", "kernel-module")
ORDERED = {
    "extension": 'priority = 2\nmemory = "2 GiB"',
    "library": 'priority = 1\nmemory = "1 GiB"',
    "kernel-module": 'priority = 3\nmemory = "3 GiB"',
}
SETTINGS = """
architectures = ["80"]
jobs = 1
launcher = "tools/launch"
"""
OVERRIDE = """
[[tool.setuptools-cuda.override]]
match = "z.cu"
priority = 4
memory = "4 GiB"
"""
# A launcher that leaves a mark on what it compiles.
LAUNCH = '#!/bin/sh\nexec "$@" -DLAUNCHED=1\n'
SOURCES = {
    "probe.h": PROBE_H,
    **{f"{name}.cu": f'#include "probe.h"\nSHOW({name}_launched, LAUNCHED)\n' for name in "aezlk"},
    "bind.h": BIND_H,
    "_ext.c": '#define NAME _ext\n#include "bind.h"\n#if LAUNCHED\nint host_c_launched_1(void) { return 0; }\n#endif\n',
}
# Two compiles that each wait for the other (for a minute), or, with MEET=1, for none.
MEET = """\
#!/bin/sh
echo start >> "$LOG"
waited=0
while test "$(grep -c start "$LOG")" -lt "$MEET"; do
    waited=$((waited + 1))
    test "$waited" -lt 600 || exit 9
    sleep 0.1
done
"$@"
status=$?
echo end >> "$LOG"
exit $status
"""
TWO = """
architectures = ["80"]
jobs = {jobs}
launcher = "tools/meet"

[[tool.setuptools-cuda.library]]
name = "two"
sources = ["l.cu", "k.cu"]
install = "demo/lib"

[[tool.setuptools-cuda.override]]
match = "*.cu"
if = {{ "env.BIG" = true }}
memory = "100000 GiB"
"""


@pytest.fixture(scope="session")
def installation(shared_folder: Path, our_wheel: Path) -> Installation:
    return keys_installation(shared_folder, our_wheel)


@pytest.fixture(scope="session")
def wheel(installation: Installation, shared_folder: Path) -> Wheel:
    table = HEAD + SETTINGS + TARGETS.format(**ORDERED) + OVERRIDE
    files = {"pyproject.toml": table, "tools/launch": LAUNCH, **SOURCES}
    return wheel_once(installation, shared_folder / "keys-schedule", files)


@shows("*.priority", "override.priority")
def test_compiles_of_a_higher_priority_start_earlier(wheel: Wheel) -> None:
    compiled = re.findall(r"compile (\w)\.cu", wheel.said)
    assert [*compiled[:4], compiled[-1]] == ["z", "k", "e", "l", "a"]


@shows("*.memory", "override.memory")
def test_compiles_share_what_memory_there_is(wheel: Wheel) -> None:
    ninja = (wheel.project / "build/setuptools-cuda" / PYTHON / "build.ninja").read_text("utf-8")
    edges = re.findall(r"^build .*: \w+ (\w)\.cu.*\n(?:  (?!pool).*\n)*  pool = memory_(\d+)$", ninja, re.MULTILINE)
    assert dict(edges) == {"e": str(2 * GIB), "l": str(GIB), "k": str(3 * GIB), "z": str(4 * GIB)}


@shows("project.launcher")
def test_launcher_stands_before_compiles_of_objects(wheel: Wheel) -> None:
    assert {"host_e_launched_1", "host_c_launched_1"} <= exported_symbols(wheel.module("_ext"))
    assert "l_launched_1" in wheel.shown("demo/lib/liblib.a")


@shows("project.jobs", "override.memory")
@pytest.mark.parametrize(
    ("jobs", "meet", "big", "at_once"),
    [(2, "2", "", True), (1, "1", "", False), (2, "1", "1", False)],
    ids=["two jobs", "one job", "two jobs without the memory for them"],
)
def test_as_many_compiles_run_at_once_as_jobs_and_memory_allow(
    tmp_path: Path, installation: Installation, jobs: int, meet: str, big: str, at_once: bool
) -> None:
    table = HEAD + TWO.format(jobs=jobs)
    project = write_demo(tmp_path / "project", {"pyproject.toml": table, "tools/meet": MEET, **SOURCES})
    log = tmp_path / "log"
    log.touch()
    made_wheel(installation, project, LOG=str(log), MEET=meet, BIG=big, SETUPTOOLS_CUDA_CACHE="off")
    events = log.read_text().split()
    assert events == (["start", "start", "end", "end"] if at_once else ["start", "end", "start", "end"])


DEPENDING = {kind: f'depends = ["data/{kind}.bin"]' for kind in KINDS}
DATA = {f"data/{kind}.bin": "" for kind in KINDS}


@shows("*.depends")
def test_depends_are_in_the_sdist(installation: Installation, tmp_path: Path) -> None:
    table = HEAD + TARGETS.format(**DEPENDING)
    project = write_demo(tmp_path, {"pyproject.toml": table, "data/none.bin": "", **DATA, **SOURCES})
    names = installation.sdist_names(project)
    assert {name for name in names if name.startswith("data/")} == set(DATA)


@shows("*.depends")
def test_what_depends_on_a_file_is_built_again_after_its_change(installation: Installation, tmp_path: Path) -> None:
    table = HEAD + 'architectures = ["80"]\n' + TARGETS.format(**DEPENDING)
    project = write_demo(tmp_path, {"pyproject.toml": table, **DATA, **SOURCES})

    def build() -> list[str]:
        return made_wheel(installation, project, SETUPTOOLS_CUDA_CACHE="off").compiled

    assert len(build()) == 8
    assert build() == []
    for kind, built in [
        ("extension", ["compile _ext.c", "compile e.cu for sm_80+PTX", f"link _ext{SUFFIX}"]),
        ("library", ["archive liblib.a", "compile l.cu for sm_80+PTX"]),
        ("kernel-module", ["compile k.cu for sm_80+PTX"]),
    ]:
        (project / f"data/{kind}.bin").write_text("changed", "utf-8")
        assert build() == built
