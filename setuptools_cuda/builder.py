"""The Python API: build a library or kernels from a script, over the same core as every front-end."""

from __future__ import annotations

import dataclasses
import hashlib
import importlib.util
import keyword
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType, ModuleType

from setuptools_cuda import pipeline
from setuptools_cuda.config.findings import suggest
from setuptools_cuda.config.keys import KERNEL_MODULE, LIBRARY, PROJECT
from setuptools_cuda.config.pyproject import TABLE
from setuptools_cuda.environment import read_environment
from setuptools_cuda.errors import BuildError, Code, Problem
from setuptools_cuda.resolution.values import Architecture, Release, Toolchain
from setuptools_cuda.stage.bindings import MARK, TABLE_MARK, is_generated
from setuptools_cuda.stage.copy import is_below, stage_files
from setuptools_cuda.stage.kernel_runtime import KernelImages
from setuptools_cuda.targets import Declared, DeclaredKind

_LIBRARY_FILE = re.compile(r"lib(?P<name>.+)\.(?P<suffix>a|so)")
_MODULE = "kernels"
"""What the module of :meth:`Builder.build_kernels` is called until it is written under a name of its own."""
Echo = Callable[[str], None]


@dataclass(frozen=True)
class Resolved:
    """What a build in a folder would use: for loops in setup.py, and for a look."""

    toolchain: Toolchain
    architectures: tuple[Architecture, ...]

    @property
    def toolkit(self) -> Release:
        """Return the toolkit's release; ``str()`` of it is as '13.0'."""
        return self.toolchain.release

    @property
    def nvcc(self) -> Path:
        """Return the compiler as it was found; builds call one from pip through a folder of links."""
        found = (candidate.nvcc for candidate in self.toolchain.candidates if candidate.verdict == "chosen")
        return next((nvcc for nvcc in found if nvcc), self.toolchain.nvcc)


def resolve(root: str | Path | None = None) -> Resolved:
    """Return the toolchain and the architectures that a build of the project in ``root`` would use.

    ``root`` is the current folder where it is not given; its table is read if it has one. Raises
    BuildError where there is no usable toolchain.
    """
    environment = read_environment()
    request = pipeline.Request(Path(root or environment.cwd).resolve(), environment)
    if not request.root.is_dir():
        raise BuildError(Problem(Code.MISSING_SOURCE, f"{request.root} is no folder", where="resolve"))
    toolchain, architectures = pipeline.resolve_facts(request)
    return Resolved(toolchain, tuple(dict.fromkeys(code.architecture for code in architectures.codes)))


@dataclass(frozen=True, init=False)
class Builder:
    """How some sources are to be built. A frozen value: making one does no work, and none is used up.

    ``sources`` are globs, as in the table; the words are its keys with '_' for '-'. What is built
    goes to ``out_dir``. Both are relative to ``root``, which is the current folder where it is not given.
    """

    sources: tuple[str, ...]
    out_dir: Path
    root: Path
    words: Mapping[str, object]
    echo: Echo | None

    def __init__(
        self,
        sources: str | Iterable[str | Path],
        *,
        out_dir: str | Path = "out",
        root: str | Path | None = None,
        echo: Echo | None = None,
        **words: object,
    ) -> None:
        """Keep the words. Raises TypeError for a word that is no key of project, library or kernel module."""
        given = [sources] if isinstance(sources, (str, Path)) else sources
        _check_words(words)
        place = Path(root) if root is not None else read_environment().cwd
        values: dict[str, object] = {
            "sources": tuple(Path(source).as_posix() for source in given),
            "root": place.resolve(),
            "out_dir": Path(out_dir),
            "words": MappingProxyType({word: _frozen(value) for word, value in words.items()}),
            "echo": echo,
        }
        for name, value in values.items():
            object.__setattr__(self, name, value)

    def __hash__(self) -> int:
        """Return the same number for equal builders; flags by tool make no difference to it."""
        return hash((self.sources, self.out_dir, self.root, frozenset(self.words)))

    def __reduce__(self) -> tuple[Callable[[dict[str, object]], Builder], tuple[dict[str, object]]]:
        """Return what makes an equal builder, for another process; ``echo`` has to be a function that it can find."""
        own = {"sources": self.sources, "out_dir": self.out_dir, "root": self.root, "echo": self.echo}
        return _make, ({**own, **self.words},)

    def with_(self, **changes: object) -> Builder:
        """Return a builder that differs in ``changes`` alone."""
        own = {field.name for field in dataclasses.fields(self)} - {"words"}
        fields = {name: changes.pop(name, getattr(self, name)) for name in own}
        return Builder(**fields, **{**self.words, **changes})  # type: ignore[arg-type]

    def build_library(self, name: str) -> Path:
        """Build ``libNAME.a`` (or ``.so``) and return where it is: absolute, in ``out_dir``. Raises BuildError."""
        match = _LIBRARY_FILE.fullmatch(name)
        if match is None:
            raise BuildError(
                Problem(
                    Code.BAD_NAME,
                    f"{name!r} is no name of a library",
                    where="Builder.build_library",
                    fix=("give a name such as 'libattention.a' or 'libattention.so'",),
                )
            )
        kind = "static" if match["suffix"] == "a" else "shared"
        words = {"name": match["name"], "type": kind, "install": "lib"}
        result = self._build("library", words=words, allowed=frozenset(LIBRARY.keys))
        into = self.root / self.out_dir
        stage_files({name: result.files[f"lib/{name}"]}, into=into)
        return into / name

    def build_kernels(self) -> BuiltKernels:
        """Build the kernels and return them by source. Nothing goes to ``out_dir``. Raises BuildError."""
        result = self._build("kernel-module", words={"module": _MODULE}, allowed=frozenset(KERNEL_MODULE.keys))
        files = {name: _read(content) for name, content in result.files.items()}
        folder = self.root / "build" / pipeline.FOLDER / "kernels" / _digest(files)
        stage_files(files, into=folder)
        return BuiltKernels(_load(folder / f"{_MODULE}.py").images, files, self.root)

    def _build(
        self, kind: DeclaredKind, *, words: Mapping[str, object], allowed: frozenset[str]
    ) -> pipeline.BuildResult:
        dashed = {word.replace("_", "-"): value for word, value in self.words.items()}
        project = {word: value for word, value in dashed.items() if word in PROJECT.keys}
        own = {word: value for word, value in dashed.items() if word not in PROJECT.keys and word in allowed}
        declared = Declared(kind, "Builder", {"sources": self.sources, **own, **words})
        request = pipeline.Request(
            self.root, read_environment(), declared=(declared,), table=project, namespace=f"builder-{kind}"
        )
        if not self.root.is_dir():
            raise BuildError(Problem(Code.MISSING_SOURCE, f"{self.root} is no folder", where="Builder.root"))
        try:
            _, result = pipeline.run(request, echo=self._say)
        except BuildError as error:
            raise BuildError(*map(_as_word, error.problems)) from error.__cause__
        return result

    def _say(self, line: str) -> None:
        """Pass on what a build says; keys of the table are words here."""
        if self.echo:
            self.echo(line.replace(f"{TABLE}.", "Builder."))


class BuiltKernels(Mapping[str, KernelImages]):
    """The kernels that were built, by source; :meth:`write` makes a module of them."""

    def __init__(self, images: Mapping[str, KernelImages], files: Mapping[str, bytes], root: Path) -> None:
        """Hold the kernels with the files that they are in."""
        self._images = images
        self._files = files
        self._root = root

    def __getitem__(self, source: str) -> KernelImages:
        return self._images[source]

    def __iter__(self) -> Iterator[str]:
        return iter(self._images)

    def __len__(self) -> int:
        return len(self._images)

    def __repr__(self) -> str:
        return f"BuiltKernels({dict(self._images)!r})"

    def write(self, path: str | Path) -> Path:
        """Write the module ``path`` with its images beside it, as in a wheel; return where it is."""
        target = self._root / path
        name = target.stem
        if target.suffix != ".py" or not name.isidentifier() or keyword.iskeyword(name):
            raise BuildError(
                Problem(
                    Code.BAD_NAME,
                    f"{str(path)!r} is no name of a Python module",
                    where="BuiltKernels.write",
                    fix=("give a path such as 'demo/kernels.py'",),
                )
            )
        files = {
            _renamed(file, name=name): _renamed_text(content, file=file, name=name)
            for file, content in self._files.items()
        }
        written = _read_written(target)
        stage_files(files, into=target.parent)
        for stale in written - files.keys():
            (target.parent / stale).unlink(missing_ok=True)
        return target


def _make(words: dict[str, object]) -> Builder:
    return Builder(**words)  # type: ignore[arg-type] # checked when they were first given


def _read_written(target: Path) -> frozenset[str]:
    """Return the images that the module in ``target`` names, which a newer one may not have.

    Raises BuildError where the module is not a generated one.
    """
    if not target.exists():
        return frozenset()
    if not is_generated(target):
        raise BuildError(
            Problem(
                Code.DUPLICATE_OUTPUT,
                f"{target} is a module that was not generated, and would be replaced",
                where="BuiltKernels.write",
                fix=("give another path, or delete it",),
            )
        )
    named = re.findall(rf'"({re.escape(target.stem)}_images/[^"\\]+)"', target.read_text("utf-8", "replace"))
    return frozenset(name for name in named if is_below(name))


def _renamed(file: str, *, name: str) -> str:
    folder = f"{_MODULE}_images/"
    return f"{name}_images/{file[len(folder) :]}" if file.startswith(folder) else f"{name}.py"


def _renamed_text(content: bytes, *, file: str, name: str) -> bytes:
    if file != f"{_MODULE}.py":
        return content
    own = content.replace(TABLE_MARK, MARK + b" by a Builder").replace(b"in the next build", b"in the next write")
    return own.replace(f"{_MODULE}_images/".encode(), f"{name}_images/".encode())


def _check_words(words: Mapping[str, object]) -> None:
    known = {word.replace("-", "_") for scope in (PROJECT, LIBRARY, KERNEL_MODULE) for word in scope.keys}
    # Without its toolkit a builder has nothing to give, so that it is always required.
    known -= {"name", "module", "type", "install", "sources", "required"}
    for word in words:
        if word not in known:
            hint = suggest(word, known=known) or (f"it takes {', '.join(sorted(known))}",)
            raise TypeError(f"Builder has no word {word!r}; {hint[0]}")


def _as_word(problem: Problem) -> Problem:
    """Return a problem of a key of the table as one of the word that was given."""
    key, dot, rest = problem.where.removeprefix(f"{TABLE}.").partition(".")
    if not problem.where.startswith(f"{TABLE}.") or "[" in key:
        return problem
    return dataclasses.replace(problem, where=f"Builder.{key.replace('-', '_')}{dot}{rest}")


def _frozen(value: object) -> object:
    return tuple(value) if isinstance(value, Sequence) and not isinstance(value, (str, bytes)) else value


def _read(content: Path | bytes) -> bytes:
    return content if isinstance(content, bytes) else content.read_bytes()


def _digest(files: Mapping[str, bytes]) -> str:
    whole = hashlib.sha256()
    for name in sorted(files):
        whole.update(f"{len(name)}:{name}{len(files[name])}:".encode())
        whole.update(files[name])
    return whole.hexdigest()[:16]


def _load(path: Path) -> ModuleType:
    """Return the generated module in ``path``, under a name that no other import has."""
    name = f"setuptools_cuda_kernels_{path.parent.name}"
    spec = importlib.util.spec_from_file_location(name, path)
    if spec is None or spec.loader is None:
        raise ImportError(f"{path} cannot be imported")
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module
