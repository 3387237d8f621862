"""Where the artifact cache lies. Read-only."""

from __future__ import annotations

from pathlib import Path

from setuptools_cuda.config.model import Settings
from setuptools_cuda.environment import Environment

OFF = "off"
NAME = "setuptools-cuda"


def find_cache_folder(settings: Settings, *, environment: Environment) -> Path | None:
    """Return the folder of the cache, or None where it is off or the user has no place for caches.

    The key ``cache`` names a folder, relative to the project, or is 'off'.
    """
    asked = settings.project.cache
    if asked is None:
        return find_user_cache(environment)
    if asked.strip().lower() == OFF:
        return None
    return environment.find_place(asked, root=settings.root)


def find_user_cache(environment: Environment) -> Path | None:
    """Return our folder in the user's place for caches, by platform, or None.

    On Linux that is ``XDG_CACHE_HOME``, else ``~/.cache`` (XDG Base Directory Specification).
    """
    if environment.platform_system == "Windows":
        local = environment.get("LOCALAPPDATA")
        return Path(local) / NAME / "cache" if local else None
    given = environment.get("XDG_CACHE_HOME")
    if given and Path(given).is_absolute():
        return Path(given) / NAME
    home = environment.get("HOME")
    if not home:
        return None
    return Path(home) / ("Library/Caches" if environment.platform_system == "Darwin" else ".cache") / NAME
