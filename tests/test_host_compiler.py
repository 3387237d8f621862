"""The host compiler: who names it, whether the toolkit takes it, and what stands in for one that is too new."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from pathlib import Path

import pytest
from toolchain_support import make_environment, make_settings, site_of, write_gcc, write_script, write_wrapper

from setuptools_cuda.config.model import Flags, Origin, Settings
from setuptools_cuda.environment import Environment
from setuptools_cuda.errors import BuildError, Code
from setuptools_cuda.resolution.host_compiler import (
    HostProgram,
    find_host_program,
    resolve_host_compiler,
    resolve_host_program,
)
from setuptools_cuda.resolution.host_probe import HostFacts, probe_fit, probe_headers, probe_host, probe_text
from setuptools_cuda.resolution.nvcc_flags import resolve_nvcc_flags
from setuptools_cuda.resolution.toolchain import resolve_toolchain
from setuptools_cuda.resolution.values import HostCompiler, Release

REAL = Path(shutil.which("g++", path="/usr/bin:/bin") or "/usr/bin/g++")
SETTING = {"host-compiler": Origin("environment", "SETUPTOOLS_CUDA_HOST_COMPILER")}
KEY = {"host-compiler": Origin("pyproject", "host-compiler")}


def program(settings: Settings, environment: Environment) -> HostProgram:
    return resolve_host_program(settings, environment=environment, nvcc_flags=resolve_nvcc_flags(environment))


def refuse(settings: Settings, environment: Environment) -> BuildError:
    with pytest.raises(BuildError) as caught:
        program(settings, environment)
    return caught.value


def compiler(
    tmp_path: Path, toolkit_nvcc: Path, environment: Environment, *, allow_unsupported: bool = False, **project: object
) -> HostCompiler:
    include = toolkit_nvcc.parent.parent / "include"
    origins = {"host-compiler": Origin("pyproject", "host-compiler")} if "host_compiler" in project else {}
    return resolve_host_compiler(
        program(make_settings(tmp_path, origins=origins, **project), environment),
        include_dirs=(include, include / "cccl"),
        release=Release(13, 0),
        environment=environment,
        allow_unsupported=allow_unsupported,
    )


@pytest.fixture
def four(tmp_path: Path) -> Mapping[str, str]:
    """Return the variables that name a host compiler, each with a compiler of its own."""
    return {
        name: str(write_wrapper(tmp_path / name / "g++", REAL))
        for name in ("SETTING", "NVCC_CCBIN", "CUDAHOSTCXX", "CXX", "KEY")
    }


class TestWhoDecides:
    def test_the_order(self, tmp_path: Path, four: Mapping[str, str]) -> None:
        variables = {name: value for name, value in four.items() if name not in ("SETTING", "KEY")}
        settings = make_settings(tmp_path, host_compiler=four["SETTING"], origins=SETTING)
        assert str(program(settings, make_environment(tmp_path, **variables)).path) == four["SETTING"]
        settings = make_settings(tmp_path, host_compiler=four["KEY"], origins=KEY)
        for name in ("NVCC_CCBIN", "CUDAHOSTCXX", "CXX"):
            found = program(settings, make_environment(tmp_path, **variables))
            assert str(found.path) == four[name]
            assert found.origin == Origin("environment", f"{name}={four[name]}")
            variables.pop(name)
        assert str(program(settings, make_environment(tmp_path)).path) == four["KEY"]
        found = program(make_settings(tmp_path), make_environment(tmp_path))
        assert found.path.name in {"c++", "g++", "clang++"}
        assert found.origin.kind == "found"

    def test_only_what_was_not_named_for_nvcc_may_be_replaced(self, tmp_path: Path, four: Mapping[str, str]) -> None:
        for name in ("NVCC_CCBIN", "CUDAHOSTCXX", "CXX"):
            found = program(make_settings(tmp_path), make_environment(tmp_path, **{name: four[name]}))
            assert found.replaceable == (name == "CXX")
        assert program(make_settings(tmp_path), make_environment(tmp_path)).replaceable
        assert not program(
            make_settings(tmp_path, host_compiler=four["KEY"], origins=KEY), make_environment(tmp_path)
        ).replaceable

    def test_ccbin_in_the_variables_of_nvcc(self, tmp_path: Path, four: Mapping[str, str]) -> None:
        for value in (f"-ccbin {four['KEY']}", f"--compiler-bindir={four['KEY']}"):
            environment = make_environment(tmp_path, NVCC_PREPEND_FLAGS=value, NVCC_CCBIN=four["NVCC_CCBIN"])
            assert str(program(make_settings(tmp_path), environment).path) == four["KEY"]

    def test_two_that_contradict_are_an_error(self, tmp_path: Path, four: Mapping[str, str]) -> None:
        settings = make_settings(tmp_path, host_compiler=four["SETTING"], origins=SETTING)
        error = refuse(settings, make_environment(tmp_path, NVCC_APPEND_FLAGS=f"-ccbin {four['KEY']}"))
        assert error.problems[0].code is Code.UNUSABLE_SETTING
        assert "NVCC_APPEND_FLAGS" in error.problems[0].where
        same = make_environment(tmp_path, NVCC_APPEND_FLAGS=f"-ccbin {four['SETTING']}")
        assert str(program(settings, same).path) == four["SETTING"]


class TestWhatIsNamed:
    def test_a_launcher_is_split_off(self, tmp_path: Path) -> None:
        write_script(tmp_path / "bin/ccache", 'exec "$@"')
        environment = make_environment(
            tmp_path, CXX="ccache g++ -m64 -pthread", PATH=f"{tmp_path / 'bin'}:{REAL.parent}"
        )
        found = program(make_settings(tmp_path), environment)
        assert (found.launcher, found.path) == (("ccache",), REAL)
        assert found.notes == ("options in CXX (-m64 -pthread) are not handed to nvcc",)

    def test_a_command_may_be_longer_than_the_name_of_a_file(self, tmp_path: Path) -> None:
        environment = make_environment(tmp_path, CXX=f"{REAL} {'-Wno-odr ' * 999}")
        assert program(make_settings(tmp_path), environment).path == REAL

    def test_a_c_compiler_stands_for_its_sister(self, tmp_path: Path) -> None:
        write_wrapper(tmp_path / "gcc-99", Path("/usr/bin/gcc"))
        sister = write_wrapper(tmp_path / "g++-99", REAL)
        found = program(make_settings(tmp_path), make_environment(tmp_path, NVCC_CCBIN=str(tmp_path / "gcc-99")))
        assert found.path == sister
        assert found.notes == (f"{sister} is used for {tmp_path / 'gcc-99'}, which compiles C",)

    def test_a_folder_stands_for_the_compiler_in_it(self, tmp_path: Path) -> None:
        inside = write_wrapper(tmp_path / "tools/g++", REAL)
        found = program(make_settings(tmp_path), make_environment(tmp_path, NVCC_CCBIN=str(tmp_path / "tools")))
        assert found.path == inside

    def test_the_key_is_relative_to_the_project(self, tmp_path: Path) -> None:
        inside = write_wrapper(tmp_path / "project/my tools/g++", REAL)
        settings = make_settings(tmp_path / "project", host_compiler="my tools/g++", origins=KEY)
        assert program(settings, make_environment(tmp_path)).path == inside

    @pytest.mark.parametrize("name", ["NVCC_CCBIN", "CUDAHOSTCXX", "CXX"])
    @pytest.mark.parametrize(
        ("value", "why"),
        [
            ("/no/such/g++", "there is no program '/no/such/g++'"),
            ("no-such-launcher g++", "there is no program 'no-such-launcher'"),
            ("'g++", "names no program"),
            ("true", "is neither gcc nor clang"),
            ("false", "is neither gcc nor clang"),
        ],
    )
    def test_what_does_not_work_is_an_error_by_name(self, tmp_path: Path, name: str, value: str, why: str) -> None:
        error = refuse(make_settings(tmp_path), make_environment(tmp_path, **{name: value}))
        assert error.problems[0].code is Code.UNUSABLE_SETTING
        assert f"{name}={value}: this host compiler cannot be used" in str(error)
        assert why in str(error)

    def test_none_at_all(self, tmp_path: Path) -> None:
        environment = make_environment(tmp_path, PATH=str(tmp_path))
        assert (
            find_host_program(
                make_settings(tmp_path), environment=environment, nvcc_flags=resolve_nvcc_flags(environment)
            )
            is None
        )
        error = refuse(make_settings(tmp_path), environment)
        assert error.problems[0].code is Code.NO_HOST_COMPILER
        assert "apt-get install g++" in str(error)
        assert "NVCC_CCBIN, CUDAHOSTCXX, CXX: not set" in str(error)

    def test_a_platform_compiler_that_is_broken_is_not_taken(self, tmp_path: Path) -> None:
        write_script(tmp_path / "c++", "exit 1")
        working = write_wrapper(tmp_path / "g++", REAL)
        assert program(make_settings(tmp_path), make_environment(tmp_path, PATH=str(tmp_path))).path == working


class TestProbe:
    def test_family_and_version(self, tmp_path: Path) -> None:
        facts = probe_host(REAL, environment=make_environment(tmp_path))
        assert isinstance(facts, HostFacts)
        assert facts.family in {"gcc", "clang"}
        assert len(facts.version) == 3
        assert str(facts).startswith(f"{facts.family} {facts.version[0]}.")

    def test_clang_is_not_taken_for_gcc(self, tmp_path: Path) -> None:
        """clang defines __GNUC__ too."""
        clang = write_script(
            tmp_path / "clang++",
            f'exec {REAL} -D__clang__ -D__clang_major__=19 -D__clang_minor__=1 -D__clang_patchlevel__=7 "$@"',
        )
        assert probe_host(clang, environment=make_environment(tmp_path)) == HostFacts("clang", (19, 1, 7))

    def test_headers(self, tmp_path: Path) -> None:
        (tmp_path / "own header").mkdir()
        (tmp_path / "own header/mine.h").write_text("", "utf-8")
        found = probe_headers(
            REAL,
            names=["stddef.h", "mine.h", "none.h"],
            include_dirs=[tmp_path / "own header"],
            environment=make_environment(tmp_path),
        )
        assert found == {"stddef.h", "mine.h"}

    def test_the_text_has_neither_name_nor_place(self, tmp_path: Path) -> None:
        (tmp_path / "renamed-g++").symlink_to(REAL)
        environment = make_environment(tmp_path)
        text = probe_text(tmp_path / "renamed-g++", environment=environment)
        assert text == probe_text(REAL, environment=environment)
        assert str(tmp_path) not in text
        assert "g++" not in text

    def test_an_error_in_another_language_is_read_in_english(self, tmp_path: Path, toolkit_nvcc: Path) -> None:
        gcc = write_gcc(tmp_path / "g++", 77)
        environment = make_environment(tmp_path, LC_ALL="fr_FR.UTF-8", LANGUAGE="fr")
        said = probe_fit(gcc, include_dirs=[toolkit_nvcc.parent.parent / "include"], environment=environment)
        assert said.startswith("unsupported GNU version! gcc versions later than")


class TestFit:
    def test_one_that_fits(self, tmp_path: Path, toolkit_nvcc: Path) -> None:
        found = compiler(tmp_path, toolkit_nvcc, make_environment(tmp_path, CXX=str(REAL)))
        assert (found.path, found.notes) == (REAL, ())
        assert found.found_via == Origin("environment", f"CXX={REAL}")

    @pytest.mark.parametrize("variable", ["", "CXX"])
    def test_too_new_and_the_newest_sibling_that_fits_is_taken(
        self, tmp_path: Path, toolkit_nvcc: Path, variable: str
    ) -> None:
        newest = write_gcc(tmp_path / "bin/g++", 77)
        for major in (76, 11, 10):
            write_gcc(tmp_path / f"bin/g++-{major}", major)
        write_script(tmp_path / "bin/g++-12", "exit 1")
        given = {variable: str(newest)} if variable else {}
        found = compiler(tmp_path, toolkit_nvcc, make_environment(tmp_path, PATH=str(tmp_path / "bin"), **given))
        assert found.path == tmp_path / "bin/g++-11"
        assert found.version[0] == 11
        assert len(found.notes) == 1
        assert f"{found.path} is used: toolkit 13.0 does not take gcc 77" in found.notes[0]

    def test_too_new_and_no_sibling(self, tmp_path: Path, toolkit_nvcc: Path) -> None:
        newest = write_gcc(tmp_path / "bin/g++", 77)
        with pytest.raises(BuildError) as caught:
            compiler(tmp_path, toolkit_nvcc, make_environment(tmp_path, PATH=str(tmp_path / "bin")))
        (problem,) = caught.value.problems
        assert problem.code is Code.UNFIT_HOST_COMPILER
        assert problem.what.startswith("toolkit 13.0 does not take gcc 77")
        assert str(newest) in problem.what
        assert "gcc versions later than 15 are not supported" in str(caught.value)
        assert "install g++-15 or older" in str(caught.value)
        assert "g++-N on PATH: none that fits" in str(caught.value)

    def test_a_newer_toolkit_is_named_where_one_takes_it(self, tmp_path: Path, toolkit_nvcc: Path) -> None:
        write_gcc(tmp_path / "bin/g++", 16)
        with pytest.raises(BuildError) as caught:
            compiler(tmp_path, toolkit_nvcc, make_environment(tmp_path, PATH=str(tmp_path / "bin")))
        assert "or use toolkit 13.4, which takes gcc 16" in str(caught.value)

    @pytest.mark.parametrize("variable", ["NVCC_CCBIN", "CUDAHOSTCXX"])
    def test_one_named_for_nvcc_is_never_replaced(self, tmp_path: Path, toolkit_nvcc: Path, variable: str) -> None:
        newest = write_gcc(tmp_path / "bin/g++", 77)
        write_gcc(tmp_path / "bin/g++-11", 11)
        environment = make_environment(tmp_path, PATH=str(tmp_path / "bin"), **{variable: str(newest)})
        with pytest.raises(BuildError) as caught:
            compiler(tmp_path, toolkit_nvcc, environment)
        assert caught.value.problems[0].code is Code.UNFIT_HOST_COMPILER
        assert f"{variable}={newest}" in str(caught.value)

    def test_the_key_is_never_replaced(self, tmp_path: Path, toolkit_nvcc: Path) -> None:
        write_gcc(tmp_path / "bin/g++", 77)
        write_gcc(tmp_path / "bin/g++-11", 11)
        environment = make_environment(tmp_path, PATH=str(tmp_path / "bin"))
        with pytest.raises(BuildError) as caught:
            compiler(tmp_path, toolkit_nvcc, environment, host_compiler=str(tmp_path / "bin/g++"))
        assert caught.value.problems[0].code is Code.UNFIT_HOST_COMPILER

    def test_too_new_and_allowed(self, tmp_path: Path, toolkit_nvcc: Path) -> None:
        newest = write_gcc(tmp_path / "bin/g++", 77)
        environment = make_environment(tmp_path, PATH=str(tmp_path / "bin"))
        found = compiler(tmp_path, toolkit_nvcc, environment, allow_unsupported=True)
        assert found.path == newest
        assert "-allow-unsupported-compiler is set" in found.notes[0]

    @pytest.mark.parametrize("how", ["flags", "NVCC_PREPEND_FLAGS"])
    def test_the_project_or_the_user_allows_it(self, tmp_path: Path, toolkit_nvcc: Path, how: str) -> None:
        newest = write_gcc(tmp_path / "bin/g++", 77)
        flag = "-allow-unsupported-compiler"
        settings = make_settings(tmp_path, flags=Flags(cuda=(flag,)) if how == "flags" else Flags())
        given = {} if how == "flags" else {how: flag}
        environment = make_environment(
            tmp_path,
            search_path=[site_of(toolkit_nvcc)],
            PATH=f"{tmp_path / 'bin'}:/usr/bin:/bin",
            CXX=str(newest),
            **given,
        )
        found = resolve_toolchain(settings, environment=environment, build_dir=tmp_path / "build")
        assert found.host_compiler.path == newest
        assert any("-allow-unsupported-compiler is set" in note for note in found.notes)

    def test_in_a_folder_with_spaces(self, tmp_path: Path, toolkit_nvcc: Path) -> None:
        gcc = write_gcc(tmp_path / "my compilers/g++", 11)
        environment = make_environment(tmp_path, search_path=[site_of(toolkit_nvcc)], CXX=str(gcc))
        found = resolve_toolchain(make_settings(tmp_path), environment=environment, build_dir=tmp_path / "build dir")
        assert found.host_compiler.path == gcc
        assert found.host_compiler.version[0] == 11
