"""Where the files of a build go: the folder that the wheel is made from, or the source tree. Pure."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath

PackageDir = Callable[[str], str]
"""``build_py.get_package_dir``: the folder of a package by its dotted name, after ``package-dir``."""


@dataclass(frozen=True)
class Tree:
    """One folder that files are staged into, and the record of those that are ours."""

    root: Path
    record: Path
    place: Callable[[str], str]
    """Returns the path below ``root`` of a path in the wheel."""
    leftovers: Mapping[str, str] = field(default_factory=dict)
    """Files of an earlier build that came here by another way, with their digests."""


def source_path(destination: str, *, root: Path, package_dir: PackageDir) -> str:
    """Return the path below ``root`` of ``destination``, a path in the wheel, in the source tree.

    Folders from the first that is no identifier on are no packages. A package that lies outside
    of ``root`` gives an absolute path.
    """
    *folders, name = PurePosixPath(destination).parts
    count = next((at for at, folder in enumerate(folders) if not folder.isidentifier()), len(folders))
    path = Path(package_dir(".".join(folders[:count])), *folders[count:], name).absolute()
    return (path.relative_to(root) if path.is_relative_to(root) else path).as_posix()


def wheel_path(source: str, *, packages: Collection[str], root: Path, package_dir: PackageDir) -> str:
    """Return the path in the wheel of ``source``, a path below ``root``: the opposite of :func:`source_path`."""
    path = root / source
    for package in sorted(packages, key=lambda name: -len(name)):
        folder = Path(package_dir(package)).absolute()
        if path.is_relative_to(folder):
            return PurePosixPath(*package.split("."), path.relative_to(folder)).as_posix()
    top = Path(package_dir("")).absolute()
    return (path.relative_to(top) if path.is_relative_to(top) else PurePosixPath(source)).as_posix()
