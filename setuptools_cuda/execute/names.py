"""Names of files that stay the same when project and build environment lie elsewhere.

A name is a path relative to the project; or ``{build}/...`` in the build folder, ``{place:NAME}/...``
or ``{tool:NAME}/...`` in what the plan calls so, ``{site}/...`` among installed packages; or an
absolute path, of what lies on the machine itself.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Names:
    """Translates between paths and names, for one build."""

    root: str
    build: str
    """The build folder, relative to the root where it lies below it."""
    folders: Mapping[str, str]
    """Placeholder, as ``{place:numpy}``, to folder or file; what lies in another comes before it."""
    sites: Sequence[str]
    """Folders in which packages are installed, in the order of the search path."""

    def name(self, path: str) -> str:
        """Return the name of a file. A relative ``path`` is one in the project."""
        for placeholder, folder in self.folders.items():
            if _lies_in(path, folder):
                return placeholder + path[len(folder) :]
        for site in self.sites:
            name = f"{{site}}{path[len(site) :]}"
            if _lies_in(path, site) and self.path(name) == path:
                return name
        inside = path[len(self.root) + 1 :] if _lies_in(path, self.root) else path
        if _lies_in(inside, self.build) or _lies_in(path, self.build):
            inside = inside if _lies_in(inside, self.build) else path
            return f"{{build}}{inside[len(self.build) :]}"
        return inside

    def path(self, name: str) -> str:
        """Return where the file of a name lies, absolute; where it would lie, if there is none."""
        if not name.startswith("{"):
            return os.path.join(self.root, name)  # noqa: PTH118 - called for every dependency of every job
        head, _, rest = name.partition("}")
        if head == "{build":
            return os.path.join(self.root, self.build + rest)  # noqa: PTH118 - the same
        if head == "{site":
            return self._site_path(rest)
        folder = self.folders.get(f"{head}}}")
        return os.path.join(self.root, name) if folder is None else folder + rest  # noqa: PTH118 - the same

    def _site_path(self, rest: str) -> str:
        places = [site + rest for site in self.sites]
        return next(filter(os.path.exists, places), places[0] if places else rest)

    def replaced(self, words: Iterable[str]) -> list[str]:
        """Return the words of a command with every folder at its place, and the build folder relative."""
        return [self._replaced(word) for word in words]

    def _replaced(self, word: str) -> str:
        if "{" not in word:
            return word
        for placeholder, folder in self.folders.items():
            word = word.replace(placeholder, folder)
        return word.replace("{build}", self.build).replace("{root}", self.root)


def make_folders(*, places: Mapping[str, str], tools: Mapping[str, str]) -> dict[str, str]:
    """Return what ``Names.folders`` is, from a plan's places and tools."""
    every = {f"{{place:{name}}}": folder for name, folder in places.items()}
    every |= {f"{{tool:{name}}}": path for name, path in tools.items()}
    return dict(sorted(every.items(), key=lambda item: (-len(item[1]), item[0])))


def _lies_in(path: str, folder: str) -> bool:
    return path.startswith(folder) and path[len(folder) :][:1] in {"", "/"}
