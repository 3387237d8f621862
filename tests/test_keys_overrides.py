"""Keys of overrides, and every word of their conditions: seen in one wheel."""

from __future__ import annotations

import platform
import sysconfig
from pathlib import Path

import pytest
from keys_support import (
    BIND_H,
    HEAD,
    PROBE_H,
    Wheel,
    exported_symbols,
    keys_installation,
    shows,
    wheel_once,
)
from setuptools_support import Installation

SUFFIX = str(sysconfig.get_config_var("EXT_SUFFIX"))
TABLE = """
architectures = ["80"]
std = "c++17"

[[tool.setuptools-cuda.kernel-module]]
module = "demo.k"
sources = ["src/*.cu"]

[[tool.setuptools-cuda.kernel-module]]
module = "demo.other"
sources = ["src/a.cu"]

[[tool.setuptools-cuda.kernel-module]]
module = "demo.bounds"
sources = ["arch/*.cu"]
formats = ["ptx"]

[[tool.setuptools-cuda.extension]]
name = "demo._ext"
sources = ["host/_ext.c", "host/host.cpp"]

[[tool.setuptools-cuda.override]]
target = "demo.k"
defines = ["TARGET=1", "LAST=target"]

[[tool.setuptools-cuda.override]]
match = "src/b*.cu"
std = "c++20"
defines = ["MATCH=1", "BOTH=1"]
include-dirs = ["inc"]
device-compiler = "nvcc"
flags = ["-ULAST", "-DLAST=match"]

[[tool.setuptools-cuda.override]]
target = "demo.k"
sources = ["more/c.cu"]
exclude = ["src/left_out.cu"]

[[tool.setuptools-cuda.override]]
match = "arch/own.cu"
architectures = ["75"]

[[tool.setuptools-cuda.override]]
match = "arch/newest.cu"
max-architecture = "75"

[[tool.setuptools-cuda.override]]
match = "arch/oldest.cu"
min-architecture = "90"
when-empty = "skip"

[[tool.setuptools-cuda.override]]
target = "demo._ext"
[tool.setuptools-cuda.override.flags]
cxx = ["-DCXX=1"]
c = ["-DANSWER=5"]
link = ["-Wl,--defsym=link_target=1"]

[[tool.setuptools-cuda.override]]
match = "host/*.cpp"
flags = { link = ["-Wl,--defsym=link_match=1"] }

[[tool.setuptools-cuda.override]]
match = "src/a.cu"
flags = { link = ["-Wl,--defsym=link_elsewhere=1"] }

[[tool.setuptools-cuda.kernel-module]]
module = "demo.conditions"
sources = ["conditions.cu"]
"""
HOLD = {
    "system": 'platform-system = "Linux"',
    "machine": f'platform-machine = "{platform.machine()}"',
    "python": 'python-version = ">=3.10"',
    "text": '"env.KEYS_TEXT" = "a word"',
    "set": '"env.KEYS_SET" = true',
    "unset": '"env.KEYS_UNSET" = false',
    "off": "env = { KEYS_OFF = false }",
    "release": 'cuda = ">=12.4"',
    "toolkit": "cuda = true",
    "architecture": 'architectures = "80"',
    "bound": 'architectures = "<90"',
    "all": 'cuda = true, architectures = "<=80", python-version = ">=3.10"',
}
DO_NOT_HOLD = {
    "system": 'platform-system = "Windows"',
    "machine": 'platform-machine = "m68k"',
    "python": 'python-version = "<3.10"',
    "text": '"env.KEYS_TEXT" = "another"',
    "set": '"env.KEYS_SET" = false',
    "unset": '"env.KEYS_UNSET" = true',
    "off": "env = { KEYS_OFF = true }",
    "release": 'cuda = "<12.4"',
    "toolkit": "cuda = false",
    "architecture": 'architectures = "90"',
    "bound": 'architectures = "<80"',
    "all": 'cuda = true, architectures = "<=80", python-version = "<3.10"',
}
CONDITION = """
[[tool.setuptools-cuda.override]]
target = "demo.conditions"
if = {{ {condition} }}
defines = ["{prefix}_{name}=1"]
"""


def conditions(prefix: str, table: dict[str, str]) -> str:
    return "".join(CONDITION.format(condition=one, prefix=prefix, name=name) for name, one in table.items())


PROBE_CU = """\
#include "../probe.h"
#if __has_include("place.h")
#include "place.h"
#endif
SHOW(std, __cplusplus)
SHOW(target, TARGET)
SHOW(match, MATCH)
SHOW(both, BOTH)
SHOW(place, PLACE)
SHOW(last, LAST)
"""
FILES = {
    "pyproject.toml": HEAD + TABLE + conditions("YES", HOLD) + conditions("NO", DO_NOT_HOLD),
    "probe.h": PROBE_H,
    "inc/place.h": "#define PLACE 1\n",
    "src/a.cu": PROBE_CU,
    "src/b.cu": PROBE_CU,
    "src/left_out.cu": "no C++ at all\n",
    "more/c.cu": PROBE_CU,
    **{f"arch/{name}.cu": '#include "../probe.h"\nSHOW(arch, there)\n' for name in ("own", "newest", "oldest")},
    "host/bind.h": BIND_H,
    "host/_ext.c": '#define NAME _ext\n#include "bind.h"\n',
    "host/host.cpp": '#ifdef CXX\nextern "C" int cxx_from_override(void) { return 0; }\n#endif\n',
    "conditions.cu": '#include "probe.h"\n'
    + "".join(f"SHOW(yes_{name}, YES_{name})\nSHOW(no_{name}, NO_{name})\n" for name in HOLD),
}
VARIABLES = {"KEYS_TEXT": "a word", "KEYS_SET": "1", "KEYS_OFF": "off"}


@pytest.fixture(scope="session")
def installation(shared_folder: Path, our_wheel: Path) -> Installation:
    return keys_installation(shared_folder, our_wheel)


@pytest.fixture(scope="session")
def wheel(installation: Installation, shared_folder: Path) -> Wheel:
    return wheel_once(installation, shared_folder / "keys-overrides", FILES, **VARIABLES)


@shows("override.match", "override.target", "override.defines")
def test_an_override_applies_where_match_and_target_hold(wheel: Wheel) -> None:
    assert wheel.shown("demo/k_images/src/a") >= {"target_1", "match_MATCH", "both_BOTH"}
    assert wheel.shown("demo/k_images/src/b") >= {"target_1", "match_1", "both_1"}
    assert wheel.shown("demo/other_images/src/a") >= {"target_TARGET", "match_MATCH", "both_BOTH"}


@shows("override.std", "override.include-dirs", "override.device-compiler")
def test_an_override_changes_how_a_source_is_compiled(wheel: Wheel) -> None:
    assert wheel.shown("demo/k_images/src/a") >= {"std_201703L", "place_PLACE"}
    assert wheel.shown("demo/k_images/src/b") >= {"std_202002L", "place_1"}


@shows("override.flags")
def test_a_bare_list_of_flags_is_for_nvcc_and_stands_after_what_came_before(wheel: Wheel) -> None:
    assert "last_target" in wheel.shown("demo/k_images/src/a")
    assert "last_match" in wheel.shown("demo/k_images/src/b")


@shows("override.flags")
def test_flags_go_to_the_tool_that_they_are_for(wheel: Wheel) -> None:
    exported = exported_symbols(wheel.module("_ext"))
    assert {"cxx_from_override", "link_target", "link_match"} <= exported
    assert "link_elsewhere" not in exported


@shows("override.sources", "override.exclude")
def test_sources_and_exclude_change_those_of_the_target(wheel: Wheel) -> None:
    stems = {name.split(".")[0] for name in wheel.names("demo/k_images")}
    assert stems == {"src/a", "src/b", "more/c"}
    assert "target_1" in wheel.shown("demo/k_images/more/c")


@shows("override.architectures", "override.max-architecture", "override.min-architecture", "override.when-empty")
def test_architectures_and_bounds_of_a_source(wheel: Wheel) -> None:
    assert wheel.names("demo/bounds_images") == ["arch/newest.compute_75.ptx", "arch/own.compute_75.ptx"]
    assert "note: demo.bounds: arch/oldest.cu is skipped: " in wheel.said


@shows("override.if")
@pytest.mark.parametrize("name", HOLD)
def test_an_override_applies_where_its_condition_holds(wheel: Wheel, name: str) -> None:
    shown = wheel.shown("demo/conditions_images/conditions")
    assert f"yes_{name}_1" in shown
    assert f"no_{name}_1" not in shown
