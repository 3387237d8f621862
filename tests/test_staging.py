from __future__ import annotations

import errno
import hashlib
import os
import shutil
import stat
import subprocess
import sys
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from setuptools_cuda.errors import BuildError, Code
from setuptools_cuda.stage.copy import is_below, stage_files
from setuptools_cuda.stage.record import digest_file, read_record, remove_stale, write_record

OLD = 1_000_000_000 * 10**9


def tree(folder: Path) -> list[str]:
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*") if path.is_file())


def mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


def test_files_and_contents_are_put_in_their_places(tmp_path: Path) -> None:
    built = tmp_path / "built.so"
    built.write_bytes(b"\x7fELF")
    files: dict[str, Path | bytes] = {"demo/_native.abi3.so": built, "demo/k_images/a b/\u00e9.ptx": b".version 9.0"}
    staged = stage_files(files, into=tmp_path / "tree")
    assert staged == (tmp_path / "tree/demo/_native.abi3.so", tmp_path / "tree/demo/k_images/a b/\u00e9.ptx")
    assert [path.read_bytes() for path in staged] == [b"\x7fELF", b".version 9.0"]
    assert built.exists()
    assert stage_files({}, into=tmp_path / "never") == ()
    assert not (tmp_path / "never").exists()


@pytest.mark.parametrize("umask", [0o000, 0o022, 0o077])
def test_modes_do_not_hang_on_the_umask_or_the_source(umask: int, tmp_path: Path) -> None:
    private = tmp_path / "private"
    private.write_bytes(b"x")
    private.chmod(0o600)
    names = ["a.so", "liba.so.1", "m.cpython-313-x86_64-linux-gnu.so", "a.ptx", "a.py", "soft.so_not", "tool"]
    before = os.umask(umask)
    try:
        staged = stage_files(dict.fromkeys(names, private), into=tmp_path / "tree", executables={"tool"})
    finally:
        os.umask(before)
    assert [mode(path) for path in staged] == [0o755, 0o755, 0o755, 0o644, 0o644, 0o644, 0o755]


def test_what_is_the_same_is_not_touched(tmp_path: Path) -> None:
    (tmp_path / "new").write_bytes(b"2" * (1 << 21))
    files: dict[str, Path | bytes] = {"same": b"1", "other": b"1", "big": tmp_path / "new"}
    stage_files(files, into=tmp_path / "tree")
    for name in files:
        os.utime(tmp_path / "tree" / name, ns=(OLD, OLD))
    (tmp_path / "tree/same").chmod(0o600)
    files["other"] = b"2"
    staged = stage_files(files, into=tmp_path / "tree")
    assert [path.stat().st_mtime_ns == OLD for path in staged] == [True, False, True]
    assert [mode(path) for path in staged] == [0o644] * 3
    # of the same size and time, but not the same
    (tmp_path / "new").write_bytes(b"2" * (1 << 20) + b"3" * (1 << 20))
    os.utime(tmp_path / "new", ns=(OLD, OLD))
    assert stage_files({"big": tmp_path / "new"}, into=tmp_path / "tree")[0].read_bytes()[-1:] == b"3"


def test_a_link_is_replaced_and_what_it_led_to_stays(tmp_path: Path) -> None:
    (tmp_path / "theirs").write_bytes(b"same")
    (tmp_path / "tree").mkdir()
    (tmp_path / "tree/a").symlink_to(tmp_path / "theirs")
    stage_files({"a": b"same"}, into=tmp_path / "tree")
    assert not (tmp_path / "tree/a").is_symlink()
    stage_files({"a": b"changed"}, into=tmp_path / "tree")
    assert (tmp_path / "theirs").read_bytes() == b"same"


def test_a_file_onto_itself(tmp_path: Path) -> None:
    (tmp_path / "a").write_bytes(b"a")
    stage_files({"a": tmp_path / "a"}, into=tmp_path)
    assert (tmp_path / "a").read_bytes() == b"a"


def fails(files: dict[str, Path | bytes], *, into: Path) -> tuple[Code, str]:
    with pytest.raises(BuildError) as caught:
        stage_files(files, into=into)
    problem = caught.value.problems[0]
    return problem.code, problem.where


def test_nothing_changes_where_one_file_cannot_be_written(tmp_path: Path) -> None:
    stage_files({"a": b"old", "in the way": b""}, into=tmp_path)
    files: dict[str, Path | bytes] = {"a": b"new", "b": b"new", "in the way/c": b"new"}
    assert fails(files, into=tmp_path) == (Code.NOT_WRITABLE, str(tmp_path / "in the way/c"))
    assert tree(tmp_path) == ["a", "in the way"]
    assert (tmp_path / "a").read_bytes() == b"old"


def test_a_folder_in_the_way(tmp_path: Path) -> None:
    (tmp_path / "tree/a").mkdir(parents=True)
    assert fails({"b": b"", "a": b""}, into=tmp_path / "tree") == (Code.NOT_WRITABLE, str(tmp_path / "tree/a"))
    assert tree(tmp_path) == []


def test_a_source_that_is_not_there(tmp_path: Path) -> None:
    files: dict[str, Path | bytes] = {"a": b"new", "b": tmp_path / "none"}
    assert fails(files, into=tmp_path / "tree") == (Code.BAD_INPUT_FILE, str(tmp_path / "none"))
    assert tree(tmp_path) == []


def test_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    copied: list[object] = []

    def copy(source: object, target: object, length: int = 0) -> None:
        copied.append(source)
        if len(copied) == 2:
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(shutil, "copyfileobj", copy)
    assert fails({"a": b"1", "b": b"2", "c": b"3"}, into=tmp_path) == (Code.DISK_FULL, str(tmp_path / "b"))
    assert tree(tmp_path) == []


def test_a_file_larger_than_is_allowed(tmp_path: Path) -> None:
    """A real failure in the middle of a write: the process may not write more than 64 KiB into a file."""
    code = (
        "import resource, sys; from pathlib import Path\n"
        "from setuptools_cuda.errors import BuildError; from setuptools_cuda.stage.copy import stage_files\n"
        "resource.setrlimit(resource.RLIMIT_FSIZE, (1 << 16, 1 << 16))\n"
        "try: stage_files({'a': b'1', 'b': b'2' * (1 << 20)}, into=Path(sys.argv[1]))\n"
        "except BuildError as error: print(error.problems[0].code.slug, error.problems[0].where)\n"
    )
    done = subprocess.run([sys.executable, "-c", code, str(tmp_path)], capture_output=True, text=True, check=True)
    assert done.stdout == f"not-writable {tmp_path}/b\n"
    assert tree(tmp_path) == []


@pytest.mark.parametrize(
    "name", ["", ".", "..", "/etc/x", "../x", "a/../x", "a//b", "./a", "a/", "a/./b", "C:/x", "c:x", "a\\b", "a\0b"]
)
def test_destinations_that_lead_elsewhere(name: str, tmp_path: Path) -> None:
    assert not is_below(name)
    with pytest.raises(BuildError) as caught:
        stage_files({"good": b"", name: b""}, into=tmp_path / "tree")
    assert [problem.code for problem in caught.value.problems] == [Code.UNSAFE_PATH]
    assert not (tmp_path / "tree").exists()


@given(st.text(max_size=20))
def test_what_is_below_stays_below(name: str) -> None:
    if is_below(name):
        joined = os.path.normpath(f"/root/{name}")
        assert joined == f"/root/{name}"


def test_a_record_is_what_was_written(tmp_path: Path) -> None:
    stage_files({"demo/a.ptx": b"1", "demo/\u00e9.py": b"2"}, into=tmp_path)
    record = tmp_path / "build/record.json"
    assert read_record(record) == {}
    write_record(record, files=["demo/\u00e9.py", "demo/a.ptx"], root=tmp_path)
    assert read_record(record) == {name: digest_file(tmp_path / name) for name in ["demo/a.ptx", "demo/\u00e9.py"]}
    text = record.read_bytes()
    write_record(record, files=["demo/a.ptx", "demo/\u00e9.py"], root=tmp_path)
    assert record.read_bytes() == text


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"\xff",
        b"[]",
        b'{"version": 2, "files": {}}',
        b'{"version": 1}',
        b'{"version": 1, "files": {"../x": "0"}}',
        b'{"version": 1, "files": {"/x": "0"}}',
        b'{"version": 1, "files": {"x": 0}}',
    ],
)
def test_a_record_that_is_none_of_ours(content: bytes, tmp_path: Path) -> None:
    (tmp_path / "record.json").write_bytes(content)
    with pytest.raises(BuildError) as caught:
        read_record(tmp_path / "record.json")
    assert caught.value.problems[0].code is Code.BAD_INPUT_FILE
    assert "delete it" in caught.value.problems[0].fix[0]


def test_stale_files_go_and_nothing_else(tmp_path: Path) -> None:
    ours = [
        "demo/k.py",
        "demo/k_images/a/a.ptx",
        "demo/k_images/b.ptx",
        "demo/edited.py",
        "demo/linked.py",
        "demo/gone.py",
    ]
    stage_files({**dict.fromkeys(ours, b"ours"), "demo/theirs.py": b"theirs"}, into=tmp_path)
    write_record(tmp_path / "record.json", files=ours, root=tmp_path)
    (tmp_path / "demo/edited.py").write_bytes(b"edited")
    (tmp_path / "demo/linked.py").rename(tmp_path / "elsewhere.py")
    (tmp_path / "demo/linked.py").symlink_to(tmp_path / "elsewhere.py")
    (tmp_path / "demo/gone.py").unlink()
    removed = remove_stale(read_record(tmp_path / "record.json"), keep={"demo/k.py"}, root=tmp_path)
    assert removed == (tmp_path / "demo/k_images/a/a.ptx", tmp_path / "demo/k_images/b.ptx")
    assert tree(tmp_path) == [
        "demo/edited.py",
        "demo/k.py",
        "demo/linked.py",
        "demo/theirs.py",
        "elsewhere.py",
        "record.json",
    ]
    assert not (tmp_path / "demo/k_images").exists()


def test_the_last_file_takes_its_folders_along_but_not_the_project(tmp_path: Path) -> None:
    root = tmp_path / "project"
    stage_files({"a/b/c.ptx": b""}, into=root)
    assert remove_stale({"a/b/c.ptx": digest_file(root / "a/b/c.ptx")}, keep=(), root=root) == (root / "a/b/c.ptx",)
    assert list(root.iterdir()) == []


def test_the_digest_is_that_of_the_whole_file(tmp_path: Path) -> None:
    content = b"x" * (3 << 20)
    (tmp_path / "big").write_bytes(content)
    assert digest_file(tmp_path / "big") == hashlib.sha256(content).hexdigest()
