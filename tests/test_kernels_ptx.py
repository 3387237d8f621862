from __future__ import annotations

import random
import re
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from setuptools_cuda.errors import BuildError, Code
from setuptools_cuda.stage.kernel_values import Parameter
from setuptools_cuda.stage.ptx import Entry, PtxFacts, parse_ptx
from tests.kernels_support import PTX, SOURCE, run_nvcc

HEAD = ".version 8.4\n.target sm_75\n.address_size 64\n"


def kernels(text: str) -> dict[str, list[tuple[str, int, int]]]:
    return {k.name: [(p.type, p.size, p.alignment) for p in k.parameters] for k in parse_ptx(text).kernels}


def test_a_file_by_hand() -> None:
    facts = parse_ptx(PTX)
    assert (facts.isa, facts.target) == ((9, 0), "sm_80")
    assert [k.name for k in facts.kernels] == [
        "saxpy",
        "_ZN2ns5scaleIfLi3EEEvPT_1P",
        "_ZN2ns5scaleIdLi3EEEvPT_1P",
        "_ZN2ns5helloEi",
    ]
    assert facts.kernels[0] == Entry(
        "saxpy", (Parameter("f32", size=4, alignment=4), Parameter("u64", size=8, alignment=8))
    )


@pytest.mark.parametrize(
    ("declaration", "expected"),
    [
        (".param .u64 p", ("u64", 8, 8)),
        (".param .b8 p", ("b8", 1, 1)),
        (".param .f16x2 p", ("f16x2", 4, 4)),
        (".param .bf16 p", ("bf16", 2, 2)),
        (".param .b128 p", ("b128", 16, 16)),
        (".param .align 8 .b8 p[24]", ("b8", 24, 8)),
        (".param .align 16 .b8 _p$0 [ 4 ] [8]", ("b8", 32, 16)),
        (".param .align 4 .f32 p", ("f32", 4, 4)),
        (".param .v4 .f32 p", ("f32", 16, 16)),
        # what a pointer points to is aligned, not the parameter
        (".param .u64 .ptr .global .align 1 p", ("u64", 8, 8)),
        (".param .u64 .ptr .align 128 p", ("u64", 8, 8)),
        (".param .u64 .ptr p", ("u64", 8, 8)),
        (".param .texref p", ("texref", 8, 8)),
        ("/* a , ) */ .param\n.u32 // {\n p", ("u32", 4, 4)),
    ],
)
def test_parameters(declaration: str, expected: tuple[str, int, int]) -> None:
    assert kernels(f"{HEAD}.entry k({declaration}, .param .u8 last) {{ ret; }}") == {"k": [expected, ("u8", 1, 1)]}


@pytest.mark.parametrize(
    "entry",
    [
        ".entry k { ret; }",
        ".entry k() { ret; }",
        ".visible .entry k ( ) { ret; }",
        ".weak\n.entry\nk\n(\n)\n.maxntid 128, 1, 1\n.minnctapersm 2\n{ ret; }",
        '.entry k() .pragma "nounroll"; { ret; }',
        '.entry k() .explicitcluster .reqnctapercluster 2, 1, 1 .pragma "a; {"; .maxnreg 32 { ret; }',
        ".visible .entry k();\n.visible .entry k() { ret; }",
        "// .entry no() {}\n/* .entry no() { */ .entry k() { ret; }",
        '.global .b8 s[9]; .file 1 "a .entry no() { \\" .cu" .entry k() { ret; }',
        ".func no_entry() { ret; } .entry k() { bra $L.entry; $L: ret; }",
        ".entry k() { ret; }\n.section .debug_str { .b8 46 }",
    ],
)
def test_the_head_of_a_kernel(entry: str) -> None:
    assert kernels(HEAD + entry) == {"k": []}


def test_a_kernel_that_is_only_declared_is_left_out() -> None:
    assert kernels(HEAD + ".visible .entry k(.param .u32 p);") == {}


@pytest.mark.parametrize(
    ("head", "isa", "target"),
    [
        (".version 9.5\n.target sm_100f\n", (9, 5), "sm_100f"),
        ("\n// x\n\t.version  7.8\t.target sm_90a, debug\n", (7, 8), "sm_90a"),
        (".version 6.0 .target sm_60, texmode_independent\r\n", (6, 0), "sm_60"),
    ],
)
def test_the_head_of_a_file(head: str, isa: tuple[int, int], target: str) -> None:
    assert parse_ptx(head) == PtxFacts(isa, target, ())


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("", "it does not begin with '.version'"),
        ("\x7fELF\x02\x01", "it does not begin with '.version'"),
        (".target sm_80\n.version 9.0", "it does not begin with '.version'"),
        (".version nine\n.target sm_80", "it does not begin with '.version'"),
        (".version 9.0\n.address_size 64", "no '.target' follows '.version'"),
        (HEAD + ".entry ", "an '.entry' has no name"),
        (HEAD + ".entry 9k() {}", "an '.entry' has no name"),
        (HEAD + ".entry k", "the head of '.entry k' does not end"),
        (HEAD + ".entry k(.param .u32 a { ret; }", "the head of '.entry k' does not end"),
        (HEAD + ".entry k(.param .u32 a,) { ret; }", "'.entry k' has the parameter '', which is not understood"),
        (
            HEAD + ".entry k(.param .x32 a) { ret; }",
            "'.entry k' has the parameter '.param .x32 a', which is not understood",
        ),
        (
            HEAD + ".entry k(.reg .u32 a) { ret; }",
            "'.entry k' has the parameter '.reg .u32 a', which is not understood",
        ),
    ],
)
def test_what_is_no_ptx(text: str, why: str) -> None:
    with pytest.raises(BuildError) as caught:
        parse_ptx(text, where="k.ptx")
    (problem,) = caught.value.problems
    assert (problem.code, problem.where, problem.details) == (Code.BAD_INPUT_FILE, "k.ptx", (("because", why),))


@pytest.fixture(scope="module")
def real_ptx(toolkit_nvcc: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    folder = tmp_path_factory.mktemp("ptx")
    (folder / "k.cu").write_text(SOURCE)
    arguments = ("-ptx", "-lineinfo", "-arch=compute_90a", "k.cu", "-o", "k.ptx")
    run_nvcc(toolkit_nvcc, *arguments, cwd=folder)
    return (folder / "k.ptx").read_text()


def test_what_nvcc_writes(real_ptx: str) -> None:
    facts = parse_ptx(real_ptx)
    assert facts.isa[0] >= 9
    assert facts.target == "sm_90a"
    pointer, struct = ("u64", 8, 8), ("b8", 24, 8)
    assert kernels(real_ptx) == {
        "saxpy": [("f32", 4, 4), pointer, pointer, ("u32", 4, 4)],
        "nothing": [],
        "speak": [],
        "_Z5mixed1Qbs1PPx": [("b8", 32, 16), ("u8", 1, 1), ("u16", 2, 2), struct, pointer],
        "_ZN2ns5scaleIfLi3EEEvPT_1P": [pointer, struct],
        "_ZN2ns5scaleIdLin4EEEvPT_1P": [pointer, struct],
    }


names = st.from_regex(r"\A(?:[A-Za-z][A-Za-z0-9_$]{0,12}|[_$%][A-Za-z0-9_$]{1,12})\Z")
scalars = st.sampled_from([("u8", 1), ("s16", 2), ("f16x2", 4), ("b32", 4), ("f64", 8), ("b128", 16)])
parameters = st.tuples(scalars, st.lists(st.integers(1, 99), max_size=2), st.sampled_from([None, 1, 4, 16]))
heads = st.lists(st.tuples(names, st.lists(parameters, max_size=4)), max_size=4, unique_by=lambda head: head[0])


@given(heads, st.sampled_from([" ", "\n", "\t// } ; .entry\n", " /* ( , */ "]))
def test_what_is_written_is_read(
    heads: list[tuple[str, list[tuple[tuple[str, int], list[int], int | None]]]], gap: str
) -> None:
    text, expected = HEAD, {}
    for name, declared in heads:
        words, expected[name] = [], []
        for index, ((kind, width), extents, alignment) in enumerate(declared):
            size = width
            for extent in extents:
                size *= extent
            aligned = f".align {alignment}" if alignment else ""
            words.append(gap.join([".param", aligned, f".{kind}", f"p{index}", *(f"[{e}]" for e in extents)]))
            expected[name].append((kind, size, alignment or width))
        text += gap.join([".visible", ".entry", name, "(", f"{gap},".join(words), ")", "{ ret; }", ""])
    assert kernels(text) == expected


def holds_or_raises(text: str) -> None:
    codes, found = set(), PtxFacts((0, 0), "", ())
    try:
        found = parse_ptx(text)
    except BuildError as error:
        codes = {problem.code for problem in error.problems}
    assert codes <= {Code.BAD_INPUT_FILE}
    assert all(p.size >= 0 and p.alignment >= 0 for k in found.kernels for p in k.parameters)


@given(st.text())
def test_any_text(text: str) -> None:
    holds_or_raises(text)
    holds_or_raises(HEAD + text)
    holds_or_raises(f"{HEAD}.entry k({text}) {{ ret; }}")


@settings(max_examples=60)
@given(st.randoms(use_true_random=False))
def test_damaged_ptx(chance: random.Random) -> None:
    words = re.split(r"(\W)", PTX)
    for _ in range(chance.randint(1, 4)):
        at = chance.randrange(len(words))
        words[at : at + chance.randint(0, 3)] = chance.choices(words, k=chance.randint(0, 2))
    holds_or_raises("".join(words))
