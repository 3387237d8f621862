"""Hold ``setuptools-cuda inspect`` against cuobjdump by hand, on wheels of others.

Run ``nox -s inspect_wheels``, which fetches wheels of five makers and calls this, or
``python benchmarks/inspect_wheels.py WHEEL... [--cuobjdump PATH]...``. It prints a table, and ends with 1
where an answer differs. What is compared, for every file: how many images there are of each
architecture, how many of them are compressed, and the versions of PTX.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import tempfile
import zipfile
from collections import Counter
from pathlib import Path

PREFIXES = {"elf": "sm", "ptx": "compute", "nvvm": "lto"}
ENTRY = re.compile(
    r"Fatbin (?P<kind>\w+) code:\n=+\narch = sm_(?P<code>\w+)\n"
    r"code version = \[(?P<version>[\d,]+)\]\n(?P<rest>(?:.+\n)*)"
)
Seen = dict[str, tuple[int, int, tuple[str, ...]]]
"""(images, compressed, PTX versions) by architecture."""


def main() -> int:
    """Compare, print, and return the exit status."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("wheels", nargs="+", type=Path)
    parser.add_argument("--cuobjdump", action="append", type=Path, default=[])
    arguments = parser.parse_args()
    tools = arguments.cuobjdump or [find_tool()]
    print("| wheel | files with device code | images | architectures | least driver | differences |")
    print("|---|---|---|---|---|---|")
    different = [compare(wheel, tools=tools) for wheel in arguments.wheels]
    return int(any(different))


def find_tool() -> Path:
    """Return the cuobjdump of NVIDIA's wheel in this Python."""
    found = [path for entry in sys.path for path in Path(entry).glob("nvidia/cu*/bin/cuobjdump")]
    if not found:
        raise SystemExit("pip install nvidia-cuda-cuobjdump, or name one with --cuobjdump")
    return found[0].resolve()


def compare(wheel: Path, *, tools: list[Path]) -> bool:
    """Print the wheel's line, and return whether the two differ."""
    told, answer = ask_inspect(wheel, tools=tools)
    by_hand = ask_cuobjdump(wheel, tools=tools)
    wrong = sorted(name for name in {*told, *by_hand} if told.get(name) != by_hand.get(name))
    architectures = answer["architectures"]
    names = " ".join((*architectures["real"], *architectures["virtual"]))
    images = sum(count for seen in by_hand.values() for count, _, _ in seen.values())
    print(
        f"| {wheel.name.split('-')[0]} {wheel.name.split('-')[1]} | {len(by_hand)} | {images} | {names} "
        f"| {answer['least_driver']} | {'; '.join(wrong) or 'none'} |",
        flush=True,
    )
    for name in wrong:
        print(f"{name}\n  inspect    {told.get(name)}\n  cuobjdump  {by_hand.get(name)}", file=sys.stderr)
    return bool(wrong)


def ask_inspect(wheel: Path, *, tools: list[Path]) -> tuple[dict[str, Seen], dict[str, dict[str, list[str]]]]:
    """Return what ``inspect --json`` says of each file with device code, and the whole answer."""
    options = [word for tool in tools for word in ("--cuobjdump", str(tool))]
    command = [sys.executable, "-m", "setuptools_cuda", "inspect", "--json", *options, str(wheel)]
    answer = json.loads(subprocess.run(command, capture_output=True, text=True, check=False).stdout)
    if answer["problems"]:
        print(json.dumps(answer["problems"], indent=2), file=sys.stderr)
    seen = {
        file["path"]: {
            code["name"]: (code["images"], code["compressed"], tuple(code["ptx_isa"])) for code in file["code"]
        }
        for file in answer["files"]
        if file["code"] and file["kind"] != "ptx"
    }
    return seen, answer


def ask_cuobjdump(wheel: Path, *, tools: list[Path]) -> dict[str, Seen]:
    """Return what cuobjdump says of each ELF file, archive and fatbin in the wheel."""
    found: dict[str, Seen] = {}
    with tempfile.TemporaryDirectory() as name, zipfile.ZipFile(wheel) as archive:
        for member in archive.namelist():
            if member.endswith("/") or not archive.open(member).read(8).startswith(
                (b"\x7fELF", b"!<arch>", b"P\xedU\xba")
            ):
                continue
            path = Path(archive.extract(member, name))
            seen = ask_about(path, tools=tools)
            path.unlink()
            if seen:
                found[member] = seen
    return found


def ask_about(path: Path, *, tools: list[Path]) -> Seen:
    """Return what the first cuobjdump that reads the whole file says."""
    for tool in tools:
        cubin = path.suffix == ".cubin"
        option = "--list-elf" if cubin else "--all-fatbin"
        done = subprocess.run([str(tool), option, str(path)], capture_output=True, text=True, check=False)
        if "does not contain device code" in done.stdout + done.stderr:
            return {}
        if done.returncode == 0:
            return parse_cubin(done.stdout) if cubin else parse(done.stdout)
    return {}


def parse_cubin(text: str) -> Seen:
    """Return the one image that ``--list-elf`` names."""
    found = re.search(r"\.sm_(\w+)\.cubin", text)
    return {f"sm_{found[1]}": (1, 0, ())} if found else {}


def parse(text: str) -> Seen:
    """Return what is listed, by architecture."""
    images, compressed, versions = Counter[str](), Counter[str](), dict[str, set[str]]()
    for entry in ENTRY.finditer(text + "\n"):
        name = f"{PREFIXES[entry['kind']]}_{entry['code']}"
        images[name] += 1
        compressed[name] += "\ncompressed\n" in f"\n{entry['rest']}"
        if entry["kind"] == "ptx":
            versions.setdefault(name, set()).add(entry["version"].replace(",", "."))
    return {name: (images[name], compressed[name], tuple(sorted(versions.get(name, ())))) for name in images}


if __name__ == "__main__":
    raise SystemExit(main())
