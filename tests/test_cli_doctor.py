"""What doctor shows: on a healthy machine, and on machines with one thing wrong."""

from __future__ import annotations

import json
import os
import pty
import re
import subprocess
import sys
from pathlib import Path

import pytest
from cli_support import (
    NO_GPU,
    ROOT,
    STEPS,
    TABLE,
    check_schema,
    diagnose,
    list_tree,
    make_driver,
    make_nvml,
    run_command,
    write_project,
)
from toolchain_support import link_tree, site_of, write_gcc, write_nvcc, write_script

from setuptools_cuda.cli import screen_rich
from setuptools_cuda.cli.diagnosis import Machine
from setuptools_cuda.cli.doctor_screen import lay_out
from setuptools_cuda.cli.screen import render_plain
from setuptools_cuda.errors import Code
from setuptools_cuda.resolution.driver import Driver
from setuptools_cuda.resolution.values import Architecture, Release

H200 = Machine((Architecture(90),), "", Driver(Release(13, 0), "580.159.03", "libcuda.so.1"))


@pytest.fixture
def project(tmp_path: Path) -> Path:
    return write_project(tmp_path / "demo")


@pytest.fixture
def site(toolkit_nvcc: Path) -> Path:
    return site_of(toolkit_nvcc)


def make_newer_toolkit(folder: Path, nvcc: Path, release: str) -> Path:
    """Make a toolkit that works, and takes itself for another release; return its nvcc."""
    root = link_tree(nvcc.parent.parent, folder / "cuda")
    line = f"Cuda compilation tools, release {release}, V{release}.99"
    run = f"exec '{root / 'bin/nvcc'}' \"$@\""
    return write_script(folder / "nvcc", f"if [ \"$1\" = --version ]; then echo '{line}'; else {run}; fi")


class TestHealthy:
    def test_everything_is_shown_and_nothing_is_wrong(self, project: Path, site: Path) -> None:
        found = diagnose(project, search_path=[site])
        assert found.good
        assert found.candidates[0].verdict == "chosen"
        assert found.candidates[0].step == "wheel"
        assert {each.step for each in found.candidates} == {
            "setting", "compiler-env", "root-env", "project", "wheel", "conda", "path",
        }  # fmt: skip
        assert found.project.targets == ("extension 'demo'",)
        assert found.host is not None
        assert found.host.taken
        assert found.host.range is not None
        assert found.host.range.gcc == 15
        assert found.requirements == ("cuda-toolkit[nvcc,cccl]==13.0.*",)
        text = render_plain(lay_out(found))
        assert "sm_80, sm_90a, sm_120+PTX" in text
        assert "tool.setuptools-cuda.architectures" in text
        assert text.endswith("what is wrong   nothing")

    def test_it_fits_on_a_screen(self, project: Path, site: Path) -> None:
        assert len(render_plain(lay_out(diagnose(project, search_path=[site]))).splitlines()) < 45

    def test_without_a_project_the_defaults_are_shown(self, tmp_path: Path, site: Path) -> None:
        found = diagnose(tmp_path, search_path=[site])
        assert found.good
        assert found.project.table == "no pyproject.toml here; the defaults are shown"
        assert found.architectures is not None
        assert found.architectures.found_via.text == "default (all-major)"

    def test_what_it_does_not_see_is_said(self, project: Path, site: Path) -> None:
        (project / "setup.py").touch()
        assert diagnose(project, search_path=[site]).notes == ("targets that setup.py declares are not seen here",)

    def test_a_setting_counts_as_in_a_build(self, project: Path, site: Path) -> None:
        found = diagnose(project, search_path=[site], settings={"cuda.architectures": "90"})
        assert found.architectures is not None
        assert found.architectures.found_via.text == "-C cuda.architectures"

    def test_the_command(self, project: Path, bare_environment: dict[str, str]) -> None:
        before = list_tree(project)
        ran = run_command("doctor", "--json", cwd=project, env={**bare_environment, **STEPS})
        assert (ran.status, ran.err) == (0, "")
        document = json.loads(ran.out)
        check_schema(document)
        assert document["schema"] == 1
        assert document["versions"]["ninja"]
        assert document["toolchain"]["usable"]
        assert run_command("doctor", cwd=project, env={**bare_environment, **STEPS}).status == 0
        assert list_tree(project) == before

    def test_setuptools_is_not_imported(self, project: Path, bare_environment: dict[str, str]) -> None:
        code = (
            "import sys; from setuptools_cuda.cli.main import main\n"
            "main(['doctor']); main(['plan'])\n"
            "sys.exit(bool({'setuptools', 'distutils', 'rich'} & set(sys.modules)))"
        )
        env = {**bare_environment, **STEPS, "PYTHONPATH": str(ROOT)}
        subprocess.run([sys.executable, "-c", code], cwd=project, env=env, stdout=subprocess.DEVNULL, check=True)


class TestNoCuda:
    def test_what_to_do_is_said_once(self, project: Path) -> None:
        found = diagnose(project)
        (problem,) = found.problems
        assert problem.code is Code.NO_COMPILER
        assert problem.what == "no CUDA compiler (nvcc) for extension 'demo'"
        assert problem.details == ()
        assert problem.fix[0].startswith("nothing for `pip install .`, whose isolated build gets a toolkit from pip")
        assert 'add "cuda-toolkit[nvcc,cccl]==13.0.*" to build-system.requires' in problem.fix[1]
        assert found.requirements == ("cuda-toolkit[nvcc,cccl]==13.0.*",)
        assert (found.toolchain, found.chosen) == (None, None)
        assert "CUDA 13.0, which pip would bring" in render_plain(lay_out(found))

    def test_the_command_on_a_bare_python(
        self, project: Path, tmp_path: Path, bare_environment: dict[str, str]
    ) -> None:
        """A Python with nothing installed but what we ask for."""
        bare = tmp_path / "bare"
        bare.mkdir()
        for name in ("packaging", "ninja", "tomli"):
            found = next((Path(folder, name) for folder in sys.path if Path(folder, name).is_dir()), None)
            if found is not None:
                (bare / name).symlink_to(found)
        path = os.pathsep.join((str(ROOT), str(bare)))
        ran = run_command("doctor", cwd=project, env={**bare_environment, **STEPS}, options=["-S"], path=path)
        assert (ran.status, ran.err) == (1, "")
        assert "toolkit   none" in ran.out
        assert "not in this build environment" in ran.out
        assert "pip (not installed)" in ran.out
        assert "to fix  nothing for `pip install .`" in ran.out

    def test_a_backend_that_asks_for_no_toolkit(self, project: Path) -> None:
        file = project / "pyproject.toml"
        file.write_text(file.read_text("utf-8").replace("setuptools_cuda.build_meta", "setuptools.build_meta"), "utf-8")
        (problem,) = diagnose(project).problems
        assert 'add "cuda-toolkit[nvcc,cccl]==13.0.*" to build-system.requires' in problem.fix[0]

    def test_no_compiler_at_all(self, project: Path) -> None:
        found = diagnose(project, PATH="/nowhere")
        assert [problem.code for problem in found.problems] == [Code.NO_HOST_COMPILER, Code.NO_COMPILER]
        assert found.host is None

    def test_not_wrong_where_the_project_does_without(self, tmp_path: Path) -> None:
        project = write_project(tmp_path / "demo", TABLE.replace("architectures", "required = false\narchitectures"))
        found = diagnose(project)
        assert found.good
        assert "the project is built without CUDA where there is no toolkit (required = false)" in found.notes

    def test_not_wrong_where_nothing_needs_it(self, tmp_path: Path) -> None:
        project = write_project(tmp_path / "demo", TABLE.replace("saxpy.cu", "a.cpp"))
        (project / "src/a.cpp").write_text("", "utf-8")
        found = diagnose(project)
        assert found.good
        assert found.notes == ("no target of the project needs a toolkit",)

    def test_what_pypi_does_not_have(self, tmp_path: Path) -> None:
        project = write_project(tmp_path / "demo", TABLE.replace("architectures", 'cuda = "<13"\narchitectures'))
        found = diagnose(project)
        assert "PyPI has no nvcc within `cuda` = '<13'" in found.problems[0].fix[0]
        assert found.requirements == ()
        assert found.architectures is None
        assert "not known without a toolkit" in render_plain(lay_out(found))


KERNELS = (
    TABLE[: TABLE.index("[[")]
    + """\
[[tool.setuptools-cuda.kernel-module]]
module = "demo.kernels"
sources = ["src/*.cu"]
"""
)


class TestKernelsAlone:
    """What a build does not need is not called a fault."""

    def test_nvrtc_needs_no_host_compiler(self, tmp_path: Path, site: Path) -> None:
        found = diagnose(write_project(tmp_path / "demo", KERNELS), search_path=[site], PATH="/nowhere")
        assert found.good
        assert (found.needs_nvcc, found.needs_host, found.host) == (False, False, None)
        assert found.device is not None
        assert found.device.release == found.release
        text = render_plain(lay_out(found))
        assert f"kernels   by nvrtc of CUDA {found.device.release}" in text
        assert "which no target here needs" in text
        assert "none; none is needed here" in text
        assert any("no C++ compiler" in note for note in found.notes)

    def test_an_nvcc_that_cannot_be_used_is_no_fault_either(
        self, tmp_path: Path, site: Path, toolkit_nvcc: Path
    ) -> None:
        project = write_project(tmp_path / "demo", KERNELS.replace("sources", 'device-compiler = "nvrtc"\nsources'))
        root = link_tree(toolkit_nvcc.parent.parent, tmp_path / "cuda", without=["include/crt"])
        found = diagnose(project, search_path=[site], PATH=f"{root / 'bin'}:/usr/bin:/bin")
        assert found.good
        assert found.needs_nvcc is False

    def test_nor_is_a_host_compiler_that_is_too_new(self, tmp_path: Path, site: Path) -> None:
        project = write_project(tmp_path / "demo", KERNELS.replace("sources", 'device-compiler = "nvrtc"\nsources'))
        write_gcc(tmp_path / "new/g++-99", 99)
        (tmp_path / "new/c++").symlink_to("g++-99")
        found = diagnose(project, search_path=[site], PATH=str(tmp_path / "new"))
        assert found.good
        assert found.requirements == ("cuda-toolkit[cccl,crt,cudart,nvrtc]==13.0.*",)

    def test_no_nvrtc_is_the_only_fault(self, tmp_path: Path) -> None:
        found = diagnose(write_project(tmp_path / "demo", KERNELS), PATH="/nowhere")
        (problem,) = found.problems
        assert problem.code is Code.NO_COMPILER
        assert problem.what == "no device compiler for kernel module 'demo.kernels': it needs nvrtc"
        assert "pip install 'cuda-toolkit[cccl,crt,cudart,nvrtc]==13.0.*'" in problem.fix[1]

    def test_with_a_host_compiler_nvcc_is_needed(self, tmp_path: Path) -> None:
        found = diagnose(write_project(tmp_path / "demo", KERNELS))
        assert (found.needs_nvcc, found.needs_host) == (True, True)
        assert [problem.what for problem in found.problems] == [
            "no CUDA compiler (nvcc) for kernel module 'demo.kernels'"
        ]


class TestHostCompiler:
    def test_too_new_and_alone(self, project: Path, site: Path, tmp_path: Path) -> None:
        write_gcc(tmp_path / "new/g++-99", 99)
        (tmp_path / "new/c++").symlink_to("g++-99")
        found = diagnose(project, search_path=[site], PATH=str(tmp_path / "new"))
        (problem,) = found.problems
        assert problem.code is Code.UNFIT_HOST_COMPILER
        assert found.toolchain is None
        assert found.chosen is not None
        assert found.host is not None
        assert (found.host.taken, found.host.name[:6]) == (False, "gcc 99")
        text = render_plain(lay_out(found))
        assert "CUDA 13.0" in text
        assert "which the toolkit does not take" in text
        assert "gcc up to 15, clang newer than 3.2 and up to 20" in text
        assert "install g++-15 or older" in text

    def test_a_sibling_is_taken_and_said(self, project: Path, site: Path, tmp_path: Path) -> None:
        write_gcc(tmp_path / "new/c++", 99)
        write_gcc(tmp_path / "new/g++-14", 14)
        found = diagnose(project, search_path=[site], PATH=f"{tmp_path / 'new'}:/usr/bin:/bin")
        assert found.good
        assert found.host is not None
        assert found.host.path == tmp_path / "new/g++-14"
        assert any("g++-14 is used: toolkit 13.0 does not take gcc 99" in note for note in found.notes)


class TestDriver:
    def test_none_is_needed(self, project: Path, site: Path) -> None:
        found = diagnose(project, search_path=[site])
        assert found.ptx is not None
        assert (found.ptx.isa, found.ptx.needs, found.ptx.loads) == ((9, 0), Release(13, 0), None)

    def test_one_that_is_new_enough(self, project: Path, site: Path) -> None:
        found = diagnose(project, search_path=[site], machine=H200)
        assert found.good
        assert found.ptx is not None
        assert found.ptx.loads
        assert "580.159.03, for CUDA 13.0 (by libcuda.so.1)" in render_plain(lay_out(found))

    def test_ptx_newer_than_the_driver(self, project: Path, toolkit_nvcc: Path, tmp_path: Path) -> None:
        nvcc = make_newer_toolkit(tmp_path, toolkit_nvcc, "13.5")
        found = diagnose(project, machine=H200, NVCC=str(nvcc))
        (problem,) = found.problems
        assert problem.code is Code.DRIVER_TOO_OLD
        assert problem.what == "PTX of this toolkit will not load on this machine's driver"
        assert dict(problem.details) == {
            "PTX": "CUDA 13.5 writes version 9.5, which drivers for CUDA 13.5 and newer translate",
            "driver": "for CUDA 13.0 (version 580.159.03)",
            "loads": "machine code, where it is of this GPU's architecture",
        }
        assert 'cuda = "<=13.0"' in problem.fix[0]

    def test_machine_code_alone_is_no_trouble(self, tmp_path: Path, toolkit_nvcc: Path) -> None:
        project = write_project(tmp_path / "demo", TABLE.replace('"80", "90a", "120"', '"90-real"'))
        nvcc = make_newer_toolkit(tmp_path, toolkit_nvcc, "13.5")
        found = diagnose(project, machine=H200, NVCC=str(nvcc))
        assert found.good
        assert found.ptx is not None
        assert not found.ptx.loads

    def test_a_driver_of_an_older_major_loads_nothing(
        self, project: Path, tmp_path: Path, bare_environment: dict[str, str]
    ) -> None:
        """A libcuda that really is loaded, by a process of its own."""
        driver = make_driver(tmp_path / "driver", 12080)
        env = {**bare_environment, **STEPS, "LD_LIBRARY_PATH": str(driver)}
        ran = run_command("doctor", "--json", cwd=project, env=env)
        document = json.loads(ran.out)
        check_schema(document)
        assert ran.status == 1
        assert document["machine"] == {
            "gpus": ["90"],
            "driver": {"cuda": "12.8", "version": None, "found_via": "libcuda.so.1"},
        }
        assert document["ptx"] == {"isa": "9.0", "needs": "13.0", "loads": False, "machine_code_loads": False}
        (problem,) = document["problems"]
        assert problem["code"] == "driver-too-old"
        assert problem["what"] == "PTX and machine code of this toolkit will not load on this machine's driver"

    def test_native_is_the_gpu_that_answers(self, tmp_path: Path, bare_environment: dict[str, str]) -> None:
        project = write_project(tmp_path / "demo", TABLE.replace('"80", "90a", "120"', '"native"'))
        make_nvml(make_driver(tmp_path / "driver", 13000), 13000)
        env = {**bare_environment, **STEPS, "LD_LIBRARY_PATH": str(tmp_path / "driver")}
        document = json.loads(run_command("doctor", "--json", cwd=project, env=env).out)
        assert document["good"]
        assert document["architectures"]["codes"] == [{"architecture": "90", "real": True, "virtual": True}]
        assert document["machine"]["driver"]["version"] == "580.159.03"

    def test_native_without_a_gpu(self, tmp_path: Path, site: Path) -> None:
        project = write_project(tmp_path / "demo", TABLE.replace('"80", "90a", "120"', '"native"'))
        found = diagnose(project, search_path=[site])
        (problem,) = found.problems
        assert (problem.code, problem.details) == (Code.NO_GPU, (("why", "none"),))


class TestToolkit:
    def test_a_partial_one(self, project: Path, toolkit_nvcc: Path, tmp_path: Path) -> None:
        root = link_tree(
            toolkit_nvcc.parent.parent, tmp_path / "cuda", without=["include/crt", "include/cccl", "include/nv", "nvvm"]
        )
        found = diagnose(project, CUDA_HOME=str(root))
        (problem,) = found.problems
        assert (problem.code, problem.what) == (Code.PARTIAL_TOOLKIT, "the toolkit lacks crt, nvvm, cccl")
        assert found.chosen is not None
        assert found.toolchain is None
        assert found.host is not None
        assert (found.host.taken, found.host.range) == (None, None)
        assert found.architectures is not None
        assert "which cannot be used as it is (see below)" in render_plain(lay_out(found))

    def test_one_that_is_named_and_broken_does_not_hide_the_others(self, project: Path, site: Path) -> None:
        found = diagnose(project, search_path=[site], CUDA_HOME="/opt/gone")
        (problem,) = found.problems
        assert problem.code is Code.UNUSABLE_SETTING
        verdicts = {each.step: each.verdict for each in found.candidates}
        assert verdicts["root-env"] == "/opt/gone/bin/nvcc does not exist"
        assert verdicts["wheel"] == "not asked"
        assert found.chosen is None

    def test_an_unknown_step_is_a_finding(self, project: Path) -> None:
        found = diagnose(project, SETUPTOOLS_CUDA_TOOLCHAIN_STEPS="weel")
        assert [problem.code for problem in found.problems] == [Code.BAD_VALUE]
        assert found.candidates == ()

    def test_options_of_nvcc_that_a_build_decides(self, project: Path, site: Path) -> None:
        found = diagnose(project, search_path=[site], NVCC_APPEND_FLAGS="-arch=sm_80")
        assert [problem.where for problem in found.problems] == ["NVCC_APPEND_FLAGS=-arch=sm_80"]

    @pytest.mark.parametrize("options", ["--bogus", "--version", "other.cu", "-optf gone.txt"])
    def test_options_of_nvcc_with_which_it_compiles_nothing(self, project: Path, site: Path, options: str) -> None:
        (problem,) = diagnose(project, search_path=[site], NVCC_PREPEND_FLAGS=options).problems
        assert problem.code is Code.UNUSABLE_SETTING
        assert problem.where == f"NVCC_PREPEND_FLAGS={options}"


class TestAgreement:
    """What a build would fail over before it compiles anything is a fault here too."""

    @pytest.mark.parametrize(
        ("keys", "variables", "code"),
        [
            ("", {"NVCC_FLAGS": "-arch=sm_80"}, Code.RESERVED_FLAG),
            ("", {"CFLAGS": "'"}, Code.UNUSABLE_SETTING),
            ("", {"CC": "'gcc"}, Code.UNUSABLE_SETTING),
            ("", {"SOURCE_DATE_EPOCH": "today"}, Code.UNUSABLE_SETTING),
            ("", {"SETUPTOOLS_CUDA_LAUNCHER": "no-such-ccache"}, Code.UNUSABLE_SETTING),
            ('uses = ["nothing-of-the-kind"]', {}, Code.UNKNOWN_PACKAGE),
            ('architectures = ["121"]', {"CUDAARCHS": "80"}, Code.NO_ARCHITECTURE_LEFT),
            ('architectures = ["90f"]', {"CUDAARCHS": "90"}, Code.UNKNOWN_ARCHITECTURE),
        ],
    )
    def test_a_fault_of_planning(
        self, tmp_path: Path, site: Path, keys: str, variables: dict[str, str], code: Code
    ) -> None:
        found = diagnose(write_project(tmp_path / "demo", TABLE + keys + "\n"), search_path=[site], **variables)
        assert [problem.code for problem in found.problems] == [code]

    def test_formats_without_an_image(self, tmp_path: Path, site: Path) -> None:
        project = write_project(tmp_path / "demo", KERNELS)
        assert diagnose(project, search_path=[site], CUDAARCHS="80").good
        assert not diagnose(project, search_path=[site], CUDAARCHS="80-real").good

    def test_a_link_that_leads_to_itself_hides_no_source(self, project: Path, site: Path) -> None:
        (project / "loop").symlink_to("loop")
        assert diagnose(project, search_path=[site]).good


class TestConfiguration:
    def test_errors_are_findings_and_the_rest_is_shown(self, tmp_path: Path, site: Path) -> None:
        table = TABLE.replace("architectures = ", "std = 17\narchitecturs = ")
        found = diagnose(write_project(tmp_path / "demo", table), search_path=[site])
        assert [problem.code for problem in found.problems] == [Code.WRONG_TYPE, Code.UNKNOWN_KEY]
        assert found.toolchain is not None
        assert found.project.table == "[tool.setuptools-cuda] cannot be used as it is; the defaults are shown"

    def test_what_is_not_toml(self, tmp_path: Path, site: Path) -> None:
        found = diagnose(write_project(tmp_path / "demo", "[tool"), search_path=[site])
        assert [problem.code for problem in found.problems] == [Code.BAD_PYPROJECT]

    def test_settings_outside_count_where_the_table_is_wrong(self, tmp_path: Path, toolkit_nvcc: Path) -> None:
        project = write_project(tmp_path / "demo", TABLE.replace("architectures", "architecturs"))
        found = diagnose(project, SETUPTOOLS_CUDA_NVCC=str(toolkit_nvcc))
        assert found.chosen is not None
        assert found.chosen.step == "setting"

    def test_a_wrong_variable(self, project: Path, site: Path) -> None:
        found = diagnose(project, search_path=[site], SETUPTOOLS_CUDA_JOBS="many")
        assert found.problems[0].where == "SETUPTOOLS_CUDA_JOBS"
        assert found.toolchain is not None
        assert found.project.table == "[tool.setuptools-cuda], without SETUPTOOLS_CUDA_JOBS"
        assert found.project.targets

    def test_a_file_in_the_place_of_the_build_folder(self, project: Path, site: Path) -> None:
        (project / "build").touch()
        (problem,) = diagnose(project, search_path=[site]).problems
        assert (problem.what, problem.where) == (
            "a file is where the build makes a folder",
            str(project / "build"),
        )


class TestConflicts:
    def test_cuda_home_against_path(self, project: Path, toolkit_nvcc: Path, tmp_path: Path) -> None:
        other = write_nvcc(tmp_path / "other/nvcc", "12.4")
        root = toolkit_nvcc.parent.parent
        path = f"{other.parent}:/usr/bin:/bin"
        found = diagnose(project, CUDA_HOME=str(root), CUDA_PATH="/opt/old", PATH=path)
        assert found.good
        assert found.chosen is not None
        assert found.chosen.step == "root-env"
        assert found.notes == (
            f"CUDA_PATH=/opt/old differs from CUDA_HOME={root}, which decides",
            f"nvcc on PATH is {other}, not the one in CUDA_HOME={root}, which decides",
        )

    def test_one_nvcc_by_two_ways_is_no_conflict(self, project: Path, toolkit_nvcc: Path) -> None:
        root = toolkit_nvcc.parent.parent
        assert diagnose(project, CUDA_HOME=str(root), PATH=f"{root / 'bin'}:/usr/bin:/bin").notes == ()

    def test_torchs_list_against_cmakes_and_the_project(self, project: Path, site: Path) -> None:
        found = diagnose(project, search_path=[site], TORCH_CUDA_ARCH_LIST="8.0;9.0+PTX", CUDAARCHS="90")
        assert found.architectures is not None
        assert found.architectures.found_via.text == "CUDAARCHS"
        assert found.notes == (
            "TORCH_CUDA_ARCH_LIST=8.0;9.0+PTX is not looked at: CUDAARCHS=90 comes first",
            "the key 'architectures' of the project gives way to CUDAARCHS",
        )

    def test_the_projects_host_compiler_against_the_environment(self, tmp_path: Path, site: Path) -> None:
        table = TABLE.replace("architectures =", 'host-compiler = "clang++"\narchitectures =')
        found = diagnose(write_project(tmp_path / "demo", table), search_path=[site], CUDAHOSTCXX="/usr/bin/g++")
        assert "the key 'host-compiler' of the project gives way to CUDAHOSTCXX=/usr/bin/g++" in found.notes

    def test_our_variable_against_the_project(self, project: Path, site: Path) -> None:
        found = diagnose(project, search_path=[site], SETUPTOOLS_CUDA_ARCHITECTURES="75", CUDAARCHS="90")
        assert found.architectures is not None
        assert found.architectures.found_via.text == "SETUPTOOLS_CUDA_ARCHITECTURES"
        assert ("SETUPTOOLS_CUDA_ARCHITECTURES", "75", "is the key 'architectures'") in [
            (each.name, each.value, each.role) for each in found.variables
        ]

    def test_the_projects_nvcc_against_cuda_home(self, tmp_path: Path, toolkit_nvcc: Path) -> None:
        write_nvcc(tmp_path / "demo/tools/nvcc", "13.0")
        project = write_project(tmp_path / "demo", TABLE.replace("arch", 'nvcc = "tools/nvcc"\narch', 1))
        found = diagnose(project, CUDA_HOME=str(toolkit_nvcc.parent.parent))
        assert found.chosen is not None
        assert found.chosen.step == "root-env"
        assert {each.where: each.verdict for each in found.candidates}["nvcc = 'tools/nvcc'"] == "not needed"


def words(text: str) -> list[str]:
    return re.sub(r"\x1b\[[0-9;]*m", "", text).split()


class TestLooks:
    def test_both_renderers_say_the_same(
        self, project: Path, site: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
    ) -> None:
        monkeypatch.setenv("COLUMNS", "400")
        screen = lay_out(diagnose(project, search_path=[site], CUDA_PATH="/opt/[bold]x[/bold]"))
        screen_rich.show(screen)
        assert words(capsys.readouterr().out) == words(render_plain(screen))

    @pytest.mark.parametrize(
        ("changes", "coloured"), [({}, True), ({"NO_COLOR": "1"}, False), ({"TERM": "dumb"}, False)]
    )
    def test_colour_on_a_terminal(
        self, project: Path, bare_environment: dict[str, str], changes: dict[str, str], coloured: bool
    ) -> None:
        env = {**bare_environment, **STEPS, "TERM": "xterm", "COLUMNS": "200", "PYTHONPATH": str(ROOT), **changes}
        shown = run_on_terminal([sys.executable, "-m", "setuptools_cuda", "doctor"], cwd=project, env=env)
        assert ("\x1b[" in shown) is coloured
        assert words(shown)[-4:] == ["what", "is", "wrong", "nothing"]

    def test_letters_that_the_output_cannot_hold(self, tmp_path: Path, bare_environment: dict[str, str]) -> None:
        project = write_project(tmp_path / "grün\udcff")
        env = {**bare_environment, **STEPS, "PYTHONIOENCODING": "ascii"}
        ran = run_command("doctor", cwd=project, env=env)
        assert ran.status == 0
        assert "gr\\xfcn" in ran.out
        check_schema(json.loads(run_command("doctor", "--json", cwd=project, env=env).out))


def run_on_terminal(argv: list[str], *, cwd: Path, env: dict[str, str]) -> str:
    """Run a program whose output is a terminal, and return what it showed."""
    ours, theirs = pty.openpty()
    with subprocess.Popen(argv, cwd=cwd, env=env, stdout=theirs, stderr=subprocess.STDOUT) as running:
        os.close(theirs)
        shown = b""
        # The end of a terminal is an error on Linux.
        while chunk := read_some(ours):
            shown += chunk
        assert running.wait() == 0, shown
    os.close(ours)
    return shown.decode("utf-8")


def read_some(file: int) -> bytes:
    try:
        return os.read(file, 65536)
    except OSError:
        return b""


def test_no_gpu_is_said_with_its_reasons(tmp_path: Path) -> None:
    machine = Machine((), "NVML: nvidia-ml-py is not installed", None)
    text = render_plain(lay_out(diagnose(tmp_path, machine=machine)))
    assert "none answers (NVML: nvidia-ml-py is not installed); none is needed to build" in text
    assert NO_GPU.driver is None
