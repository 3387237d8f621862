"""What our manifest in a wheel says of its files, beyond what the files say themselves."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from setuptools_cuda.errors import BuildError, Code, Problem
from setuptools_cuda.inspection.members import Members
from setuptools_cuda.inspection.values import File, Image
from setuptools_cuda.resolution.manifest import NewerManifestError, parse_manifest
from setuptools_cuda.stage.drivers import COMPRESSION

_MANIFEST = re.compile(r"[^/]+\.dist-info/setuptools_cuda\.json")


def read_manifest(members: Members) -> dict[str, Any] | None:
    """Return the manifest of a wheel, None where it has none. Raises BuildError (BAD_VALUE) for what is none."""
    names = [name for name in members.names if _MANIFEST.fullmatch(name)]
    if not names:
        return None
    try:
        return parse_manifest(members.read(names[0]))
    except NewerManifestError as error:
        text = f"{names[0]} is of a schema that this release does not read"
        fix = ("use a newer setuptools-cuda-build",)
        raise BuildError(Problem(Code.BAD_VALUE, text, str(members.path), (("because", str(error)),), fix)) from error
    except ValueError as error:
        fix = ("build the wheel anew: the file is not as setuptools_cuda writes it",)
        details = (("because", str(error)),)
        text = f"{names[0]} is no manifest"
        raise BuildError(Problem(Code.BAD_VALUE, text, str(members.path), details, fix)) from error


def add_manifest(file: File, *, manifest: Mapping[str, Any]) -> File:
    """Return the file with what only our manifest knows: how its code is compressed, and LTO-IR's architecture."""
    artifacts = {each["path"]: each for each in manifest["artifacts"]}
    artifact = artifacts.get(file.path)
    if artifact is None:
        return file
    if file.kind == "ltoir":
        names = artifact["architectures"]["virtual"]
        return replace(file, images=tuple(Image(name, file.size, relocatable=True) for name in names))
    if file.cudart is None and artifact["cudart"]:
        file = replace(file, cudart=artifact["cudart"])
    if not artifact["compressed"]:
        return file
    return replace(file, images=tuple(map(_with_compression, file.images)))


def _with_compression(image: Image) -> Image:
    if not image.compressed or image.driver is None:
        return image
    return replace(image, driver=max(image.driver, COMPRESSION))
