"""What is built again, and what is not: content decides."""

from __future__ import annotations

import json
import os
import shutil
import sys
import threading
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path

import pytest
from engine_support import Project, c_project, table
from plan_support import PYTHON, make_toolchain, plan_table, write_files

from setuptools_cuda.errors import BuildError

ARCHIVE = "libc.a"
ALL = [ARCHIVE, "src/a.c", "src/b.c", "src/c.c"]


@pytest.fixture
def project(tmp_path: Path, bare_environment: Mapping[str, str]) -> Project:
    made = c_project(tmp_path / "project", bare_environment)
    assert made.build() == ALL
    return made


def test_nothing_changed_and_nothing_is_made(project: Project) -> None:
    assert project.build() == []
    assert project.lines[-1] == "4 steps: 4 unchanged"


def test_new_times_of_old_content_are_no_change(project: Project) -> None:
    for path in project.root.rglob("*.[ch]"):
        os.utime(path)
        path.chmod(0o600)
    assert project.build() == []


def test_files_written_anew_with_the_same_content_are_no_change(project: Project) -> None:
    for path in [*project.root.glob("inc/*"), *project.root.glob("src/*")]:
        content = path.read_bytes()
        path.unlink()
        path.write_bytes(content)
    assert project.build() == []


@pytest.mark.parametrize("age", [0, -(10**9), 10**15], ids=["the same time", "a second before", "days to come"])
def test_new_content_under_any_time_is_a_change(project: Project, age: int) -> None:
    header = project.root / "inc/one.h"
    before = header.stat()
    header.write_text("#define ONE 2\n", "utf-8")
    os.utime(header, ns=(before.st_atime_ns, before.st_mtime_ns + age))
    assert header.stat().st_size == before.st_size
    assert project.build() == [ARCHIVE, "src/a.c"]
    assert project.reason("src/a.c") == "inc/one.h has changed"
    assert project.build() == []


def test_a_header_moves_what_includes_it_alone(project: Project) -> None:
    project.write({"inc/all.h": "#define ALL 2\n"})
    assert project.build() == [ARCHIVE, "src/a.c", "src/b.c"]


def test_objects_that_come_out_the_same_are_not_put_together_again(project: Project) -> None:
    project.write({"inc/one.h": "#define ONE 1 /* as before */\n"})
    assert project.build() == ["src/a.c"]
    assert project.build() == []


def test_flags_and_back(project: Project) -> None:
    first = project.files()
    project.write({"pyproject.toml": table('defines = ["ONCE"]')})
    assert project.build() == ALL
    project.write({"pyproject.toml": table()})
    assert project.build() == []
    assert project.files() == first


@pytest.mark.parametrize("name", ["CPATH", "C_INCLUDE_PATH", "SOURCE_DATE_EPOCH"])
def test_variables_that_compilers_read(project: Project, name: str) -> None:
    project.variables[name] = "1"
    assert project.build() == ALL[1:]
    assert project.reason("src/a.c") == "the command, the compiler or a variable has changed"
    project.variables["UNRELATED"] = "1"
    assert project.build() == []


def test_a_compiler_replaced_at_its_path(tmp_path: Path, bare_environment: Mapping[str, str]) -> None:
    compiler = tmp_path / "bin/mycc"
    compiler.parent.mkdir()
    compiler.write_text('#!/bin/sh\nexec gcc "$@"\n')
    compiler.chmod(0o755)
    project = c_project(tmp_path / "project", bare_environment, CC=str(compiler))
    assert project.build() == ALL
    before = compiler.stat()
    compiler.write_text('#!/bin/sh\nexec gcc "$@" \n')
    os.utime(compiler, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert project.build() == ALL[1:]
    assert project.build() == []


def test_a_wrapper_that_calls_another_compiler(tmp_path: Path, bare_environment: Mapping[str, str]) -> None:
    compiler, real = tmp_path / "bin/mycc", tmp_path / "real"
    compiler.parent.mkdir()
    compiler.write_text(f'#!/bin/sh\nexec $(cat {real}) "$@"\n')
    compiler.chmod(0o755)
    real.write_text("gcc-11")
    project = c_project(tmp_path / "project", bare_environment, CC=str(compiler))
    assert project.build() == ALL
    real.write_text("gcc-12")
    assert set(ALL[1:]) <= set(project.build())


def test_a_header_that_comes_before_another(project: Project) -> None:
    project.write({"src/one.h": "#define ONE 7\n"})
    assert project.build() == [ARCHIVE, "src/a.c"]
    assert project.reason("src/a.c") == "src/one.h is new, and comes before what was read"
    (project.root / "src/one.h").unlink()
    assert project.build() == [ARCHIVE, "src/a.c"]
    assert project.build() == []


@pytest.mark.parametrize(
    ("texts", "new"),
    [
        ({"src/a.c": '#include "sub/x.h"\n', "inc/sub/x.h": '#include "one.h"\n'}, "inc/sub/one.h"),
        ({"src/a.c": "#include <sys/param.h>\n"}, "inc/sys/param.h"),
        ({"src/a.c": '#if __has_include("opt.h")\n#include "opt.h"\n#endif\n'}, "inc/opt.h"),
        ({"src/a.c": "#include <q.h>\n", "two/q.h": ""}, "system/q.h"),
        ({"src/a.c": "#include <q.h>\n", "two/q.h": ""}, "apart/q.h"),
        ({"src/a.c": '#include "one.h"\n'}, "quoted/one.h"),
    ],
    ids=["beside a header", "before the system's", "asked for", "-isystem", "-I in two words", "-iquote"],
)
def test_headers_that_would_be_read_instead(project: Project, texts: Mapping[str, str], new: str) -> None:
    flags = ["-iquote", "quoted", "-I", "apart", "-isystem", "system", "-isystem", "two"]
    project.write({"pyproject.toml": table(library=f"flags = {{ c = {json.dumps(flags)} }}"), **texts}).build()
    # What only asks, or is read by nobody, is no reason: src/a.c includes none of these.
    project.write({"inc/sub/two.h": "", "two/one.h": "", "src/q.h": ""})
    assert project.build() == []
    project.write({new: "int made;\n"})
    assert project.build() == [ARCHIVE, "src/a.c"]
    assert project.reason("src/a.c") == f"{new} is new, and comes before what was read"
    (project.root / new).unlink()
    assert project.build() == [ARCHIVE, "src/a.c"]
    assert project.build() == []


def test_a_header_that_is_gone_is_told_by_the_compiler(project: Project) -> None:
    (project.root / "inc/one.h").unlink()
    with pytest.raises(BuildError, match=r"one\.h: No such file"):
        project.build()
    project.write({"inc/one.h": "#define ONE 1\n"})
    assert project.build() == []


@pytest.mark.parametrize("damage", [lambda path: path.unlink(), lambda path: path.write_bytes(b"")])
def test_what_was_made_is_looked_at_too(project: Project, damage: Callable[[Path], None]) -> None:
    for path in [*project.folder.glob("objects/src.b.c*"), *project.folder.rglob(ARCHIVE)]:
        damage(path)
    assert project.build() == [ARCHIVE, "src/b.c"]
    assert project.build() == []


@pytest.mark.parametrize("name", ["digests.json", "history.json", "records/*", "jobs/*", "run.fields", "ledger"])
def test_what_the_build_folder_knows_may_be_damaged(project: Project, name: str) -> None:
    first = project.files()
    for path in project.folder.glob(name):
        path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])
    project.build()
    assert project.files() == first
    project.write({"inc/all.h": "#define ALL 5\n"})
    assert project.build() == [ARCHIVE, "src/a.c", "src/b.c"]


def test_packages_at_another_path_are_the_same(tmp_path: Path, bare_environment: Mapping[str, str]) -> None:
    """As in an isolated build, which has an environment of its own each time."""
    project = c_project(tmp_path / "project", bare_environment)
    project.write({"src/a.c": "#include <pkg/x.h>\nconst char* a(void) { return name; }\n"})
    environments = [tmp_path / name / "lib/python3/site-packages" for name in ("one", "two", "three")]
    for number, site in enumerate(environments):
        (site / "pkg/include/pkg").mkdir(parents=True)
        more = "#define NEW" if number == 2 else ""
        (site / "pkg/include/pkg/x.h").write_text(f"static const char* name = __FILE__;\n{more}")
    made = []
    for site in environments:
        project.write({"pyproject.toml": table(f'defines = ["A"]\nflags = {{ c = ["-I{site}/pkg/include"] }}')})
        project.search_path = [str(site), *sys.path]
        made.append(project.build())
        if site != environments[2]:
            shutil.rmtree(site.parents[2])
        assert b"pkg/include/pkg/x.h" in project.files()["lib/libc.a"]
        assert str(tmp_path).encode() not in project.files()["lib/libc.a"]
    assert made == [ALL, [], ["src/a.c"]]


def test_a_file_changed_while_it_was_read_is_read_again(tmp_path: Path, bare_environment: Mapping[str, str]) -> None:
    compiler = tmp_path / "mycc"
    compiler.write_text(
        '#!/bin/sh\ngcc "$@" || exit 1\n'
        f'case "$*" in *src/b.c*) test -e {tmp_path}/quiet || echo "#define ALL 9" > inc/all.h;; esac\n'
    )
    compiler.chmod(0o755)
    project = c_project(tmp_path / "project", bare_environment, CC=str(compiler))
    assert project.build(jobs=1) == ALL
    (tmp_path / "quiet").touch()
    again = project.build()
    assert {"src/b.c"} <= set(again)
    assert project.build() == []
    fresh = c_project(tmp_path / "fresh", bare_environment, CC=str(compiler))
    fresh.write({"inc/all.h": "#define ALL 9\n"}).build()
    assert fresh.files() == project.files()


def test_builds_at_once_in_one_folder_wait(tmp_path: Path, bare_environment: Mapping[str, str]) -> None:
    projects = [c_project(tmp_path / "project", bare_environment) for _ in range(4)]
    threads = [threading.Thread(target=one.build) for one in projects]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len({json.dumps(sorted(map(str, one.files().values()))) for one in projects}) == 1
    assert projects[0].build() == []


def test_sources_that_read_no_header_of_python_are_the_same_for_each(tmp_path: Path) -> None:
    write_files(tmp_path, "k.cu", "bind.c", "plain.pyx")
    table = {"extension": [{"name": "_native", "sources": ["k.cu", "bind.c"]}]}
    includes = {(3, 11): "/usr/include/python3.11", (3, 13): "/opt/python/include/python3.13"}
    pythons = [replace(PYTHON, version=version, include_dirs=(folder,)) for version, folder in includes.items()]
    plans = [plan_table(tmp_path, table, toolchain=make_toolchain(), python=python) for python in pythons]
    first, second = ([(job.kind, job.key, job.argv) for job in plan.jobs if job.kind != "link"] for plan in plans)
    assert first == second
    assert [plan.places["python"] for plan in plans] == list(includes.values())


def test_a_hard_link_made_while_a_file_was_read_is_no_change(
    tmp_path: Path, bare_environment: Mapping[str, str]
) -> None:
    """As an installer makes it, that has one cache for many environments."""
    compiler = tmp_path / "mycc"
    compiler.write_text('#!/bin/sh\nln inc/all.h inc/$$.link 2>/dev/null\nexec gcc "$@"\n')
    compiler.chmod(0o755)
    project = c_project(tmp_path / "project", bare_environment, CC=str(compiler))
    assert project.build() == ALL
    project.build()
    project.write({"src/b.c": '#include "all.h"\nint b(void) { return 2 * ALL; }\n'})
    assert project.build() == [ARCHIVE, "src/b.c"]
    assert project.build() == []
