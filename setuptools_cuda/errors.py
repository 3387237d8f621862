"""The closed list of what can go wrong, and the one shape in which it is told.

A :class:`Problem` says what happened, why, and what to do next. A :class:`BuildError`
carries one or more of them to the user; front-ends turn it into their own kind of stop.
"""

from __future__ import annotations

import enum
from collections.abc import Iterable
from dataclasses import dataclass

IN = "in"
"""The label of the line that says in which file, and in which part of it, a key stands."""


class Exit(enum.IntEnum):
    """Exit statuses of the ``setuptools-cuda`` command."""

    GOOD = 0
    FINDING = 1
    CONFIGURATION = 2
    TOOLCHAIN = 3
    COMPILE = 4


class Code(enum.Enum):
    """Every kind of problem, with the exit status that it ends in."""

    # configuration
    UNKNOWN_KEY = ("unknown-key", Exit.CONFIGURATION)
    WRONG_TYPE = ("wrong-type", Exit.CONFIGURATION)
    BAD_VALUE = ("bad-value", Exit.CONFIGURATION)
    MISSING_KEY = ("missing-key", Exit.CONFIGURATION)
    MISSING_SOURCE = ("missing-source", Exit.CONFIGURATION)
    NO_MATCH = ("no-match", Exit.CONFIGURATION)
    BAD_NAME = ("bad-name", Exit.CONFIGURATION)
    DUPLICATE_OUTPUT = ("duplicate-output", Exit.CONFIGURATION)
    RESERVED_FLAG = ("reserved-flag", Exit.CONFIGURATION)
    CONFLICT = ("conflict", Exit.CONFIGURATION)
    UNKNOWN_LIBRARY = ("unknown-library", Exit.CONFIGURATION)
    UNKNOWN_PACKAGE = ("unknown-package", Exit.CONFIGURATION)
    NOT_PACKAGED = ("not-packaged", Exit.CONFIGURATION)
    NOT_AVAILABLE = ("not-available", Exit.CONFIGURATION)
    UNSAFE_PATH = ("unsafe-path", Exit.CONFIGURATION)
    BAD_PYPROJECT = ("bad-pyproject", Exit.CONFIGURATION)
    BAD_ARCHITECTURE = ("bad-architecture", Exit.CONFIGURATION)
    NO_ARCHITECTURE_LEFT = ("no-architecture-left", Exit.CONFIGURATION)
    IMAGES_DO_NOT_SERVE = ("images-do-not-serve", Exit.CONFIGURATION)
    # toolchain
    NO_COMPILER = ("no-compiler", Exit.TOOLCHAIN)
    UNUSABLE_SETTING = ("unusable-setting", Exit.TOOLCHAIN)
    UNFIT_RELEASE = ("unfit-release", Exit.TOOLCHAIN)
    PARTIAL_TOOLKIT = ("partial-toolkit", Exit.TOOLCHAIN)
    MIXED_RELEASES = ("mixed-releases", Exit.TOOLCHAIN)
    UNKNOWN_ARCHITECTURE = ("unknown-architecture", Exit.TOOLCHAIN)
    NO_GPU = ("no-gpu", Exit.TOOLCHAIN)
    NO_HOST_COMPILER = ("no-host-compiler", Exit.TOOLCHAIN)
    UNFIT_HOST_COMPILER = ("unfit-host-compiler", Exit.TOOLCHAIN)
    PLUGIN_FAILED = ("plugin-failed", Exit.TOOLCHAIN)
    TOOL_FAILED = ("tool-failed", Exit.TOOLCHAIN)
    MISSING_TOOL = ("missing-tool", Exit.TOOLCHAIN)
    # building
    COMPILE_FAILED = ("compile-failed", Exit.COMPILE)
    LINK_FAILED = ("link-failed", Exit.COMPILE)
    OUT_OF_MEMORY = ("out-of-memory", Exit.COMPILE)
    DISK_FULL = ("disk-full", Exit.COMPILE)
    NOT_WRITABLE = ("not-writable", Exit.COMPILE)
    BAD_INPUT_FILE = ("bad-input-file", Exit.COMPILE)
    # looking
    DRIVER_TOO_OLD = ("driver-too-old", Exit.FINDING)
    MISSING_ARCHITECTURE = ("missing-architecture", Exit.FINDING)
    TOO_LARGE = ("too-large", Exit.FINDING)
    UNDECLARED_REQUIREMENT = ("undeclared-requirement", Exit.FINDING)

    def __init__(self, slug: str, status: Exit) -> None:
        self.slug = slug
        self.status = status


@dataclass(frozen=True)
class Problem:
    """One thing that is wrong, in the user's words.

    ``what`` is one line. ``where`` is the dotted key, variable or file it hangs on.
    ``details`` are labelled lines (label, text) that say why; ``fix`` says what to do next.
    """

    code: Code
    what: str
    where: str = ""
    details: tuple[tuple[str, str], ...] = ()
    fix: tuple[str, ...] = ()

    def render(self) -> str:
        """Return the problem as indented plain text, without a trailing newline."""
        head = f"{self.where}: {self.what}" if self.where else self.what
        lines = [head]
        details = (*self._file(), *self.details)
        width = max((len(label) for label, _ in details), default=0)
        for label, text in details:
            lines.extend(_hang(f"  {label:<{width}}  " if label else "  ", text))
        for number, text in enumerate(self.fix):
            lines.extend(_hang("  to fix  " if number == 0 else "          ", text))
        return "\n".join(lines)

    def _file(self) -> tuple[tuple[str, str], ...]:
        """Return the line that names the file of a dotted key, unless the details do."""
        told = any(label == IN for label, _ in self.details)
        return () if told or not self.where.startswith("tool.") else ((IN, "pyproject.toml"),)


def _hang(prefix: str, text: str) -> list[str]:
    first, *rest = text.splitlines() or [""]
    return [prefix + first, *(" " * len(prefix) + line for line in rest)]


class BuildError(Exception):
    """One or more problems that end the work. ``str()`` is the whole message."""

    def __init__(self, *problems: Problem) -> None:
        if not problems:
            raise ValueError("a BuildError needs at least one problem")
        super().__init__(*problems)
        self.problems: tuple[Problem, ...] = problems

    @property
    def status(self) -> Exit:
        """Return the exit status of the first problem."""
        return self.problems[0].code.status

    def __str__(self) -> str:
        return "\n".join(f"error: {problem.render()}" for problem in self.problems)


def describe_problems(problems: Iterable[Problem]) -> list[dict[str, object]]:
    """Return ``problems`` as JSON's own types."""
    return [
        {
            "code": each.code.slug,
            "status": int(each.code.status),
            "what": each.what,
            "where": each.where or None,
            "details": [{"label": label, "text": text} for label, text in each.details],
            "fix": list(each.fix),
        }
        for each in problems
    ]


def spell_controls(text: str, *, keep: str = "") -> str:
    """Return ``text`` with the characters that a terminal would act on spelled out, but for those of ``keep``."""
    return "".join(
        each if each.isprintable() or each in keep else each.encode("unicode_escape").decode("ascii") for each in text
    )


def raise_if_any(problems: Iterable[Problem]) -> None:
    """Raise one :class:`BuildError` with all ``problems``, if there are any."""
    found = tuple(problems)
    if found:
        raise BuildError(*found)
