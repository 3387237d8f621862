"""The manifest ``setuptools_cuda.json``: what a wheel holds for which GPUs and drivers.

It says nothing that differs between two builds of the same inputs: no absolute path, time,
user, number of jobs or state of a cache. ``manifest.schema.json`` beside this file is its schema.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from setuptools_cuda.errors import BuildError, Code, Problem
from setuptools_cuda.plan.values import Artifact, BuildPlan, KernelFile, KernelModulePlan, ShippedLibrary
from setuptools_cuda.resolution.manifest import parse_manifest
from setuptools_cuda.resolution.values import Release
from setuptools_cuda.stage.demangle import demangle
from setuptools_cuda.stage.drivers import toolkit_isa
from setuptools_cuda.stage.images import codes_of
from setuptools_cuda.stage.ptx import Entry, PtxFacts

SCHEMA = 1
"""The version of the schema; it grows when a key changes its meaning or goes away."""


def render_manifest(plan: BuildPlan, *, files: Mapping[str, Path], ptx: Mapping[str, PtxFacts]) -> str:
    """Return the manifest as JSON text with a newline at its end.

    ``files`` holds the built file of each artifact by destination, of which sizes are read;
    ``ptx`` what PTX files say, by their names in the plan.
    """
    isas = dict(_image_isas(plan, ptx=ptx))
    toolkit = _toolkit(plan)
    artifacts = sorted(plan.artifacts, key=lambda artifact: artifact.destination)
    content = {
        "schema": SCHEMA,
        "toolkit": plan.facts.get("toolkit"),
        "host_compiler": plan.facts.get("host_compiler"),
        "architectures": plan.facts.get("architectures", []),
        "artifacts": [
            _artifact(
                artifact,
                size=files[artifact.destination].stat().st_size,
                isa=isas.get(artifact.destination) or (toolkit_isa(toolkit) if toolkit else (0, 0)),
                toolkit=toolkit,
            )
            for artifact in artifacts
        ],
        "libraries": [_library(shipped) for shipped in sorted(plan.shipped, key=lambda shipped: shipped.name)],
        "kernel_modules": [
            _module(module, ptx=ptx) for module in sorted(plan.kernel_modules, key=lambda module: module.module)
        ],
    }
    return json.dumps(content, indent=2, sort_keys=True) + "\n"


_LISTS = {"artifacts": "path", "libraries": "name", "kernel_modules": "module"}
"""The lists in a manifest, with the key that each is sorted by."""


def merge_manifests(texts: Mapping[str, str]) -> str:
    """Return one manifest of several, by their names.

    Raises:
        BuildError: CONFLICT for two toolkits in one wheel, BAD_INPUT_FILE for what is no manifest.
    """
    contents = {name: _parse(texts[name], where=name) for name in sorted(texts)}
    merged: dict[str, object] = {"schema": SCHEMA}
    for key in ("toolkit", "host_compiler", "architectures"):
        said = {json.dumps(one[key], sort_keys=True): name for name, one in contents.items() if one.get(key)}
        if len(said) > 1:
            raise BuildError(_describe_two(key, said))
        merged[key] = json.loads(next(iter(said), "null")) or ([] if key == "architectures" else None)
    for key, order in _LISTS.items():
        merged[key] = sorted(
            (row for one in contents.values() for row in one.get(key, ())), key=lambda row: str(row[order])
        )
    return json.dumps(merged, indent=2, sort_keys=True) + "\n"


def _parse(text: str, *, where: str) -> dict[str, Any]:
    try:
        return parse_manifest(text)
    except ValueError as error:
        fix = ("remove the build folder, and build anew",)
        problem = Problem(Code.BAD_INPUT_FILE, "it is no manifest", where, (("because", str(error)),), fix)
        raise BuildError(problem) from error


def _describe_two(key: str, said: Mapping[str, str]) -> Problem:
    details = tuple((name, text) for text, name in said.items())
    fix = ("build all kernel modules of a wheel by one toolkit, for one list of architectures",)
    return Problem(Code.CONFLICT, f"kernel modules of one wheel differ in their {key}", details=details, fix=fix)


def _toolkit(plan: BuildPlan) -> Release | None:
    facts = plan.facts.get("toolkit")
    if not isinstance(facts, Mapping):
        return None
    major, minor = str(facts["release"]).split(".")
    return Release(int(major), int(minor))


def _image_isas(plan: BuildPlan, *, ptx: Mapping[str, PtxFacts]) -> Iterator[tuple[str, tuple[int, int]]]:
    for module in plan.kernel_modules:
        for file in module.files:
            for image in file.images:
                yield image.destination, ptx.get(image.file, ptx[file.facts]).isa


def _artifact(artifact: Artifact, *, size: int, isa: tuple[int, int], toolkit: Release | None) -> dict[str, object]:
    codes = codes_of(artifact, isa=isa, toolkit=toolkit) if toolkit else ()
    machine = [code.name for code in codes if code.name.startswith("sm_")]
    virtual = [code.name for code in codes if not code.name.startswith("sm_")]
    has_ptx = any(name.startswith("compute_") for name in virtual)
    return {
        "path": artifact.destination,
        "kind": artifact.kind,
        "target": artifact.target,
        "source": artifact.source or None,
        "format": artifact.format or None,
        "architectures": {"real": machine, "virtual": virtual},
        "ptx_isa": _dotted(isa) if has_ptx else None,
        "drivers": {code.name: _dotted(code.driver) for code in codes},
        "least_driver": _dotted(min(code.driver for code in codes)) if codes else None,
        "compressed": artifact.compressed,
        "size": size,
        "rdc": artifact.rdc,
        "cudart": artifact.cudart or None,
    }


def _library(shipped: ShippedLibrary) -> dict[str, object]:
    return {
        "name": shipped.name,
        "type": shipped.type,
        "folder": shipped.folder,
        "path": shipped.file or None,
        "include": shipped.include or None,
        "links": [name for name, _ in shipped.links],
        "cuda": list(shipped.cuda),
        "defines": list(shipped.defines),
    }


def _module(module: KernelModulePlan, *, ptx: Mapping[str, PtxFacts]) -> dict[str, object]:
    return {
        "module": module.module,
        "path": module.destination,
        "sources": [_source(file, facts=ptx[file.facts]) for file in module.files],
    }


def _source(file: KernelFile, *, facts: PtxFacts) -> dict[str, object]:
    return {
        "source": file.source,
        "attribute": file.attribute,
        "images": [image.destination for image in file.images],
        "kernels": [_kernel(entry) for entry in facts.kernels],
    }


def _kernel(entry: Entry) -> dict[str, object]:
    parameters = [{"type": p.type, "size": p.size, "alignment": p.alignment} for p in entry.parameters]
    return {"name": entry.name, "demangled": demangle(entry.name), "parameters": parameters}


def _dotted(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"
