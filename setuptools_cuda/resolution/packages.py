"""What the packages named in ``uses`` bring: include folders, libraries, definitions, sources."""

from __future__ import annotations

import difflib
import importlib.metadata
from collections.abc import Mapping, Sequence
from dataclasses import replace

from setuptools_cuda.config.model import Settings
from setuptools_cuda.environment import Environment
from setuptools_cuda.errors import BuildError, Code, Problem, raise_if_any
from setuptools_cuda.resolution.entry_points import (
    ask_plugin,
    describe_nonsense,
    find_entry_points,
    load_entry_point,
)
from setuptools_cuda.resolution.package_bindings import find_nanobind, find_numpy, find_pybind11
from setuptools_cuda.resolution.package_nvidia import find_cuda_major, find_cudnn, find_cutlass, find_nccl
from setuptools_cuda.resolution.package_shipped import find_shipped
from setuptools_cuda.resolution.package_site import Provider
from setuptools_cuda.resolution.package_torch import find_torch, find_torch_cuda
from setuptools_cuda.resolution.values import Package

GROUP = "setuptools_cuda.packages"

BUILT_IN: Mapping[str, Provider] = {
    "torch": find_torch,
    "numpy": find_numpy,
    "pybind11": find_pybind11,
    "nanobind": find_nanobind,
    "cutlass": find_cutlass,
    "cudnn": find_cudnn,
    "nccl": find_nccl,
}


def resolve_packages(names: Sequence[str], *, environment: Environment, where: str = "uses") -> tuple[Package, ...]:
    """Return what each of ``names`` brings, in their order, each once.

    Raises:
        BuildError: UNKNOWN_PACKAGE for all names that are unknown or not installed, PLUGIN_FAILED
            for providers of other distributions.
    """
    plugins = {point.name: point for point in find_entry_points(GROUP, search_path=environment.search_path)}
    found = [_find(name, plugins=plugins, environment=environment) for name in dict.fromkeys(names)]
    raise_if_any(replace(one, where=one.where or where) for one in found if isinstance(one, Problem))
    return tuple(one for one in found if isinstance(one, Package))


def resolve_all_packages(settings: Settings, *, environment: Environment) -> dict[str, Package]:
    """Return what all packages bring that the project or a target uses, by name. Raises BuildError."""
    places: dict[str, str] = {}
    for where, names in [
        ("tool.setuptools-cuda.uses", settings.project.uses),
        *((f"{t.where}.uses", t.uses) for t in settings.targets),
    ]:
        for name in names:
            places.setdefault(name, where)
    found: dict[str, Package] = {}
    problems: list[Problem] = []
    for name, where in places.items():
        try:
            packages = resolve_packages([name], environment=environment, where=where)
        except BuildError as error:
            problems.extend(error.problems)
        else:
            found.update({package.name: package for package in packages})
    raise_if_any(problems)
    return found


def find_cuda_majors(names: Sequence[str], *, environment: Environment) -> dict[str, int]:
    """Return the CUDA major release that each installed package is tied to, for those that are.

    A toolkit of another major release does not link with them.
    """
    majors: dict[str, int] = {}
    for name in names:
        if name == "torch" and (release := find_torch_cuda(environment)) is not None:
            majors[name] = release.major
        elif name in ("cudnn", "nccl") and (major := find_cuda_major(name, environment=environment)) is not None:
            majors[name] = major
    return majors


def _find(
    name: str, *, plugins: Mapping[str, importlib.metadata.EntryPoint], environment: Environment
) -> Package | Problem:
    if name in BUILT_IN:
        return BUILT_IN[name](environment)
    if name in plugins:
        try:
            return _ask_plugin(plugins[name], environment=environment)
        except BuildError as error:
            return error.problems[0]
    shipped = find_shipped(name, environment=environment)
    return _describe_unknown(name, names=(*BUILT_IN, *plugins)) if shipped is None else shipped


def _ask_plugin(point: importlib.metadata.EntryPoint, *, environment: Environment) -> Package | Problem:
    """Return the answer of another distribution's provider, under the name that it is used by."""
    provider = load_entry_point(point)
    wanted = "a callable that takes the environment and returns a Package or a Problem"
    if not callable(provider):
        raise BuildError(describe_nonsense(point, got=provider, wanted=wanted))
    answer = ask_plugin(point, provider, environment)
    if not isinstance(answer, (Package, Problem)):
        raise BuildError(describe_nonsense(point, got=answer, wanted=wanted))
    return replace(answer, name=point.name) if isinstance(answer, Package) else answer


def _describe_unknown(name: str, *, names: Sequence[str]) -> Problem:
    close = difflib.get_close_matches(name.casefold(), names, n=1)
    meant = (f"did you mean {close[0]!r}?",) if close else ()
    return Problem(
        Code.UNKNOWN_PACKAGE,
        f"there is no package {name!r} to use",
        details=(("known", ", ".join(names)),),
        fix=(
            *meant,
            "a distribution that ships libraries has to be among build-system.requires",
            f"others come from distributions with an entry point in {GROUP}",
        ),
    )
