"""The requested architectures: who decides, what is dropped and what is an error."""

from __future__ import annotations

import sys

import pytest
from architectures_support import CUDA_12_4, KNOWN, resolve, show

from setuptools_cuda.errors import BuildError, Code, Problem
from setuptools_cuda.resolution import gpu
from setuptools_cuda.resolution.values import Architecture


def no_gpu():
    raise AssertionError("a GPU was looked at")


def refused(code: Code, *args, **kwargs) -> Problem:
    with pytest.raises(BuildError) as caught:
        resolve(*args, **kwargs)
    assert [problem.code for problem in caught.value.problems] == [code]
    return caught.value.problems[0]


# who decides


def test_the_default_is_all_major_and_needs_no_gpu():
    found = resolve(gpus=no_gpu)
    assert show(found.codes) == "75 80 90 100 110 120+PTX"
    assert found.found_via.kind == "default"
    assert found.notes == ()


def test_the_key_beats_the_default():
    found = resolve("90 80", gpus=no_gpu)
    assert show(found.codes) == "80 90+PTX"
    assert found.found_via.text == "tool.setuptools-cuda.architectures"


@pytest.mark.parametrize("kind", ["pyproject", "python"])
def test_variables_of_other_tools_beat_the_key(kind):
    found = resolve("80", kind=kind, variables={"CUDA_COMPUTE_CAP": "90"})
    assert show(found.codes) == "90+PTX"
    assert (found.found_via.kind, found.found_via.text) == ("environment", "CUDA_COMPUTE_CAP")


@pytest.mark.parametrize("kind", ["config-setting", "environment"])
def test_our_own_settings_beat_the_variables_of_other_tools(kind):
    found = resolve("80", kind=kind, variables={"CUDAARCHS": "90"})
    assert show(found.codes) == "80+PTX"
    name = {"config-setting": "-C cuda.architectures", "environment": "SETUPTOOLS_CUDA_ARCHITECTURES"}[kind]
    assert found.notes == (f"CUDAARCHS=90 is not looked at: {name} comes first",)
    assert resolve("9.0", kind=kind, variables={"CUDAARCHS": "90"}).notes == ()
    steps = ("setting", "project")
    assert resolve("80", kind=kind, variables={"CUDAARCHS": "90"}, architecture_steps=steps).notes == ()


def test_variables_in_their_order():
    names = ["CUDAARCHS", "CMAKE_CUDA_ARCHITECTURES", "TORCH_CUDA_ARCH_LIST", "CUDA_COMPUTE_CAPS", "CUDA_COMPUTE_CAP"]
    variables = dict(zip(names, ["75", "80", "8.6", "89", "90"], strict=True))
    for name, number in zip(names, ["75", "80", "86", "89", "90"], strict=True):
        found = resolve(variables=variables)
        assert show(found.codes) == f"{number}+PTX"
        assert found.found_via.text == name
        assert len(found.notes) == len(variables) - 1
        del variables[name]


def test_a_variable_that_says_the_same_in_other_words_is_not_warned_of():
    assert resolve(variables={"CUDAARCHS": "80;90", "TORCH_CUDA_ARCH_LIST": "9.0 8.0"}).notes == ()


def test_a_variable_that_differs_is_warned_of_also_where_it_is_malformed():
    found = resolve(variables={"CUDAARCHS": "80", "TORCH_CUDA_ARCH_LIST": "8.0+PTX", "CUDA_COMPUTE_CAP": "?"})
    assert found.notes == (
        "TORCH_CUDA_ARCH_LIST=8.0+PTX is not looked at: CUDAARCHS=80 comes first",
        "CUDA_COMPUTE_CAP=? is not looked at: CUDAARCHS=80 comes first",
    )


def test_an_empty_variable_is_an_unset_one():
    assert show(resolve("80", variables={"CUDAARCHS": " "}).codes) == "80+PTX"


def test_cmakes_off_is_passed_over_aloud():
    found = resolve("80", variables={"CMAKE_CUDA_ARCHITECTURES": "OFF", "CUDA_COMPUTE_CAP": "90"})
    assert show(found.codes) == "90+PTX"
    assert found.notes == (
        "CMAKE_CUDA_ARCHITECTURES=OFF names no architecture and is passed over",
        "the key 'architectures' of the project gives way to CUDA_COMPUTE_CAP",
    )


def test_a_malformed_word_names_variable_and_word():
    problem = refused(Code.BAD_ARCHITECTURE, variables={"TORCH_CUDA_ARCH_LIST": "8.0;Hooper"})
    assert problem.where == "TORCH_CUDA_ARCH_LIST"
    assert "Hooper" in problem.what


def test_torch_names_belong_to_their_variable():
    assert show(resolve(variables={"TORCH_CUDA_ARCH_LIST": "Hopper+PTX"}).codes) == "90+PTX"
    refused(Code.BAD_ARCHITECTURE, "Hopper")
    refused(Code.BAD_ARCHITECTURE, variables={"CUDAARCHS": "Hopper"})


# what the words mean


@pytest.mark.parametrize(
    ("words", "codes"),
    [
        ("80", "80+PTX"),
        ("120;9.0,sm_80", "80 90 120+PTX"),
        ("80 90a", "80+PTX 90a"),
        ("90a", "90a"),
        ("90a 100f", "90a 100f"),
        ("80 120 121a", "80 120+PTX 121a"),
        ("80-real 90-real", "80 90"),
        ("80 90-real", "80+PTX 90"),
        ("80-virtual 90", "compute_80 90"),
        ("compute_80 sm_80", "80+PTX"),
        ("8.0+PTX 9.0", "80+PTX 90"),
        ("80 80 sm_80 8.0", "80+PTX"),
        ("80 80-real 80-virtual", "80+PTX"),
        ("90 90a", "90+PTX 90a"),
        ("all", "75 80 86 87 88 89 90 100 103 110 120 121+PTX"),
        ("all-major 90a 80-virtual", "75 80+PTX 90 90a 100 110 120"),
        ("all-major 86", "75 80 86 90 100 110 120+PTX"),
    ],
)
def test_codes_in_canonical_order(words, codes):
    assert show(resolve(words).codes) == codes


def test_marks_are_kept():
    found = resolve("80 86-real 89-virtual 90+PTX")
    assert [code.marked for code in found.codes] == ["", "real", "virtual", "ptx"]


def test_all_major_of_an_older_toolkit():
    assert show(resolve(release=CUDA_12_4).codes) == "50 60 70 80 90+PTX"


# what the toolkit does not know


@pytest.mark.parametrize("kind", ["config-setting", "environment", "pyproject", "python"])
def test_unknown_from_us_is_an_error(kind):
    problem = refused(Code.UNKNOWN_ARCHITECTURE, "70 80 130", kind=kind)
    text = problem.render()
    assert "CUDA 13.0 does not compile for 70, 130" in problem.what
    assert "it knows" in text
    assert "75, 80, 86" in text
    assert 'cuda = "<=12.9"' in text
    assert "newer than all that it knows" in text


def test_a_newer_release_is_named():
    problem = refused(Code.UNKNOWN_ARCHITECTURE, "100", release=CUDA_12_4)
    assert 'cuda = ">=12.8"' in problem.render()


def test_a_variant_that_does_not_exist_says_which_do():
    problem = refused(Code.UNKNOWN_ARCHITECTURE, "90f 80a")
    assert ("90f", "of 90 it knows 90, 90a") in problem.details
    assert ("80a", "of 80 it knows 80") in problem.details


def test_unknown_is_dropped_where_the_project_says_so():
    found = resolve("70 80", unsupported_architectures="drop")
    assert show(found.codes) == "80+PTX"
    assert found.notes == ("CUDA 13.0 does not compile for 70: left out of tool.setuptools-cuda.architectures",)


def test_unknown_of_another_tool_is_dropped_with_a_note():
    found = resolve(variables={"TORCH_CUDA_ARCH_LIST": "7.0;8.0;13.0+PTX"})
    assert show(found.codes) == "80+PTX"
    assert found.notes == ("CUDA 13.0 does not compile for 70, 130: left out of TORCH_CUDA_ARCH_LIST",)


def test_an_error_where_none_is_left():
    assert "no other" in refused(Code.UNKNOWN_ARCHITECTURE, variables={"CUDA_COMPUTE_CAP": "70"}).what
    assert "no other" in refused(Code.UNKNOWN_ARCHITECTURE, "70", unsupported_architectures="drop").what


def test_illegal_pairs_are_found():
    problem = refused(Code.CONFLICT, "100f 100")
    assert "nvcc does not compile 100 and 100f together" in problem.what
    refused(Code.CONFLICT, "all-major 120f")


@pytest.mark.parametrize(
    "words", ["90 90a", "100 100a", "100a 100f", "100f 103", "100 100f-virtual", "100f 100-virtual"]
)
def test_legal_pairs_pass(words):
    assert len(resolve(words).codes) == 2


# GPUs


def test_native_asks_for_gpus():
    found = resolve("native", gpus=lambda: [Architecture(90), Architecture(80), Architecture(90)])
    assert show(found.codes) == "80 90+PTX"


def test_native_mixes():
    assert show(resolve("native 75", gpus=lambda: [Architecture(90)]).codes) == "75 90+PTX"


def test_a_gpu_that_the_toolkit_does_not_know():
    assert "150" in refused(Code.UNKNOWN_ARCHITECTURE, "native", gpus=lambda: [Architecture(150)]).what


def test_without_a_gpu_native_says_what_to_do(monkeypatch):
    monkeypatch.setitem(sys.modules, "pynvml", None)
    monkeypatch.setattr(gpu, "_DRIVER", "libcuda-that-is-nowhere.so.1")
    problem = refused(Code.NO_GPU, "native")
    assert [label for label, _ in problem.details] == ["NVML", "libcuda-that-is-nowhere.so.1"]
    assert "SETUPTOOLS_CUDA_ARCHITECTURES=80,90" in problem.render()


def test_the_dev_profile_takes_the_gpus_that_are_there():
    found = resolve("80 90", profile="dev", gpus=lambda: [Architecture(86)])
    assert show(found.codes) == "86+PTX"
    assert "GPUs of this machine" in found.notes[-1]


def test_the_dev_profile_without_a_gpu_takes_the_oldest_requested():
    def nothing():
        raise BuildError(Problem(Code.NO_GPU, "none"))

    found = resolve("90 80 120", profile="dev", gpus=nothing)
    assert show(found.codes) == "80+PTX"
    assert "the oldest requested, since no GPU answers" in found.notes[-1]


def test_the_dev_profile_does_not_build_for_a_gpu_that_is_too_new():
    found = resolve("80", profile="dev", gpus=lambda: [Architecture(150)])
    assert show(found.codes) == "80+PTX"
    assert "150" in found.notes[-1]


# steps


def test_steps_in_the_order_of_the_project():
    variables = {"CUDAARCHS": "90"}
    assert show(resolve("80", variables=variables, architecture_steps=("project", "environment")).codes) == "80+PTX"
    assert show(resolve("80", variables=variables, architecture_steps=("default",)).codes).startswith("75 80")


def test_a_step_that_is_left_out_is_not_looked_at():
    problem = refused(Code.MISSING_KEY, variables={"CUDAARCHS": "90"}, architecture_steps=("setting", "project"))
    assert "setting, project" in problem.render()


def test_unknown_steps_are_named_at_once():
    with pytest.raises(BuildError) as caught:
        resolve(architecture_steps=("enviroment", "project", "nonesuch"))
    assert [problem.code for problem in caught.value.problems] == [Code.BAD_VALUE] * 2
    assert "did you mean 'environment'?" in str(caught.value)


def install_step(folder, body, name="gpu-fleet"):
    """Install a distribution with a step, as pip lays it out."""
    (folder / "fleet.py").write_text(body)
    info = folder / "fleet-1.0.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: fleet\nVersion: 1.0\n")
    (info / "entry_points.txt").write_text(f"[setuptools_cuda.architecture_steps]\n{name} = fleet:step\n")


@pytest.fixture
def fleet(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(tmp_path))
    yield tmp_path
    sys.modules.pop("fleet", None)


def test_a_step_of_another_distribution(fleet):
    install_step(fleet, "def step(context):\n    return ['90a', '80'] if context.release.major == 13 else None\n")
    found = resolve(architecture_steps=("gpu-fleet", "default"), search_path=(str(fleet),))
    assert show(found.codes) == "80+PTX 90a"
    assert "gpu-fleet" in found.found_via.text


def test_an_added_step_comes_before_the_default_alone(fleet):
    install_step(fleet, "def step(context):\n    return '90'\n")
    assert show(resolve(search_path=(str(fleet),)).codes) == "90+PTX"
    assert show(resolve("80", search_path=(str(fleet),)).codes) == "80+PTX"


def test_a_step_may_have_no_answer(fleet):
    install_step(fleet, "def step(context):\n    return None\n")
    assert resolve(search_path=(str(fleet),)).found_via.kind == "default"


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("def step(context):\n    raise ZeroDivisionError('by zero')\n", "ZeroDivisionError: by zero"),
        ("def step(context):\n    return 90\n", "int 90"),
        ("def step(context):\n    return ['80', 90]\n", "list ['80', 90]"),
        ("def step(context):\n    return 'eighty'\n", "list ['eighty']"),
        ("step = 7\n", "int 7"),
        ("import nonesuch_module\n", "ModuleNotFoundError"),
        ("", "AttributeError"),
    ],
)
def test_a_step_that_fails_is_named(fleet, body, said):
    install_step(fleet, body)
    problem = refused(Code.PLUGIN_FAILED, search_path=(str(fleet),))
    assert "'gpu-fleet' of fleet" in problem.what
    assert said in problem.render()


def test_no_step_can_take_the_name_of_a_built_in_one(fleet):
    install_step(fleet, "def step(context):\n    return '90'\n", name="default")
    problem = refused(Code.PLUGIN_FAILED, search_path=(str(fleet),))
    assert "the plug-in 'default' of fleet failed" in problem.what
    assert "'default' is taken by setuptools_cuda itself" in problem.render()


def test_known_is_what_the_tests_think():
    assert Architecture(90, "a") in KNOWN
