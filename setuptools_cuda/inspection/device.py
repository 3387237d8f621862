"""Device code in a file, as NVIDIA's cuobjdump tells it. It unpacks into a folder of its own."""

from __future__ import annotations

import re
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path

from setuptools_cuda.environment import Environment
from setuptools_cuda.errors import BuildError, Code, Problem
from setuptools_cuda.inspection.elf import read_cubin
from setuptools_cuda.inspection.listing import (
    Entry,
    parse_cubin,
    parse_entries,
    parse_toolkit,
    parse_unpacked,
)
from setuptools_cuda.inspection.values import CubinFacts, Cuobjdump, Image
from setuptools_cuda.process import Completed, run_streaming, run_tool
from setuptools_cuda.resolution.programs import probe_variables
from setuptools_cuda.resolution.values import Architecture, Release
from setuptools_cuda.stage.drivers import machine_code_driver, ptx_driver, toolkit_isa
from setuptools_cuda.stage.ptx import parse_ptx

_NOTHING = "does not contain device code"
_NAME = "code"
# Unpacking what a large library holds takes a while.
_TIMEOUT = 1800.0
_RELOCATABLE = re.compile(r"(?:^|\s)(?:--compile-only|-c)\b")


@dataclass(frozen=True)
class Reader:
    """A cuobjdump to ask, and the environment that it runs in."""

    tool: Cuobjdump
    environment: Environment

    def read_fatbins(self, path: Path) -> tuple[Image, ...]:
        """Return all device code in a fatbin, or in a host file with fatbins; () where there is none.

        Raises:
            BuildError: TOOL_FAILED where cuobjdump cannot read it, or is older than the code.
        """
        with tempfile.TemporaryDirectory(prefix="setuptools-cuda-") as name:
            folder = Path(name)
            # Whatever the file is called, cuobjdump gets a name that it can make others of.
            (folder / _NAME).symlink_to(path.resolve())
            listed = self._ask("--all-fatbin", _NAME, cwd=folder)
            if not listed.ok and _NOTHING in listed.stdout + listed.stderr:
                return ()
            entries = self._understand(listed)
            if not entries:
                return ()
            unpacked = self._ask("--all-fatbin", "--extract-elf", "all", "--extract-ptx", "all", _NAME, cwd=folder)
            if not unpacked.ok:
                raise self._failed(unpacked)
            return self._join(entries, said=unpacked.stdout, folder=folder)

    def read_cubin(self, path: Path) -> tuple[Image, ...]:
        """Return the one image of a cubin. Raises BuildError as :meth:`read_fatbins`."""
        with tempfile.TemporaryDirectory(prefix="setuptools-cuda-") as name:
            link = Path(name, _NAME)
            link.symlink_to(path.resolve())
            done = self._ask("--list-elf", _NAME, cwd=link.parent)
            architecture = parse_cubin(done.stdout)
            if not done.ok or architecture is None:
                raise self._failed(done)
            family = read_cubin(path.read_bytes()).family
            code = family if family == f"{architecture}f" else architecture
            image = Image(f"sm_{code}", path.stat().st_size)
            return self._complete([(image, link)])

    def _join(self, entries: tuple[Entry, ...], *, said: str, folder: Path) -> tuple[Image, ...]:
        """Return images of entries and of the files that they were unpacked to; both have one order."""
        waiting: dict[str, list[Path]] = {"elf": [], "ptx": []}
        files = parse_unpacked(said)
        for file in files:
            waiting[file.kind].append(folder / file.file)
        listed = [(entry.kind, _number(entry.architecture)) for entry in entries if entry.kind in waiting]
        if Counter(listed) != Counter((file.kind, _number(file.architecture)) for file in files):
            text = f"{len(listed)} entries and {len(files)} unpacked files do not match"
            raise BuildError(self._describe(text))
        pairs: list[tuple[Image, Path | None]] = []
        for entry in entries:
            found = waiting[entry.kind].pop(0) if entry.kind in waiting else None
            if found is not None and f".sm_{_number(entry.architecture)}" not in found.name:
                raise BuildError(self._describe(f"{found.name} is not in the order of the entries"))
            pairs.append((_make_image(entry, file=found), found))
        return self._complete(pairs)

    def _complete(self, pairs: Iterable[tuple[Image, Path | None]]) -> tuple[Image, ...]:
        """Return the images with what their files say: toolkit, linkage, driver."""
        pairs = list(pairs)
        cubins = {path: read_cubin(path.read_bytes()) for image, path in pairs if path and image.name.startswith("sm_")}
        toolkits = self._find_toolkits(cubins)
        images = tuple(
            _with_cubin(image, facts=cubins[path], toolkit=toolkits[cubins[path].maker]) if path in cubins else image
            for image, path in pairs
        )
        self._check_age(images)
        return tuple(replace(image, driver=find_driver(image)) for image in images)

    def _find_toolkits(self, cubins: Mapping[Path, CubinFacts]) -> dict[bytes, Release | None]:
        """Return the toolkit of each maker: cuobjdump is asked once for each, with its smallest cubin."""
        smallest: dict[bytes, Path] = {}
        for path, facts in sorted(cubins.items(), key=lambda pair: pair[0].stat().st_size):
            smallest.setdefault(facts.maker, path)
        return {maker: self._find_toolkit(path) for maker, path in smallest.items()}

    def _find_toolkit(self, path: Path) -> Release | None:
        argv = (str(self.tool.path), "--dump-elf", path.name)
        try:
            run_streaming(argv, variables=probe_variables(self.environment), cwd=path.parent, on_line=_stop_at_toolkit)
        except _ToldError as told:
            return told.toolkit
        except OSError as error:
            raise BuildError(self._describe(error.strerror or str(error))) from error
        return None

    def _check_age(self, images: tuple[Image, ...]) -> None:
        """Raise where code is newer than the tool, which then names architectures wrongly (90 for 90a)."""
        known = toolkit_isa(self.tool.release)
        made = [image.toolkit for image in images if image.toolkit and image.toolkit > self.tool.release]
        isas = [image.isa for image in images if image.isa and image.isa > known]
        newest = [f"toolkit {max(made)}"] if made else [f"PTX {max(isas)[0]}.{max(isas)[1]}"] if isas else []
        for name in newest:
            problem = self._describe(f"it holds code of {name}, which this cuobjdump is too old for")
            raise BuildError(replace(problem, fix=("pip install --upgrade nvidia-cuda-cuobjdump",)))

    def _understand(self, done: Completed) -> tuple[Entry, ...]:
        if not done.ok:
            raise self._failed(done)
        try:
            return parse_entries(done.stdout)
        except ValueError as error:
            raise BuildError(self._describe(f"not understood: {error}")) from error

    def _failed(self, done: Completed) -> BuildError:
        said = done.stderr.strip() or f"status {done.status}"
        # The name that the tool was given says nothing to the user.
        said = re.sub(r"\bFile '[^']*'", "the file", re.sub(r" in '[^']*'", "", said))
        return BuildError(self._describe(said))

    def _describe(self, said: str) -> Problem:
        return Problem(
            Code.TOOL_FAILED,
            "its device code cannot be read",
            details=(("cuobjdump", f"{self.tool.version}, {self.tool.path}"), ("said", said)),
            fix=("try the cuobjdump of another release: --cuobjdump PATH",),
        )

    def _ask(self, *arguments: str, cwd: Path) -> Completed:
        argv = (str(self.tool.path), *arguments)
        return run_tool(argv, variables=probe_variables(self.environment), cwd=cwd, timeout=_TIMEOUT)


class _ToldError(Exception):
    """Ends a dump once the toolkit was told: what follows can be gigabytes."""

    def __init__(self, toolkit: Release) -> None:
        super().__init__(toolkit)
        self.toolkit = toolkit


def _stop_at_toolkit(line: str) -> None:
    toolkit = parse_toolkit(line)
    if toolkit:
        raise _ToldError(toolkit)


def _number(architecture: str) -> str:
    """Return '100' of '100f': files of family code are named without the 'f'."""
    return architecture.rstrip("af")


def _make_image(entry: Entry, *, file: Path | None) -> Image:
    is_ptx = entry.kind == "ptx"
    return Image(
        entry.name,
        file.stat().st_size if file else None,
        compressed=entry.compressed,
        relocatable=entry.kind == "nvvm" or bool(_RELOCATABLE.search(entry.options)),
        isa=entry.version if is_ptx else None,
    )


def _with_cubin(image: Image, *, facts: CubinFacts, toolkit: Release | None) -> Image:
    return replace(
        image,
        relocatable=facts.relocatable,
        toolkit=toolkit,
        undefined=facts.undefined,
        defined=facts.defined,
    )


def find_driver(image: Image) -> Release | None:
    """Return the oldest driver that loads ``image``; None where its toolkit is not known.

    How fatbins are compressed is not told by cuobjdump, so that it is not counted here.
    """
    if image.isa is not None:
        return ptx_driver(image.isa)
    if image.toolkit is None or not image.name.startswith("sm_"):
        return None
    return machine_code_driver(parse_code(image.name), toolkit=image.toolkit)


def parse_code(name: str) -> Architecture:
    """Return the architecture of 'sm_90a' or 'compute_90'."""
    digits = name.partition("_")[2]
    for variant in ("a", "f"):
        if digits.endswith(variant):
            return Architecture(int(digits[:-1]), "a" if variant == "a" else "f")
    return Architecture(int(digits))


def read_ptx(text: str, *, size: int) -> tuple[Image, ...]:
    """Return the one image of a PTX file. Raises BuildError (BAD_INPUT_FILE) where the text is no PTX."""
    facts = parse_ptx(text)
    image = Image(facts.target.replace("sm_", "compute_"), size, isa=facts.isa)
    return (replace(image, driver=find_driver(image)),)


def list_undefined(images: Iterable[Image]) -> Iterator[tuple[str, tuple[str, ...]]]:
    """Yield (architecture, symbols) that relocatable code needs and none of ``images`` defines.

    Code that a driver loads was linked already, so that an architecture which has such code needs nothing.
    """
    images = [image for image in images if image.name.startswith("sm_")]
    linked = {image.name for image in images if not image.relocatable}
    for name in sorted({image.name for image in images} - linked, key=parse_code):
        mine = [image for image in images if image.name == name]
        needs = {symbol for image in mine for symbol in image.undefined}
        has = {symbol for image in mine for symbol in image.defined}
        if needs - has:
            yield name, tuple(sorted(needs - has))
