"""The steps that look for an nvcc, in their order. Each only says where it looked and what is there.

Whether an nvcc runs and is of a release that will do is judged in ``search.py``.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from setuptools_cuda.config.model import Origin, Settings
from setuptools_cuda.environment import Environment
from setuptools_cuda.resolution.programs import find_program, is_file, is_folder, is_link, is_one_place, parse_command
from setuptools_cuda.resolution.wheels import NVCC_WHEEL, find_nvcc_wheels

ROOT_VARIABLES = ("CUDA_HOME", "CUDA_PATH", "CUDA_ROOT", "CUDAToolkit_ROOT", "CUDA_TOOLKIT_ROOT_DIR")
COMPILER_VARIABLES = ("NVCC", "CUDACXX")

# Where NVIDIA's installers, Debian and Arch Linux put a toolkit.
SYSTEM_ROOTS = ("/usr/local/cuda-*", "/usr/local/cuda", "/opt/cuda-*", "/opt/cuda", "/usr/lib/nvidia-cuda-toolkit")

Binding = Literal["", "toolkit", "compiler"]


@dataclass(frozen=True)
class Location:
    """One place that was looked at.

    ``binding`` says who set it: 'compiler' for an nvcc that was named (any fault is an
    error), 'toolkit' for a named root (a fault is an error, a release outside ``cuda`` is
    not), '' for a place of ours (whatever is wrong, the search goes on).
    """

    where: str
    nvcc: Path | None
    absent: str = ""
    binding: Binding = ""
    origin: Origin = field(default_factory=lambda: Origin("default", "not set"))
    launcher: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Step:
    """A named place to look. ``newest``: of several that fit the newest wins, else the first."""

    name: str
    look: Callable[[Settings, Environment], Iterable[Location]]
    newest: bool = False


def look_at_setting(settings: Settings, environment: Environment) -> tuple[Location, ...]:
    """Return the nvcc of ``-C cuda.nvcc=`` or ``SETUPTOOLS_CUDA_NVCC``."""
    value, origin = settings.project.nvcc, settings.origin("nvcc")
    if not value or origin.kind not in ("config-setting", "environment"):
        return (Location("nvcc setting", None, "not set"),)
    place = Location(f"{origin.text}={value}", None, binding="compiler", origin=origin)
    return (_locate(value, place=place, base=environment.cwd, environment=environment),)


def look_at_compiler_variables(settings: Settings, environment: Environment) -> tuple[Location, ...]:
    """Return the nvcc of ``NVCC``, else that of ``CUDACXX``."""
    del settings
    found = environment.first(*COMPILER_VARIABLES)
    if found is None:
        return (Location(", ".join(COMPILER_VARIABLES), None, "not set"),)
    where = "=".join(found)
    place = Location(where, None, binding="compiler", origin=Origin("environment", where))
    taken = _locate(found[1], place=place, base=environment.cwd, environment=environment)
    other = environment.get("CUDACXX")
    unasked = _locate(other, place=place, base=environment.cwd, environment=environment) if other else taken
    if _names_one_program(unasked, taken):
        return (taken,)
    return (replace(taken, notes=(f"CUDACXX={other} differs from {where}, which decides",)),)


def _names_one_program(first: Location, second: Location) -> bool:
    """Return whether both are one nvcc behind one launcher."""
    if first.nvcc is None or second.nvcc is None:
        return first == second
    return first.launcher == second.launcher and is_one_place(first.nvcc, second.nvcc)


def look_at_root_variables(settings: Settings, environment: Environment) -> tuple[Location, ...]:
    """Return the nvcc under the first root variable that is set."""
    del settings
    found = environment.first(*ROOT_VARIABLES)
    if found is None:
        return (Location(f"{', '.join(ROOT_VARIABLES[:2])}, ...", None, "not set"),)
    name, value = found
    where, root = f"{name}={value}", environment.cwd / value
    given = ((each, environment.get(each)) for each in ROOT_VARIABLES)
    others = [(n, v) for n, v in given if v is not None and not is_one_place(environment.cwd / v, root)]
    notes = tuple(f"{n}={v} differs from {where}, which decides" for n, v in others)
    notes = (*notes, *_compare_with_path(root, where=where, environment=environment))
    return (_locate_in(root, where=where, origin=Origin("environment", where), binding="toolkit", notes=notes),)


def _compare_with_path(root: Path, *, where: str, environment: Environment) -> tuple[str, ...]:
    other = find_program("nvcc", environment=environment)
    if other is None or is_one_place(other, root / "bin" / "nvcc"):
        return ()
    return (f"nvcc on PATH is {other}, not the one in {where}, which decides",)


def look_at_project(settings: Settings, environment: Environment) -> tuple[Location, ...]:
    """Return the nvcc of the key ``nvcc``, relative to the project."""
    value, origin = settings.project.nvcc, settings.origin("nvcc")
    if not value or origin.kind in ("config-setting", "environment"):
        return (Location("nvcc key", None, "not set"),)
    place = Location(f"nvcc = {value!r}", None, binding="compiler", origin=origin)
    return (_locate(value, place=place, base=settings.root, environment=environment),)


def look_at_wheels(settings: Settings, environment: Environment) -> tuple[Location, ...]:
    """Return the nvcc of each ``nvidia-cuda-nvcc`` in the build environment."""
    del settings
    wheels = find_nvcc_wheels(environment.search_path)
    if not wheels:
        return (Location(f"{NVCC_WHEEL} wheel", None, "not in this build environment"),)
    return tuple(
        Location(
            f"{wheel.name} {wheel.version} wheel",
            wheel.nvcc,
            "has ptxas alone: PyPI has nvcc from CUDA 13.0 on" if wheel.name != NVCC_WHEEL else "has no nvcc",
            origin=Origin("found", f"the {wheel.name} {wheel.version} wheel in {wheel.folder}"),
        )
        for wheel in wheels
    )


def look_at_conda(settings: Settings, environment: Environment) -> tuple[Location, ...]:
    """Return the nvcc of the active conda environment."""
    del settings
    prefix = environment.get("CONDA_PREFIX")
    if prefix is None:
        return (Location("CONDA_PREFIX", None, "not set"),)
    where = f"CONDA_PREFIX={prefix}"
    return (_locate_in(environment.cwd / prefix, where=where, origin=Origin("found", where)),)


def look_at_path(settings: Settings, environment: Environment) -> tuple[Location, ...]:
    """Return the nvcc on PATH."""
    del settings
    nvcc = find_program("nvcc", environment=environment)
    if nvcc is None:
        return (Location("PATH", None, "no nvcc"),)
    return (Location(f"PATH ({nvcc})", nvcc, origin=Origin("found", f"{nvcc} on PATH")),)


def look_at_system(
    settings: Settings, environment: Environment, *, roots: tuple[str, ...] = SYSTEM_ROOTS
) -> tuple[Location, ...]:
    """Return the nvcc of every well-known root that exists, each toolkit once."""
    del settings, environment
    found = (path for root in roots for path in sorted(Path("/").glob(root.lstrip("/"))) if path.is_dir())
    unique = {os.path.realpath(path): path for path in reversed(tuple(found))}
    if not unique:
        return (Location(", ".join(roots), None, "none of them exists"),)
    return tuple(
        _locate_in(path, where=str(path), origin=Origin("found", f"well-known root {path}"))
        for path in reversed(unique.values())
    )


def look_nowhere(settings: Settings, environment: Environment) -> tuple[Location, ...]:
    """Return no location: in a build nothing is installed (the step 'pip')."""
    del settings, environment
    return ()


STEPS: tuple[Step, ...] = (
    Step("setting", look_at_setting),
    Step("compiler-env", look_at_compiler_variables),
    Step("root-env", look_at_root_variables),
    Step("project", look_at_project),
    Step("wheel", look_at_wheels),
    Step("conda", look_at_conda),
    Step("path", look_at_path),
    Step("system", look_at_system, newest=True),
    Step("pip", look_nowhere),
)


def _locate(value: str, *, place: Location, base: Path, environment: Environment) -> Location:
    """Return ``place`` with the nvcc that a value such as ``nvcc-12``, a path, or ``ccache nvcc`` names."""
    command = parse_command(value, base=base)
    if command is None:
        return replace(place, absent="names no program")
    if command.options:
        options = " ".join(command.options)
        return replace(place, absent=f"has options ({options}); they belong in `flags` or NVCC_FLAGS")
    if "/" in command.program and is_folder(base / command.program):
        return replace(place, absent=f"{base / command.program} is a folder; name the nvcc in it")
    if command.launcher and find_program(command.launcher[0], environment=environment, base=base) is None:
        return replace(place, absent=f"there is no program {command.launcher[0]!r}")
    nvcc = find_program(command.program, environment=environment, base=base)
    absent = "" if nvcc else _explain_unfound(command.program, base=base)
    return replace(place, nvcc=nvcc, absent=absent, launcher=command.launcher)


def _locate_in(
    root: Path, *, where: str, origin: Origin, binding: Binding = "", notes: tuple[str, ...] = ()
) -> Location:
    nvcc = root / "bin" / "nvcc"
    absent = "" if os.access(nvcc, os.X_OK) and is_file(nvcc) else _explain_absence(nvcc)
    meant = _find_meant(root) if absent else None
    if meant is not None:
        absent += f": did you mean {meant}?"
    return Location(where, None if absent else nvcc, absent, binding, origin, (), notes)


def _explain_unfound(program: str, *, base: Path) -> str:
    return _explain_absence(base / program) if "/" in program else f"there is no program {program!r} on PATH"


def _explain_absence(path: Path) -> str:
    if is_file(path):
        return f"{path} cannot be executed"
    return f"{path} is a link that leads nowhere" if is_link(path) else f"{path} does not exist"


def _find_meant(root: Path) -> Path | None:
    """Return the toolkit that a value is close to: one with quotes or blanks around it, its ``bin``, or its nvcc."""
    # An absolute path in quotes has become a relative one, below the current folder.
    quote = next((mark for mark in "'\"" if f"/{mark}/" in str(root)), "")
    plain = Path((str(root).partition(f"/{quote}")[2] if quote else str(root)).strip(" '\""))
    near = (plain, plain.parent, plain.parent.parent)
    return next((each for each in near if each != root and is_file(each / "bin" / "nvcc")), None)
