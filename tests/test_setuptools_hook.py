"""The hook: what it costs a project that is not ours, and how our commands come beneath a project's own."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from pathlib import Path

import pytest
import setuptools
from setuptools.command.bdist_wheel import bdist_wheel
from setuptools.command.build import build
from setuptools.command.build_ext import build_ext
from setuptools_support import (
    ALL,
    ALL_FILES,
    KERNEL_FILES,
    KERNELS,
    TABLE,
    Installation,
    clean_variables,
    full_installation,
    make_installation,
    pyproject,
    write_project,
)

from setuptools_cuda.errors import BuildError
from setuptools_cuda.frontends import hook
from setuptools_cuda.frontends.build_cuda import build_cuda, undeclared
from setuptools_cuda.frontends.build_ext import BuildExt
from setuptools_cuda.frontends.commands import mix
from setuptools_cuda.frontends.compiler import read_host_commands
from setuptools_cuda.frontends.extension import CudaExtension

UNRELATED = {
    "pyproject.toml": pyproject("").replace(', "setuptools-cuda-build"', "").replace("setuptools_cuda.", "setuptools."),
    "demo/__init__.py": "",
    "demo/native.c": '#include <Python.h>\nstatic PyModuleDef module = {PyModuleDef_HEAD_INIT, "native"};\n'
    "PyMODINIT_FUNC PyInit_native(void) { return PyModule_Create(&module); }\n",
    "setup.py": "from setuptools import Extension, setup\n"
    "setup(ext_modules=[Extension('demo.native', ['demo/native.c'])])\n",
}


@pytest.fixture(scope="session")
def installation(shared_folder: Path, our_wheel: Path) -> Installation:
    return full_installation(shared_folder, our_wheel)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return an empty folder that is the current one."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def distribution(**words: object) -> setuptools.Distribution:
    """Return a Distribution as setuptools makes it where we are installed, which the tests' own environment may be."""
    made = setuptools.Distribution({"name": "demo", "packages": ["demo"]})
    for left in (hook.ATTRIBUTE, "get_command_class", "has_ext_modules", "has_pure_modules"):
        vars(made).pop(left, None)
    # Plug-ins of others in that environment have classes of their own.
    made.ext_modules, made.cmdclass = None, {}
    for word, value in words.items():
        setattr(made, word, value)
    hook.finalize(made)
    return made


class TestInertness:
    def test_an_unrelated_project_is_the_same_with_us_and_without(
        self, installation: Installation, tmp_path: Path
    ) -> None:
        make_installation(tmp_path / "without", requirements=["setuptools"])
        without = Installation(tmp_path / "without", clean_variables(tmp_path / "home"))
        digests = []
        for one in (installation, without):
            project = write_project(tmp_path / "project", UNRELATED)
            wheel = one.wheel(project, SOURCE_DATE_EPOCH="1700000000")
            digests.append(hashlib.sha256(wheel.read_bytes()).hexdigest())
            subprocess.run(["/bin/rm", "-rf", str(project)], check=True)
        # The debug information names the folder of the headers, which is the same for both.
        assert digests[0] == digests[1]

    def test_what_the_import_costs(self, capsys: pytest.CaptureFixture[str]) -> None:
        code = (
            "import setuptools, sys, time\n"
            "before, start = set(sys.modules), time.perf_counter()\n"
            "from setuptools_cuda.frontends import hook\n"
            "print(1000 * (time.perf_counter() - start), *(set(sys.modules) - before))"
        )
        root = Path(__file__).resolve().parent.parent
        done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=root)
        cost, *modules = done.stdout.split()
        with capsys.disabled():
            print(f" hook import: {float(cost):.1f} ms ", end="")
        assert set(modules) == {"setuptools_cuda", "setuptools_cuda.frontends", "setuptools_cuda.frontends.hook"}

    def test_a_project_that_is_not_ours_gets_its_own_classes_back(self, project: Path) -> None:
        dist = distribution(ext_modules=[setuptools.Extension("x", ["x.c"])])
        assert dist.get_command_class("build_ext") is build_ext
        assert dist.get_command_class("build") is build
        assert dist.get_command_class("bdist_wheel") is bdist_wheel
        assert dist.has_ext_modules() is True
        assert dist.cuda_project is None

    def test_to_be_mentioned_is_not_to_be_asked(self, project: Path) -> None:
        (project / "pyproject.toml").write_text(pyproject(""))
        assert distribution().get_command_class("build_ext") is build_ext

    def test_a_build_ext_that_knows_cuda_by_itself_keeps_its_projects(self, project: Path) -> None:
        torch = type("BuildExtension", (build_ext,), {"__module__": "torch.utils.cpp_extension"})
        extensions = [setuptools.Extension("x", ["x.cu"])]
        dist = distribution(ext_modules=extensions, cmdclass={"build_ext": torch})
        assert dist.get_command_class("build_ext") is torch
        (project / "x.cu").touch()
        ours = distribution(ext_modules=[CudaExtension("x", ["x.cu"])], cmdclass={"build_ext": torch})
        assert issubclass(ours.get_command_class("build_ext"), BuildExt)


class TestActivation:
    @pytest.mark.parametrize("one", [setuptools.Extension("x", ["a.c", "x.cu"]), CudaExtension("x", ["a.c"])])
    def test_by_an_extension_that_came_after_the_hook(self, project: Path, one: setuptools.Extension) -> None:
        dist = distribution()
        assert dist.get_command_class("build_ext") is build_ext
        dist.ext_modules = [one]
        assert issubclass(dist.get_command_class("build_ext"), BuildExt)

    def test_by_the_table(self, project: Path) -> None:
        write_project(project, {**ALL_FILES, "pyproject.toml": pyproject(ALL)})
        dist = distribution(ext_modules=[setuptools.Extension("other", ["other.c"])])
        assert [one.name for one in dist.ext_modules] == ["other", "demo._native"]
        assert dist.ext_modules[1].sources == ["src/saxpy.cpp", "src/saxpy.cu"]

    def test_the_hook_can_run_twice(self, project: Path) -> None:
        write_project(project, {**ALL_FILES, "pyproject.toml": pyproject(ALL)})
        dist = distribution()
        hook.finalize(dist)
        assert [one.name for one in dist.ext_modules] == ["demo._native"]
        assert mix("build_ext", build_ext) is dist.get_command_class("build_ext")

    def test_order(self) -> None:
        assert hook.finalize.order == 50


class TestMixing:
    def test_names_and_caching(self) -> None:
        made = mix("build_ext", build_ext)
        assert made is mix("build_ext", build_ext)
        assert made.command_name == "build_ext"

    def test_the_projects_class_comes_first_and_setuptools_last(self) -> None:
        mine = type("mine", (build_ext,), {})
        order = mix("build_ext", mine).__mro__
        assert [order.index(one) for one in (mine, BuildExt, build_ext)] == [1, 2, 3]

    def test_a_class_that_setuptools_is_derived_from(self) -> None:
        below = build_ext.__mro__[1]
        assert mix("build_ext", below).__mro__[1:3] == (BuildExt, build_ext)

    def test_setuptools_list_of_steps_stays_as_it_is(self, project: Path) -> None:
        write_project(project, {**ALL_FILES, "pyproject.toml": pyproject(ALL)})
        command = distribution().get_command_obj("build")
        assert command.get_sub_commands() == ["build_py", "build_ext", "build_cuda"]
        # Not so for every plug-in that may be in this environment.
        assert "build_cuda" not in [name for name, _ in build.sub_commands]

    def test_no_compiler_class_is_changed(self, project: Path) -> None:
        # Traps 2 and 4: src_extensions is a list of the class, and subclasses are found by setuptools.
        write_project(project, {**ALL_FILES, "pyproject.toml": pyproject(ALL)})
        command = distribution().get_command_obj("build_ext")
        command.build_extensions = lambda: None
        command.ensure_finalized()
        command.run()
        assert ".cu" not in command.compiler.src_extensions
        assert "setuptools_cuda" not in type(command.compiler).__module__


class TestSubCommand:
    """The protocol of setuptools' ``build`` steps, without a build."""

    def command(self, project: Path, table: str, *, toolkit_nvcc: Path, monkeypatch: pytest.MonkeyPatch) -> build_cuda:
        monkeypatch.setenv("SETUPTOOLS_CUDA_NVCC", str(toolkit_nvcc))
        write_project(project, {**ALL_FILES, **KERNEL_FILES, "pyproject.toml": pyproject(table)})
        command = build_cuda(distribution())
        command.ensure_finalized()
        return command

    def test_outputs_and_mapping(self, project: Path, toolkit_nvcc: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        command = self.command(project, ALL, toolkit_nvcc=toolkit_nvcc, monkeypatch=monkeypatch)
        outputs = [Path(one).relative_to(command.build_lib).as_posix() for one in command.get_outputs()]
        assert outputs == [
            "demo/include/saxpy.h",
            "demo/kernels.py",
            "demo/kernels_images/src/saxpy.compute_80.ptx",
            "demo/kernels_images/src/saxpy.sm_80.cubin",
            "demo/lib/cmake/saxpy/saxpyConfig.cmake",
            "demo/lib/libsaxpy.a",
            "demo/lib/pkgconfig/saxpy.pc",
        ]
        assert command.get_output_mapping() == {}
        command.editable_mode = True
        assert list(command.get_output_mapping()) == command.get_outputs()
        assert list(command.get_output_mapping().values()) == outputs

    def test_source_files_need_no_toolkit(self, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        command = self.command(project, TABLE + KERNELS, toolkit_nvcc=Path("/nowhere"), monkeypatch=monkeypatch)
        assert command.get_source_files() == ["kernels/saxpy.cu"]


def test_requirements_that_are_declared_are_not_asked_for_again() -> None:
    wanted = ["nvidia-cublas>=13", "nvidia-cuda-runtime>=13"]
    assert undeclared(wanted, declared=["NVIDIA_cublas[x]==13.*; python_version > '3'"]) == [wanted[1]]


class TestCompiler:
    def commands(self, project: Path, **options: str) -> tuple[build_ext, object]:
        dist = setuptools.Distribution({"name": "demo", "ext_modules": [setuptools.Extension("x", ["x.c"])]})
        command = build_ext(dist)
        for name, value in options.items():
            setattr(command, name, value)
        command.build_extensions = lambda: None
        command.ensure_finalized()
        command.run()
        return command, read_host_commands(command.compiler, debug=bool(command.debug), root=project)

    def test_options_of_the_command(self, project: Path) -> None:
        inside = project / "include"
        command, host = self.commands(
            project, define="A,B", undef="C", include_dirs=f"{inside}:/opt/include", libraries="m",
            library_dirs="/opt/lib", rpath="/opt/run", link_objects="x.o", debug="1",
        )  # fmt: skip
        assert host.c[: len(command.compiler.compiler_so)] == tuple(command.compiler.compiler_so)
        assert host.cxx[: len(command.compiler.compiler_so_cxx)] == tuple(command.compiler.compiler_so_cxx)
        for options in (host.c, host.cxx):
            assert [one for one in options if one in {"-g", "-DA=1", "-DB=1", "-UC"}][-4:] == [
                "-g",
                "-DA=1",
                "-DB=1",
                "-UC",
            ]
            assert "-Iinclude" in options
            assert "-I/opt/include" in options
        assert "-L/opt/lib" in host.link_cxx
        assert any("/opt/run" in one for one in host.link_c)
        assert host.libraries == ("x.o", "-lm")

    def test_an_empty_include_folder_of_an_environment_is_left_out(
        self, project: Path, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        (project / "venv/include/python3.11").mkdir(parents=True)
        monkeypatch.setattr(sys, "exec_prefix", str(project / "venv"))
        assert not [one for one in self.commands(project)[1].c if "venv/include" in one]
        (project / "venv/include/python3.11/greenlet.h").touch()
        assert [one for one in self.commands(project)[1].c if "venv/include" in one]

    def test_another_kind_of_compiler(self, project: Path) -> None:
        command, _ = self.commands(project)
        command.compiler.compiler_type = "msvc"
        with pytest.raises(BuildError, match=r"setuptools' 'msvc' compiler\n.*Windows is not supported yet"):
            read_host_commands(command.compiler, debug=False, root=project)
