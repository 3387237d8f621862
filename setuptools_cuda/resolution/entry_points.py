"""What other distributions add: entry points of the build environment."""

from __future__ import annotations

import importlib.metadata
from collections.abc import Collection, Iterable, Sequence

from setuptools_cuda.errors import BuildError, Code, Problem, raise_if_any


def find_entry_points(group: str, *, search_path: Sequence[str]) -> tuple[importlib.metadata.EntryPoint, ...]:
    """Return the entry points of ``group``, by name; of one name the first on the path counts."""
    found: dict[str, importlib.metadata.EntryPoint] = {}
    for distribution in importlib.metadata.distributions(path=list(search_path)):
        for point in distribution.entry_points:
            if point.group == group:
                found.setdefault(point.name, point)
    return tuple(found[name] for name in sorted(found))


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
    try:
        loaded: object = point.load()
    except Exception as error:  # a plug-in may raise anything while it is imported
        raise BuildError(describe_failure(point, error=error)) from error
    return loaded


def describe_failure(point: importlib.metadata.EntryPoint, *, error: BaseException) -> Problem:
    """Return the problem that ``point`` raised ``error``."""
    return _describe(point, "raised", f"{type(error).__name__}: {error}")


def describe_nonsense(point: importlib.metadata.EntryPoint, *, got: object, wanted: str) -> Problem:
    """Return the problem that ``point`` gave something else than it has to."""
    return _describe(point, "gave", f"{type(got).__name__} {got!r:.80}, where {wanted} is wanted")


def _describe(point: importlib.metadata.EntryPoint, label: str, text: str) -> Problem:
    provider = point.dist.metadata["Name"] if point.dist is not None else "an unknown distribution"
    return Problem(
        Code.PLUGIN_FAILED,
        f"the plug-in {point.name!r} of {provider} failed",
        f"entry point {point.group}",
        ((label, text), ("object", point.value)),
        (f"ask the authors of {provider}, or build without it",),
    )
