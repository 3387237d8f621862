"""Where device compilers are looked for: one toolkit has all that is needed, and each place says why not."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from plan_support import make_toolchain
from toolchain_support import make_environment

from setuptools_cuda.config.model import Project, Settings
from setuptools_cuda.environment import Environment
from setuptools_cuda.resolution.device_tools import search_device_tools
from setuptools_cuda.resolution.values import Release

FILES = {
    "nvidia-cuda-nvrtc": ("lib/libnvrtc.so.13", "lib/libnvrtc.alt.so.13", "lib/libnvrtc-builtins.so.13.0"),
    "nvidia-nvvm": ("lib/libnvvm.so.4", "nvvm/libdevice/libdevice.10.bc"),
    "nvidia-cuda-nvcc": ("bin/ptxas", "bin/fatbinary"),
    "nvidia-cuda-runtime": ("include/cuda_runtime.h",),
    "nvidia-nvjitlink": ("lib/libnvJitLink.so.13",),
}


def write_wheels(site: Path, **versions: str) -> Path:
    """Write wheels ('nvrtc' for nvidia-cuda-nvrtc) of some versions into ``site``."""
    for name, files in FILES.items():
        version = versions.get(name.rsplit("-", 1)[-1])
        if version is None:
            continue
        for file in files:
            path = site / "nvidia" / "cu13" / file
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(f"{name} {version}")
        info = site / f"{name.replace('-', '_')}-{version}.dist-info"
        info.mkdir(parents=True)
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n")
    return site


def environment_of(root: Path, *sites: Path, **variables: str) -> Environment:
    return replace(make_environment(root, **variables), search_path=tuple(map(str, sites)))


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(root=tmp_path, project=Project(toolchain_steps=("root-env", "wheel")))


def test_wheels_of_cuda_12_are_told_to_be_none(tmp_path: Path, settings: Settings) -> None:
    (tmp_path / "site" / "nvidia" / "cuda_nvrtc" / "lib").mkdir(parents=True)
    environment = environment_of(tmp_path, tmp_path / "site")
    tools, (candidate,) = search_device_tools(settings, environment=environment, needs=("nvrtc",))
    assert tools is None
    assert "wheels of CUDA 12 or older, which make up no toolkit" in candidate.verdict


def test_the_wheels_of_one_release(tmp_path: Path, settings: Settings) -> None:
    site = write_wheels(tmp_path / "site", nvrtc="13.0.88", nvvm="13.0.88", runtime="13.0.96")
    environment = environment_of(tmp_path, site)
    tools, (candidate,) = search_device_tools(settings, environment=environment, needs=("nvrtc", "nvvm", "libdevice"))
    assert tools is not None
    assert (tools.release, tools.version) == (Release(13, 0), "13.0.88")
    assert tools.paths["nvrtc"].name == "libnvrtc.so.13"
    assert tools.paths["include"].name == "include"
    assert str(tools.known[0]) == "75"
    assert candidate.verdict == "chosen"
    assert tools.found_via.text == f"NVIDIA's wheels in {site}"


def test_a_place_that_lacks_something_is_passed_over_with_its_reason(tmp_path: Path, settings: Settings) -> None:
    first = write_wheels(tmp_path / "first", nvrtc="13.0.88")
    second = write_wheels(tmp_path / "second", nvrtc="13.1.1", nvcc="13.1.1")
    environment = environment_of(tmp_path, first, second)
    tools, candidates = search_device_tools(settings, environment=environment, needs=("nvrtc", "ptxas"))
    assert tools is not None
    assert tools.release == Release(13, 1)
    assert [one.verdict for one in candidates] == ["no ptxas", "chosen"]


def test_wheels_of_different_releases_are_none(tmp_path: Path, settings: Settings) -> None:
    site = write_wheels(tmp_path / "site", nvrtc="13.0.88", nvvm="13.5.37")
    tools, (one,) = search_device_tools(
        settings, environment=environment_of(tmp_path, site), needs=("nvrtc", "nvvm", "libdevice")
    )
    assert tools is None
    assert one.verdict == "does not tell its release"


def test_a_linker_of_another_release_would_write_other_ptx(tmp_path: Path, settings: Settings) -> None:
    site = write_wheels(tmp_path / "site", nvrtc="13.0.88", nvjitlink="13.5.37")
    environment = environment_of(tmp_path, site)
    assert search_device_tools(settings, environment=environment, needs=("nvrtc",))[0] is not None
    tools, (one,) = search_device_tools(settings, environment=environment, needs=("nvrtc", "nvjitlink"))
    assert tools is None
    assert one.verdict.startswith("nvidia-nvjitlink is 13.5, and the rest is 13.0")


def test_beside_an_nvcc_only_its_own_release_counts(tmp_path: Path, settings: Settings) -> None:
    site = write_wheels(tmp_path / "site", nvrtc="13.5.37")
    environment = environment_of(tmp_path, site)
    toolchain = make_toolchain(root=tmp_path)
    tools, candidates = search_device_tools(settings, environment=environment, needs=("nvrtc",), toolchain=toolchain)
    assert tools is None
    assert [one.verdict for one in candidates] == ["no nvrtc", "13.5, and the nvcc is 13.0"]


def test_a_toolkit_that_a_variable_names_tells_its_release_by_its_files(tmp_path: Path, settings: Settings) -> None:
    root = tmp_path / "cuda"
    for file in (*FILES["nvidia-cuda-nvrtc"], *FILES["nvidia-nvvm"]):
        path = root / file.replace("lib/", "lib64/")
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(file)
    environment = environment_of(tmp_path, CUDA_HOME=str(root))
    tools, _ = search_device_tools(settings, environment=environment, needs=("nvrtc",))
    assert tools is not None
    assert tools.release == Release(13, 0)
    assert tools.found_via.text == f"CUDA_HOME={root}"
    before = tools.identity("nvrtc")
    (root / "lib64/libnvrtc.so.13").write_text("another build")
    after, _ = search_device_tools(settings, environment=environment, needs=("nvrtc",))
    assert after is not None
    assert after.identity("nvrtc") != before


def test_steps_that_a_project_leaves_out_are_not_looked_at(tmp_path: Path, settings: Settings) -> None:
    site = write_wheels(tmp_path / "site", nvrtc="13.0.88")
    alone = replace(settings, project=Project(toolchain_steps=("root-env",)))
    assert search_device_tools(alone, environment=environment_of(tmp_path, site), needs=("nvrtc",)) == (None, ())


def test_a_release_outside_of_what_the_project_takes(tmp_path: Path, settings: Settings) -> None:
    site = write_wheels(tmp_path / "site", nvrtc="13.0.88")
    narrow = replace(settings, project=replace(settings.project, cuda=">=13.1"))
    _, (one,) = search_device_tools(narrow, environment=environment_of(tmp_path, site), needs=("nvrtc",))
    assert one.verdict == "13.0 is not within >=13.1"


def test_llvm_is_a_distribution_of_its_own(tmp_path: Path, settings: Settings) -> None:
    site = write_wheels(tmp_path / "site", nvvm="13.0.88", nvcc="13.0.88")
    environment = environment_of(tmp_path, site)
    needs = ("llvmlite", "libdevice", "ptxas")
    assert search_device_tools(settings, environment=environment, needs=needs)[0] is None
    for version, there in (("0.44.0", False), ("0.45.1", True)):
        info = site / f"llvmlite-{version}.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: llvmlite\nVersion: {version}\n")
        tools, _ = search_device_tools(settings, environment=environment, needs=needs)
        assert (tools is not None) == there
