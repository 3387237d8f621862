"""inspect says what is in built files of every kind, and agrees with cuobjdump."""

from __future__ import annotations

import json
import subprocess
import sys
import xml.etree.ElementTree as ET
import zipfile
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from inspect_support import (
    build_samples,
    check_schema,
    make_tools_environment,
    make_wheel,
    site,
    tools_installation,
)
from setuptools_support import Installation
from toolchain_support import make_environment

from setuptools_cuda.cli.inspect import make_finder
from setuptools_cuda.cli.inspect_json import describe
from setuptools_cuda.cli.inspect_picture import render_picture
from setuptools_cuda.cli.inspect_screen import lay_out
from setuptools_cuda.cli.screen import render_plain
from setuptools_cuda.errors import BuildError, Code
from setuptools_cuda.inspection.listing import parse_entries, parse_toolkit
from setuptools_cuda.inspection.values import Inspection
from setuptools_cuda.inspection.wheel import inspect_path
from setuptools_cuda.resolution.values import Release

ROOT = Path(__file__).resolve().parent.parent
DATA = ROOT / "tests/data/manifests"
PTX = b".version 9.0\n.target sm_80\n"
BOTH = ["sm_80", "sm_90a", "compute_90a"]


@pytest.fixture(scope="session")
def tools(shared_folder: Path, our_wheel: Path) -> Installation:
    return tools_installation(shared_folder, our_wheel)


@pytest.fixture(scope="session")
def samples(shared_folder: Path, toolkit_nvcc: Path) -> Path:
    return build_samples(shared_folder / "inspected", toolkit_nvcc)


def find(path: Path, tools: Installation, *cuobjdumps: Path) -> Inspection:
    """Return what is found, by the cuobjdump of the wheel where none is named."""
    environment = make_tools_environment(tools, path.parent)
    finder = make_finder(cuobjdumps, environment=environment)
    return inspect_path(path, find_tools=finder, environment=environment)


def tell(found: Inspection) -> dict[str, Any]:
    """Return it as JSON, held against the schema."""
    told: dict[str, Any] = json.loads(json.dumps(describe(found)))
    check_schema(told)
    return told


def names(told: dict[str, Any]) -> list[str]:
    return [name for names in told["architectures"].values() for name in names]


@pytest.mark.parametrize(
    ("name", "kind", "codes", "driver", "rdc", "cudart"),
    [
        ("whole.o", "object", BOTH, "13.0", False, None),
        ("rdc.o", "object", BOTH, None, True, None),
        ("all.a", "archive", BOTH, "13.0", True, None),
        ("whole.cubin", "cubin", ["sm_90a"], "13.0", False, None),
        ("family.cubin", "cubin", ["sm_100f"], "13.0", False, None),
        ("whole.ptx", "ptx", ["compute_80"], "13.0", False, None),
        ("whole.fatbin", "fatbin", BOTH, "13.0", False, None),
        ("lto.fatbin", "fatbin", ["lto_80"], None, True, None),
        ("static.so", "shared", BOTH, "13.0", False, "static"),
        ("stripped.so", "shared", BOTH, "13.0", False, "static"),
        ("shared.so", "shared", BOTH, "13.0", False, "shared"),
        ("plain.so", "shared", [], None, False, "none"),
    ],
)
def test_files_of_each_kind(
    name: str,
    kind: str,
    codes: list[str],
    driver: str | None,
    rdc: bool,
    cudart: str | None,
    samples: Path,
    tools: Installation,
) -> None:
    told = tell(find(samples / name, tools))
    (file,) = told["files"]
    assert (file["kind"], names(told), told["least_driver"]) == (kind, codes, driver)
    assert (file["rdc"], file["cudart"], file["size"]) == (rdc, cudart, (samples / name).stat().st_size)
    assert told["file"] == {"path": str(samples / name), "size": file["size"], "wheel": False}


def test_what_code_says_of_itself(samples: Path, tools: Installation) -> None:
    code = {line["name"]: line for line in tell(find(samples / "packed.o", tools))["code"]}
    assert {name: line["compressed"] for name, line in code.items()} == {"sm_80": 1, "sm_90a": 1, "compute_90a": 1}
    assert (code["sm_80"]["toolkits"], code["compute_90a"]["ptx_isa"]) == (["13.0"], ["9.0"])
    whole = {line["name"]: line for line in tell(find(samples / "whole.cubin", tools))["code"]}
    assert whole["sm_90a"]["size"] == (samples / "whole.cubin").stat().st_size == code["sm_90a"]["size"]


def test_symbols_that_a_device_link_has_to_find(samples: Path, tools: Installation) -> None:
    (file,) = tell(find(samples / "rdc.o", tools))["files"]
    assert file["undefined"] == {"sm_80": ["_Z5otherf"], "sm_90a": ["_Z5otherf"]}
    assert "_Z5otherf" in render_plain(lay_out(find(samples / "rdc.o", tools)))


def test_libraries_that_it_loads(samples: Path, tools: Installation) -> None:
    (file,) = tell(find(samples / "shared.so", tools))["files"]
    assert file["needed"] == ["libcudart.so.13"]


@pytest.fixture
def wheel(samples: Path, tmp_path: Path) -> Path:
    folder = "demo/k_images"
    files = {
        "demo/_native.so": "static.so",
        "demo/lib.a": "all.a",
        "demo/plain.so": "plain.so",
        f"{folder}/k.sm_90a.cubin": "whole.cubin",
        f"{folder}/k.compute_80.ptx": "whole.ptx",
    }
    contents = {name: (samples / source).read_bytes() for name, source in files.items()}
    return make_wheel(tmp_path / "a folder/demo-1.0-py3-none-any.whl", {"demo/__init__.py": b"", **contents})


def test_a_wheel(wheel: Path, tools: Installation) -> None:
    found = find(wheel, tools)
    told = tell(found)
    paths = [file["path"].removeprefix("demo/") for file in told["files"]]
    assert paths == ["_native.so", "k_images/k.compute_80.ptx", "k_images/k.sm_90a.cubin", "lib.a"]
    assert names(told) == ["sm_80", "sm_90a", "compute_80", "compute_90a"]
    assert [path.name for path in wheel.parent.iterdir()] == [wheel.name]
    text = render_plain(lay_out(found))
    assert "cuobjdump 13." in text
    assert "########" in text
    assert text.isascii()


def test_it_agrees_with_cuobjdump(wheel: Path, tools: Installation) -> None:
    script = ROOT / "benchmarks/inspect_wheels.py"
    said = tools.succeed(script, wheel, cwd=wheel.parent)
    assert said.splitlines()[-1].endswith("| none |")


@pytest.mark.parametrize(
    ("require", "missing"),
    [
        (["80"], []),
        (["89,90a"], []),
        (["sm_80"], ["demo/k_images/k"]),
        (["compute_80"], ["demo/_native.so", "demo/lib.a"]),
        (["75"], ["demo/_native.so", "demo/lib.a", "demo/k_images/k"]),
        (["100"], ["demo/_native.so", "demo/lib.a"]),
    ],
)
def test_require(require: list[str], missing: list[str], wheel: Path, tools: Installation) -> None:
    options = [word for each in require for word in ("--require", each)]
    done = tools.run("-m", "setuptools_cuda", "inspect", wheel, "--json", *options, cwd=wheel.parent)
    told = json.loads(done.output)
    check_schema(told)
    assert [problem["where"] for problem in told["problems"]] == missing
    assert {problem["code"] for problem in told["problems"]} <= {"missing-architecture"}
    assert (done.status, told["good"]) == (int(bool(missing)), not missing)


def test_max_size_and_picture(wheel: Path, tools: Installation) -> None:
    command = ("-m", "setuptools_cuda", "inspect", wheel, "--picture", "sizes.svg", "--max-size")
    good = tools.run(*command, "1 GiB", cwd=wheel.parent)
    bad = tools.run(*command, "1 KiB", cwd=wheel.parent)
    assert (good.status, bad.status) == (0, 1)
    assert "and may have 1024" in bad.output
    root = ET.fromstring((wheel.parent / "sizes.svg").read_text("utf-8"))
    assert {"sm_80", "compute_90a"} <= {element.text for element in root.iter()}


def test_a_page(wheel: Path, tools: Installation) -> None:
    page = render_picture(find(wheel, tools), suffix=".html").decode()
    assert page.startswith("<!DOCTYPE html>")
    assert page.count("<svg") == 1


@pytest.mark.parametrize(
    ("arguments", "status", "said"),
    [
        (["nothing.so"], 2, "there is no such file"),
        (["."], 2, "it is a folder"),
        (["text.txt"], 2, "no file that holds device code"),
        (["zip.zip"], 2, "no wheel"),
        (["text.txt", "--require", "all"], 2, "'all' names no architecture"),
        (["text.txt", "--require", "sm_8"], 2, "to fix  name GPUs as 90, or code as sm_90 and compute_90"),
        (["text.txt", "--require", ","], 2, "to fix  name GPUs as 90, or code as sm_90 and compute_90"),
        (["text.txt", "--max-size", "big"], 2, "no size"),
        (["text.txt", "--picture", "a.png"], 2, "neither .svg nor .html"),
        (["broken.so"], 3, "no whole ELF file"),
        (["broken.a"], 3, "it is no whole archive"),
        (["broken.ptx"], 3, "not a PTX file that can be read"),
        (["thin.a"], 3, "it is a thin archive: its objects lie in other files"),
        (["broken.whl"], 2, "the wheel cannot be unpacked"),
        (["demo.pyd"], 2, "it is of Windows or macOS, which is not read"),
        (["/dev/null"], 2, "it is no plain file"),
        (["whole.o", "--cuobjdump", "nothing"], 3, "there is no such file"),
        (["whole.o", "--cuobjdump", "text.txt"], 3, "does not say its version"),
    ],
)
def test_errors(
    arguments: list[str], status: int, said: str, samples: Path, tools: Installation, tmp_path: Path
) -> None:
    (tmp_path / "text.txt").write_text("no code\n", "utf-8")
    (tmp_path / "broken.so").write_bytes((samples / "static.so").read_bytes()[:40])
    (tmp_path / "broken.a").write_bytes((samples / "all.a").read_bytes()[:-1000])
    (tmp_path / "broken.ptx").write_text("// nothing\n", "utf-8")
    (tmp_path / "broken.whl").write_bytes(b"PK\x03\x04")
    (tmp_path / "demo.pyd").write_bytes(b"MZ\x90\x00" + bytes(60))
    (tmp_path / "whole.o").symlink_to(samples / "whole.o")
    subprocess.run(["ar", "rcT", "thin.a", "whole.o"], cwd=tmp_path, check=True)
    subprocess.run([sys.executable, "-m", "zipfile", "-c", "zip.zip", "text.txt"], cwd=tmp_path, check=True)
    done = tools.run("-m", "setuptools_cuda", "inspect", *arguments, cwd=tmp_path)
    assert (done.status, said in done.output) == (status, True), done.output
    assert "Traceback" not in done.output


def test_without_cuobjdump(samples: Path) -> None:
    environment = make_environment(samples, SETUPTOOLS_CUDA_TOOLCHAIN_STEPS="setting")
    finder = make_finder((), environment=environment)
    assert inspect_path(samples / "whole.ptx", find_tools=finder, environment=environment).images
    with pytest.raises(BuildError) as caught:
        inspect_path(samples / "whole.o", find_tools=finder, environment=environment)
    (problem,) = caught.value.problems
    assert (problem.code, problem.code.status) == (Code.MISSING_TOOL, 3)
    assert "pip install 'setuptools-cuda-build[inspect]'" in problem.fix


def old_tool(folder: Path, tools: Installation) -> Path:
    """Make a cuobjdump that says that it is of CUDA 12.4, and works as the real one."""
    (real,) = site(tools).glob("nvidia/cu*/bin/cuobjdump")
    path = folder / "cuobjdump"
    said = "Cuda compilation tools, release 12.4, V12.4.127"
    path.write_text(f'#!/bin/sh\n[ "$1" = --version ] && echo "{said}" && exit\nexec {real} "$@"\n', "utf-8")
    path.chmod(0o755)
    return path


@pytest.mark.parametrize("name", ["whole.o", "whole.cubin"])
def test_code_newer_than_the_tool_is_not_read(name: str, samples: Path, tools: Installation, tmp_path: Path) -> None:
    found = find(samples / name, tools, old_tool(tmp_path, tools))
    (file,) = found.files
    assert file.problem is not None
    assert file.images == ()
    assert "too old for" in file.problem.render()
    assert tell(found)["files"][0]["readable"] is False


def test_the_next_tool_is_tried(samples: Path, tools: Installation, tmp_path: Path) -> None:
    (real,) = site(tools).glob("nvidia/cu*/bin/cuobjdump")
    found = find(samples / "whole.o", tools, old_tool(tmp_path, tools), real)
    assert [tool.path for tool in found.tools] == [real]
    assert len(found.images) == 3


@pytest.mark.parametrize("cut", [5, 60, 5000, 400_000])
def test_damaged_code_in_a_wheel_is_told_of_and_the_rest_read(
    cut: int, samples: Path, tools: Installation, tmp_path: Path
) -> None:
    content = (samples / "static.so").read_bytes()
    files = {"a.so": content[:cut], "b.so": content}
    found = find(make_wheel(tmp_path / "demo-1.0-py3-none-any.whl", files), tools)
    assert [(file.path, bool(file.images), file.problem is None) for file in found.files] == [
        ("a.so", False, False),
        ("b.so", True, True),
    ]
    assert "some device code could not be read" in render_plain(lay_out(found))


@pytest.mark.parametrize("damage", ["content", "compression", "encryption"])
def test_a_wheel_with_a_damaged_member(damage: str, tools: Installation, tmp_path: Path) -> None:
    wheel = tmp_path / "demo-1.0-py3-none-any.whl"
    make_wheel(wheel, {"demo/k.ptx": b".version 9.0\n" * 100}, compression=zipfile.ZIP_DEFLATED)
    content = bytearray(wheel.read_bytes())
    local, central = content.index(b"PK\x03\x04"), content.index(b"PK\x01\x02")
    if damage == "content":
        content[local + 40 : local + 60] = b"\xff" * 20
    elif damage == "compression":
        content[central + 10] = 77
    else:
        content[central + 8] |= 1
    wheel.write_bytes(content)
    with pytest.raises(BuildError, match="the wheel cannot be unpacked") as caught:
        find(wheel, tools)
    assert caught.value.problems[0].details[0] == ("member", "demo/k.ptx")


def test_a_wheel_for_which_there_is_no_room(
    tools: Installation, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    wheel = make_wheel(tmp_path / "demo-1.0-py3-none-any.whl", {"demo/k.ptx": b".version 9.0\n"})
    monkeypatch.setattr("shutil.disk_usage", lambda _path: SimpleNamespace(free=3))
    with pytest.raises(BuildError, match="there is no room to unpack the wheel") as caught:
        find(wheel, tools)
    assert caught.value.problems[0].code is Code.DISK_FULL


def test_archives_in_a_wheel(samples: Path, tools: Installation, tmp_path: Path) -> None:
    subprocess.run(["ar", "rcT", tmp_path / "thin.a", samples / "whole.o"], check=True)
    subprocess.run(["ar", "rc", tmp_path / "empty.a"], check=True)
    files = {
        "demo/broken.a": (samples / "all.a").read_bytes()[:-1000],
        "demo/empty.a": (tmp_path / "empty.a").read_bytes(),
        "demo/thin.a": (tmp_path / "thin.a").read_bytes(),
        "demo/whole.a": (samples / "all.a").read_bytes(),
    }
    found = find(make_wheel(tmp_path / "demo-1.0-py3-none-any.whl", files), tools)
    read = {file.path: file.problem is None for file in found.files}
    assert read == {"demo/broken.a": False, "demo/thin.a": False, "demo/whole.a": True}


def test_a_wheel_with_two_folders_of_metadata(tools: Installation, tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path / "demo-1.0-py3-none-any.whl", {"other-1.0.dist-info/METADATA": b""})
    with pytest.raises(BuildError, match=r"it has several folders \.dist-info"):
        find(wheel, tools)


def test_files_of_other_systems_are_named(tools: Installation, tmp_path: Path) -> None:
    files = {"demo/a.pyd": b"MZ\x90\x00", "demo/b.so": b"\xcf\xfa\xed\xfe", "demo/c.txt": b"MZ"}
    found = find(make_wheel(tmp_path / "demo-1.0-cp311-cp311-win_amd64.whl", files), tools)
    assert found.foreign == ("demo/a.pyd", "demo/b.so")
    shown = render_plain(lay_out(found))
    assert "not known: files of Windows or macOS are not read" in shown
    assert "not read, since it is of Windows or macOS: demo/a.pyd" in tell(found)["notes"]


def test_link_time_ir_has_to_be_linked(tools: Installation, tmp_path: Path) -> None:
    path = tmp_path / "k.ltoir"
    path.write_bytes(b"BC")
    assert "no driver as it is: it has to be linked first" in render_plain(lay_out(find(path, tools)))


def test_a_member_with_a_long_or_an_odd_name(samples: Path, tools: Installation, tmp_path: Path) -> None:
    names = ("../../outside.ptx", "demo/a\x1b[31m\n.ptx", f"demo/b.{'c' * 300}")
    files = {names[0]: PTX, names[1]: PTX, names[2]: (samples / "whole.cubin").read_bytes()}
    found = find(make_wheel(tmp_path / "a/b/demo-1.0-py3-none-any.whl", files), tools)
    assert [bool(file.images) for file in found.files] == [True] * 3
    shown = render_plain(lay_out(found))
    assert "demo/a\\x1b[31m\\n.ptx" in shown
    assert shown.replace("\n", "").isprintable()
    assert {path.name for path in tmp_path.rglob("*") if path.is_file()} == {"demo-1.0-py3-none-any.whl"}


def test_a_library_with_a_zip_file_at_its_end(samples: Path, tools: Installation, tmp_path: Path) -> None:
    wheel = make_wheel(tmp_path / "demo-1.0-py3-none-any.whl", {})
    path = tmp_path / "a.so"
    path.write_bytes((samples / "static.so").read_bytes() + wheel.read_bytes())
    assert names(tell(find(path, tools))) == BOTH


def test_what_the_tool_says_names_the_user_s_file(samples: Path, tools: Installation, tmp_path: Path) -> None:
    files = {"demo/k.cubin": (samples / "whole.cubin").read_bytes()[:2000]}
    (file,) = find(make_wheel(tmp_path / "demo-1.0-py3-none-any.whl", files), tools).files
    assert file.problem
    assert "demo/k.cubin: " in file.problem.render()
    assert "/setuptools-cuda-" not in file.problem.render()


@pytest.mark.parametrize("schema", [1])
def test_manifests_of_released_schemas_are_read(
    schema: int, samples: Path, tools: Installation, tmp_path: Path
) -> None:
    manifest = (DATA / f"schema-{schema}.json").read_bytes()
    files = {
        "demo-1.0.dist-info/setuptools_cuda.json": manifest,
        "demo/_native.so": (samples / "static.so").read_bytes(),
        "demo/k_images/k.ltoir": b"BC",
    }
    told = tell(find(make_wheel(tmp_path / "demo-1.0-py3-none-any.whl", files), tools))
    assert (told["manifest"], told["toolkit"]) == (True, "13.0.88")
    assert told["architectures"]["lto"] == ["lto_80"]
    assert names(told)[:3] == BOTH


@pytest.mark.parametrize("text", ['{"schema": 99, "artifacts": []}', "{}", "[]", "no json"])
def test_manifests_that_are_not_understood(text: str, tools: Installation, tmp_path: Path) -> None:
    files = {"demo-1.0.dist-info/setuptools_cuda.json": text.encode()}
    with pytest.raises(BuildError, match=r"setuptools_cuda\.json is"):
        find(make_wheel(tmp_path / "demo-1.0-py3-none-any.whl", files), tools)


def test_the_words_of_cuobjdump() -> None:
    assert parse_toolkit("64bit elf: type=2, abi=7, sm=60, toolkit=118, flags = 0x3c053c") == Release(11, 8)
    assert parse_toolkit("64-bit ELF: type=ET_EXEC, ABI=8, sm=80, toolkit=13.0, flags=0x6005004") == Release(13, 0)
    assert parse_toolkit("Sections:") is None
    head = "Fatbin elf code:\n================\narch = {}\ncode version = [1,8]\nhost = linux\n\n"
    assert [entry.name for entry in parse_entries(head.format("sm_100f") * 2)] == ["sm_100f"] * 2
    with pytest.raises(ValueError, match="arch 'sm_'"):
        parse_entries(head.format("sm_"))
