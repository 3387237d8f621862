"""What one call of a build hook carries to the commands that setuptools runs in it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from setuptools_cuda.config.keys import PROJECT
from setuptools_cuda.errors import Code, Problem, raise_if_any

if TYPE_CHECKING:
    from setuptools_cuda.frontends.project import CudaProject

ConfigSettings = Mapping[str, "str | Sequence[str] | None"]

PREFIX = "cuda."
"""Settings of ours begin with this: ``-C cuda.architectures=90``."""


@dataclass
class Session:
    """The settings of ours in one hook call, and the projects that were set up in it."""

    settings: Mapping[str, str | Sequence[str]] = field(default_factory=dict)
    projects: list[CudaProject] = field(default_factory=list)


_current: ContextVar[Session | None] = ContextVar("setuptools_cuda_session", default=None)


def find_session() -> Session | None:
    """Return the session of the hook that is running, or None under plain setuptools."""
    return _current.get()


@contextmanager
def open_session(config_settings: ConfigSettings | None) -> Iterator[Session]:
    """Make a session with our settings among ``config_settings`` current, and give it.

    Raises BuildError for a key of ours without its prefix: setuptools ignores what it does not know.
    """
    given = config_settings or {}
    raise_if_any(
        _bare(key) for key in given if key.lower().removeprefix(PREFIX) in PROJECT.keys and not key.startswith(PREFIX)
    )
    session = Session({key: _value(value) for key, value in given.items() if key.startswith(PREFIX)})
    token = _current.set(session)
    try:
        yield session
    finally:
        _current.reset(token)


def without_ours(config_settings: ConfigSettings | None) -> dict[str, str | list[str] | None] | None:
    """Return ``config_settings`` as setuptools may see them: without ``cuda.*``."""
    if config_settings is None:
        return None
    rest = {key: value for key, value in config_settings.items() if not key.startswith(PREFIX)}
    return {key: value if value is None or isinstance(value, str) else list(value) for key, value in rest.items()}


def _bare(key: str) -> Problem:
    return Problem(
        Code.UNKNOWN_KEY,
        "is no setting of setuptools",
        f"-C {key}",
        fix=(f"did you mean -C {PREFIX}{key.lower().removeprefix(PREFIX)}?",),
    )


def _value(value: str | Sequence[str] | None) -> str | Sequence[str]:
    # "-C cuda.required" without a value reaches a backend as None.
    return "" if value is None else value
