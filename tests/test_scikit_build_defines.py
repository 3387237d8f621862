"""What a user says to CMake is read in every form that scikit-build-core takes, in its order."""

from __future__ import annotations

from pathlib import Path

import pytest

from setuptools_cuda.environment import Environment
from setuptools_cuda.frontends.scikit_build_defines import list_defines, runs_cmake

A = "CMAKE_CUDA_ARCHITECTURES"


def defines(cmake: object, *, settings: dict[str, object] | None = None, **variables: str) -> list[tuple[str, str]]:
    document = {"tool": {"scikit-build": {"cmake": cmake}}}
    return list(list_defines(document, settings=settings or {}, environment=Environment(variables, Path("/"))))


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("80", ["80"]),
        (["80", "90"], ["80;90"]),
        ({"env": "MINE", "default": "80"}, ["90"]),
        ({"env": "OTHER", "default": "80"}, ["80"]),
        ({"env": "OTHER"}, []),
        (True, []),
    ],
)
def test_forms_of_a_define(written: object, value: list[str]) -> None:
    assert defines({"define": {A: written}}, MINE="90") == [(A, one) for one in value]


@pytest.mark.parametrize(
    ("variable", "text"),
    [
        ("CMAKE_ARGS", f"-G Ninja -D{A}:STRING=90 -DX"),
        ("CMAKE_ARGS", f"-D {A}=90"),
        ("SKBUILD_CMAKE_ARGS", f"-GNinja;-D{A}=90"),
        ("SKBUILD_CMAKE_DEFINE", f"{A}=90"),
    ],
)
def test_variables(variable: str, text: str) -> None:
    assert defines({}, **{variable: text}) == [(A, "90")]


def test_what_comes_later_wins() -> None:
    found = defines(
        {"define": {A: "1"}, "args": [f"-D{A}=4"]},
        settings={f"cmake.define.{A}": "2", "skbuild.cmake.args": f"-D{A}=5", "build-dir": "x"},
        SKBUILD_CMAKE_DEFINE=f"{A}=3",
        SKBUILD_CMAKE_ARGS=f"-D{A}=6",
        CMAKE_ARGS=f"-D{A}=7",
    )
    assert [value for _, value in found] == ["1", "2", "3", "4", "5", "6", "7"]


@pytest.mark.parametrize("cmake", [{}, None, {"define": []}, {"args": {}}])
def test_what_is_no_table_says_nothing(cmake: object) -> None:
    assert defines(cmake) == []


@pytest.mark.parametrize(
    ("state", "table", "settings", "variables", "runs"),
    [
        ("wheel", {}, {}, {}, True),
        ("editable", {}, {}, {}, True),
        ("wheel", {"wheel": {"cmake": False}}, {}, {}, False),
        ("wheel", {"wheel": {"cmake": False}}, {"wheel.cmake": "true"}, {}, True),
        ("editable", {}, {"skbuild.wheel.cmake": "off"}, {}, False),
        ("wheel", {}, {"wheel.cmake": "1"}, {"SKBUILD_WHEEL_CMAKE": "0"}, False),
        ("sdist", {}, {}, {}, False),
        ("sdist", {"sdist": {"cmake": True}}, {}, {}, True),
        ("metadata_wheel", {"wheel": {"cmake": True}}, {}, {}, False),
    ],
)  # fmt: skip
def test_whether_cmake_runs(
    state: str, table: dict[str, object], settings: dict[str, str], variables: dict[str, str], *, runs: bool
) -> None:
    document = {"tool": {"scikit-build": table}}
    assert runs_cmake(state, document, settings=settings, environment=Environment(variables, Path("/"))) == runs
