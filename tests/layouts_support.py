"""Where a toolkit may lie, and how a build may be isolated: the table of both, and one build for each cell.

``python tests/layouts_support.py`` writes the table to ``docs/reference/layouts.md``.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import zipfile
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from conftest import ROOT
from setuptools_support import TOOLKIT, Installation, pyproject, shared_installation, write_project
from toolchain_support import link_debian, link_installed, link_targets, write_nvcc, write_script, write_wrapper

from setuptools_cuda.resolution.catalogue import list_pypi

ISOLATIONS = ("pip", "pip --no-build-isolation", "build", "uv build")
NO_ISOLATION = "pip --no-build-isolation"
NEWEST = str(list_pypi()[-1].release)

# 'system' is left out but where it is meant: what is installed on the machine must not count.
STEPS = "setting compiler-env root-env project wheel conda path pip"
SOURCE = """\
#include <Python.h>
#include <nv/target>
__global__ void one(int *x) { *x = 1; }
static PyModuleDef module = {
    PyModuleDef_HEAD_INIT, "_native", nullptr, -1, nullptr, nullptr, nullptr, nullptr, nullptr};
PyMODINIT_FUNC PyInit__native(void)
{
    one<<<1, 1>>>(nullptr);
    return PyModule_Create(&module);
}
"""
TABLE = """
[tool.setuptools-cuda]
architectures = ["80-real"]
{key}
[[tool.setuptools-cuda.extension]]
name = "demo._native"
sources = ["src/*.cu"]
"""


@dataclass(frozen=True)
class Layout:
    """One place for a toolkit, and what a build makes of it. ``{folder}`` is where it was laid out."""

    name: str
    step: str
    says: str
    """How the build says where its nvcc is from."""
    lay: Callable[[Path, Path], Mapping[str, str]] = field(default=lambda nvcc, folder: {})
    """Lays the toolkit of an nvcc out in a folder, and returns the variables that lead to it."""
    notes: tuple[str, ...] = ()
    release: str = "13.0"
    requires: tuple[str, ...] = ()
    key: str = ""
    refused: Mapping[str, str] = field(default_factory=dict)
    """What is said where no toolkit is found, by isolation."""
    over: tuple[str, ...] = ()
    """Folders of the system that what was laid out is laid over, in a mount namespace of its own."""


def lay_nothing(nvcc: Path, folder: Path) -> Mapping[str, str]:
    """A machine may well have an nvcc in /usr/bin, which would be found before pip is asked."""
    return {"SETUPTOOLS_CUDA_TOOLCHAIN_STEPS": STEPS.replace("path ", "")}


def lay_conda(nvcc: Path, folder: Path) -> Mapping[str, str]:
    return {"CONDA_PREFIX": str(link_targets(nvcc, folder / "conda"))}


def lay_installed(nvcc: Path, folder: Path) -> Mapping[str, str]:
    return {"CUDA_HOME": str(link_installed(nvcc, folder / "cuda-13.0"))}


def lay_linked(nvcc: Path, folder: Path) -> Mapping[str, str]:
    lay_installed(nvcc, folder)
    (folder / "cuda").symlink_to("cuda-13.0")
    return {"CUDA_HOME": str(folder / "cuda")}


def lay_several(nvcc: Path, folder: Path) -> Mapping[str, str]:
    """CUDA_HOME and four other ideas, whose nvcc cannot compile anything."""
    others = {name: folder / name for name in ("other", "conda", "path")}
    for name, release in (("other", "12.4"), ("conda", "12.9"), ("path", "11.5")):
        write_nvcc(others[name] / "bin/nvcc", release)
    return {
        **lay_installed(nvcc, folder),
        "CUDA_PATH": str(others["other"]),
        "CUDAToolkit_ROOT": str(folder / "cuda-13.0"),
        "CONDA_PREFIX": str(others["conda"]),
        "PATH": f"{others['path'] / 'bin'}:/usr/bin:/bin",
    }


def lay_wrapper(nvcc: Path, folder: Path) -> Mapping[str, str]:
    write_wrapper(folder / "bin/nvcc", link_installed(nvcc, folder / "cuda-13.0") / "bin/nvcc")
    return {"PATH": f"{folder / 'bin'}:/usr/bin:/bin"}


def lay_link(nvcc: Path, folder: Path) -> Mapping[str, str]:
    """As a distribution's alternatives: the link is followed to the file itself, which is a copy here."""
    real = link_installed(nvcc, folder / "cuda-13.0") / "bin/nvcc"
    real.unlink()
    shutil.copy2(nvcc, real)
    (folder / "bin").mkdir()
    (folder / "bin/nvcc").symlink_to("../cuda-13.0/bin/nvcc")
    return {"PATH": f"{folder / 'bin'}:/usr/bin:/bin"}


def lay_launcher(nvcc: Path, folder: Path) -> Mapping[str, str]:
    write_script(folder / "bin/ccache", f'echo "$1" >> \'{folder}/launched\'; exec "$@"')
    return {**lay_wrapper(nvcc, folder), "NVCC": "ccache nvcc"}


def lay_debian(nvcc: Path, folder: Path) -> Mapping[str, str]:
    """As Debian's packages: the host compiler finds headers by itself, as it does in /usr/include."""
    headers = nvcc.parent.parent / "include"
    usr = link_debian(nvcc, folder / "usr")
    return {"PATH": f"{usr / 'bin'}:/usr/bin:/bin", "CPLUS_INCLUDE_PATH": f"{headers}:{headers / 'cccl'}"}


def lay_flags(nvcc: Path, folder: Path) -> Mapping[str, str]:
    return {
        **lay_installed(nvcc, folder),
        "NVCC_PREPEND_FLAGS": "-ccbin=/usr/bin/g++",
        "NVCC_APPEND_FLAGS": "-lineinfo",
    }


def lay_system(nvcc: Path, folder: Path) -> Mapping[str, str]:
    link_installed(nvcc, folder / "local/cuda-13.0")
    (folder / "local/cuda").symlink_to("cuda-13.0")
    return {"SETUPTOOLS_CUDA_TOOLCHAIN_STEPS": ""}


def lay_unpacked(release: str) -> Callable[[Path, Path], Mapping[str, str]]:
    """Return a layout of Debian's own packages, unpacked into ``$DEBIAN_TOOLKITS/<release>``."""

    def lay(nvcc: Path, folder: Path) -> Mapping[str, str]:
        unpacked = Path(os.environ["DEBIAN_TOOLKITS"]) / release
        for name in ("usr", "etc"):
            (folder / name).symlink_to(unpacked / name)
        return {}

    return lay


_HOME = "CUDA_HOME={folder}/cuda-13.0"
_FOLLOWED = (
    "{folder}/cuda-13.0/bin/nvcc is called in place of {folder}/bin/nvcc, "
    "which is a link to it and has no toolkit beside it"
)
_NOT_IN_A_BUILD = "pip install 'cuda-toolkit[nvcc,cccl]=={release}.*'"
LAYOUTS = (
    Layout("wheels of 13.0 in `build-system.requires`", "wheel", "the nvidia-cuda-nvcc 13.0", requires=(TOOLKIT,)),
    Layout(
        "nothing at all: the step `pip`",
        "pip wheel",
        "the nvidia-cuda-nvcc 13.0",
        lay_nothing,
        refused={NO_ISOLATION: _NOT_IN_A_BUILD.format(release="13.0")},
    ),
    Layout("NVIDIA's installer, by `CUDA_HOME`", "root-env", _HOME, lay_installed),
    Layout("the same behind a link", "root-env", "CUDA_HOME={folder}/cuda", lay_linked),
    Layout(
        "several roots at once",
        "root-env",
        _HOME,
        lay_several,
        notes=(
            f"CUDA_PATH={{folder}}/other differs from {_HOME}, which decides",
            f"nvcc on PATH is {{folder}}/path/bin/nvcc, not the one in {_HOME}, which decides",
        ),
    ),
    Layout("conda", "conda", "CONDA_PREFIX={folder}/conda", lay_conda),
    Layout("a wrapper script on `PATH`", "path", "{folder}/bin/nvcc on PATH", lay_wrapper),
    Layout(
        "a link on `PATH`",
        "path",
        "{folder}/bin/nvcc on PATH",
        lay_link,
        notes=(_FOLLOWED,),
    ),
    Layout('`NVCC="ccache nvcc"`', "compiler-env", "NVCC=ccache nvcc", lay_launcher),
    Layout("Debian's split layout, made of 13.0", "path", "{folder}/usr/bin/nvcc on PATH", lay_debian),
    Layout(
        "`NVCC_PREPEND_FLAGS` and `NVCC_APPEND_FLAGS`",
        "root-env",
        _HOME,
        lay_flags,
        notes=(
            "NVCC_PREPEND_FLAGS=-ccbin=/usr/bin/g++ is added to every nvcc call",
            "NVCC_APPEND_FLAGS=-lineinfo is added to every nvcc call",
        ),
    ),
)
_PTXAS = "has ptxas alone: PyPI has nvcc from CUDA 13.0 on"
# What takes a download, packages that are not free, or the right to mount.
MORE = (
    Layout(
        f"wheels of {NEWEST} in `build-system.requires`",
        "wheel",
        f"the nvidia-cuda-nvcc {NEWEST}",
        requires=(f"cuda-toolkit[nvcc,cccl]=={NEWEST}.*",),
        release=NEWEST,
    ),
    Layout(
        f'nothing at all, and `cuda = ">={NEWEST}"`',
        "pip wheel",
        f"the nvidia-cuda-nvcc {NEWEST}",
        lay_nothing,
        key=f'cuda = ">={NEWEST}"',
        release=NEWEST,
        refused={NO_ISOLATION: _NOT_IN_A_BUILD.format(release=NEWEST)},
    ),
    Layout(
        "wheels of CUDA 12 in `build-system.requires`",
        "",
        "",
        requires=("nvidia-cuda-nvcc-cu12",),
        key='toolchain-steps = ["wheel"]',
        refused=dict.fromkeys(ISOLATIONS, _PTXAS),
    ),
    Layout(
        "`/usr/local/cuda-13.0`, by nothing",
        "system",
        "well-known root /usr/local/cuda-13.0",
        lay_system,
        over=("local:/usr/local",),
    ),
    *(
        Layout(
            f"Debian's own packages of {release}",
            "path",
            "/usr/bin/nvcc on PATH",
            lay_unpacked(release),
            release=release,
            over=("usr:/usr", "etc:/etc"),
            notes=notes,
        )
        for release, notes in (("11.8", ("/usr/bin/g++-11 is used: toolkit 11.8 does not take gcc 12",)), ("12.4", ()))
    ),
)


@dataclass(frozen=True)
class Cell:
    """A layout, an isolation, and what a build needs beside them."""

    layout: Layout
    isolation: str
    nvcc: Path
    our_wheel: Path
    shared_folder: Path

    def build(self, folder: Path, *, variables: Mapping[str, str]) -> tuple[int, str]:
        """Lay the toolkit out, build a project with it, and return status and output."""
        requires = ", ".join(f'"{each}"' for each in ("setuptools>=77", "setuptools-cuda-build", *self.layout.requires))
        table = pyproject(TABLE.format(key=self.layout.key))
        table = re.sub(r"requires = .*", f"requires = [{requires}]", table, count=1)
        files = {"demo/__init__.py": "", "src/one.cu": SOURCE, "pyproject.toml": table}
        project = write_project(folder / "project", files)
        (folder / "laid").mkdir()
        given = {
            **variables,
            "SETUPTOOLS_CUDA_CACHE": "off",
            "SETUPTOOLS_CUDA_TOOLCHAIN_STEPS": "" if self.layout.key.startswith("toolchain-steps") else STEPS,
            "PIP_FIND_LINKS": f"{self.our_wheel.parent} {variables.get('PIP_FIND_LINKS', '')}",
            "UV_FIND_LINKS": str(self.our_wheel.parent),
            "PIP_NO_COMPILE": "1",
            **self.layout.lay(self.nvcc, folder / "laid"),
        }
        command = [*self._mount(folder / "laid"), *map(str, self._command())]
        done = subprocess.run(
            command, cwd=project, env=given, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False
        )
        return done.returncode, done.stdout

    def _command(self) -> list[str | Path]:
        wheel = ["wheel", "--verbose", "--no-deps", "--wheel-dir", "out"]
        if self.isolation == "pip":
            return [sys.executable, "-m", "pip", *wheel, "."]
        if self.isolation == NO_ISOLATION:
            return [self._installation().python, "-m", "pip", *wheel, "--no-build-isolation", "."]
        if self.isolation == "build":
            return [sys.executable, "-m", "build", "--wheel", "--outdir", "out"]
        return [sys.executable, "-m", "uv", "build", "--wheel", "--python", sys.executable, "--out-dir", "out"]

    def _installation(self) -> Installation:
        """Return an environment with what the project asks for; without a toolkit it is one that others use too."""
        name = re.sub(r"\W+", "-", "-".join(self.layout.requires)) or "without-toolkit"
        return shared_installation(self.shared_folder / name, [self.our_wheel, "setuptools", *self.layout.requires])

    def _mount(self, laid: Path) -> list[str]:
        """Return the command that lays folders over those of the system, for the program that follows alone."""
        if not self.layout.over:
            return []
        pairs = [each.split(":") for each in self.layout.over]
        mounts = [
            f"mount -t overlay overlay -o lowerdir='{(laid / low).resolve()}':{high} {high}" for low, high in pairs
        ]
        return ["unshare", "--mount", "sh", "-ec", "\n".join([*mounts, 'exec "$@"']), "sh"]

    def check(self, folder: Path, *, status: int, said: str) -> None:
        """Hold what came of the build against the table."""
        laid, refused = folder / "laid", self.layout.refused.get(self.isolation)
        if refused is not None:
            assert status != 0, said
            assert "no CUDA compiler (nvcc)" in said
            assert refused in said
            assert "Traceback" not in said
            return
        assert status == 0, said
        (line,) = (line.strip() for line in said.splitlines() if line.strip().startswith("CUDA "))
        assert line.startswith(f"CUDA {self.layout.release}."), line
        assert f"({self.layout.says.format(folder=laid)}" in line
        for note in self.layout.notes:
            assert f"note: {note.format(folder=laid)}" in said, said
        assert said.count("note: ") == len(self.layout.notes), said
        assert (laid / "launched").exists() == (self.layout.says == "NVCC=ccache nvcc")
        self._load(folder)

    def _load(self, folder: Path) -> None:
        """Hold the wheel's manifest against the table, and import the extension: nothing in it is undefined."""
        (wheel,) = (folder / "project/out").glob("demo-*.whl")
        with zipfile.ZipFile(wheel) as archive:
            archive.extractall(folder / "unpacked")
            manifest = json.loads(archive.read("demo-1.0.dist-info/setuptools_cuda.json"))
        assert manifest["toolkit"]["release"] == self.layout.release
        subprocess.run([sys.executable, "-c", "import demo._native"], cwd=folder / "unpacked", check=True)


PAGE = ROOT / "docs/reference/layouts.md"
_HEAD = """\
# Layouts and isolations

<!-- Made by `python tests/layouts_support.py` from the table that the tests build by. -->

A project with one CUDA extension is built by each front-end, from each layout of a toolkit, with a real nvcc, and the
extension is imported. Every cell is a test. A number is the release that the wheel's manifest names. What the build
says stands in its first line and its notes; `...` is the folder of the layout. The order of the steps is in
[how a toolchain and architectures are found](../explanation/resolution.md).

`build` is `python -m build --wheel`. In the isolated environments is what the project and the backend ask for, and
nothing else.

## In every run of the tests

The first three are built in every isolation, the others without isolation; in every isolation by `nox -s layouts`.

"""
_MORE_HEAD = """
The step `pip` asks the front-end for wheels, and the step `wheel` then finds them. Without isolation there is nobody
to ask: the error names the `pip install` that helps.

## By `nox -s layouts`

It downloads the newest toolkit, mounts, and takes Debian's packages, unpacked, from the folder `$DEBIAN_TOOLKITS`.

"""


def render_page() -> str:
    """Return the page with the table, in Markdown."""
    return _HEAD + _table(LAYOUTS) + _MORE_HEAD + _table(MORE)


def _table(layouts: Sequence[Layout]) -> str:
    columns = ("layout", *(f"`{each}`" for each in ISOLATIONS), "step", "the build says")
    rows = [columns, ("---",) * len(columns), *map(_row, layouts)]
    return "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _row(layout: Layout) -> tuple[str, ...]:
    cells = ("refused" if isolation in layout.refused else layout.release for isolation in ISOLATIONS)
    taken = [f"{layout.says}..." if layout.says.startswith("the nvidia") else layout.says] if layout.says else []
    refusals = [f"refused: {each}" for each in dict.fromkeys(layout.refused.values())]
    words = "; ".join(f"`{each.format(folder='...')}`" for each in (*taken, *layout.notes, *refusals))
    step = ", then ".join(f"`{each}`" for each in layout.step.split()) or "none"
    return (layout.name, *cells, step, words)


if __name__ == "__main__":
    PAGE.write_text(render_page(), encoding="utf-8")
