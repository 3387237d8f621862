"""Builds one project in every combination of scikit-build-core, CMake, toolkit and generator, and prints a table.

``python tests/cmake_matrix.py FOLDER`` works in FOLDER, with our wheel built from the tree; it takes some ten minutes.
The project has an extension and a kernel module. A combination is good where the wheel holds just what it should, and
the code in it is that of every other combination with the same toolkit.
"""

from __future__ import annotations

import hashlib
import itertools
import subprocess
import sys
import time
import zipfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from scikit_build_support import EXTENSION_FILES, KERNEL_FILES, KERNELS, list_code
from setuptools_support import Installation, clean_variables, make_installation, wheel_names, write_project

ROOT = Path(__file__).resolve().parent.parent
BACKENDS = ("scikit-build-core==1.0.*", "scikit-build-core")
CMAKES = ("cmake==3.25.*", "cmake")
TOOLKITS = ("cuda-toolkit[nvcc,cccl]==13.0.*", "cuda-toolkit[nvcc,cccl]==13.*")
GENERATORS = ("Ninja", "Unix Makefiles")
FILES = {
    **KERNEL_FILES,
    **EXTENSION_FILES,
    "CMakeLists.txt": EXTENSION_FILES["CMakeLists.txt"] + KERNELS.partition("LANGUAGES NONE)\n")[2],
}
VERSIONS = (
    "from importlib.metadata import version as v\nprint(v('scikit-build-core'), v('cmake'), v('nvidia-cuda-nvcc'))"
)


@dataclass(frozen=True)
class Row:
    """One combination, and what came of it."""

    versions: str
    generator: str
    seconds: float
    code: tuple[str, ...]
    digest: str


def main() -> int:
    """Print the table; return 1 where a combination with the same toolkit differs from another."""
    folder = Path(sys.argv[1]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    build = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    subprocess.run(build, check=True, capture_output=True)
    (ours,) = folder.glob("setuptools_cuda_build-*.whl")
    rows = list(run_all(folder, ours=ours))
    print("| scikit-build-core | CMake | nvcc | generator | seconds | machine code and PTX in the extension |")
    print("|---|---|---|---|---|---|")
    for row in rows:
        cells = (*row.versions.split(), row.generator, f"{row.seconds:.0f}", ", ".join(row.code))
        print(f"| {' | '.join(cells)} |")
    by_toolkit = {(row.versions.split()[2], row.digest) for row in rows}
    same = len(by_toolkit) == len({nvcc for nvcc, _ in by_toolkit})
    print("modules and images are the same for each toolkit" if same else "DIFFERENT modules or images")
    return 0 if same and len({row.code for row in rows}) == 1 else 1


def run_all(folder: Path, *, ours: Path) -> Iterator[Row]:
    """Yield the rows, as they are built."""
    for number, (backend, cmake, toolkit) in enumerate(itertools.product(BACKENDS, CMAKES, TOOLKITS)):
        place = folder / str(number)
        installation = Installation(place / "venv", clean_variables(folder / "home"))
        if not installation.folder.exists():
            requirements = [ours, backend, cmake, toolkit, "ninja", "nvidia-cuda-cuobjdump"]
            make_installation(installation.folder, requirements=requirements)
        versions = installation.succeed("-c", VERSIONS, cwd=folder).strip()
        for generator in GENERATORS:
            yield run_one(place / generator.partition(" ")[0], installation, generator=generator, versions=versions)
            print(f"done: {versions} {generator}", file=sys.stderr, flush=True)


def run_one(root: Path, installation: Installation, *, generator: str, versions: str) -> Row:
    """Build the project in ``root``, and return what is in its wheel."""
    write_project(root, FILES)
    started = time.monotonic()
    wheel = installation.wheel(root, CMAKE_GENERATOR=generator)
    seconds = time.monotonic() - started
    names = wheel_names(wheel)
    (native,) = (name for name in names if name.endswith(".so"))
    whole = hashlib.sha256()
    with zipfile.ZipFile(wheel) as archive:
        archive.extract(native, root)
        for name in names:
            if name.startswith("demo/kernels"):
                whole.update(f"{name} ".encode() + archive.read(name))
    assert len([name for name in names if name.startswith("demo/kernels")]) == 9, names
    installation.succeed("-c", "from demo import _native; assert _native.answer() == 42", cwd=root)
    return Row(
        versions, generator, seconds, tuple(list_code(root / native, installation=installation)), whole.hexdigest()
    )


if __name__ == "__main__":
    sys.exit(main())
