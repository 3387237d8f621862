"""A diagnosis as a screen. Pure: nothing is looked at here."""

from __future__ import annotations

from collections.abc import Iterator

from setuptools_cuda.cli.diagnosis import Diagnosis, Folder, Host, Machine, PtxFit
from setuptools_cuda.cli.screen import Row, Screen, Section, Tone, list_rows, row
from setuptools_cuda.resolution.architecture_codes import describe_architectures, describe_codes
from setuptools_cuda.resolution.device_tools import DeviceTools
from setuptools_cuda.resolution.values import Architecture

_MIB = 1 << 20


def lay_out(diagnosis: Diagnosis) -> Screen:
    """Return what a person sees of ``diagnosis``."""
    return (
        Section("project", tuple(_project(diagnosis))),
        Section("toolchain", tuple(_toolchain(diagnosis))),
        Section("looked at", tuple(_candidates(diagnosis))),
        Section("host compiler", tuple(_host(diagnosis.host, needed=diagnosis.needs_host))),
        Section("architectures", tuple(_architectures(diagnosis))),
        Section("this machine", tuple(_machine(diagnosis.machine, ptx=diagnosis.ptx))),
        Section("versions", (row(_versions(diagnosis)),)),
        Section("build", (*_folder(diagnosis.build_folder), *_caches(diagnosis))),
        Section("variables", tuple(row(each.name, each.value, each.role) for each in diagnosis.variables)),
        Section("notes", list_rows(diagnosis.notes)),
        Section("what is wrong", tuple(_problems(diagnosis))),
    )


def _project(diagnosis: Diagnosis) -> Iterator[Row]:
    project = diagnosis.project
    yield row("folder", str(project.root))
    yield row("table", project.table)
    if project.targets:
        yield row("targets", ", ".join(project.targets))


def _toolchain(diagnosis: Diagnosis) -> Iterator[Row]:
    chosen, toolchain = diagnosis.chosen, diagnosis.toolchain
    if diagnosis.device is not None:
        yield from _device(diagnosis.device, compilers=diagnosis.compilers)
    if chosen is None and (diagnosis.needs_nvcc or diagnosis.device is None):
        yield row("toolkit", "none", tone="bad" if diagnosis.problems else "")
    elif chosen is not None:
        unusable = ", which cannot be used as it is (see below)" if diagnosis.needs_nvcc else ""
        state = unusable if toolchain is None else ""
        state += "" if diagnosis.needs_nvcc else ", which no target here needs"
        tone: Tone = "" if not diagnosis.needs_nvcc else "good" if toolchain else "bad"
        yield row("toolkit", f"CUDA {chosen.version.release} ({chosen.version.version}){state}", tone=tone)
        yield row("found by", f"step {chosen.step}: {chosen.location.origin.text}")
        yield row("nvcc", " ".join((*chosen.location.launcher, str(chosen.nvcc))))
    if toolchain is not None:
        links = " (links to the wheels, made by a build)" if toolchain.farm else ""
        yield row("root", f"{toolchain.root}{links}")
        yield row("identity", toolchain.identity[:16])
    if diagnosis.requirements:
        asked = ", ".join(diagnosis.requirements)
        yield row(
            "from pip", f"{asked} (an isolated build asks for it, with setuptools_cuda.build_meta or scikit-build-core)"
        )


def _device(device: DeviceTools, *, compilers: tuple[str, ...]) -> Iterator[Row]:
    yield row("kernels", f"by {', '.join(compilers)} of CUDA {device.release} ({device.version})", tone="good")
    yield row("found by", device.found_via.text)


def _candidates(diagnosis: Diagnosis) -> Iterator[Row]:
    for each in diagnosis.candidates:
        yield row(each.step, each.where, each.verdict, tone="good" if each.verdict == "chosen" else "faint")


def _host(host: Host | None, *, needed: bool) -> Iterator[Row]:
    if host is None:
        yield row("compiler", "none" if needed else "none; none is needed here", tone="bad" if needed else "")
        return
    states = {True: "", False: ", which the toolkit does not take", None: ""}
    tones: dict[bool | None, Tone] = {True: "good", False: "bad" if needed else "", None: ""}
    command = " ".join((*host.launcher, str(host.path)))
    yield row("compiler", f"{host.name}, {command}{states[host.taken]}", tone=tones[host.taken])
    yield row("found by", host.found_via.text)
    if host.range is not None:
        yield row("range", f"{host.range} (by the toolkit's crt/host_config.h)")


def _architectures(diagnosis: Diagnosis) -> Iterator[Row]:
    found = diagnosis.architectures
    if found is None:
        yield row("built for", "not known" if diagnosis.release else "not known without a toolkit")
    else:
        yield row("built for", describe_codes(found.codes), tone="good")
        yield row("asked for by", found.found_via.text)
    if diagnosis.known:
        whose = "" if diagnosis.chosen or diagnosis.device else ", which pip would bring"
        plain = describe_architectures(each for each in diagnosis.known if not each.variant)
        yield row("known", f"{plain} (CUDA {diagnosis.release}{whose})")
        yield row("variants", _variants(diagnosis.known))


def _variants(known: tuple[Architecture, ...]) -> str:
    numbers = {kind: [str(each.number) for each in known if each.variant == kind] for kind in ("a", "f")}
    return "; ".join(f"{kind} of {', '.join(found)}" for kind, found in numbers.items() if found) or "none"


def _machine(machine: Machine, *, ptx: PtxFit | None) -> Iterator[Row]:
    if machine.gpus:
        yield row("GPU", describe_architectures(machine.gpus))
    else:
        yield row("GPU", f"none answers ({machine.why_no_gpu}); none is needed to build")
    driver = machine.driver
    if driver is None:
        yield row("driver", "none; none is needed to build")
    else:
        version = f"{driver.version}, " if driver.version else ""
        yield row("driver", f"{version}for CUDA {driver.cuda} (by {driver.found_via})")
    if ptx is not None:
        yield _ptx(ptx)


def _ptx(ptx: PtxFit) -> Row:
    isa = ".".join(map(str, ptx.isa))
    text = f"CUDA {ptx.toolkit} writes version {isa}, for drivers of CUDA {ptx.needs} and newer"
    if ptx.loads is None:
        return row("PTX", text)
    return row(
        "PTX", f"{text}: it {'loads' if ptx.loads else 'does not load'} here", tone="good" if ptx.loads else "bad"
    )


def _versions(diagnosis: Diagnosis) -> str:
    return ", ".join(f"{each.name} {each.version or '(not installed)'}" for each in diagnosis.versions)


def _folder(folder: Folder) -> Iterator[Row]:
    state = f"{folder.size / _MIB:.1f} MiB" if folder.exists else "not there yet"
    writable = "" if folder.writable else ", cannot be written to"
    yield row("folder", f"{folder.path} ({state}{writable})", tone="" if folder.writable else "bad")


def _caches(diagnosis: Diagnosis) -> Iterator[Row]:
    yield row("cache", str(diagnosis.artifact_cache or "off"))
    for name, path in diagnosis.launchers:
        yield row(name, str(path) if path else "not on PATH", tone="" if path else "faint")


def _problems(diagnosis: Diagnosis) -> Iterator[Row]:
    if diagnosis.good:
        yield row("nothing", tone="good")
    for problem in diagnosis.problems:
        head, *rest = problem.render().splitlines()
        yield row(head, tone="bad")
        yield from list_rows(rest)
