from __future__ import annotations

from pathlib import Path

import pytest

from setuptools_cuda.errors import Code
from setuptools_cuda.stage.serves import check_serves
from tests.kernels_support import images_of, plan_module

# images, toolkit, ISA, serves, driver, the GPUs that are not served
CASES = [
    ("sm_75 sm_90 compute_90", "13.0", "9.0", ("75", "9.0", "120"), None, []),
    ("sm_75 sm_90 compute_90", "13.0", "9.0", ("75", "120"), "13.0", []),
    ("sm_80 compute_80", "13.0", "9.0", ("75", "8.0"), None, ["7.5"]),
    ("sm_80 compute_90", "13.5", "9.5", ("80", "90", "120"), "13.0", ["9.0", "12.0"]),
    ("sm_80 sm_90 sm_120", "13.5", "9.5", ("80", "90", "120"), "13.0", []),
    ("sm_80", "13.0", "9.0", ("80",), "12.4", ["8.0"]),
    # the oldest driver of a GPU newer than the named driver is what counts for it
    ("sm_80 compute_80", "12.4", "8.4", ("80", "120"), "12.4", []),
    ("sm_80 sm_120", "12.9", "8.8", ("80", "120"), "12.4", []),
    ("sm_80", "13.0", "9.0", (), "12.4", []),
]


@pytest.mark.parametrize(("words", "toolkit", "isa", "serves", "driver", "missing"), CASES)
def test_what_is_not_served(
    words: str, toolkit: str, isa: str, serves: tuple[str, ...], driver: str | None, missing: list[str], tmp_path: Path
) -> None:
    plan = plan_module(*words.split(), serves=serves, driver=driver)
    problems = check_serves(plan, images=images_of(plan, root=tmp_path, toolkit=toolkit, isa=isa))
    assert [problem.what.split("capability ")[1].split()[0] for problem in problems] == missing
    assert all(problem.code is Code.IMAGES_DO_NOT_SERVE for problem in problems)


def test_the_message_names_gpu_driver_what_is_held_and_what_helps(tmp_path: Path) -> None:
    plan = plan_module("sm_90", "compute_90", sources=("k/a.cu", "k/b.cu"), serves=("120",), driver="12.9")
    problems = check_serves(plan, images=images_of(plan, root=tmp_path))
    assert len(problems) == 2
    assert problems[0].render() == (
        "kernel-module[0].serves: no image of k/a.cu runs on a GPU of compute capability 12.0 "
        "with a driver for CUDA 12.9\n"
        "  held  cubin sm_90, which needs a driver for CUDA 13.0 or newer\n"
        "  held  ptx compute_90, which needs a driver for CUDA 13.0 or newer\n"
        "  to fix  a driver for CUDA 13.0 or newer\n"
        "          a build by a toolkit that is no newer than CUDA 12.9"
    )


def test_what_is_no_compute_capability(tmp_path: Path) -> None:
    plan = plan_module("sm_90", serves=("hopper", "90"))
    (problem,) = check_serves(plan, images=images_of(plan, root=tmp_path))
    assert (problem.code, problem.what) == (Code.BAD_VALUE, '\'hopper\' is no version such as "9.0" or "90"')
