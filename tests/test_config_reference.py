from __future__ import annotations

from pathlib import Path

from setuptools_cuda.config.keys import NOT_IN_THIS_RELEASE, PROJECT, SCOPES
from setuptools_cuda.config.reference import OTHER_VARIABLES, PAGE, render_reference, write_reference
from setuptools_cuda.resolution import architecture_steps, steps
from setuptools_cuda.resolution.host_compiler import HOST_VARIABLES

ROOT = Path(__file__).resolve().parent.parent


def test_the_page_is_up_to_date() -> None:
    written = (ROOT / PAGE).read_text(encoding="utf-8")
    assert written == render_reference(), "run: python -m setuptools_cuda.config.reference"


def test_the_page_has_every_key_with_its_setting_and_variable() -> None:
    page = render_reference()
    for scope in SCOPES:
        for key in scope.keys.values():
            assert f"| `{key.name}` | " in page
    for name in set(PROJECT.keys) - set(NOT_IN_THIS_RELEASE):
        assert f"`-C cuda.{name}=`, `SETUPTOOLS_CUDA_{name.upper().replace('-', '_')}`" in page


def test_variables_of_others_stand_in_the_order_in_which_they_decide() -> None:
    assert OTHER_VARIABLES["architectures"] == tuple(name for name, _ in architecture_steps.VARIABLES)
    assert OTHER_VARIABLES["nvcc"] == (*steps.COMPILER_VARIABLES, *steps.ROOT_VARIABLES)
    assert OTHER_VARIABLES["host-compiler"] == HOST_VARIABLES
    assert set(OTHER_VARIABLES) <= set(PROJECT.keys)
    assert "| `-C cuda.jobs=`, `SETUPTOOLS_CUDA_JOBS`, `MAX_JOBS` |" in render_reference()


def test_rows_have_as_many_cells_as_their_table() -> None:
    cells = 0
    for line in render_reference().splitlines():
        if not line.startswith("|"):
            cells = 0
            continue
        cells = cells or line.count("|")
        assert line.count("|") == cells, line


def test_the_page_is_written_below_the_root(tmp_path: Path) -> None:
    page = write_reference(tmp_path)
    assert page == tmp_path / "docs/reference/settings.md"
    assert page.read_text(encoding="utf-8") == render_reference()
