"""What IR and PTX say of themselves, read before planning."""

from __future__ import annotations

from pathlib import Path

import pytest
from device_support import DATA

from setuptools_cuda.errors import BuildError, Code
from setuptools_cuda.resolution.device_compilers import find_nvvm_refusal
from setuptools_cuda.resolution.device_sources import (
    SourceFacts,
    parse_bitcode,
    parse_cuda,
    parse_ir,
    parse_ptx_head,
    read_sources,
)
from setuptools_cuda.resolution.values import Architecture


def ir(text: str) -> SourceFacts:
    return parse_ir(text.encode(), "k.ll")


@pytest.mark.parametrize(
    ("file", "pointers", "version"),
    [
        ("typed.ll", "typed", (2, 0)),
        ("opaque.ll", "opaque", (2, 0)),
        ("convention.ll", "opaque", (2, 0)),
        ("mixed.ll", "mixed", (2, 0)),
        ("unversioned.ll", "typed", None),
        ("version3.ll", "typed", (3, 0)),
        ("rust.ll", "opaque", None),
    ],
)
def test_dialects_of_whole_files(file: str, pointers: str, version: tuple[int, int] | None) -> None:
    facts = parse_ir((DATA / file).read_bytes(), file)
    assert (facts.pointers, facts.nvvm_version) == (pointers, version)
    assert facts.nvvm_layout == (file != "rust.ll")


@pytest.mark.parametrize(
    ("text", "pointers"),
    [
        ("define void @f(i8 addrspace(1)* %p) {", "typed"),
        ("define void @f([4 x float]* %p) {", "typed"),
        ("%s = type { %t*, i32 }", "typed"),
        ("define void @f(void (i32)* %p) {", "typed"),
        ("define void @f(<2 x float>* %p) {", "typed"),
        ("define void @f(ptr addrspace(3) %p) {", "opaque"),
        ("%x = load i32, ptr @ptr", "opaque"),
        ("define void @f(i32 %ptr) { ; a ptr to float*", "none"),
        ('@s = constant [4 x i8] c"a*\\00", section "ptr"', "none"),
        ("ptr: br label %ptr", "none"),
        ("call void @ptr.free()", "none"),
        ("", "none"),
    ],
)
def test_a_pointer_is_told_from_a_name_a_label_a_string_and_a_comment(text: str, pointers: str) -> None:
    assert ir(text).pointers == pointers


def test_a_version_that_cannot_be_read_is_no_version_that_is_taken() -> None:
    facts = ir("!nvvmir.version = !{!7}\n!7 = !{i64 2}\n")
    assert facts.nvvm_version == (0, 0)
    assert "says 0.0" in str(find_nvvm_refusal(facts, numbers=[100]))


@pytest.mark.parametrize(
    ("file", "numbers", "word"),
    [
        ("typed.ll", (75, 120), None),
        ("opaque.ll", (100, 120), None),
        ("opaque.ll", (90, 120), "90 is below"),
        ("mixed.ll", (75,), "75 is below"),
        ("unversioned.ll", (120,), "!nvvmir.version"),
        ("version3.ll", (120,), "says 3.0"),
        ("rust.ll", (120,), "clang and rustc do not write"),
    ],
)
def test_what_nvvm_refuses(file: str, numbers: tuple[int, ...], word: str | None) -> None:
    reason = find_nvvm_refusal(parse_ir((DATA / file).read_bytes(), file), numbers=numbers)
    assert reason is None if word is None else word in str(reason)


@pytest.mark.parametrize(
    ("text", "isa", "target"),
    [
        (".version 7.0\n.target sm_80\n", (7, 0), Architecture(80)),
        ("// made by hand\n/* .version 1.0 */\n.version 8.6 .target sm_100a, texmode_independent\n", (8, 6), None),
        ("\n.version 8.8\n.target sm_100f\n.address_size 64", (8, 8), Architecture(100, "f")),
    ],
)
def test_the_head_of_ptx(text: str, isa: tuple[int, int], target: Architecture | None) -> None:
    facts = parse_ptx_head(text.encode(), "k.ptx")
    assert (facts.isa, facts.target) == (isa, target or Architecture(100, "a"))


@pytest.mark.parametrize(
    ("name", "data", "word"),
    [
        ("k.ll", b"BC\xc0\xde....", "give it the suffix .bc"),
        ("k.bc", b"define void @f() {", "give textual IR the suffix .ll"),
        ("k.bc", b"", "does not begin as LLVM bitcode"),
        ("k.ptx", b"", "'.version' is not there"),
        ("k.ptx", b".version 7.0\n", "'.target sm_NN' is not there"),
    ],
)
def test_what_is_not_what_its_suffix_says(tmp_path: Path, name: str, data: bytes, word: str) -> None:
    (tmp_path / name).write_bytes(data)
    with pytest.raises(BuildError) as caught:
        read_sources([name], root=tmp_path)
    assert caught.value.problems[0].code is Code.BAD_INPUT_FILE
    assert word in str(caught.value)


def test_bitcode_is_known_in_both_forms() -> None:
    assert parse_bitcode(b"BC\xc0\xde", "k.bc").dialect == "LLVM bitcode"
    assert parse_bitcode(b"\xde\xc0\x17\x0b", "k.bc").kind == "bitcode"


def test_the_words_of_cuda_sources_are_read_where_they_are_asked_for(tmp_path: Path) -> None:
    (tmp_path / "k.cu").write_text("template <class T> __global__ void scale(T* x) {}")
    assert read_sources(["k.cu"], root=tmp_path) == {}
    assert "scale" in read_sources([], root=tmp_path, words=["k.cu", "gone.cu"])["k.cu"].words


def test_a_kernel_is_told_from_a_word() -> None:
    text = """\
// __global__ void old() {}
template <class T> static __global__ void __launch_bounds__(128, 2) scale(T* x, T a) { other(x); }
__global__ void many(
    float scaled, int (&shift)[3]);
"""
    kernels = parse_cuda(text).kernels
    assert {"scale", "many"} <= kernels
    assert kernels.isdisjoint({"old", "other", "scaled", "shift", "x"})
