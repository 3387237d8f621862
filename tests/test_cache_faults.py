"""What must not harm a build: kills, other builds, a disk that is full."""

from __future__ import annotations

import hashlib
import subprocess
import sys
from collections.abc import Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from engine_support import c_project
from kill_walk import KillWalk

from setuptools_cuda.execute import eviction

STORE = """
import resource, sys
from pathlib import Path
from setuptools_cuda.execute.artifacts import Artifacts
cache = Artifacts(Path(sys.argv[1]))
resource.setrlimit(resource.RLIMIT_FSIZE, (50_000, 50_000))
try:
    outputs = {"object": (Path(sys.argv[2]), sys.argv[3])}
    cache.store("ab" * 32, inputs=(), absent=(), outputs=outputs, about={}, said="")
except OSError as error:
    print(error.strerror)
"""


def test_builds_that_are_killed(tmp_path: Path, bare_environment: Mapping[str, str]) -> None:
    walk = KillWalk(tmp_path, bare_environment, seed=1)
    for _ in range(4):
        walk.step()


def test_eight_builds_at_once_on_one_cache(tmp_path: Path, bare_environment: Mapping[str, str]) -> None:
    cache = tmp_path / "cache"
    projects = [
        c_project(tmp_path / f"project{number}", bare_environment, SETUPTOOLS_CUDA_CACHE=str(cache))
        for number in range(8)
    ]
    with ThreadPoolExecutor(len(projects)) as pool:
        list(pool.map(lambda project: project.build(), projects))
    assert all(project.files() == projects[0].files() for project in projects)
    assert eviction.measure(cache).entries == 3
    last = c_project(tmp_path / "last", bare_environment, SETUPTOOLS_CUDA_CACHE=str(cache))
    assert last.build() == ["libc.a"]
    assert last.files() == projects[0].files()
    assert list((cache / "v1/tmp").iterdir()) == []


def test_builds_store_while_others_throw_away(tmp_path: Path, bare_environment: Mapping[str, str]) -> None:
    cache = tmp_path / "cache"
    eviction.write_limit(cache, 6000)
    projects = [
        c_project(tmp_path / f"project{number}", bare_environment, SETUPTOOLS_CUDA_CACHE=str(cache)).write(
            {f"src/{name}.c": f"int {name}{number % 2};\n" for name in "abc"}
        )
        for number in range(6)
    ]
    with ThreadPoolExecutor(len(projects)) as pool:
        list(pool.map(lambda project: project.build(), projects))
    for number, project in enumerate(projects):
        assert project.files() == projects[number % 2].files()
        assert project.build() == []
    assert eviction.measure(cache).size <= 6000


def test_an_entry_that_does_not_fit_leaves_nothing(tmp_path: Path) -> None:
    made = tmp_path / "made"
    made.write_bytes(b"x" * 100_000)
    digest = hashlib.sha256(made.read_bytes()).hexdigest()
    words = [sys.executable, "-c", STORE, str(tmp_path / "cache"), str(made), digest]
    done = subprocess.run(words, capture_output=True, text=True, check=True, cwd=Path(__file__).parent.parent)
    assert done.stdout == "File too large\n"
    assert [path for path in (tmp_path / "cache").rglob("*") if path.is_file()] == [tmp_path / "cache/v1/CACHEDIR.TAG"]
