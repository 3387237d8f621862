"""The link farm: an ordinary toolkit over NVIDIA's wheels."""

from __future__ import annotations

import multiprocessing
import shutil
from pathlib import Path

import pytest
from elftools.elf.dynamic import DynamicSection
from elftools.elf.elffile import ELFFile
from toolchain_support import link_site, make_environment

from setuptools_cuda.errors import BuildError, Code
from setuptools_cuda.process import Completed, run_tool
from setuptools_cuda.resolution.farm import plan_farm, write_farm
from setuptools_cuda.resolution.values import Farm

GXX = Path("/usr/bin/g++")
KERNEL = """\
#include <cuda_fp16.h>
__global__ void twice(float *x) { x[threadIdx.x] *= 2; }
extern "C" void run(float *x) { twice<<<1, 32>>>(x); }
"""


def write(farm: Farm) -> Farm:
    write_farm(farm, host_compiler=GXX, environment=make_environment(Path("/")))
    return farm


def snapshot(folder: Path) -> dict[str, tuple[str, int]]:
    """Return every path with where it leads and its inode, which changes when it is written again."""
    return {
        str(path.relative_to(folder)): (str(path.readlink()) if path.is_symlink() else "", path.lstat().st_ino)
        for path in sorted(folder.rglob("*"))
    }


@pytest.fixture
def farm(toolkit_nvcc: Path, tmp_path: Path) -> Farm:
    return plan_farm(toolkit_nvcc.parent.parent, into=tmp_path / "build dir" / "toolkit")


def compile_with(farm: Farm, folder: Path, *options: str) -> Completed:
    source = folder / "k.cu"
    source.write_text(KERNEL, "utf-8")
    argv = [
        str(farm.folder / "bin/nvcc"),
        "-shared",
        "-Xcompiler=-fPIC",
        *options,
        str(source),
        "-o",
        str(folder / "k.so"),
    ]
    return run_tool(argv, variables={"PATH": "/usr/bin:/bin"}, cwd=folder)


def needed(library: Path) -> list[str]:
    with library.open("rb") as file:
        section = ELFFile(file).get_section_by_name(".dynamic")
        assert isinstance(section, DynamicSection)
        return [tag.needed for tag in section.iter_tags() if tag.entry.d_tag == "DT_NEEDED"]


def test_planning_writes_nothing(farm: Farm) -> None:
    assert not farm.folder.exists()
    links = dict(farm.links)
    assert links["lib64"] == "lib"
    assert links["lib/libcudart.so"] == "libcudart.so.13"
    assert links["lib/libnvvm.so"] == "libnvvm.so.4"
    assert links["bin/nvcc"].endswith("/nvidia/cu13/bin/nvcc")
    assert {"include", "nvvm", "bin/nvcc.profile", "bin/ptxas"} <= set(links)
    assert list(farm.links) == sorted(farm.links)


def test_the_newest_library_gets_the_plain_name_and_a_plain_one_is_kept(tmp_path: Path) -> None:
    root = tmp_path / "root"
    (root / "lib").mkdir(parents=True)
    for name in ("liba.so.9", "liba.so.13", "libb.so.2", "libb.so", "libc.a"):
        (root / "lib" / name).write_text("", "utf-8")
    links = dict(plan_farm(root, into=tmp_path / "farm").links)
    assert links["lib/liba.so"] == "liba.so.13"
    assert links["lib/libb.so"] == str(root / "lib/libb.so")
    assert "lib/libc.so" not in links


def test_nvcc_links_without_any_flags(farm: Farm, tmp_path: Path) -> None:
    done = compile_with(write(farm), tmp_path)
    assert done.ok, done.stderr
    assert not [name for name in needed(tmp_path / "k.so") if "cuda" in name]


def test_nvcc_links_the_shared_runtime_and_the_driver(farm: Farm, tmp_path: Path) -> None:
    """The driver is named although the linker drops what is not needed: its stub has the functions."""
    source = KERNEL + '#include <cuda.h>\nextern "C" int start(void) { return cuInit(0); }\n'
    write(farm)
    (tmp_path / "d.cu").write_text(source, "utf-8")
    options = ["-shared", "-cudart=shared", "-Xcompiler=-fPIC", "-Xlinker=--as-needed", "-Xlinker=--no-undefined"]
    argv = [str(farm.folder / "bin/nvcc"), *options, "d.cu", "-lcuda", "-o", "d.so"]
    done = run_tool(argv, variables={"PATH": "/usr/bin:/bin"}, cwd=tmp_path)
    assert done.ok, done.stderr
    assert {"libcudart.so.13", "libcuda.so.1"} <= set(needed(tmp_path / "d.so"))


def test_the_stub_has_renamed_functions(farm: Farm) -> None:
    assert {"cuInit", "cuMemAlloc_v2", "cuMemcpyHtoD_v2_ptds", "cuLaunchKernel_ptsz"} <= set(farm.driver_symbols)
    assert all(name.startswith("cu") for name in farm.driver_symbols)


def test_writing_again_changes_nothing(farm: Farm) -> None:
    before = snapshot(write(farm).folder)
    assert snapshot(write(farm).folder) == before


def test_links_of_an_environment_that_is_gone_are_repaired(toolkit_nvcc: Path, tmp_path: Path) -> None:
    """An isolated build has its wheels in another temporary folder each time."""
    for number in ("1", "2"):
        link_site(toolkit_nvcc, tmp_path / number)
    first, second = (plan_farm(tmp_path / n / "nvidia/cu13", into=tmp_path / "toolkit") for n in ("1", "2"))
    write(first)
    shutil.rmtree(tmp_path / "1")
    assert not (tmp_path / "toolkit/bin/nvcc").exists()
    assert compile_with(write(second), tmp_path).ok
    assert all(path.exists() for path in (tmp_path / "toolkit").rglob("*"))


def test_links_that_are_no_longer_planned_go(farm: Farm) -> None:
    write(farm)
    (farm.folder / "lib/libgone.so").symlink_to("/none/libgone.so.12")
    (farm.folder / "old").symlink_to("/none")
    (farm.folder / "lib/kept.txt").write_text("a file of somebody's", "utf-8")
    write(farm)
    assert not (farm.folder / "lib/libgone.so").is_symlink()
    assert not (farm.folder / "old").is_symlink()
    assert (farm.folder / "lib/kept.txt").is_file()


def test_a_half_made_stub_is_made_again(farm: Farm) -> None:
    write(farm)
    stub = farm.folder / "lib/stubs/libcuda.so"
    stub.unlink()
    write(farm)
    assert stub.is_file()


def test_several_processes_at_once(farm: Farm, tmp_path: Path) -> None:
    context = multiprocessing.get_context("spawn")
    processes = [context.Process(target=write, args=(farm,)) for _ in range(4)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert [process.exitcode for process in processes] == [0, 0, 0, 0]
    names = {str(path.relative_to(farm.folder)) for path in farm.folder.rglob("*") if not path.is_dir()}
    files = {name for name, target in farm.links if not (farm.folder / name).is_dir()}
    assert names - {"include", "nvvm", "lib64"} >= files
    assert not [name for name in names if Path(name).name.startswith(".")]
    assert compile_with(farm, tmp_path).ok


def test_a_folder_in_the_way_is_told(farm: Farm) -> None:
    (farm.folder / "lib64").mkdir(parents=True)
    (farm.folder / "lib64/somebody's").write_text("", "utf-8")
    with pytest.raises(BuildError) as caught:
        write(farm)
    assert caught.value.problems[0].code is Code.NOT_WRITABLE
    assert f"remove {farm.folder}" in str(caught.value)


def test_a_host_compiler_that_makes_no_stub_is_told(farm: Farm) -> None:
    with pytest.raises(BuildError) as caught:
        write_farm(farm, host_compiler=Path("/bin/false"), environment=make_environment(Path("/")))
    assert caught.value.problems[0].code is Code.LINK_FAILED
    assert "/bin/false" in str(caught.value)
