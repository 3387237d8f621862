"""The sides: ours, bare nvcc under xargs, PyTorch's BuildExtension, scikit-build-core with CMake."""

from __future__ import annotations

import json
import os
import shlex
import subprocess
import sys
import sysconfig
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from measure import Command, Peer
from workloads import Sources, render_table

SETUP = """\
import glob
import os
from setuptools import setup
from torch.utils import cpp_extension
from torch.utils.cpp_extension import BuildExtension, CUDAExtension
# PyTorch's CPU build does not look at the variable, and lacks two libraries of those that it names.
cpp_extension.CUDA_HOME = os.environ["CUDA_HOME"]
native = CUDAExtension("_native", ["bind.cpp", *sorted(glob.glob("src/*.cu"))], include_dirs=["inc"])
native.libraries = [name for name in native.libraries if name not in ("c10_cuda", "torch_cuda")]
setup(
    name="bench", version="1", packages=[],
    ext_modules=[native],
    cmdclass={"build_ext": BuildExtension},
)
"""
CMAKE = """\
cmake_minimum_required(VERSION 3.24)
project(bench LANGUAGES CXX CUDA)
find_package(Python REQUIRED COMPONENTS Interpreter Development.Module)
file(GLOB sources CONFIGURE_DEPENDS src/*.cu)
set(CMAKE_CUDA_STANDARD 17)
set(CMAKE_CXX_STANDARD 17)
python_add_library(_native MODULE WITH_SOABI bind.cpp ${sources})
target_include_directories(_native PRIVATE inc)
install(TARGETS _native DESTINATION .)
"""
SKBUILD = """\
[build-system]
requires = ["scikit-build-core"]
build-backend = "scikit_build_core.build"

[project]
name = "bench"
version = "1"
"""


@dataclass(frozen=True)
class Machine:
    """What all sides build with."""

    root: Path
    """The toolkit."""
    jobs: int
    torch_python: str
    """A Python that has PyTorch, '' where there is none."""

    @property
    def nvcc(self) -> str:
        """Return the path of nvcc."""
        return str(self.root / "bin/nvcc")

    @property
    def variables(self) -> dict[str, str]:
        """Return the variables that make every side take the one toolkit, and as many jobs."""
        return {
            "CUDA_HOME": str(self.root),
            "CUDACXX": self.nvcc,
            "MAX_JOBS": str(self.jobs),
            "CMAKE_BUILD_PARALLEL_LEVEL": str(self.jobs),
            "PYTHONWARNINGS": "ignore",
            "SETUPTOOLS_CUDA_TOOLCHAIN_STEPS": "root-env",
        }


def hook(backend: str, *, python: str = sys.executable) -> tuple[str, ...]:
    """Return the command that makes a wheel as a front-end would, without isolation."""
    return python, "-c", f"import sys; from {backend} import build_wheel; print(build_wheel('out'))"


def real(architectures: Iterable[str]) -> list[str]:
    """Return the words for machine code alone."""
    return [f"{number}-real" for number in architectures]


def ours(
    sources: Sources,
    *,
    targets: Sequence[str],
    words: Sequence[str],
    machine: Machine,
    cache: str = "off",
    name: str = "ours",
) -> Peer:
    """Return our side: a wheel of ``targets``; ``words`` are the architectures as the table has them."""

    def prepare(folder: Path) -> Command:
        sources.write(folder)
        (folder / "pyproject.toml").write_text(render_table(targets, architectures=words, jobs=machine.jobs), "utf-8")
        place = str(folder.parent / "cache") if cache == "on" else "off"
        variables = {**machine.variables, "SETUPTOOLS_CUDA_CACHE": place}
        return Command(hook("setuptools_cuda.build_meta"), variables, ("out/*.whl",))

    return Peer(name, prepare)


def torch(sources: Sources, *, architectures: Sequence[str], machine: Machine) -> Peer:
    """Return PyTorch's side as shipped, without a compiler cache that it would take by itself."""

    def prepare(folder: Path) -> Command:
        sources.write(folder)
        (folder / "setup.py").write_text(SETUP, "utf-8")
        listed = ";".join(f"{number[:-1]}.{number[-1]}" for number in architectures)
        variables = {**machine.variables, "TORCH_CUDA_ARCH_LIST": listed, "TORCH_NO_COMPILER_WRAPPER": "1"}
        return Command(hook("setuptools.build_meta", python=machine.torch_python), variables, ("out/*.whl",))

    return Peer("torch", prepare)


def cmake(sources: Sources, *, architectures: Sequence[str], machine: Machine) -> Peer:
    """Return the side of scikit-build-core with a plain CMakeLists.txt."""

    def prepare(folder: Path) -> Command:
        sources.write(folder)
        (folder / "CMakeLists.txt").write_text(CMAKE, "utf-8")
        (folder / "pyproject.toml").write_text(SKBUILD, "utf-8")
        variables = {**machine.variables, "CUDAARCHS": ";".join(real(architectures))}
        return Command(hook("scikit_build_core.build"), variables, ("out/*.whl",))

    return Peer("cmake", prepare)


def passes(sources: Sources, *, words: Sequence[Sequence[str]], machine: Machine) -> Peer:
    """Return the side of bare nvcc under xargs that runs over each source once for each of ``words``.

    It makes the extension, too, of the objects of the first, and a library of those of the second.
    """
    suffixes = ["ptx" if "-ptx" in options else "o" for options in words]

    def prepare(folder: Path) -> Command:
        sources.write(folder)
        command = [machine.nvcc, "-std=c++17", "-Xcompiler", "-fPIC", "-Iinc"]
        lines = [
            [*command, *options, f"src/{file}", "-o", f"out/{number}-{file}.{suffixes[number]}"]
            for file in sorted(sources.texts)
            for number, options in enumerate(words)
        ]
        include = sysconfig.get_path("include")
        lines.append(["g++", "-O3", "-fPIC", f"-I{include}", "-c", "bind.cpp", "-o", "out/bind.o"])
        compiles = xargs(lines, machine=machine)
        libraries = f"-L{shlex.quote(str(machine.root))}/lib64 -lcudart_static -ldl -lrt -lpthread"
        links = f"g++ -shared out/bind.o out/0-*.o {libraries} -o out/_native.so"
        if suffixes.count("o") > 1:
            links += " && ar rcsD out/liball.a out/1-*.o"
        return Command(("sh", "-c", f"{shlex.join(compiles.argv)} && {links}"), {}, ("out/_native.so",), compiles.stdin)

    return Peer("separate passes", prepare)


def same_commands(sources: Sources, *, words: Sequence[str], machine: Machine, target: str = "extension") -> Peer:
    """Return bare commands under xargs, those that we run: the compiles, then the link."""

    def prepare(folder: Path) -> Command:
        sources.write(folder)
        (folder / "pyproject.toml").write_text(render_table([target], architectures=words, jobs=machine.jobs), "utf-8")
        jobs = plan(folder, machine=machine)
        compiles: list[list[str]] = []
        links: list[list[str]] = []
        for number, job in enumerate(jobs):
            argv = _with_places(job, folder=folder, number=number)
            (compiles if job["kind"] in {"cuda", "host"} else links).append(argv)
        command = xargs(compiles, machine=machine)
        link = " && ".join(shlex.join(words) for words in links)
        script = f"{shlex.join(command.argv)} && {link}"
        return Command(("sh", "-c", script), command.variables, ("made/*/*",), command.stdin)

    return Peer("bare nvcc", prepare)


def _with_places(job: dict[str, Any], *, folder: Path, number: int) -> list[str]:
    """Return the command of a job with a place of its own for all that it makes."""
    keep = folder / "keep" / str(number)
    keep.mkdir(parents=True)
    out = folder / "made" / job["outputs"][0]["file"]
    out.parent.mkdir(parents=True, exist_ok=True)
    include = sysconfig.get_path("include")
    places = {"{out}": out, "{keep}": keep, "{depfile}": f"{out}.d", "{build}": "made", "{root}": folder}
    places |= {"{place:python}": include, "{place:python|sh}": shlex.quote(include)}
    argv = list(job["argv"])
    for name, value in places.items():
        argv = [word.replace(name, str(value)) for word in argv]
    return argv


def plan(folder: Path, *, machine: Machine) -> list[dict[str, Any]]:
    """Return the jobs of the plan of the project in ``folder``."""
    argv = (sys.executable, "-m", "setuptools_cuda", "plan", "--json")
    variables = {**os.environ, **machine.variables}
    done = subprocess.run(argv, cwd=folder, env=variables, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(done.stdout + done.stderr)
    jobs: list[dict[str, Any]] = json.loads(done.stdout)["jobs"]
    return jobs


def xargs(lines: Iterable[Sequence[str]], *, machine: Machine) -> Command:
    """Return the command that runs ``lines``, as many at once as all sides have jobs."""
    text = "".join(f"{shlex.quote(shlex.join(line))}\n" for line in lines)
    argv = ("xargs", "-P", str(machine.jobs), "-n", "1", "sh", "-c", 'eval "$0"')
    return Command(argv, {}, (), text)
