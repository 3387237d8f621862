"""CudaExtension, and what becomes of setuptools' words in ours."""

from __future__ import annotations

import copy
import dataclasses
import pickle
from pathlib import Path

import pytest
import setuptools
from Cython.Build import cythonize

from setuptools_cuda import CudaExtension
from setuptools_cuda.config import model
from setuptools_cuda.frontends.declare import declare, is_cuda
from setuptools_cuda.frontends.extension import OUR_WORDS, SETUPTOOLS_WORDS

ROOT = Path("/project")


def words(extension: setuptools.Extension, **options: object) -> dict[str, object]:
    return dict(declare(extension, index=0, root=ROOT, **options).words)


def test_it_is_a_setuptools_extension() -> None:
    extension = CudaExtension("demo.x", ["a.cu", Path("b.cpp")], include_dirs=["include"], std="c++17")
    assert isinstance(extension, setuptools.Extension)
    assert isinstance(extension, CudaExtension)
    assert (extension.name, extension.sources, extension.include_dirs) == ("demo.x", ["a.cu", "b.cpp"], ["include"])
    assert extension.std == "c++17"
    assert extension.uses is None


def test_every_key_of_the_table_is_a_word() -> None:
    keys = {field.name for field in dataclasses.fields(model.Extension) if "doc" in field.metadata}
    assert keys <= OUR_WORDS | SETUPTOOLS_WORDS
    for word in OUR_WORDS:
        assert hasattr(CudaExtension("x", []), word)


def test_setuptools_positional_arguments_work() -> None:
    assert CudaExtension("x", ["a.cu"], ["include"], [("A", None)]).define_macros == [("A", None)]


def test_a_word_that_nobody_has_is_an_error_with_a_suggestion() -> None:
    declared = declare(copy.copy(CudaExtension("x", ["a.cu"], architecture=["80"])), index=0, root=ROOT)
    (problem,) = declared.problems
    assert (problem.what, problem.where) == ("CudaExtension has no word 'architecture'", "ext_modules[0] (x)")
    assert problem.fix == ("did you mean 'architectures'?",)
    assert "architecture" not in declared.words


def test_a_tool_that_nobody_has_is_an_error() -> None:
    declared = declare(CudaExtension("x", ["a.cu"], extra_compile_args={"gcc": []}), index=0, root=ROOT)
    (problem,) = declared.problems
    assert problem.what == "extra_compile_args has lists for 'cxx' and 'nvcc', not for 'gcc'"


def test_one_extension_does_not_change_the_class_or_another() -> None:
    CudaExtension("x", ["a.cu"], std="c++17", uses=["numpy"])
    assert CudaExtension("y", ["b.cu"]).std is None
    assert dict(CudaExtension.given) == {}


@pytest.mark.parametrize("copy_", [copy.copy, copy.deepcopy])
def test_copies_keep_the_words(copy_: object) -> None:
    extension = CudaExtension("x", ["a.cu"], std="c++17", flags={"cuda": ["-lineinfo"]})
    assert words(copy_(extension)) == words(extension)


def test_setuptools_words_become_ours() -> None:
    extension = CudaExtension(
        "demo.x",
        ["/project/src/a.cu", "b.cpp"],
        include_dirs=["/project/include", "/usr/include/other"],
        define_macros=[("A", None), ("B", "1"), ("C", '"x y"')],
        undef_macros=["D"],
        library_dirs=["/project/lib"],
        libraries=["m"],
        runtime_library_dirs=["$ORIGIN/lib"],
        extra_objects=["/project/x.o"],
        extra_compile_args=["-O3"],
        extra_link_args=["-s"],
        export_symbols=["f"],
        language="c++",
        optional=True,
    )
    assert words(extension) == {
        "name": "demo.x",
        "sources": ["src/a.cu", "b.cpp"],
        "include-dirs": ["include", "/usr/include/other"],
        "defines": ["A", "B=1", 'C="x y"'],
        "library-dirs": ["lib"],
        "libraries": ["m"],
        "runtime-library-dirs": ["$ORIGIN/lib"],
        "extra-objects": ["x.o"],
        "flags": {"cuda": ["-UD"], "cxx": ["-O3", "-UD"], "c": ["-O3", "-UD"], "link": ["-s"]},
        "export-symbols": ["f"],
        "language": "c++",
        "optional": True,
    }


def test_words_of_the_table_have_dashes() -> None:
    extension = CudaExtension(
        "x", ["a.cu"], max_architecture="90", limited_api="cp311", rdc=True, link=["CUDA::cublas"], priority=0
    )
    assert words(extension) == {
        "name": "x",
        "sources": ["a.cu"],
        "max-architecture": "90",
        "limited-api": "cp311",
        "rdc": True,
        "link": ["CUDA::cublas"],
        "priority": 0,
    }


@pytest.mark.parametrize("flags", [["-lineinfo"], "-lineinfo", {"cuda": ["-lineinfo"]}])
def test_flags_of_all_spellings_come_first(flags: object) -> None:
    arguments = {"cxx": ["-O2"], "nvcc": ["-O3"]}
    extension = CudaExtension("x", ["a.cu"], flags=flags, extra_compile_args=arguments)
    assert words(extension)["flags"] == {"cuda": ["-lineinfo", "-O3"], "cxx": ["-O2"], "c": ["-O2"]}
    assert extension.extra_compile_args == ["-O2"]


def test_a_plain_extension_with_a_cuda_source_is_ours() -> None:
    extension = setuptools.Extension("x", ["a.cpp", "b.cu"], extra_compile_args=["-O2"])
    assert is_cuda(extension)
    assert words(extension)["flags"] == {"cxx": ["-O2"], "c": ["-O2"]}
    assert not is_cuda(setuptools.Extension("x", ["a.cpp", "b.c"]))
    assert not is_cuda(("x", {"sources": ["a.cu"]}))


def test_torch_arguments_of_a_plain_extension() -> None:
    extension = setuptools.Extension("x", ["b.cu"])
    extension.extra_compile_args = {"cxx": ["-O2"], "nvcc": ["-lineinfo"]}
    assert words(extension)["flags"] == {"cuda": ["-lineinfo"], "cxx": ["-O2"], "c": ["-O2"]}


def test_depends_that_are_elsewhere_or_missing_are_left_to_the_depfile(tmp_path: Path) -> None:
    (tmp_path / "here.h").touch()
    extension = CudaExtension("x", ["a.cu"], depends=[str(tmp_path / "here.h"), "missing.h", "/usr/include/stdio.h"])
    assert declare(extension, index=0, root=tmp_path).words["depends"] == ["here.h"]


def test_where_and_full_name() -> None:
    declared = declare(CudaExtension("x", ["a.cu"]), index=3, root=ROOT, name="pkg.x")
    assert (declared.kind, declared.where, declared.words["name"]) == ("extension", "ext_modules[3] (pkg.x)", "pkg.x")


def test_the_wheels_tag_is_for_extensions_that_ask_without_one() -> None:
    asks = CudaExtension("x", ["a.cu"], py_limited_api=True)
    assert words(asks, limited_api="cp312")["limited-api"] == "cp312"
    has = CudaExtension("x", ["a.cu"], py_limited_api=True, limited_api="cp311")
    assert words(has, limited_api="cp312")["limited-api"] == "cp311"
    assert "limited-api" not in words(CudaExtension("x", ["a.cu"]), limited_api="cp312")


class TestCython:
    """Cython replaces extensions by copies that it makes of setuptools' words alone."""

    @pytest.fixture
    def project(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
        monkeypatch.chdir(tmp_path)
        return tmp_path

    def test_words_survive(self, project: Path) -> None:
        pyx = "# distutils: extra_compile_args = -O1\n# distutils: define_macros = FROM_PYX=1\ndef f(): return 1\n"
        (project / "x.pyx").write_text(pyx)
        (project / "k.cu").touch()
        given = CudaExtension(
            "x",
            ["x.pyx", "k.cu"],
            std="c++17",
            flags=["-lineinfo"],
            link=["CUDA::cublas"],
            extra_compile_args={"cxx": ["-O2"], "nvcc": ["-O3"]},
            optional=True,
            py_limited_api=True,
        )
        (made,) = cythonize([given], language_level=3, quiet=True)
        assert made is not given
        assert isinstance(made, CudaExtension)
        found = declare(made, index=0, root=project).words
        assert found["sources"] == ["x.c", "k.cu"]
        assert (found["std"], found["link"], found["optional"]) == ("c++17", ["CUDA::cublas"], True)
        assert found["flags"] == {"cuda": ["-lineinfo", "-O3"], "cxx": ["-O1", "-O2"], "c": ["-O1", "-O2"]}
        assert "FROM_PYX=1" in found["defines"]
        assert made.py_limited_api is True

    def test_each_copy_of_a_pattern_has_them(self, project: Path) -> None:
        for name in "ab":
            (project / f"{name}.pyx").write_text("def f(): return 1\n")
        (project / "c.pyx").write_text("def f(): return 1\n")
        made = cythonize(
            [CudaExtension("*", ["[ab].pyx"], uses=["numpy"]), CudaExtension("c", ["c.pyx"])],
            language_level=3,
            quiet=True,
        )
        assert [(one.name, one.uses) for one in made] == [("a", ["numpy"]), ("b", ["numpy"]), ("c", None)]

    def test_an_extension_without_cython_source_passes_through(self, project: Path) -> None:
        given = CudaExtension("x", ["k.cu"], std="c++17")
        assert cythonize([given]) == [given]


def test_pickling_says_no_more_than_setuptools() -> None:
    # A class made for one extension cannot be found by name: nothing pretends that it could.
    with pytest.raises(pickle.PicklingError):
        pickle.dumps(CudaExtension("x", ["a.cu"], std="c++17"))
    assert pickle.loads(pickle.dumps(CudaExtension("x", ["a.cu"]))).name == "x"
