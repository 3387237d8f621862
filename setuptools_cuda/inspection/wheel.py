"""Wheels and files on disk: what in them is looked at, and what comes of it."""

from __future__ import annotations

import email
import re
import tempfile
import zipfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from setuptools_cuda.environment import Environment
from setuptools_cuda.errors import BuildError, Code, Problem, spell_controls
from setuptools_cuda.inspection import archive
from setuptools_cuda.inspection.device import Reader, read_ptx
from setuptools_cuda.inspection.elf import is_cubin, read_host
from setuptools_cuda.inspection.manifest import add_manifest, read_manifest
from setuptools_cuda.inspection.members import Members, open_wheel
from setuptools_cuda.inspection.values import Cuobjdump, File, Image, Inspection
from setuptools_cuda.resolution.values import Release
from setuptools_cuda.stage.drivers import COMPRESSION

_METADATA = re.compile(r"[^/]+\.dist-info/METADATA")
_ELF, _FATBIN = b"\x7fELF", b"\x50\xed\x55\xba"
_ARCHIVES = (archive.MAGIC, archive.THIN)
_HEAD = 8
_BY_NAME = (".ptx", ".ltoir")
# The first bytes of what Windows and macOS load (PE; Mach-O for one and for several machines), by the names it has.
_FOREIGN = (b"MZ", b"\xcf\xfa\xed\xfe", b"\xce\xfa\xed\xfe", b"\xca\xfe\xba\xbe")
_FOREIGN_NAMES = (".pyd", ".dll", ".exe", ".dylib", ".so")

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
    _check_file(path, fix="name a wheel or a built file")
    tools = _Tools(find_tools, environment)
    if _is_wheel(path):
        return _inspect_wheel(path, tools=tools)
    found = _inspect_file(path, name=str(path), tools=tools)
    if found is None:
        raise BuildError(_describe_other(path))
    files = (found,)
    notes = _list_notes(files, packed=False)
    return Inspection(str(path), found.size, wheel=False, tools=tuple(tools.used), files=files, notes=notes)


def read_linkage(path: Path, *, environment: Environment) -> Inspection:
    """Return how every file of a wheel is linked, those without CUDA included; device code is not looked at.

    Raises:
        BuildError: BAD_VALUE for what is no wheel, MISSING_TOOL where pyelftools is not there.
    """
    _check_file(path, fix="name a file .whl")
    if not _is_wheel(path):
        raise BuildError(Problem(Code.BAD_VALUE, "it is no wheel", str(path), fix=("name a file .whl",)))
    return _inspect_wheel(path, tools=_Tools(None, environment))


def _check_file(path: Path, *, fix: str) -> None:
    if not path.is_file():
        why = "it is a folder" if path.is_dir() else "it is no plain file" if path.exists() else "there is no such file"
        raise BuildError(Problem(Code.BAD_VALUE, why, str(path), fix=(fix,)))


def _is_wheel(path: Path) -> bool:
    """Return whether a file is to be read as a wheel: a damaged one is, a library with a zip file at its end not."""
    if path.suffix == ".whl":
        return True
    with path.open("rb") as file:
        built = file.read(_HEAD).startswith((_ELF, *_ARCHIVES, _FATBIN))
    return not built and zipfile.is_zipfile(path)


def _describe_other(path: Path) -> Problem:
    with path.open("rb") as file:
        if _is_foreign(path.name, head=file.read(_HEAD)):
            fix = ("look into it where it runs, by the cuobjdump of a toolkit there",)
            return Problem(Code.BAD_VALUE, "it is of Windows or macOS, which is not read", where=str(path), fix=fix)
    fix = ("name a wheel, shared library, object, archive, cubin, fatbin or PTX file",)
    return Problem(Code.BAD_VALUE, "it is no file that holds device code", where=str(path), fix=fix)


def _inspect_wheel(path: Path, *, tools: _Tools) -> Inspection:
    with open_wheel(path) as members:
        metadata = _find_metadata(members)
        manifest = read_manifest(members)
        files, foreign = _list_files(members, tools=tools)
        requires = email.message_from_bytes(members.read(metadata)).get_all("Requires-Dist") or ()
    toolkit = manifest.get("toolkit") if manifest else None
    files = tuple(add_manifest(file, manifest=manifest) for file in files) if manifest else files
    return Inspection(
        str(path),
        path.stat().st_size,
        wheel=True,
        tools=tuple(tools.used),
        files=files,
        toolkit=str(toolkit["version"]) if isinstance(toolkit, Mapping) else None,
        manifest=manifest is not None,
        requires=tuple(map(str, requires)),
        notes=_list_notes(files, packed=manifest is not None, foreign=foreign),
        foreign=foreign,
    )


def _find_metadata(members: Members) -> str:
    """Return the name of a wheel's METADATA. Raises BuildError where it has none, or several, which pip refuses."""
    names = sorted({name for name in members.names if _METADATA.fullmatch(name)})
    if len(names) == 1:
        return names[0]
    what = "it has several folders .dist-info" if names else "it is a zip file, but no wheel"
    fix = ("a wheel has one folder .dist-info with METADATA in it",)
    details = tuple(("has", spell_controls(name)) for name in names)
    raise BuildError(Problem(Code.BAD_VALUE, what, str(members.path), details, fix))


def _list_files(members: Members, *, tools: _Tools) -> tuple[tuple[File, ...], tuple[str, ...]]:
    """Return what is found in each file of a wheel that is built code, by path, and the names of those not read."""
    files, foreign = list[File](), list[str]()
    with tempfile.TemporaryDirectory(prefix="setuptools-cuda-") as name:
        for member in members.list():
            suffix = Path(member.filename).suffix
            head = members.read_head(member, size=_HEAD)
            shown = spell_controls(member.filename)
            if _is_foreign(member.filename, head=head):
                foreign.append(shown)
            if not _is_looked_at(suffix, head=head, tools=tools):
                continue
            unpacked = Path(name, f"member{suffix if suffix in _BY_NAME else ''}")
            members.unpack(member, into=unpacked)
            found = _inspect_file(unpacked, name=shown, tools=tools)
            unpacked.unlink()
            if found and (tools.find is None or _counts(found)):
                files.append(found)
    return tuple(files), tuple(foreign)


def _is_looked_at(suffix: str, *, head: bytes, tools: _Tools) -> bool:
    """Return whether a file may count: for linkage alone, only what a loader loads."""
    if tools.find is None:
        return head.startswith(_ELF)
    return suffix in _BY_NAME or head.startswith((_ELF, *_ARCHIVES, _FATBIN))


def _is_foreign(name: str, *, head: bytes) -> bool:
    """Return whether a file is code of Windows or macOS, by its name and first bytes."""
    return name.lower().endswith(_FOREIGN_NAMES) and head.startswith(_FOREIGN)


def _counts(file: File) -> bool:
    """Return whether a file of a wheel has anything to do with CUDA."""
    linked = file.needed or file.cudart in ("static", "shared")
    return bool(file.images or file.problem or linked or file.kind == "ltoir")


def _inspect_file(path: Path, *, name: str, tools: _Tools) -> File | None:
    """Return what is in one file, None for one of no kind that is known."""
    size = path.stat().st_size
    with path.open("rb") as file:
        head = file.read(_HEAD)
    if head.startswith(_ELF):
        return _inspect_elf(path, name=name, tools=tools)
    if head.startswith(_ARCHIVES):
        return _with_images(File(name, "archive", size), lambda: _read_archive(path, tools=tools))
    if head.startswith(_FATBIN):
        fatbin = File(name, "fatbin", size, device_size=size)
        return _with_images(fatbin, lambda: tools.read(lambda reader: reader.read_fatbins(path)))
    if path.suffix == ".ltoir":
        return File(name, "ltoir", size, device_size=size)
    if path.suffix == ".ptx" or b".version" in path.read_bytes()[:4096]:
        text = path.read_text("utf-8", "backslashreplace")
        return _with_images(File(name, "ptx", size, device_size=size), lambda: read_ptx(text, size=size))
    return None


def _read_archive(path: Path, *, tools: _Tools) -> tuple[Image, ...]:
    if not archive.has_members(path):
        return ()
    return tools.read(lambda reader: reader.read_fatbins(path))


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
    fix = problem.fix or ("see whether the file is whole, and fetch or build it anew",)
    return replace(file, problem=replace(problem, code=Code.TOOL_FAILED, where=file.path, fix=fix))


def _list_notes(files: tuple[File, ...], *, packed: bool, foreign: tuple[str, ...] = ()) -> tuple[str, ...]:
    """Return what the figures leave open; ``packed``: whether the manifest says how code is compressed."""
    notes = [f"not read, since it is of Windows or macOS: {name}" for name in foreign]
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
