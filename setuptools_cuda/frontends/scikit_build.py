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

_ASKS_REQUIREMENTS = "get_requires_for_build_"
_HOOKS = (_ASKS_REQUIREMENTS, "build_wheel", "build_editable")


def provide_settings(state: str, env: Mapping[str, str]) -> dict[str, Any]:
    """Return a table as ``[tool.scikit-build]``: empty for a project without our table.

    ``state`` is what scikit-build-core does (sdist, wheel, editable, metadata_wheel,
    metadata_editable), ``env`` the variables. Raises SystemExit with all that is wrong.
    """
    if not _mentions_us(Path("pyproject.toml")):
        return {}
    settings: Any = importlib.import_module("setuptools_cuda.frontends.scikit_build_settings")
    asks, given = _find_hook()
    table: dict[str, Any] = settings.make_settings(
        state,
        asks_requirements=asks,
        variables=env,
        config_settings=given,
    )
    return table


def _mentions_us(pyproject: Path) -> bool:
    try:
        return b"setuptools-cuda" in pyproject.read_bytes()
    except OSError:
        return False


def _find_hook() -> tuple[bool, Mapping[str, object]]:
    """Return whether a hook that asks for requirements is running (PEP 517, PEP 660), and scikit-build-core's settings.

    It passes on neither, and calls both the question for requirements, in which alone a toolkit may
    be missing, and the build "wheel". The ``config_settings`` of another backend are not for it.
    """
    asks, given = False, dict[str, object]()
    frame = inspect.currentframe()
    while frame is not None:
        name = frame.f_code.co_name
        asks = asks or name.startswith(_ASKS_REQUIREMENTS)
        if name.startswith(_HOOKS) and str(frame.f_globals.get("__name__")).startswith("scikit_build_core."):
            given = frame.f_locals.get("config_settings") or given
        frame = frame.f_back
    return asks, given
