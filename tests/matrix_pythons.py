"""sample_pkg on every Python, with the oldest and the newest setuptools, and with the oldest of what we ask for.

Run ``nox -s matrix``, or ``python tests/matrix_pythons.py [FOLDER]`` where uv is installed. It takes the Pythons
that uv finds, needs an index, and prints a table as each cell is done: built without isolation, installed, run.
It ends with 1 if any failed.
"""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
PYTHONS = ("3.10", "3.11", "3.12", "3.13")
TOOLKIT = "cuda-toolkit[nvcc,cccl]==13.0.*"
# In the last one uv takes the oldest release that each requirement of ours allows.
COLUMNS: dict[str, tuple[str, ...]] = {
    "setuptools 77": ("setuptools==77.*",),
    "newest setuptools": ("setuptools",),
    "lowest of ours": ("setuptools==77.*", "ninja==1.13.*", "packaging==24.2", "tomli==2.0.1"),
}
UV = (sys.executable, "-m", "uv")


class FailedError(Exception):
    """A step of a cell failed; its text is what was said."""


def main() -> int:
    """Fill the table, and return the exit status."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else tempfile.mkdtemp(prefix="setuptools-cuda-")).resolve()
    run([sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--wheel-dir", str(folder / "ours"), str(ROOT)])
    (ours,) = (folder / "ours").glob("*.whl")
    print(f"| Python | {' | '.join(COLUMNS)} |\n|---|{'---|' * len(COLUMNS)}", flush=True)
    failed = 0
    for python in PYTHONS:
        print(f"| {python} ", end="", flush=True)
        for requirements in COLUMNS.values():
            try:
                said = fill_cell(python, (str(ours), TOOLKIT, *requirements), folder=folder)
            except FailedError as error:
                failed += 1
                said = "failed"
                print(error, file=sys.stderr)
            print(f"| {said} ", end="", flush=True)
        print("|", flush=True)
    return int(bool(failed))


def fill_cell(python: str, requirements: tuple[str, ...], *, folder: Path) -> str:
    """Return the tag of the wheel that was built, installed and run. Raises FailedError."""
    cell = Path(tempfile.mkdtemp(prefix=f"{python}-", dir=folder))
    environment = cell / "venv"
    run([*UV, "venv", "--quiet", "--seed", "--python", python, str(environment)])
    interpreter = str(environment / "bin/python")
    run([*UV, "pip", "install", "--quiet", "--python", interpreter, *requirements])
    ignored = shutil.ignore_patterns("build", "*.egg-info", "__pycache__")
    shutil.copytree(ROOT / "sample_pkg", cell / "sample_pkg", ignore=ignored)
    pip = [interpreter, "-m", "pip", "wheel", "--no-build-isolation", "--no-deps", "--wheel-dir", str(cell / "dist")]
    run([*pip, str(cell / "sample_pkg")], SETUPTOOLS_CUDA_TOOLCHAIN_STEPS="wheel", SETUPTOOLS_CUDA_CACHE="off")
    (wheel,) = (cell / "dist").glob("*.whl")
    run([*UV, "pip", "install", "--quiet", "--no-deps", "--python", interpreter, str(wheel)])
    said = run([interpreter, "-m", "sample_pkg"])
    if "all checks passed" not in said:
        raise FailedError(said)
    shutil.rmtree(cell)
    return "-".join(wheel.stem.split("-")[2:4])


def run(command: list[str], **variables: str) -> str:
    """Return what a command says. Raises FailedError."""
    done = subprocess.run(command, env={**os.environ, **variables}, capture_output=True, text=True, check=False)
    if done.returncode:
        raise FailedError(f"{' '.join(command)}\n{done.stdout}{done.stderr}")
    return done.stdout


if __name__ == "__main__":
    raise SystemExit(main())
