"""Builds that are killed at random moments, each followed by one that has to come right.

``python tests/kill_walk.py --kills 100 --seed 1`` does many.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from engine_support import c_project

BUILD = """
import sys
sys.path[:0] = {path!r}
from pathlib import Path
from engine_support import Project
print("ready", flush=True)
sys.stdin.readline()
Project(Path({root!r}), {variables!r}).build(jobs=3)
"""
SOURCES = {f"src/s{number}.c": f'#include "one.h"\nint s{number}(void) {{ return ONE; }}\n' for number in range(12)}


class KillWalk:
    """A project that is edited, built by a process that is killed, and built again."""

    def __init__(self, folder: Path, variables: Mapping[str, str], *, seed: int) -> None:
        self.random = random.Random(seed)
        cache = {"SETUPTOOLS_CUDA_CACHE": str(folder / "cache")}
        self.project = c_project(folder / "project", variables, **cache).write(SOURCES)
        self.fresh = c_project(folder / "fresh", variables).write(SOURCES)
        self.seconds = 1.0
        self.unfinished = 0

    def step(self) -> None:
        """Edit, build and kill, build again, and compare with what was never killed."""
        number = self.random.randrange(1000)
        changed = self.random.choice([{"inc/one.h": f"#define ONE {number}\n"}, {"src/s3.c": f"int s3 = {number};\n"}])
        for project in (self.project, self.fresh):
            project.write(changed)
        self._build_and_kill()
        made = self.project.build(jobs=3)
        self.unfinished += bool(made)
        self.fresh.build(jobs=3)
        assert self.project.files() == self.fresh.files()
        assert self.project.build() == []
        assert list((self.project.folder / "scratch").iterdir()) == []

    def _build_and_kill(self) -> None:
        text = BUILD.format(
            path=[str(Path(__file__).parent), str(Path(__file__).parent.parent)],
            root=str(self.project.root),
            variables=self.project.variables,
        )
        with subprocess.Popen(
            [sys.executable, "-c", text],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        ) as running:
            assert running.stdin is not None
            assert running.stdout is not None
            running.stdout.readline()
            running.stdin.write("go\n")
            running.stdin.flush()
            time.sleep(self.random.uniform(0, self.seconds))
            self._kill(running.pid)
            running.stdout.close()

    def _kill(self, pid: int) -> None:
        """Kill the build alone, one of its processes, or all of them at once."""
        every = [pid, *_descendants(pid)]
        how = self.random.choice(("build", "one", "all"))
        victims = {"build": [pid], "one": [self.random.choice(every), pid], "all": every}[how]
        for victim in victims:
            try:
                os.kill(victim, signal.SIGKILL)
            except ProcessLookupError:
                continue


def _descendants(pid: int) -> list[int]:
    found = [pid]
    for one in found:
        for path in Path(f"/proc/{one}/task").glob("*/children"):
            try:
                found += map(int, path.read_text().split())
            except OSError:
                continue
    return found[1:]


def main() -> None:
    """Kill many and say how it went."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        variables = {"PATH": "/usr/bin:/bin", "HOME": folder, "LANG": "C.UTF-8"}
        walk = KillWalk(Path(folder), variables, seed=given.seed)
        for number in range(given.kills):
            walk.step()
            if number % 10 == 9:
                print(f"{number + 1} kills, {walk.unfinished} builds left something to do", flush=True)


if __name__ == "__main__":
    main()
