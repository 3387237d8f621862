from __future__ import annotations

from pathlib import Path
from typing import cast

import pytest
from config_support import load, problems_of, told, write_files

from setuptools_cuda.config import keys
from setuptools_cuda.config.keys import KERNEL_MODULE, OVERRIDE, PROJECT, find_scopes
from setuptools_cuda.config.load import load_settings
from setuptools_cuda.config.model import Condition, Extension, Flags, KernelModule, Library, Override, Project
from setuptools_cuda.environment import Environment
from setuptools_cuda.errors import BuildError, Code, Exit

EXAMPLE = """\
[tool.setuptools-cuda]
cuda = ">=12.4"
architectures = ["80", "90a", "120"]
std = "c++17"

[[tool.setuptools-cuda.library]]
name = "attention"
sources = ["src/attention/**/*.cu"]
exclude = ["src/attention/old_*.cu"]
install = "demo/lib"

[[tool.setuptools-cuda.extension]]
name = "demo._native"
sources = ["src/bind.cpp", "src/saxpy.cu"]
link = ["attention", "CUDA::cublas"]
uses = ["numpy", "pybind11"]
limited-api = "cp311"

[[tool.setuptools-cuda.kernel-module]]
module = "demo.kernels"
sources = ["kernels/*.cu"]
formats = ["cubin", "ptx"]

[[tool.setuptools-cuda.override]]
match = "src/attention/flash_*.cu"
max-architecture = "90"
flags = { cuda = ["--use_fast_math"] }

[[tool.setuptools-cuda.override]]
target = "demo._native"
if = { platform-system = "Windows" }
defines = ["_USE_MATH_DEFINES"]
"""
EXAMPLE_FILES = (
    *("src/bind.cpp", "src/saxpy.cu", "kernels/a.cu", "kernels/deep/b.cu"),
    *("src/attention/flash_fwd.cu", "src/attention/deep/er/x.cu", "src/attention/old_1.cu"),
)


def environment(root: Path, **variables: str) -> Environment:
    return Environment(variables=variables, cwd=root)


def test_the_example_of_the_contract_loads_whole(tmp_path: Path) -> None:
    write_files(tmp_path, *EXAMPLE_FILES)
    (tmp_path / "pyproject.toml").write_text(EXAMPLE)
    settings = load_settings(tmp_path, environment=environment(tmp_path))
    where = "tool.setuptools-cuda"
    assert settings.project == Project(cuda=">=12.4", architectures=("80", "90a", "120"), std="c++17")
    assert settings.libraries == (
        Library(
            where=f"{where}.library[0]",
            name="attention",
            patterns=("src/attention/**/*.cu",),
            sources=("src/attention/deep/er/x.cu", "src/attention/flash_fwd.cu"),
            exclude=("src/attention/old_*.cu",),
            install="demo/lib",
        ),
    )
    assert settings.extensions == (
        Extension(
            where=f"{where}.extension[0]",
            name="demo._native",
            patterns=("src/bind.cpp", "src/saxpy.cu"),
            sources=("src/bind.cpp", "src/saxpy.cu"),
            link=("attention", "CUDA::cublas"),
            uses=("numpy", "pybind11"),
            limited_api="cp311",
        ),
    )
    assert settings.kernel_modules == (
        KernelModule(
            where=f"{where}.kernel-module[0]",
            module="demo.kernels",
            patterns=("kernels/*.cu",),
            sources=("kernels/a.cu",),
        ),
    )
    assert settings.overrides == (
        Override(
            where=f"{where}.override[0]",
            match="src/attention/flash_*.cu",
            max_architecture="90",
            flags=Flags(cuda=("--use_fast_math",)),
        ),
        Override(
            where=f"{where}.override[1]",
            target="demo._native",
            if_=Condition(platform_system="Windows"),
            defines=("_USE_MATH_DEFINES",),
        ),
    )
    assert settings.warnings == ()
    assert settings.origin("std").kind == "pyproject"
    assert settings.origin("jobs").kind == "default"


def test_no_file_and_no_table_are_empty_settings(tmp_path: Path) -> None:
    settings = load_settings(tmp_path, environment=environment(tmp_path))
    assert settings.project == Project()
    assert settings.targets == ()
    assert settings.root == tmp_path


def test_everything_wrong_is_told_at_once(tmp_path: Path) -> None:
    write_files(tmp_path, "a.cu")
    (tmp_path / "pyproject.toml").write_text(
        """\
[tool.setuptools-cuda]
stdd = "c++17"
rdc = true
jobs = "4"
required = 1
architectures = [80]
cudart = "dynamic"
extensions = []

[[tool.setuptools-cuda.extension]]
sources = ["a.cu"]
limited_api = "cp311"
formats = ["ptx"]

[[tool.setuptools-cuda.kernel-module]]
module = "demo.k"
sources = "a.cu"
formats = ["ptxx"]
priority = true

[tool.setuptools-cuda.library]
name = "x"
"""
    )
    with pytest.raises(BuildError) as caught:
        load_settings(tmp_path, environment=environment(tmp_path))
    assert caught.value.status is Exit.CONFIGURATION
    assert told(caught.value.problems) == [
        ("unknown-key", "stdd"),
        ("unknown-key", "rdc"),
        ("wrong-type", "jobs"),
        ("wrong-type", "required"),
        ("wrong-type", "architectures"),
        ("bad-value", "cudart"),
        ("unknown-key", "extensions"),
        ("wrong-type", "library"),
        ("unknown-key", "extension[0].limited_api"),
        ("unknown-key", "extension[0].formats"),
        ("missing-key", "extension[0]"),
        ("wrong-type", "kernel-module[0].sources"),
        ("bad-value", "kernel-module[0].formats"),
        ("wrong-type", "kernel-module[0].priority"),
    ]
    fixes = {problem.where.rpartition(".")[2]: problem.fix for problem in caught.value.problems}
    assert fixes["stdd"] == ("did you mean 'std'?",)
    assert fixes["rdc"][0].startswith("'rdc' is a key of [[tool.setuptools-cuda.extension]], [[tool")
    assert fixes["extensions"] == ("did you mean 'extension'?",)
    assert fixes["limited_api"] == ("did you mean 'limited-api'?",)
    assert fixes["library"] == ("write [[tool.setuptools-cuda.library]], with two brackets",)
    assert fixes["architectures"] == ('write it in quotes: "80"',)


def test_project_keys_that_are_not_acted_on_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    key, value = "report", "out"
    monkeypatch.setitem(cast("dict[str, str]", keys.NOT_IN_THIS_RELEASE), key, "leave it out")
    (problem,) = problems_of({key: value}, root=tmp_path)
    assert (problem.code, problem.where) == (Code.NOT_AVAILABLE, f"tool.setuptools-cuda.{key}")
    variable = "SETUPTOOLS_CUDA_" + key.upper().replace("-", "_")
    (problem,) = problems_of({}, root=tmp_path, variables={variable: value})
    assert (problem.code, problem.where) == (Code.NOT_AVAILABLE, variable)


@pytest.mark.parametrize("name", ["nvcc", "nvrtc", "nvvm", "llvm"])
def test_each_device_compiler_may_be_named(tmp_path: Path, name: str) -> None:
    assert load({"device-compiler": name}, root=tmp_path).project.device_compiler == name


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("std", ""),
        ("nvcc", "  "),
        ("nvcc", "a\nb"),
        ("launcher", "a\0"),
        ("include-dirs", ["", "x"]),
        ("include-dirs", ["a\nb"]),
        ("architectures", []),
        ("architectures", " ; "),
        ("jobs", 0),
        ("flags", {"cuda": [""]}),
    ],
)
def test_blank_and_broken_text_is_a_bad_value(tmp_path: Path, key: str, value: object) -> None:
    (problem,) = problems_of({key: value}, root=tmp_path)
    assert problem.code is Code.BAD_VALUE


@pytest.mark.parametrize("value", [{}, [], 1, None, 1.5, ["-O3", 3], {"cuda": "-O3"}])
def test_wrong_types_of_flags_are_told(tmp_path: Path, value: object) -> None:
    if value in ({}, []):
        assert load({"flags": value}, root=tmp_path).project.flags == Flags()
    else:
        (problem,) = problems_of({"flags": value}, root=tmp_path)
        assert problem.code is Code.WRONG_TYPE


def test_an_unknown_tool_in_flags_is_told(tmp_path: Path) -> None:
    (problem,) = problems_of({"flags": {"cudaa": []}}, root=tmp_path)
    assert (problem.code, problem.fix) == (Code.UNKNOWN_KEY, ("did you mean 'cuda'?",))


def test_choices_are_kept_once(tmp_path: Path) -> None:
    write_files(tmp_path, "a.cu")
    table = {"kernel-module": [{"module": "k", "sources": ["a.cu"], "formats": ["ptx", "cubin", "ptx"]}]}
    assert load(table, root=tmp_path).kernel_modules[0].formats == ("ptx", "cubin")


def test_odd_keys_are_quoted_in_their_place(tmp_path: Path) -> None:
    (problem,) = problems_of({"a.b c": 1}, root=tmp_path)
    assert problem.where == 'tool.setuptools-cuda."a.b c"'


class TestOrder:
    """Setting, variable, FORCE_CUDA, table, default."""

    def test_the_setting_goes_first_then_the_variable_then_the_table(self, tmp_path: Path) -> None:
        table = {"std": "c++14", "nvcc": "t", "jobs": 1}
        variables = {"SETUPTOOLS_CUDA_STD": "c++17", "SETUPTOOLS_CUDA_NVCC": "v"}
        settings = load(table, root=tmp_path, variables=variables, settings={"cuda.std": "c++20"})
        assert (settings.project.std, settings.project.nvcc, settings.project.jobs) == ("c++20", "v", 1)
        origins = {name: (origin.kind, origin.text) for name, origin in settings.origins.items()}
        assert origins == {
            "std": ("config-setting", "-C cuda.std"),
            "nvcc": ("environment", "SETUPTOOLS_CUDA_NVCC"),
            "jobs": ("pyproject", "tool.setuptools-cuda.jobs"),
        }

    def test_what_is_empty_is_unset(self, tmp_path: Path) -> None:
        variables = {"SETUPTOOLS_CUDA_STD": " ", "SETUPTOOLS_CUDA_NOPE": "", "FORCE_CUDA": ""}
        settings = load({"std": "c++14"}, root=tmp_path, variables=variables, settings={"cuda.std": ["", " "]})
        assert settings.project.std == "c++14"
        assert settings.warnings == ()

    @pytest.mark.parametrize("given", ["80;90a", "80,90a", "80 90a", ["80", "90a"], ["80;90a"]])
    def test_lists_are_repeated_or_separated(self, tmp_path: Path, given: str | list[str]) -> None:
        settings = load({"architectures": ["75"]}, root=tmp_path, settings={"cuda.architectures": given})
        assert settings.project.architectures == ("80", "90a")

    def test_a_list_replaces_the_one_below(self, tmp_path: Path) -> None:
        variables = {"SETUPTOOLS_CUDA_DEFINES": "A;B=1, C"}
        settings = load({"defines": ["X"]}, root=tmp_path, variables=variables)
        assert settings.project.defines == ("A", "B=1", "C")

    @pytest.mark.parametrize(
        ("text", "value"), [("1", True), ("true", True), ("ON", True), ("0", False), ("False", False), ("no", False)]
    )
    def test_switches_are_read(self, tmp_path: Path, text: str, value: bool) -> None:
        assert load({}, root=tmp_path, settings={"cuda.required": text}).project.required is value

    def test_numbers_are_read(self, tmp_path: Path) -> None:
        assert load({}, root=tmp_path, variables={"SETUPTOOLS_CUDA_JOBS": " 8 "}).project.jobs == 8

    @pytest.mark.parametrize(
        ("name", "text"),
        [
            ("required", "maybe"),
            ("jobs", "four"),
            ("jobs", "0"),
            ("jobs", "9" * 9999),
            ("std", "17"),
            ("profile", "fast"),
            ("flags", "'"),
            ("architectures", "80;x"),
        ],
    )
    def test_bad_texts_name_the_setting_and_the_variable(self, tmp_path: Path, name: str, text: str) -> None:
        (problem,) = problems_of({}, root=tmp_path, settings={f"cuda.{name}": text})
        assert problem.where == f"-C cuda.{name}"
        (problem,) = problems_of({}, root=tmp_path, variables={f"SETUPTOOLS_CUDA_{name.upper()}": text})
        assert problem.where == f"SETUPTOOLS_CUDA_{name.upper()}"

    def test_one_value_given_twice_is_a_conflict(self, tmp_path: Path) -> None:
        (problem,) = problems_of({}, root=tmp_path, settings={"cuda.std": ["c++17", "c++20"]})
        assert problem.code is Code.CONFLICT
        assert load({}, root=tmp_path, settings={"cuda.std": ["c++17", "c++17"]}).project.std == "c++17"

    def test_flags_are_split_as_a_shell_does_and_are_for_nvcc(self, tmp_path: Path) -> None:
        table = {"flags": {"cuda": ["-O1"], "cxx": ["-O2"], "link": ["-s"]}}
        settings = load(table, root=tmp_path, settings={"cuda.flags": ["-lineinfo", "-DA='x y'"]})
        assert settings.project.flags == Flags(cuda=("-lineinfo", "-DA=x y"), cxx=("-O2",), link=("-s",))

    def test_an_unknown_setting_is_an_error_with_a_suggestion(self, tmp_path: Path) -> None:
        settings = {"cuda.host_compiler": "g++", "cuda.rdc": "1", "cuda.zzz": "", "build-dir": "x", "cuda": "y"}
        problems = problems_of({}, root=tmp_path, settings=settings)
        assert told(problems) == [
            ("unknown-key", "-C cuda.host_compiler"),
            ("unknown-key", "-C cuda.rdc"),
            ("unknown-key", "-C cuda.zzz"),
        ]
        assert problems[0].fix == ("did you mean 'cuda.host-compiler'?",)
        assert "is a key of extension, library, kernel-module" in problems[1].fix[0]

    def test_a_setting_that_is_no_text_is_told(self, tmp_path: Path) -> None:
        (problem,) = problems_of({}, root=tmp_path, settings={"cuda.required": True})  # type: ignore[dict-item]
        assert problem.code is Code.WRONG_TYPE

    def test_an_unknown_variable_is_a_warning_with_a_suggestion(self, tmp_path: Path) -> None:
        settings = load({}, root=tmp_path, variables={"SETUPTOOLS_CUDA_ARCHITECTURE": "80", "SETUPTOOLS_CUDATA": "1"})
        (warning,) = settings.warnings
        assert warning.startswith("SETUPTOOLS_CUDA_ARCHITECTURE is set")
        assert "did you mean 'SETUPTOOLS_CUDA_ARCHITECTURES'?" in warning

    def test_force_cuda_means_required(self, tmp_path: Path) -> None:
        settings = load({"required": False}, root=tmp_path, variables={"FORCE_CUDA": "1"})
        assert settings.project.required is True
        assert settings.origin("required").text == "FORCE_CUDA"

    def test_force_cuda_goes_after_our_own_variable(self, tmp_path: Path) -> None:
        variables = {"FORCE_CUDA": "1", "SETUPTOOLS_CUDA_REQUIRED": "0"}
        assert load({}, root=tmp_path, variables=variables).project.required is False

    @pytest.mark.parametrize("value", ["0", "false", "x"])
    def test_force_cuda_of_another_value_says_nothing(self, tmp_path: Path, value: str) -> None:
        assert load({"required": False}, root=tmp_path, variables={"FORCE_CUDA": value}).project.required is False

    def test_a_value_that_does_not_count_is_checked_all_the_same(self, tmp_path: Path) -> None:
        problems = problems_of({"std": "c++1"}, root=tmp_path, settings={"cuda.std": "c++17"})
        assert told(problems) == [("bad-value", "std")]


def test_keys_have_the_names_and_kinds_of_the_contract() -> None:
    assert OVERRIDE.keys["if"].kind == "condition"
    assert PROJECT.keys["host-compiler"].attribute == "host_compiler"
    assert PROJECT.keys["jobs"].kind == "number"
    assert KERNEL_MODULE.keys["formats"].choices == ("ptx", "cubin", "fatbin", "ltoir")
    assert next(iter(KERNEL_MODULE.keys)) == "module"
    assert find_scopes("rdc") == ("extension", "library", "kernel-module")
