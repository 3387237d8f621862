"""The search for an nvcc: order, what decides, what is an error, and that every candidate is kept."""

from __future__ import annotations

import functools
import os
from pathlib import Path

import pytest
from toolchain_support import (
    STEPS,
    link_installed,
    link_site,
    make_environment,
    make_settings,
    site_of,
    write_nvcc,
    write_plugin,
    write_script,
    write_torch,
    write_wrapper,
)

from setuptools_cuda.config.model import KernelModule, Origin, Project, Settings
from setuptools_cuda.environment import Environment
from setuptools_cuda.errors import BuildError, Code
from setuptools_cuda.process import run_tool
from setuptools_cuda.resolution import steps
from setuptools_cuda.resolution.search import Search, plan_steps, search_nvcc
from setuptools_cuda.resolution.toolchain import find_toolchain, resolve_toolchain

FROM_ENVIRONMENT = Origin("environment", "SETUPTOOLS_CUDA_NVCC")


def verdicts(search: Search) -> dict[str, str]:
    return {each.step: each.verdict for each in search.candidates}


def fail(settings: Settings, environment: Environment) -> BuildError:
    with pytest.raises(BuildError) as caught:
        search_nvcc(settings, environment=environment)
    return caught.value


def test_the_steps_and_their_order(tmp_path: Path) -> None:
    planned = plan_steps(make_settings(tmp_path, toolchain_steps=None), environment=make_environment(tmp_path))
    names = [step.name for step in planned]
    assert names == ["setting", "compiler-env", "root-env", "project", "wheel", "conda", "path", "system", "pip"]


def test_every_step_wins_over_those_after_it(tmp_path: Path) -> None:
    """Each place gets an nvcc of its own release; taken away one by one, the next one wins."""
    places = {
        "setting": ("13.9", tmp_path / "setting/nvcc"),
        "compiler-env": ("13.8", tmp_path / "env/nvcc"),
        "root-env": ("13.7", tmp_path / "root/bin/nvcc"),
        "conda": ("13.5", tmp_path / "conda/bin/nvcc"),
        "path": ("13.4", tmp_path / "path/nvcc"),
    }
    for release, path in places.values():
        write_nvcc(path, release)
    variables = {
        "NVCC": str(places["compiler-env"][1]),
        "CUDA_HOME": str(tmp_path / "root"),
        "CONDA_PREFIX": str(tmp_path / "conda"),
        "PATH": f"{tmp_path / 'path'}:/usr/bin:/bin",
    }
    settings = make_settings(
        tmp_path, nvcc=str(places["setting"][1]), origins={"nvcc": Origin("environment", "SETUPTOOLS_CUDA_NVCC")}
    )
    for step, (release, path) in places.items():
        search = search_nvcc(settings, environment=make_environment(tmp_path, **variables))
        assert search.chosen is not None
        assert (search.chosen.step, str(search.chosen.version.release)) == (step, release)
        assert search.chosen.nvcc == path
        assert verdicts(search)[step] == "chosen"
        settings = make_settings(tmp_path)
        variables.pop({"compiler-env": "NVCC", "root-env": "CUDA_HOME", "conda": "CONDA_PREFIX"}.get(step, ""), None)


def test_later_candidates_are_kept_but_not_run(tmp_path: Path) -> None:
    mark = tmp_path / "was-run"
    write_nvcc(tmp_path / "first/bin/nvcc", "13.0")
    write_script(tmp_path / "path/nvcc", f"touch '{mark}'")
    environment = make_environment(tmp_path, CUDA_HOME=str(tmp_path / "first"), PATH=f"{tmp_path / 'path'}:/usr/bin")
    search = search_nvcc(make_settings(tmp_path), environment=environment)
    assert not mark.exists()
    assert verdicts(search)["path"] == "not needed"
    assert verdicts(search)["conda"] == "not set"
    assert next(each.nvcc for each in search.candidates if each.step == "path") == tmp_path / "path/nvcc"


def test_named_steps_are_the_only_ones(tmp_path: Path) -> None:
    write_nvcc(tmp_path / "root/bin/nvcc", "13.0")
    write_nvcc(tmp_path / "path/nvcc", "13.1")
    environment = make_environment(tmp_path, CUDA_HOME=str(tmp_path / "root"), PATH=str(tmp_path / "path"))
    search = search_nvcc(make_settings(tmp_path, toolchain_steps=("path", "root-env")), environment=environment)
    assert search.chosen is not None
    assert search.chosen.step == "path"
    assert [each.step for each in search.candidates] == ["path", "root-env"]


def test_an_unknown_step_is_an_error_with_a_suggestion(tmp_path: Path) -> None:
    origins = {"toolchain-steps": Origin("pyproject", "tool.setuptools-cuda.toolchain-steps")}
    settings = make_settings(tmp_path, toolchain_steps=("pth", "wheels"), origins=origins)
    error = fail(settings, make_environment(tmp_path))
    assert [problem.code for problem in error.problems] == [Code.BAD_VALUE, Code.BAD_VALUE]
    assert "toolchain-steps: there is no step 'pth'; did you mean 'path'?" in str(error)
    assert "did you mean 'wheel'?" in str(error)


class TestOddValues:
    """What no path can be is told like any other value, and no exception of Python's."""

    @pytest.mark.parametrize("name", ["NVCC", "CUDA_HOME"])
    @pytest.mark.parametrize("value", ["/" + "x" * 300, "{tmp}/loop", "{tmp}/nowhere"])
    def test_one_that_is_set(self, tmp_path: Path, name: str, value: str) -> None:
        (tmp_path / "loop").symlink_to("loop")
        (tmp_path / "nowhere").symlink_to("gone")
        variables = {name: value.format(tmp=tmp_path), "PATH": str(write_nvcc(tmp_path / "bin/nvcc", "13.0").parent)}
        error = fail(make_settings(tmp_path), make_environment(tmp_path, **variables))
        assert [problem.code for problem in error.problems] == [Code.UNUSABLE_SETTING]

    @pytest.mark.parametrize("value", ["/" + "x" * 300, "{tmp}/loop"])
    def test_one_that_is_not_taken_gets_its_note(self, tmp_path: Path, value: str) -> None:
        (tmp_path / "loop").symlink_to("loop")
        write_nvcc(tmp_path / "cuda/bin/nvcc", "13.0")
        other = value.format(tmp=tmp_path)
        environment = make_environment(tmp_path, CUDA_HOME=str(tmp_path / "cuda"), CUDA_PATH=other, PATH="/nowhere")
        (note,) = search_nvcc(make_settings(tmp_path), environment=environment).notes
        assert note.startswith(f"CUDA_PATH={other} differs")

    @pytest.mark.parametrize("value", ["'{cuda}'", "{cuda} ", "{cuda}/bin", "{cuda}/bin/nvcc"])
    def test_what_is_close_to_a_toolkit_gets_a_hint(self, tmp_path: Path, value: str) -> None:
        cuda = write_nvcc(tmp_path / "cuda/bin/nvcc", "13.0").parents[1]
        error = fail(make_settings(tmp_path), make_environment(tmp_path, CUDA_HOME=value.format(cuda=cuda)))
        assert f"did you mean {cuda}?" in str(error)

    def test_one_program_by_two_names_is_no_difference(self, tmp_path: Path) -> None:
        nvcc = write_nvcc(tmp_path / "nvcc", "13.0")
        environment = make_environment(tmp_path, NVCC="nvcc", CUDACXX=str(nvcc), PATH=str(tmp_path))
        assert search_nvcc(make_settings(tmp_path), environment=environment).notes == ()


class TestSetting:
    def test_relative_to_the_working_folder(self, tmp_path: Path) -> None:
        nvcc = write_nvcc(tmp_path / "tools/nvcc", "13.0")
        settings = make_settings(tmp_path / "project", nvcc="tools/nvcc", origins={"nvcc": FROM_ENVIRONMENT})
        search = search_nvcc(settings, environment=make_environment(tmp_path))
        assert search.chosen is not None
        assert search.chosen.nvcc == nvcc
        assert search.chosen.location.origin == FROM_ENVIRONMENT

    def test_the_key_is_the_step_project_and_relative_to_the_project(self, tmp_path: Path) -> None:
        nvcc = write_nvcc(tmp_path / "project/tools/nvcc", "13.0")
        settings = make_settings(tmp_path / "project", nvcc="tools/nvcc", origins={"nvcc": Origin("pyproject", "nvcc")})
        search = search_nvcc(settings, environment=make_environment(tmp_path))
        assert search.chosen is not None
        assert (search.chosen.step, search.chosen.nvcc) == ("project", nvcc)
        assert verdicts(search)["setting"] == "not set"

    @pytest.mark.parametrize(
        ("value", "why"),
        [
            ("/no/such/nvcc", "/no/such/nvcc does not exist"),
            ("no-such-nvcc", "there is no program 'no-such-nvcc' on PATH"),
            ("nvcc 'with", "names no program"),
            ("{tmp}/data", "data cannot be executed"),
            ("{tmp}", "is a folder; name the nvcc in it"),
            ("{tmp}/nvcc -O3", "has options (-O3); they belong in `flags`"),
            ("no-such-launcher {tmp}/nvcc", "there is no program 'no-such-launcher'"),
            ("{tmp}/broken", "does not run (status 7): cannot open shared object"),
            ("{tmp}/other", "does not say its release: I am not nvcc"),
        ],
    )
    def test_what_cannot_be_used_is_an_error(self, tmp_path: Path, value: str, why: str) -> None:
        write_nvcc(tmp_path / "nvcc", "13.0")
        write_script(tmp_path / "broken", "echo cannot open shared object >&2; exit 7")
        write_script(tmp_path / "other", "echo I am not nvcc")
        (tmp_path / "data").write_text("", "utf-8")
        given = value.format(tmp=tmp_path)
        settings = make_settings(tmp_path, nvcc=given, origins={"nvcc": FROM_ENVIRONMENT})
        error = fail(settings, make_environment(tmp_path))
        assert error.problems[0].code is Code.UNUSABLE_SETTING
        assert f"SETUPTOOLS_CUDA_NVCC={given}: this nvcc cannot be used" in str(error)
        assert why in str(error)

    def test_a_release_outside_is_an_error(self, tmp_path: Path) -> None:
        nvcc = write_nvcc(tmp_path / "nvcc", "12.4")
        settings = make_settings(tmp_path, nvcc=str(nvcc), cuda=">=13", origins={"nvcc": FROM_ENVIRONMENT})
        error = fail(settings, make_environment(tmp_path))
        assert error.problems[0].code is Code.UNFIT_RELEASE
        assert "this nvcc is of toolkit 12.4, which is not within `cuda` = '>=13'" in str(error)


class TestCompilerVariables:
    @pytest.mark.parametrize("name", ["NVCC", "CUDACXX"])
    def test_one_that_is_set_and_unusable_is_an_error(self, tmp_path: Path, name: str) -> None:
        write_nvcc(tmp_path / "path/nvcc", "13.0")
        environment = make_environment(tmp_path, PATH=str(tmp_path / "path"), **{name: "/opt/gone/nvcc"})
        error = fail(make_settings(tmp_path), environment)
        assert error.problems[0].code is Code.UNUSABLE_SETTING
        assert f"{name}=/opt/gone/nvcc: this nvcc cannot be used" in str(error)

    def test_a_launcher_is_split_off_and_nvcc_made_absolute(self, tmp_path: Path) -> None:
        nvcc = write_nvcc(tmp_path / "bin/nvcc", "13.0")
        write_script(tmp_path / "bin/ccache", 'exec "$@"')
        environment = make_environment(tmp_path, NVCC="ccache nvcc", PATH=f"{tmp_path / 'bin'}:/usr/bin:/bin")
        search = search_nvcc(make_settings(tmp_path), environment=environment)
        assert search.chosen is not None
        assert search.chosen.location.launcher == ("ccache",)
        assert search.chosen.nvcc == nvcc

    def test_a_path_with_spaces_needs_no_quotes(self, tmp_path: Path) -> None:
        nvcc = write_nvcc(tmp_path / "my tools/nv cc", "13.0")
        for value in (str(nvcc), f"'{nvcc}'", f'"{nvcc}"'):
            search = search_nvcc(make_settings(tmp_path), environment=make_environment(tmp_path, NVCC=value))
            assert search.chosen is not None
            assert search.chosen.nvcc == nvcc

    def test_the_first_decides_and_a_different_second_is_told(self, tmp_path: Path) -> None:
        one, two = write_nvcc(tmp_path / "1/nvcc", "13.0"), write_nvcc(tmp_path / "2/nvcc", "13.1")
        environment = make_environment(tmp_path, NVCC=str(one), CUDACXX=str(two))
        search = search_nvcc(make_settings(tmp_path), environment=environment)
        assert search.chosen is not None
        assert search.chosen.nvcc == one
        assert search.notes == (f"CUDACXX={two} differs from NVCC={one}, which decides",)

    def test_a_release_outside_is_an_error(self, tmp_path: Path) -> None:
        nvcc = write_nvcc(tmp_path / "nvcc", "13.5")
        error = fail(make_settings(tmp_path, cuda="==13.0.*"), make_environment(tmp_path, CUDACXX=str(nvcc)))
        assert error.problems[0].code is Code.UNFIT_RELEASE
        assert error.problems[0].where == f"CUDACXX={nvcc}"


class TestRootVariables:
    @pytest.mark.parametrize("name", steps.ROOT_VARIABLES)
    def test_each_of_them(self, tmp_path: Path, name: str) -> None:
        nvcc = write_nvcc(tmp_path / "root/bin/nvcc", "13.0")
        environment = make_environment(tmp_path, **{name: str(tmp_path / "root")})
        search = search_nvcc(make_settings(tmp_path), environment=environment)
        assert search.chosen is not None
        assert (search.chosen.step, search.chosen.nvcc) == ("root-env", nvcc)
        assert search.chosen.location.origin.text == f"{name}={tmp_path / 'root'}"

    def test_no_nvcc_in_it_is_an_error(self, tmp_path: Path) -> None:
        write_nvcc(tmp_path / "path/nvcc", "13.0")
        environment = make_environment(tmp_path, CUDA_HOME=str(tmp_path / "root"), PATH=str(tmp_path / "path"))
        error = fail(make_settings(tmp_path), environment)
        assert error.problems[0].code is Code.UNUSABLE_SETTING
        assert f"CUDA_HOME={tmp_path / 'root'}: there is no usable nvcc in it" in str(error)
        assert f"{tmp_path / 'root/bin/nvcc'} does not exist" in str(error)

    def test_an_nvcc_that_does_not_run_is_an_error(self, tmp_path: Path) -> None:
        write_script(tmp_path / "root/bin/nvcc", "exit 1")
        error = fail(make_settings(tmp_path), make_environment(tmp_path, CUDA_PATH=str(tmp_path / "root")))
        assert error.problems[0].code is Code.UNUSABLE_SETTING
        assert "does not run (status 1)" in str(error)

    def test_a_release_outside_is_passed_over_with_a_note(self, tmp_path: Path) -> None:
        write_nvcc(tmp_path / "old/bin/nvcc", "11.5")
        write_nvcc(tmp_path / "path/nvcc", "13.0")
        environment = make_environment(tmp_path, CUDA_HOME=str(tmp_path / "old"), PATH=str(tmp_path / "path"))
        search = search_nvcc(make_settings(tmp_path, cuda=">=12.4"), environment=environment)
        assert search.chosen is not None
        assert search.chosen.step == "path"
        assert verdicts(search)["root-env"] == "11.5 is not within >=12.4"
        assert search.notes == (f"CUDA_HOME={tmp_path / 'old'} is passed over: 11.5 is not within >=12.4",)

    def test_others_that_differ_are_told_and_links_to_the_same_are_not(self, tmp_path: Path) -> None:
        write_nvcc(tmp_path / "cuda-13.0/bin/nvcc", "13.0")
        (tmp_path / "cuda").symlink_to(tmp_path / "cuda-13.0")
        environment = make_environment(
            tmp_path,
            CUDA_HOME=str(tmp_path / "cuda"),
            CUDA_PATH=str(tmp_path / "cuda-13.0"),
            CUDAToolkit_ROOT="/opt/other",
        )
        search = search_nvcc(make_settings(tmp_path), environment=environment)
        assert search.notes == (
            f"CUDAToolkit_ROOT=/opt/other differs from CUDA_HOME={tmp_path / 'cuda'}, which decides",
        )

    def test_empty_is_unset(self, tmp_path: Path) -> None:
        search = search_nvcc(make_settings(tmp_path), environment=make_environment(tmp_path, CUDA_HOME="", NVCC="  "))
        assert search.chosen is None
        assert set(verdicts(search).values()) == {"not set", "no nvcc", "not in this build environment"}


class TestWheel:
    def test_found_on_the_search_path(self, tmp_path: Path, toolkit_nvcc: Path) -> None:
        environment = make_environment(tmp_path, search_path=["/nowhere", site_of(toolkit_nvcc)])
        search = search_nvcc(make_settings(tmp_path), environment=environment)
        assert search.chosen is not None
        assert (search.chosen.step, search.chosen.nvcc) == ("wheel", toolkit_nvcc)

    def test_the_first_of_several_environments_wins(self, tmp_path: Path, toolkit_nvcc: Path) -> None:
        overlay = link_site(toolkit_nvcc, tmp_path / "overlay")
        environment = make_environment(tmp_path, search_path=[tmp_path / "overlay", site_of(toolkit_nvcc)])
        search = search_nvcc(make_settings(tmp_path), environment=environment)
        assert search.chosen is not None
        assert search.chosen.nvcc == overlay
        assert [each.verdict for each in search.candidates if each.step == "wheel"] == ["chosen", "13.0; not needed"]

    def test_the_wheel_of_cuda_12_has_ptxas_alone(self, tmp_path: Path) -> None:
        info = tmp_path / "site/nvidia_cuda_nvcc_cu12-12.9.86.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text("Metadata-Version: 2.1\nName: nvidia-cuda-nvcc-cu12\nVersion: 12.9.86\n")
        (info / "RECORD").write_text("nvidia/cuda_nvcc/bin/ptxas,,\n")
        search = search_nvcc(
            make_settings(tmp_path), environment=make_environment(tmp_path, search_path=[tmp_path / "site"])
        )
        assert search.chosen is None
        (wheel,) = (each for each in search.candidates if each.step == "wheel")
        assert wheel.where == "nvidia-cuda-nvcc-cu12 12.9.86 wheel"
        assert wheel.verdict == "has ptxas alone: PyPI has nvcc from CUDA 13.0 on"

    def test_outside_is_passed_over(self, tmp_path: Path, toolkit_nvcc: Path) -> None:
        environment = make_environment(tmp_path, search_path=[site_of(toolkit_nvcc)])
        search = search_nvcc(make_settings(tmp_path, cuda="<13"), environment=environment)
        assert search.chosen is None
        assert verdicts(search)["wheel"] == "13.0 is not within <13"

    def test_pip_without_wheel_looks_for_what_it_asked_for(self, tmp_path: Path, toolkit_nvcc: Path) -> None:
        environment = make_environment(tmp_path, search_path=[site_of(toolkit_nvcc)])
        search = search_nvcc(make_settings(tmp_path, toolchain_steps=("setting", "pip")), environment=environment)
        assert search.chosen is not None
        assert (search.chosen.step, search.chosen.nvcc) == ("pip", toolkit_nvcc)


class TestSystem:
    def test_the_newest_that_fits_and_each_once(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        for name, release in (("cuda-9.2", "9.2"), ("cuda-13.0", "13.0"), ("cuda-12.9", "12.9"), ("cuda-13.5", "13.5")):
            write_nvcc(tmp_path / f"local/{name}/bin/nvcc", release)
        (tmp_path / "local/cuda").symlink_to("cuda-12.9")
        roots = (str(tmp_path / "local/cuda-*"), str(tmp_path / "local/cuda"), str(tmp_path / "none"))
        here = steps.Step("system", functools.partial(steps.look_at_system, roots=roots), newest=True)
        others = tuple(step for step in steps.STEPS if step.name != "system")
        monkeypatch.setattr("setuptools_cuda.resolution.search.STEPS", (*others, here))
        settings = make_settings(tmp_path, cuda="<13.5", toolchain_steps=("system",))
        search = search_nvcc(settings, environment=make_environment(tmp_path))
        assert {Path(each.where).name: each.verdict for each in search.candidates} == {
            "cuda-9.2": "9.2; not needed",
            "cuda-12.9": "12.9; not needed",
            "cuda-13.0": "chosen",
            "cuda-13.5": "13.5 is not within <13.5",
        }

    def test_a_real_toolkit_there_compiles(
        self, tmp_path: Path, toolkit_nvcc: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        """As NVIDIA's installer lays it out, with /usr/local/cuda a link to it."""
        link_installed(toolkit_nvcc, tmp_path / "local/cuda-13.0")
        (tmp_path / "local/cuda").symlink_to("cuda-13.0")
        roots = (str(tmp_path / "local/cuda-*"), str(tmp_path / "local/cuda"))
        here = steps.Step("system", functools.partial(steps.look_at_system, roots=roots), newest=True)
        monkeypatch.setattr("setuptools_cuda.resolution.search.STEPS", (*steps.STEPS[:-2], here))
        settings, environment = make_settings(tmp_path, toolchain_steps=("system",)), make_environment(tmp_path)
        found = resolve_toolchain(settings, environment=environment, build_dir=tmp_path / "b")
        assert [each.verdict for each in found.candidates] == ["chosen"]
        assert (found.step, found.found_via.text) == ("system", f"well-known root {tmp_path / 'local/cuda-13.0'}")
        (tmp_path / "one.cu").write_text("#include <nv/target>\n__global__ void one(int* x) { *x = 1; }\n", "utf-8")
        argv = [str(found.nvcc), "-arch=sm_80", "-shared", "-Xcompiler", "-fPIC", "one.cu", "-o", "one.so"]
        done = run_tool(argv, variables=environment.variables, cwd=tmp_path)
        assert done.ok, done.stderr

    def test_none_exists(self, tmp_path: Path) -> None:
        (found,) = steps.look_at_system(
            make_settings(tmp_path), make_environment(tmp_path), roots=("/none/a", "/none/b-*")
        )
        assert found.nvcc is None
        assert found.absent == "none of them exists"


class TestPlugins:
    def test_stands_before_wheel_by_default(self, tmp_path: Path) -> None:
        site = write_plugin(tmp_path / "site", "def look(settings, environment): return None\n")
        environment = make_environment(tmp_path, search_path=[site])
        names = [
            step.name for step in plan_steps(make_settings(tmp_path, toolchain_steps=None), environment=environment)
        ]
        assert names[3:6] == ["project", "vault", "wheel"]

    def test_its_nvcc_is_taken(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        nvcc = write_nvcc(tmp_path / "vault/nvcc", "13.0")
        site = write_plugin(tmp_path / "site1", "def look(settings, environment): return environment.get('VAULT')\n")
        monkeypatch.syspath_prepend(site)
        settings = make_settings(tmp_path, toolchain_steps=("vault",))
        environment = make_environment(tmp_path, search_path=[site], VAULT=str(nvcc))
        search = search_nvcc(settings, environment=environment)
        assert search.chosen is not None
        assert (search.chosen.step, search.chosen.nvcc) == ("vault", nvcc)
        none = search_nvcc(settings, environment=environment.with_variables({"VAULT": None}))
        assert verdicts(none) == {"vault": "found none"}

    @pytest.mark.parametrize(
        ("number", "text", "said"),
        [
            (2, "def look(settings, environment): raise OSError('no vault')\n", "OSError: no vault"),
            (3, "def look(settings, environment): return 42\n", "int 42, where the path of an nvcc"),
            (4, "def look(settings, environment): return 'relative/nvcc'\n", "'relative/nvcc'"),
            (5, "look = 'nvcc'\n", "where a callable (settings, environment) is wanted"),
            (6, "raise ImportError('half installed')\n", "ImportError: half installed"),
            (7, "def look(settings): return None\n", "TypeError"),
            (10, "raise SystemExit(0)\n", "SystemExit: 0"),
            (11, "def look(settings, environment): raise SystemExit\n", "SystemExit"),
            (12, "class Odd:\n __repr__ = None\ndef look(settings, environment): return Odd()\n", "Odd (has no text)"),
            (13, "def look(settings, environment): return '/' + 'x' * 999\n", "'/xxx"),
        ],
    )
    def test_one_that_fails_is_named(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, text: str, said: str
    ) -> None:
        site = write_plugin(tmp_path / f"site{number}", text)
        monkeypatch.syspath_prepend(site)
        environment = make_environment(tmp_path, search_path=[site])
        error = fail(make_settings(tmp_path, toolchain_steps=("vault",)), environment)
        assert error.problems[0].code is Code.PLUGIN_FAILED
        assert f"the plug-in 'vault' of plugin_vault_site{number} failed" in str(error)
        assert said in str(error)

    def test_one_with_a_name_of_ours_is_refused(self, tmp_path: Path) -> None:
        site = write_plugin(tmp_path / "site9", "def look(settings, environment): return None\n", name="wheel")
        error = fail(make_settings(tmp_path), make_environment(tmp_path, search_path=[site]))
        assert error.problems[0].code is Code.PLUGIN_FAILED
        assert "'wheel' is taken by setuptools_cuda itself" in str(error)

    def test_two_of_one_name_are_refused_and_one_distribution_seen_twice_is_not(self, tmp_path: Path) -> None:
        text = "def look(settings, environment): return None\n"
        sites = [write_plugin(tmp_path / name, text) for name in ("site14", "site15", "more/site14")]
        plan_steps(make_settings(tmp_path), environment=make_environment(tmp_path, search_path=sites[::2]))
        error = fail(make_settings(tmp_path), make_environment(tmp_path, search_path=sites))
        assert error.problems[0].code is Code.PLUGIN_FAILED
        assert "'vault' is what a plug-in of plugin_vault_site14 is called too" in str(error)

    def test_entry_points_that_cannot_be_read_name_their_distribution(self, tmp_path: Path) -> None:
        site = write_plugin(tmp_path / "site16", "")
        (site / "plugin_vault_site16-1.0.dist-info/entry_points.txt").write_text("[a]\nno equals\n", "utf-8")
        error = fail(make_settings(tmp_path), make_environment(tmp_path, search_path=[site]))
        assert "the entry points of plugin_vault_site16 cannot be read" in str(error)

    def test_what_it_prints_is_no_answer_of_ours(
        self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
    ) -> None:
        site = write_plugin(
            tmp_path / "site17", "print('loading')\ndef look(settings, environment): print('looking')\n"
        )
        monkeypatch.syspath_prepend(site)
        settings = make_settings(tmp_path, toolchain_steps=("vault",))
        search_nvcc(settings, environment=make_environment(tmp_path, search_path=[site]))
        assert capsys.readouterr() == ("", "loading\nlooking\n")

    def test_is_not_asked_after_one_that_won(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        site = write_plugin(tmp_path / "site8", "def look(settings, environment): raise OSError('asked')\n")
        monkeypatch.syspath_prepend(site)
        nvcc = write_nvcc(tmp_path / "nvcc", "13.0")
        environment = make_environment(tmp_path, search_path=[site], NVCC=str(nvcc))
        search = search_nvcc(make_settings(tmp_path, toolchain_steps=(*STEPS, "vault")), environment=environment)
        assert verdicts(search)["vault"] == "not asked; an earlier step has one"


class TestPackagesOfOneMajorRelease:
    """What links with a PyTorch has to be of its CUDA: PyTorch itself refuses another toolkit."""

    @pytest.fixture
    def site(self, tmp_path: Path) -> Path:
        write_nvcc(tmp_path / "13/bin/nvcc", "13.0")
        write_nvcc(tmp_path / "12/bin/nvcc", "12.4")
        return write_torch(tmp_path / "site", "'12.8'")

    def test_it_decides_among_the_candidates(self, tmp_path: Path, site: Path) -> None:
        environment = make_environment(
            tmp_path, search_path=[site], CONDA_PREFIX=str(tmp_path / "13"), PATH=str(tmp_path / "12/bin")
        )
        search = search_nvcc(make_settings(tmp_path, uses=("torch",)), environment=environment)
        assert search.chosen is not None
        assert (search.chosen.step, str(search.chosen.version.release)) == ("path", "12.4")
        assert verdicts(search)["conda"] == "13.0 is not of CUDA 12, which torch is made for"

    def test_a_root_is_passed_over_with_a_note(self, tmp_path: Path, site: Path) -> None:
        environment = make_environment(
            tmp_path, search_path=[site], CUDA_HOME=str(tmp_path / "13"), CONDA_PREFIX=str(tmp_path / "12")
        )
        search = search_nvcc(make_settings(tmp_path, uses=("torch",)), environment=environment)
        assert search.chosen is not None
        assert search.chosen.step == "conda"
        why = "13.0 is not of CUDA 12, which torch is made for"
        assert search.notes == (f"CUDA_HOME={tmp_path / '13'} is passed over: {why}",)

    def test_an_nvcc_that_was_named_is_an_error(self, tmp_path: Path, site: Path) -> None:
        environment = make_environment(tmp_path, search_path=[site], NVCC=str(tmp_path / "13/bin/nvcc"))
        error = fail(make_settings(tmp_path, uses=("torch",)), environment)
        assert error.problems[0].code is Code.UNFIT_RELEASE
        assert "this nvcc is of toolkit 13.0, and torch is made for CUDA 12" in str(error)
        assert "name an nvcc of CUDA 12, or build with a torch for CUDA 13" in str(error)

    def test_where_none_fits_every_place_says_why(self, tmp_path: Path, site: Path) -> None:
        environment = make_environment(tmp_path, search_path=[site], CONDA_PREFIX=str(tmp_path / "13"))
        with pytest.raises(BuildError) as caught:
            resolve_toolchain(
                make_settings(tmp_path, uses=("torch",)), environment=environment, build_dir=tmp_path / "b"
            )
        assert caught.value.problems[0].code is Code.NO_COMPILER
        assert "13.0 is not of CUDA 12, which torch is made for" in str(caught.value)
        assert "torch is made for CUDA 12, and PyPI has no nvcc of CUDA 12" in str(caught.value)

    def test_only_what_is_linked_with_it_counts(self, tmp_path: Path, site: Path) -> None:
        environment = make_environment(tmp_path, search_path=[site], NVCC=str(tmp_path / "13/bin/nvcc"))
        module = KernelModule(module="demo.k", sources=("k.cu",))
        project = Project(toolchain_steps=STEPS, uses=("torch",))
        alone = Settings(root=tmp_path, project=project, kernel_modules=(module,))
        for settings in (make_settings(tmp_path), alone):
            assert search_nvcc(settings, environment=environment).chosen is not None


class TestNone:
    def test_the_message(self, tmp_path: Path) -> None:
        write_nvcc(tmp_path / "conda/bin/nvcc", "11.5")
        environment = make_environment(tmp_path, CONDA_PREFIX=str(tmp_path / "conda"))
        with pytest.raises(BuildError) as caught:
            resolve_toolchain(make_settings(tmp_path, cuda=">=12.4"), environment=environment, build_dir=tmp_path / "b")
        assert caught.value.problems[0].code is Code.NO_COMPILER
        label = f"CONDA_PREFIX={tmp_path / 'conda'}"
        spec, hint = '"cuda-toolkit[nvcc,cccl]==13.0.*"', "pip install 'cuda-toolkit[nvcc,cccl]==13.0.*'"
        assert str(caught.value).splitlines() == [
            "error: no CUDA compiler (nvcc) within >=12.4 for extension 'demo._native'",
            f"  looked at  {'nvcc setting':<{len(label)}}  not set",
            f"             {'NVCC, CUDACXX':<{len(label)}}  not set",
            f"             {'CUDA_HOME, CUDA_PATH, ...':<{len(label)}}  not set",
            f"             {'nvcc key':<{len(label)}}  not set",
            f"             {'nvidia-cuda-nvcc wheel':<{len(label)}}  not in this build environment",
            f"             {label}  11.5 is not within >=12.4",
            f"             {'PATH':<{len(label)}}  no nvcc",
            f"  to fix  add {spec} to build-system.requires (without build isolation: {hint}),",
            "          or point CUDA_HOME at a toolkit",
            "          setuptools-cuda doctor shows the whole search",
        ]

    def test_pip_has_none_either(self, tmp_path: Path) -> None:
        with pytest.raises(BuildError) as caught:
            resolve_toolchain(
                make_settings(tmp_path, cuda="<13"), environment=make_environment(tmp_path), build_dir=tmp_path / "b"
            )
        assert "install a toolkit and point CUDA_HOME at it; one from PyPI will not do: PyPI has no nvcc within" in str(
            caught.value
        )

    def test_find_gives_none(self, tmp_path: Path) -> None:
        build = tmp_path / "b"
        assert find_toolchain(make_settings(tmp_path), environment=make_environment(tmp_path), build_dir=build) is None
        assert not build.exists()

    def test_find_raises_for_what_is_set_and_unusable(self, tmp_path: Path) -> None:
        environment = make_environment(tmp_path, CUDA_HOME="/opt/none")
        with pytest.raises(BuildError) as caught:
            find_toolchain(make_settings(tmp_path), environment=environment, build_dir=tmp_path / "b")
        assert caught.value.problems[0].code is Code.UNUSABLE_SETTING


def test_a_wrapper_that_breaks_the_search_is_no_problem(tmp_path: Path, toolkit_nvcc: Path) -> None:
    """PATH holds a folder that cannot be read, one that is not there, and then a wrapper."""
    write_wrapper(tmp_path / "bin/nvcc", toolkit_nvcc)
    environment = make_environment(
        tmp_path, PATH=os.pathsep.join(["/none", "", str(tmp_path / "bin"), "/usr/bin", "/bin"])
    )
    search = search_nvcc(make_settings(tmp_path), environment=environment)
    assert search.chosen is not None
    assert search.chosen.nvcc == tmp_path / "bin/nvcc"
