"""new: each template is built by pip, installed and run."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest
from keys_support import keys_installation
from scikit_build_support import scikit_installation
from setuptools_support import Installation

from setuptools_cuda.cli.main import main
from setuptools_cuda.cli.new import TEMPLATES, find_package
from setuptools_cuda.errors import BuildError

OTHERS = ("kernels", "scikit-build-core")
NATIVE = [name for name in TEMPLATES if name not in OTHERS]


@pytest.fixture(scope="session")
def installation(shared_folder: Path, our_wheel: Path) -> Installation:
    return keys_installation(shared_folder, our_wheel)


def build(template: str, *, installation: Installation, folder: Path) -> tuple[Path, str]:
    """Make the project by the installed command, build it for one architecture, install it; return wheel and words."""
    installation.succeed("-m", "setuptools_cuda", "new", "my-first", "--template", template, cwd=folder)
    pip = ["-m", "pip", "wheel", "--quiet", "--no-build-isolation", "--no-deps", "--wheel-dir", "dist", "./my-first"]
    installation.succeed(*pip, cwd=folder, SETUPTOOLS_CUDA_ARCHITECTURES="80", SETUPTOOLS_CUDA_CACHE="off")
    (wheel,) = (folder / "dist").glob("my_first-0.1.0-*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(folder / "installed")
    return wheel, installation.succeed("-m", "my_first", cwd=folder / "installed")


@pytest.mark.parametrize("template", NATIVE)
def test_extensions(template: str, installation: Installation, tmp_path: Path) -> None:
    wheel, said = build(template, installation=installation, folder=tmp_path)
    assert said.startswith(("2 * [1, 2] + [3, 4] = [5.0, 8.0]", "built and imported, but not run on a GPU: "))
    assert "-none-any" not in wheel.name
    code = "import my_first\ntry: my_first.saxpy(1.0, [1.0], [])\nexcept ValueError as error: print(error)"
    assert installation.succeed("-c", code, cwd=tmp_path / "installed") == "x and y differ in length\n"
    code = "import my_first; print(my_first.saxpy(1.0, [], []))"
    assert installation.succeed("-c", code, cwd=tmp_path / "installed") == "[]\n"


def test_scikit_build_core(shared_folder: Path, our_wheel: Path, tmp_path: Path) -> None:
    _, said = build("scikit-build-core", installation=scikit_installation(shared_folder, our_wheel), folder=tmp_path)
    assert said.startswith(("2 * [1, 2] + [3, 4] = [5.0, 8.0]", "built and imported, but not run on a GPU: "))


def test_kernels(installation: Installation, tmp_path: Path) -> None:
    wheel, said = build("kernels", installation=installation, folder=tmp_path)
    assert wheel.name == "my_first-0.1.0-py3-none-any.whl"
    assert said == "kernels/saxpy.cu: saxpy, for sm_80 compute_80\n"


def test_what_is_in_the_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "full").mkdir()
    (tmp_path / "full/file").touch()
    (tmp_path / "link").symlink_to("nowhere")
    assert main(["new", "full"]) == 2
    assert main(["new", "full/file"]) == 2
    assert main(["new", "link"]) == 2
    assert main(["new", "1st"]) == 2
    assert main(["new", "other", "--name", ""]) == 2
    said = capsys.readouterr().err
    assert said.count("something is there already") == 3
    assert "a project cannot be called '1st'" in said
    assert "a project cannot be called ''" in said
    assert sorted(path.name for path in tmp_path.iterdir()) == ["full", "link"]
    assert [path.name for path in (tmp_path / "full").iterdir()] == ["file"]


def test_an_empty_folder_is_filled(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["new", ".", "--name", "demo"]) == 0
    made = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert {"pyproject.toml", "README.md", ".gitignore", "cuda/saxpy.cu", "src/demo/__init__.py"} <= made
    assert not any("@" in path.read_text("utf-8") for path in tmp_path.rglob("*") if path.is_file())


@pytest.mark.parametrize(
    ("folder", "said"),
    [
        ("first", "next: pip install ./first, then python -m first\n"),
        (".", "next: pip install ./., then python -m demo\n"),
        ("a folder/my-first", "next: pip install './a folder/my-first', then python -m my_first\n"),
    ],
)
def test_what_it_says_next_can_be_typed(
    folder: str, said: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "demo").mkdir()
    monkeypatch.chdir(tmp_path / "demo")
    assert main(["new", folder]) == 0
    assert capsys.readouterr().out.endswith(said)


@pytest.mark.parametrize(
    "name", ["test", "json", "Test", "setuptools-cuda", "pybind11", "NumPy", "cuda", "scikit.build_core"]
)
def test_names_that_hide_what_a_project_needs(name: str) -> None:
    with pytest.raises(BuildError, match="would stand in for the one of that name"):
        find_package(name)


@pytest.mark.parametrize("name", ["class", "a b", "-a", "a/b", "ä", ""])
def test_names_that_will_not_do(name: str) -> None:
    with pytest.raises(BuildError, match="cannot be called"):
        find_package(name)
