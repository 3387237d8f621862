"""What a front-end is asked to install: the oldest toolkit on PyPI that serves, or nothing."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from toolchain_support import STEPS, make_environment, make_settings, site_of, write_gcc, write_nvcc, write_torch

from setuptools_cuda.config.model import Extension, Flags, KernelModule, Library, Origin, Override, Project, Settings
from setuptools_cuda.environment import Environment
from setuptools_cuda.errors import BuildError, Code
from setuptools_cuda.resolution.pip_step import (
    plan_requirements,
    render_install_hint,
    render_requirement,
)

SETTING = {"architectures": Origin("environment", "SETUPTOOLS_CUDA_ARCHITECTURES")}


def plan(settings: Settings, environment: Environment) -> tuple[str, ...]:
    return plan_requirements(settings, environment=environment)


def refuse(settings: Settings, environment: Environment) -> BuildError:
    with pytest.raises(BuildError) as caught:
        plan_requirements(settings, environment=environment)
    return caught.value


def with_targets(tmp_path: Path, *targets: Extension | Library | KernelModule, **project: object) -> Settings:
    return Settings(
        root=tmp_path,
        project=Project(**{"toolchain_steps": STEPS, **project}),
        extensions=tuple(each for each in targets if isinstance(each, Extension)),
        libraries=tuple(each for each in targets if isinstance(each, Library)),
        kernel_modules=tuple(each for each in targets if isinstance(each, KernelModule)),
    )


class TestNothing:
    def test_no_target_needs_a_toolkit(self, tmp_path: Path) -> None:
        host = Extension(name="demo.a", sources=("a.cpp", "b.pyx"), link=("util",))
        assert plan(with_targets(tmp_path, host), make_environment(tmp_path)) == ()

    def test_there_is_an_nvcc(self, tmp_path: Path) -> None:
        write_nvcc(tmp_path / "cuda/bin/nvcc", "12.4")
        assert plan(make_settings(tmp_path), make_environment(tmp_path, CUDA_HOME=str(tmp_path / "cuda"))) == ()
        assert plan(make_settings(tmp_path), make_environment(tmp_path, PATH=str(tmp_path / "cuda/bin"))) == ()

    def test_there_is_a_wheel(self, tmp_path: Path, toolkit_nvcc: Path) -> None:
        assert plan(make_settings(tmp_path), make_environment(tmp_path, search_path=[site_of(toolkit_nvcc)])) == ()

    def test_the_step_is_left_out(self, tmp_path: Path) -> None:
        settings = make_settings(tmp_path, toolchain_steps=("path", "wheel"))
        assert plan(settings, make_environment(tmp_path)) == ()

    def test_cuda_is_not_required_and_the_step_not_named(self, tmp_path: Path) -> None:
        optional = make_settings(tmp_path, required=False, toolchain_steps=None)
        assert plan(optional, make_environment(tmp_path)) == ()
        assert plan(make_settings(tmp_path, required=False), make_environment(tmp_path)) != ()


class TestOldest:
    def test_of_all(self, tmp_path: Path) -> None:
        assert plan(make_settings(tmp_path), make_environment(tmp_path)) == ("cuda-toolkit[nvcc,cccl]==13.0.*",)

    @pytest.mark.parametrize(
        ("cuda", "release"),
        [(">=12.4", "13.0"), (">=13.2", "13.2"), ("==13.5.*", "13.5"), ("!=13.0.*", "13.1"), (">13.0,<14", "13.1")],
    )
    def test_within_cuda(self, tmp_path: Path, cuda: str, release: str) -> None:
        expected = (f"cuda-toolkit[nvcc,cccl]=={release}.*",)
        assert plan(make_settings(tmp_path, cuda=cuda), make_environment(tmp_path)) == expected

    def test_an_nvcc_outside_cuda_does_not_count(self, tmp_path: Path) -> None:
        write_nvcc(tmp_path / "bin/nvcc", "11.5")
        environment = make_environment(tmp_path, PATH=f"{tmp_path / 'bin'}:/usr/bin:/bin")
        assert plan(make_settings(tmp_path, cuda=">=12"), environment) == ("cuda-toolkit[nvcc,cccl]==13.0.*",)

    @pytest.mark.parametrize(("name", "value"), [("CUDAARCHS", "107-real"), ("TORCH_CUDA_ARCH_LIST", "9.0 10.7+PTX")])
    def test_that_knows_the_architectures_of_a_variable(self, tmp_path: Path, name: str, value: str) -> None:
        environment = make_environment(tmp_path, **{name: value})
        assert plan(make_settings(tmp_path), environment) == ("cuda-toolkit[nvcc,cccl]==13.4.*",)

    def test_that_knows_the_architectures_of_the_key(self, tmp_path: Path) -> None:
        settings = make_settings(tmp_path, architectures=("80", "90a", "107f"))
        assert plan(settings, make_environment(tmp_path)) == ("cuda-toolkit[nvcc,cccl]==13.4.*",)

    def test_a_setting_comes_before_a_variable(self, tmp_path: Path) -> None:
        settings = make_settings(tmp_path, architectures=("80",), origins=SETTING)
        environment = make_environment(tmp_path, CUDAARCHS="107")
        assert plan(settings, environment) == ("cuda-toolkit[nvcc,cccl]==13.0.*",)

    def test_words_that_are_no_numbers_ask_for_nothing(self, tmp_path: Path) -> None:
        settings = make_settings(tmp_path, architectures=("all-major", "native"))
        assert plan(settings, make_environment(tmp_path)) == ("cuda-toolkit[nvcc,cccl]==13.0.*",)

    def test_that_takes_the_host_compiler(self, tmp_path: Path) -> None:
        gcc = write_gcc(tmp_path / "g++", 16)
        for name in ("CXX", "NVCC_CCBIN"):
            environment = make_environment(tmp_path, PATH=str(tmp_path), **{name: str(gcc)})
            assert plan(make_settings(tmp_path), environment) == ("cuda-toolkit[nvcc,cccl]==13.4.*",)

    def test_a_sibling_counts_as_the_host_compiler(self, tmp_path: Path) -> None:
        write_gcc(tmp_path / "g++", 16)
        write_gcc(tmp_path / "g++-14", 14)
        environment = make_environment(tmp_path, PATH=str(tmp_path))
        assert plan(make_settings(tmp_path), environment) == ("cuda-toolkit[nvcc,cccl]==13.0.*",)

    def test_any_host_compiler_where_the_project_says_so(self, tmp_path: Path) -> None:
        write_gcc(tmp_path / "g++", 77)
        settings = make_settings(tmp_path, flags=Flags(cuda=("-allow-unsupported-compiler",)))
        assert plan(settings, make_environment(tmp_path, PATH=str(tmp_path))) == ("cuda-toolkit[nvcc,cccl]==13.0.*",)

    def test_no_host_compiler_asks_for_nothing(self, tmp_path: Path) -> None:
        environment = make_environment(tmp_path, PATH=str(tmp_path))
        assert plan(make_settings(tmp_path), environment) == ("cuda-toolkit[nvcc,cccl]==13.0.*",)


class TestExtras:
    def test_libraries_of_cuda(self, tmp_path: Path) -> None:
        target = Extension(name="demo.a", sources=("a.cpp",), link=("CUDA::cublas", "CUDA::cufft", "CUDA::cudart"))
        assert plan(with_targets(tmp_path, target), make_environment(tmp_path)) == (
            "cuda-toolkit[nvcc,cccl,cublas,cufft]==13.0.*",
        )

    @pytest.mark.parametrize(
        ("compiler", "formats", "extras"),
        [
            (None, ("cubin", "ptx"), "nvcc,cccl"),
            ("nvcc", ("ptx",), "nvcc,cccl"),
            ("nvrtc", ("cubin", "ptx", "ltoir"), "cccl,crt,cudart,nvrtc"),
            ("nvrtc", ("fatbin",), "nvcc,cccl,crt,cudart,nvrtc"),
            ("nvvm", ("ptx",), "nvvm"),
            ("nvvm", ("cubin", "ptx"), "nvcc,nvvm"),
        ],
    )
    def test_device_compilers(
        self, tmp_path: Path, compiler: str | None, formats: tuple[str, ...], extras: str
    ) -> None:
        source = "k.ll" if compiler in {"nvvm", "llvm"} else "k.cu"
        module = KernelModule(module="demo.k", sources=(source,), device_compiler=compiler, formats=formats)
        assert plan(with_targets(tmp_path, module), make_environment(tmp_path)) == (f"cuda-toolkit[{extras}]==13.0.*",)

    def test_the_compiler_of_the_project_and_of_an_override(self, tmp_path: Path) -> None:
        module = KernelModule(module="demo.k", sources=("k.cu", "a.ll"), formats=("ptx",))
        settings = with_targets(tmp_path, module, device_compiler="nvrtc")
        settings = replace(settings, overrides=(Override(match="*.ll", device_compiler="nvvm"),))
        assert plan(settings, make_environment(tmp_path)) == ("cuda-toolkit[cccl,crt,cudart,nvrtc,nvvm]==13.0.*",)

    def test_llvm_comes_by_itself(self, tmp_path: Path) -> None:
        module = KernelModule(module="demo.k", sources=("k.bc",))
        settings = with_targets(tmp_path, module)
        assert plan(settings, make_environment(tmp_path)) == ("cuda-toolkit[nvcc]==13.0.*", "llvmlite>=0.45")

    def test_the_linker_of_device_code_is_of_the_same_release(self, tmp_path: Path) -> None:
        module = KernelModule(module="demo.k", sources=("k.cu",), device_compiler="nvrtc", device_link="build")
        assert plan(with_targets(tmp_path, module), make_environment(tmp_path)) == (
            "cuda-toolkit[cccl,crt,cudart,nvrtc]==13.0.*",
            "nvidia-nvjitlink==13.0.*",
        )

    def test_without_a_host_compiler_kernels_go_to_nvrtc(self, tmp_path: Path) -> None:
        module = KernelModule(module="demo.k", sources=("k.cu",))
        environment = make_environment(tmp_path).with_variables({"PATH": str(tmp_path)})
        assert plan(with_targets(tmp_path, module), environment) == ("cuda-toolkit[cccl,crt,cudart,nvrtc]==13.0.*",)
        both = (module, Extension(name="demo.a", sources=("k.cu",)))
        assert plan(with_targets(tmp_path, *both), environment) == ("cuda-toolkit[nvcc,cccl]==13.0.*",)

    def test_ir_and_ptx_need_a_toolkit(self, tmp_path: Path) -> None:
        for source in ("k.ll", "k.bc", "k.ptx"):
            module = KernelModule(module="demo.k", sources=(source,))
            assert plan(with_targets(tmp_path, module), make_environment(tmp_path)) != ()


class TestNotOnPypi:
    def test_cuda_12(self, tmp_path: Path) -> None:
        error = refuse(make_settings(tmp_path, cuda="<13"), make_environment(tmp_path))
        (problem,) = error.problems
        assert (problem.code, problem.where) == (Code.NOT_AVAILABLE, "cuda")
        assert problem.what == "PyPI has no nvcc within `cuda` = '<13'"
        assert "nvcc 13.0 to 13.5" in str(error)
        assert "needed by  extension 'demo._native'" in str(error)
        assert "point CUDA_HOME at it" in str(error)

    def test_an_old_architecture(self, tmp_path: Path) -> None:
        settings = make_settings(tmp_path, architectures=("70", "80"), origins=SETTING)
        error = refuse(settings, make_environment(tmp_path))
        assert error.problems[0].what == "no nvcc on PyPI compiles for 70"
        assert error.problems[0].where == "SETUPTOOLS_CUDA_ARCHITECTURES"

    def test_everything_at_once(self, tmp_path: Path) -> None:
        settings = make_settings(tmp_path, architectures=("50", "70"), cuda="<12", origins=SETTING)
        assert len(refuse(settings, make_environment(tmp_path)).problems) == 3

    def test_an_old_architecture_that_the_build_will_drop(self, tmp_path: Path) -> None:
        expected = ("cuda-toolkit[nvcc,cccl]==13.0.*",)
        assert plan(make_settings(tmp_path), make_environment(tmp_path, TORCH_CUDA_ARCH_LIST="7.0 8.0")) == expected
        settings = make_settings(tmp_path, architectures=("70", "80"), unsupported_architectures="drop")
        assert plan(settings, make_environment(tmp_path)) == expected

    def test_no_release_meets_all_of_it(self, tmp_path: Path) -> None:
        settings = make_settings(tmp_path, architectures=("107",), cuda="<13.3")
        error = refuse(settings, make_environment(tmp_path))
        assert error.problems[0].what == "no toolkit release on PyPI meets all that is asked for"
        assert "cuda: 13.0, 13.1, 13.2" in str(error)
        assert "architectures: 13.4, 13.5" in str(error)

    def test_a_host_compiler_that_is_too_new_for_all(self, tmp_path: Path) -> None:
        write_gcc(tmp_path / "g++", 77)
        error = refuse(make_settings(tmp_path), make_environment(tmp_path, PATH=str(tmp_path)))
        assert "no nvcc on PyPI takes the host compiler gcc 77" in str(error)

    def test_something_set_that_cannot_be_used_is_told_before_anything_is_installed(self, tmp_path: Path) -> None:
        error = refuse(make_settings(tmp_path), make_environment(tmp_path, CUDA_HOME="/opt/none"))
        assert error.problems[0].code is Code.UNUSABLE_SETTING


class TestTorch:
    def test_of_cuda_13_or_of_none_asks_for_the_oldest(self, tmp_path: Path) -> None:
        for name, cuda in (("new", "'13.2'"), ("cpu", "None")):
            site = write_torch(tmp_path / name, cuda)
            environment = make_environment(tmp_path, search_path=[site])
            assert plan(make_settings(tmp_path, uses=("torch",)), environment) == ("cuda-toolkit[nvcc,cccl]==13.0.*",)

    def test_of_cuda_12_is_told(self, tmp_path: Path) -> None:
        site = write_torch(tmp_path / "site", "'12.8'")
        settings = make_settings(tmp_path, uses=("torch",))
        error = refuse(settings, make_environment(tmp_path, search_path=[site]))
        assert error.problems[0].what == "torch is made for CUDA 12, and PyPI has no nvcc of CUDA 12"

    def test_does_not_matter_where_it_is_not_used(self, tmp_path: Path) -> None:
        site = write_torch(tmp_path / "site", "'12.8'")
        assert plan(make_settings(tmp_path), make_environment(tmp_path, search_path=[site])) != ()


def test_cudnn_of_cuda_12_is_told(tmp_path: Path) -> None:
    info = tmp_path / "nvidia_cudnn_cu12-9.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: nvidia-cudnn-cu12\nVersion: 9.1\n", "utf-8")
    (tmp_path / "nvidia/cudnn/include").mkdir(parents=True)
    (tmp_path / "nvidia/cudnn/include/cudnn.h").touch()
    error = refuse(make_settings(tmp_path, uses=("cudnn",)), make_environment(tmp_path, search_path=[tmp_path]))
    assert error.problems[0].what == "cudnn is made for CUDA 12, and PyPI has no nvcc of CUDA 12"


def test_the_hint_is_a_command(tmp_path: Path) -> None:
    environment = make_environment(tmp_path)
    assert render_requirement(make_settings(tmp_path), environment=environment) == "cuda-toolkit[nvcc,cccl]==13.0.*"
    hint = render_install_hint(make_settings(tmp_path, cuda=">=13.3"), environment=environment)
    assert hint == "pip install 'cuda-toolkit[nvcc,cccl]==13.3.*'"
    assert render_install_hint(make_settings(tmp_path, cuda="<13"), environment=environment) == ""
