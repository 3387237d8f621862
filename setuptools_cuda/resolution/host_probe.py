"""What a host compiler says of itself, and whether a toolkit takes it.

Both are asked of the compiler by preprocessing a few lines, some 15 ms each, so that its own
search folders count: on Debian the toolkit's headers lie in /usr/include.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from setuptools_cuda.environment import Environment
from setuptools_cuda.process import Completed, run_tool
from setuptools_cuda.resolution.programs import probe_variables

_WHO = """\
#if defined(__clang__)
setuptools_cuda_says clang __clang_major__ __clang_minor__ __clang_patchlevel__
#elif defined(__GNUC__)
setuptools_cuda_says gcc __GNUC__ __GNUC_MINOR__ __GNUC_PATCHLEVEL__
#endif
"""
_ANSWER = re.compile(r"setuptools_cuda_says (gcc|clang) (\d+) (\d+) (\d+)")
_MARKER = re.compile(r'^# \d+ "(.+?)"', re.MULTILINE)
_ERROR = re.compile(r"#error\s+(?:--\s*)?(.+)|error:\s+(?:#error\s+)?(?:--\s*)?(.+)")


@dataclass(frozen=True)
class HostFacts:
    """The answer of a host compiler."""

    family: Literal["gcc", "clang"]
    version: tuple[int, ...]

    def __str__(self) -> str:
        return f"{self.family} {'.'.join(map(str, self.version))}"


def probe_host(path: Path, *, environment: Environment) -> HostFacts | str:
    """Return family and version of a C++ compiler, or why it is none, as a phrase."""
    done = _preprocess(path, _WHO, environment=environment)
    match = _ANSWER.search(done.stdout)
    if done.ok and match is not None:
        family: Literal["gcc", "clang"] = "clang" if match[1] == "clang" else "gcc"
        return HostFacts(family, (int(match[2]), int(match[3]), int(match[4])))
    said = done.stderr.strip().splitlines()
    return f"is not a C++ compiler that nvcc works with: {said[-1]}" if said else "is neither gcc nor clang"


def probe_fit(path: Path, *, include_dirs: Sequence[Path], environment: Environment) -> str:
    """Return '' when the toolkit's ``crt/host_config.h`` takes the compiler, else what it says."""
    done = _preprocess(path, "#include <crt/host_config.h>\n", include_dirs=include_dirs, environment=environment)
    if done.ok:
        return ""
    for line in done.stderr.splitlines():
        if match := _ERROR.search(line):
            return (match[1] or match[2]).strip()
    return done.stderr.strip() or f"status {done.status}"


def probe_headers(
    path: Path, *, names: Sequence[str], include_dirs: Sequence[Path], environment: Environment
) -> frozenset[str]:
    """Return those headers that the compiler finds, in the given folders or in its own."""
    lines = [f"#if __has_include(<{name}>)\nsetuptools_cuda_has_{place}\n#endif" for place, name in enumerate(names)]
    done = _preprocess(path, "\n".join(lines) + "\n", include_dirs=include_dirs, environment=environment)
    places = {int(place) for place in re.findall(r"setuptools_cuda_has_(\d+)", done.stdout)}
    return frozenset(name for place, name in enumerate(names) if place in places)


def probe_header(path: Path, *, name: str, include_dirs: Sequence[Path], environment: Environment) -> Path | None:
    """Return the file that ``#include <name>`` reads, in the given folders or in the compiler's own, or None."""
    done = _preprocess(path, f"#include <{name}>\n", include_dirs=include_dirs, environment=environment, markers=True)
    found = (Path(match) for match in _MARKER.findall(done.stdout) if match.endswith(f"/{name}"))
    return next((file for file in found if file.is_file()), None)


def probe_library(path: Path, *, name: str, environment: Environment) -> Path | None:
    """Return where the compiler's linker finds the library file ``name`` by itself, or None."""
    done = run_tool([str(path), f"-print-file-name={name}"], variables=probe_variables(environment))
    found = Path(done.stdout.strip() or name)
    return found if done.ok and found.is_absolute() and found.exists() else None


def probe_text(path: Path, *, environment: Environment) -> str:
    """Return the text by which builds of one compiler differ, without its name and place."""
    variables = probe_variables(environment)
    version = run_tool([str(path), "--version"], variables=variables).stdout
    machine = run_tool([str(path), "-dumpmachine"], variables=variables).stdout.strip()
    first = version.splitlines()[0] if version.strip() else ""
    return f"{first.removeprefix(path.name).strip()} {machine}"


def _preprocess(
    path: Path, text: str, *, environment: Environment, include_dirs: Sequence[Path] = (), markers: bool = False
) -> Completed:
    folders = [word for folder in include_dirs for word in ("-I", str(folder))]
    quiet = () if markers else ("-P",)
    argv = [str(path), "-x", "c++", "-E", *quiet, "-D__CUDACC__", *folders, "-"]
    return run_tool(argv, variables=probe_variables(environment), stdin=text.encode())
