from __future__ import annotations

import copy
import dataclasses
import pickle
from pathlib import Path

import pytest
from config_support import load, problems_of, told, write_files

from setuptools_cuda.config.keys import KERNEL_MODULE, LIBRARY, Scope
from setuptools_cuda.targets import KERNEL_MODULE_WORDS, LIBRARY_WORDS, CudaLibrary, Declared, KernelModule


@pytest.mark.parametrize(
    ("scope", "words"), [(LIBRARY, LIBRARY_WORDS), (KERNEL_MODULE, KERNEL_MODULE_WORDS)], ids=["library", "module"]
)
def test_the_words_are_the_keys_of_the_table(scope: Scope, words: tuple[str, ...]) -> None:
    assert {*words, scope.required, "sources"} == {key.attribute for key in scope.keys.values()}


def test_a_library_declares_its_words_with_dashes() -> None:
    library = CudaLibrary("attention", ["a.cu"], include_dirs=["inc"], type="static")
    words = {"name": "attention", "sources": ("a.cu",), "include-dirs": ("inc",), "type": "static"}
    assert library.declare() == Declared("library", "CudaLibrary('attention')", words)


def test_a_kernel_module_declares_its_words_with_dashes() -> None:
    module = KernelModule("demo.kernels", iter(["k.cu"]), max_architecture="90")
    words = {"module": "demo.kernels", "sources": ("k.cu",), "max-architecture": "90"}
    assert module.declare() == Declared("kernel-module", "KernelModule('demo.kernels')", words)


def test_unknown_words_are_told_when_the_project_is_loaded_with_all_else_that_is_wrong(tmp_path: Path) -> None:
    declared = [CudaLibrary("a", ["a.cu"], include_dir=["x"]).declare(), KernelModule("b", zzz=1).declare()]
    problems = problems_of({"jobs": 0}, root=tmp_path, declared=declared)
    assert [(problem.where, problem.what) for problem in problems] == [
        ("tool.setuptools-cuda.jobs", "0 is too small"),
        ("CudaLibrary('a')", "CudaLibrary has no word 'include_dir'"),
        ("CudaLibrary('a').sources", "'a.cu' does not exist"),
        ("KernelModule('b')", "KernelModule has no word 'zzz'"),
    ]
    assert problems[1].fix == ("did you mean 'include_dirs'?",)
    assert problems[3].fix[0].startswith("it takes architectures, ")


def test_targets_are_frozen_and_can_be_copied() -> None:
    module = KernelModule("demo.kernels", ["k.cu"], flags={"cuda": ["-lineinfo"]})
    with pytest.raises(dataclasses.FrozenInstanceError):
        module.module = "other"  # type: ignore[misc]
    assert copy.deepcopy(module) == module == pickle.loads(pickle.dumps(module))


def test_declared_targets_come_after_those_of_the_table(tmp_path: Path) -> None:
    write_files(tmp_path, "a.cu", "b.cu")
    settings = load(
        {"library": [{"name": "first", "sources": ["a.cu"]}]},
        root=tmp_path,
        declared=[
            CudaLibrary("second", [Path("b.cu")], link=["first"]).declare(),
            KernelModule("demo.k", ["*.cu"], flags=["-lineinfo"]).declare(),
        ],
    )
    assert [library.name for library in settings.libraries] == ["first", "second"]
    assert settings.libraries[1].sources == ("b.cu",)
    assert settings.kernel_modules[0].sources == ("a.cu", "b.cu")
    assert settings.kernel_modules[0].where == "KernelModule('demo.k')"


def test_absolute_sources_within_the_project_become_relative(tmp_path: Path) -> None:
    write_files(tmp_path, "src/a.cu")
    module = KernelModule("k", [tmp_path / "src" / "a.cu"], exclude=[str(tmp_path / "src" / "*.old")])
    settings = load({}, root=tmp_path, declared=[module.declare()])
    assert settings.kernel_modules[0].sources == ("src/a.cu",)
    assert settings.kernel_modules[0].exclude == ("src/*.old",)


def test_problems_of_declared_targets_are_told_at_their_place(tmp_path: Path) -> None:
    declared = [
        KernelModule("demo.k", "a.cu", min_architecture=80).declare(),
        CudaLibrary("x", ["/etc/x.cu"]).declare(),
        Declared("extension", "setup.py, ext_modules[0]", {"name": "e", "sources": ["e.cu"], "limited_api": "cp311"}),
    ]
    assert sorted(told(problems_of({}, root=tmp_path, declared=declared))) == [
        ("bad-value", "CudaLibrary('x').sources"),
        ("missing-source", "setup.py, ext_modules[0].sources"),
        ("unknown-key", "setup.py, ext_modules[0].limited_api"),
        ("wrong-type", "KernelModule('demo.k').min_architecture"),
        ("wrong-type", "KernelModule('demo.k').sources"),
    ]


def test_a_declared_target_may_not_repeat_one_of_the_table(tmp_path: Path) -> None:
    write_files(tmp_path, "a.cu")
    table = {"extension": [{"name": "demo.k", "sources": ["a.cu"]}]}
    (problem,) = problems_of(table, root=tmp_path, declared=[KernelModule("demo.k", ["a.cu"]).declare()])
    assert problem.code.slug == "duplicate-output"
    assert "makes the module 'demo.k', as tool.setuptools-cuda.extension[0] does" in problem.what
