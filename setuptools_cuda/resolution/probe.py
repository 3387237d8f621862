"""What an nvcc says of itself: its release, where its toolkit lies, what it compiles for.

A path says nothing: nvcc may be a wrapper script, a masquerading ccache, or Debian's split
installation. So the toolkit's folders are those that ``nvcc --dryrun`` prints, which come from
its ``nvcc.profile`` (NVIDIA CUDA Compiler Driver, section "NVCC profile").
"""

from __future__ import annotations

import itertools
import os
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from setuptools_cuda.environment import Environment
from setuptools_cuda.errors import BuildError, Code, Problem
from setuptools_cuda.process import Completed, run_tool
from setuptools_cuda.resolution.catalogue import add_variants, find_facts
from setuptools_cuda.resolution.programs import probe_variables
from setuptools_cuda.resolution.values import Architecture, Release

_RELEASE = re.compile(r"release (\d{1,4})\.(\d{1,4}), V([0-9.]+)", re.ASCII)
_ASSIGNMENT = re.compile(r"^#\$ (\w+)=(.*)$", re.MULTILINE)
_CODE = re.compile(r"^sm_(\d{2,3})\s*$", re.MULTILINE | re.ASCII)
_PTXAS_TARGET = re.compile(r"\bsm_(\d+)([af])\b")


YOUNG_OPTIONS = ("--frandom-seed", "--Ofast-compile")
"""Options that builds give where nvcc has them: 12.5 does not have the seed, 13.0 does."""

# Where libraries of a toolkit lie. Wheels have no lib64, though the nvcc of 13.0 looks for it.
_LIBRARY_FOLDERS = ("lib64", "lib", "lib64/stubs", "lib/stubs")


@dataclass(frozen=True)
class NvccVersion:
    """The answer to ``nvcc --version``."""

    release: Release
    version: str
    text: str


@dataclass(frozen=True)
class Unusable:
    """Why an nvcc cannot be used, as a phrase."""

    reason: str


@dataclass(frozen=True)
class Layout:
    """Where the parts of one toolkit lie. Folders that do not exist are left out."""

    nvcc: Path
    """By the path it has to be called by."""
    binary: Path
    """The compiler driver itself, where ``nvcc`` is a wrapper."""
    root: Path
    include_dirs: tuple[Path, ...]
    library_dirs: tuple[Path, ...]
    cicc: Path | None
    ptxas: Path | None
    libdevice: Path | None


@dataclass(frozen=True)
class Toolkit:
    """One nvcc with what belongs to it."""

    version: NvccVersion
    layout: Layout
    site: Path | None
    """The site-packages folder, for a toolkit that is made of NVIDIA's wheels."""

    @property
    def release(self) -> Release:
        """Return the release of its nvcc."""
        return self.version.release


def probe_version(nvcc: Path, *, environment: Environment) -> NvccVersion | Unusable:
    """Return release and version of ``nvcc``, or why it gives none."""
    done = run_tool([str(nvcc), "--version"], variables=probe_variables(environment))
    version = parse_nvcc_version(done.stdout)
    if done.ok and version is not None:
        return version
    said = _last_line(done)
    if done.ok:
        return Unusable(f"does not say its release: {said}" if said else "does not say its release")
    return Unusable(f"does not run (status {done.status}): {said}" if said else f"does not run (status {done.status})")


def parse_nvcc_version(text: str) -> NvccVersion | None:
    """Return what the answer to ``nvcc --version`` says, or None where it names no release."""
    match = _RELEASE.search(text)
    return NvccVersion(Release(int(match[1]), int(match[2])), match[3], text.strip()) if match else None


def probe_layout(nvcc: Path, *, host_compiler: Path, environment: Environment) -> Layout:
    """Return where the toolkit of ``nvcc`` lies.

    nvcc asks the host compiler for its properties even in a dry run, so one has to be named.

    Raises:
        BuildError: TOOL_FAILED when the dry run fails or nvcc cannot name its own folder,
            PARTIAL_TOOLKIT for an nvcc without its ``nvcc.profile``.
    """
    for path in dict.fromkeys((nvcc, nvcc.resolve())):
        facts = _run_dry(path, host_compiler=host_compiler, environment=environment)
        if _has_profile(facts):
            return _parse_layout(path, facts=facts)
    raise BuildError(
        Problem(
            Code.PARTIAL_TOOLKIT,
            "nvcc does not know where its toolkit is",
            str(nvcc),
            (("why", f"there is no nvcc.profile beside {nvcc.resolve()}"),),
            ("install the toolkit anew, or name the nvcc of a whole one with SETUPTOOLS_CUDA_NVCC",),
        )
    )


def probe_known(layout: Layout, *, release: Release, environment: Environment) -> tuple[Architecture, ...]:
    """Return the architectures that an nvcc compiles for, variants included, in order.

    The numbers are nvcc's own. It does not list variants: they are the catalogue's, and for
    a release newer than the catalogue those that its ptxas names.

    Raises:
        BuildError: TOOL_FAILED when nvcc lists no architecture.
    """
    done = run_tool([str(layout.nvcc), "--list-gpu-code"], variables=probe_variables(environment))
    numbers = tuple(sorted({int(number) for number in _CODE.findall(done.stdout)}))
    if not done.ok or not numbers:
        raise BuildError(_describe_failure(done, "nvcc does not list its architectures"))
    facts = find_facts(release)
    if facts is not None:
        return add_variants(numbers, facts=facts)
    plain = {Architecture(number) for number in numbers}
    return tuple(sorted(plain | set(_find_variants(layout.ptxas, environment=environment))))


def probe_lacks(layout: Layout, *, environment: Environment) -> tuple[str, ...]:
    """Return those of :data:`YOUNG_OPTIONS` that ``nvcc --help`` does not name."""
    done = run_tool([str(layout.nvcc), "--help"], variables=probe_variables(environment))
    return tuple(option for option in YOUNG_OPTIONS if not re.search(rf"^{option}\b", done.stdout, re.MULTILINE))


def _find_variants(ptxas: Path | None, *, environment: Environment) -> tuple[Architecture, ...]:
    if ptxas is None:
        return ()
    done = run_tool([str(ptxas), "--help"], variables=probe_variables(environment))
    found = _PTXAS_TARGET.findall(done.stdout)
    return tuple(Architecture(int(number), "a" if variant == "a" else "f") for number, variant in found)


def _run_dry(nvcc: Path, *, host_compiler: Path, environment: Environment) -> Mapping[str, str]:
    argv = [str(nvcc), "--dryrun", "-ccbin", str(host_compiler), "-c", "-x", "cu", "/dev/null", "-o", "/dev/null"]
    done = run_tool(argv, variables=probe_variables(environment))
    if not done.ok:
        raise BuildError(_describe_failure(done, "nvcc fails before it compiles anything"))
    return dict(_ASSIGNMENT.findall(done.stderr))


def _has_profile(facts: Mapping[str, str]) -> bool:
    """Return whether nvcc has read a profile: what it sets by itself has a name such as _HERE_."""
    return any(not name.startswith("_") for name in facts)


def _parse_layout(nvcc: Path, *, facts: Mapping[str, str]) -> Layout:
    # Debian's profile names every folder by its own path, and no TOP.
    top = facts.get("TOP") or f"{facts['_HERE_']}/.."
    try:
        return _read_layout(nvcc, top=top, facts=facts)
    except ValueError as error:
        # A quote that is not closed, or a byte that no path has.
        raise BuildError(_describe_odd_path(nvcc, top=top)) from error


def _read_layout(nvcc: Path, *, top: str, facts: Mapping[str, str]) -> Layout:
    if '"' in top or not Path(top).is_dir():
        raise BuildError(_describe_odd_path(nvcc, top=top))
    root = Path(top).resolve()
    tools = tuple(Path(word) for word in facts.get("PATH", "").split(":") if word)
    cicc_dirs = (Path(facts["CICC_PATH"]),) if facts.get("CICC_PATH") else tools
    includes = _parse_folders(f"{facts.get('INCLUDES', '')} {facts.get('SYSTEM_INCLUDES', '')}", option="-I")
    libraries = _parse_folders(facts.get("LIBRARIES", ""), option="-L")
    usual = tuple(f"{top}/{facts.get('_TARGET_DIR_', '')}/{name}" for name in _LIBRARY_FOLDERS)
    libdevice = Path(facts.get("NVVMIR_LIBRARY_DIR") or root / "nvvm/libdevice")
    return Layout(
        nvcc=nvcc,
        binary=Path(facts.get("_HERE_") or nvcc.parent).resolve() / "nvcc",
        root=root,
        include_dirs=_keep_folders(includes, top=top, root=root),
        library_dirs=_keep_folders((*libraries, *usual), top=top, root=root),
        cicc=_find_file("cicc", folders=cicc_dirs),
        ptxas=_find_file("ptxas", folders=tools),
        libdevice=next(iter(sorted(libdevice.glob("libdevice*.bc"))), None),
    )


def _parse_folders(text: str, *, option: str) -> tuple[str, ...]:
    words = shlex.split(text)
    joined = [word.removeprefix(option) for word in words if word.startswith(option)]
    after = [word for before, word in itertools.pairwise(words) if before == "-isystem"]
    return tuple(word for word in (*joined, *after) if word)


def _keep_folders(folders: tuple[str, ...], *, top: str, root: Path) -> tuple[Path, ...]:
    """Return those that exist, each once, written from the root; stubs last, after any real library."""
    found: dict[Path, Path] = {}
    for folder in folders:
        # TOP is "<folder of nvcc>/..", and that folder may be a link: its parent is not to be guessed.
        inside = folder.startswith(f"{top}/")
        path = (
            root / os.path.normpath(folder.removeprefix(top).lstrip("/")) if inside else Path(os.path.normpath(folder))
        )
        if path.is_dir():
            found.setdefault(path.resolve(), path)
    return tuple(sorted(found.values(), key=lambda path: path.name == "stubs"))


def _find_file(name: str, *, folders: tuple[Path, ...]) -> Path | None:
    return next((folder / name for folder in folders if (folder / name).is_file()), None)


def _last_line(done: Completed) -> str:
    lines = (done.stderr.strip() or done.stdout.strip()).splitlines()
    return lines[-1].strip() if lines else ""


def _describe_odd_path(nvcc: Path, *, top: str) -> Problem:
    return Problem(
        Code.TOOL_FAILED,
        "nvcc cannot name the folder of its own toolkit",
        str(nvcc),
        (("nvcc says", top), ("why", "the path has a quote, a line end, or bytes that are not UTF-8")),
        ("move the toolkit to another folder, or make a symbolic link to it and name that",),
    )


def _describe_failure(done: Completed, what: str) -> Problem:
    return Problem(
        Code.TOOL_FAILED,
        what,
        str(done.argv[0]),
        (("command", shlex.join(done.argv)), ("status", str(done.status)), ("said", _last_line(done))),
        ("run the command by hand; a toolkit that fails there has to be installed anew",),
    )
