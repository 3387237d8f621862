"""The plan of a kernel module and its built files, brought together as values."""

from __future__ import annotations

import keyword
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path

from setuptools_cuda.plan.values import Artifact, KernelFile, KernelModulePlan
from setuptools_cuda.resolution.values import Architecture, Release
from setuptools_cuda.stage.demangle import demangle, plain_name
from setuptools_cuda.stage.drivers import COMPRESSION, machine_code_driver, ptx_driver
from setuptools_cuda.stage.kernel_runtime import Code, Image, Kernel, KernelImages, Kernels
from setuptools_cuda.stage.ptx import Entry, PtxFacts


def make_images(
    plan: KernelModulePlan, *, ptx: Mapping[str, PtxFacts], files: Mapping[str, Path], toolkit: Release
) -> dict[str, KernelImages]:
    """Return the images of a built kernel module by source, in the order of the plan.

    ``ptx`` holds what the files named by ``KernelFile.facts`` say, and those of PTX images, by
    their names in the plan; ``files`` the built file of each destination, ``toolkit`` who made it.
    """
    return {
        file.source: KernelImages(
            file.source,
            *(
                _image(
                    image, isa=ptx.get(image.file, ptx[file.facts]).isa, path=files[image.destination], toolkit=toolkit
                )
                for image in file.images
            ),
            kernels=Kernels(*_kernels(list_entries(file, ptx=ptx))),
        )
        for file in plan.files
    }


def list_entries(file: KernelFile, *, ptx: Mapping[str, PtxFacts]) -> list[Entry]:
    """Return the kernels of a source: a condition on ``__CUDA_ARCH__`` can make some for newer architectures alone."""
    read = [file.facts, *(image.file for image in file.images if image.file in ptx)]
    found: dict[str, Entry] = {}
    for entry in (entry for name in read for entry in ptx[name].kernels):
        found.setdefault(entry.name, entry)
    return list(found.values())


def plan_images(files: Iterable[KernelFile], *, isa: tuple[int, int], toolkit: Release) -> dict[str, KernelImages]:
    """Return what the images of sources will be before any is made: without kernels, of size 0.

    ``isa`` is the version of PTX that their compiler writes.
    """
    return {
        file.source: KernelImages(
            file.source,
            *(_image(image, isa=isa, path=None, toolkit=toolkit) for image in file.images),
            kernels=Kernels(),
        )
        for file in files
    }


def codes_of(artifact: Artifact, *, isa: tuple[int, int], toolkit: Release) -> tuple[Code, ...]:
    """Return the code in an artifact, each with the least driver; ``isa`` is the version of its PTX."""
    floor = COMPRESSION if artifact.compressed else Release(0, 0)
    codes = [(name, max(driver, floor)) for name, driver in _codes(artifact, isa=isa, toolkit=toolkit)]
    return tuple(Code(name, driver=(driver.major, driver.minor)) for name, driver in codes)


def _codes(artifact: Artifact, *, isa: tuple[int, int], toolkit: Release) -> Iterator[tuple[str, Release]]:
    if artifact.format == "ltoir":
        for architecture in _architectures(artifact, real=True, virtual=True):
            yield f"lto_{architecture}", Release(toolkit.major, 0)
        return
    for architecture in _architectures(artifact, real=True):
        yield architecture.real, machine_code_driver(architecture, toolkit=toolkit)
    for architecture in _architectures(artifact, virtual=True):
        yield architecture.virtual, ptx_driver(isa)


def _architectures(artifact: Artifact, *, real: bool = False, virtual: bool = False) -> list[Architecture]:
    if artifact.architecture is None:
        return [code.architecture for code in artifact.codes if (real and code.real) or (virtual and code.virtual)]
    wanted = virtual if artifact.format == "ptx" else real
    return [artifact.architecture] if wanted else []


def _image(artifact: Artifact, *, isa: tuple[int, int], path: Path | None, toolkit: Release) -> Image:
    codes = codes_of(artifact, isa=isa, toolkit=toolkit)
    has_ptx = any(code.name.startswith("compute_") for code in codes)
    return Image(
        str(path or artifact.destination),
        *codes,
        image_format=artifact.format,
        isa=isa if has_ptx else None,
        size=path.stat().st_size if path else 0,
    )


def _kernels(entries: Sequence[Entry]) -> Iterator[Kernel]:
    plain = Counter(plain_name(entry.name) for entry in entries)
    for entry in entries:
        name = plain_name(entry.name)
        attribute = name if plain[name] == 1 and is_attribute(name) else ""
        yield Kernel(entry.name, *entry.parameters, demangled=demangle(entry.name), attribute=attribute)


def is_attribute(name: str) -> bool:
    """Return whether a kernel of that plain name can be an attribute of :class:`Kernels`."""
    spoken_for = keyword.iskeyword(name) or name.startswith("__") or name == Kernel.__name__ or hasattr(Kernels, name)
    return name.isidentifier() and not spoken_for
