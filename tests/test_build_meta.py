"""The backend: settings, the toolchain's wheels, and errors, through real front-ends."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest
from setuptools import build_meta as theirs
from setuptools_support import (
    BIND_CPP,
    EXTENSION,
    EXTENSION_FILES,
    KERNEL_FILES,
    KERNELS,
    STEPS,
    TABLE,
    Installation,
    full_installation,
    pyproject,
    shared_installation,
    wheel_names,
    wheel_text,
    write_project,
)

from setuptools_cuda import build_meta
from setuptools_cuda.frontends.session import find_session, open_session, without_ours

HOOKS = {
    "build_editable",
    "build_sdist",
    "build_wheel",
    "get_requires_for_build_editable",
    "get_requires_for_build_sdist",
    "get_requires_for_build_wheel",
    "prepare_metadata_for_build_editable",
    "prepare_metadata_for_build_wheel",
}
KERNEL_PROJECT = {**KERNEL_FILES, "pyproject.toml": pyproject(TABLE + KERNELS)}


@pytest.fixture(scope="session")
def installation(shared_folder: Path, our_wheel: Path) -> Installation:
    return full_installation(shared_folder, our_wheel)


@pytest.fixture(scope="session")
def without_toolkit(shared_folder: Path, our_wheel: Path) -> Installation:
    return shared_installation(shared_folder / "without-toolkit", [our_wheel, "setuptools"])


def test_every_hook_of_setuptools_is_there() -> None:
    assert set(build_meta.__all__) == HOOKS
    assert {name for name in theirs.__all__ if name.islower() and not name.startswith("_")} == HOOKS


class TestSession:
    def test_settings_are_parted(self) -> None:
        given = {"cuda.jobs": "2", "cuda.architectures": ["80", "90"], "cuda.required": None, "--build-option": ["-v"]}
        assert without_ours(given) == {"--build-option": ["-v"]}
        assert without_ours(None) is None
        assert find_session() is None
        with open_session(given) as session:
            assert find_session() is session
            assert session.settings == {"cuda.jobs": "2", "cuda.architectures": ["80", "90"], "cuda.required": ""}
        assert find_session() is None


class TestSettings:
    @pytest.mark.parametrize("value", ["75;90", ["75", "90"]])
    def test_a_setting_replaces_the_key(self, installation: Installation, tmp_path: Path, value: object) -> None:
        project = write_project(tmp_path, KERNEL_PROJECT)
        names = wheel_names(installation.wheel(project, settings={"cuda.architectures": value}))
        assert [name.split(".")[-2] for name in names if name.endswith(".cubin")] == ["sm_75", "sm_90"]

    @pytest.mark.parametrize(
        "hook", ["build_editable", "get_requires_for_build_sdist", "prepare_metadata_for_build_wheel"]
    )
    def test_an_unknown_one_is_an_error_in_every_hook(
        self, installation: Installation, tmp_path: Path, hook: str
    ) -> None:
        done = installation.hook(hook, write_project(tmp_path, KERNEL_PROJECT), settings={"cuda.archs": "80"})
        assert done.status == 1
        assert "cuda.archs" in done.output
        assert "Traceback" not in done.output

    def test_a_key_of_ours_without_its_prefix_is_an_error(self, installation: Installation, tmp_path: Path) -> None:
        done = installation.hook(
            "build_wheel", write_project(tmp_path, KERNEL_PROJECT), settings={"architectures": "80"}
        )
        assert done.status == 1
        assert "-C architectures: is no setting of setuptools" in done.output
        assert "did you mean -C cuda.architectures?" in done.output

    def test_setuptools_does_not_see_them_and_sees_the_others(self, installation: Installation, tmp_path: Path) -> None:
        project = write_project(tmp_path, KERNEL_PROJECT)
        settings = {"cuda.jobs": "1", "--build-option": ["--build-number", "7"]}
        assert installation.wheel(project, settings=settings).name == "demo-1.0-7-py3-none-any.whl"


class TestRequirements:
    @pytest.mark.parametrize("kind", ["wheel", "editable"])
    def test_a_toolkit_is_asked_for_where_there_is_none(
        self, without_toolkit: Installation, tmp_path: Path, kind: str
    ) -> None:
        project = write_project(tmp_path, KERNEL_PROJECT)
        asked, _ = without_toolkit.made(f"get_requires_for_build_{kind}", project)
        assert asked == ["cuda-toolkit[nvcc,cccl]==13.0.*"]

    def test_extensions_of_setup_py_count_too(self, without_toolkit: Installation, tmp_path: Path) -> None:
        setup = (
            "from setuptools import setup\nfrom setuptools_cuda import CudaExtension\n"
            "setup(ext_modules=[CudaExtension('demo._native', ['src/bind.cpp', 'src/saxpy.cu'])])\n"
        )
        files = {**EXTENSION_FILES, "setup.py": setup, "pyproject.toml": pyproject("")}
        asked, _ = without_toolkit.made("get_requires_for_build_wheel", write_project(tmp_path, files))
        assert [one.split("=")[0] for one in asked] == ["cuda-toolkit[nvcc,cccl]"]

    def test_none_where_there_is_one(self, installation: Installation, tmp_path: Path) -> None:
        assert installation.made("get_requires_for_build_wheel", write_project(tmp_path, KERNEL_PROJECT))[0] == []

    def test_none_for_sdist_and_metadata(self, without_toolkit: Installation, tmp_path: Path) -> None:
        project = write_project(tmp_path, KERNEL_PROJECT)
        assert without_toolkit.made("get_requires_for_build_sdist", project)[0] == []
        for hook in ("build_sdist", "prepare_metadata_for_build_wheel", "prepare_metadata_for_build_editable"):
            without_toolkit.made(hook, project)

    def test_none_for_a_project_that_is_not_ours(self, without_toolkit: Installation, tmp_path: Path) -> None:
        project = write_project(tmp_path, {"demo/__init__.py": "", "pyproject.toml": pyproject("")})
        assert without_toolkit.made("get_requires_for_build_wheel", project)[0] == []
        name, _ = without_toolkit.made("build_wheel", project)
        assert not [one for one in wheel_names(project / "dist" / str(name)) if "setuptools_cuda" in one]

    def test_in_the_build_itself_nothing_is_installed(self, without_toolkit: Installation, tmp_path: Path) -> None:
        done = without_toolkit.hook("build_wheel", write_project(tmp_path, KERNEL_PROJECT))
        assert done.status == 1
        assert "no CUDA compiler (nvcc)" in done.output
        assert "cuda-toolkit[nvcc,cccl]==13.0.*" in done.output
        assert "Traceback" not in done.output

    def test_a_project_can_do_without(self, without_toolkit: Installation, tmp_path: Path) -> None:
        table = EXTENSION + "\n[[tool.setuptools-cuda.override]]\nif = { cuda = false }\n"
        table += 'target = "demo._native"\ndefines = ["WITHOUT"]\n'
        table += '\n[[tool.setuptools-cuda.extension]]\nname = "demo._device"\nsources = ["src/*.cu"]\n'
        bind = '#ifdef WITHOUT\nextern "C" int launch_count(void) { return -1; }\n#endif\n' + BIND_CPP
        text = pyproject(table.replace("architectures", "required = false\narchitectures"))
        project = write_project(tmp_path, {**EXTENSION_FILES, "src/bind.cpp": bind, "pyproject.toml": text})
        no_pip = {"SETUPTOOLS_CUDA_TOOLCHAIN_STEPS": "wheel"}
        assert without_toolkit.made("get_requires_for_build_wheel", project, **no_pip)[0] == []
        for hook in ("build_wheel", "build_editable"):
            assert "demo._device" in without_toolkit.made(hook, project, **no_pip)[1]
        code = "import demo._native as n; print(n.count())"
        assert without_toolkit.succeed("-c", code, cwd=project) == "-1\n"


class TestBackends:
    def test_one_of_the_projects_own_that_wraps_ours(self, installation: Installation, tmp_path: Path) -> None:
        text = pyproject(TABLE + KERNELS, backend="backend").replace(
            'build-backend = "backend"', 'build-backend = "backend"\nbackend-path = ["tools"]'
        )
        backend = "from setuptools_cuda.build_meta import *\nprint('ours', 'build_wheel' in globals())\n"
        project = write_project(tmp_path, {**KERNEL_FILES, "pyproject.toml": text, "tools/backend.py": backend})
        assert installation.wheel(project, settings={"cuda.architectures": "90"}).exists()

    def test_metadata_before_the_wheel(self, installation: Installation, tmp_path: Path) -> None:
        project = write_project(tmp_path, KERNEL_PROJECT)
        code = (
            "import sys; from setuptools_cuda import build_meta as b; sys.argv = ['']\n"
            "folder = b.prepare_metadata_for_build_wheel('metadata')\n"
            "b.build_wheel('dist', None, 'metadata/' + folder)\n"
        )
        (project / "metadata").mkdir()
        installation.succeed("-c", code, cwd=project)
        (wheel,) = (project / "dist").glob("*.whl")
        assert json.loads(wheel_text(wheel, "dist-info/setuptools_cuda.json"))["schema"] == 1


class TestFrontEnds:
    """pip and uv with their own isolation: nothing is installed but what the project asks for."""

    @pytest.fixture
    def project(self, tmp_path: Path) -> Path:
        return write_project(tmp_path / "project", {**EXTENSION_FILES, "pyproject.toml": pyproject(EXTENSION)})

    def run(self, *command: str | Path, variables: Mapping[str, str], cwd: Path) -> tuple[int, str]:
        done = subprocess.run(
            [sys.executable, "-m", *map(str, command)], env={**variables, **STEPS}, cwd=cwd,
            stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False,
        )  # fmt: skip
        return done.returncode, done.stdout

    def test_pip(self, project: Path, our_wheel: Path, bare_environment: dict[str, str]) -> None:
        variables = {**bare_environment, "PIP_FIND_LINKS": str(our_wheel.parent)}
        status, said = self.run("pip", "wheel", "-v", "--no-deps", "-w", "out", ".", variables=variables, cwd=project)
        assert status == 0, said
        assert "cuda-toolkit" in said
        (wheel,) = (project / "out").glob("demo-*.whl")
        assert [name for name in wheel_names(wheel) if name.startswith("demo/_native")]

    def test_uv(self, project: Path, our_wheel: Path, bare_environment: dict[str, str]) -> None:
        command = ("uv", "build", "--wheel", "--python", sys.executable, "--find-links", our_wheel.parent, "-o", "out")
        settings = ("-C", "cuda.architectures=90", "-C", "cuda.jobs=1")
        status, said = self.run(*command, *settings, variables=bare_environment, cwd=project)
        assert status == 0, said
        (wheel,) = (project / "out").glob("demo-*.whl")
        manifest = json.loads(wheel_text(wheel, "dist-info/setuptools_cuda.json"))
        assert manifest["architectures"] == ["sm_90+PTX"]

    def test_errors_have_no_traceback(self, project: Path, our_wheel: Path, bare_environment: dict[str, str]) -> None:
        (project / "pyproject.toml").write_text(pyproject(EXTENSION + 'stdd = "c++17"\n'))
        variables = {**bare_environment, "PIP_FIND_LINKS": str(our_wheel.parent)}
        status, said = self.run("pip", "wheel", "--no-deps", ".", variables=variables, cwd=project)
        assert status != 0
        assert "did you mean 'std'?" in said
        assert "Traceback" not in said
        shutil.rmtree(project / "build", ignore_errors=True)
        command = ("uv", "build", "--wheel", "--python", sys.executable, "--find-links", our_wheel.parent)
        status, said = self.run(*command, variables=bare_environment, cwd=project)
        assert status != 0
        assert "did you mean 'std'?" in said
        assert "Traceback" not in said


def test_a_backend_without_its_entry_points_is_no_success(shared_folder: Path, tmp_path: Path) -> None:
    alone = shared_installation(shared_folder / "without-us", ["setuptools>=77", "ninja", "packaging"])
    project = write_project(tmp_path, KERNEL_PROJECT)
    code = "import setuptools_cuda.build_meta as backend; backend.build_wheel('out')"
    done = alone.run("-c", code, cwd=project, PYTHONPATH=str(Path(__file__).resolve().parent.parent))
    assert done.status != 0
    assert "setuptools did not call setuptools_cuda" in done.output
    assert not list(project.glob("out/*.whl"))
