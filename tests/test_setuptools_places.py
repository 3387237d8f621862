"""Small decisions of the setuptools front-end: places in the source tree, and the wheel's tag."""

from __future__ import annotations

from pathlib import Path

import pytest
import setuptools

from setuptools_cuda.errors import BuildError
from setuptools_cuda.frontends.extension import CudaExtension
from setuptools_cuda.frontends.limited_api import resolve_wheel_tag, set_suffixes
from setuptools_cuda.frontends.places import source_path, wheel_path
from setuptools_cuda.plan.values import PythonFacts


def package_dir(package: str) -> str:
    """Answer as build_py does for package-dir = {"" = "src", "demo.sub" = "elsewhere"}."""
    if package.startswith("demo.sub"):
        return "/root/elsewhere" + package.removeprefix("demo.sub").replace(".", "/")
    return "/root/src/" + package.replace(".", "/")


PLACES = [
    ("demo/kernels.py", "src/demo/kernels.py"),
    ("top.py", "src/top.py"),
    ("demo/sub/kernels.py", "elsewhere/kernels.py"),
    ("demo/sub/kernels_images/v1.2/a.b/k.sm_80.cubin", "elsewhere/kernels_images/v1.2/a.b/k.sm_80.cubin"),
    ("demo/lib/libx.a", "src/demo/lib/libx.a"),
]


@pytest.mark.parametrize(("in_wheel", "in_source"), PLACES)
def test_places_there_and_back(in_wheel: str, in_source: str) -> None:
    root = Path("/root")
    assert source_path(in_wheel, root=root, package_dir=package_dir) == in_source
    packages = {"demo", "demo.sub"}
    assert wheel_path(in_source, packages=packages, root=root, package_dir=package_dir) == in_wheel


def test_a_package_outside_of_the_project_has_an_absolute_place() -> None:
    assert source_path("x/y.py", root=Path("/root"), package_dir=lambda _: "/other/x") == "/other/x/y.py"


def python(minor: int, *, free_threaded: bool = False) -> PythonFacts:
    return PythonFacts((), (3, minor), free_threaded, ".so", "python")


def extensions() -> list[setuptools.Extension]:
    return [
        CudaExtension("a", ["a.cu"], limited_api="cp311"),
        CudaExtension("b", ["b.cu"], limited_api="cp311"),
        setuptools.Extension("c", ["c.c"], py_limited_api=True),
    ]


class TestWheelTag:
    @pytest.mark.parametrize(
        ("facts", "tag"),
        [
            (python(11), "cp311"),
            (python(14), "cp311"),
            (python(10), None),
            (python(14, free_threaded=True), None),
            (python(15, free_threaded=True), "cp311"),
        ],
    )
    def test_tag_and_notice(self, facts: PythonFacts, tag: str | None) -> None:
        every = extensions()
        found = resolve_wheel_tag(every, asked=None, python=facts)
        assert found.tag == tag
        assert bool(found.notice) == (tag is None)
        set_suffixes(every, python=facts)
        assert [one.py_limited_api for one in every] == [tag is not None, tag is not None, True]

    def test_the_option_alone_is_setuptools_own_affair(self) -> None:
        plain = [setuptools.Extension("c", ["c.c"])]
        assert resolve_wheel_tag(plain, asked="cp310", python=python(9)).tag == "cp310"
        assert resolve_wheel_tag(plain, asked=None, python=python(9)).tag is None

    def test_contradictions_hold_on_every_interpreter(self) -> None:
        mixed = [*extensions(), setuptools.Extension("d", ["d.c"])]
        with pytest.raises(BuildError, match="d does not keep to the limited API"):
            resolve_wheel_tag(mixed, asked="cp311", python=python(10))
