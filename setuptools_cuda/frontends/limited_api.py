"""The limited API: one tag for the wheel, for every extension in it, or a reason why not."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import setuptools

from setuptools_cuda.errors import Code, Problem, raise_if_any
from setuptools_cuda.plan.extensions import limited_api_holds
from setuptools_cuda.plan.values import PythonFacts


@dataclass(frozen=True)
class WheelTag:
    """The tag of the limited API that the wheel gets; None for an ordinary wheel, with a notice."""

    tag: str | None
    notice: str = ""


def resolve_wheel_tag(
    extensions: Iterable[setuptools.Extension], *, asked: str | None, python: PythonFacts
) -> WheelTag:
    """Return the wheel's tag. ``asked`` is the option ``py_limited_api`` of bdist_wheel.

    Raises BuildError where extensions, or they and the option, contradict each other.
    """
    every = list(extensions)
    tags = sorted({tag for tag in map(find_tag, every) if tag})
    if not tags:
        return WheelTag(asked)
    raise_if_any(_contradictions(every, tags=tags, asked=asked))
    if limited_api_holds(tags[0], python=python):
        return WheelTag(tags[0])
    version = ".".join(map(str, python.version)) + ("t" if python.free_threaded else "")
    return WheelTag(None, f"limited-api = {tags[0]!r} does not hold for Python {version}: an ordinary wheel is built")


def find_tag(extension: setuptools.Extension) -> str | None:
    """Return the extension's own tag, or None."""
    tag = getattr(extension, "limited_api", None)
    return tag if isinstance(tag, str) else None


def set_suffixes(extensions: Iterable[setuptools.Extension], *, python: PythonFacts) -> None:
    """Let setuptools name each extension with a tag as the tag asks for."""
    for extension in extensions:
        tag = find_tag(extension)
        if tag:
            extension.py_limited_api = limited_api_holds(tag, python=python)


def check_tags_known(extensions: Iterable[setuptools.Extension], *, tag: str | None) -> None:
    """Raise BuildError for an extension of ours that wants the limited API where no tag says which."""
    raise_if_any(
        Problem(
            Code.MISSING_KEY,
            f"{one.name} has py_limited_api=True, and nothing says which version's",
            fix=('give it limited_api="cp311" instead, with your oldest Python',),
        )
        for one in extensions
        if one.py_limited_api and not find_tag(one) and not tag
    )


def _contradictions(extensions: list[setuptools.Extension], *, tags: list[str], asked: str | None) -> Iterable[Problem]:
    if len(tags) > 1:
        details = tuple((one.name, find_tag(one) or "") for one in extensions if find_tag(one))
        what = "extensions of one wheel ask for different versions of the limited API"
        yield Problem(Code.CONFLICT, what, "limited-api", details, ("give all of them one tag",))
    if asked and asked not in tags:
        what = f"the extensions ask for {tags[0]}, and the option py-limited-api of bdist_wheel for {asked}"
        yield Problem(Code.CONFLICT, what, "limited-api", fix=("leave the option out: the wheel's tag follows",))
    without = [one.name for one in extensions if not find_tag(one) and not one.py_limited_api]
    if without:
        what = f"the wheel cannot be {tags[0]}-abi3, since {', '.join(without)} does not keep to the limited API"
        fix = ("give every extension of the wheel limited-api, or none",)
        yield Problem(Code.CONFLICT, what, "limited-api", fix=fix)
