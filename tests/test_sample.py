"""sample_pkg through pip, with the compiler from pip: what its wheel holds, and that it works."""

from __future__ import annotations

import hashlib
import json
import sys
import venv
import zipfile
from pathlib import Path

import pytest
from inspect_support import tools_installation
from sample_support import ROOT, copy_of_sample, run

STABLE = sys.version_info >= (3, 11)
THIS = f"cp{sys.version_info[0]}{sys.version_info[1]}"
TAG = "cp311-abi3" if STABLE else f"{THIS}-{THIS}"
SUFFIX = ".abi3.so" if STABLE else f".cpython-{THIS[2:]}-x86_64-linux-gnu.so"

# saxpy has an upper bound of 90, cluster_sum a lower one; requested are 80, 90 and 120.
IMAGES = [
    "block_sum.compute_120.ptx",
    "block_sum.compute_80.ptx",
    "block_sum.compute_90.ptx",
    "block_sum.sm_120.cubin",
    "block_sum.sm_80.cubin",
    "block_sum.sm_90.cubin",
    "cluster_sum.compute_120.ptx",
    "cluster_sum.compute_90.ptx",
    "cluster_sum.sm_120.cubin",
    "cluster_sum.sm_90.cubin",
    "saxpy.compute_80.ptx",
    "saxpy.compute_90.ptx",
    "saxpy.sm_80.cubin",
    "saxpy.sm_90.cubin",
]
FILES = sorted(
    [
        *(f"sample_pkg/kernels_images/csrc/{image}" for image in IMAGES),
        "sample_pkg/__init__.py",
        "sample_pkg/__main__.py",
        f"sample_pkg/_native{SUFFIX}",
        "sample_pkg/_native.pyi",
        "sample_pkg/checks.py",
        "sample_pkg/contents.py",
        "sample_pkg/cpu.py",
        "sample_pkg/gpu_checks.py",
        "sample_pkg/include/sample/sample.h",
        "sample_pkg/kernels.py",
        "sample_pkg/lib/cmake/sample/sampleConfig.cmake",
        "sample_pkg/lib/libsample.a",
        "sample_pkg/lib/pkgconfig/sample.pc",
        "sample_pkg/py.typed",
        *(
            f"sample_pkg-0.1.0.dist-info/{name}"
            for name in ("METADATA", "RECORD", "WHEEL", "setuptools_cuda.json", "top_level.txt")
        ),
    ]
)


def contents_of(wheel: Path) -> dict[str, str]:
    with zipfile.ZipFile(wheel) as archive:
        return {name: hashlib.sha256(archive.read(name)).hexdigest() for name in sorted(archive.namelist())}


@pytest.fixture
def sample_wheel(sample_build: Path) -> Path:
    (wheel,) = (sample_build / "wheels").glob("*.whl")
    return wheel


def test_the_wheel_has_the_stable_tag(sample_wheel: Path) -> None:
    assert sample_wheel.name == f"sample_pkg-0.1.0-{TAG}-linux_x86_64.whl"


def test_the_stable_abi_is_kept(sample_wheel: Path, shared_folder: Path, our_wheel: Path) -> None:
    if not STABLE:  # the limited API of 3.11 is not there to be kept to
        assert "abi3" not in sample_wheel.name
        return
    tools = tools_installation(shared_folder, our_wheel)
    done = tools.run("-m", "abi3audit", "--strict", "--report", sample_wheel, cwd=shared_folder)
    assert done.status == 0, done.output
    (audited,) = json.loads(done.output)["specs"][str(sample_wheel)]["wheel"]
    assert (audited["name"], audited["result"]["is_abi3_baseline_compatible"]) == ("_native.abi3.so", True)
    assert audited["result"]["baseline"] == "3.11"


def test_the_manifest_says_what_is_in_the_files(sample_wheel: Path, shared_folder: Path, our_wheel: Path) -> None:
    tools = tools_installation(shared_folder, our_wheel)
    done = tools.run("-m", "setuptools_cuda", "inspect", "--json", sample_wheel, cwd=shared_folder)
    assert done.status == 0, done.output
    keys = ("size", "least_driver", "rdc", "cudart")
    files = json.loads(done.output)["files"]
    read = {file["path"]: (file["architectures"], *(file[key] for key in keys)) for file in files}
    with zipfile.ZipFile(sample_wheel) as archive:
        manifest = json.loads(archive.read("sample_pkg-0.1.0.dist-info/setuptools_cuda.json"))
    said = {
        artifact["path"]: ({**artifact["architectures"], "lto": []}, *(artifact[key] for key in keys))
        for artifact in manifest["artifacts"]
        if artifact["kind"] != "header"
    }
    assert read == said


def test_the_wheel_holds_exactly_this(sample_wheel: Path) -> None:
    assert sorted(contents_of(sample_wheel)) == FILES


def test_the_manifest_names_every_artifact(sample_wheel: Path) -> None:
    with zipfile.ZipFile(sample_wheel) as archive:
        text = archive.read("sample_pkg-0.1.0.dist-info/setuptools_cuda.json").decode()
    manifest = json.loads(text)
    built = [name for name in FILES if name.endswith((".so", ".a", ".h", ".ptx", ".cubin"))]
    assert sorted(artifact["path"] for artifact in manifest["artifacts"]) == built
    assert str(ROOT) not in text
    assert "/tmp" not in text


def test_the_shared_sources_were_compiled_once(sample_build: Path) -> None:
    (log,) = sample_build.rglob("last-build.json")
    jobs = json.loads(log.read_text(encoding="utf-8"))["jobs"]
    compiled = sorted(job["title"].split()[0] for job in jobs if job["kind"] == "cuda")
    assert compiled == ["csrc/block_sum.cu", "csrc/cluster_sum.cu", "csrc/saxpy.cu"]


def test_the_installed_package_checks_itself(
    sample_wheel: Path, bare_environment: dict[str, str], tmp_path: Path
) -> None:
    venv.create(tmp_path / "venv", with_pip=True)
    python = tmp_path / "venv/bin/python"
    run([python, "-m", "pip", "install", "--no-deps", "--no-index", sample_wheel], env=bare_environment, cwd=tmp_path)
    said = run([python, "-m", "sample_pkg"], env=bare_environment, cwd=tmp_path)
    assert "all checks passed, on the " in said
    for part in (
        "_native",
        "lib/libsample.a",
        "include/sample/sample.h",
        "csrc/cluster_sum.cu",
        "sm_120",
        "compute_90",
    ):
        assert part in said


def test_the_sdist_gives_the_same_wheel(
    sample_wheel: Path, our_wheel: Path, pip_toolchain_environment: dict[str, str], tmp_path: Path
) -> None:
    source = copy_of_sample(tmp_path)
    environment = {**pip_toolchain_environment, "PIP_FIND_LINKS": str(our_wheel.parent)}
    run([sys.executable, "-m", "build", "--outdir", tmp_path / "dist", source], env=environment, cwd=tmp_path)
    (wheel,) = (tmp_path / "dist").glob("*.whl")
    assert list((tmp_path / "dist").glob("sample_pkg-0.1.0.tar.gz"))
    assert contents_of(wheel) == contents_of(sample_wheel)
