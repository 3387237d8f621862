"""The plan: what is compiled how often, with which command, and where it goes."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from plan_support import jobs_of, make_toolchain, plan_table, write_files

from setuptools_cuda.config.model import Flags
from setuptools_cuda.errors import BuildError, Code
from setuptools_cuda.plan.paths import attribute_names, digest, object_name, source_id
from setuptools_cuda.plan.values import BuildPlan
from setuptools_cuda.resolution.values import Package

THREE = {
    "architectures": ["80", "90a"],
    "library": [{"name": "att", "sources": ["k.cu"]}],
    "extension": [{"name": "demo._native", "sources": ["bind.cpp", "k.cu"]}],
    "kernel-module": [{"module": "demo.kernels", "sources": ["k.cu"]}],
}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    write_files(tmp_path, "k.cu", "other.cu", "bind.cpp", "a/k.cu", "b/k.cu", "k.cpp", "plain.c", "m.pyx", "inc/h.h")
    return tmp_path


def argv_of(plan: BuildPlan, source: str) -> tuple[str, ...]:
    (job,) = [job for job in plan.jobs if job.inputs == (source,)]
    return job.argv


def test_one_pass_serves_extension_library_and_kernel_module(root: Path) -> None:
    plan = plan_table(root, THREE, toolchain=make_toolchain())
    (compiled,) = jobs_of(plan, "cuda")
    assert compiled.used_by == ("att", "demo._native", "demo.kernels")
    assert {output.role for output in compiled.outputs} == {"object", "ptx:80", "ptx:90a", "cubin:80", "cubin:90a"}
    assert "-c" in compiled.argv
    assert not any(" times: " in note for note in plan.notes)


def test_what_one_target_sets_is_a_compile_of_its_own_and_is_said(root: Path) -> None:
    table = {**THREE, "kernel-module": [{"module": "demo.kernels", "sources": ["k.cu"], "defines": ["X"]}]}
    plan = plan_table(root, table, toolchain=make_toolchain())
    assert len(jobs_of(plan, "cuda")) == 2
    (note,) = [note for note in plan.notes if note.startswith("k.cu is compiled 2 times: ")]
    assert "demo.kernels" in note


def test_kernels_alone_need_no_object(root: Path) -> None:
    plan = plan_table(root, {"kernel-module": THREE["kernel-module"]}, toolchain=make_toolchain())
    (compiled,) = jobs_of(plan, "cuda")
    assert "-fatbin" in compiled.argv
    assert "object" not in {output.role for output in compiled.outputs}


def test_python_reaches_cuda_sources_by_its_include_folder_alone(root: Path) -> None:
    plan = plan_table(root, THREE, toolchain=make_toolchain())
    argv = argv_of(plan, "k.cu")
    assert "-I{place:python}" in argv
    assert not any("NDEBUG" in word for word in argv)
    alone = plan_table(root, {"kernel-module": THREE["kernel-module"]}, toolchain=make_toolchain())
    assert "-I/usr/include/python3.11" not in argv_of(alone, "k.cu")


def test_flags_come_project_target_override_environment(root: Path) -> None:
    table = {
        "flags": ["-DP"],
        "extension": [
            {"name": "e", "sources": ["k.cu", "bind.cpp", "plain.c"], "flags": {"cuda": ["-DT"], "cxx": ["-O1"]}}
        ],
        "override": [{"match": "k.cu", "flags": ["-DO"]}],
    }
    plan = plan_table(root, table, toolchain=make_toolchain(), environment_flags=Flags(cuda=("-DE",), c=("-O2",)))
    argv = argv_of(plan, "k.cu")
    assert [word for word in argv if word in {"-DP", "-DT", "-DO", "-DE"}] == ["-DP", "-DT", "-DO", "-DE"]
    assert "-O1" in argv_of(plan, "bind.cpp")
    assert "-O1" not in argv_of(plan, "plain.c")
    assert "-O2" in argv_of(plan, "plain.c")


def test_the_standard_is_for_cxx_and_cuda_never_for_c(root: Path) -> None:
    table = {"std": "c++20", "extension": [{"name": "e", "sources": ["k.cu", "bind.cpp", "plain.c"]}]}
    plan = plan_table(root, table, toolchain=make_toolchain())
    assert "-std=c++20" in argv_of(plan, "k.cu")
    assert "-std=c++20" in argv_of(plan, "bind.cpp")
    assert not any(word.startswith("-std") for word in argv_of(plan, "plain.c"))


def test_names_that_agree_but_for_folder_or_suffix_have_objects_of_their_own(root: Path) -> None:
    table = {"extension": [{"name": "e", "sources": ["a/k.cu", "b/k.cu", "k.cpp", "k.cu"]}]}
    plan = plan_table(root, table, toolchain=make_toolchain())
    files = [output.file for job in plan.jobs for output in job.outputs]
    assert len(files) == len(set(files)) == 5


def test_relocatable_code_of_a_library_is_linked_once_in_each_extension(root: Path) -> None:
    table = {
        "library": [{"name": "dev", "sources": ["a/k.cu"], "rdc": True}],
        "extension": [
            {"name": "one", "sources": ["b/k.cu"], "rdc": True, "link": ["dev"]},
            {"name": "two", "sources": ["bind.cpp"], "link": ["dev"]},
        ],
    }
    plan = plan_table(root, table, toolchain=make_toolchain())
    links = jobs_of(plan, "device-link")
    assert [link.used_by for link in links] == [("one",), ("two",)]
    assert [len(link.needs) for link in links] == [2, 1]
    for link in jobs_of(plan, "link"):
        assert sum("device-link" in need for need in link.needs) == 1


def test_an_installed_library_carries_its_own_device_link(root: Path) -> None:
    table = {
        "library": [{"name": "dev", "sources": ["a/k.cu"], "rdc": True, "install": "demo/lib"}],
        "extension": [{"name": "two", "sources": ["bind.cpp"], "link": ["dev"]}],
    }
    plan = plan_table(root, table, toolchain=make_toolchain())
    (link,) = jobs_of(plan, "device-link")
    (archive,) = jobs_of(plan, "archive")
    assert link.outputs[0].file in archive.needs
    (shared,) = jobs_of(plan, "link")
    assert not any("device-link" in need for need in shared.needs)


def test_libraries_stand_before_those_that_they_link(root: Path) -> None:
    table = {
        "library": [
            {"name": "low", "sources": ["k.cpp"]},
            {"name": "high", "sources": ["bind.cpp"], "link": ["low", "CUDA::cublas"]},
        ],
        "extension": [{"name": "e", "sources": ["k.cu"], "link": ["low", "high"]}],
    }
    (link,) = jobs_of(plan_table(root, table, toolchain=make_toolchain()), "link")
    order = [word.rsplit("/", 1)[-1] for word in link.argv]
    assert order.index("libhigh.a") < order.index("liblow.a") < order.index("-lcublas") < order.index("-lcudart_static")


@pytest.mark.parametrize(
    ("cudart", "wanted", "rpath"),
    [("static", "-lcudart_static", False), ("shared", "-lcudart", True), ("none", None, False)],
)
def test_the_runtime_is_linked_as_asked(root: Path, cudart: str, wanted: str | None, rpath: bool) -> None:
    table = {"cudart": cudart, "extension": [{"name": "demo.e", "sources": ["k.cu"]}]}
    plan = plan_table(root, table, toolchain=make_toolchain())
    (link,) = jobs_of(plan, "link")
    assert [word for word in link.argv if word.startswith("-lcudart")] == ([wanted] if wanted else [])
    assert ("-Wl,-rpath,$ORIGIN/../nvidia/cu13/lib" in link.argv) is rpath
    assert plan.requirements == (("nvidia-cuda-runtime==13.*",) if rpath else ())


def test_without_a_toolkit_host_sources_remain_and_it_is_said(root: Path) -> None:
    table = {**THREE, "required": False}
    plan = plan_table(root, table, toolchain=None)
    assert [artifact.destination for artifact in plan.artifacts] == ["demo/_native.cpython-311-x86_64-linux-gnu.so"]
    assert not jobs_of(plan, "cuda")
    assert "demo._native: k.cu is left out, since there is no CUDA compiler" in plan.notes
    assert plan.summary == "no CUDA compiler: host sources alone are built"


def test_the_limited_api_is_suffix_and_macro(root: Path) -> None:
    table = {"extension": [{"name": "demo.e", "sources": ["bind.cpp", "k.cu"], "limited-api": "cp311"}]}
    plan = plan_table(root, table, toolchain=make_toolchain())
    assert [artifact.destination for artifact in plan.artifacts] == ["demo/e.abi3.so"]
    assert "-DPy_LIMITED_API=0x030b0000" in argv_of(plan, "bind.cpp")


def test_a_limited_api_newer_than_the_interpreter_is_an_ordinary_extension(root: Path) -> None:
    table = {"extension": [{"name": "demo.e", "sources": ["bind.cpp"], "limited-api": "cp313"}]}
    plan = plan_table(root, table, toolchain=make_toolchain())
    assert [artifact.destination for artifact in plan.artifacts] == ["demo/e.cpython-311-x86_64-linux-gnu.so"]
    assert not any("LIMITED" in word for word in argv_of(plan, "bind.cpp"))


def test_an_image_that_no_architecture_is_left_for_is_an_error_with_the_key(root: Path) -> None:
    table = {
        "kernel-module": [
            {"module": "demo.kernels", "sources": ["k.cu"], "formats": ["cubin"], "architectures": ["80-virtual"]}
        ]
    }
    with pytest.raises(BuildError) as caught:
        plan_table(root, table, toolchain=make_toolchain())
    assert caught.value.problems[0].code is Code.NO_ARCHITECTURE_LEFT


def test_skipped_sources_are_said(root: Path) -> None:
    table = {
        "architectures": ["80"],
        "kernel-module": [
            {"module": "demo.kernels", "sources": ["k.cu", "other.cu"]},
        ],
        "override": [{"match": "k.cu", "min-architecture": "90", "when-empty": "skip"}],
    }
    plan = plan_table(root, table, toolchain=make_toolchain())
    assert [file.source for file in plan.kernel_modules[0].files] == ["other.cu"]
    assert any(note.startswith("demo.kernels: k.cu is skipped") for note in plan.notes)


def test_a_package_brings_folders_sources_and_libraries(root: Path) -> None:
    package = Package(
        "torch", ("/t/include",), ("/t/lib",), ("torch/lib",), ("c10",), ("NAME={name}",), ("/t/glue.cpp",)
    )
    table = {"extension": [{"name": "demo._native", "sources": ["bind.cpp"], "uses": ["torch"]}]}
    plan = plan_table(root, table, toolchain=make_toolchain(), packages={"torch": package})
    argv = argv_of(plan, "bind.cpp")
    assert {"-I/t/include", "-DNAME=_native"} <= set(argv)
    assert argv_of(plan, "/t/glue.cpp")
    (link,) = jobs_of(plan, "link")
    assert {"-L/t/lib", "-lc10", "-Wl,-rpath,$ORIGIN/../torch/lib"} <= set(link.argv)


@pytest.mark.parametrize("value", ["A=$HOME", "A=`id`", "A=\\x"])
def test_what_a_shell_would_change_is_refused(root: Path, value: str) -> None:
    table = {"defines": [value], "kernel-module": THREE["kernel-module"]}
    with pytest.raises(BuildError) as caught:
        plan_table(root, table, toolchain=make_toolchain())
    assert {problem.code for problem in caught.value.problems} <= {Code.UNSAFE_PATH, Code.BAD_VALUE}


def test_packages_that_are_not_packaged_are_refused(root: Path) -> None:
    with pytest.raises(BuildError) as caught:
        plan_table(root, THREE, toolchain=make_toolchain(), python_packages=frozenset({"other"}))
    assert [problem.code for problem in caught.value.problems] == [Code.NOT_PACKAGED, Code.NOT_PACKAGED]


def test_planning_is_a_function_of_its_arguments(root: Path) -> None:
    assert plan_table(root, THREE, toolchain=make_toolchain()) == plan_table(root, THREE, toolchain=make_toolchain())


def test_attributes_are_stems_where_unique_and_paths_elsewhere() -> None:
    names = attribute_names(["a/k.cu", "b/k.cu", "src/saxpy.cu", "x/2d-fft.cu"])
    assert names == {"a/k.cu": "a_k", "b/k.cu": "b_k", "src/saxpy.cu": "saxpy", "x/2d-fft.cu": "x_2d_fft"}


@given(st.lists(st.text(max_size=5), max_size=4), st.lists(st.text(max_size=5), max_size=4))
def test_digests_tell_any_two_lists_apart(one: list[str], other: list[str]) -> None:
    assert (digest(*one) == digest(*other)) == (one == other)


@given(st.text(min_size=1, max_size=300))
def test_names_of_files_hold_nothing_that_a_shell_or_ninja_minds(source: str) -> None:
    for name in (object_name(source, key="0" * 16), source_id(source)):
        assert not set(name) & set(" $`'\"\\:|&;<>()#\n\t*?")
    assert len(object_name(source, key="0" * 16)) < 200


def test_a_launcher_gets_objects_and_images_come_by_a_run_of_their_own(root: Path) -> None:
    plan = plan_table(root, {**THREE, "launcher": "ccache --flag"}, toolchain=make_toolchain())
    launched, plain = sorted(jobs_of(plan, "cuda"), key=lambda job: len(job.outputs))
    assert launched.argv[:3] == ("ccache", "--flag", "/cuda/bin/nvcc")
    assert [output.role for output in launched.outputs] == ["object"]
    assert "--keep" not in launched.argv
    assert plain.argv[0] == "/cuda/bin/nvcc"
    assert "-fatbin" in plain.argv
    (host,) = jobs_of(plan, "host")
    assert host.argv[0] == "ccache"
