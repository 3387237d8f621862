"""Imports go down the layers, and what has effects stays in its few named places."""

from __future__ import annotations

import ast
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "setuptools_cuda"

# A module imports from its own layer and from those before it.
LAYERS: tuple[tuple[str, ...], ...] = (
    ("errors", "environment", "process", "targets"),
    ("config",),
    ("resolution",),
    ("plan",),
    ("execute",),
    ("stage",),
    ("report",),
    ("inspection",),
    ("pipeline", "builder"),
    ("frontends", "build_meta", "cli", "__main__"),
)
RANK = {name: rank for rank, names in enumerate(LAYERS) for name in names}

SUBPROCESS = {"process.py", "execute/job.py"}
ENVIRONMENT = {"environment.py"}
# What a planner has no use for: each of these reads or changes the world.
EFFECTS = {
    "os",
    "shutil",
    "subprocess",
    "tempfile",
    "io",
    "glob",
    "socket",
    "threading",
    "platform",
    "sysconfig",
    "time",
}


@dataclass(frozen=True)
class Import:
    file: str
    line: int
    module: str
    names: tuple[str, ...]
    for_types: bool

    def __str__(self) -> str:
        return f"{self.file}:{self.line} imports {self.module} {' '.join(self.names)}".rstrip()


def source_files() -> list[Path]:
    return sorted(PACKAGE.rglob("*.py"))


def relative(file: Path) -> str:
    return file.relative_to(PACKAGE).as_posix()


def is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and ast.unparse(node.test) in {"TYPE_CHECKING", "typing.TYPE_CHECKING"}


def imports_in(file: Path) -> Iterator[Import]:
    """Yield every import of ``file``, those inside functions and TYPE_CHECKING blocks included."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    typed = {id(inner) for node in ast.walk(tree) if is_type_checking(node) for inner in ast.walk(node)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for alias in node.names:
                yield Import(relative(file), node.lineno, alias.name, (), id(node) in typed)
        elif isinstance(node, ast.ImportFrom):
            base = ".".join(("setuptools_cuda", *file.relative_to(PACKAGE).parent.parts)) if node.level else ""
            module = ".".join(part for part in (base, node.module or "") if part)
            yield Import(relative(file), node.lineno, module, tuple(a.name for a in node.names), id(node) in typed)


def all_imports() -> list[Import]:
    return [found for file in source_files() for found in imports_in(file)]


def layer_of(path: str) -> str:
    return path.split("/", maxsplit=1)[0].removesuffix(".py")


def layers_imported(found: Import) -> list[str]:
    parts = found.module.split(".")
    if parts[0] != "setuptools_cuda":
        return []
    return [parts[1]] if len(parts) > 1 else [name for name in found.names if name in RANK]


def test_every_module_belongs_to_a_layer() -> None:
    tops = {layer_of(relative(file)) for file in source_files()} - {"__init__"}
    assert tops <= set(RANK), f"not in LAYERS: {sorted(tops - set(RANK))}"


def test_imports_go_down() -> None:
    upward = [
        str(found)
        for found in all_imports()
        if layer_of(found.file) in RANK
        for imported in layers_imported(found)
        if RANK[imported] > RANK[layer_of(found.file)]
    ]
    assert upward == []


def test_no_relative_imports() -> None:
    relative_ones = [
        f"{relative(file)}:{node.lineno}"
        for file in source_files()
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.ImportFrom) and node.level
    ]
    assert relative_ones == []


def test_planning_has_no_effects() -> None:
    found = [
        str(one)
        for one in all_imports()
        if one.file.startswith("plan/") and not one.for_types
        if one.module.split(".")[0] in EFFECTS or (one.module == "pathlib" and any("Pure" not in n for n in one.names))
    ]
    calls = [
        f"{relative(file)}:{node.lineno} calls {node.func.id}"
        for file in sorted((PACKAGE / "plan").rglob("*.py"))
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in {"open", "print", "input"}
    ]
    assert found + calls == []


def test_one_importer_of_subprocess() -> None:
    importers = {one.file for one in all_imports() if one.module.split(".")[0] == "subprocess"}
    assert importers <= SUBPROCESS


def test_one_reader_of_the_environment() -> None:
    readers = {
        relative(file)
        for file in source_files()
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8")))
        if (isinstance(node, ast.Attribute) and ast.unparse(node) in {"os.environ", "os.environb", "os.getenv"})
        or (isinstance(node, ast.ImportFrom) and node.module == "os" and any("env" in a.name for a in node.names))
    }
    assert readers <= ENVIRONMENT


@pytest.mark.parametrize("banned", ["distutils", "setuptools._distutils", "torch", "pkg_resources", "numpy"])
def test_never_imported(banned: str) -> None:
    found = [str(one) for one in all_imports() if one.module == banned or one.module.startswith(f"{banned}.")]
    assert found == []


def test_setuptools_in_front_ends_alone_and_public() -> None:
    ours = [one for one in all_imports() if one.module.split(".")[0] == "setuptools"]
    outside = [str(one) for one in ours if not one.file.startswith("frontends/")]
    private = [
        str(one) for one in ours if any(part.startswith("_") for part in (*one.module.split(".")[1:], *one.names))
    ]
    assert outside + private == []


def test_public_names_are_no_modules() -> None:
    """A subpackage of the same name would take a function's place once it is imported."""
    code = (
        "import types, setuptools_cuda\n"
        "every = [getattr(setuptools_cuda, name) for name in setuptools_cuda.__all__ * 2]\n"
        "print(*[one.__name__ for one in every if isinstance(one, types.ModuleType)])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=PACKAGE.parent)
    assert done.stdout.strip() == ""


def test_importing_us_loads_no_setuptools() -> None:
    code = (
        "import sys, setuptools_cuda\n"
        "setuptools_cuda.Builder, setuptools_cuda.resolve, setuptools_cuda.KernelModule\n"
        "print(*sorted({'setuptools', 'distutils', 'numpy', 'cuda'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=PACKAGE.parent)
    assert done.stdout.strip() == ""
