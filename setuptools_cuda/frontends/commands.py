"""Our commands, put beneath those that the project has."""

from __future__ import annotations

import functools
from typing import Any

from setuptools import Command

from setuptools_cuda.frontends.bdist_wheel import BdistWheel
from setuptools_cuda.frontends.build import Build
from setuptools_cuda.frontends.build_ext import BuildExt
from setuptools_cuda.frontends.sdist import Sdist

OURS: dict[str, type[Any]] = {"build": Build, "build_ext": BuildExt, "bdist_wheel": BdistWheel, "sdist": Sdist}


@functools.cache
def mix(command: str, found: type[Command]) -> type[Command]:
    """Return a class for ``command``: ``found``, which speaks first, and ours between it and setuptools'.

    So a command class of the project keeps the last word, and its calls of ``super()`` reach us.
    The class is named as the command is: setuptools reads a command's options by that name.
    """
    ours = OURS[command]
    # A class that setuptools' own is derived from (Cython's build_ext) is in ours already.
    bases = (ours,) if issubclass(ours, found) else (found, ours)
    return type(command, bases, {"command_name": command, "__module__": found.__module__, "__doc__": found.__doc__})
