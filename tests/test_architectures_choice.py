"""A request chooses GPUs, a source chooses code."""

from __future__ import annotations

import pytest
from architectures_support import CUDA_12_4, CUDA_13_0, KNOWN, known_by, request, show
from hypothesis import given
from hypothesis import strategies as st

from setuptools_cuda.errors import BuildError, Code
from setuptools_cuda.resolution.architecture_choice import Choice, choose_codes
from setuptools_cuda.resolution.architecture_words import parse_architectures
from setuptools_cuda.resolution.values import Architecture


def choose(
    requested: str,
    own: str | None = None,
    *,
    low: str | None = None,
    high: str | None = None,
    ptx: bool = True,
    release=CUDA_13_0,
    unsupported="error",
) -> Choice:
    return choose_codes(
        request(requested),
        own=None if own is None else parse_architectures(own, where="own"),
        minimum=low,
        maximum=high,
        known=known_by(release),
        can_carry_ptx=ptx,
        release=release,
        unsupported=unsupported,
        where="src/a.cu",
    )


def dropped(choice: Choice) -> list[str]:
    return [str(architecture) for architecture, _ in choice.dropped]


def test_without_words_and_bounds_the_request_itself():
    choice = choose("80 90a 120")
    assert choice == Choice(request("80 90a 120").codes)


@pytest.mark.parametrize(
    ("requested", "own", "codes", "left_out"),
    [
        ("90", "90a", "90a", []),
        ("80 90 120", "90a", "90a", ["80", "120"]),
        ("80 90", "80 90a", "80+PTX 90a", []),
        ("80 86 90 120", "80 90a", "80+PTX 90a", []),
        ("80 90 120", "80 90", "80 90+PTX", []),
        ("90 120", "80", "compute_80", []),
        ("80 90", "90 90a", "90a", ["80"]),
        ("100", "100a 100f 100", "100a", []),
        ("103", "100f", "100f", []),
        ("103", "100a", "", ["103"]),
        ("103", "100 100f", "100f", []),
        ("100 103", "100 100f", "100f", []),
        ("103 110", "100", "100+PTX", []),
        ("86 89", "80 86", "86+PTX", []),
        ("87", "86 89", "86+PTX", []),
        ("75", "80", "", ["75"]),
        ("90a", "90", "90", []),
        ("90a", "80", "compute_80", []),
        ("80-real 90-real", "80 90a", "80 90a", []),
        ("80-real 120-real", "80", "80+PTX", []),
        ("80 120", "80-real", "80", ["120"]),
        ("80 90 120", "80 90-virtual", "80 compute_90", []),
        ("80 120", "80-virtual", "compute_80", []),
        ("80-virtual", "80", "compute_80", []),
        ("90-virtual", "90a", "compute_90a", []),
        ("80+PTX 90", "80 90", "80 90+PTX", []),
        ("80 90", "all-major", "80 90+PTX", []),
        ("80 86", "all", "80 86+PTX", []),
        ("120", "90a 75", "compute_75", []),
    ],
)
def test_the_best_of_its_own(requested, own, codes, left_out):
    choice = choose(requested, own)
    assert show(choice.codes) == codes
    assert dropped(choice) == left_out
    assert (choice.problem is None) == bool(codes)


def test_what_is_dropped_says_why():
    reasons = {str(architecture): reason for architecture, reason in choose("80 90 120", "90a").dropped}
    assert reasons["80"] == "older than all that the source is for"
    assert reasons["120"] == "code with the variant a or f does not run on it"
    assert "-real" in choose("80 120", "80-real").dropped[0][1]
    assert "no format of the target carries" in choose("80 120", "80", ptx=False).dropped[0][1]


def test_without_a_carrier_of_ptx():
    choice = choose("80 90", "80", ptx=False)
    assert show(choice.codes) == "80+PTX"
    assert dropped(choice) == ["90"]
    assert show(choose("80 90", "80 90-virtual", ptx=False).codes) == "80"


# bounds


@pytest.mark.parametrize(
    ("requested", "low", "high", "codes", "left_out"),
    [
        ("80 120", None, "90", "80 compute_90", []),
        ("80 90 120", None, "90", "80 90+PTX", []),
        ("80 90a 120", None, "90", "80 compute_90 90a", []),
        ("80 90a", None, "90", "80+PTX 90a", []),
        ("80 90a", None, "9.0a", "80+PTX 90a", []),
        ("100 120", None, "90", "compute_90", []),
        ("80-real 120-real", None, "90", "80 compute_90", []),
        ("75 80 90", "80", None, "80 90+PTX", ["75"]),
        ("75 80 120", "80", "sm_90", "80 compute_90", ["75"]),
        ("80 120", None, "95", "80 compute_90", []),
        ("80 120", None, "85", "80+PTX", []),
    ],
)
def test_bounds(requested, low, high, codes, left_out):
    choice = choose(requested, low=low, high=high)
    assert show(choice.codes) == codes
    assert dropped(choice) == left_out
    assert choice.problem is None


def test_the_stand_in_is_said():
    assert choose("80 100 120", high="90").notes == (
        "100, 120: served by PTX of compute_90, since max-architecture is 90",
    )


def test_a_stand_in_needs_a_format_that_carries_ptx():
    for own in (None, "80"):
        problem = choose("80 120", own, high="90", ptx=False).problem
        assert problem is not None
        assert problem.code is Code.CONFLICT
        assert 'add "ptx" to the formats of the target' in problem.render()
    assert choose("80 90", high="90", ptx=False).problem is None


def test_a_bound_below_all_that_the_toolkit_knows():
    choice = choose("80 120", high="70")
    assert choice.codes == ()
    assert dropped(choice) == ["80", "120"]
    assert choice.problem is not None
    assert choice.problem.code is Code.NO_ARCHITECTURE_LEFT


def test_bounds_hold_for_its_own_too():
    choice = choose("80 90 120", "80 90a 120", high="90")
    assert show(choice.codes) == "80+PTX 90a"
    assert choice.problem is None
    assert show(choose("80 90", "75 90", low="80").codes) == "90+PTX"


def test_an_empty_range():
    problem = choose("80", low="90", high="80").problem
    assert problem is not None
    assert "min-architecture 90 is above max-architecture 80" in problem.what


def test_a_bound_that_is_none():
    with pytest.raises(BuildError, match="max-architecture"):
        choose("80", high="all")


# problems


def test_nothing_left_shows_both_lists():
    problem = choose("75 80", "90a").problem
    assert problem is not None
    assert problem.code is Code.NO_ARCHITECTURE_LEFT
    assert problem.where == "src/a.cu"
    assert ("requested", "sm_75, sm_80+PTX (architectures)") in problem.details
    assert ("its own", "90a") in problem.details
    assert 'when-empty = "skip"' in problem.render()


def test_nothing_left_shows_the_bounds():
    problem = choose("75", low="80").problem
    assert problem is not None
    assert ("min-architecture", "80") in problem.details
    assert ("75", "below min-architecture 80") in problem.details


def test_native_is_for_the_request():
    problem = choose("80", "native").problem
    assert problem is not None
    assert problem.code is Code.BAD_ARCHITECTURE


def test_an_entry_that_the_toolkit_does_not_know_is_an_error_where_it_is_needed():
    problem = choose("90", "90f").problem
    assert problem is not None
    assert problem.code is Code.UNKNOWN_ARCHITECTURE
    assert "90f" in problem.what


def test_an_entry_that_the_toolkit_does_not_know_is_said_where_it_is_not_needed():
    choice = choose("80 90", "80 90a 100a", release=CUDA_12_4)
    assert choice.problem is None
    assert show(choice.codes) == "80+PTX 90a"
    assert choice.notes == ("100a is not used: CUDA 12.4 does not compile for it",)


def test_unknown_entries_are_dropped_where_the_project_says_so():
    choice = choose("90", "90f 80", unsupported="drop")
    assert choice.problem is None
    assert show(choice.codes) == "compute_80"


# what holds for whatever is asked


@given(
    requested=st.lists(st.sampled_from(KNOWN), min_size=1, max_size=5),
    own=st.none() | st.lists(st.sampled_from(KNOWN), min_size=1, max_size=5),
    high=st.none() | st.sampled_from([75, 80, 90, 100, 120]),
    ptx=st.booleans(),
)
def test_every_requested_architecture_is_served_or_dropped(requested, own, high, ptx):
    own_text = None if own is None else " ".join(map(str, own))
    high_text = None if high is None else str(high)
    choice = choose(" ".join(map(str, requested)), own_text, high=high_text, ptx=ptx)
    out = {architecture for architecture, _ in choice.dropped}
    assert list(choice.codes) == sorted(choice.codes, key=lambda code: code.architecture)
    assert len({code.architecture for code in choice.codes}) == len(choice.codes)
    assert all(code.real or code.virtual for code in choice.codes)
    assert choice.codes or choice.problem
    if choice.problem is not None:
        return
    for architecture in set(requested) - out:
        assert any(runs_on(code, architecture) for code in choice.codes)
    assert all(high is None or code.architecture.number <= high for code in choice.codes)
    assert own is None or {code.architecture for code in choice.codes} <= set(own)


def runs_on(code, target: Architecture) -> bool:
    """Whether machine code or PTX of ``code`` runs on the GPU of ``target``, by NVIDIA's rules."""
    one = code.architecture
    if one.number == target.number:
        return True
    if one.variant == "a" or one.number > target.number:
        return False
    same_major = one.number // 10 == target.number // 10
    return same_major or (code.virtual and one.variant == "")
