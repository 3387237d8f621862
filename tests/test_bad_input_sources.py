"""Sources that do not compile, hold nothing, or have names that shells and compilers stumble over."""

from __future__ import annotations

import json
import zipfile
from pathlib import Path

import pytest
from bad_input_support import kernel_project, pip_wheel, refuse
from setuptools_support import (
    BIND_CPP,
    EXTENSION,
    EXTENSION_FILES,
    TABLE,
    Installation,
    full_installation,
    pyproject,
    write_project,
)

KERNEL = 'extern "C" __global__ void {name}(float *x) {{ *x = 1; }}\n'


@pytest.fixture(scope="session")
def installation(shared_folder: Path, our_wheel: Path) -> Installation:
    return full_installation(shared_folder, our_wheel)


def test_a_cuda_source_that_does_not_compile(installation: Installation, tmp_path: Path) -> None:
    text = "__global__ void k(int *x) {\n#if __CUDA_ARCH__ == 900\n  *x = nonsense;\n#endif\n}\n"
    table = pyproject(EXTENSION.replace('"80"', '"80", "90"'))
    project = write_project(tmp_path / "project", {"pyproject.toml": table, **EXTENSION_FILES, "src/saxpy.cu": text})
    told = [
        "src/saxpy.cu does not compile",
        'error    src/saxpy.cu(3): error: identifier "nonsense" is undefined',
        "source   src/saxpy.cu",
        "for      sm_90 (of sm_80, sm_90)",
        "used by  demo._native",
        "command  build/setuptools-cuda/toolkit/bin/nvcc ",
    ]
    message = refuse(installation, project, told=told, NVCC_THREADS="1")
    assert message.endswith(" src/saxpy.cu -o /dev/null")


def test_a_host_source_that_does_not_compile(installation: Installation, tmp_path: Path) -> None:
    wrong = BIND_CPP.replace("return PyModule_Create(&module);", "return nonsense;")
    files = {**EXTENSION_FILES, "src/bind.cpp": wrong}
    project = write_project(tmp_path / "project", {"pyproject.toml": pyproject(EXTENSION), **files})
    line = wrong[: wrong.index("nonsense")].count("\n") + 1
    told = ["src/bind.cpp does not compile", f"error    src/bind.cpp:{line}:", "nonsense", "used by  demo._native"]
    assert "command  " in refuse(installation, project, told=told)


FILES = {"demo/__init__.py": ""}


def kernels_of(*sources: str) -> str:
    """Return a table with one kernel module of ``sources``."""
    listed = json.dumps(sources, ensure_ascii=False)
    return f'{TABLE}\n[[tool.setuptools-cuda.kernel-module]]\nmodule = "demo.kernels"\nsources = {listed}\n'


@pytest.mark.parametrize(
    "text", ["", "__device__ int twice(int x) { return 2 * x; }\n"], ids=["empty", "device-functions"]
)
def test_a_source_without_a_kernel(installation: Installation, tmp_path: Path, text: str) -> None:
    project = kernel_project(tmp_path, table=kernels_of("k/none.cu"), files={**FILES, "k/none.cu": text})
    told = [
        "tool.setuptools-cuda.kernel-module[0].sources: 'k/none.cu' has no kernel",
        "no __global__ function",
        "leave it out with 'exclude'",
    ]
    refuse(installation, project, told=told)


def test_a_source_that_is_not_utf_8(installation: Installation, tmp_path: Path) -> None:
    project = kernel_project(tmp_path, table=kernels_of("k/latin.cu"), files={**FILES, "k/latin.cu": ""})
    source = '#include <cstdio>\nextern "C" __global__ void k() { printf("Größe"); }\n'
    (project / "k/latin.cu").write_bytes(source.encode("latin-1"))
    told = ["k/latin.cu does not compile", r'printf("Gr\xf6\xdfe")', "to fix  save the source in UTF-8"]
    refuse(installation, project, told=told)


def test_a_comment_that_is_not_utf_8_is_nobodys_business(installation: Installation, tmp_path: Path) -> None:
    project = kernel_project(tmp_path, table=kernels_of("k/latin.cu"), files={**FILES, "k/latin.cu": ""})
    (project / "k/latin.cu").write_bytes(("// Größe\n" + KERNEL.format(name="k")).encode("latin-1"))
    assert built_kernels(installation, project) == {"k/latin.cu": ["k"]}


GOOD_NAMES = ["a b/k 1.cu", "c#d/k#.cu", "it's/k'.cu", "größe/核.cu"]


def test_names_that_work_are_built_and_imported(installation: Installation, tmp_path: Path) -> None:
    files = {name: KERNEL.format(name=f"k{number}") for number, name in enumerate(GOOD_NAMES)}
    root = tmp_path / "pro ject #1 'ü"
    project = kernel_project(root, table=kernels_of(*GOOD_NAMES), files={**FILES, **files})
    expected = {name: [f"k{number}"] for number, name in enumerate(GOOD_NAMES)}
    assert built_kernels(installation, project, LC_ALL="C") == expected


def built_kernels(installation: Installation, project: Path, **variables: str) -> dict[str, list[str]]:
    """Build ``project``, import its kernel module from the wheel, and return its kernels by source."""
    done = pip_wheel(installation, project, **variables)
    assert done.status == 0, done.output
    (wheel,) = (project.parent / "wheels").glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        archive.extractall(project.parent / "unpacked")
    code = (
        "import json, sys, demo.kernels as made\n"
        "found = {name: list(held.kernels) for name, held in made.images.items()}\n"
        "sys.stdout.buffer.write(json.dumps(found).encode())"
    )
    said = installation.succeed("-c", code, cwd=project.parent / "unpacked", **variables)
    return dict(json.loads(said))


@pytest.mark.parametrize("letter", ["$", '"', "`", "\\"], ids=["dollar", "quote", "backquote", "backslash"])
def test_a_name_that_nvcc_would_not_get_unchanged(installation: Installation, tmp_path: Path, letter: str) -> None:
    name = f"k{letter}/a.cu"
    project = kernel_project(tmp_path, table=kernels_of("k*/*.cu"), files={**FILES, name: KERNEL.format(name="k")})
    told = [
        f"tool.setuptools-cuda.kernel-module[0].sources: {name!r} cannot reach nvcc unchanged",
        "why  nvcc hands file names to a shell, which would change this one",
        'to fix  rename it without $, `, ", \\',
    ]
    refuse(installation, project, told=told)


@pytest.mark.parametrize("letters", ["$(touch hacked)", '"', "`touch hacked`", "\\"])
def test_a_project_in_a_folder_that_nvcc_would_not_get_unchanged(
    installation: Installation, tmp_path: Path, letters: str
) -> None:
    root = tmp_path / f"in {letters}"
    project = kernel_project(root, table=kernels_of("k/a.cu"), files={**FILES, "k/a.cu": KERNEL.format(name="k")})
    told = [
        f"the project lies in {str(project)!r}, where nvcc cannot work",
        "why  nvcc hands its path to a shell",
        'build in a folder without $, `, ", \\ and line breaks in its path',
    ]
    refuse(installation, project, told=told)
    assert not list(root.rglob("hacked"))


def test_an_include_folder_that_nvcc_would_not_get_unchanged(installation: Installation, tmp_path: Path) -> None:
    project = kernel_project(tmp_path, module='include-dirs = ["in$c"]\n')
    refuse(installation, project, told=["kernel-module[0].include-dirs: 'in$c' cannot reach nvcc unchanged"])


def test_an_instantiation_that_the_one_source_has_no_template_for(installation: Installation, tmp_path: Path) -> None:
    text = "template <class T> __global__ void scale(T *x) { *x = 1; }\n"
    module = 'instantiate = ["scal<float>"]\n'
    project = kernel_project(tmp_path, module=module, files={"demo/__init__.py": "", "kernels/k.cu": text})
    refuse(installation, project, told=["look at `instantiate`: the template may have another name"])


def test_a_template_without_an_instantiation(installation: Installation, tmp_path: Path) -> None:
    text = "template <class T> __global__ void scale(T *x) { *x = 1; }\n"
    project = kernel_project(tmp_path, files={"demo/__init__.py": "", "kernels/k.cu": text})
    refuse(installation, project, told=["'kernels/k.cu' has no kernel", 'instantiate = ["NAME<float>"]'])


def test_headers_of_a_package_that_is_not_used(installation: Installation, tmp_path: Path) -> None:
    files = {**EXTENSION_FILES, "src/bind.cpp": "#include <pybind11/pybind11.h>\n"}
    project = write_project(tmp_path / "project", {"pyproject.toml": pyproject(EXTENSION), **files})
    refuse(installation, project, told=['name the package that has this header in `uses` (uses = ["pybind11"])'])


@pytest.mark.parametrize("name", ["PyInit_other", "PyInit__nativ"])
def test_a_module_that_is_named_otherwise_than_the_extension(
    installation: Installation, tmp_path: Path, name: str
) -> None:
    files = {**EXTENSION_FILES, "src/bind.cpp": BIND_CPP.replace("PyInit__native", name)}
    project = write_project(tmp_path / "project", {"pyproject.toml": pyproject(EXTENSION), **files})
    told = [f"it has {name}, and Python looks for PyInit__native", f"or name the extension demo.{name[7:]}"]
    refuse(installation, project, told=told)


def test_a_library_that_is_no_module_is_a_warning(installation: Installation, tmp_path: Path) -> None:
    files = {**EXTENSION_FILES, "src/bind.cpp": "int operators() { return 1; }\n"}
    project = write_project(tmp_path / "project", {"pyproject.toml": pyproject(EXTENSION), **files})
    _, said = installation.made("build_wheel", project)
    assert "warning: demo._native: it has no PyInit__native, and so cannot be imported as a module" in said
