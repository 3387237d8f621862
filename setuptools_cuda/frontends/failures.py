"""Our errors as setuptools' own, which it tells without a traceback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from setuptools import errors

from setuptools_cuda.errors import BuildError, Code, Exit

PREFIX = "error: "
"""setuptools puts this before what it tells, so the first of ours is taken off."""


def as_setuptools_error(error: BuildError) -> Exception:
    """Return the error of :mod:`setuptools.errors` that says what ``error`` says."""
    text = str(error).removeprefix(PREFIX)
    if error.problems[0].code is Code.LINK_FAILED:
        return errors.LinkError(text)
    if error.status is Exit.COMPILE:
        return errors.CompileError(text)
    return errors.SetupError(text)


@contextmanager
def told_by_setuptools() -> Iterator[None]:
    """Let a BuildError of the block leave it as an error of setuptools."""
    try:
        yield
    except BuildError as error:
        raise as_setuptools_error(error) from None
