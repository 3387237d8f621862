"""A kernel module that CMake declares, built by the same core as one of the table."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from setuptools_cuda import pipeline
from setuptools_cuda.config.keys import ARRAYS, KERNEL_MODULE, OVERRIDE, Key
from setuptools_cuda.config.pyproject import find_table
from setuptools_cuda.environment import Environment
from setuptools_cuda.errors import BuildError, Problem
from setuptools_cuda.execute.depfile import render_depfile
from setuptools_cuda.execute.folder import telling
from setuptools_cuda.frontends.cmake_words import OURS, name_as_cmake, with_arguments_of, with_names_of_cmake
from setuptools_cuda.resolution.architecture_spellings import spell_for_cmake
from setuptools_cuda.stage.copy import stage_files
from setuptools_cuda.targets import Declared

Words = Sequence[tuple[str, str]]
"""(key of the table, value), a key of a list once for each item."""
Echo = Callable[[str], None]
_FUNCTION = "setuptools_cuda_add_kernel_module"
_ON = frozenset({"1", "ON", "YES", "TRUE", "Y"})


@dataclass(frozen=True, kw_only=True)
class CMakeKernels:
    """What ``setuptools_cuda_add_kernel_module`` was given, and where CMake wants the files."""

    root: Path
    target: str
    words: Words
    source_words: Sequence[tuple[str, str, str]]
    """(source, key, value): properties of single sources."""
    binary_folder: Path
    """Where intermediate files go."""
    wheel_folder: Path
    """Gets the files as they lie in the wheel, and holds no others."""
    manifest: Path
    depfile: Path
    nvcc: str = ""
    host_compiler: str = ""
    architectures: str = ""
    """CMake's list with commas between its words, '' where it has none."""


def build_kernels(kernels: CMakeKernels, *, environment: Environment, echo: Echo) -> None:
    """Build the module, and put its files, its manifest and the list of what it was made from where CMake wants them.

    Raises BuildError, in the words of CMake's function.
    """
    names = _names_of_cmake(environment)
    try:
        planned = _plan(kernels, environment=environment)
        result = pipeline.build(planned, echo=lambda line: echo(name_as_cmake(line, names=names)))
    except BuildError as error:
        raise BuildError(*(_in_words_of_cmake(one, kernels=kernels, names=names) for one in error.problems)) from None
    with telling(kernels.wheel_folder):
        _remove_others(kernels.wheel_folder, keep=result.files)
    stage_files(result.files, into=kernels.wheel_folder)
    read = (str(path) for path in pipeline.list_read(planned))
    # The manifest comes last: CMake takes its time for that of the whole.
    made = {
        kernels.depfile.name: render_depfile(str(kernels.manifest), read).encode("utf-8", "surrogateescape"),
        kernels.manifest.name: result.manifest.encode("utf-8"),
    }
    stage_files(made, into=kernels.manifest.parent)
    with telling(kernels.manifest):
        kernels.manifest.touch()


def _plan(kernels: CMakeKernels, *, environment: Environment) -> pipeline.Planned:
    request = _make_request(kernels, environment=environment)
    planned = pipeline.plan(request)
    asked = [word for word in kernels.architectures.split(",") if word and word.casefold() not in {"off", "false"}]
    found = planned.architectures
    # CMake's list has lost which numbers were bare, so that our own, where it means the same, says more.
    if not asked or found is None or sorted(asked) == sorted(spell_for_cmake(found.codes).split(";")):
        return planned
    changed = request.environment.with_variables({"SETUPTOOLS_CUDA_ARCHITECTURES": ";".join(asked)})
    return pipeline.plan(replace(request, environment=changed))


def _make_request(kernels: CMakeKernels, *, environment: Environment) -> pipeline.Request:
    table = find_table(kernels.root) or {}
    project = {name: value for name, value in table.items() if name not in {scope.name for scope in ARRAYS}}
    words = dict(_read_words(kernels.words, keys=KERNEL_MODULE.keys))
    overrides = [*_overrides(kernels, module=str(words.get("module", "")))]
    declared = Declared("kernel-module", f"{_FUNCTION}({kernels.target})", words)
    return pipeline.Request(
        kernels.root,
        _with_compilers(kernels, table=project, environment=environment),
        declared=(declared,),
        build_base=kernels.binary_folder,
        table={**project, **({OVERRIDE.name: overrides} if overrides else {})},
    )


def _with_compilers(kernels: CMakeKernels, *, table: Mapping[str, object], environment: Environment) -> Environment:
    """Return the environment in which CMake's nvcc and host compiler are the ones that were set."""
    named = environment.get("SETUPTOOLS_CUDA_TOOLCHAIN_STEPS") or table.get("toolchain-steps")
    words = named.replace(",", " ").replace(";", " ") if isinstance(named, str) else named
    steps = words if isinstance(words, str) else " ".join(map(str, words)) if isinstance(words, (list, tuple)) else ""
    changes = {
        "SETUPTOOLS_CUDA_NVCC": kernels.nvcc or None,
        "SETUPTOOLS_CUDA_HOST_COMPILER": kernels.host_compiler or None,
        "SETUPTOOLS_CUDA_TOOLCHAIN_STEPS": f"setting {steps}" if steps and kernels.nvcc else None,
    }
    return environment.with_variables({name: value for name, value in changes.items() if value})


def _overrides(kernels: CMakeKernels, *, module: str) -> Iterator[dict[str, object]]:
    for source in dict.fromkeys(source for source, _, _ in kernels.source_words):
        words = [(key, value) for one, key, value in kernels.source_words if one == source]
        yield {"match": source, "target": module, **dict(_read_words(words, keys=OVERRIDE.keys))}


def _read_words(words: Words, *, keys: Mapping[str, Key]) -> Iterator[tuple[str, object]]:
    """Yield keys with values of their kind; what does not fit is left to the loader, which tells it."""
    for name in dict.fromkeys(name for name, _ in words):
        values = [value for one, value in words if one == name]
        yield name, _read_values(values, kind=keys[name].kind if name in keys else "text")


def _read_values(values: Sequence[str], *, kind: str) -> object:
    if kind in {"texts", "choices"}:
        return list(values)
    if kind == "flags":
        return {"cuda": list(values)}
    if kind == "switch":
        return values[-1].upper() in _ON
    if kind == "number" and values[-1].lstrip("-").isdecimal():
        return int(values[-1])
    return values[-1]


def _names_of_cmake(environment: Environment) -> tuple[str, ...]:
    """Return CMake's variables that ours are set from; what a user has set stays named as it is."""
    return tuple(theirs for theirs, ours in OURS.items() if environment.get(ours) is None)


def _in_words_of_cmake(problem: Problem, *, kernels: CMakeKernels, names: Sequence[str]) -> Problem:
    sources = tuple(dict.fromkeys(source for source, _, _ in kernels.source_words))
    problem = with_arguments_of(problem, call=f"{_FUNCTION}({kernels.target})", sources=sources)
    return with_names_of_cmake(problem, names=names)


def _remove_others(folder: Path, *, keep: Mapping[str, object]) -> None:
    """Remove from ``folder`` what an earlier build has put there and this one has not."""
    for path in sorted(folder.rglob("*"), reverse=True):
        if path.is_dir() and not path.is_symlink():
            if not any(path.iterdir()):
                path.rmdir()
        elif path.relative_to(folder).as_posix() not in keep:
            path.unlink()
