"""Ties a Distribution to its :class:`CudaProject`, and puts the table's targets into it."""

from __future__ import annotations

from pathlib import Path

import setuptools

from setuptools_cuda.config.model import CMake, Settings
from setuptools_cuda.config.pyproject import find_table
from setuptools_cuda.errors import BuildError, Code, Problem
from setuptools_cuda.frontends import table
from setuptools_cuda.frontends.compiler import read_python_facts
from setuptools_cuda.frontends.failures import as_setuptools_error
from setuptools_cuda.frontends.hook import ATTRIBUTE
from setuptools_cuda.frontends.project import CudaProject
from setuptools_cuda.frontends.session import find_session


def find_or_make_project(dist: setuptools.Distribution) -> CudaProject:
    """Return the project of ``dist``; a new one where none was attached."""
    project: CudaProject | None = getattr(dist, ATTRIBUTE, None)
    if project is None:
        project = CudaProject(dist, root=project_root(dist), has_table=False)
        _keep(project)
    return project


def attach_project(dist: setuptools.Distribution) -> None:
    """Read the project's configuration, and put what it declares into ``dist``.

    A project without table and without targets of ours is left as it is. Raises SystemExit in
    our own backend, else setuptools' SetupError.
    """
    try:
        _attach(dist)
    except BuildError as error:
        raise (SystemExit(str(error)) if find_session() else as_setuptools_error(error)) from None


def project_root(dist: setuptools.Distribution) -> Path:
    """Return the folder of pyproject.toml and setup.py, absolute."""
    return Path(dist.src_root or ".").absolute()


def _attach(dist: setuptools.Distribution) -> None:
    has_table = find_table(project_root(dist)) is not None
    project = CudaProject(dist, root=project_root(dist), has_table=has_table)
    if not project.active:
        return
    _keep(project)
    settings = project.load()
    _check_cmake(project, settings=settings)
    if has_table:
        _put_extensions(project, settings=settings)
    _make_impure(project, settings=settings)


def _check_cmake(project: CudaProject, *, settings: Settings) -> None:
    """Raise BuildError where the table speaks to CMake, which does not build this project."""
    if settings.cmake == CMake() or project.has_cmake:
        return
    raise BuildError(
        Problem(
            Code.NOT_AVAILABLE,
            "is for a project that CMake builds, and setuptools alone builds this one",
            where="tool.setuptools-cuda.cmake",
            fix=("take it out, or let scikit-build-core build the project",),
        )
    )


def _keep(project: CudaProject) -> None:
    setattr(project.dist, ATTRIBUTE, project)
    session = find_session()
    if session is not None:
        session.projects.append(project)


def _put_extensions(project: CudaProject, *, settings: Settings) -> None:
    dist = project.dist
    taken = frozenset(str(declared.words["name"]) for declared in project.declared() if declared.kind == "extension")
    made = table.make_extensions(settings, names_taken=taken, python=read_python_facts(""))
    project.table_extensions = made
    if made:
        dist.ext_modules = [*(dist.ext_modules or ()), *made]


def _make_impure(project: CudaProject, *, settings: Settings) -> None:
    """Let setuptools install what it would not look for, into the folder that the tag asks for.

    Without extensions setuptools installs into ``purelib``, and without Python modules nothing
    at all: both are decided by asking the Distribution what it has.
    """
    dist = project.dist
    # Others, such as scikit-build-core, have said yes before where they build extensions of their own.
    if ships_binaries(settings) and not dist.has_ext_modules():
        project.serves_every_python = True
        dist.has_ext_modules = _yes  # type: ignore[method-assign]
    if settings.kernel_modules:
        dist.has_pure_modules = _yes  # type: ignore[method-assign]


def ships_binaries(settings: Settings) -> bool:
    """Return whether a library for one platform goes into the wheel."""
    return any(library.install and library.type != "interface" for library in settings.libraries)


def _yes() -> bool:
    return True
