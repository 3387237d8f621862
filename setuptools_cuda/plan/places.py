"""Folders that lie elsewhere in each build environment, under names that stay.

An isolated build has numpy, Python's headers and the interpreter at a new path each time. Commands
name such folders by ``{place:NAME}``, which the runner of a job replaces: so the same build has the
same commands, the same keys and the same bytes wherever its environment lies. Pure.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

PYTHON, ENVIRONMENT = "python", "environment"
_HEADS = ("-I", "-L", "-isystem", "-iquote", "-idirafter", "")
"""What may stand before a path in one word."""
_OPAQUE = frozenset({"-Xlinker", "-rpath", "-Xcompiler"})
"""The word after one of these goes on to another program: a run path has to stay as it is."""


@dataclass(kw_only=True)
class Places:
    """A registry of such folders, filled while commands are planned."""

    sites: Sequence[str] = ()
    """Folders in which packages are installed, absolute, in the order of the search path."""
    environment: str = ""
    """The virtual environment, '' where there is none."""
    python_includes: Sequence[str] = ()
    """The folders of Python's headers."""
    _named: dict[str, str] = field(default_factory=dict)

    @property
    def folders(self) -> Mapping[str, str]:
        """Return the folder of each name that commands have, absolute."""
        return dict(self._named)

    def stable(self, words: Iterable[str]) -> tuple[str, ...]:
        """Return the words of a command with such folders by name."""
        return tuple(self._stable(words))

    def _stable(self, words: Iterable[str]) -> Iterator[str]:
        previous = ""
        for word in words:
            yield word if previous in _OPAQUE else self._word(word)
            previous = word

    def _word(self, word: str) -> str:
        head = next(head for head in _HEADS if word.startswith(head))
        return head + self.path(word[len(head) :])

    def path(self, path: str) -> str:
        """Return a path with its folder by name, where it lies in one that has or can have a name."""
        if not path.startswith("/"):
            return path
        for name, folder in self._candidates(path):
            if path == folder or path.startswith(f"{folder}/"):
                return f"{{place:{self._name(name, folder=folder)}}}{path[len(folder) :]}"
        return path

    def _candidates(self, path: str) -> Iterator[tuple[str, str]]:
        yield from ((PYTHON, folder) for folder in self.python_includes)
        for site in self.sites:
            first = path[len(site) :].strip("/").partition("/")[0] if path.startswith(f"{site}/") else ""
            if first:
                yield first, f"{site}/{first}"
        if self.environment:
            yield ENVIRONMENT, self.environment

    def _name(self, wanted: str, *, folder: str) -> str:
        name, number = wanted, 1
        while self._named.setdefault(name, folder) != folder:
            number += 1
            name = f"{wanted}-{number}"
        return name

    def prefix_maps(self, words: Sequence[str]) -> Iterator[tuple[str, str]]:
        """Yield (placeholder, name) of each place in ``words``, for options that keep its path out of outputs."""
        for name in self._named:
            placeholder = f"{{place:{name}}}"
            if any(placeholder in word for word in words):
                yield placeholder, name


def quoted(placeholder: str) -> str:
    """Return the placeholder that is replaced by the path as a word for a shell."""
    return f"{placeholder[:-1]}|sh}}"
