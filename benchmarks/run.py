"""Measure builds side by side, in turn, on one toolkit, and hold the ratios against their limits.

Needs Linux, a toolkit that ``setuptools-cuda env`` finds, g++ and setuptools; for the peers cmake and
scikit-build-core, and a Python with PyTorch (its CPU build serves).
"""

from __future__ import annotations

import argparse
import importlib.util
import os
import platform
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from peers import Machine
from rows import ROWS, Options, Outcome

ROOT = Path(__file__).resolve().parent.parent


def find_toolkit(folder: Path) -> Path:
    """Return the root of the toolkit that a build here takes; links to its wheels lie in ``folder``."""
    argv = (sys.executable, "-m", "setuptools_cuda", "env")
    done = subprocess.run(argv, cwd=folder, capture_output=True, text=True, check=False)
    if done.returncode != 0:
        raise SystemExit(done.stderr)
    lines = [line.removeprefix("export CUDA_HOME=") for line in done.stdout.splitlines()]
    (root,) = [shlex.split(line)[0] for line in lines if not line.startswith("export")]
    return Path(root)


def build_our_wheel(folder: Path) -> Path:
    """Return a wheel of this project, for isolated builds."""
    argv = (sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder), str(ROOT))
    subprocess.run(argv, check=True)
    (wheel,) = folder.glob("setuptools_cuda_build-*.whl")
    return wheel


def describe_machine(machine: Machine) -> str:
    """Return what was measured on, in lines."""
    names = [line.partition(":")[2].strip() for line in _lines("/proc/cpuinfo") if line.startswith("model name")]
    memory = [line.split()[1] for line in _lines("/proc/meminfo") if line.startswith("MemTotal")]
    nvcc = subprocess.run([machine.nvcc, "--version"], capture_output=True, text=True, check=True).stdout.split("\n")
    gcc = subprocess.run(["g++", "--version"], capture_output=True, text=True, check=True).stdout.split("\n")
    parts = [
        f"{names[0] if names else platform.machine()}, {os.cpu_count()} cores, {int(memory[0]) >> 20} GiB",
        f"{platform.system()} {platform.release()}, Python {platform.python_version()}, {gcc[0]}",
        next(line for line in nvcc if "release" in line),
        f"{machine.jobs} jobs on all sides; load before: {os.getloadavg()[0]:.1f}",
    ]
    return "\n".join(parts)


def _lines(path: str) -> list[str]:
    return Path(path).read_text("utf-8").splitlines()


def find_torch(asked: str) -> str:
    """Return a Python with PyTorch: the one asked for, or this one, or '' where it has none."""
    return asked or (sys.executable if importlib.util.find_spec("torch") else "")


def parse_arguments() -> argparse.Namespace:
    """Return the options of the command line."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--rows", default=",".join(ROWS), help=f"what to measure: {', '.join(ROWS)} (all)")
    parser.add_argument("--repeats", type=int, default=5, help="rounds, in each of which every side runs once (5)")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes at once (all cores)")
    parser.add_argument("--torch-python", default="", help="a Python that has PyTorch (this one, if it has)")
    parser.add_argument("--small", type=int, default=40, help="small files (40)")
    parser.add_argument("--heavy", type=int, default=2, help="heavy files of the first row (2)")
    parser.add_argument("--editable", type=int, default=200, help="sources of the editable build (200)")
    parser.add_argument("--planned", type=int, default=1000, help="sources that are planned (1000)")
    return parser.parse_args()


def measure(names: Sequence[str], *, options: Options) -> Iterator[Outcome]:
    """Print each row when it is known, and yield it."""
    for name in names:
        found = False
        for outcome in ROWS[name](options):
            found = True
            print(f"{outcome.what}, against {outcome.against}" if outcome.against else outcome.what)
            for line in outcome.lines:
                print(f"    {line}")
            state = "good" if outcome.good else "MISSED"
            print(f"    {state}: {outcome.shown}, at most {outcome.limit}\n", flush=True)
            yield outcome
        if not found:
            print(f"{name}: not measured, PyTorch is missing (--torch-python)\n")


def forget_wishes() -> None:
    """Take out of the environment what would have one side build something else than the others.

    A ``TORCH_CUDA_ARCH_LIST`` for the machine's GPU goes before the architectures of a table.
    """
    names = {"CUDAARCHS", "CMAKE_CUDA_ARCHITECTURES", "TORCH_CUDA_ARCH_LIST", "CUDA_COMPUTE_CAP", "CUDA_COMPUTE_CAPS"}
    for name in sorted(name for name in os.environ if name in names or name.startswith(("SETUPTOOLS_CUDA_", "NVCC_"))):
        print(f"without {name}={os.environ.pop(name)}")


def main() -> int:
    """Measure, print the table, and return 1 where a row is over its limit."""
    given = parse_arguments()
    forget_wishes()
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name).resolve()
        machine = Machine(find_toolkit(folder), given.jobs, find_torch(given.torch_python))
        wheel = build_our_wheel(folder) if "isolated-wheel" in given.rows else folder
        options = Options(machine, given.repeats, given.small, given.heavy, given.editable, given.planned, wheel)
        print(f"{describe_machine(machine)}\n", flush=True)
        outcomes = list(measure(given.rows.split(","), options=options))
    print("| what | against | measured | at most | |\n|---|---|---|---|---|")
    for one in outcomes:
        print(f"| {one.what} | {one.against} | {one.shown} | {one.limit} | {'' if one.good else 'missed'} |")
    return 0 if all(one.good for one in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
