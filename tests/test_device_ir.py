"""Each dialect of LLVM IR with each compiler and architecture: built, or refused before anything runs."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from device_support import DATA, Project, compiler_of, entries
from llvmlite import binding

from setuptools_cuda import pipeline

OLD, NEW = ("75", "90"), ("100", "120")
EVERY = (*OLD, *NEW)
# What libNVVM takes, and what a refusal says (measured on 12.9, 13.0 and 13.5, which agree).
NVVM = {
    "typed.ll": (EVERY, ""),
    "opaque.ll": (NEW, "libNVVM takes opaque pointers (ptr) for architectures from 100 on"),
    "convention.ll": (NEW, "libNVVM takes opaque pointers (ptr) for architectures from 100 on"),
    "mixed.ll": (NEW, "libNVVM takes opaque pointers (ptr) for architectures from 100 on"),
    "unversioned.ll": ((), "which clang and rustc do not write"),
    "version3.ll": ((), "libNVVM takes version 2 of NVVM IR, and this says 3.0"),
    "rust.ll": ((), "which clang and rustc do not write"),
    "rust.bc": ((), "libNVVM reads bitcode of LLVM 7 alone"),
}


@pytest.fixture
def project(tmp_path: Path) -> Project:
    made = Project(tmp_path / "project").copy(*(name for name in NVVM if name.endswith(".ll")))
    bitcode = binding.parse_assembly((DATA / "rust.ll").read_text("utf-8")).as_bitcode()
    (made.root / "k" / "rust.bc").write_bytes(bitcode)
    return made


@pytest.mark.parametrize("source", NVVM)
def test_nvvm(project: Project, source: str) -> None:
    taken, reason = NVVM[source]
    for architecture in EVERY:
        words = {"architectures": architecture, "device_compiler": "nvvm"}
        if architecture in taken:
            files = project.build(f"k/{source}", **words)
            assert (
                f".target sm_{architecture}\n" in files[f"k_images/k/{source[:-3]}.compute_{architecture}.ptx"].decode()
            )
            assert files[f"k_images/k/{source[:-3]}.sm_{architecture}.cubin"].startswith(b"\x7fELF")
            assert "wave" in entries(files["k.py"])
            continue
        message = project.refuse(f"k/{source}", **words)
        assert reason in message
        assert (
            'to fix   let device-compiler = "llvm" compile it' in message or 'let device-compiler = "llvm"' in message
        )
        assert "it is" in message
        assert project.compiled == []


@pytest.mark.parametrize("source", NVVM)
def test_llvm_takes_every_dialect_for_every_architecture(project: Project, source: str) -> None:
    files = project.build(f"k/{source}", architectures="75 90 100 120", device_compiler="llvm")
    for architecture in EVERY:
        text = files[f"k_images/k/{source[:-3]}.compute_{architecture}.ptx"].decode()
        assert f".target sm_{architecture}\n" in text
        assert "__nv" not in text, "libdevice is linked, and inlined"
        assert files[f"k_images/k/{source[:-3]}.sm_{architecture}.cubin"].startswith(b"\x7fELF")
    assert "wave" in entries(files["k.py"])


@pytest.mark.parametrize("source", NVVM)
def test_the_choice_by_dialect_and_architecture(project: Project, source: str) -> None:
    taken, _ = NVVM[source]
    for architecture in EVERY:
        planned = project.plan(f"k/{source}", architectures=architecture)
        assert compiler_of(planned) == ("nvvm" if architecture in taken else "llvm")


def test_ir_of_rustc_with_a_version_goes_to_llvm_for_its_layout_unless_nvvm_is_named(project: Project) -> None:
    text = (DATA / "rust.ll").read_text("utf-8")
    version = "!nvvmir.version = !{!900}\n!900 = !{i32 2, i32 0}\n"
    project.write({"k/versioned.ll": f"{text}\n{version}"})
    assert compiler_of(project.plan("k/versioned.ll", architectures="120")) == "llvm"
    words = {"device_compiler": "nvvm", "formats": ["ptx"]}
    assert "90 is below" in project.refuse("k/versioned.ll", architectures="90", **words)
    # NVIDIA's 13.0 takes another data layout than its own; newer releases say themselves that they do not.
    assert "wave" in entries(project.build("k/versioned.ll", architectures="100", **words)["k.py"])


@pytest.mark.parametrize("lost", ["target datalayout", "target triple"])
def test_ir_without_a_line_that_nvvm_wants_goes_to_llvm(project: Project, lost: str) -> None:
    lines = (DATA / "typed.ll").read_text("utf-8").splitlines(keepends=True)
    project.write({"k/bare.ll": "".join(line for line in lines if not line.startswith(lost))})
    assert compiler_of(project.plan("k/bare.ll", architectures="80 120")) == "llvm"
    assert "wave" in entries(project.build("k/bare.ll", formats=["ptx"])["k.py"])
    message = project.refuse("k/bare.ll", device_compiler="nvvm")
    assert f"no '{lost}' is there" in message
    assert f'or add, near the top, {lost} = "' in message


@pytest.mark.parametrize(
    ("line", "word"),
    [
        ('target triple = "x86_64-unknown-linux-gnu"', "it is IR for x86_64-unknown-linux-gnu"),
        ('target triple = "nvptx-nvidia-cuda"', "it is IR for nvptx-nvidia-cuda"),
        ('target datalayout = "e-p:32:32-i64:64"', "pointers of 32 bits"),
    ],
)
def test_ir_for_another_machine_is_refused(project: Project, line: str, word: str) -> None:
    text = f"{line}\ndefine ptx_kernel void @wave() {{\n  ret void\n}}\n"
    project.write({"k/other.ll": text})
    assert word in project.refuse("k/other.ll")
    (project.root / "k" / "other.bc").write_bytes(binding.parse_assembly(text).as_bitcode())
    assert word in project.refuse("k/other.bc", formats=["ptx"])


def test_one_old_architecture_among_new_ones_decides(project: Project) -> None:
    assert compiler_of(project.plan("k/opaque.ll", architectures="100 120")) == "nvvm"
    assert compiler_of(project.plan("k/opaque.ll", architectures="90 120")) == "llvm"


def test_a_compiler_named_for_other_sources_leaves_the_choice(project: Project) -> None:
    project.write({"k/a.cu": "__global__ void k() {}"})
    planned = project.plan("k/a.cu", "k/typed.ll", "k/rust.ll", device_compiler="nvrtc")
    said = [note.split("k: ")[1].split(",")[0] for note in planned.plan.notes]
    assert said == [
        "k/a.cu is compiled by nvrtc",
        "k/rust.ll is compiled by llvm",
        "k/typed.ll is compiled by nvvm",
    ]


def test_a_compiler_that_reads_no_source_of_the_module_is_refused(project: Project) -> None:
    message = project.refuse("k/typed.ll", device_compiler="nvrtc")
    assert "nvrtc reads .cu, and no source of the module is such" in message
    assert "kernel-module[0].device-compiler" in message


def test_without_llvmlite_the_message_says_what_would_help(project: Project) -> None:
    project.environment = replace(project.environment, search_path=("/nowhere",))
    message = project.refuse("k/rust.ll")
    assert "no device compiler for kernel module 'k': it needs libdevice, llvmlite, ptxas" in message
    assert "llvmlite>=0.45" in message


def test_a_project_that_does_without_cuda_says_what_is_left_out(project: Project) -> None:
    project.environment = replace(project.environment, search_path=("/nowhere",))
    table = {
        "toolchain-steps": ["wheel"],
        "required": False,
        "kernel-module": [{"module": "k", "sources": ["k/typed.ll", "k/rust.ll"]}],
    }
    planned = pipeline.plan(pipeline.Request(project.root, project.environment, table=table))
    assert planned.plan.jobs == ()
    assert [note for note in planned.plan.notes if "is left out" in note and "rust.ll" in note]


def test_a_call_of_nothing_is_refused_rather_than_shipped(project: Project) -> None:
    for compiler in ("nvvm", "llvm"):
        text = (DATA / "typed.ll").read_text().replace("__nv_sinf", "my_sine")
        project.write({"k/lost.ll": text})
        message = project.refuse("k/lost.ll", device_compiler=compiler, formats=["ptx"])
        assert "k/lost.ll calls my_sine, which it does not define" in message


def test_ir_that_is_broken_is_told_with_the_compilers_words(project: Project) -> None:
    for compiler, words in (("nvvm", "libNVVM does not accept k/bad.ll"), ("llvm", "does not read k/bad.ll")):
        project.write({"k/bad.ll": (DATA / "typed.ll").read_text().replace("ret void", "return")})
        message = project.refuse("k/bad.ll", device_compiler=compiler)
        assert words in message
        assert "k/bad.ll does not compile" in message


def test_ir_without_a_kernel_is_refused(project: Project) -> None:
    project.write({"k/none.ll": "define void @helper() {\n  ret void\n}\n"})
    assert "k/none.ll holds no kernel" in project.refuse("k/none.ll", device_compiler="llvm")
    text = (DATA / "typed.ll").read_text("utf-8").replace("!nvvm.annotations", "!others")
    message = project.write({"k/none.ll": text}).refuse("k/none.ll", formats=["ptx"])
    assert "'k/none.ll' has no kernel" in message
    assert "calling convention ptx_kernel" in message
    assert "__global__" not in message


def test_options_that_have_a_meaning_for_ir_are_passed_and_others_named(project: Project) -> None:
    flags = ["--use_fast_math", "-lineinfo", "-maxrregcount=40", "-Xptxas", "-O1,-v"]
    planned = project.plan("k/typed.ll", flags=flags, device_compiler="nvvm")
    ptx, cubin = (
        next(job for job in planned.plan.jobs if job.outputs[0].role == role) for role in ("ptx:80", "cubin:80")
    )
    assert ptx.argv[-4:] == ("-ftz=1", "-prec-sqrt=0", "-prec-div=0", "-fma=1")
    assert {"-maxrregcount=40", "-O1", "-v"} <= set(cubin.argv)
    assert "k/typed.ll: nvvm has no use for -lineinfo, which are left out" in planned.plan.notes
    fast, plain = (project.build("k/typed.ll", flags=f, device_compiler="nvvm", formats=["ptx"]) for f in (flags, []))
    assert fast["k_images/k/typed.compute_80.ptx"] != plain["k_images/k/typed.compute_80.ptx"]


def test_lto_ir_comes_of_nvvm_and_not_of_llvm(project: Project) -> None:
    files = project.build("k/typed.ll", formats=["ltoir"], device_compiler="nvvm")
    assert files["k_images/k/typed.compute_80.ltoir"].startswith(b"\xedCN\x7f")
    message = project.refuse("k/typed.ll", formats=["ltoir"], device_compiler="llvm")
    assert "the format 'ltoir' cannot be made of k/typed.ll" in message


def test_the_driver_of_a_fatbin_is_that_of_the_ptx_in_it(project: Project) -> None:
    text = project.build("k/rust.ll", architectures="75 120", formats=["fatbin"])["k.py"].decode()
    assert 'Code("compute_120", driver=(12, 8))' in text, "LLVM writes PTX 8.7 for 120 and 6.3 for 75"
    assert "isa=(8, 7)" in text
