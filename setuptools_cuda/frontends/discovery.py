"""What automatic discovery finds of ours in the source tree, after a build has put it there."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping
from pathlib import Path, PurePosixPath

from setuptools.discovery import find_package_path

from setuptools_cuda.errors import Code, Problem
from setuptools_cuda.plan.values import KernelModulePlan
from setuptools_cuda.stage.bindings import is_generated


def find_made_packages(
    packages: Iterable[str], *, made: Collection[str], root: Path, package_dir: Mapping[str, str]
) -> frozenset[str]:
    """Return those of ``packages`` in whose folders nothing lies but what builds put there.

    ``made`` are the files that builds have put into the source tree, relative to ``root``. A folder
    of images looks like a package without an ``__init__.py``, and the next build may remove it.
    """
    folders = {name: Path(find_package_path(name, package_dir, str(root))) for name in packages}
    return frozenset(name for name, folder in folders.items() if _is_made(folder, made=made, root=root))


def find_made_modules(
    modules: Iterable[str], *, made: Collection[str], root: Path, package_dir: Mapping[str, str]
) -> frozenset[str]:
    """Return those of the top-level ``modules`` that builds put into the source tree."""
    return frozenset(
        name
        for name in modules
        if _relative(f"{find_package_path(name, package_dir, str(root))}.py", root=root) in made
    )


def check_top_level(destinations: Iterable[str], *, found: Collection[str], flat: bool) -> Iterator[Problem]:
    """Yield a problem where files put at the top of a flat layout would stop the next automatic discovery.

    ``destinations`` are relative to ``root``, ``found`` the top-level packages and modules that
    setuptools has found by itself. It refuses a flat layout with more than one (setuptools, "Package
    Discovery and Namespace Packages", "Flat-layout").
    """
    tops = {PurePosixPath(name).parts[0] for name in destinations if len(PurePosixPath(name).parts) > 1}
    new = sorted(top for top in tops if top.isidentifier() and top not in found)
    if not flat or not new or not found:
        return
    names = ", ".join(f'"{name}"' for name in sorted(found))
    yield Problem(
        Code.CONFLICT,
        f"the folder {new[0]} would lie beside {', '.join(sorted(found))} in the source tree",
        where="tool.setuptools",
        details=(
            ("why", "setuptools finds the packages of this project by itself, and refuses to do so"),
            ("", "where more than one folder at the top may be a package: the next build would fail"),
        ),
        fix=(f"name them in [tool.setuptools]: packages = [{names}]", f"or put {new[0]} into a package"),
    )


def check_written_by_hand(
    modules: Iterable[KernelModulePlan], *, root: Path, package_dir: Mapping[str, str]
) -> Iterator[Problem]:
    """Yield a problem for each of ``modules`` in whose place in the source tree lies something else.

    That is a module that was not generated, or a package, which Python takes before a module.
    """
    for module in modules:
        folder = find_package_path(module.module, package_dir, str(root))
        if Path(folder, "__init__.py").is_file():
            yield Problem(
                Code.DUPLICATE_OUTPUT,
                f"{module.module} is a package already, and Python would never look at the module",
                where=f"{module.where}.module",
                fix=(f"give the module a name in the package, as '{module.module}.kernels'",),
            )
        file = Path(f"{folder}.py")
        if file.is_file() and not is_generated(file):
            yield Problem(
                Code.DUPLICATE_OUTPUT,
                f"{module.module} would replace {_relative(file, root=root)}, which was not generated",
                where=f"{module.where}.module",
                fix=("give one of them another name",),
            )


def _is_made(folder: Path, *, made: Collection[str], root: Path) -> bool:
    files = [path for path in folder.rglob("*") if path.is_file() and path.suffix != ".pyc"]
    return bool(files) and all(_relative(path, root=root) in made for path in files)


def _relative(path: str | Path, *, root: Path) -> str:
    absolute = Path(path).absolute()
    return absolute.relative_to(root).as_posix() if absolute.is_relative_to(root) else absolute.as_posix()
