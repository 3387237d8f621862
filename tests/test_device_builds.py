"""PTX as a source, CUDA C++ by NVRTC, template instantiations and device links: real tools, no mocks."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest
from device_support import AXPY, CALLED, CALLER, DATA, HEADER, TEMPLATES, Project, entries

HOST_PATH = "/usr/bin:/bin"


@pytest.fixture
def project(tmp_path: Path) -> Project:
    return Project(tmp_path / "project")


def target_of(ptx: bytes) -> str:
    match = re.search(rb"^\.target (\w+)", ptx, re.MULTILINE)
    assert match
    return match[1].decode()


class TestPtx:
    def test_the_text_is_shipped_as_it_is_and_machine_code_made_of_it(self, project: Project) -> None:
        files = project.copy("hand.ptx").build(
            "k/hand.ptx", architectures="80 90a 120", formats=["ptx", "cubin", "fatbin"]
        )
        images = {name.removeprefix("k_images/k/hand.") for name in files if name != "k.py"}
        assert images == {"compute_80.ptx", "sm_80.cubin", "sm_90a.cubin", "sm_120.cubin", "fatbin"}
        assert files["k_images/k/hand.compute_80.ptx"] == (DATA / "hand.ptx").read_bytes()
        assert entries(files["k.py"]) == ["addone"]
        assert b'Code("compute_80", driver=(11, 0))' in files["k.py"], "PTX 7.0 loads on drivers of CUDA 11.0"

    def test_what_it_does_not_serve_is_left_out_and_said(self, project: Project) -> None:
        files = project.copy("hand.ptx").build("k/hand.ptx", architectures="75 80")
        assert sorted(files) == ["k.py", "k_images/k/hand.compute_80.ptx", "k_images/k/hand.sm_80.cubin"]
        assert "note: k/hand.ptx: PTX for sm_80 does not serve 75" in project.lines

    def test_what_it_serves_nothing_of_is_an_error(self, project: Project) -> None:
        message = project.copy("hand.ptx").refuse("k/hand.ptx", architectures="75")
        assert "k/hand.ptx serves none of the architectures sm_75+PTX" in message
        assert "its text says .target sm_80, which runs on GPUs from 80 on" in message

    def test_an_empty_source_may_be_skipped(self, project: Project) -> None:
        project.copy("hand.ptx", "typed.ll")
        files = project.build("k/hand.ptx", "k/typed.ll", architectures="75", when_empty="skip")
        assert not any("hand" in name for name in files)

    @pytest.mark.parametrize(
        ("target", "asked", "images"),
        [
            ("sm_90a", "90", {"sm_90a.cubin", "compute_90a.ptx"}),
            ("sm_90a", "90a", {"sm_90a.cubin", "compute_90a.ptx"}),
            ("sm_100f", "100 103a", {"sm_100f.cubin", "sm_103a.cubin", "compute_100f.ptx"}),
        ],
    )
    def test_variants(self, project: Project, target: str, asked: str, images: set[str]) -> None:
        text = (DATA / "hand.ptx").read_text().replace("sm_80", target).replace("7.0", "9.0")
        files = project.write({"k/v.ptx": text}).build("k/v.ptx", architectures=asked)
        assert {name.removeprefix("k_images/k/v.") for name in files if name != "k.py"} == images

    def test_ptx_that_ptxas_does_not_accept(self, project: Project) -> None:
        text = (DATA / "hand.ptx").read_text().replace("add.f32", "addd.f32")
        message = project.write({"k/bad.ptx": text}).refuse("k/bad.ptx", formats=["ptx"])
        assert "ptxas does not accept k/bad.ptx" in message
        assert "line 12" in message or "addd" in message

    def test_ptx_newer_than_the_toolkit(self, project: Project) -> None:
        text = (DATA / "hand.ptx").read_text().replace("7.0", "99.0")
        message = project.write({"k/new.ptx": text}).refuse("k/new.ptx")
        assert "k/new.ptx is PTX 99.0, and CUDA 13.0 knows PTX up to 9.0" in message
        assert project.compiled == []


class TestNvrtc:
    def test_a_machine_without_any_compiler_needs_no_key(self, project: Project) -> None:
        project.write({"k/axpy.cu": AXPY, "k/axpy.cuh": HEADER})
        files = project.build("k/axpy.cu", architectures="75 90a 120", formats=["ptx", "cubin", "fatbin", "ltoir"])
        assert entries(files["k.py"]) == ["axpy"]
        assert target_of(files["k_images/k/axpy.compute_90a.ptx"]) == "sm_90a"
        assert files["k_images/k/axpy.sm_90a.cubin"].startswith(b"\x7fELF")
        assert files["k_images/k/axpy.compute_75.ltoir"].startswith(b"\xedCN\x7f")
        assert "no host compiler" in project.lines[0]

    def test_its_ptx_is_that_of_nvcc(self, project: Project, toolkit_nvcc: Path) -> None:
        project.write({"k/axpy.cu": AXPY, "k/axpy.cuh": HEADER})
        files = project.build("k/axpy.cu", architectures="80 120", formats=["ptx"], device_compiler="nvrtc")
        for number in (80, 120):
            command = [str(toolkit_nvcc), "-ptx", f"-arch=compute_{number}", "k/axpy.cu", "-o", "nvcc.ptx"]
            subprocess.run(command, cwd=project.root, env={"PATH": HOST_PATH}, check=True)
            assert files[f"k_images/k/axpy.compute_{number}.ptx"] == (project.root / "nvcc.ptx").read_bytes()

    def test_headers_of_the_toolkit_are_found(self, project: Project) -> None:
        text = "#include <cuda_fp16.h>\n#include <cuda/std/cstdint>\n#include <cub/block/block_reduce.cuh>\n"
        text += "__global__ void half_add(__half* x, cuda::std::int32_t n) { if (n) x[0] = __hadd(x[0], x[0]); }\n"
        files = project.write({"k/h.cu": text}).build("k/h.cu", device_compiler="nvrtc")
        assert entries(files["k.py"]) == ["_Z8half_addP6__halfi"]

    def test_a_header_counts_though_nvrtc_does_not_tell_of_it(self, project: Project) -> None:
        project.write({"k/axpy.cu": AXPY, "k/axpy.cuh": '#include "inner.h"\n', "k/inner.h": HEADER, "k/other.h": ""})
        first = project.build("k/axpy.cu", device_compiler="nvrtc")
        project.build("k/axpy.cu", device_compiler="nvrtc")
        assert project.compiled == []
        project.write({"k/other.h": "// nobody includes it\n"})
        project.build("k/axpy.cu", device_compiler="nvrtc")
        assert project.compiled == []
        project.write({"k/inner.h": HEADER.replace("+", "-")})
        second = project.build("k/axpy.cu", device_compiler="nvrtc")
        assert project.compiled == ["compile k/axpy.cu by nvrtc (ptx 80)"]
        assert first["k_images/k/axpy.compute_80.ptx"] != second["k_images/k/axpy.compute_80.ptx"]

    def test_flags_defines_and_folders_reach_it_and_those_of_the_host_do_not(self, project: Project) -> None:
        text = '#include "c.h"\nextern "C" __global__ void f(float* x) { x[0] = C / __sinf(x[D]); }\n'
        project.write({"k/f.cu": text, "inc/c.h": "#define C 3.f\n"})
        words = {"include_dirs": ["inc"], "defines": ["D=2"], "std": "c++20", "device_compiler": "nvrtc"}
        plain = project.build("k/f.cu", **words)
        flags = ["--use_fast_math", "-Xcompiler", "-Wall", "-O3", "--extended-lambda"]
        fast = project.build("k/f.cu", flags=flags, **words)
        assert plain["k_images/k/f.compute_80.ptx"] != fast["k_images/k/f.compute_80.ptx"]
        assert (
            "note: k/f.cu: nvrtc has no use for -Xcompiler -Wall -O3 --extended-lambda, which are left out"
            in project.lines
        )

    def test_what_it_does_not_compile_is_told_in_its_words(self, project: Project) -> None:
        message = project.write({"k/bad.cu": "__global__ void f() { int x = y; }\n"}).refuse("k/bad.cu")
        assert "k/bad.cu does not compile" in message
        assert 'identifier "y" is undefined' in message

    @pytest.mark.parametrize(
        ("line", "word"),
        [
            ("#include <cstdint>", "include <cuda/std/cstdint> and the like"),
            ("#include <vector>", 'let device-compiler = "nvcc" compile the source'),
            ("void host() {}", "put such code under #ifndef __CUDACC_RTC__"),
        ],
    )
    def test_what_is_for_the_host_is_told_with_what_helps(self, project: Project, line: str, word: str) -> None:
        project.write({"k/host.cu": f"{line}\n__global__ void f() {{}}\n"})
        message = project.refuse("k/host.cu", device_compiler="nvrtc", formats=["ptx"])
        assert word in message
        assert "nvidia-cuda-cccl" not in message

    def test_images_are_the_same_in_any_folder(self, tmp_path: Path) -> None:
        made = []
        for name in ("one", "another folder"):
            project = Project(tmp_path / name).copy("hand.ptx", "typed.ll", "rust.ll")
            project.write({"k/axpy.cu": AXPY, "k/axpy.cuh": HEADER})
            made.append(project.build("k/*.cu", "k/*.ll", "k/*.ptx", formats=["ptx", "cubin", "fatbin"]))
        assert made[0] == made[1]


def test_a_kernel_of_newer_architectures_alone_is_listed(project: Project) -> None:
    newer = '#if __CUDA_ARCH__ >= 900\nextern "C" __global__ void newer() {}\n#endif\n'
    project.write({"k/a.cu": f'extern "C" __global__ void any() {{}}\n{newer}'})
    files = project.build("k/a.cu", architectures="80 90", device_compiler="nvrtc", formats=["ptx"])
    assert entries(files["k.py"]) == ["any", "newer"]
    project.write({"k/a.cu": newer})
    files = project.build("k/a.cu", architectures="80 90", device_compiler="nvrtc", formats=["ptx"])
    assert entries(files["k.py"]) == ["newer"]


class TestInstantiate:
    NAMES = ("_Z5scaleIdEvPT_S0_", "_Z5scaleIfEvPT_S0_", "_ZN2ns5shiftIiLi3EEEvPT_")
    WORDS = ("scale<float>", "scale<double>", "ns::shift<int, 3>")

    @pytest.mark.parametrize("compiler", ["nvcc", "nvrtc"])
    def test_each_becomes_a_kernel(self, project: Project, compiler: str) -> None:
        project.environment = Project(project.root, path=HOST_PATH).environment
        project.write({"k/t.cu": TEMPLATES, "k/axpy.cu": AXPY, "k/axpy.cuh": HEADER})
        words = {"instantiate": list(self.WORDS), "device_compiler": compiler}
        files = project.build("k/*.cu", **words)
        assert sorted(entries(files["k.py"])) == [*self.NAMES, "axpy"]
        assert set(self.NAMES) <= set(re.findall(r"\.entry (\w+)", files["k_images/k/t.compute_80.ptx"].decode()))
        project.build("k/*.cu", **words)
        assert project.compiled == []
        project.write({"k/t.cu": TEMPLATES.replace("*=", "+=")})
        changed = project.build("k/*.cu", **words)
        assert changed["k_images/k/t.compute_80.ptx"] != files["k_images/k/t.compute_80.ptx"]
        assert changed["k_images/k/axpy.compute_80.ptx"] == files["k_images/k/axpy.compute_80.ptx"]

    def test_a_source_at_the_top_is_not_taken_for_the_one_that_instantiates_it(self, project: Project) -> None:
        project.environment = Project(project.root, path=HOST_PATH).environment
        project.write({"t.cu": TEMPLATES})
        files = project.build("t.cu", instantiate=["scale<float>"], device_compiler="nvcc")
        assert entries(files["k.py"]) == ["_Z5scaleIfEvPT_S0_"]

    def test_a_word_in_another_source_makes_no_template_of_it(self, project: Project) -> None:
        other = 'extern "C" __global__ void other(float* x, float scale) { *x *= scale; }\n'
        project.write({"k/t.cu": TEMPLATES, "k/other.cu": other})
        files = project.build("k/*.cu", instantiate=["scale<float>"], formats=["ptx"])
        assert sorted(entries(files["k.py"])) == ["_Z5scaleIfEvPT_S0_", "other"]

    def test_a_template_in_a_header_is_of_the_one_source(self, project: Project) -> None:
        project.write({"k/only.cu": '#include "t.cuh"\n', "k/t.cuh": TEMPLATES})
        files = project.build("k/only.cu", instantiate=["scale<float>"])
        assert entries(files["k.py"]) == ["_Z5scaleIfEvPT_S0_"]

    @pytest.mark.parametrize(
        ("expression", "word"),
        [
            ("scalee<float>", "no CUDA source of k has the template 'scalee'"),
            ("scale", "'scale' is no instantiation of a template"),
            ("scale<float>(x)", "is no instantiation of a template"),
        ],
    )
    def test_what_is_no_template_is_refused_before_anything_runs(
        self, project: Project, expression: str, word: str
    ) -> None:
        project.write({"k/t.cu": TEMPLATES, "k/axpy.cu": AXPY, "k/axpy.cuh": HEADER})
        message = project.refuse("k/*.cu", instantiate=[expression])
        assert word in message
        assert "kernel-module[0].instantiate" in message


class TestDeviceLink:
    @pytest.mark.parametrize(
        ("formats", "word"),
        [
            (["ptx", "cubin"], "no source of the kernel module defines that function"),
            (["ptx"], "'linked' calls twice(float), which no source of the module defines"),
        ],
    )
    def test_a_function_that_no_source_has_is_told_so(self, project: Project, formats: list[str], word: str) -> None:
        project.write({"k/a.cu": CALLER, "k/b.cu": "__device__ int other() { return 1; }\n"})
        message = project.refuse("k/*.cu", device_link="build", device_compiler="nvrtc", formats=formats)
        assert word in message
        assert "set rdc" not in message

    @pytest.mark.parametrize("compiler", ["nvcc", "nvrtc"])
    def test_ptx_alone_that_calls_another_source_is_not_shipped(self, project: Project, compiler: str) -> None:
        project.environment = Project(project.root, path=HOST_PATH).environment
        project.write({"k/a.cu": CALLER})
        words = {"architectures": "80-virtual", "device_compiler": compiler, "formats": ["ptx"]}
        message = project.refuse("k/a.cu", **words)
        assert "'k/a.cu' calls twice(float), which it does not define" in message
        assert 'device-link = "build"' in message

    @pytest.mark.parametrize("compiler", ["nvcc", "nvrtc"])
    def test_calls_between_sources_become_one_image(self, project: Project, compiler: str) -> None:
        project.environment = Project(project.root, path=HOST_PATH).environment
        project.write({"k/caller.cu": CALLER, "k/called.cu": CALLED}).copy("typed.ll")
        words = {"architectures": "80 90a", "device_link": "build", "device_compiler": compiler}
        files = project.build("k/*.cu", "k/typed.ll", **words)
        images = {name.removeprefix("k_images/") for name in files if name != "k.py"}
        assert images == {
            *("linked.sm_80.cubin", "linked.sm_90a.cubin", "linked.compute_80.ptx", "linked.compute_90a.ptx")
        }
        assert entries(files["k.py"]) == ["both", "wave"]
        text = files["k_images/linked.compute_90a.ptx"]
        assert target_of(text) == "sm_90a"
        assert b".version 9.0" in text
        assert b".extern" not in text

    @pytest.mark.parametrize("file", ["opaque.ll", "convention.ll", "mixed.ll"])
    def test_kernels_of_ir_are_kept(self, project: Project, file: str) -> None:
        project.write({"k/caller.cu": CALLER, "k/called.cu": CALLED}).copy(file)
        files = project.build("k/*.cu", f"k/{file}", architectures="100", device_link="build")
        assert {"both", "wave"} <= set(entries(files["k.py"]))

    def test_a_list_of_what_is_used_without_the_kernel(self, project: Project) -> None:
        used = '@x = global i32 0\n@llvm.used = appending global [1 x i32*] [i32* @x], section "llvm.metadata"\n'
        project.write({"k/w.ll": (DATA / "typed.ll").read_text().replace("define void", f"{used}define void")})
        message = project.refuse("k/w.ll", device_link="build")
        assert "k/w.ll has an @llvm.used without its kernel @wave, which a link would drop" in message

    def test_without_it_the_message_names_it(self, project: Project) -> None:
        project.write({"k/caller.cu": CALLER, "k/called.cu": CALLED})
        message = project.refuse("k/*.cu")
        assert "Unresolved extern function '_Z5twicef'" in message
        assert 'device-link = "build"' in message

    def test_a_function_that_nobody_has(self, project: Project) -> None:
        message = project.write({"k/caller.cu": CALLER}).refuse("k/caller.cu", device_link="build")
        assert "k linked for 80" in message
        assert "Unresolved extern function '_Z5twicef'" in message

    def test_what_cannot_be_linked(self, project: Project) -> None:
        project.write({"k/called.cu": CALLED}).copy("hand.ptx", "rust.ll")
        message = project.refuse("k/*.cu", "k/*.ptx", "k/*.ll", device_link="build", formats=["fatbin"])
        assert "a linked image cannot be 'fatbin'" in message
        assert "k/hand.ptx cannot be linked with others" in message
        assert "llvm writes no LTO-IR, which is what is linked; nvcc, nvrtc and nvvm do" in message
