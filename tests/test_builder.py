"""The Python API: one builder for many things, in threads and processes at once."""

from __future__ import annotations

import dataclasses
import importlib.util
import pickle
import subprocess
import sys
import textwrap
import threading
from collections.abc import Callable
from pathlib import Path

import pytest

from setuptools_cuda import Builder, BuildError
from setuptools_cuda.builder import resolve
from setuptools_cuda.errors import Code

MakeProject = Callable[..., Path]
ROOT = Path(__file__).resolve().parent.parent
SOURCE = 'extern "C" __global__ void axpy(float a, const float* x, float* y, int n) { y[0] = a * x[0] + n; }\n'


@pytest.fixture(autouse=True)
def _no_cuda_around(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", "/usr/bin:/bin")


@pytest.fixture
def project(make_project: MakeProject) -> Path:
    return make_project({"src/axpy.cu": SOURCE, "src/other.cu": "__global__ void other() {}\n"})


def test_one_builder_makes_a_library_then_ptx_then_both_again_for_another_architecture(project: Path) -> None:
    builder = Builder(sources=["src/*.cu"], flags=["-O3"], out_dir="out", root=project, architectures=["80"])
    assert builder.build_library("libattention.a") == project / "out/libattention.a"
    kernels = builder.build_kernels()
    assert list(kernels) == ["src/axpy.cu", "src/other.cu"]
    assert ".target sm_80" in kernels["src/axpy.cu"].ptx
    first = (project / "out/libattention.a").read_bytes()
    newer = builder.with_(architectures=["90"])
    assert ".target sm_90" in newer.build_kernels()["src/axpy.cu"].ptx
    newer.build_library("libattention.a")
    assert (project / "out/libattention.a").read_bytes() != first
    builder.build_library("libattention.a")
    assert (project / "out/libattention.a").read_bytes() == first
    assert ".target sm_80" in kernels["src/axpy.cu"].ptx


def test_a_builder_is_a_value_and_making_one_does_no_work(tmp_path: Path) -> None:
    builder = Builder(sources="nowhere/*.cu", root=tmp_path)
    assert builder == Builder(sources=["nowhere/*.cu"], root=tmp_path)
    with pytest.raises(dataclasses.FrozenInstanceError):
        builder.out_dir = Path("else")  # type: ignore[misc]
    assert builder.with_(out_dir="else").out_dir == Path("else")
    assert builder.out_dir == Path("out")
    assert list(tmp_path.iterdir()) == []
    with pytest.raises(BuildError) as caught:
        builder.build_kernels()
    assert caught.value.problems[0].code is Code.NO_MATCH


def test_a_builder_can_be_a_key_and_go_to_another_process(tmp_path: Path) -> None:
    builder = Builder(["src/*.cu"], root=tmp_path, architectures=["80"], flags={"cuda": ["-lineinfo"]})
    same = pickle.loads(pickle.dumps(builder))
    assert same == builder
    assert {builder: 1}[same] == 1
    assert builder.with_(jobs=1) != builder


@pytest.mark.parametrize("word", ["archs", "required"])
def test_words_that_are_no_keys_are_refused(tmp_path: Path, word: str) -> None:
    with pytest.raises(TypeError, match=f"Builder has no word '{word}'"):
        Builder(sources=[], root=tmp_path, **{word: True})


def test_a_word_that_is_nearly_one_is_told(tmp_path: Path) -> None:
    with pytest.raises(TypeError, match="did you mean 'architectures'"):
        Builder(sources=[], root=tmp_path, architecture="80")


def test_problems_name_the_word_of_the_builder(project: Path, tmp_path: Path) -> None:
    for builder, where in [
        (Builder(["src/*.cu"], root=project, flags="-arch=sm_80"), "Builder.flags"),
        (Builder(["src/*.cu"], root=project, min_architecture="x"), "Builder.min_architecture"),
        (Builder(["src/*.cu"], root=tmp_path / "nope"), "Builder.root"),
    ]:
        with pytest.raises(BuildError) as caught:
            builder.build_library("liba.a")
        assert {problem.where for problem in caught.value.problems} == {where}


def test_a_written_module_replaces_one_of_its_own_kind_alone(project: Path) -> None:
    builder = Builder(["src/*.cu"], root=project, architectures="80")
    kernels = builder.build_kernels()
    kernels.write("made/k.py")
    before = {path.name for path in (project / "made/k_images").rglob("*.ptx")}
    builder.with_(architectures="90").build_kernels().write("made/k.py")
    after = {path.name for path in (project / "made/k_images").rglob("*.ptx")}
    assert {name.replace("compute_80", "compute_90") for name in before} == after
    (project / "made/mine.py").write_text("mine = 1\n")
    for name in ("made/mine.py", "made/class.py"):
        with pytest.raises(BuildError):
            kernels.write(name)
    assert (project / "made/mine.py").read_text() == "mine = 1\n"


@pytest.mark.parametrize("name", ["attention.a", "libx.lib", "lib.a"])
def test_names_of_libraries_are_checked(name: str, project: Path) -> None:
    with pytest.raises(BuildError) as caught:
        Builder(sources=["src/*.cu"], root=project).build_library(name)
    assert caught.value.problems[0].code is Code.BAD_NAME


def test_a_shared_library_loads_by_ctypes(project: Path) -> None:
    path = Builder(sources=["src/*.cu"], root=project, architectures="80").build_library("libaxpy.so")
    done = subprocess.run(
        [sys.executable, "-c", f"import ctypes; ctypes.CDLL({str(path)!r})"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr


def test_kernels_are_written_as_a_module_with_its_images(project: Path) -> None:
    kernels = Builder(sources=["src/axpy.cu"], root=project, architectures=["80", "90"]).build_kernels()
    path = kernels.write("demo/device.py")
    assert path == project / "demo/device.py"
    spec = importlib.util.spec_from_file_location("device", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    assert module.axpy.image_for(90).path == project / "demo/device_images/src/axpy.sm_90.cubin"
    assert bytes(module.axpy.image_for((8, 6)))[:4] == b"\x7fELF"
    assert [str(kernel) for kernel in module.axpy.kernels] == ["axpy"]
    with pytest.raises(BuildError):
        kernels.write("demo/not-a-module.py")


def test_resolve_tells_the_facts(project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("CUDAARCHS", "80;90a")
    found = resolve(project)
    assert str(found.toolkit) == "13.0"
    assert [str(architecture) for architecture in found.architectures] == ["80", "90a"]


def test_builders_in_threads_and_processes_at_once_in_one_folder(project: Path) -> None:
    script = project / "build_it.py"
    script.write_text(
        textwrap.dedent(
            """
            import sys
            from setuptools_cuda import Builder
            name = sys.argv[1]
            for _ in range(5):
                builder = Builder(sources=["src/*.cu"], out_dir="out-" + name, architectures=[name])
                assert builder.build_library("liball.a").stat().st_size > 1000
                kernels = builder.build_kernels()
                assert all(f".target sm_{name}\\n" in images.ptx for images in kernels.values()), kernels
            print("right")
            """
        ),
        "utf-8",
    )
    wrong: list[BaseException] = []

    def in_thread(name: str) -> None:
        try:
            for _ in range(5):
                builder = Builder(sources=["src/*.cu"], out_dir=f"out-{name}", root=project, architectures=[name])
                builder.build_library("liball.a")
                kernels = builder.build_kernels()
                assert all(f".target sm_{name}\n" in images.ptx for images in kernels.values())
        except BaseException as error:  # noqa: BLE001 - the test looks at whatever went wrong in a thread
            wrong.append(error)

    environment = {"PATH": "/usr/bin:/bin", "HOME": str(project), "PYTHONPATH": str(ROOT)}
    processes = [
        subprocess.Popen(
            [sys.executable, str(script), name], cwd=project, env=environment, stdout=subprocess.PIPE, text=True
        )
        for name in ("80", "86")
    ]
    threads = [threading.Thread(target=in_thread, args=(name,)) for name in ("80", "90")]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [process.communicate()[0].strip() for process in processes] == ["right", "right"]
    assert wrong == []
    alone = Builder(sources=["src/*.cu"], out_dir="alone", root=project, architectures=["80"]).build_library("liball.a")
    assert (project / "out-80/liball.a").read_bytes() == alone.read_bytes()
