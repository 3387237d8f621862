"""Memory, cores and order: who runs beside whom, who waits, and what is done about a compiler that was killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest
from engine_support import Project, c_project, table

from setuptools_cuda import pipeline
from setuptools_cuda.errors import BuildError, Code
from setuptools_cuda.execute import ninja_run
from setuptools_cuda.execute.bounds import Bounds
from setuptools_cuda.execute.child import run_child
from setuptools_cuda.execute.ledger import UNKNOWN_NEED, Ledger, render_ledger
from setuptools_cuda.resolution.headroom import find_groups, read_headroom

ROOT = Path(__file__).resolve().parent.parent
MIB = 1 << 20
GIB = 1 << 30
# Says when it starts and ends, and does what a test wants of it in between.
COMPILER = """\
#!/bin/sh
name=$(echo "$*" | sed -n 's/.*src.\\([abc]\\)\\.c .*/\\1/p')
test -n "$name" || exec gcc "$@"
echo "start $name" >> {log}
{between}
gcc "$@"
status=$?
echo "end $name" >> {log}
exit $status
"""


@pytest.fixture
def make(tmp_path: Path, bare_environment: Mapping[str, str]) -> Callable[[str], Project]:
    """Return a function that makes a project whose compiler does ``between``, a shell script that knows $name."""

    def project(between: str, **variables: str) -> Project:
        compiler = tmp_path / "cc"
        compiler.write_text(COMPILER.format(log=tmp_path / "log", between=between.replace("TMP", str(tmp_path))))
        compiler.chmod(0o755)
        (tmp_path / "log").write_text("")
        return c_project(tmp_path / "project", bare_environment, CC=str(compiler), **variables)

    return project


def events(project: Project) -> list[str]:
    log = project.root.parent / "log"
    said = log.read_text().split("\n")[:-1]
    log.write_text("")
    return said


def test_a_killed_compiler_is_tried_again_alone(make: Callable[[str], Project]) -> None:
    project = make("test $name = a && mkdir TMP/once 2>/dev/null && kill -9 $$; test -e TMP/once && sleep 0.2")
    assert project.build(jobs=3) == ["libc.a", "src/a.c", "src/b.c", "src/c.c"]
    said = events(project)
    again = len(said) - 1 - said[::-1].index("start a")
    assert said[again - 1 : again + 2] == [said[again - 1], "start a", "end a"]
    before = said[:again]
    assert before.count("start b") == before.count("end b")
    assert before.count("start c") == before.count("end c")


def test_a_compiler_killed_twice_is_out_of_memory(make: Callable[[str], Project]) -> None:
    project = make("test $name = a && kill -9 $$")
    with pytest.raises(BuildError) as caught:
        project.build()
    (problem,) = caught.value.problems
    assert problem.code is Code.OUT_OF_MEMORY
    assert problem.what.startswith("the compiler of src/a.c was killed, and again when it ran alone: ")
    assert "more memory" in problem.fix[0]
    assert events(project).count("start a") == 2


def test_a_compiler_that_fails_is_not_tried_again(make: Callable[[str], Project]) -> None:
    project = make("test $name = a && echo 'error: no' && exit 1")
    with pytest.raises(BuildError, match=r"src/a\.c does not compile"):
        project.build()
    assert events(project).count("start a") == 1


# The program is what takes the memory, as cicc does for nvcc.
TAKES = """\
if test $name = c; then python3 -c 'x = bytearray(150 << 20); x[::4096] = b"1" * len(x[::4096])'; fi; sleep 0.3
"""


def test_what_a_compile_took_is_learned(make: Callable[[str], Project], monkeypatch: pytest.MonkeyPatch) -> None:
    project = make(TAKES)
    project.build(jobs=3)
    learned = json.loads((project.folder / "history.json").read_text())["jobs"]
    assert 150 * MIB < learned["host src/c.c"][1] < 250 * MIB
    assert learned["host src/a.c"][1] < 150 * MIB
    events(project)
    # All of it would fit but for what is known by now.
    monkeypatch.setattr(pipeline, "read_memory", lambda: 160 * MIB)
    project.write({"pyproject.toml": table('defines = ["ANOTHER"]')}).build(jobs=3)
    said = events(project)
    start, end = said.index("start c"), said.index("end c")
    assert end - start == 1 or said[start + 1 : end] == []


def test_given_memory_comes_before_what_was_learned(
    make: Callable[[str], Project], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pipeline, "read_memory", lambda: 8 * GIB)
    project = make("sleep 0.2").write({"pyproject.toml": table("", 'memory = "5 GiB"')})
    project.build(jobs=3)
    assert [event.split()[0] for event in events(project)] == ["start", "end"] * 3


def test_the_youngest_gives_way_before_something_is_killed(
    make: Callable[[str], Project], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    group = [tmp_path / name for name in ("max", "current", "stat")]
    for path, text in zip(group, (f"{GIB}\n", f"{100 * MIB}\n", "inactive_file 0\n"), strict=True):
        path.write_text(text)
    monkeypatch.setattr(ninja_run, "find_groups", lambda: (tuple(map(str, group)),))
    monkeypatch.setattr(pipeline, "read_memory", lambda: 4 * GIB)
    # While two run there is no room; the one that is ended gives it back.
    low, high = f"echo {100 * MIB} > TMP/current", f"echo {GIB - MIB} > TMP/current"
    project = make(
        f'trap "{low}; touch TMP/given; exit 1" TERM\n'
        'test -e TMP/given && exec gcc "$@"\n'
        "sleep 0.5\n"
        f"if test $(grep -c start TMP/log) = 2 && mkdir TMP/second 2>/dev/null; then {high}; fi\n"
        "for _ in 1 2 3 4 5 6; do test -e TMP/given || { sleep 0.5 & wait; }; done"
    )
    project.write({"src/c.c": ""})
    (project.root / "src/c.c").unlink()
    assert project.build(jobs=2) == ["libc.a", "src/a.c", "src/b.c"]
    attempts = events(project)
    assert sum(event.startswith("start") for event in attempts) == 3


def test_the_longest_starts_first(make: Callable[[str], Project]) -> None:
    project = make(":")
    project.build(jobs=1)
    events(project)
    history = project.folder / "history.json"
    kept = json.loads(history.read_text())
    kept["jobs"] |= {f"host src/{name}.c": [seconds, 0] for name, seconds in (("a", 1.0), ("b", 9.0), ("c", 4.0))}
    history.write_text(json.dumps(kept))
    project.write({"pyproject.toml": table('defines = ["ANOTHER"]')}).build(jobs=1)
    assert [event for event in events(project) if event.startswith("start")] == ["start b", "start c", "start a"]


def test_the_largest_starts_first_where_nothing_is_known(make: Callable[[str], Project]) -> None:
    project = make(":").write({"src/b.c": "int b;\n" + "/* long */\n" * 2000})
    project.build(jobs=1)
    assert events(project)[0] == "start b"


def ledger(path: Path, *, left: int, parallel: int = 16, memory: int = 0, last_threads: int = 0) -> Ledger:
    path.write_bytes(render_ledger(left=left))
    return Ledger(str(path), parallel=parallel, memory=memory, last_threads=last_threads)


@contextmanager
def entered(book: Ledger, *, most_threads: int) -> Iterator[int]:
    """Enter a book as a process of its own that stays; give the threads that it got."""
    answers, answer = os.pipe()
    wait, end = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(end)
        os.write(answer, bytes([book.enter(need=0, together=0, most_threads=most_threads)]))
        os.read(wait, 1)
        os._exit(0)
    os.close(wait)
    yield os.read(answers, 1)[0]
    for number in (end, answers, answer):
        os.close(number)
    os.waitpid(pid, 0)


@pytest.mark.parametrize(
    ("left", "most", "got"),
    [
        (3, 8, [5, 5, 6]),
        (3, 4, [4, 4, 4]),
        (16, 8, [1] * 16),
        (40, 8, [1] * 40),
        (1, 4, [4]),
        (2, 1, [1, 1]),
    ],
)
def test_cores_that_would_idle_go_to_the_compiles_that_are_left(
    tmp_path: Path, left: int, most: int, got: list[int]
) -> None:
    book = ledger(tmp_path / "ledger", left=left)
    with ExitStack() as jobs:
        assert [jobs.enter_context(entered(book, most_threads=most)) for _ in range(left)] == got


def test_the_last_to_start_takes_more_threads_than_cores_are_free(tmp_path: Path) -> None:
    book = ledger(tmp_path / "ledger", left=3, parallel=2, last_threads=4)
    with ExitStack() as jobs:
        assert [jobs.enter_context(entered(book, most_threads=8)) for _ in range(3)] == [1, 1, 4]
    book = ledger(tmp_path / "ledger", left=1, parallel=2, memory=3 * GIB, last_threads=4)
    assert book.enter(need=GIB, together=0, most_threads=8) == 3


@pytest.mark.parametrize(
    ("parallel", "cores", "last"), [(2, 2, 4), (3, 2, 4), (1, 1, 0), (2, 16, 0), (1, 2, 0), (2, 0, 0)]
)
def test_only_a_build_that_has_all_cores_takes_more(parallel: int, cores: int, last: int) -> None:
    assert Bounds(parallel, cores=cores).last_threads == last


def test_a_host_compile_beside_it_costs_nvcc_no_thread(tmp_path: Path) -> None:
    book = ledger(tmp_path / "ledger", left=1, parallel=2)
    assert book.enter(need=0, together=0, most_threads=1, shares=False) == 1
    with entered(book, most_threads=4) as threads:
        assert threads == 2


def test_threads_take_memory_too(tmp_path: Path) -> None:
    book = ledger(tmp_path / "ledger", left=1, memory=4 * GIB)
    assert book.enter(need=GIB, together=0, most_threads=8) == 4
    book = ledger(tmp_path / "ledger", left=1, memory=4 * UNKNOWN_NEED)
    assert book.enter(need=0, together=0, most_threads=8) == 4
    book = ledger(tmp_path / "ledger", left=1, memory=GIB)
    assert book.enter(need=0, together=3 * GIB, most_threads=8) == 8


def test_what_one_took_is_what_the_next_unknown_one_needs(tmp_path: Path) -> None:
    book = ledger(tmp_path / "ledger", left=2, memory=4 * GIB)
    assert book.enter(need=0, together=0, most_threads=8) == 8
    book.leave(memory=2 * GIB)
    assert book.enter(need=0, together=0, most_threads=8) == 2


@pytest.mark.parametrize("text", [b"", b"left\x1f", b"nonsense", b"left\x1fx\x1epeak\x1f0\x1e"])
def test_a_damaged_ledger_is_begun_anew(tmp_path: Path, text: bytes) -> None:
    (tmp_path / "ledger").write_bytes(text)
    book = Ledger(str(tmp_path / "ledger"), parallel=2, memory=GIB)
    assert book.enter(need=0, together=0, most_threads=2) == 2
    book.leave(memory=1)


def test_who_was_killed_takes_no_room(tmp_path: Path) -> None:
    (tmp_path / "ledger").write_bytes(render_ledger(left=1) + f"4194305\x1f{GIB}\x1f16\x1f1\x1e".encode())
    book = Ledger(str(tmp_path / "ledger"), parallel=16, memory=GIB)
    assert book.enter(need=GIB // 2, together=0, most_threads=2) == 2


def test_a_child_says_what_it_took_and_how_it_ended() -> None:
    done = run_child(
        ["python3", "-c", "print('x' * 3); x = b'1' * (100 << 20); raise SystemExit(3)"], stays=lambda: 1.0
    )
    assert (done.status, done.output, done.gave_way) == (3, "xxx\n", False)
    assert done.memory > 100 * MIB
    assert done.cpu > 0
    assert run_child(["sh", "-c", "kill -9 $$"], stays=lambda: 1.0).status == -9
    missing = run_child(["/no/such/program"], stays=lambda: 1.0)
    assert (missing.status, missing.output) == (127, "/no/such/program: No such file or directory\n")


def test_the_memory_of_a_child_is_its_own() -> None:
    # A process begins as a copy of the one that starts it, which counts: so this is asked of a small one, as jobs are.
    code = (
        "from setuptools_cuda.execute.child import run_child\n"
        "argv = ['python3', '-c', \"x = b'1' * (100 << 20)\"]\n"
        "print(run_child(argv, stays=lambda: 1.0).memory)"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert 100 * MIB < int(done.stdout) < 200 * MIB


def test_a_child_that_gives_way_is_ended_with_all_that_it_started(tmp_path: Path) -> None:
    mark = tmp_path / "mark"
    seconds = iter([0.2, 0.0])
    done = run_child(["sh", "-c", f"(sleep 2; touch {mark}) & trap '' TERM; wait; wait"], stays=lambda: next(seconds))
    assert done.gave_way
    assert not mark.exists()


MOUNTS = {
    "v2": "30 23 0:26 / {mount} rw - cgroup2 cgroup2 rw\n",
    "v1": "35 31 0:32 / {mount} rw,relatime - cgroup cgroup rw,memory\n36 31 0:33 / /no rw - cgroup cgroup rw,pids\n",
}
MEMBERSHIPS = {"v2": "0::/a/b\n", "v1": "8:pids:/x\n4:memory:/a/b\n0::/\n"}
FILES = {
    "v2": ("memory.max", "memory.current"),
    "v1": ("memory.limit_in_bytes", "memory.usage_in_bytes"),
}


@pytest.mark.parametrize("version", ["v1", "v2"])
@pytest.mark.parametrize(
    ("limits", "room"),
    [
        ({"a/b": 3 * GIB}, GIB),
        ({"a/b": 9 * GIB, "a": 3 * GIB}, GIB),
        ({"a/b": "max", "a": 3 * GIB}, GIB),
        ({"": 3 * GIB}, GIB),
        ({"a/b": 2**63 - 4096}, 16 * GIB),
        ({"a/b": GIB}, 1),
        ({}, 16 * GIB),
    ],
    ids=str,
)
def test_limits_of_control_groups_and_their_parents(
    tmp_path: Path, version: str, limits: Mapping[str, object], room: int
) -> None:
    mount, proc = tmp_path / "cgroup", tmp_path / "proc"
    (mount / "a/b").mkdir(parents=True)
    proc.mkdir()
    (proc / "mountinfo").write_text(MOUNTS[version].format(mount=mount))
    (proc / "cgroup").write_text(MEMBERSHIPS[version])
    (proc / "meminfo").write_text(f"MemTotal: 99999999 kB\nMemAvailable: {16 * GIB // 1024} kB\n")
    limit_file, used_file = FILES[version]
    for group, limit in limits.items():
        (mount / group / limit_file).write_text(f"{limit}\n")
        (mount / group / used_file).write_text(f"{5 * GIB // 2}\n")
        # Half a GiB of what is used is pages of files, which can be had back.
        prefix = "total_" if version == "v1" else ""
        stat = f"cache 1\n{prefix}inactive_file {GIB // 4}\n{prefix}active_file {GIB // 4}\n"
        (mount / group / "memory.stat").write_text(stat)
    groups = find_groups(proc=str(proc))
    assert read_headroom(groups, meminfo=str(proc / "meminfo")) == room


def test_a_group_of_the_host_that_a_container_does_not_see(tmp_path: Path) -> None:
    (tmp_path / "mountinfo").write_text(MOUNTS["v2"].format(mount=tmp_path))
    (tmp_path / "cgroup").write_text("0::/../../elsewhere\n")
    (tmp_path / "memory.max").write_text(f"{GIB}\n")
    (tmp_path / "memory.current").write_text("0\n")
    groups = find_groups(proc=str(tmp_path))
    assert read_headroom(groups, meminfo="/none") == GIB


def test_where_nothing_is_known() -> None:
    assert find_groups(proc="/none") == ()
    assert read_headroom((), meminfo="/none") == 0
    assert Bounds(4).reserve == 0
    assert Bounds(4, GIB).reserve == 64 * MIB
    assert Bounds(4, 2 * GIB).reserve == 128 * MIB
    assert Bounds(4, 100 * GIB).reserve == 512 * MIB
