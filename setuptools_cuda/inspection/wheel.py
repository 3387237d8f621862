"""Wheels and files on disk: what in them is looked at, and what comes of it."""

from __future__ import annotations

import email
import json
import re
import shutil
import tempfile
import zipfile
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from setuptools_cuda.environment import Environment
from setuptools_cuda.errors import BuildError, Code, Problem
from setuptools_cuda.inspection.device import Reader, read_ptx
from setuptools_cuda.inspection.elf import is_cubin, read_host
from setuptools_cuda.inspection.values import Cuobjdump, File, Image, Inspection, Kind
from setuptools_cuda.resolution.values import Release
from setuptools_cuda.stage.drivers import COMPRESSION

_MANIFEST = re.compile(r"[^/]+\.dist-info/setuptools_cuda\.json")
_METADATA = re.compile(r"[^/]+\.dist-info/METADATA")
_ELF, _ARCHIVE, _FATBIN = b"\x7fELF", b"!<arch>\n", b"\x50\xed\x55\xba"
_HEAD = 8
READ_SCHEMA = 1
"""The newest manifest that is understood."""

FindTools = Callable[[], tuple[Cuobjdump, ...]]
Read = Callable[[Reader], tuple[Image, ...]]


@dataclass
class _Tools:
    """What reads device code, looked for when the first file needs it."""

    find: FindTools | None
    """None: device code is not looked at."""
    environment: Environment
    readers: tuple[Reader, ...] = ()
    used: dict[Cuobjdump, None] = field(default_factory=dict)

    def read(self, read: Read) -> tuple[Image, ...]:
        """Return what the first cuobjdump that can says. Raises BuildError with what each said where none can."""
        if self.find is None:
            return ()
        if not self.readers:
            self.readers = tuple(Reader(tool, self.environment) for tool in self.find())
        problems: list[Problem] = []
        for reader in self.readers:
            try:
                images = read(reader)
            except BuildError as error:
                problems.extend(error.problems)
            else:
                self.used.setdefault(reader.tool)
                return images
        details = tuple(detail for problem in problems for detail in problem.details)
        raise BuildError(replace(problems[0], details=details))


def inspect_path(path: Path, *, find_tools: FindTools, environment: Environment) -> Inspection:
    """Return what is in a wheel, shared library, object, archive, cubin, fatbin or PTX file.

    A file in a wheel whose device code cannot be read carries the problem; the others are told.

    Raises:
        BuildError: BAD_VALUE for what is none of these, MISSING_TOOL where cuobjdump or pyelftools
            is needed and is not there.
    """
    if not path.is_file():
        why = "it is a folder" if path.is_dir() else "there is no such file"
        raise BuildError(Problem(Code.BAD_VALUE, why, where=str(path), fix=("name a wheel or a built file",)))
    tools = _Tools(find_tools, environment)
    if zipfile.is_zipfile(path):
        return _inspect_wheel(path, tools=tools)
    found = _inspect_file(path, name=str(path), tools=tools)
    if found is None:
        fix = ("name a wheel, shared library, object, archive, cubin, fatbin or PTX file",)
        raise BuildError(Problem(Code.BAD_VALUE, "it is no file that holds device code", where=str(path), fix=fix))
    files = (found,)
    notes = _list_notes(files, packed=False)
    return Inspection(str(path), found.size, wheel=False, tools=tuple(tools.used), files=files, notes=notes)


def read_linkage(path: Path, *, environment: Environment) -> Inspection:
    """Return how every file of a wheel is linked, those without CUDA included; device code is not looked at.

    Raises:
        BuildError: BAD_VALUE for what is no wheel, MISSING_TOOL where pyelftools is not there.
    """
    if not path.is_file() or not zipfile.is_zipfile(path):
        raise BuildError(Problem(Code.BAD_VALUE, "there is no such wheel", where=str(path)))
    return _inspect_wheel(path, tools=_Tools(None, environment))


def _inspect_wheel(path: Path, *, tools: _Tools) -> Inspection:
    try:
        with zipfile.ZipFile(path) as archive:
            metadata = [name for name in archive.namelist() if _METADATA.fullmatch(name)]
            if not metadata:
                fix = ("a wheel has a folder .dist-info with METADATA in it",)
                raise BuildError(Problem(Code.BAD_VALUE, "it is a zip file, but no wheel", str(path), fix=fix))
            manifest = _read_manifest(archive, where=path)
            files = tuple(_list_files(archive, tools=tools))
            requires = email.message_from_bytes(archive.read(metadata[0])).get_all("Requires-Dist") or ()
    # zipfile raises the second for a compression that it does not know, and the third for a member that is encrypted.
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, EOFError) as error:
        problem = Problem(Code.BAD_VALUE, "the wheel cannot be unpacked", str(path), (("because", str(error)),))
        raise BuildError(problem) from error
    toolkit = manifest.get("toolkit") if manifest else None
    files = tuple(_with_manifest(file, manifest=manifest) for file in files) if manifest else files
    return Inspection(
        str(path),
        path.stat().st_size,
        wheel=True,
        tools=tuple(tools.used),
        files=files,
        toolkit=str(toolkit["version"]) if isinstance(toolkit, Mapping) else None,
        manifest=manifest is not None,
        requires=tuple(map(str, requires)),
        notes=_list_notes(files, packed=manifest is not None),
    )


def _list_files(archive: zipfile.ZipFile, *, tools: _Tools) -> Iterator[File]:
    """Yield what is found in each file of a wheel that is built code, by path."""
    with tempfile.TemporaryDirectory(prefix="setuptools-cuda-") as name:
        for member in sorted(archive.infolist(), key=lambda each: each.filename):
            if member.is_dir() or not _is_built(archive, member):
                continue
            unpacked = Path(name, f"member{Path(member.filename).suffix}")
            with archive.open(member) as source, unpacked.open("wb") as target:
                shutil.copyfileobj(source, target, 1 << 20)
            found = _inspect_file(unpacked, name=member.filename, tools=tools)
            unpacked.unlink()
            if found and (tools.find is None or _counts(found)):
                yield found


def _counts(file: File) -> bool:
    """Return whether a file of a wheel has anything to do with CUDA."""
    linked = file.needed or file.cudart in ("static", "shared")
    return bool(file.images or file.problem or linked or file.kind == "ltoir")


def _is_built(archive: zipfile.ZipFile, member: zipfile.ZipInfo) -> bool:
    if member.filename.endswith((".ptx", ".ltoir")):
        return True
    with archive.open(member) as file:
        return file.read(_HEAD).startswith((_ELF, _ARCHIVE, _FATBIN))


def _inspect_file(path: Path, *, name: str, tools: _Tools) -> File | None:
    """Return what is in one file, None for one of no kind that is known."""
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(_HEAD)
    if head.startswith(_ELF):
        return _inspect_elf(path, name=name, tools=tools)
    if head.startswith((_ARCHIVE, _FATBIN)):
        kind: Kind = "archive" if head.startswith(_ARCHIVE) else "fatbin"
        file_found = File(name, kind, size, device_size=size if kind == "fatbin" else None)
        return _with_images(file_found, lambda: tools.read(lambda reader: reader.read_fatbins(path)))
    if path.suffix == ".ltoir":
        return File(name, "ltoir", size, device_size=size)
    if path.suffix == ".ptx" or b".version" in path.read_bytes()[:4096]:
        text = path.read_text("utf-8", "backslashreplace")
        return _with_images(File(name, "ptx", size, device_size=size), lambda: read_ptx(text, size=size))
    return None


def _inspect_elf(path: Path, *, name: str, tools: _Tools) -> File:
    size = path.stat().st_size
    try:
        if is_cubin(path.read_bytes()):
            return _with_images(
                File(name, "cubin", size, device_size=size), lambda: tools.read(lambda reader: reader.read_cubin(path))
            )
        facts = read_host(path)
    except BuildError as error:
        return _failed(File(name, "object", size), error=error)
    host = File(
        name,
        facts.kind,
        size,
        device_size=facts.device_size,
        cudart=facts.cudart,
        needed=facts.needed,
        runpath=facts.runpath,
    )
    return _with_images(host, lambda: tools.read(lambda reader: reader.read_fatbins(path)))


def _with_images(file: File, read: Callable[[], tuple[Image, ...]]) -> File:
    try:
        return replace(file, images=read())
    except BuildError as error:
        return _failed(file, error=error)


def _failed(file: File, *, error: BuildError) -> File:
    """Return the file with its problem; what is missing altogether is no fault of the file."""
    problem = error.problems[0]
    if problem.code is Code.MISSING_TOOL:
        raise error
    return replace(file, problem=replace(problem, where=file.path))


def _read_manifest(archive: zipfile.ZipFile, *, where: Path) -> dict[str, Any] | None:
    names = [name for name in archive.namelist() if _MANIFEST.fullmatch(name)]
    if not names:
        return None
    try:
        content = json.loads(archive.read(names[0]))
        known = isinstance(content, dict) and 1 <= int(content["schema"]) <= READ_SCHEMA
    except (ValueError, KeyError, TypeError) as error:
        raise BuildError(Problem(Code.BAD_VALUE, f"{names[0]} is no manifest: {error}", str(where))) from error
    if not known:
        text = f"{names[0]} is of a schema that this release does not read"
        raise BuildError(Problem(Code.BAD_VALUE, text, str(where), fix=("use a newer setuptools-cuda-build",)))
    result: dict[str, Any] = content
    return result


def _with_manifest(file: File, *, manifest: Mapping[str, Any]) -> File:
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


def _list_notes(files: tuple[File, ...], *, packed: bool) -> tuple[str, ...]:
    """Return what the figures leave open; ``packed``: whether the manifest says how code is compressed."""
    notes = []
    open_ones = {
        image.toolkit
        for file in files
        for image in file.images
        if image.compressed and image.toolkit and Release(12, 8) <= image.toolkit < Release(13, 0)
    }
    if open_ones and not packed:
        releases = " and ".join(map(str, sorted(open_ones)))
        notes.append(
            f"compressed code of toolkit {releases}: if it was made with --compress-mode=size or balance, it needs a "
            f"driver for CUDA {COMPRESSION}; cuobjdump does not say how code is compressed"
        )
    if any(image.driver is None and image.name.startswith("sm_") for file in files for image in file.images):
        notes.append("some machine code does not say which toolkit made it, so that its oldest driver is not known")
    if any(file.kind == "ltoir" and not file.images for file in files):
        notes.append("cuobjdump does not read plain LTO-IR (.ltoir)")
    return tuple(notes)
