"""Toolkits and compilers to resolve: real ones seen through links, and tiny scripts for odd versions."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from pathlib import Path

from setuptools_cuda.config.model import Extension, Origin, Project, Settings
from setuptools_cuda.environment import Environment

# 'system' is left out: what is installed on the machine that runs the tests must not count.
STEPS = ("setting", "compiler-env", "root-env", "project", "wheel", "conda", "path", "pip")


def make_settings(root: Path, *, origins: Mapping[str, Origin] | None = None, **project: object) -> Settings:
    """Return the settings of a project with one CUDA extension."""
    keys = {"toolchain_steps": STEPS, **project}
    extension = Extension(name="demo._native", sources=("src/saxpy.cu",))
    return Settings(root=root, project=Project(**keys), extensions=(extension,), origins=origins or {})


def make_environment(cwd: Path, *, search_path: Iterable[Path | str] = (), **variables: str) -> Environment:
    """Return an environment in which nothing is known but a few tools of the system."""
    given = {"PATH": "/usr/bin:/bin", "HOME": str(cwd), **variables}
    return Environment(variables=given, cwd=cwd, search_path=tuple(map(str, search_path)))


def site_of(nvcc: Path) -> Path:
    """Return the site-packages folder of the nvcc of the test environment."""
    return nvcc.parent.parent.parent.parent


def link_tree(source: Path, target: Path, *, without: Iterable[str] = ()) -> Path:
    """Make ``target`` a folder of links to what ``source`` holds, without some paths in it."""
    left_out = tuple(without)
    target.mkdir(parents=True, exist_ok=True)
    for path in source.iterdir():
        inner = tuple(each.partition("/")[2] for each in left_out if each.startswith(f"{path.name}/"))
        if path.name in left_out:
            continue
        if inner:
            link_tree(path, target / path.name, without=inner)
        elif path.is_dir() and path.name in {"bin", "lib", "include"}:
            link_tree(path, target / path.name)
        else:
            (target / path.name).symlink_to(path)
    return target


def link_site(
    nvcc: Path, site: Path, *, without: Iterable[str] = (), versions: Mapping[str, str] | None = None
) -> Path:
    """Make a site-packages folder of NVIDIA's wheels, by links; return its nvcc.

    ``versions`` replaces the versions of some wheels, None takes a wheel's metadata away.
    """
    root = nvcc.parent.parent
    link_tree(root, site / "nvidia" / root.name, without=without)
    for folder in site_of(nvcc).glob("nvidia_*.dist-info"):
        name, _, version = folder.name.removesuffix(".dist-info").partition("-")
        wanted = (versions or {}).get(name.replace("_", "-"), version)
        copy = site / f"{name}-{wanted}.dist-info"
        shutil.copytree(folder, copy)
        metadata = copy / "METADATA"
        metadata.write_text(
            metadata.read_text("utf-8").replace(f"\nVersion: {version}", f"\nVersion: {wanted}"), "utf-8"
        )
    return site / "nvidia" / root.name / "bin" / "nvcc"


def link_targets(nvcc: Path, root: Path) -> Path:
    """Make a toolkit with headers and libraries under ``targets/``, as conda and NVIDIA's installers do."""
    source, target = nvcc.parent.parent, root / "targets/x86_64-linux"
    link_tree(source / "bin", root / "bin", without=["nvcc.profile"])
    link_tree(source / "include", target / "include")
    link_tree(source / "lib", target / "lib")
    (root / "nvvm").symlink_to(source / "nvvm")
    (target / "lib/libcudart.so").symlink_to("libcudart.so.13")
    (target / "lib/stubs").mkdir()
    profile = (source / "bin/nvcc.profile").read_text("utf-8")
    changed = profile.replace("$(_TARGET_DIR_)", "targets/x86_64-linux").replace("lib$(_TARGET_SIZE_)", "lib")
    (root / "bin/nvcc.profile").write_text(changed, "utf-8")
    return root


def link_installed(nvcc: Path, root: Path) -> Path:
    """Make a toolkit as NVIDIA's installers do: ``include`` and ``lib64`` are links into ``targets/``."""
    link_targets(nvcc, root)
    (root / "include").symlink_to("targets/x86_64-linux/include")
    (root / "lib64").symlink_to("targets/x86_64-linux/lib")
    return root


DEBIAN_PROFILE = """\
NVVMIR_LIBRARY_DIR = {lib}/libdevice

PATH            += {lib}/bin:

#INCLUDES       +=

LIBRARIES       =+ $(_SPACE_) -L{multiarch}/stubs -L{multiarch}
"""


def link_debian(nvcc: Path, usr: Path) -> Path:
    """Make a folder that holds what Debian's packages put into /usr, all but the headers."""
    source = nvcc.parent.parent
    lib, multiarch = usr / "lib/nvidia-cuda-toolkit", usr / "lib/x86_64-linux-gnu"
    programs = [path.name for path in (source / "bin").iterdir() if path.name not in {"nvcc", "nvcc.profile", "crt"}]
    link_tree(source / "bin", usr / "bin", without=["nvcc", "nvcc.profile"])
    link_tree(source / "bin", lib / "bin", without=[*programs, "nvcc.profile"])
    (lib / "bin/cicc").symlink_to(source / "nvvm/bin/cicc")
    (lib / "libdevice").symlink_to(source / "nvvm/libdevice")
    link_tree(source / "lib", multiarch)
    (multiarch / "stubs").mkdir()
    (lib / "bin/nvcc.profile").write_text(DEBIAN_PROFILE.format(lib=lib, multiarch=multiarch), "utf-8")
    write_wrapper(usr / "bin/nvcc", lib / "bin/nvcc")
    return usr


def write_script(path: Path, text: str) -> Path:
    """Write a shell script that can be run, and return its path."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}\n", "utf-8")
    path.chmod(0o755)
    return path


def write_nvcc(path: Path, release: str) -> Path:
    """Write a program that says it is the nvcc of ``release``, and can do nothing else."""
    line = f"Cuda compilation tools, release {release}, V{release}.99"
    return write_script(path, f'[ "$1" = --version ] && echo "{line}" && exit 0\nexit 3')


def write_wrapper(path: Path, program: Path) -> Path:
    """Write a script that runs ``program``."""
    return write_script(path, f"exec '{program}' \"$@\"")


def write_gcc(path: Path, major: int) -> Path:
    """Write a g++ that works, and takes itself for another major version."""
    real = shutil.which("g++", path="/usr/bin:/bin")
    return write_script(path, f'exec {real} -U__GNUC__ -D__GNUC__={major} "$@"')


def write_torch(site: Path, cuda: str) -> Path:
    """Write what is read of an installed PyTorch; ``cuda`` is a Python literal. Return ``site``."""
    info = site / "torch-2.13.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: torch\nVersion: 2.13.0\n", "utf-8")
    header = site / "torch/include/torch/csrc/api/include/torch/torch.h"
    header.parent.mkdir(parents=True)
    header.write_text("", "utf-8")
    line = f"__version__ = '2.13.0'\ncuda: Optional[str] = {cuda}\nhip: Optional[str] = None\n"
    (site / "torch/version.py").write_text(line, "utf-8")
    return site


def write_plugin(site: Path, text: str, *, name: str = "vault") -> Path:
    """Write a distribution that adds the toolchain step ``name``; its callable is ``look``."""
    module = f"plugin_{name}_{site.name}"
    info = site / f"{module}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n", "utf-8")
    (info / "entry_points.txt").write_text(f"[setuptools_cuda.toolchain_steps]\n{name} = {module}:look\n", "utf-8")
    (site / f"{module}.py").write_text(text, "utf-8")
    return site
