"""The spellings of architectures: every one that is promised, and nothing but BuildError for the rest."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from setuptools_cuda.errors import BuildError, Code
from setuptools_cuda.resolution.architecture_words import (
    TORCH_NAMES,
    check_architectures,
    parse_architecture,
    parse_architectures,
)
from setuptools_cuda.resolution.values import Architecture


def says(words, dialect="ours"):
    return [
        (str(word.architecture or word.kind), word.mark)
        for word in parse_architectures(words, where="w", dialect=dialect)
    ]


@pytest.mark.parametrize(
    ("text", "architecture", "mark"),
    [
        ("80", "80", ""),
        ("8.0", "80", ""),
        ("12.1", "121", ""),
        ("sm_80", "80", ""),
        ("compute_80", "80", "virtual"),
        ("80-real", "80", "real"),
        ("80-virtual", "80", "virtual"),
        ("90a", "90a", ""),
        ("9.0a", "90a", ""),
        ("100f", "100f", ""),
        ("sm_90a", "90a", ""),
        ("compute_100f", "100f", "virtual"),
        ("8.0+PTX", "80", "ptx"),
        ("80+PTX", "80", "ptx"),
        ("8.0+ptx", "80", "ptx"),
        ("90a-real", "90a", "real"),
        ("sm_80-real", "80", "real"),
        ("compute_80-virtual", "80", "virtual"),
        ("native", "native", ""),
        ("all", "all", ""),
        ("all-major", "all-major", ""),
    ],
)
def test_each_spelling(text, architecture, mark):
    assert says(text) == [(architecture, mark)]


@pytest.mark.parametrize(
    "text", ["80;90a,100 120", " 80 , 90a ;; 100\t120\n", ["80", "90a", "100;120"], ("80 90a", "", "100,120")]
)
def test_any_separators(text):
    assert [one for one, _ in says(text)] == ["80", "90a", "100", "120"]


def test_order_and_text_are_kept():
    words = parse_architectures("120 sm_80 8.6+PTX", where="w")
    assert [word.text for word in words] == ["120", "sm_80", "8.6+PTX"]


@pytest.mark.parametrize(
    "token",
    [
        "8",
        "sm80",
        "080",
        "0.5",
        "8.0.0",
        "80-vitual",
        "compute_80-real",
        "sm_80-virtual",
        "80b",
        "1200",
        "nativ",
        "80+",
        "Hopper",
        "OFF",
        "80-real-real",
        "-80",
        "compute_80+PTX",
        "\u0668\u0660",
    ],
)
def test_malformed(token):
    with pytest.raises(BuildError) as caught:
        parse_architectures(token, where="TABLE.architectures")
    (problem,) = caught.value.problems
    assert problem.code is Code.BAD_ARCHITECTURE
    assert problem.where == "TABLE.architectures"


def test_a_compute_capability_with_its_point_in_the_wrong_place():
    problem = check_architectures("75.0 10.0", where="x")
    assert problem is not None
    assert "'75.0' is not an architecture" in problem.render()
    assert "did you mean 7.5?" in problem.render()


def test_all_malformed_words_are_named_at_once_with_what_was_meant():
    problem = check_architectures("80 8 nativ sm90 Hopper 90", where="SETUPTOOLS_CUDA_ARCHITECTURES")
    assert problem is not None
    text = problem.render()
    assert text.startswith(
        "SETUPTOOLS_CUDA_ARCHITECTURES: '8' and 'nativ' and 'sm90' and 'Hopper' are no architectures"
    )
    assert "did you mean 80" in text
    assert "did you mean native?" in text
    assert "a name of TORCH_CUDA_ARCH_LIST; here write 9.0+PTX" in text
    assert "80-virtual" in problem.fix[0]


def test_a_contradiction_is_explained():
    problem = check_architectures("compute_80-real", where="w")
    assert problem is not None
    assert "contradict" in problem.render()


def test_a_well_formed_list_is_no_problem():
    assert check_architectures("80", where="w") is None


@pytest.mark.parametrize("words", ["", " ; ", [], ["", ","]])
def test_an_empty_list_is_an_error(words):
    with pytest.raises(BuildError, match="no architecture is named"):
        parse_architectures(words, where="w")


def test_a_long_token_does_not_fill_the_message():
    problem = check_architectures("9" * 5000, where="w")
    assert problem is not None
    assert len(problem.render()) < 500


def test_torch_names_in_their_own_variable():
    assert says("Hopper", "torch") == [("90", "ptx")]
    assert says("Hopper+PTX", "torch") == [("90", "ptx")]
    assert says("Ampere", "torch") == [("80", ""), ("86", "ptx")]
    assert says("Ampere+Tegra", "torch") == [("87", "")]
    assert says("8.6+PTX;9.0a", "torch") == [("86", "ptx"), ("90a", "")]
    assert says("Common", "torch") == [("all-major", "")]
    assert says("All", "torch") == [("all", "")]
    assert says("Ampere+Tegra+PTX", "torch") == [("87", "ptx")]


def test_torch_names_are_numbers():
    for name in TORCH_NAMES:
        assert says(name, "torch")


def test_a_malformed_torch_list_shows_the_names():
    with pytest.raises(BuildError, match="Turing, Ampere, Ada, Hopper"):
        parse_architectures("Hooper", where="TORCH_CUDA_ARCH_LIST", dialect="torch")


def test_cmake_words_in_their_own_variable():
    assert says("80-real;90-virtual;all", "cmake") == [("80", "real"), ("90", "virtual"), ("all", "")]
    assert says("OFF", "cmake") == []
    with pytest.raises(BuildError):
        parse_architectures("80;OFF", where="CUDAARCHS", dialect="cmake")


def test_a_bound_is_one_number():
    assert parse_architecture("90a", where="max-architecture") == Architecture(90, "a")
    assert parse_architecture("9.0", where="max-architecture") == Architecture(90)
    for text in ("all", "80,90", "80-real", "80+PTX", ""):
        with pytest.raises(BuildError, match="max-architecture"):
            parse_architecture(text, where="max-architecture")


pieces = st.sampled_from(
    [
        "80",
        "8",
        ".",
        "0",
        "sm_",
        "compute_",
        "-real",
        "-virtual",
        "+PTX",
        "a",
        "f",
        "native",
        "all",
        "-major",
        ";",
        " ",
        "Ampere",
        "OFF",
    ]
)


@given(
    words=st.one_of(st.text(), st.lists(st.text()), st.lists(pieces).map("".join)),
    dialect=st.sampled_from(["ours", "cmake", "torch"]),
)
def test_whatever_is_written_gives_words_or_a_build_error(words, dialect):
    problem = check_architectures(words, where="w", dialect=dialect)
    if problem is not None:
        assert problem.code is Code.BAD_ARCHITECTURE
        assert problem.render().startswith("w: ")
        return
    for word in parse_architectures(words, where="w", dialect=dialect):
        assert (word.architecture is None) == (word.kind != "one")
        assert word.architecture is None or 10 <= word.architecture.number <= 999
