"""Which host compilers a toolkit takes, as its own ``crt/host_config.h`` says."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from setuptools_cuda.environment import Environment
from setuptools_cuda.resolution.host_probe import probe_header

HEADER = "crt/host_config.h"

# The texts of the header's #error lines, the same from 11.8 to 13.5. Clang builds of NVIDIA's own
# (Grace, HOS) have ranges of theirs, in lines that say so before the word clang.
_GCC = re.compile(r"#error.*?unsupported GNU version! gcc versions later than (\d{1,4}) ")
_CLANG = re.compile(
    r"#error.*?unsupported clang version! clang version must be less than (\d{1,4})"
    r" and greater than (\d{1,4}(?:\.\d{1,4})?) "
)


@dataclass(frozen=True)
class HostRange:
    """The host compilers that a toolkit takes. None is no bound that the header states."""

    gcc: int | None
    """The newest major version of gcc."""
    clang: int | None
    """The newest major version of clang."""
    clang_above: str | None = None
    """The version that clang has to be newer than, as '3.2'."""

    def __str__(self) -> str:
        gcc = f"gcc up to {self.gcc}" if self.gcc is not None else "gcc: no limit stated"
        above = f" newer than {self.clang_above} and" if self.clang_above else ""
        clang = f"clang{above} up to {self.clang}" if self.clang is not None else "clang: no limit stated"
        return f"{gcc}, {clang}"


def find_host_range(host_compiler: Path, *, include_dirs: Sequence[Path], environment: Environment) -> HostRange | None:
    """Return what the toolkit's header says, or None where the compiler finds no such header.

    ``host_compiler`` is asked where the header is: on Debian it lies in the compiler's own folders.
    """
    file = probe_header(host_compiler, name=HEADER, include_dirs=include_dirs, environment=environment)
    return parse_host_range(file.read_text("utf-8", "replace")) if file else None


def parse_host_range(text: str) -> HostRange:
    """Return the range that the text of ``crt/host_config.h`` states."""
    gcc, clang = _GCC.search(text), _CLANG.search(text)
    return HostRange(
        gcc=int(gcc[1]) if gcc else None,
        clang=int(clang[1]) - 1 if clang else None,
        clang_above=clang[2] if clang else None,
    )
