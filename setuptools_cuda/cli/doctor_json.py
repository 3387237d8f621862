"""A diagnosis as JSON, by the schema ``doctor.schema.json``. Pure."""

from __future__ import annotations

import json

from setuptools_cuda.cli.diagnosis import Diagnosis, Host, Machine, PtxFit
from setuptools_cuda.config.model import Origin
from setuptools_cuda.errors import describe_problems
from setuptools_cuda.resolution.device_tools import DeviceTools
from setuptools_cuda.resolution.values import Architectures, Candidate, Code

SCHEMA = 1
"""Raised when a program that reads the JSON has to change; new keys alone do not raise it."""


def render_json(diagnosis: Diagnosis) -> str:
    """Return ``diagnosis`` as JSON text."""
    return json.dumps(describe(diagnosis), indent=2, ensure_ascii=True)


def describe(diagnosis: Diagnosis) -> dict[str, object]:
    """Return ``diagnosis`` as JSON's own types."""
    project, folder = diagnosis.project, diagnosis.build_folder
    return {
        "schema": SCHEMA,
        "good": diagnosis.good,
        "project": {"root": str(project.root), "table": project.table, "targets": list(project.targets)},
        "toolchain": _toolchain(diagnosis),
        "device_tools": _device(diagnosis.device) if diagnosis.device else None,
        "device_compilers": list(diagnosis.compilers),
        "needs": {"nvcc": diagnosis.needs_nvcc, "host_compiler": diagnosis.needs_host},
        "candidates": [_candidate(each) for each in diagnosis.candidates],
        "requirements": list(diagnosis.requirements),
        "host_compiler": _host(diagnosis.host) if diagnosis.host else None,
        "architectures": _architectures(diagnosis.architectures) if diagnosis.architectures else None,
        "known_architectures": [str(each) for each in diagnosis.known],
        "release": str(diagnosis.release) if diagnosis.release else None,
        "machine": _machine(diagnosis.machine),
        "ptx": _ptx(diagnosis.ptx) if diagnosis.ptx else None,
        "versions": {each.name: each.version or None for each in diagnosis.versions},
        "build_folder": {
            "path": str(folder.path),
            "exists": folder.exists,
            "bytes": folder.size,
            "writable": folder.writable,
        },
        "artifact_cache": str(diagnosis.artifact_cache) if diagnosis.artifact_cache else None,
        "launchers": {name: str(path) if path else None for name, path in diagnosis.launchers},
        "variables": [{"name": each.name, "value": each.value, "role": each.role} for each in diagnosis.variables],
        "notes": list(diagnosis.notes),
        "problems": describe_problems(diagnosis.problems),
    }


def _toolchain(diagnosis: Diagnosis) -> dict[str, object] | None:
    chosen, toolchain = diagnosis.chosen, diagnosis.toolchain
    if chosen is None:
        return None
    return {
        "usable": toolchain is not None,
        "release": str(chosen.version.release),
        "version": chosen.version.version,
        "nvcc": str(chosen.nvcc),
        "launcher": list(chosen.location.launcher),
        "step": chosen.step,
        "found_via": _origin(chosen.location.origin),
        "root": str(toolchain.root) if toolchain else None,
        "linked": toolchain is not None and toolchain.farm is not None,
        "identity": toolchain.identity if toolchain else None,
    }


def _device(device: DeviceTools) -> dict[str, object]:
    return {
        "release": str(device.release),
        "version": device.version,
        "root": str(device.root),
        "found_via": _origin(device.found_via),
        "tools": {name: str(path) for name, path in device.paths.items()},
    }


def _candidate(candidate: Candidate) -> dict[str, object]:
    return {
        "step": candidate.step,
        "where": candidate.where,
        "nvcc": str(candidate.nvcc) if candidate.nvcc else None,
        "verdict": candidate.verdict,
    }


def _host(host: Host) -> dict[str, object]:
    limits = host.range
    return {
        "path": str(host.path),
        "name": host.name,
        "launcher": list(host.launcher),
        "found_via": _origin(host.found_via),
        "taken": host.taken,
        "range": None if limits is None else {"gcc": limits.gcc, "clang": limits.clang},
    }


def _architectures(found: Architectures) -> dict[str, object]:
    return {"codes": [_code(code) for code in found.codes], "found_via": _origin(found.found_via)}


def _code(code: Code) -> dict[str, object]:
    return {"architecture": str(code.architecture), "real": code.real, "virtual": code.virtual}


def _machine(machine: Machine) -> dict[str, object]:
    driver = machine.driver
    return {
        "gpus": [str(each) for each in machine.gpus],
        "driver": None
        if driver is None
        else {"cuda": str(driver.cuda), "version": driver.version or None, "found_via": driver.found_via},
    }


def _ptx(ptx: PtxFit) -> dict[str, object]:
    return {
        "isa": ".".join(map(str, ptx.isa)),
        "needs": str(ptx.needs),
        "loads": ptx.loads,
        "machine_code_loads": ptx.machine_code_loads,
    }


def _origin(origin: Origin) -> dict[str, str]:
    return {"kind": origin.kind, "text": origin.text}
