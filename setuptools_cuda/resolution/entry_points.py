"""What other distributions add: entry points of the build environment."""

from __future__ import annotations

import contextlib
import importlib.metadata
import sys
from collections.abc import Callable, Collection, Iterable, Sequence

from packaging.utils import canonicalize_name

from setuptools_cuda.errors import BuildError, Code, Problem, raise_if_any


def find_entry_points(group: str, *, search_path: Sequence[str]) -> tuple[importlib.metadata.EntryPoint, ...]:
    """Return the entry points of ``group``, by name; of one distribution the first on the path counts.

    Raises:
        BuildError: PLUGIN_FAILED where two distributions have one name, or the entry points of one cannot be read.
    """
    found: dict[str, importlib.metadata.EntryPoint] = {}
    problems: list[Problem] = []
    for distribution in importlib.metadata.distributions(path=list(search_path)):
        for point in _read_entry_points(distribution):
            if point.group == group and not _is_same(found.setdefault(point.name, point), point):
                owner = _name_provider(found[point.name])
                problems.append(_describe(point, "name", f"{point.name!r} is what a plug-in of {owner} is called too"))
    raise_if_any(problems)
    return tuple(found[name] for name in sorted(found))


def _read_entry_points(distribution: importlib.metadata.Distribution) -> Sequence[importlib.metadata.EntryPoint]:
    try:
        return tuple(distribution.entry_points)
    except (TypeError, ValueError) as error:
        # A line without '=', or bytes that are not UTF-8.
        name = distribution.metadata["Name"]
        what, fix = f"the entry points of {name} cannot be read", f"install {name} anew, or build without it"
        raise BuildError(
            Problem(Code.PLUGIN_FAILED, what, "entry_points.txt", (("why", str(error)),), (fix,))
        ) from error


def _is_same(first: importlib.metadata.EntryPoint, second: importlib.metadata.EntryPoint) -> bool:
    """Return whether both are of one distribution, which may be on the path twice."""
    return canonicalize_name(_name_provider(first)) == canonicalize_name(_name_provider(second))


def _name_provider(point: importlib.metadata.EntryPoint) -> str:
    return str(point.dist.metadata["Name"]) if point.dist is not None else "an unknown distribution"


def check_names(points: Iterable[importlib.metadata.EntryPoint], *, taken: Collection[str]) -> None:
    """Refuse entry points that have a name of ours: neither may be passed over without a word.

    Raises:
        BuildError: PLUGIN_FAILED for each of them.
    """
    raise_if_any(
        _describe(point, "name", f"{point.name!r} is taken by setuptools_cuda itself")
        for point in points
        if point.name in taken
    )


def load_entry_point(point: importlib.metadata.EntryPoint) -> object:
    """Return the object that ``point`` names.

    Raises:
        BuildError: PLUGIN_FAILED, with what the import said.
    """
    return ask_plugin(point, point.load)


def ask_plugin(point: importlib.metadata.EntryPoint, function: Callable[..., object], *arguments: object) -> object:
    """Return what ``function``, which ``point`` has brought, answers.

    What it prints goes to stderr: what our commands print is read as JSON, or handed to a shell.

    Raises:
        BuildError: PLUGIN_FAILED for anything that it raises, SystemExit included; its own BuildError as it is.
    """
    try:
        with contextlib.redirect_stdout(sys.stderr):
            return function(*arguments)
    except (BuildError, KeyboardInterrupt):
        raise
    except BaseException as error:
        raise BuildError(_describe_failure(point, error=error)) from error


def describe_nonsense(point: importlib.metadata.EntryPoint, *, got: object, wanted: str) -> Problem:
    """Return the problem that ``point`` gave something else than it has to."""
    return _describe(point, "gave", f"{type(got).__name__} {_render(got, by=repr):.80}, where {wanted} is wanted")


def _describe_failure(point: importlib.metadata.EntryPoint, *, error: BaseException) -> Problem:
    return _describe(point, "raised", f"{type(error).__name__}: {_render(error, by=str)}")


def _render(value: object, *, by: Callable[[object], str]) -> str:
    try:
        return by(value)
    except Exception:  # noqa: BLE001 - a plug-in's object may raise anything here too
        return "(has no text)"


def _describe(point: importlib.metadata.EntryPoint, label: str, text: str) -> Problem:
    provider = _name_provider(point)
    return Problem(
        Code.PLUGIN_FAILED,
        f"the plug-in {point.name!r} of {provider} failed",
        f"entry point {point.group}",
        ((label, text), ("object", point.value)),
        (f"ask the authors of {provider}, or build without it",),
    )
