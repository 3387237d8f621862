"""repair-args: what it prints is what auditwheel needs, and what it asks for makes the wheel work."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from inspect_support import build_samples, make_wheel, tools_installation
from setuptools_support import EXTENSION, EXTENSION_FILES, Installation, pyproject, shared_installation, write_project

from setuptools_cuda.inspection.repair import find_requirement, plan_repair
from setuptools_cuda.inspection.values import File, Inspection

SHARED = EXTENSION.replace('architectures = ["80"]\n', 'architectures = ["80"]\ncudart = "shared"\n')


@pytest.fixture(scope="session")
def tools(shared_folder: Path, our_wheel: Path) -> Installation:
    return tools_installation(shared_folder, our_wheel)


@pytest.fixture(scope="session")
def builds(shared_folder: Path, our_wheel: Path) -> Installation:
    """Return an environment in which wheels are built, and no tools for repairs."""
    return shared_installation(shared_folder / "repairs", [our_wheel, "setuptools", "cuda-toolkit[nvcc,cccl]==13.0.*"])


def repair(tools: Installation, wheel: Path, *, folder: Path) -> tuple[Path, str]:
    """Repair the wheel as the documentation says; return the new one and what was said."""
    environment = {**tools.variables, "PATH": f"{tools.folder / 'bin'}:/usr/bin:/bin"}
    line = 'auditwheel repair $(setuptools-cuda repair-args "$1") --wheel-dir "$2" "$1"'
    command = ["sh", "-c", line, "sh", str(wheel), str(folder)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False, cwd=wheel.parent)
    assert done.returncode == 0, done.stdout + done.stderr
    (made,) = folder.glob("*.whl")
    return made, done.stderr


def run_answer(installation: Installation, wheel: Path, *requirements: str, folder: Path) -> int:
    """Install the wheel with nothing but ``requirements`` beside it, and return what its function says."""
    command = ["-m", "pip", "install", "--quiet", "--no-deps", "--target", folder, wheel, *requirements]
    installation.succeed(*command, cwd=wheel.parent)
    return int(installation.succeed("-c", "import demo._native as m; print(m.answer())", cwd=folder))


def test_a_shared_runtime(builds: Installation, tools: Installation, tmp_path: Path) -> None:
    project = write_project(tmp_path / "demo", {"pyproject.toml": pyproject(SHARED), **EXTENSION_FILES})
    wheel = builds.wheel(project)
    told = tools.run("-m", "setuptools_cuda", "repair-args", wheel, cwd=tmp_path)
    assert told.status == 1
    assert "--exclude libcudart.so.13\n" in told.output
    assert 'add to [project] dependencies: "nvidia-cuda-runtime==13.*"' in told.output
    assert "no run path" not in told.output
    made, said = repair(tools, wheel, folder=tmp_path / "repaired")
    assert "libcudart.so.13 is left out" in said
    assert "manylinux" in made.name
    # With what was asked for it is found by its run path, and nothing else brings a runtime here.
    assert run_answer(tools, made, "nvidia-cuda-runtime==13.*", folder=tmp_path / "installed") == 42
    again = tools.run("-m", "setuptools_cuda", "repair-args", made, "--json", cwd=tmp_path)
    assert json.loads(again.output)["exclusions"][0]["unreachable"] == []


def test_a_static_runtime(builds: Installation, tools: Installation, tmp_path: Path) -> None:
    project = write_project(tmp_path / "demo", {"pyproject.toml": pyproject(EXTENSION), **EXTENSION_FILES})
    wheel = builds.wheel(project)
    told = tools.run("-m", "setuptools_cuda", "repair-args", wheel, cwd=tmp_path)
    assert told.status == 0
    assert "--exclude" not in told.output
    assert "has the CUDA runtime in it: nothing to leave out" in told.output
    made, _ = repair(tools, wheel, folder=tmp_path / "repaired")
    assert run_answer(tools, made, folder=tmp_path / "installed") == 42


def test_what_is_declared_is_no_finding(
    toolkit_nvcc: Path, shared_folder: Path, tools: Installation, tmp_path: Path
) -> None:
    samples = build_samples(shared_folder / "inspected", toolkit_nvcc)
    metadata = "Metadata-Version: 2.1\nName: demo\nVersion: 1.0\nRequires-Dist: NVIDIA_cuda.runtime>=13\n"
    files = {"demo/shared.so": (samples / "shared.so").read_bytes()}
    wheel = make_wheel(tmp_path / "demo-1.0-py3-none-any.whl", files, metadata=metadata)
    done = tools.run("-m", "setuptools_cuda", "repair-args", wheel, "--json", cwd=tmp_path)
    plan = json.loads(done.output)
    assert (done.status, plan["undeclared"], plan["schema"]) == (0, [], 1)
    assert plan["exclusions"][0]["library"] == "libcudart.so.13"
    assert plan["exclusions"][0]["unreachable"] == ["demo/shared.so"]


@pytest.mark.parametrize(
    ("requires", "declared"),
    [
        ("nvidia-cuda-runtime", True),
        ("nvidia-cuda-runtime==13.0.*", True),
        ("nvidia-cuda-runtime>=12,<14", True),
        ("nvidia-cuda-runtime==12.*", False),
        ("nvidia-cuda-runtime<13", False),
        ('nvidia-cuda-runtime; sys_platform == "linux"', True),
        ('nvidia-cuda-runtime; python_version < "3.11"', True),
        ('nvidia-cuda-runtime; sys_platform == "win32"', False),
        ('nvidia-cuda-runtime; extra == "gpu"', False),
        ("cuda-toolkit[cudart]==13.*", True),
        ("cuda-toolkit[all]", True),
        ("cuda-toolkit[cudart]==12.*", False),
        ("cuda-toolkit[cublas]==13.*", False),
        ("cuda-toolkit", False),
    ],
)
def test_what_counts_as_declared(requires: str, declared: bool) -> None:
    file = File("demo/a.so", "shared", 1, needed=("libcudart.so.13",), cudart="shared")
    plan = plan_repair(Inspection("w", 1, wheel=True, tools=(), files=(file,), requires=(requires,)))
    assert [each.declared for each in plan.exclusions] == [declared]


def test_one_of_two_requirements_is_enough() -> None:
    file = File("demo/a.so", "shared", 1, needed=("libcudart.so.13",), cudart="shared")
    requires = ('nvidia-cuda-runtime==12.*; python_version < "3.11"', "nvidia-cuda-runtime==13.*")
    plan = plan_repair(Inspection("w", 1, wheel=True, tools=(), files=(file,), requires=requires))
    assert plan.undeclared == ()


def test_what_cannot_be_read_is_told(tools: Installation, tmp_path: Path) -> None:
    # A template of PTX is no PTX, and nothing that is loaded.
    files = {"demo/a.so": b"\x7fELF", "demo/b.pyd": b"MZ\x90\x00", "demo/template.ptx": b"{{ version }}"}
    wheel = make_wheel(tmp_path / "demo-1.0-py3-none-any.whl", files)
    done = tools.run("-m", "setuptools_cuda", "repair-args", wheel, cwd=tmp_path)
    assert done.status == 3
    assert "error: demo/a.so: it is no whole ELF file" in done.output
    assert "demo/b.pyd is of Windows or macOS, and not read" in done.output
    assert "nothing to repair" not in done.output
    assert "template.ptx" not in done.output
    told = tools.run("-m", "setuptools_cuda", "repair-args", wheel, "--json", cwd=tmp_path)
    plan = json.loads(told.output)
    assert (told.status, plan["foreign"], plan["problems"][0]["where"]) == (3, ["demo/b.pyd"], "demo/a.so")


def test_a_library_that_cannot_be_read_may_have_to_be_repaired(tools: Installation, tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path / "demo-1.0-py3-none-any.whl", {"demo/a.so": b"\x7fELF"})
    done = tools.run("-m", "setuptools_cuda", "repair-args", wheel, cwd=tmp_path)
    assert (done.status, "nothing to repair" in done.output) == (3, False)


def test_a_wheel_without_shared_libraries(tools: Installation, tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path / "demo-1.0-py3-none-any.whl", {"demo/k.ptx": b".version 9.0\n.target sm_80\n"})
    done = tools.run("-m", "setuptools_cuda", "repair-args", wheel, cwd=tmp_path)
    assert (done.status, done.output.count("--exclude")) == (0, 0)
    assert "nothing to repair" in done.output


def test_no_wheel(tools: Installation, tmp_path: Path) -> None:
    done = tools.run("-m", "setuptools_cuda", "repair-args", "none.whl", cwd=tmp_path)
    assert (done.status, done.output) == (2, "error: none.whl: there is no such file\n  to fix  name a file .whl\n")


@pytest.mark.parametrize(
    ("library", "major", "requirement"),
    [
        ("libcudart.so.13", None, "nvidia-cuda-runtime==13.*"),
        ("libcudart.so.11.0", 13, "nvidia-cuda-runtime-cu11==11.*"),
        ("libcublas.so.12", None, "nvidia-cublas-cu12==12.*"),
        ("libcusolver.so.12", 13, "nvidia-cusolver==12.*"),
        ("libcufft.so.11", 12, "nvidia-cufft-cu12==11.*"),
        ("libcufile.so.0", 13, "nvidia-cufile"),
        ("libcudnn_ops.so.9", 12, "nvidia-cudnn-cu12"),
        ("libnccl.so.2", 13, "nvidia-nccl-cu13"),
        ("libnvidia-ml.so.1", 13, ""),
    ],
)
def test_who_brings_a_library(library: str, major: int | None, requirement: str) -> None:
    assert find_requirement(library, major=major) == requirement


def test_the_driver_pytorch_and_what_is_in_the_wheel() -> None:
    needed = ("libcuda.so.1", "libtorch_cuda.so", "libcublas-0a1b2c3d.so.12", "libcufft.so.12")
    files = (
        File("demo/a.so", "shared", 1, needed=needed, cudart="none"),
        File("demo.libs/libcublas-0a1b2c3d.so.12", "shared", 1),
    )
    linkage = Inspection("w", 1, wheel=True, tools=(), files=files, toolkit="13.0.88", requires=("torch",))
    plan = plan_repair(linkage)
    assert [(each.library, each.requirement, each.declared) for each in plan.exclusions] == [
        ("libcuda.so.1", "", True),
        ("libcufft.so.12", "nvidia-cufft==12.*", False),
        ("libtorch_cuda.so", "torch", True),
    ]
