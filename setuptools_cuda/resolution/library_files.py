"""Whether a toolkit has the files of the ``CUDA::`` libraries that a project links."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from setuptools_cuda.config.model import Settings
from setuptools_cuda.environment import Environment
from setuptools_cuda.errors import Code, Problem
from setuptools_cuda.resolution.cuda_libraries import PREFIX, CudaLibraryFact, order_libraries
from setuptools_cuda.resolution.host_probe import probe_library
from setuptools_cuda.resolution.probe import Layout, Toolkit


def diagnose_libraries(
    toolkit: Toolkit, *, settings: Settings, host_compiler: Path, environment: Environment
) -> Problem | None:
    """Return the problem that the toolkit lacks libraries that targets link, or None: a linker would say no more."""
    named = dict.fromkeys(_named(settings))
    missing = [
        fact
        for fact in order_libraries(named)
        if fact.link_name
        and fact.kind != "driver"
        and not _is_there(fact, layout=toolkit.layout, host_compiler=host_compiler, environment=environment)
    ]
    if not missing:
        return None
    names = ", ".join(f"{PREFIX}{fact.name}" for fact in missing)
    return Problem(
        Code.PARTIAL_TOOLKIT,
        f"the toolkit has no {names}",
        str(toolkit.layout.root),
        (("missing", "\n".join(map(_file, missing))), ("nvcc", f"{toolkit.layout.nvcc}, release {toolkit.release}")),
        tuple(_suggest(missing, toolkit=toolkit)),
    )


def _named(settings: Settings) -> Iterator[str]:
    for target in (*settings.extensions, *settings.libraries):
        yield from (name.removeprefix(PREFIX) for name in target.link if name.startswith(PREFIX))


def _file(fact: CudaLibraryFact) -> str:
    return f"lib{fact.link_name}.{'a' if fact.static else 'so'}"


def _is_there(fact: CudaLibraryFact, *, layout: Layout, host_compiler: Path, environment: Environment) -> bool:
    folders = dict.fromkeys((*layout.library_dirs, layout.root / "lib64", layout.root / "lib"))
    # pip's wheels have libcublas.so.13 alone; the links that a linker needs are made beside it.
    pattern = _file(fact) + ("" if fact.static else "*")
    if any(next(folder.glob(pattern), None) for folder in folders):
        return True
    return probe_library(host_compiler, name=_file(fact), environment=environment) is not None


def _suggest(missing: list[CudaLibraryFact], *, toolkit: Toolkit) -> Iterator[str]:
    extras = sorted({fact.extra for fact in missing if fact.extra and fact.in_wheels})
    if toolkit.site is not None and extras:
        spec = f"cuda-toolkit[{','.join(extras)}]=={toolkit.release}.*"
        yield f"pip install '{spec}', or add that to build-system.requires"
    if toolkit.site is not None and not all(fact.in_wheels for fact in missing):
        yield "NVIDIA's wheels have no such static library: link the shared one, or use an installed toolkit"
    if toolkit.site is None:
        yield f"install the whole of toolkit {toolkit.release}, with its development files"
