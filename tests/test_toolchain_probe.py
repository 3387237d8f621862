"""A toolkit is what its nvcc says it is, however it is reached."""

from __future__ import annotations

from pathlib import Path

import pytest
from toolchain_support import (
    link_targets,
    link_tree,
    make_environment,
    make_settings,
    site_of,
    write_nvcc,
    write_script,
    write_wrapper,
)

from setuptools_cuda.config.model import Origin
from setuptools_cuda.environment import Environment
from setuptools_cuda.errors import BuildError, Code
from setuptools_cuda.resolution.probe import Layout, Unusable, probe_known, probe_layout, probe_version
from setuptools_cuda.resolution.toolchain import resolve_toolchain
from setuptools_cuda.resolution.values import Release, Toolchain

GXX = Path("/usr/bin/g++")


def probe(nvcc: Path, environment: Environment) -> Layout:
    return probe_layout(nvcc, host_compiler=GXX, environment=environment)


def resolve(tmp_path: Path, environment: Environment, **project: object) -> Toolchain:
    settings = make_settings(tmp_path, **project)
    return resolve_toolchain(settings, environment=environment, build_dir=tmp_path / "build")


def test_version(toolkit_nvcc: Path, tmp_path: Path) -> None:
    version = probe_version(toolkit_nvcc, environment=make_environment(tmp_path))
    assert version.release == Release(*map(int, version.version.split(".")[:2]))
    assert f"V{version.version}" in version.text


def test_no_version(tmp_path: Path) -> None:
    write_script(tmp_path / "silent", "exit 0")
    write_script(tmp_path / "killed", "kill -9 $$")
    environment = make_environment(tmp_path)
    assert probe_version(tmp_path / "silent", environment=environment) == Unusable("does not say its release")
    assert probe_version(tmp_path / "killed", environment=environment) == Unusable("does not run (status -9)")
    gone = probe_version(tmp_path / "gone", environment=environment)
    assert gone == Unusable("does not run (status 127): No such file or directory")


def test_layout_of_wheels(toolkit_nvcc: Path, tmp_path: Path) -> None:
    root = toolkit_nvcc.parent.parent
    layout = probe(toolkit_nvcc, make_environment(tmp_path))
    assert (layout.nvcc, layout.binary, layout.root) == (toolkit_nvcc, toolkit_nvcc, root)
    assert layout.include_dirs == (root / "include", root / "include/cccl")
    assert layout.library_dirs == (root / "lib",)
    assert layout.cicc is not None
    assert layout.cicc.resolve() == root / "nvvm/bin/cicc"
    assert layout.ptxas == root / "bin/ptxas"
    assert layout.libdevice is not None
    assert layout.libdevice.name == "libdevice.10.bc"


def test_the_language_and_the_variables_of_nvcc_do_not_matter(toolkit_nvcc: Path, tmp_path: Path) -> None:
    environment = make_environment(
        tmp_path, LC_ALL="de_DE.UTF-8", NVCC_PREPEND_FLAGS="-ccbin /none", NVCC_APPEND_FLAGS="-h", NVCC_CCBIN="/none"
    )
    assert probe(toolkit_nvcc, environment) == probe(toolkit_nvcc, make_environment(tmp_path))
    assert probe_version(toolkit_nvcc, environment=environment).text


def test_a_wrapper_says_nothing_by_its_path(toolkit_nvcc: Path, tmp_path: Path) -> None:
    wrapper = write_wrapper(tmp_path / "odd place/nvcc", toolkit_nvcc)
    layout = probe(wrapper, make_environment(tmp_path))
    assert layout.nvcc == wrapper
    assert (layout.binary, layout.root) == (toolkit_nvcc, toolkit_nvcc.parent.parent)


def test_a_bare_link_to_nvcc_is_followed(toolkit_nvcc: Path, tmp_path: Path) -> None:
    """nvcc looks for nvcc.profile beside the path it was called by, and finds nothing beside a link."""
    link = tmp_path / "bin/nvcc"
    link.parent.mkdir()
    link.symlink_to(toolkit_nvcc)
    layout = probe(link, make_environment(tmp_path))
    assert (layout.nvcc, layout.root) == (toolkit_nvcc, toolkit_nvcc.parent.parent)
    found = resolve(tmp_path, make_environment(tmp_path, NVCC=str(link)))
    assert found.notes == (
        f"{toolkit_nvcc} is called in place of {link}, which is a link to it and has no toolkit beside it",
    )


def test_nvcc_without_its_profile(toolkit_nvcc: Path, tmp_path: Path) -> None:
    root = link_tree(toolkit_nvcc.parent.parent, tmp_path / "root", without=["bin/nvcc.profile", "bin/nvcc"])
    nvcc = root / "bin/nvcc"
    nvcc.write_bytes(toolkit_nvcc.read_bytes())
    nvcc.chmod(0o755)
    with pytest.raises(BuildError) as caught:
        probe(nvcc, make_environment(tmp_path))
    assert caught.value.problems[0].code is Code.PARTIAL_TOOLKIT
    assert f"there is no nvcc.profile beside {nvcc}" in str(caught.value)


def test_a_root_behind_links_with_spaces(toolkit_nvcc: Path, tmp_path: Path) -> None:
    (tmp_path / "my cuda $HOME").symlink_to(toolkit_nvcc.parent.parent)
    nvcc = tmp_path / "my cuda $HOME/bin/nvcc"
    layout = probe(nvcc, make_environment(tmp_path))
    assert layout.nvcc == nvcc
    assert layout.root == toolkit_nvcc.parent.parent
    assert layout.include_dirs == probe(toolkit_nvcc, make_environment(tmp_path)).include_dirs


@pytest.fixture
def conda(toolkit_nvcc: Path, tmp_path: Path) -> Path:
    """Return an environment laid out as conda's: headers and libraries under targets/."""
    return link_targets(toolkit_nvcc, tmp_path / "conda env")


def test_conda(conda: Path, tmp_path: Path) -> None:
    found = resolve(tmp_path, make_environment(tmp_path, CONDA_PREFIX=str(conda)))
    target = conda / "targets/x86_64-linux"
    assert (found.step, found.nvcc, found.root) == ("conda", conda / "bin/nvcc", conda)
    assert found.include_dirs == (target / "include", target / "include/cccl")
    assert found.library_dirs == (target / "lib", target / "lib/stubs")
    assert (found.from_wheel, found.farm) == (False, None)
    assert found.found_via == Origin("found", f"CONDA_PREFIX={conda}")


def test_split_like_debian(toolkit_nvcc: Path, tmp_path: Path) -> None:
    """nvcc is a script elsewhere; headers and libraries lie where the host compiler looks by itself."""
    source, lib = toolkit_nvcc.parent.parent, tmp_path / "usr/lib/nvidia-cuda-toolkit"
    link_tree(source, lib, without=["include", "lib"])
    write_wrapper(tmp_path / "usr/bin/nvcc", lib / "bin/nvcc")
    environment = make_environment(
        tmp_path,
        PATH=f"{tmp_path / 'usr/bin'}:/usr/bin:/bin",
        CPLUS_INCLUDE_PATH=f"{source / 'include'}:{source / 'include/cccl'}",
        LIBRARY_PATH=str(source / "lib"),
    )
    found = resolve(tmp_path, environment)
    assert (found.step, found.nvcc, found.root) == ("path", tmp_path / "usr/bin/nvcc", lib)
    assert (found.include_dirs, found.library_dirs) == ((), ())


def test_known(toolkit_nvcc: Path, tmp_path: Path) -> None:
    environment = make_environment(tmp_path)
    layout = probe(toolkit_nvcc, environment)
    known = probe_known(layout, release=Release(13, 0), environment=environment)
    assert {"75", "90", "90a", "100f", "120a"} <= set(map(str, known))
    assert "90f" not in map(str, known)
    assert list(known) == sorted(known)


def test_a_release_newer_than_the_catalogue_is_asked_for_its_variants(toolkit_nvcc: Path, tmp_path: Path) -> None:
    environment = make_environment(tmp_path)
    layout = probe(toolkit_nvcc, environment)
    now = probe_known(
        layout, release=probe_version(toolkit_nvcc, environment=environment).release, environment=environment
    )
    assert probe_known(layout, release=Release(99, 0), environment=environment) == now


def test_an_nvcc_that_lists_nothing(toolkit_nvcc: Path, tmp_path: Path) -> None:
    environment = make_environment(tmp_path)
    layout = probe(write_wrapper(tmp_path / "nvcc", toolkit_nvcc), environment)
    write_script(layout.nvcc, "exit 0")
    with pytest.raises(BuildError) as caught:
        probe_known(layout, release=Release(13, 0), environment=environment)
    assert caught.value.problems[0].code is Code.TOOL_FAILED
    assert "nvcc does not list its architectures" in str(caught.value)


def test_a_dry_run_that_fails_shows_its_command(tmp_path: Path) -> None:
    nvcc = write_nvcc(tmp_path / "nvcc", "13.0")
    with pytest.raises(BuildError) as caught:
        probe(nvcc, make_environment(tmp_path))
    assert caught.value.problems[0].code is Code.TOOL_FAILED
    assert f"{nvcc} --dryrun -ccbin /usr/bin/g++" in str(caught.value)


def test_no_host_compiler_is_not_a_broken_nvcc(toolkit_nvcc: Path, tmp_path: Path) -> None:
    environment = make_environment(tmp_path, search_path=[site_of(toolkit_nvcc)], PATH="/none")
    with pytest.raises(BuildError) as caught:
        resolve(tmp_path, environment)
    assert caught.value.problems[0].code is Code.NO_HOST_COMPILER
    assert "apt-get install g++" in str(caught.value)


def test_the_whole_toolchain(toolkit_nvcc: Path, tmp_path: Path) -> None:
    found = resolve(tmp_path, make_environment(tmp_path, search_path=[site_of(toolkit_nvcc)]))
    assert found.step == "wheel"
    assert str(found.release) == ".".join(found.version.split(".")[:2])
    assert found.nvcc == tmp_path / "build/toolkit/bin/nvcc"
    assert found.root == tmp_path / "build/toolkit"
    assert found.from_wheel
    assert found.launcher == ()
    assert found.host_compiler.family == "gcc"
    assert [each.verdict for each in found.candidates].count("chosen") == 1
    assert not (tmp_path / "build").exists()


def test_ccache_before_a_real_nvcc(toolkit_nvcc: Path, tmp_path: Path) -> None:
    write_script(tmp_path / "bin/ccache", 'exec "$@"')
    environment = make_environment(tmp_path, NVCC=f"ccache {toolkit_nvcc}", PATH=f"{tmp_path / 'bin'}:/usr/bin:/bin")
    found = resolve(tmp_path, environment)
    assert found.launcher == ("ccache",)
    assert (found.step, found.from_wheel) == ("compiler-env", True)
