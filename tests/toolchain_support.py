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


def write_plugin(site: Path, text: str, *, name: str = "vault") -> Path:
    """Write a distribution that adds the toolchain step ``name``; its callable is ``look``."""
    module = f"plugin_{name}_{site.name}"
    info = site / f"{module}-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {module}\nVersion: 1.0\n", "utf-8")
    (info / "entry_points.txt").write_text(f"[setuptools_cuda.toolchain_steps]\n{name} = {module}:look\n", "utf-8")
    (site / f"{module}.py").write_text(text, "utf-8")
    return site
