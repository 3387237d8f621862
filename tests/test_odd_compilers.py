"""Compilers and launchers that do odd things, values that mean nothing, signals: told plainly, nothing left."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path

import pytest
from engine_support import Project, c_project, table

from setuptools_cuda.errors import BuildError
from setuptools_cuda.execute import eviction

REPOSITORY = Path(__file__).parent.parent


def make_compiler(path: Path, *, does: str) -> str:
    """Make a compiler that does something of a shell before it compiles src/a.c; return its path."""
    path.write_text(f'#!/bin/sh\ncase "$*" in *-c*src/a.c*) {does};; esac\nexec cc "$@"\n', "utf-8")
    path.chmod(0o755)
    return str(path)


def failing(project: Project, **words: object) -> str:
    with pytest.raises(BuildError) as caught:
        project.build(**words)
    return str(caught.value)


@pytest.mark.parametrize(
    ("does", "said"),
    [
        ("exit 0", "cc-odd ended as if all were well, and made no file"),
        ('while [ "$1" != -o ]; do shift; done; : > "$2"; exit 0', "cc-odd does not tell which files it has read"),
        (r"printf 'error: \033[31m\007 red\n'; exit 1", r"error: \x1b[31m\x07 red"),
        ("head -c 100000 /dev/zero; exit 1", r"\x00 ... and 99000 letters more"),
        ("yes 'error: it' | head -100000; exit 1", "... and 99980 lines more"),
    ],
    ids=["nothing made", "no depfile", "control characters", "one long line", "many lines"],
)
def test_what_it_does_is_told(tmp_path: Path, bare_environment: Mapping[str, str], does: str, said: str) -> None:
    project = c_project(tmp_path / "project", bare_environment, CC=make_compiler(tmp_path / "cc-odd", does=does))
    message = failing(project)
    assert said in message
    assert all(letter.isprintable() or letter == "\n" for letter in message)
    assert len(message) < 10_000


def test_a_flood_of_warnings_goes_by_and_is_not_kept(tmp_path: Path, bare_environment: Mapping[str, str]) -> None:
    does = "yes 'src/a.c:1: warning: it' | head -300000 >&2"
    variables = {"CC": make_compiler(tmp_path / "cc", does=does), "SETUPTOOLS_CUDA_CACHE": str(tmp_path / "cache")}
    project = c_project(tmp_path / "project", bare_environment, **variables)
    project.build()
    assert project.lines.count("src/a.c:1: warning: it") == 300_000
    assert eviction.measure(tmp_path / "cache").entries == 2


@pytest.mark.parametrize(
    ("setting", "value", "said"),
    [
        ("cache", "true", "-C cuda.cache: 'true' is no folder"),
        ("cache", "No", "write 'off' to have no cache"),
        ("cache", "s3://bucket", "'s3://bucket' is no folder"),
        ("cache", "$HOME/cache", "variables are not filled in here"),
        ("cache", "~other/cache", "the home of another user is not looked up"),
        ("report", "1", "a folder of that name is './1'"),
        ("report", "off", "'off' is no folder"),
        ("report", "~/report", "'~/report' lies in the home folder, and HOME is not set"),
        ("launcher", "env 'A", "cannot be split into a program and its arguments: No closing quotation"),
    ],
)
def test_values_that_name_nothing(
    tmp_path: Path, bare_environment: Mapping[str, str], setting: str, value: str, said: str
) -> None:
    project = c_project(tmp_path, {**bare_environment, "HOME": ""})
    before = sorted(tmp_path.iterdir())
    assert said in failing(project, config_settings={f"cuda.{setting}": value})
    assert sorted(tmp_path.iterdir()) == before


def test_a_report_in_the_home_folder(tmp_path: Path, bare_environment: Mapping[str, str]) -> None:
    project = c_project(tmp_path / "project", bare_environment, HOME=str(tmp_path / "home"))
    project.build(config_settings={"cuda.report": "~/report"})
    assert (tmp_path / "home/report/report.html").is_file()


@pytest.mark.parametrize("name", ["MAX_JOBS", "NVCC_THREADS"])
def test_numbers_of_thousands_of_digits(tmp_path: Path, bare_environment: Mapping[str, str], name: str) -> None:
    message = failing(c_project(tmp_path, bare_environment, **{name: "1" * 5000}))
    assert "111...111" in message
    assert "is not a positive whole number" in message


def test_what_a_cache_says_of_itself_may_be_nonsense(tmp_path: Path, bare_environment: Mapping[str, str]) -> None:
    cache = tmp_path / "cache"
    project = c_project(tmp_path / "project", bare_environment, SETUPTOOLS_CUDA_CACHE=str(cache))
    project.build()
    for file in (cache / "limit", cache / "v1/size"):
        file.write_text("9" * 5000, "ascii")
    project.write({"src/a.c": "int other;\n"}).build()
    assert eviction.measure(cache) == eviction.Usage(4, eviction.measure(cache).size, eviction.DEFAULT_LIMIT)


SCRIPT = """
import pathlib
from setuptools_cuda import pipeline
from setuptools_cuda.environment import read_environment
pipeline.run(pipeline.Request(pathlib.Path.cwd(), read_environment()), echo=print)
"""


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP])
def test_a_signal_to_the_build_alone_ends_its_compilers(
    tmp_path: Path, bare_environment: Mapping[str, str], number: signal.Signals
) -> None:
    mark = tmp_path / "compiling"
    compiler = make_compiler(tmp_path / "cc", does=f'echo $$ > "{mark}"; exec sleep 600')
    project = c_project(tmp_path / "project", bare_environment, CC=compiler)
    project.write({"pyproject.toml": table("jobs = 4")})
    variables = {**project.variables, "PYTHONPATH": str(REPOSITORY)}
    argv = [sys.executable, "-c", SCRIPT]
    with subprocess.Popen(argv, cwd=project.root, env=variables, start_new_session=True) as running:
        while not (mark.exists() and mark.read_text("ascii").strip()):
            assert running.poll() is None
            time.sleep(0.02)
        running.send_signal(number)
        assert running.wait(60) == -number
    # It waited for them: nothing of its session is left.
    with pytest.raises(ProcessLookupError):
        os.killpg(running.pid, 0)
