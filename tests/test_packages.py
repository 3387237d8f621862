"""What ``uses`` brings: real numpy, pybind11 and nanobind, recorded layouts of the large ones."""

from __future__ import annotations

import subprocess
import sys
import sysconfig
from pathlib import Path

import pytest

from setuptools_cuda.environment import Environment
from setuptools_cuda.errors import BuildError, Code
from setuptools_cuda.resolution.packages import BUILT_IN, find_cuda_majors, resolve_packages
from setuptools_cuda.resolution.values import Package


def here(*folders: Path) -> Environment:
    return Environment(variables={}, cwd=Path("/"), search_path=tuple(map(str, folders)))


def real() -> Environment:
    return Environment(variables={}, cwd=Path.cwd(), search_path=tuple(sys.path))


def lay_out(root: Path, *files: str, texts: dict[str, str] | None = None) -> None:
    for name in (*files, *(texts or {})):
        path = root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text((texts or {}).get(name, ""))


def install(root: Path, name: str, version: str) -> None:
    info = f"{name.replace('-', '_')}-{version}.dist-info/METADATA"
    lay_out(root, texts={info: f"Metadata-Version: 2.1\nName: {name}\nVersion: {version}\n"})


def find(name: str, environment: Environment) -> Package:
    (package,) = resolve_packages([name], environment=environment)
    return package


# the small ones, for real


@pytest.mark.parametrize(
    ("name", "header"),
    [("numpy", "numpy/arrayobject.h"), ("pybind11", "pybind11/pybind11.h"), ("nanobind", "nanobind/nanobind.h")],
)
def test_headers_compile(name, header, tmp_path):
    package = find(name, real())
    (tmp_path / "a.cpp").write_text(f"#include <Python.h>\n#include <{header}>\n")
    includes = [f"-I{folder}" for folder in (*package.include_dirs, sysconfig.get_path("include"))]
    std = [f"-std={package.minimum_std}"] if package.minimum_std else []
    command = ["g++", "-fsyntax-only", *std, *package.cxx_flags, *includes, "a.cpp"]
    done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stderr) == (0, "")
    assert package.version


def test_nanobind_brings_its_core():
    package = find("nanobind", real())
    (source,) = package.sources
    assert Path(source).is_absolute()
    assert Path(source).name == "nb_combined.cpp"
    assert any(folder.endswith("robin_map/include") for folder in package.include_dirs)
    assert "-fno-strict-aliasing" in package.cxx_flags
    assert package.minimum_std == "c++17"


def test_a_nanobind_module_is_built_and_imported(tmp_path):
    package = find("nanobind", real())
    code = '#include <nanobind/nanobind.h>\nNB_MODULE(nb, m) { m.def("add", [](int a, int b) { return a + b; }); }\n'
    (tmp_path / "nb.cpp").write_text(code)
    includes = [f"-I{folder}" for folder in (*package.include_dirs, sysconfig.get_path("include"))]
    flags = ["-shared", "-fPIC", f"-std={package.minimum_std}", *package.cxx_flags, *includes]
    subprocess.run(["g++", *flags, "nb.cpp", *package.sources, "-o", "nb.so"], cwd=tmp_path, check=True)
    command = [sys.executable, "-c", "import nb; print(nb.add(40, 2))"]
    assert subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout == "42\n"


def test_nothing_is_imported():
    """In an interpreter of its own, since others of the tests import numpy."""
    code = (
        "import sys\n"
        "from setuptools_cuda.environment import read_environment\n"
        "from setuptools_cuda.resolution.packages import resolve_packages\n"
        "resolve_packages(['numpy', 'pybind11', 'nanobind'], environment=read_environment())\n"
        "print(sorted({'numpy', 'pybind11', 'nanobind', 'setuptools'} & set(sys.modules)))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"


def test_several_in_their_order_each_once():
    found = resolve_packages(["pybind11", "numpy", "pybind11"], environment=real())
    assert [package.name for package in found] == ["pybind11", "numpy"]


def test_numpy_before_2(tmp_path):
    lay_out(tmp_path, "numpy/core/include/numpy/arrayobject.h")
    install(tmp_path, "numpy", "1.26.4")
    package = find("numpy", here(tmp_path))
    assert package.include_dirs == (str(tmp_path / "numpy/core/include"),)
    assert package.version == "1.26.4"


def test_flags_of_gcc_are_not_given_to_msvc(tmp_path):
    lay_out(tmp_path, "pybind11/include/pybind11/pybind11.h")
    windows = Environment(variables={}, cwd=Path("/"), platform_system="Windows", search_path=(str(tmp_path),))
    assert find("pybind11", windows).cxx_flags == ()


def test_a_relative_search_path_is_that_of_the_working_folder(tmp_path):
    lay_out(tmp_path, "numpy/_core/include/numpy/arrayobject.h")
    environment = Environment(variables={}, cwd=tmp_path, search_path=("",))
    assert find("numpy", environment).include_dirs == (str(tmp_path / "numpy/_core/include"),)


# torch, as its wheels are laid out

VERSION_2_14 = """from typing import Optional

__all__ = ['__version__', 'debug', 'cuda', 'git_version', 'hip', 'rocm', 'xpu']
__version__ = '2.14.1+cu130'
debug = False
cuda: Optional[str] = '13.0'
hip: Optional[str] = None
"""
VERSION_CPU = VERSION_2_14.replace("'13.0'", "None").replace("cu130", "cpu")
TORCH_HEADER = "torch/include/torch/csrc/api/include/torch/torch.h"
TORCH_CONFIG = "torch/share/cmake/Torch/TorchConfig.cmake"


def lay_out_torch(root: Path, version: str, config: str = "") -> Environment:
    texts = {"torch/version.py": version, TORCH_CONFIG: config}
    # A torch that cannot be imported: whoever tries fails.
    texts["torch/__init__.py"] = "raise RuntimeError('imported')\n"
    lay_out(root, TORCH_HEADER, "torch/lib/libtorch.so", texts=texts)
    install(root, "torch", "2.14.1")
    return here(root)


def test_torch_with_cuda(tmp_path):
    config = "set_target_properties(torch PROPERTIES\n    CXX_STANDARD 20\n)\n"
    environment = lay_out_torch(tmp_path, VERSION_2_14, config)
    assert find("torch", environment) == Package(
        "torch",
        include_dirs=(str(tmp_path / "torch/include"), str(tmp_path / "torch/include/torch/csrc/api/include")),
        library_dirs=(str(tmp_path / "torch/lib"),),
        runtime_library_dirs=("torch/lib",),
        libraries=("c10", "torch", "torch_cpu", "torch_python", "c10_cuda", "torch_cuda"),
        defines=("TORCH_API_INCLUDE_EXTENSION_H", "TORCH_EXTENSION_NAME={name}"),
        cuda_flags=(
            "-D__CUDA_NO_HALF_OPERATORS__",
            "-D__CUDA_NO_HALF_CONVERSIONS__",
            "-D__CUDA_NO_BFLOAT16_CONVERSIONS__",
            "-D__CUDA_NO_HALF2_OPERATORS__",
            "--expt-relaxed-constexpr",
        ),
        minimum_std="c++20",
        version="2.14.1+cu130",
    )
    assert find_cuda_majors(["torch", "numpy"], environment=environment) == {"torch": 13}


def test_torch_without_cuda(tmp_path):
    environment = lay_out_torch(tmp_path, VERSION_CPU)
    package = find("torch", environment)
    assert package.libraries == ("c10", "torch", "torch_cpu", "torch_python")
    assert package.minimum_std == "c++17"
    assert find_cuda_majors(["torch"], environment=environment) == {}


def test_an_older_torch_with_the_old_abi(tmp_path):
    version = "__version__ = '2.4.0+cu121'\ndebug = False\ncuda = '12.1'\n"
    config = 'set(TORCH_CXX_FLAGS "-D_GLIBCXX_USE_CXX11_ABI=0")\n'
    environment = lay_out_torch(tmp_path, version, config)
    package = find("torch", environment)
    assert package.defines[-1] == "_GLIBCXX_USE_CXX11_ABI=0"
    assert "c10_cuda" in package.libraries
    assert find_cuda_majors(["torch"], environment=environment) == {"torch": 12}


# NVIDIA's


@pytest.mark.parametrize("major", [12, 13])
def test_cudnn_and_nccl(tmp_path, major):
    lay_out(
        tmp_path,
        "nvidia/cudnn/include/cudnn.h",
        "nvidia/cudnn/lib/libcudnn.so.9",
        "nvidia/cudnn/lib/libcudnn_ops.so.9",
        "nvidia/nccl/include/nccl.h",
        "nvidia/nccl/lib/libnccl.so.2",
    )
    install(tmp_path, f"nvidia-cudnn-cu{major}", "9.24.0.43")
    install(tmp_path, f"nvidia-nccl-cu{major}", "2.30.7")
    environment = here(tmp_path)
    assert find("cudnn", environment) == Package(
        "cudnn",
        include_dirs=(str(tmp_path / "nvidia/cudnn/include"),),
        library_dirs=(str(tmp_path / "nvidia/cudnn/lib"),),
        runtime_library_dirs=("nvidia/cudnn/lib",),
        libraries=(":libcudnn.so.9",),
        version="9.24.0.43",
    )
    assert find("nccl", environment).libraries == (":libnccl.so.2",)
    assert find_cuda_majors(["nccl", "cudnn"], environment=environment) == {"nccl": major, "cudnn": major}


def test_an_unversioned_library_is_linked_by_its_name(tmp_path):
    lay_out(tmp_path, "nvidia/nccl/include/nccl.h", "nvidia/nccl/lib/libnccl.so.2", "nvidia/nccl/lib/libnccl.so")
    assert find("nccl", here(tmp_path)).libraries == ("nccl",)


def test_a_versioned_library_links_for_real(tmp_path):
    """A linker takes ``-l:libnccl.so.2``."""
    lay_out(tmp_path, "nvidia/nccl/include/nccl.h", "nvidia/nccl/lib/x", texts={"n.c": "int n(void) { return 0; }\n"})
    lib = tmp_path / "nvidia/nccl/lib"
    subprocess.run(["gcc", "-shared", "-fPIC", "n.c", "-o", lib / "libnccl.so.2"], cwd=tmp_path, check=True)
    package = find("nccl", here(tmp_path))
    (tmp_path / "m.c").write_text("int n(void); int main(void) { return n(); }\n")
    links = [*(f"-L{folder}" for folder in package.library_dirs), *(f"-l{name}" for name in package.libraries)]
    subprocess.run(["gcc", "m.c", *links, "-o", "m"], cwd=tmp_path, check=True)


def test_cutlass(tmp_path):
    source = "cutlass_library/source"
    lay_out(tmp_path, f"{source}/include/cutlass/cutlass.h", f"{source}/tools/util/include/cutlass/util/GPU_Clock.hpp")
    install(tmp_path, "nvidia-cutlass", "4.2.0.0")
    package = find("cutlass", here(tmp_path))
    assert package.include_dirs == (str(tmp_path / source / "include"), str(tmp_path / source / "tools/util/include"))
    assert (package.minimum_std, package.version) == ("c++17", "4.2.0.0")


# what goes wrong


def test_all_that_is_missing_is_said_at_once(tmp_path):
    with pytest.raises(BuildError) as caught:
        resolve_packages(["numpy", "cudnn", "nunpy"], environment=here(tmp_path), where="extension 'demo'.uses")
    problems = caught.value.problems
    assert [problem.code for problem in problems] == [Code.UNKNOWN_PACKAGE] * 3
    assert {problem.where for problem in problems} == {"extension 'demo'.uses"}
    text = str(caught.value)
    assert 'add "numpy" to build-system.requires' in text
    assert 'add "nvidia-cudnn-cu13" or "nvidia-cudnn-cu12" to build-system.requires' in text
    assert "did you mean 'numpy'?" in text


@pytest.mark.parametrize("name", sorted(BUILT_IN))
def test_every_provider_says_what_to_require(name, tmp_path):
    with pytest.raises(BuildError, match=r"build-system\.requires"):
        resolve_packages([name], environment=here(tmp_path))


def test_metadata_without_headers(tmp_path):
    install(tmp_path, "numpy", "2.4.6")
    with pytest.raises(BuildError, match=r"numpy 2\.4\.6 is installed, but brings no headers"):
        resolve_packages(["numpy"], environment=here(tmp_path))


# other distributions' packages


@pytest.fixture
def plugin(tmp_path, monkeypatch):
    """Return a function that installs a distribution with a provider of the package 'kit'."""

    def install_provider(body: str) -> Environment:
        lay_out(tmp_path, texts={"kit_provider.py": body})
        install(tmp_path, "kit", "1.0")
        lay_out(
            tmp_path,
            texts={"kit-1.0.dist-info/entry_points.txt": "[setuptools_cuda.packages]\nkit = kit_provider:find\n"},
        )
        return here(tmp_path)

    monkeypatch.syspath_prepend(str(tmp_path))
    yield install_provider
    sys.modules.pop("kit_provider", None)


IMPORTS = "from setuptools_cuda.errors import Code, Problem\nfrom setuptools_cuda.resolution.values import Package\n"


def test_a_package_of_another_distribution(plugin):
    environment = plugin(f"{IMPORTS}def find(environment):\n    return Package('other', defines=('KIT',))\n")
    assert find("kit", environment) == Package("kit", defines=("KIT",))


def test_a_provider_may_have_a_problem(plugin):
    body = "def find(environment):\n    return Problem(Code.UNKNOWN_PACKAGE, 'no kit', 'kit home')\n"
    with pytest.raises(BuildError, match="kit home: no kit"):
        find("kit", plugin(IMPORTS + body))


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ("def find(environment):\n    return {}\n", "dict {}"),
        ("def find(environment):\n    raise OSError('no disk')\n", "OSError: no disk"),
        ("find = None\n", "NoneType None"),
        ("import nonesuch_module\n", "ModuleNotFoundError"),
    ],
)
def test_a_provider_that_fails_is_named(plugin, body, said):
    with pytest.raises(BuildError) as caught:
        find("kit", plugin(body))
    (problem,) = caught.value.problems
    assert problem.code is Code.PLUGIN_FAILED
    assert "'kit' of kit" in problem.what
    assert said in problem.render()
