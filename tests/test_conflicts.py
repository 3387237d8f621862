"""Two that say different things: what is taken, and what a build says of it. With a real nvcc.

``python tests/test_conflicts.py`` writes the table to ``docs/reference/conflicts.md``.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from build_support import make_python
from conftest import ROOT
from toolchain_support import link_installed, make_environment, site_of, write_nvcc, write_torch

from setuptools_cuda import pipeline
from setuptools_cuda.errors import BuildError

TABLE = """\
[tool.setuptools-cuda]
toolchain-steps = ["setting", "compiler-env", "root-env", "project", "wheel", "conda", "path"]
{key}
[[tool.setuptools-cuda.extension]]
name = "demo"
sources = ["one.cu"]
"""


@dataclass(frozen=True)
class Conflict:
    """One and the other. ``{good}`` is a real toolkit of 13.0, ``{old}`` one of 12.4."""

    one: str
    other: str
    taken: str
    """What the build's first line has, or what its error says."""
    said: tuple[str, ...] = ()
    key: str = ""
    variables: Mapping[str, str] = field(default_factory=dict)
    settings: Mapping[str, str] = field(default_factory=dict)
    needs: str = ""
    """What has to be installed: 'wheel', 'torch'."""
    is_error: bool = False


HOME = {"CUDA_HOME": "{good}"}
OLD_ON_PATH = {"PATH": "{old}/bin:/usr/bin:/bin"}
KEY = 'architectures = ["80"]'
CONFLICTS = (
    Conflict(
        "`CUDA_HOME`",
        "nvcc on `PATH`",
        "(CUDA_HOME={good})",
        ("nvcc on PATH is {old}/bin/nvcc, not the one in CUDA_HOME={good}, which decides",),
        variables={**HOME, **OLD_ON_PATH},
    ),
    Conflict(
        "`CUDA_HOME`",
        "`CUDA_PATH`",
        "(CUDA_HOME={good})",
        ("CUDA_PATH={old} differs from CUDA_HOME={good}, which decides",),
        variables={**HOME, "CUDA_PATH": "{old}"},
    ),
    Conflict(
        "`NVCC`",
        "`CUDACXX`",
        "(NVCC={good}/bin/nvcc)",
        ("CUDACXX={old}/bin/nvcc differs from NVCC={good}/bin/nvcc, which decides",),
        variables={"NVCC": "{good}/bin/nvcc", "CUDACXX": "{old}/bin/nvcc"},
    ),
    Conflict(
        "`NVCC`",
        "`CUDA_HOME`",
        "(NVCC={good}/bin/nvcc)",
        ("CUDA_HOME={old} is not looked at: NVCC={good}/bin/nvcc comes first",),
        variables={"NVCC": "{good}/bin/nvcc", "CUDA_HOME": "{old}"},
    ),
    Conflict(
        "`SETUPTOOLS_CUDA_NVCC`",
        "`NVCC`",
        "(SETUPTOOLS_CUDA_NVCC)",
        ("NVCC={old}/bin/nvcc is not looked at: SETUPTOOLS_CUDA_NVCC={good}/bin/nvcc comes first",),
        variables={"SETUPTOOLS_CUDA_NVCC": "{good}/bin/nvcc", "NVCC": "{old}/bin/nvcc"},
    ),
    Conflict(
        "`CUDA_HOME`",
        "the key `nvcc`",
        "(CUDA_HOME={good})",
        ("nvcc = '{old}/bin/nvcc' is not looked at: CUDA_HOME={good} comes first",),
        key='nvcc = "{old}/bin/nvcc"',
        variables=HOME,
    ),
    Conflict(
        "a toolkit wheel in the build environment",
        "nvcc on `PATH`",
        "(the nvidia-cuda-nvcc 13.0",
        variables=OLD_ON_PATH,
        needs="wheel",
    ),
    Conflict(
        "the key `cuda`",
        "`CUDA_HOME`",
        "(the nvidia-cuda-nvcc 13.0",
        ("CUDA_HOME={old} is passed over: 12.4 is not within >=13",),
        key='cuda = ">=13"',
        variables={"CUDA_HOME": "{old}"},
        needs="wheel",
    ),
    Conflict(
        "the key `cuda`",
        "`NVCC`",
        "NVCC={old}/bin/nvcc: this nvcc is of toolkit 12.4, which is not within `cuda` = '>=13'",
        key='cuda = ">=13"',
        variables={"NVCC": "{old}/bin/nvcc"},
        is_error=True,
    ),
    Conflict(
        "a PyTorch of CUDA 13 in `uses`",
        "`CUDA_HOME` of CUDA 12",
        "(the nvidia-cuda-nvcc 13.0",
        ("CUDA_HOME={old} is passed over: 12.4 is not of CUDA 13, which torch is made for",),
        key='uses = ["torch"]',
        variables={"CUDA_HOME": "{old}"},
        needs="wheel torch",
    ),
    Conflict(
        "a PyTorch of CUDA 13 in `uses`",
        "`NVCC` of CUDA 12",
        "NVCC={old}/bin/nvcc: this nvcc is of toolkit 12.4, and torch is made for CUDA 13",
        key='uses = ["torch"]',
        variables={"NVCC": "{old}/bin/nvcc"},
        needs="torch",
        is_error=True,
    ),
    Conflict(
        "`CUDAARCHS`",
        "`TORCH_CUDA_ARCH_LIST`",
        "for sm_90+PTX (CUDAARCHS)",
        ("TORCH_CUDA_ARCH_LIST=8.0 is not looked at: CUDAARCHS=90 comes first",),
        variables={**HOME, "CUDAARCHS": "90", "TORCH_CUDA_ARCH_LIST": "8.0"},
    ),
    Conflict(
        "`CUDAARCHS`",
        "the key `architectures`",
        "for sm_90+PTX (CUDAARCHS)",
        ("the key 'architectures' of the project gives way to CUDAARCHS",),
        key=KEY,
        variables={**HOME, "CUDAARCHS": "90"},
    ),
    Conflict(
        "`SETUPTOOLS_CUDA_ARCHITECTURES`",
        "`CUDAARCHS`",
        "for sm_75+PTX (SETUPTOOLS_CUDA_ARCHITECTURES)",
        ("CUDAARCHS=90 is not looked at: SETUPTOOLS_CUDA_ARCHITECTURES=75 comes first",),
        variables={**HOME, "SETUPTOOLS_CUDA_ARCHITECTURES": "75", "CUDAARCHS": "90"},
    ),
    Conflict(
        "`-C cuda.architectures=`",
        "`SETUPTOOLS_CUDA_ARCHITECTURES`",
        "for sm_86+PTX (-C cuda.architectures)",
        variables={**HOME, "SETUPTOOLS_CUDA_ARCHITECTURES": "75"},
        settings={"cuda.architectures": "86"},
    ),
    Conflict(
        "`CUDAHOSTCXX`",
        "the key `host-compiler`",
        "(CUDAHOSTCXX=/usr/bin/g++)",
        ("the key 'host-compiler' of the project gives way to CUDAHOSTCXX=/usr/bin/g++",),
        key='host-compiler = "/usr/bin/false"',
        variables={**HOME, "CUDAHOSTCXX": "/usr/bin/g++"},
    ),
    Conflict(
        "`-ccbin` in `NVCC_PREPEND_FLAGS`",
        "`CUDAHOSTCXX`",
        "(NVCC_PREPEND_FLAGS)",
        ("CUDAHOSTCXX=/usr/bin/false is not looked at: NVCC_PREPEND_FLAGS comes first",),
        variables={**HOME, "NVCC_PREPEND_FLAGS": "-ccbin=/usr/bin/g++", "CUDAHOSTCXX": "/usr/bin/false"},
    ),
    Conflict(
        "`SETUPTOOLS_CUDA_HOST_COMPILER`",
        "another `-ccbin` in `NVCC_PREPEND_FLAGS`",
        "NVCC_PREPEND_FLAGS: -ccbin {old}/g++: names another host compiler than SETUPTOOLS_CUDA_HOST_COMPILER",
        variables={
            **HOME,
            "SETUPTOOLS_CUDA_HOST_COMPILER": "/usr/bin/g++",
            "NVCC_PREPEND_FLAGS": "-ccbin {old}/g++",
        },
        is_error=True,
    ),
)


def plan(conflict: Conflict, *, folder: Path, nvcc: Path, names: Mapping[str, str]) -> pipeline.Planned:
    """Return the plan of a project in which both of them are."""
    (folder / "one.cu").write_text("__global__ void one(int* x) { *x = 1; }\n", "utf-8")
    (folder / "pyproject.toml").write_text(TABLE.format(key=conflict.key.format(**names)), "utf-8")
    sites = [site_of(nvcc)] if "wheel" in conflict.needs else []
    if "torch" in conflict.needs:
        sites.append(write_torch(folder / "site", "'13.0'"))
    given = {name: value.format(**names) for name, value in conflict.variables.items()}
    environment = make_environment(folder, search_path=sites, **given)
    request = pipeline.Request(folder, environment, config_settings=conflict.settings, python=make_python())
    return pipeline.plan(request)


@pytest.mark.parametrize("conflict", CONFLICTS, ids=[f"{each.one} {each.other}" for each in CONFLICTS])
def test_what_is_taken_and_said(conflict: Conflict, toolkit_nvcc: Path, tmp_path: Path) -> None:
    names = {"good": str(link_installed(toolkit_nvcc, tmp_path / "good")), "old": str(tmp_path / "old")}
    write_nvcc(tmp_path / "old/bin/nvcc", "12.4")
    taken = conflict.taken.format(**names)
    if conflict.is_error:
        with pytest.raises(BuildError) as caught:
            plan(conflict, folder=tmp_path, nvcc=toolkit_nvcc, names=names)
        assert f"error: {taken}" in str(caught.value)
        return
    made = plan(conflict, folder=tmp_path, nvcc=toolkit_nvcc, names=names).plan
    assert taken in made.summary
    said = tuple(note for note in made.notes if not note.startswith("NVCC_PREPEND_FLAGS"))
    assert (said, made.warnings) == (tuple(each.format(**names) for each in conflict.said), ())


PAGE = ROOT / "docs/reference/conflicts.md"
_HEAD = """\
# What is taken where two disagree

<!-- Made by `python tests/test_conflicts.py` from the table that the tests run. -->

Each row is a test with a real nvcc of 13.0, in `/good`; `/old` is a toolkit of 12.4. The first line of a build has what
was taken and who asked for it; a note says what somebody has set and was not taken. What lies about and was not
taken is shown by `setuptools-cuda doctor`, with every other candidate. A setting replaces our own variable, and each
of them the key of the project: that is what they are for, and needs no note.

"""


def render_page() -> str:
    """Return the page with the table, in Markdown."""
    rows = [("this", "and that", "taken, by the first line", "said"), ("---",) * 4, *map(_row, CONFLICTS)]
    return _HEAD + "".join(f"| {' | '.join(row)} |\n" for row in rows)


def _row(conflict: Conflict) -> tuple[str, ...]:
    names = {"good": "/good", "old": "/old"}
    taken, *said = (each.format(**names) for each in (conflict.taken, *conflict.said))
    if conflict.is_error:
        return (conflict.one, conflict.other, "none: an error", _quote(taken))
    shown = f"{taken}...)" if taken.startswith("(the") else taken
    return (conflict.one, conflict.other, _quote(shown), "; ".join(map(_quote, said)))


def _quote(text: str) -> str:
    return f"`` {text} ``" if "`" in text else f"`{text}`"


def test_the_page_is_up_to_date() -> None:
    assert PAGE.read_text(encoding="utf-8") == render_page(), "run: python tests/test_conflicts.py"


if __name__ == "__main__":
    sys.stdout.write(f"{PAGE}\n")
    PAGE.write_text(render_page(), encoding="utf-8")
