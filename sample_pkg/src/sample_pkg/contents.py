"""What the installed package holds: extension, library, kernel modules, manifest."""

from __future__ import annotations

import importlib.metadata
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import sample_pkg
from sample_pkg import _native, kernels

MANIFEST = "setuptools_cuda.json"


def describe_contents() -> Iterator[str]:
    """Yield the lines of the report."""
    yield f"extension      sample_pkg._native in {_describe_file(Path(str(_native.__file__)))}"
    for file in sorted(sample_pkg.library_dir().glob("*")):
        yield f"library        {_describe_file(file)}"
    for file in sorted(sample_pkg.include_dir().rglob("*.h")):
        yield f"header         {_describe_file(file)}"
    yield "kernel module  sample_pkg.kernels"
    for source, images in kernels.images.items():
        names = ", ".join(kernel.demangled for kernel in images.kernels)
        yield f"  {source}: {names}"
        for image in images.images:
            driver = "driver for CUDA {}.{} or newer".format(*image.driver)
            yield f"    {image.format:6} {image.architecture:11} {image.size:7,} bytes, {driver}"
    yield _describe_manifest(read_manifest())


def read_manifest() -> dict[str, Any] | None:
    """Return the build's manifest, or None in an editable install, which has it in the build folder."""
    text = importlib.metadata.distribution("sample-pkg").read_text(MANIFEST)
    return None if text is None else json.loads(text)


def _describe_file(file: Path) -> str:
    return f"{file.relative_to(Path(__file__).parent).as_posix()} ({file.stat().st_size:,} bytes)"


def _describe_manifest(manifest: dict[str, Any] | None) -> str:
    if manifest is None:
        return f"manifest       none: this install has no {MANIFEST}"
    toolkit, host = manifest["toolkit"]["version"], manifest["host_compiler"]
    return f"manifest       {MANIFEST}: built by nvcc {toolkit} with {host['family']} {host['version']}"
