"""sample_pkg, copied and built."""

from __future__ import annotations

import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent


def run(command: Sequence[str | Path], *, env: Mapping[str, str], cwd: Path) -> str:
    done = subprocess.run(list(map(str, command)), cwd=cwd, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def copy_of_sample(folder: Path) -> Path:
    ignored = shutil.ignore_patterns("build", "*.egg-info", "__pycache__")
    return shutil.copytree(ROOT / "sample_pkg", folder / "sample_pkg", ignore=ignored, dirs_exist_ok=True)


def build_sample(folder: Path, *, our_wheel: Path, env: Mapping[str, str]) -> None:
    """Build the sample's wheel into ``folder/wheels``, by pip's default isolation."""
    source = copy_of_sample(folder)
    links = ["--find-links", our_wheel.parent]
    pip = [sys.executable, "-m", "pip", "wheel", "--no-deps", *links, "--wheel-dir", folder / "wheels"]
    run([*pip, source], env=env, cwd=folder)
