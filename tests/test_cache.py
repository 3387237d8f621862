"""The artifact cache: across folders and environments, within its size, and whatever is wrong with it."""

from __future__ import annotations

import json
import os
import shutil
import time
from collections.abc import Callable, Mapping
from pathlib import Path

import pytest
from engine_support import SOURCES, Project, c_project, table

from setuptools_cuda.execute import eviction
from setuptools_cuda.execute.artifacts import Artifacts

OBJECTS = ["src/a.c", "src/b.c", "src/c.c"]
ALL = ["libc.a", *OBJECTS]


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    return tmp_path / "the cache"


@pytest.fixture
def start(tmp_path: Path, bare_environment: Mapping[str, str], cache: Path) -> Callable[..., Project]:
    """Return a function that makes one more project that uses the cache."""
    made = 0

    def make(**variables: str) -> Project:
        nonlocal made
        made += 1
        return c_project(
            tmp_path / f"project {made}", {**bare_environment, **variables}, SETUPTOOLS_CUDA_CACHE=str(cache)
        )

    return make


def entries(cache: Path) -> list[Path]:
    return sorted(path for path in (cache / "v1/entries").rglob("*") if path.is_file())


def test_another_folder_compiles_nothing_and_comes_to_the_same(start: Callable[..., Project]) -> None:
    first, second = start(), start()
    assert first.build() == ALL
    assert second.build() == ["libc.a"]
    assert second.titles("fetched") == OBJECTS
    assert second.lines[-1] == "4 steps: 1 made, 3 from the cache"
    assert second.files() == first.files()
    assert second.build() == []


def test_a_project_whose_build_folder_was_removed(start: Callable[..., Project]) -> None:
    project = start()
    project.build()
    before = project.files()
    shutil.rmtree(project.root / "build")
    assert project.build() == ["libc.a"]
    assert project.files() == before


def test_content_decides_in_another_folder_too(start: Callable[..., Project]) -> None:
    start().build()
    other = start().write({"inc/one.h": "#define ONE 2\n"})
    assert other.build() == ["libc.a", "src/a.c"]
    third = start().write({"inc/one.h": "#define ONE 2\n", "inc/all.h": "#define ALL 2\n"})
    assert third.build() == ["libc.a", "src/a.c", "src/b.c"]
    fourth = start().write({"inc/one.h": "#define ONE 2\n"})
    assert fourth.build() == ["libc.a"]


def test_another_list_of_headers_is_another_entry(start: Callable[..., Project]) -> None:
    start().build()
    deeper = {"inc/one.h": '#include "two.h"\n#define ONE TWO\n', "inc/two.h": "#define TWO 1\n"}
    assert start().write(deeper).build() == ["libc.a", "src/a.c"]
    assert start().write(deeper).build() == ["libc.a"]
    assert start().build() == ["libc.a"]
    assert start().write({**deeper, "inc/two.h": "#define TWO 3\n"}).build() == ["libc.a", "src/a.c"]


def test_a_header_that_would_have_been_read_instead(start: Callable[..., Project]) -> None:
    start().build()
    assert start().write({"src/one.h": "#define ONE 5\n"}).build() == ["libc.a", "src/a.c"]
    assert start().write({"src/one.h": "#define ONE 5\n"}).build() == ["libc.a"]


@pytest.mark.parametrize(
    "change",
    [
        {"pyproject.toml": table('defines = ["X"]')},
        {"pyproject.toml": table('flags = { c = ["-O1"] }')},
        {"src/a.c": SOURCES["src/a.c"] + "\n", "src/b.c": SOURCES["src/b.c"] + "\n", "src/c.c": "int c;\n"},
    ],
    ids=["defines", "flags", "sources"],
)
def test_what_is_not_the_same_is_not_taken(start: Callable[..., Project], change: Mapping[str, str]) -> None:
    start().build()
    assert start().write(change).build() == ALL


def test_variables_are_part_of_it(start: Callable[..., Project]) -> None:
    start().build()
    assert start(CPATH="/nowhere").build() == ALL


def test_warnings_are_said_again(start: Callable[..., Project]) -> None:
    first, second = (start().write({"src/c.c": "#warning mind the gap\nint c;\n"}) for _ in range(2))
    first.build()
    assert second.build() == ["libc.a"]
    assert any("mind the gap" in line for line in second.lines)


def test_what_tells_the_time_is_not_kept(start: Callable[..., Project]) -> None:
    timed = {"src/c.c": "const char* c(void) { return __DATE__; }\n"}
    start().write(timed).build()
    assert start().write(timed).build() == ["libc.a", "src/c.c"]
    start(SOURCE_DATE_EPOCH="0").write(timed).build()
    assert start(SOURCE_DATE_EPOCH="0").write(timed).build() == ["libc.a"]


def test_options_that_read_or_make_what_nobody_lists(start: Callable[..., Project], cache: Path) -> None:
    for flag in ("-save-temps=obj", "-fprofile-use", "-B/usr/bin", "-march=native"):
        project = start().write({"pyproject.toml": table(f'flags = {{ c = ["{flag}"] }}')})
        assert project.build() == ALL, flag
    assert entries(cache) == []


def test_a_file_that_an_option_names_is_read(start: Callable[..., Project]) -> None:
    def project(text: str) -> Project:
        files = {"pyproject.toml": table('flags = { c = ["-specs=my.specs"] }'), "my.specs": text}
        return start().write(files)

    assert project("").build() == ALL
    assert project("").build() == ["libc.a"]
    assert project("\n").build() == ALL


def test_off(start: Callable[..., Project], cache: Path) -> None:
    project = start(SETUPTOOLS_CUDA_CACHE="off")
    project.variables["SETUPTOOLS_CUDA_CACHE"] = "off"
    assert project.build() == ALL
    assert not cache.exists()


def test_the_key_names_a_folder(start: Callable[..., Project]) -> None:
    project = start().write({"pyproject.toml": table('cache = "kept"')})
    del project.variables["SETUPTOOLS_CUDA_CACHE"]
    project.build()
    assert len(entries(project.root / "kept")) == 3


def test_the_default_is_the_users_place_for_caches(start: Callable[..., Project], tmp_path: Path) -> None:
    project = start(HOME=str(tmp_path / "home"))
    del project.variables["SETUPTOOLS_CUDA_CACHE"]
    project.build()
    assert len(entries(tmp_path / "home/.cache/setuptools-cuda")) == 3
    assert (
        (tmp_path / "home/.cache/setuptools-cuda/v1/CACHEDIR.TAG").read_text().startswith("Signature: 8a477f597d28d172")
    )
    other = start(HOME=str(tmp_path / "home"), XDG_CACHE_HOME=str(tmp_path / "xdg"))
    del other.variables["SETUPTOOLS_CUDA_CACHE"]
    other.build()
    assert len(entries(tmp_path / "xdg/setuptools-cuda")) == 3
    homeless = start()
    for name in ("HOME", "SETUPTOOLS_CUDA_CACHE"):
        del homeless.variables[name]
    assert homeless.build() == ALL


DAMAGES: dict[str, Callable[[bytes], bytes]] = {
    "empty": lambda data: b"",
    "cut in the header": lambda data: data[:100],
    "cut at the end": lambda data: data[:-1],
    "one bit of the outputs": lambda data: data[:-40] + bytes([data[-40] ^ 1]) + data[-39:],
    "one bit of the header": lambda data: data[:90] + bytes([data[90] ^ 1]) + data[91:],
    "zeros": lambda data: bytes(len(data)),
    "something else": lambda data: os.urandom(len(data)),
}


@pytest.mark.parametrize("kind", ["entries", "lists"])
@pytest.mark.parametrize("damage", DAMAGES.values(), ids=DAMAGES)
def test_damaged_files_are_thrown_away(
    start: Callable[..., Project], cache: Path, damage: Callable[[bytes], bytes], kind: str
) -> None:
    first = start()
    first.build()
    damaged = [path for path in (cache / "v1" / kind).rglob("*") if path.is_file()]
    for path in damaged:
        path.write_bytes(damage(path.read_bytes()))
    second = start()
    assert second.build() == ALL
    assert second.files() == first.files()
    assert len(entries(cache)) == 3


def test_a_cache_that_cannot_be_written_to_is_read(start: Callable[..., Project], cache: Path) -> None:
    start().build()
    before = {path: path.read_bytes() for path in cache.rglob("*") if path.is_file()}
    _make_read_only(cache)
    try:
        assert start().build() == ["libc.a"]
        other = start().write({"src/c.c": "int c;\n"})
        assert other.build() == ["libc.a", "src/c.c"]
    finally:
        _make_writable(cache)
    if os.geteuid() != 0:
        assert any("nothing more is stored" in line for line in other.lines)
        assert {path: path.read_bytes() for path in cache.rglob("*") if path.is_file()} == before


def _make_read_only(folder: Path) -> None:
    for path in [*folder.rglob("*"), folder]:
        path.chmod(0o555 if path.is_dir() else 0o444)


def _make_writable(folder: Path) -> None:
    for path in [folder, *folder.rglob("*")]:
        path.chmod(0o755 if path.is_dir() else 0o644)


@pytest.mark.parametrize("what", ["file", "link to nowhere", "device"])
def test_a_cache_that_is_no_folder_is_told_once(start: Callable[..., Project], cache: Path, what: str) -> None:
    if what == "file":
        cache.write_text("")
    else:
        cache.symlink_to("/nowhere/at/all" if what != "device" else "/dev/full")
    project = start()
    assert project.build() == ALL
    assert sum("nothing more is stored in the cache" in line for line in project.lines) == 1
    assert project.build() == []


def test_what_was_used_least_recently_goes_first(start: Callable[..., Project], cache: Path) -> None:
    project = start()
    project.build()
    old = set(entries(cache))
    a_year_ago = time.time() - 365 * 86_400
    for path in old:
        os.utime(path, (a_year_ago, a_year_ago))
    used = start().write({"src/c.c": "int other;\n", "src/b.c": "int one_more;\n"})
    used.build()
    kept = {path for path in old if path.stat().st_mtime > a_year_ago + 1}
    assert len(kept) == 1
    size = eviction.measure(cache).size
    eviction.write_limit(cache, size - 1)
    assert old & set(entries(cache)) != old
    assert kept <= set(entries(cache))
    assert eviction.measure(cache).size <= 0.9 * (size - 1)


def test_the_size_is_kept_while_builds_store(start: Callable[..., Project], cache: Path) -> None:
    start().build()
    one = eviction.measure(cache)
    eviction.write_limit(cache, int(one.size * 1.5))
    project = start()
    for number in range(4):
        project.write({f"src/{name}.c": f"int {name}{number};\n" for name in "abc"}).build()
        assert eviction.measure(cache).size <= one.size * 1.5
    assert eviction.measure(cache).entries >= 1


def test_a_clock_that_was_put_back(start: Callable[..., Project], cache: Path) -> None:
    start().build()
    for path in cache.rglob("*"):
        os.utime(path, (time.time() + 10**8, time.time() + 10**8))
    project = start()
    assert project.build() == ["libc.a"]
    for path in project.root.rglob("*"):
        os.utime(path, (time.time() + 10**8, time.time() + 10**8))
    assert project.build() == []
    start().write({"src/a.c": "int a;\n"}).build()
    eviction.write_limit(cache, eviction.measure(cache).size // 2)
    assert eviction.measure(cache).size <= eviction.read_limit(cache)


def test_what_killed_builds_left_is_removed(start: Callable[..., Project], cache: Path) -> None:
    start().build()
    left = [cache / "v1/tmp/1-old", cache / "v1/tmp/2-new"]
    for path in left:
        path.write_bytes(b"half an entry")
    os.utime(left[0], (1, 1))
    eviction.write_limit(cache, 5 << 30)
    assert [path.exists() for path in left] == [False, True]


def test_clear(start: Callable[..., Project], cache: Path) -> None:
    start().build()
    assert eviction.clear(cache).entries == 3
    assert eviction.measure(cache) == eviction.Usage(0, 0, eviction.DEFAULT_LIMIT)
    assert start().build() == ALL
    assert eviction.clear(cache / "missing").entries == 0


def test_a_key_can_be_read_and_names_every_part(start: Callable[..., Project]) -> None:
    project = start()
    project.build()
    (text,) = (path.read_text() for path in project.folder.glob("records/host-*.key") if "src/b.c" in path.read_text())
    labels = [line.partition(":")[0] for line in text.splitlines()]
    assert labels[:3] == ["version", "kind", "plan key"]
    assert {"argument", "output", "toolchain", "program", "says"} <= set(labels)
    assert str(project.root) not in text


def test_entries_with_other_outputs_are_not_taken(tmp_path: Path) -> None:
    cache = Artifacts(tmp_path / "cache")
    made = tmp_path / "made"
    made.write_bytes(b"data")
    digest = "3a6eb0790f39ac87c94f3856b2dd2c5d110e6811602261a9a923d3bb23adc8b7"
    cache.store("ab" * 32, inputs=(("x", "1"),), absent=(), outputs={"object": (made, digest)}, about={}, said="")
    hit = cache.find("ab" * 32, digest_of=lambda _: "1", exists=lambda _: False)
    assert hit is not None
    assert cache.fetch(hit, into={"other": tmp_path / "out"}) is None
    assert cache.find("ab" * 32, digest_of=lambda _: "1", exists=lambda _: False) is None
    assert cache.find("ab" * 32, digest_of=lambda _: "2", exists=lambda _: False) is None


def test_what_is_stored_is_what_was_made(tmp_path: Path) -> None:
    cache = Artifacts(tmp_path / "cache")
    made = tmp_path / "made"
    made.write_bytes(b"data")
    with pytest.raises(OSError, match="was changed while it was stored"):
        cache.store("ab" * 32, inputs=(), absent=(), outputs={"object": (made, "0" * 64)}, about={}, said="")
    assert entries(tmp_path / "cache") == []
    assert json.dumps([*map(str, (tmp_path / "cache/v1/tmp").iterdir())]) == "[]"
