"""Which files a command reads, besides those that its depfile tells of."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence

from setuptools_cuda.execute.names import Names
from setuptools_cuda.plan.values import Job

_NO_FILES = ("-D", "-gencode", "-std", "-O", "-ffile-prefix-map", "-frandom-seed", "--frandom-seed")
_HANDED_ON = ("-Wl,", "-Wa,", "-Wp,")
"""Options of the linker, the assembler and the preprocessor, with commas between them."""
_LIBRARY_FORMS = ("lib{}.so", "lib{}.a")


def list_named(job: Job, *, names: Names) -> tuple[str, ...]:
    """Return the names of files that the command line itself names, and of the job's other inputs.

    An option such as ``-specs=FILE`` or ``-optf FILE`` is among them, whatever it is called.
    """
    found = dict.fromkeys(names.name(path) for path in job.inputs)
    for text in _texts(job.argv):
        name = names.name(names.replaced([text])[0])
        if name not in found and not name.startswith("{build}") and os.path.isfile(names.path(name)):  # noqa: PTH113 - names.path gives text
            found[name] = None
    return tuple(found)


def _texts(argv: Sequence[str]) -> Iterator[str]:
    """Yield what may be a path in a command, the programs at its start left out."""
    started = False
    previous = ""
    for word in argv:
        started = started or word.startswith("-")
        if started and previous not in {"-ccbin", "-o", "-MF"} and not word.startswith(_NO_FILES):
            for one in word.split(",")[1:] if word.startswith(_HANDED_ON) else (word,):
                value = one.partition("=")[2] if one.startswith("-") else one.removeprefix("@")
                yield from (part for part in value.split(",") if part)
        previous = word


def list_libraries(argv: Sequence[str], *, names: Names) -> tuple[str, ...]:
    """Return the names of the files that ``-l`` stands for, as far as ``-L`` leads to them.

    The linker goes through the folders in their order, and takes a shared library before a static
    one in each (ld, "-l"). What it finds in its own folders belongs to the system.
    """
    folders = [word[2:] for word in argv if word.startswith("-L")]
    libraries = [word[2:] for word in argv if word.startswith("-l")]
    found = (_find_library(library, folders=folders, names=names) for library in dict.fromkeys(libraries))
    return tuple(name for name in found if name)


def _find_library(library: str, *, folders: Sequence[str], names: Names) -> str:
    forms = (library[1:],) if library.startswith(":") else tuple(form.format(library) for form in _LIBRARY_FORMS)
    for folder in folders:
        for form in forms:
            name = names.name(names.replaced([f"{folder}/{form}"])[0])
            if os.path.isfile(names.path(name)):  # noqa: PTH113 - names.path gives text
                return name
    return ""
