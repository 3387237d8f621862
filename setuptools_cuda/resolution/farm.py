"""A farm of links over NVIDIA's wheels, so that nvcc, CMake and linkers see an ordinary toolkit.

The wheels lack ``lib64``, the unversioned names of shared libraries, and ``libcuda.so``. nvcc
takes its root from the path it is called by and not from where a link leads, so an nvcc
called through the farm looks for everything in it.
"""

from __future__ import annotations

import re
import secrets
from collections.abc import Iterator
from pathlib import Path

from setuptools_cuda.environment import Environment
from setuptools_cuda.errors import BuildError, Code, Problem
from setuptools_cuda.process import run_tool
from setuptools_cuda.resolution.programs import probe_variables
from setuptools_cuda.resolution.values import Farm

_VERSIONED = re.compile(r"(lib.+\.so)\.[0-9.]+")
_FILE_BY_FILE = ("bin", "lib")
_STUB_FOLDER = "lib/stubs"

# In cuda.h a function is declared under one name and renamed by macros to the one that
# libcuda exports; every name in the file is taken, and those of the two renaming macros.
_DRIVER_HEADERS = ("cuda.h", "cudaProfiler.h", "cudaGL.h", "cudaEGL.h", "cudaVDPAU.h")
_FUNCTION = re.compile(r"\bcu[A-Z]\w*")
_RENAMED = re.compile(r"__CUDA_API_(PTDS|PTSZ)\((cu\w+)\)")


def plan_farm(root: Path, *, into: Path) -> Farm:
    """Return the links that make an ordinary toolkit in ``into`` of the wheel folder ``root``."""
    links = dict(_list_links(root))
    links |= _name_libraries(tuple(name.removeprefix("lib/") for name in links if name.startswith("lib/")))
    links["lib64"] = "lib"
    return Farm(into, tuple(sorted(links.items())), _find_driver_symbols(root / "include"))


def write_farm(farm: Farm, *, host_compiler: Path, environment: Environment) -> None:
    """Make the links and the stub of ``farm``; what is already right is left alone.

    Several processes may do so at once: each link is made under another name and moved into
    place. Links that point elsewhere or nowhere, as after the environment was made anew, are
    replaced; links that are no longer planned are removed.

    Raises:
        BuildError: NOT_WRITABLE, LINK_FAILED when the host compiler cannot make the stub.
    """
    try:
        for folder in (farm.folder, *(farm.folder / name for name in (*_FILE_BY_FILE, _STUB_FOLDER))):
            folder.mkdir(parents=True, exist_ok=True)
        for name, target in farm.links:
            _write_link(farm.folder / name, target=target)
        _remove_stale(farm)
        _write_stub(farm, host_compiler=host_compiler, environment=environment)
    except OSError as error:
        raise BuildError(_describe_unwritable(farm, error)) from error


def _list_links(root: Path) -> Iterator[tuple[str, str]]:
    for path in root.iterdir():
        if path.name not in _FILE_BY_FILE and not path.name.startswith("."):
            yield path.name, str(path)
    for folder in _FILE_BY_FILE:
        for path in (root / folder).glob("*"):
            yield f"{folder}/{path.name}", str(path)


def _name_libraries(names: tuple[str, ...]) -> dict[str, str]:
    """Return links from ``libcudart.so`` to ``libcudart.so.13``, the newest where there are several."""
    newest: dict[str, str] = {}
    for name in sorted(names, key=_sort_version):
        if (match := _VERSIONED.fullmatch(name)) and match[1] not in names:
            newest[f"lib/{match[1]}"] = name
    return newest


def _sort_version(name: str) -> tuple[int, ...]:
    return tuple(int(number) for number in re.findall(r"\d+", name.partition(".so")[2]))


def _find_driver_symbols(include: Path) -> tuple[str, ...]:
    texts = [(include / name).read_text("utf-8", "replace") for name in _DRIVER_HEADERS if (include / name).is_file()]
    names = {name for text in texts for name in _FUNCTION.findall(text)}
    names |= {f"{name}_{kind.lower()}" for text in texts for kind, name in _RENAMED.findall(text)}
    return tuple(sorted(names))


def _write_link(path: Path, *, target: str) -> None:
    if path.is_symlink() and str(path.readlink()) == target:
        return
    fresh = path.with_name(f".{path.name}.{secrets.token_hex(8)}")
    fresh.symlink_to(target)
    try:
        fresh.replace(path)
    except OSError:
        fresh.unlink()
        raise


def _remove_stale(farm: Farm) -> None:
    planned = {name for name, _ in farm.links}
    for folder in ("", *_FILE_BY_FILE):
        for path in (farm.folder / folder).iterdir():
            name = f"{folder}/{path.name}" if folder else path.name
            # A name that begins with a dot is a link that another process is about to move.
            if path.is_symlink() and name not in planned and not path.name.startswith("."):
                path.unlink(missing_ok=True)


def _write_stub(farm: Farm, *, host_compiler: Path, environment: Environment) -> None:
    """Make ``libcuda.so`` with the driver's functions in it, each empty: the linker asks only for names."""
    folder = farm.folder / _STUB_FOLDER
    source, library = folder / "libcuda.c", folder / "libcuda.so"
    text = "".join(f"void {name}(void) {{}}\n" for name in farm.driver_symbols)
    if library.is_file() and source.is_file() and source.read_text("utf-8") == text:
        return
    mark = secrets.token_hex(8)
    fresh_source, fresh_library = folder / f".{mark}.c", folder / f".{mark}.so"
    fresh_source.write_text(text, "utf-8")
    options = ("-x", "c", "-shared", "-fPIC", "-nostdlib", "-w", "-fno-builtin", "-Wl,-soname,libcuda.so.1")
    argv = [str(host_compiler), *options, str(fresh_source), "-o", str(fresh_library)]
    done = run_tool(argv, variables=probe_variables(environment))
    if not done.ok:
        fresh_source.unlink()
        details = (("command", " ".join(argv)), ("said", done.stderr.strip()))
        raise BuildError(Problem(Code.LINK_FAILED, "the stub of libcuda cannot be made", str(library), details))
    fresh_library.replace(library)
    fresh_source.replace(source)


def _describe_unwritable(farm: Farm, error: OSError) -> Problem:
    what = "the links to the toolkit's wheels cannot be written"
    fix = (f"remove {farm.folder}, and see that its folder can be written to",)
    return Problem(Code.NOT_WRITABLE, what, str(farm.folder), (("why", str(error)),), fix)
