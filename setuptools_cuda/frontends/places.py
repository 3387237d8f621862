"""Where a file of the wheel lies in the source tree. Pure but for the one question to setuptools."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path, PurePosixPath


def source_tree_path(destination: str, *, package_dir: Callable[[str], str]) -> Path:
    """Return the place in the source tree of ``destination``, a path in the wheel.

    ``package_dir`` is ``build_py.get_package_dir``, which knows of ``package-dir`` and takes a
    package's dotted name. Folders from the first that is no identifier on are no packages.
    """
    *folders, name = PurePosixPath(destination).parts
    count = next((at for at, folder in enumerate(folders) if not folder.isidentifier()), len(folders))
    return Path(package_dir(".".join(folders[:count])), *folders[count:], name)
