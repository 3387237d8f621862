"""Build folders of CMake that are kept, and were made with another CUDA compiler.

CMake then drops its whole cache by itself, and with it all that it was told on its command line:
architectures, flags, build type. What it makes is none of that. Where the path of the compiler is
the same and its release another, or its host compiler is, CMake goes on with what it knew.
"""

from __future__ import annotations

import glob
import re
import shutil
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

from setuptools_cuda.execute.folder import telling

_SET = re.compile(r'^set\((CMAKE_CUDA_\w+) "([^"]*)"\)$', re.MULTILINE)


def find_stale_folders(build_dir: str, *, root: Path, wanted: Mapping[str, Collection[str]]) -> Iterator[Path]:
    """Yield the folders that ``build_dir`` may name, with any text for its placeholders, made with another compiler.

    ``wanted`` has what may stand in variables of ``CMakeFiles/VERSION/CMakeCUDACompiler.cmake``, in
    which CMake keeps what it knows of a compiler. It compares paths as text.
    """
    folder = root / build_dir
    pattern = "*".join(glob.escape(part) for part in re.split(r"\{[^{}]*\}", str(folder.relative_to(folder.anchor))))
    for file in sorted(Path(folder.anchor).glob(f"{pattern}/CMakeFiles/*/CMakeCUDACompiler.cmake")):
        known = dict(_SET.findall(file.read_text("utf-8", "surrogateescape")))
        if any(known.get(name) not in values for name, values in wanted.items()):
            yield file.parent.parent.parent


def remove_cache(folder: Path) -> None:
    """Remove what CMake remembers in ``folder``, and the objects beside it. Raises BuildError where it cannot."""
    with telling(folder):
        (folder / "CMakeCache.txt").unlink(missing_ok=True)
        shutil.rmtree(folder / "CMakeFiles")
