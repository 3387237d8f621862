"""The libraries and programs that compile device code without nvcc, all of one toolkit.

libNVRTC, libNVVM, nvJitLink and ptxas need no host compiler. They lie in NVIDIA's wheels
(``nvidia/cu13`` of CUDA 13 and newer) or in a toolkit; llvmlite, which has LLVM within, is a
distribution of its own. Where an nvcc is used as well, its toolkit is looked at first, and none
of another release is taken.
"""

from __future__ import annotations

import importlib.metadata
import itertools
import os
import re
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from setuptools_cuda.config.model import Origin, Settings
from setuptools_cuda.environment import Environment
from setuptools_cuda.resolution.acceptance import fits
from setuptools_cuda.resolution.catalogue import CATALOGUE
from setuptools_cuda.resolution.identity import digest_facts, digest_file
from setuptools_cuda.resolution.programs import is_folder
from setuptools_cuda.resolution.search import plan_steps
from setuptools_cuda.resolution.steps import ROOT_VARIABLES
from setuptools_cuda.resolution.values import Architecture, Candidate, Release, Toolchain
from setuptools_cuda.resolution.wheels import parse_release

LLVMLITE = "llvmlite"
LLVMLITE_REQUIREMENT = "llvmlite>=0.45"
LLVMLITE_LEAST = (0, 45)

# Where each tool lies below the root of a toolkit or of the wheels, and the wheel that has it.
_PLACES: Mapping[str, tuple[str, tuple[str, ...]]] = {
    "nvrtc": ("nvidia-cuda-nvrtc", ("lib64/libnvrtc.so.[0-9]*", "lib/libnvrtc.so.[0-9]*")),
    "nvvm": ("nvidia-nvvm", ("nvvm/lib64/libnvvm.so.[0-9]*", "nvvm/lib/libnvvm.so.[0-9]*", "lib/libnvvm.so.[0-9]*")),
    "libdevice": ("nvidia-nvvm", ("nvvm/libdevice/libdevice*.bc",)),
    "nvjitlink": ("nvidia-nvjitlink", ("lib64/libnvJitLink.so.[0-9]*", "lib/libnvJitLink.so.[0-9]*")),
    "ptxas": ("nvidia-cuda-nvcc", ("bin/ptxas",)),
    "fatbinary": ("nvidia-cuda-nvcc", ("bin/fatbinary",)),
    "crt": ("nvidia-cuda-crt", ("include/crt",)),
    "include": ("nvidia-cuda-runtime", ("include/cuda_runtime.h",)),
    "cccl": ("nvidia-cuda-cccl", ("include/cccl", "include/nv/target")),
}
TOOLS = tuple(_PLACES)
_BUILTINS = re.compile(r"libnvrtc-builtins\.so\.(\d+)\.(\d+)")
_CUDA_VERSION = re.compile(rb"#define\s+CUDA_VERSION\s+(\d+)")
_OLD_WHEELS = "wheels of CUDA 12 or older, which make up no toolkit; those of CUDA 13 and newer do"
# CCCL has versions of its own. nvJitLink, which cuda-toolkit does not pin, is looked at by itself.
_ANY_RELEASE = frozenset({"nvjitlink", "cccl"})


@dataclass(frozen=True)
class DeviceTools:
    """What one toolkit has to compile device code with, besides nvcc."""

    root: Path
    release: Release
    version: str
    found_via: Origin
    paths: Mapping[str, Path]
    """Libraries and programs by name; 'include' and 'cccl' are folders, 'llvmlite' a site-packages folder."""
    versions: Mapping[str, str]
    """Versions of the wheels that they lie in, as far as they do."""
    known: tuple[Architecture, ...]
    candidates: tuple[Candidate, ...] = ()
    missing: tuple[str, ...] = ()
    """What was asked for and is not there."""

    def identity(self, *names: str) -> str:
        """Return a digest of the named tools: of a wheel by its version, of others by content."""
        return digest_facts((name, self._fact(name)) for name in names)

    def _fact(self, name: str) -> str:
        path = self.paths[name]
        if name in self.versions:
            return self.versions[name]
        return digest_file(path) if path.is_file() else self.version


@dataclass(frozen=True)
class _Home:
    """One toolkit root, and how it was come upon."""

    root: Path
    step: str
    origin: Origin
    release: Release | None = None


@dataclass
class _Search:
    needs: Collection[str]
    cuda: str | None
    same: Release | None
    candidates: list[Candidate] = field(default_factory=list)

    def judge(self, home: _Home) -> dict[str, Path] | None:
        """Return the tools of a home that has all that is needed, or None with the reason kept."""
        tools = find_tools(home.root)
        missing = [name for name in self.needs if name not in tools]
        release = home.release or find_release(home.root, tools=tools)
        verdict = "chosen"
        if missing:
            verdict = "no " + ", no ".join(missing)
        elif release is None:
            verdict = "does not tell its release"
        elif self.same and release != self.same:
            verdict = f"{release}, and the nvcc is {self.same}"
        elif not fits(release, cuda=self.cuda):
            verdict = f"{release} is not within {self.cuda}"
        elif (linker := _find_other_linker(home.root, needs=self.needs, release=release)) is not None:
            verdict = f"nvidia-nvjitlink is {linker}, and the rest is {release}: the PTX that it links is of its own"
        self.candidates.append(Candidate(home.step, str(home.root), None, verdict))
        return tools if verdict == "chosen" else None


def find_device_tools(
    settings: Settings, *, environment: Environment, needs: Collection[str], toolchain: Toolchain | None = None
) -> DeviceTools | None:
    """Return the first toolkit that has all of ``needs`` (names of :data:`TOOLS`, or 'llvmlite'), or None."""
    found, _ = search_device_tools(settings, environment=environment, needs=needs, toolchain=toolchain)
    return found


def search_device_tools(
    settings: Settings,
    *,
    environment: Environment,
    needs: Collection[str],
    toolchain: Toolchain | None = None,
    before: str = "",
) -> tuple[DeviceTools | None, tuple[Candidate, ...]]:
    """Return what :func:`find_device_tools` does, with every place that was looked at.

    With ``before`` only the steps in front of the one of that name are taken.
    """
    wanted = [name for name in needs if name != LLVMLITE]
    search = _Search(wanted, settings.project.cuda, toolchain.release if toolchain else None)
    search.candidates.extend(_find_old_wheels(settings, environment=environment))
    lite = find_llvmlite(environment)
    if LLVMLITE in needs and lite is None:
        search.candidates.append(Candidate("wheel", "llvmlite", None, "not in this build environment"))
        return None, tuple(search.candidates)
    for home in _list_homes(settings, environment=environment, toolchain=toolchain, before=before):
        tools = search.judge(home)
        if tools is not None:
            return _complete(home, tools, lite=lite, search=search, toolchain=toolchain), tuple(search.candidates)
    return None, tuple(search.candidates)


def _complete(
    home: _Home,
    tools: dict[str, Path],
    *,
    lite: tuple[Path, str] | None,
    search: _Search,
    toolchain: Toolchain | None,
) -> DeviceTools:
    release = home.release or find_release(home.root, tools=tools)
    if release is None:
        raise ValueError("a home that was chosen has a release")
    versions = _read_versions(home.root)
    if lite is not None:
        tools, versions[LLVMLITE] = {**tools, LLVMLITE: lite[0]}, lite[1]
    return DeviceTools(
        root=home.root,
        release=release,
        version=toolchain.version if toolchain else _longest(versions, release=release, tools=tools),
        found_via=home.origin,
        paths=tools,
        versions={name: version for name, version in versions.items() if name in tools},
        known=toolchain.known if toolchain else find_known(release),
        candidates=tuple(search.candidates),
    )


def _find_other_linker(root: Path, *, needs: Collection[str], release: Release) -> Release | None:
    """Return the release of nvJitLink where it is needed and not ``release``: its PTX may be too new for drivers."""
    own = _wheel_release("nvjitlink", _read_versions(root)) if "nvjitlink" in needs else None
    return own if own != release else None


def _longest(versions: Mapping[str, str], *, release: Release, tools: Mapping[str, Path]) -> str:
    """Return the version of a tool of that release, as 13.0.88, or the release where no wheel tells more."""
    for name in ("nvrtc", "nvvm", "ptxas"):
        if name in tools and parse_release(versions.get(name, "")) == release:
            return versions[name]
    return str(release)


def find_tools(root: Path) -> dict[str, Path]:
    """Return the tools below a toolkit's root, by name."""
    found: dict[str, Path] = {}
    for name, (_, patterns) in _PLACES.items():
        matches = (path for pattern in patterns for path in sorted(root.glob(pattern), key=lambda p: len(p.name)))
        path = next((path for path in matches if ".alt." not in path.name), None)
        if path is not None:
            found[name] = path
    if "include" in found:
        found["include"] = root / "include"
    if "cccl" in found and found["cccl"].name == "target":
        found["cccl"] = root / "include"
    return found


def find_release(root: Path, *, tools: Mapping[str, Path]) -> Release | None:
    """Return the release of the toolkit below ``root``: by its wheels, libNVRTC's parts, or ``cuda.h``."""
    versions = _read_versions(root)
    by_wheel = {release for name in tools if name not in _ANY_RELEASE and (release := _wheel_release(name, versions))}
    if len(by_wheel) == 1:
        return by_wheel.pop()
    if by_wheel:
        return None
    if "nvrtc" in tools:
        matches = map(_BUILTINS.fullmatch, (path.name for path in tools["nvrtc"].parent.iterdir()))
        releases = {Release(int(match[1]), int(match[2])) for match in matches if match}
        if len(releases) == 1:
            return releases.pop()
    header = root / "include" / "cuda.h"
    defined = _CUDA_VERSION.search(header.read_bytes()) if header.is_file() else None
    return Release(int(defined[1]) // 1000, int(defined[1]) % 1000 // 10) if defined else None


def find_known(release: Release) -> tuple[Architecture, ...]:
    """Return the architectures of a release; of one newer than the catalogue those of its newest."""
    facts = [one for one in CATALOGUE if one.release <= release]
    return facts[-1].architectures if facts else ()


def _wheel_release(name: str, versions: Mapping[str, str]) -> Release | None:
    return parse_release(versions[name]) if name in versions and name != "include" else None


def _read_versions(root: Path) -> dict[str, str]:
    """Return the versions of the wheels whose tools lie below ``root``, by tool."""
    if root.parent.name != "nvidia":
        return {}
    site = str(root.parent.parent)
    found: dict[str, str] = {}
    for name, (wheel, _) in _PLACES.items():
        version = next((one.version for one in importlib.metadata.distributions(name=wheel, path=[site])), None)
        if version is not None:
            found[name] = version
    return found


def find_llvmlite(environment: Environment) -> tuple[Path, str] | None:
    """Return the site-packages folder and the version of an llvmlite that is new enough, or None."""
    for one in importlib.metadata.distributions(name=LLVMLITE, path=list(environment.search_path)):
        numbers = tuple(int(word) for word in re.findall(r"\d+", one.version)[:2])
        if numbers >= LLVMLITE_LEAST:
            return Path(str(one.locate_file(""))), one.version
    return None


def _list_homes(
    settings: Settings, *, environment: Environment, toolchain: Toolchain | None, before: str
) -> Iterator[_Home]:
    """Yield the roots to look at, in the order of the toolchain's steps."""
    if toolchain is not None:
        root = Path(dict(toolchain.farm.links)["include"]).parent if toolchain.farm else toolchain.root
        yield _Home(root, toolchain.step, toolchain.found_via, toolchain.release)
    seen: set[Path] = set()
    steps = plan_steps(settings, environment=environment)
    for step in itertools.takewhile(lambda step: step.name != before, steps):
        if step.name == "root-env":
            homes = _look_at_variables(environment)
        elif step.name in {"wheel", "pip"}:
            homes = _look_at_wheels(environment.search_path)
        else:
            homes = (
                _Home(place.nvcc.resolve().parents[1], step.name, place.origin)
                for place in step.look(settings, environment)
                if place.nvcc is not None
            )
        for home in homes:
            if home.root not in seen and is_folder(home.root):
                seen.add(home.root)
                yield home


def _look_at_variables(environment: Environment) -> Iterator[_Home]:
    found = environment.first(*ROOT_VARIABLES)
    if found is not None:
        origin = Origin("environment", f"{found[0]}={found[1]}")
        yield _Home(Path(os.path.realpath(environment.cwd / found[1])), "root-env", origin)


def _find_old_wheels(settings: Settings, *, environment: Environment) -> Iterator[Candidate]:
    """Yield the wheels of CUDA 12 and older, which are no toolkit: each has a folder of its own."""
    if any(step.name in {"wheel", "pip"} for step in plan_steps(settings, environment=environment)):
        for place in (Path(folder) / "nvidia" / "cuda_nvrtc" for folder in environment.search_path):
            if place.is_dir():
                yield Candidate("wheel", str(place), None, _OLD_WHEELS)


def _look_at_wheels(search_path: Sequence[str]) -> Iterator[_Home]:
    for folder in search_path:
        for root in sorted((Path(folder) / "nvidia").glob("cu[0-9]*"), reverse=True):
            yield _Home(root, "wheel", Origin("found", f"NVIDIA's wheels in {folder}"))
