"""What a tool that repairs wheels has to leave out, and who brings it instead. Pure."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from packaging.requirements import InvalidRequirement, Requirement
from packaging.utils import canonicalize_name

from setuptools_cuda.inspection.values import File, Inspection
from setuptools_cuda.resolution.cuda_libraries import FACTS

_SONAME = re.compile(r"lib(?P<name>.+?)\.so(?:\.(?P<major>\d+)[\d.]*)?")
_DRIVER = re.compile(r"lib(?:cuda|nvidia-ml|nvidia-ptxjitcompiler)\.so\.1")
_TORCH = re.compile(r"lib(?:torch\w*|c10\w*|shm)\.so")
# These carry the major release of CUDA in their file's name; others have numbers of their own.
_TELLING = ("cudart", "cublas", "cublasLt", "nvrtc", "nvJitLink", "nvfatbin")
# Not of the toolkit: their wheels are named after the major release, also from CUDA 13 on.
_OTHERS = (
    (re.compile(r"cudnn\w*"), "nvidia-cudnn-cu{}"),
    (re.compile(r"nccl"), "nvidia-nccl-cu{}"),
    (re.compile(r"cutensor\w*"), "cutensor-cu{}"),
    (re.compile(r"cusparseLt"), "nvidia-cusparselt-cu{}"),
    (re.compile(r"nvshmem\w*"), "nvidia-nvshmem-cu{}"),
)
# The version of the wheel begins with the number in the file's name, but for these.
_OWN_NUMBERS = ("cufile", "cufile_rdma", "nvtx3interop", "OpenCL", "cupti", "nvshmem_host", "cusparseLt")
# By which extras of the distribution cuda-toolkit each comes; nvcc's wheel requires the runtime's.
_EXTRAS = {fact.link_name: {fact.extra} for fact in FACTS if fact.kind == "shared" and fact.extra}
_EXTRAS["cudart"] = {"cudart", "nvcc"}
# A marker counts if it holds for any Python on Linux.
_MACHINES = tuple(
    {
        "sys_platform": "linux",
        "platform_system": "Linux",
        "os_name": "posix",
        "platform_machine": machine,
        "python_version": f"3.{minor}",
        "python_full_version": f"3.{minor}.0",
        "extra": "",
    }
    for machine in ("x86_64", "aarch64")
    for minor in range(8, 20)
)
_WHEELS = {fact.link_name: fact.wheel for fact in FACTS if fact.kind == "shared" and fact.wheel}


@dataclass(frozen=True)
class Exclusion:
    """One library to leave out."""

    library: str
    """Its name as the wheel's files have it, as 'libcublas.so.13'."""
    why: str
    used_by: tuple[str, ...]
    requirement: str
    """What brings it, as 'nvidia-cublas==13.*'; '' for the driver's, which no wheel has."""
    declared: bool
    """Whether the wheel's metadata requires that."""
    unreachable: tuple[str, ...] = ()
    """Those of :attr:`used_by` that have no run path to it."""


@dataclass(frozen=True)
class RepairPlan:
    """What a repair of one wheel has to respect."""

    exclusions: tuple[Exclusion, ...]
    static: tuple[str, ...]
    """Files that have the CUDA runtime in them."""
    has_shared: bool
    """Whether there is anything to repair: a wheel of archives or images alone is left as it is."""
    foreign: tuple[str, ...] = ()
    """Files of Windows and macOS."""

    @property
    def undeclared(self) -> tuple[str, ...]:
        """Return the requirements that the metadata lacks, each once."""
        missing = (each.requirement for each in self.exclusions if each.requirement and not each.declared)
        return tuple(dict.fromkeys(missing))


def plan_repair(linkage: Inspection) -> RepairPlan:
    """Return what to leave out of a repaired wheel.

    Libraries that lie in the wheel itself are none of it: a repair has put them there.
    """
    within = {file.path.rpartition("/")[2] for file in linkage.files}
    users: dict[str, list[File]] = {}
    for file in linkage.files:
        for library in file.needed:
            if library not in within:
                users.setdefault(library, []).append(file)
    declared = tuple(_list_required(linkage.requires))
    return RepairPlan(
        tuple(
            _exclude(library, files=users[library], toolkit=linkage.toolkit, declared=declared)
            for library in sorted(users)
        ),
        tuple(file.path for file in linkage.files if file.cudart == "static"),
        any(file.kind in ("shared", "executable") or file.problem for file in linkage.files),
        linkage.foreign,
    )


def find_major(files: Iterable[File], *, toolkit: str | None) -> int | None:
    """Return the major release of CUDA that files are linked with, where the manifest or a library's name tells."""
    if toolkit:
        return int(toolkit.partition(".")[0])
    sonames = (_SONAME.fullmatch(library) for file in files for library in file.needed)
    majors = {int(each["major"]) for each in sonames if each and each["name"] in _TELLING and each["major"]}
    return majors.pop() if len(majors) == 1 else None


def _list_required(requires: tuple[str, ...]) -> Iterator[Requirement]:
    """Yield the requirements that count on Linux, without those of extras."""
    for text in requires:
        try:
            requirement = Requirement(text)
        except InvalidRequirement:
            continue
        if requirement.marker is None or any(requirement.marker.evaluate(machine) for machine in _MACHINES):
            yield requirement


def _is_declared(library: str, *, requirement: str, declared: tuple[Requirement, ...]) -> bool:
    """Return whether one of ``declared`` brings what ``requirement`` does, by itself or by NVIDIA's cuda-toolkit."""
    wanted = Requirement(requirement)
    return any(
        _may_meet(each, wanted=wanted)
        if canonicalize_name(each.name) == canonicalize_name(wanted.name)
        else _is_brought(library, toolkit=each, wanted=wanted)
        for each in declared
    )


def _is_brought(library: str, *, toolkit: Requirement, wanted: Requirement) -> bool:
    """Return whether the requirement ``toolkit`` is one of cuda-toolkit that brings the library."""
    found = _SONAME.fullmatch(library)
    if found is None or canonicalize_name(toolkit.name) != "cuda-toolkit":
        return False
    if not toolkit.extras & {"all", *_EXTRAS.get(found["name"], ())}:
        return False
    return found["name"] not in _TELLING or _may_meet(toolkit, wanted=wanted)


def _may_meet(requirement: Requirement, *, wanted: Requirement) -> bool:
    """Return whether some version meets both: the first and a late one of ``wanted``, and those that are named."""
    named = [clause.version.removesuffix(".*") for clause in requirement.specifier if clause.operator != "==="]
    major = [clause.version.removesuffix(".*") for clause in wanted.specifier]
    tried = [version for each in (*major, *named) for version in (each, f"{each}.1", f"{each}.999")]
    both = requirement.specifier & wanted.specifier
    return any(both.contains(version, prereleases=True) for version in tried)


def _exclude(library: str, *, files: list[File], toolkit: str | None, declared: tuple[Requirement, ...]) -> Exclusion:
    used_by = tuple(file.path for file in files)
    if _DRIVER.fullmatch(library):
        return Exclusion(library, "it comes with the user's driver", used_by, "", declared=True)
    if _TORCH.fullmatch(library):
        has_torch = any(canonicalize_name(each.name) == "torch" for each in declared)
        return Exclusion(library, "PyTorch has loaded it", used_by, "torch", declared=has_torch)
    requirement = find_requirement(library, major=find_major(files, toolkit=toolkit))
    return Exclusion(
        library,
        "it comes with a wheel of NVIDIA" if requirement else "it comes with an installed toolkit alone",
        used_by,
        requirement,
        declared=not requirement or _is_declared(library, requirement=requirement, declared=declared),
        unreachable=tuple(file.path for file in files if not _leads_to_wheels(file)),
    )


def find_requirement(library: str, *, major: int | None) -> str:
    """Return the requirement that brings 'libcublas.so.13', as 'nvidia-cublas==13.*', or '' where none does.

    Wheels for CUDA 11 and 12 have the release in their names (``nvidia-cublas-cu12``); without ``major`` that
    is not known, and the name for CUDA 13 and newer is returned.
    """
    found = _SONAME.fullmatch(library)
    if found is None:
        return ""
    for pattern, name in _OTHERS:
        if pattern.fullmatch(found["name"]):
            return name.format(major or 13)
    wheel = _WHEELS.get(found["name"], "")
    if not wheel:
        return ""
    if found["name"] in _TELLING and found["major"]:
        major = int(found["major"])
    suffix = f"-cu{major}" if major is not None and major < 13 else ""
    pin = f"=={found['major']}.*" if found["major"] and found["name"] not in _OWN_NUMBERS else ""
    return f"{wheel}{suffix}{pin}"


def _leads_to_wheels(file: File) -> bool:
    """Return whether a run path of the file leads into the folders of NVIDIA's wheels."""
    return any(path.startswith("$ORIGIN") and "/nvidia/" in path for path in file.runpath)
