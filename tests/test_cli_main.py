"""The command itself: its statuses, and that nothing ends in a traceback."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from cli_support import ROOT, STEPS, run_command, write_project

from setuptools_cuda import __version__
from setuptools_cuda.cli.main import COMMANDS, main

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

Bare = dict[str, str]


def test_the_script_is_declared() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    assert project["scripts"] == {"setuptools-cuda": "setuptools_cuda.cli.main:main"}
    assert [each.split(">")[0] for each in project["optional-dependencies"]["cli"]] == ["rich"]


def test_version(tmp_path: Path, bare_environment: Bare) -> None:
    ran = run_command("--version", cwd=tmp_path, env=bare_environment)
    assert (ran.status, ran.out) == (0, f"setuptools_cuda {__version__}\n")


def test_help_names_every_command(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as caught:
        main(["--help"])
    assert caught.value.code == 0
    shown = capsys.readouterr().out
    names = [command.__module__.rpartition(".")[2].replace("_", "-") for command in COMMANDS]
    assert all(f"\n    {name}" in shown for name in names)


@pytest.mark.parametrize(
    "arguments",
    [
        [],
        ["docter"],
        ["doctor", "--jsn"],
        ["doctor", "x"],
        ["plan", "-C", "x"],
        ["plan", "-C", "=x"],
        ["plan", "-C", "nvcc=x"],
        ["inspect"],
    ],
)
def test_usage_errors(arguments: list[str], tmp_path: Path, bare_environment: Bare) -> None:
    ran = run_command(*arguments, cwd=tmp_path, env=bare_environment)
    assert (ran.status, ran.out) == (2, "")
    assert ran.err.startswith("usage: setuptools-cuda")


@pytest.mark.parametrize("command", ["plan", "env"])
def test_an_unknown_setting(command: str, tmp_path: Path, bare_environment: Bare) -> None:
    project = write_project(tmp_path / "demo")
    ran = run_command(command, "-C", "cuda.architecture=80", cwd=project, env=bare_environment)
    assert ran.status == 2
    assert "did you mean 'cuda.architectures'?" in ran.err
    ran = run_command(command, "-C", "cuda.archs=80", cwd=project, env=bare_environment)
    assert "did you mean 'cuda.architectures'?" in ran.err


@pytest.mark.parametrize("command", ["doctor", "plan", "env"])
def test_a_folder_that_is_gone(command: str, tmp_path: Path, bare_environment: Bare) -> None:
    script = f'mkdir gone && cd gone && rmdir ../gone && exec "{sys.executable}" -m setuptools_cuda {command}'
    env = {**bare_environment, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(["sh", "-c", script], cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 2
    said = done.stderr[done.stderr.index("error: ") :]
    assert said == "error: the current folder was removed\n  to fix  change to a folder that exists\n"


def test_a_reader_that_has_gone(tmp_path: Path, bare_environment: Bare) -> None:
    project = write_project(tmp_path / "demo")
    script = f'{{ "{sys.executable}" -m setuptools_cuda doctor; echo $? >status; }} | true'
    env = {**bare_environment, **STEPS, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(["sh", "-c", script], cwd=project, env=env, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    assert (project / "status").read_text("utf-8") == "0\n"


@pytest.mark.parametrize("stream", ["1", "2"])
def test_a_stream_that_is_closed(stream: str, tmp_path: Path, bare_environment: Bare) -> None:
    script = f'"{sys.executable}" -m setuptools_cuda inspect nothing {stream}>&-'
    env = {**bare_environment, "PYTHONPATH": str(ROOT)}
    done = subprocess.run(["sh", "-c", script], cwd=tmp_path, env=env, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (2, "")
    assert ("Traceback" in done.stderr, "no such file" in done.stderr) == (False, stream == "1")


def test_a_plugin_that_raises(tmp_path: Path, bare_environment: Bare) -> None:
    info = tmp_path / "site/odd-1.0.dist-info"
    info.mkdir(parents=True)
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: odd\nVersion: 1.0\n", "utf-8")
    (info / "entry_points.txt").write_text("[setuptools_cuda.toolchain_steps]\nodd = nowhere:look\n", "utf-8")
    env = {**bare_environment, "SETUPTOOLS_CUDA_TOOLCHAIN_STEPS": "odd path"}
    path = f"{ROOT}:{tmp_path / 'site'}"
    ran = run_command("doctor", cwd=write_project(tmp_path / "demo"), env=env, path=path)
    assert ran.status == 1
    assert "the plug-in 'odd' of odd failed" in ran.out
    assert run_command("plan", cwd=tmp_path / "demo", env=env, path=path).status == 3
