"""Random walks over the states of a small project, with a model that knows what has to be compiled.

``python tests/rebuild_walk.py --steps 200 --seed 1`` takes a long one.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import shutil
import sys
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from engine_support import Project

TARGETS = """
[[tool.setuptools-cuda.library]]
name = "c"
sources = ["src/*.c"]
install = "lib"

[[tool.setuptools-cuda.kernel-module]]
module = "kernels"
sources = ["cuda/*.cu"]
"""
HEAD = """
[tool.setuptools-cuda]
include-dirs = ["first", "inc"]
architectures = ["{architecture}"]
defines = {defines}
"""
START = {
    "first/only.h": "#define ONLY 1\n",
    "inc/one.h": "#define ONE 1\n",
    "inc/two.h": "#define TWO 2\n",
    "src/a.c": '#include "one.h"\n#include "only.h"\nint a(void) { return ONE + ONLY; }\n',
    "src/b.c": '#include "one.h"\n#include "two.h"\nint b(void) { return ONE + TWO; }\n',
    "src/c.c": "int c(void) { return 1; }\n",
    "cuda/k.cu": '#include "two.h"\nextern "C" __global__ void k(int* x) { *x = TWO; }\n',
}
COMPILER = '#!/bin/sh\n# {version}\nexec gcc "$@"\n'


@dataclass
class State:
    """Everything that decides what a build makes."""

    files: dict[str, str] = field(default_factory=lambda: dict(START))
    defines: tuple[str, ...] = ()
    architecture: str = "80"
    cpath: str = ""
    compiler: str = "1"

    def copy(self) -> State:
        return State(dict(self.files), self.defines, self.architecture, self.cpath, self.compiler)

    def sources(self, suffix: str | tuple[str, ...]) -> list[str]:
        return sorted(name for name in self.files if name.endswith(suffix))

    def find(self, include: str, source: str) -> str:
        """Return the header that an include of ``source`` means."""
        places = [source.rpartition("/")[0], "first", "inc"]
        return next(f"{place}/{include}" for place in places if f"{place}/{include}" in self.files)

    def content(self, source: str) -> tuple[object, ...]:
        """Return everything that a compile of ``source`` reads."""
        includes = re.findall(r'#include "([^"]+)"', self.files[source])
        headers = [self.find(include, source) for include in includes]
        read = tuple((name, self.files[name]) for name in (source, *headers))
        return (*read, self.cpath, self.compiler if source.endswith(".c") else "")

    def command(self, source: str) -> tuple[object, ...]:
        """Return everything that decides the command of ``source``."""
        return (source, self.defines, self.architecture if source.endswith(".cu") else "")


Edit = Callable[["Walk"], None]


class Walk:
    """One walk: a project that is edited and built, step by step."""

    def __init__(self, folder: Path, variables: Mapping[str, str], *, seed: int, cache: bool) -> None:
        self.random = random.Random(seed)
        self.folder = folder
        self.state = State()
        self.past = [self.state.copy()]
        self.cache = cache
        self.variables = {**variables, "CC": str(folder / "cc")}
        self.project = Project(folder / "project", {})
        self.last: dict[object, object] = {}
        self.seen: set[object] = set()
        self.scratch: dict[object, dict[str, bytes]] = {}
        self.compiled = 0
        self.said: list[str] = []
        self._write(self.project, self.state)

    def step(self) -> None:
        """Make some edits, build, and compare with the model and with a build from scratch."""
        for _ in range(self.random.choice((1, 1, 1, 2, 3))):
            edit = self.random.choices(list(EDITS), weights=list(EDITS.values()))[0]
            self.said.append(edit.__name__)
            edit(self)
        self.past.append(self.state.copy())
        self._write(self.project, self.state)
        expected = self._expect()
        made = [title.split()[0] for title in self.project.build() if title != "libc.a"]
        assert sorted(made) == sorted(expected), (self.said, self.project.log())
        self.compiled += len(made)
        built = self.project.files()
        assert built == self._from_scratch(), self.said

    def _expect(self) -> list[str]:
        """Return the sources that have to be compiled, and note what is known from now on."""
        expected = []
        for source in (*self.state.sources(".c"), *self.state.sources(".cu")):
            command, content = self.state.command(source), self.state.content(source)
            known = self.last.get(command) == content or (self.cache and (command, content) in self.seen)
            expected += [] if known else [source]
            self.last[command] = content
            self.seen.add((command, content))
        return expected

    def _from_scratch(self) -> dict[str, bytes]:
        key = tuple((self.state.command(name), self.state.content(name)) for name in self.state.sources((".c", ".cu")))
        if key not in self.scratch:
            folder = Path(tempfile.mkdtemp(dir=self.folder))
            project = Project(folder / "elsewhere", {})
            self._write(project, self.state, cache=False)
            project.build()
            self.scratch[key] = project.files()
            shutil.rmtree(folder)
        return self.scratch[key]

    def _write(self, project: Project, state: State, *, cache: bool | None = None) -> None:
        head = HEAD.format(architecture=state.architecture, defines=list(state.defines))
        wanted = {**state.files, "pyproject.toml": head + TARGETS}
        there = {path.relative_to(project.root).as_posix() for path in project.root.rglob("*.*") if path.is_file()}
        for name in there - wanted.keys():
            if not name.startswith("build/"):
                (project.root / name).unlink()
        project.write({name: text for name, text in wanted.items() if _differs(project.root / name, text)})
        _rewrite(self.folder / "cc", COMPILER.format(version=state.compiler))
        project.variables = dict(self.variables)
        on = self.cache if cache is None else cache
        project.variables["SETUPTOOLS_CUDA_CACHE"] = str(self.folder / "cache") if on else "off"
        if state.cpath:
            project.variables["CPATH"] = state.cpath

    def pick(self, *suffixes: str) -> str:
        return self.random.choice(sorted(name for name in self.state.files if name.endswith(suffixes)))


def _differs(path: Path, text: str) -> bool:
    return not path.is_file() or path.read_text("utf-8") != text


def _rewrite(path: Path, text: str) -> None:
    if _differs(path, text):
        path.write_text(text, "utf-8")
        path.chmod(0o755)


def edit_source(walk: Walk) -> None:
    name = walk.pick(".c")
    walk.state.files[name] += f"/* {walk.random.random()} */\n"


def edit_kernel(walk: Walk) -> None:
    name = walk.pick(".cu")
    walk.state.files[name] = walk.state.files[name].replace("= TWO", "= 1 + TWO")


def edit_header(walk: Walk) -> None:
    name = walk.pick("one.h", "only.h")
    walk.state.files[name] = re.sub(r"\d+$", str(walk.random.randrange(100)), walk.state.files[name], flags=re.M)


def edit_shared_header(walk: Walk) -> None:
    walk.state.files["inc/two.h"] = f"#define TWO {walk.random.randrange(10)}\n"


def edit_keeping_time_and_size(walk: Walk) -> None:
    name = walk.pick(".c")
    path = walk.project.root / name
    if not path.is_file():
        return
    text = walk.state.files[name]
    changed = text.replace("int ", "INT ", 1) if "INT " not in text else text.replace("INT ", "int ", 1)
    changed = changed if "#define INT" in changed else text[:-1] + ("\t" if text[-1] == "\n" else "\n")
    before = path.stat()
    walk.state.files[name] = changed
    path.write_text(changed, "utf-8")
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns))


def touch(walk: Walk) -> None:
    for path in walk.project.root.rglob("*.[ch]*"):
        if "build" not in path.parts:
            os.utime(path)


def write_anew(walk: Walk) -> None:
    for name, text in walk.state.files.items():
        (walk.project.root / name).unlink(missing_ok=True)
        walk.project.write({name: text})


def change_flags(walk: Walk) -> None:
    walk.state.defines = () if walk.state.defines else (f"A={walk.random.randrange(2)}",)


def change_architecture(walk: Walk) -> None:
    walk.state.architecture = "86" if walk.state.architecture == "80" else "80"


def change_environment(walk: Walk) -> None:
    walk.state.cpath = "" if walk.state.cpath else "/nowhere"


def change_compiler(walk: Walk) -> None:
    walk.state.compiler = str(walk.random.randrange(3))


def add_source(walk: Walk) -> None:
    number = walk.random.randrange(4)
    walk.state.files[f"src/more{number}.c"] = f"int more{number};\n"


def delete_source(walk: Walk) -> None:
    name = walk.pick(".c")
    if len(walk.state.sources(".c")) > 1:
        del walk.state.files[name]


def shadow_header(walk: Walk) -> None:
    walk.state.files["first/one.h"] = "#define ONE 77\n"


def show_header(walk: Walk) -> None:
    walk.state.files.pop("first/one.h", None)


def revert(walk: Walk) -> None:
    walk.state = walk.random.choice(walk.past).copy()


def damage_output(walk: Walk) -> None:
    objects = sorted(walk.project.root.glob("build/setuptools-cuda/*/objects/src.*"))
    for path in walk.random.sample(objects, min(1, len(objects))):
        path.write_bytes(b"damaged")
        source = "src/" + path.name.split(".")[1] + ".c"
        walk.last = {command: known for command, known in walk.last.items() if command[0] != source}  # type: ignore[index]


EDITS: dict[Edit, int] = {
    edit_source: 4,
    edit_kernel: 1,
    edit_header: 4,
    edit_shared_header: 1,
    edit_keeping_time_and_size: 3,
    touch: 2,
    write_anew: 2,
    change_flags: 1,
    change_architecture: 1,
    change_environment: 1,
    change_compiler: 2,
    add_source: 2,
    delete_source: 2,
    shadow_header: 2,
    show_header: 2,
    revert: 3,
}


def main() -> None:
    """Take a long walk and say how it went."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--cache", action="store_true")
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        variables = {"PATH": "/usr/bin:/bin", "HOME": folder, "LANG": "C.UTF-8"}
        walk = Walk(Path(folder), variables, seed=given.seed, cache=given.cache)
        for number in range(given.steps):
            walk.step()
            if number % 10 == 9:
                print(f"{number + 1} steps, {walk.compiled} compiles, {len(walk.scratch)} from scratch", flush=True)


if __name__ == "__main__":
    main()
