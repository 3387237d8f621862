"""Build folders of CMake that are kept, and were made with another CUDA compiler.

CMake then drops its whole cache by itself, and with it all that it was told on its command line:
architectures, flags, build type. What it makes is none of that. Where the path of the compiler is
the same and its release another, CMake does not notice, and compiles nothing anew.
"""

from __future__ import annotations

import glob
import re
import shutil
from collections.abc import Collection, Iterator
from pathlib import Path

from setuptools_cuda.execute.folder import telling

_SET = re.compile(r'^set\((CMAKE_CUDA_\w+) "([^"]*)"\)$', re.MULTILINE)


def find_stale_folders(build_dir: str, *, root: Path, compilers: Collection[str], version: str) -> Iterator[Path]:
    """Yield the folders that ``build_dir`` may name, with any text for its placeholders, made with another compiler.

    ``compilers`` are the spellings of the one that it shall be: CMake compares its path as text.
    What it knows of a compiler is in ``CMakeFiles/VERSION/CMakeCUDACompiler.cmake``.
    """
    folder = root / build_dir
    pattern = "*".join(glob.escape(part) for part in re.split(r"\{[^{}]*\}", str(folder.relative_to(folder.anchor))))
    for file in sorted(Path(folder.anchor).glob(f"{pattern}/CMakeFiles/*/CMakeCUDACompiler.cmake")):
        known = dict(_SET.findall(file.read_text("utf-8", "surrogateescape")))
        if known.get("CMAKE_CUDA_COMPILER") not in compilers or known.get("CMAKE_CUDA_COMPILER_VERSION") != version:
            yield file.parent.parent.parent


def remove_cache(folder: Path) -> None:
    """Remove what CMake remembers in ``folder``, and the objects beside it. Raises BuildError where it cannot."""
    with telling(folder):
        (folder / "CMakeCache.txt").unlink(missing_ok=True)
        shutil.rmtree(folder / "CMakeFiles")
