"""Which programs a command calls, as what they are: by content and by what they say of themselves."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from pathlib import Path

from setuptools_cuda import __version__
from setuptools_cuda.execute.digests import Digests
from setuptools_cuda.execute.names import Names
from setuptools_cuda.plan.options import OUT
from setuptools_cuda.plan.values import Job
from setuptools_cuda.process import run_tool

_PROGRAMS = "{programs}/"
"""What stands before our own programs, in commands of device compilers."""


class Compilers:
    """Answers by command; each is asked once a build."""

    def __init__(self, *, digests: Digests, names: Names, variables: Mapping[str, str], cython: str) -> None:
        """Keep what is needed to ask. ``cython`` is the version that runs ``.pyx`` sources."""
        self._digests = digests
        self._names = names
        self._variables = variables
        self._cython = cython
        self._known: dict[tuple[str, ...], tuple[tuple[str, str], ...]] = {}

    def describe(self, job: Job) -> tuple[tuple[str, str], ...]:
        """Return labelled facts about what a job calls besides the toolchain, whose identity is its own."""
        if job.kind in {"cuda", "device-link"}:
            return ()
        if job.kind == "cython":
            return (("cython", self._cython),)
        if job.kind == "device":
            return self._describe_programs(job.argv)
        words = _leading(job.argv)
        if words not in self._known:
            self._known[words] = self._ask(words)
        return self._known[words]

    def _describe_programs(self, argv: Sequence[str]) -> tuple[tuple[str, str], ...]:
        ours = [Path(__file__).with_name(word[len(_PROGRAMS) :]) for word in argv if word.startswith(_PROGRAMS)]
        return (("setuptools_cuda", __version__), *(("program", self._digests.find(str(path))) for path in ours))

    def _ask(self, words: Sequence[str]) -> tuple[tuple[str, str], ...]:
        facts = []
        for word in self._names.replaced(words):
            path = shutil.which(word, path=self._variables.get("PATH")) if "/" not in word else self._names.path(word)
            facts.append(("program", self._digests.find(str(Path(path).resolve())) if path else word))
        # A wrapper stays the same when what it calls is another.
        said = run_tool(
            [*self._names.replaced(words), "--version"],
            variables={**self._variables, "LC_ALL": "C"},
            cwd=Path(self._names.root),
        )
        return (*facts, ("says", said.stdout if said.ok else said.stderr))


def _leading(argv: Sequence[str]) -> tuple[str, ...]:
    """Return the words before the first option or file: a program, with launchers before it."""
    count = next((place for place, word in enumerate(argv) if word.startswith("-") or word == OUT), len(argv))
    # What an archiver is to do is said by a word without a dash.
    count -= count > 1 and argv[count:] != () and argv[count] == OUT
    return tuple(argv[: max(1, count)])
