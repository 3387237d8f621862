"""Machines that give way during a build: no room, no rights, no memory, Ctrl-C, and two builds at once."""

from __future__ import annotations

import os
import signal
import subprocess
import time
import zipfile
from collections.abc import Sequence
from pathlib import Path

import pytest
from bad_input_support import (
    check_refusal,
    kernel_project,
    make_toolkit,
    pip_wheel,
    pip_wheel_command,
    read_tree,
    refuse,
    start_pip_wheel,
)
from setuptools_support import (
    EXTENSION,
    EXTENSION_FILES,
    KERNELS,
    Done,
    Installation,
    full_installation,
    pyproject,
    write_project,
)
from toolchain_support import write_script


@pytest.fixture(scope="session")
def installation(shared_folder: Path, our_wheel: Path) -> Installation:
    return full_installation(shared_folder, our_wheel)


def run_without_rights(installation: Installation, command: Sequence[str]) -> Done:
    """Run ``command`` so that the modes of files hold, for root too."""
    rights = "-dac_override,-dac_read_search"
    lower = ["setpriv", "--bounding-set", rights, "--inh-caps", rights] if os.geteuid() == 0 else []
    done = subprocess.run(
        [*lower, *command],
        env=installation.variables,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    return Done(done.returncode, done.stdout)


def test_a_source_tree_that_cannot_be_written(installation: Installation, tmp_path: Path) -> None:
    project = kernel_project(tmp_path)
    before = read_tree(project)
    folders = [project, *(path for path in project.rglob("*") if path.is_dir())]
    for folder in folders:
        folder.chmod(0o555)
    try:
        assert "Permission denied" in run_without_rights(installation, ["touch", str(project / "new")]).output
        done = run_without_rights(installation, pip_wheel_command(installation, project))
    finally:
        for folder in folders:
            folder.chmod(0o755)
    message = check_refusal(done, project=project, before=before)
    assert message.splitlines() == [
        f"error: {project}/build cannot be written: Permission denied",
        "  why  a build keeps its files in the project's build folder",
        "  to fix  build from a copy of the project that you may write to",
    ]
    assert not (project / "build").exists()


def test_a_disk_that_is_full_when_linking(installation: Installation, tmp_path: Path) -> None:
    """The linker is the real one. What it writes goes to Linux's device that is always full."""
    linker = write_script(
        tmp_path / "link",
        'for word; do shift; [ "$last" = -o ] && word=/dev/full; set -- "$@" "$word"; last=$word; done\n'
        'exec g++ -shared "$@"',
    )
    project = write_project(tmp_path / "project", {"pyproject.toml": pyproject(EXTENSION), **EXTENSION_FILES})
    told = [
        "error: the disk became full while _native.",
        "final link failed: No space left on device",
        "free some space where the project and where TMPDIR (else /tmp) lies",
    ]
    refuse(installation, project, told=told, LDSHARED=str(linker), LDCXXSHARED=str(linker))
    assert not list(project.glob("build/setuptools-cuda/*/linked/**/*.so"))
    assert not list(project.glob("build/lib*/**/*.so"))


@pytest.mark.parametrize(
    ("dies", "said"),
    [
        ("kill -KILL $$", "it was ended by signal 9, and said nothing"),
        ("echo \"nvcc error   : 'cicc' died due to signal 9 (Kill signal)\"; exit 9", "'cicc' died due to signal 9"),
    ],
    ids=["nvcc", "cicc"],
)
def test_a_compiler_that_is_killed(
    installation: Installation, toolkit_nvcc: Path, tmp_path: Path, dies: str, said: str
) -> None:
    toolkit = make_toolkit(toolkit_nvcc, tmp_path / "toolkit", before_compiling=dies)
    told = [
        "error: the compiler of kernels/saxpy.cu for sm_80+PTX was killed, and again when it ran alone",
        "there is too little memory for it",
        said,
        "to fix  give the machine or its container more memory",
    ]
    refuse(installation, kernel_project(tmp_path), told=told, CUDA_HOME=str(toolkit))


def test_ctrl_c_during_a_compile(installation: Installation, toolkit_nvcc: Path, tmp_path: Path) -> None:
    mark = tmp_path / "compiling"
    # Without the signals nothing ends this within the time that the test waits.
    waiting = make_toolkit(toolkit_nvcc, tmp_path / "toolkit", before_compiling=f'echo $$ > "{mark}"; exec sleep 3600')
    project = kernel_project(tmp_path)
    before = read_tree(project)
    with start_pip_wheel(installation, project, CUDA_HOME=str(waiting)) as running:
        while not (mark.exists() and mark.read_text("ascii").strip()):
            assert running.poll() is None, running.communicate()[0]
            time.sleep(0.05)
        os.killpg(running.pid, signal.SIGINT)
        output, _ = running.communicate(timeout=120)
    assert running.returncode != 0
    assert "Traceback" not in output
    assert read_tree(project) == before
    assert not list((tmp_path / "wheels").glob("*"))
    # The next build waits until the first has let go of the folder.
    done = pip_wheel(installation, project)
    assert done.status == 0, done.output
    assert is_gone(int(mark.read_text("ascii")))
    assert "demo/kernels_images/kernels/saxpy.sm_80.cubin" in read_wheel(tmp_path / "wheels")


def is_gone(process: int) -> bool:
    """Return whether a process has ended, be it that nobody has asked for its status."""
    command = Path(f"/proc/{process}/cmdline")
    return not command.exists() or not command.read_bytes()


def read_wheel(folder: Path) -> dict[str, bytes]:
    """Return the content of the one wheel in ``folder``, by name."""
    (wheel,) = folder.glob("*.whl")
    with zipfile.ZipFile(wheel) as archive:
        assert archive.testzip() is None
        return {name: archive.read(name) for name in archive.namelist()}


def test_two_builds_of_one_folder_at_once(installation: Installation, tmp_path: Path) -> None:
    files = {"pyproject.toml": pyproject(EXTENSION + KERNELS.replace("kernels/*", "src/*")), **EXTENSION_FILES}
    project = write_project(tmp_path / "project", files)
    before = read_tree(project)
    both = [start_pip_wheel(installation, project, to=name) for name in ("one", "other")]
    outputs = [running.communicate()[0] for running in both]
    assert [running.returncode for running in both] == [0, 0], "\n".join(outputs)
    one, other = read_wheel(tmp_path / "one"), read_wheel(tmp_path / "other")
    assert one == other
    assert len([name for name in one if name.endswith(".so")]) == 1
    assert len([name for name in one if "kernels_images" in name]) == 2
    assert not [name for name in one if "egg-info" in name]
    assert read_tree(project) == before


@pytest.mark.parametrize(
    ("name", "value", "told"),
    [
        ("CC", "gcc '", 'CC: "gcc \'" cannot be split into flags'),
        ("CFLAGS", '-DX="', "cannot be split into flags"),
        ("LDFLAGS", "-L'", "cannot be split into flags"),
        ("SOURCE_DATE_EPOCH", "abc", "SOURCE_DATE_EPOCH: 'abc' is no number of seconds since 1970-01-01"),
        ("SETUPTOOLS_CUDA_LAUNCHER", "nolaunch", "SETUPTOOLS_CUDA_LAUNCHER: there is no program 'nolaunch' on PATH"),
        ("SETUPTOOLS_CUDA_TOOLCHAIN_STEPS", "weel", "SETUPTOOLS_CUDA_TOOLCHAIN_STEPS: there is no step 'weel'"),
    ],
)
def test_a_variable_that_cannot_be_used(
    installation: Installation, tmp_path: Path, name: str, value: str, told: str
) -> None:
    project = write_project(tmp_path / "project", {"pyproject.toml": pyproject(EXTENSION), **EXTENSION_FILES})
    refuse(installation, project, told=[told], **{name: value})


def test_what_a_failed_wheel_has_left_does_not_stop_the_next(installation: Installation, tmp_path: Path) -> None:
    project = kernel_project(tmp_path)
    assert pip_wheel(installation, project).status == 0
    (left,) = (project / "build").glob("bdist.*")
    (left / "wheel/demo-1.0.dist-info").mkdir(parents=True)
    assert pip_wheel(installation, project).status == 0
