"""The entry point ``scikit-build-core.config.default``: settings for scikit-build-core, below those of the project.

It is called in every build by scikit-build-core in an environment that has us, so that it imports
nothing heavy. scikit-build-core merges what it returns below ``[tool.scikit-build]``, variables
and ``-C`` settings: whatever a user says wins.
"""

from __future__ import annotations

import importlib
import inspect
from collections.abc import Mapping
from pathlib import Path
from typing import Any

_PEP_517_REQUIRES = "get_requires_for_build_"
_BUILDS = frozenset({"wheel", "editable"})


def provide_settings(state: str, env: Mapping[str, str]) -> dict[str, Any]:
    """Return a table as ``[tool.scikit-build]``: empty for a project without our table.

    ``state`` is what scikit-build-core does (sdist, wheel, editable, metadata_wheel,
    metadata_editable), ``env`` the variables. Raises SystemExit with all that is wrong.
    """
    if not _mentions_us(Path("pyproject.toml")):
        return {}
    settings: Any = importlib.import_module("setuptools_cuda.frontends.scikit_build_settings")
    table: dict[str, Any] = settings.make_settings(
        building=state in _BUILDS, asks_requirements=_is_asked_for_requirements(), variables=env
    )
    return table


def _mentions_us(pyproject: Path) -> bool:
    try:
        return b"setuptools-cuda" in pyproject.read_bytes()
    except OSError:
        return False


def _is_asked_for_requirements() -> bool:
    """Return whether a hook that asks for requirements is running (PEP 517, PEP 660).

    scikit-build-core calls both this hook and the build "wheel". Only here may a toolkit be missing.
    """
    frame = inspect.currentframe()
    while frame is not None:
        if frame.f_code.co_name.startswith(_PEP_517_REQUIRES):
            return True
        frame = frame.f_back
    return False
