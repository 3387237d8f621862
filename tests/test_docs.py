"""README and docs say what is so: tables load, examples build, links lead somewhere."""

from __future__ import annotations

import importlib.util
import os
import re
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

from setuptools_cuda.config.load import parse_settings
from setuptools_cuda.environment import Environment
from setuptools_cuda.errors import Code

ROOT = Path(__file__).resolve().parent.parent
PAGES = [
    ROOT / "README.md",
    ROOT / "sample_pkg/README.md",
    ROOT / "benchmarks/README.md",
    *sorted(ROOT.glob("docs/**/*.md")),
]
FENCE = re.compile(r"^```(\w+)\n(.*?)^```$", re.DOTALL | re.MULTILINE)
FILE_NAME = re.compile(r"(?:#|//) ([\w./-]+\.\w+)\n")
LINK = re.compile(r"\]\(([^)#]+?)(?:#[^)]*)?\)")

# Pages, or sections of pages, whose named blocks are the files of one project that pip builds.
PROJECTS = {
    "an extension": ("README.md", "### An extension"),
    "a kernel module": ("README.md", "### A kernel module"),
    "tutorial": ("docs/tutorial.md", ""),
    "load kernels": ("docs/how-to/load-kernels.md", ""),
    "setup.py": ("docs/how-to/use-from-setup-py.md", ""),
}

# Files that a page takes for granted.
STOCK = {
    "setup.py": {
        "demo/__init__.py": "",
        "csrc/core.cu": "__global__ void twice(float* x) { x[threadIdx.x] *= 2; }\n"
        'extern "C" void run(float* x) { twice<<<1, 32>>>(x); }\n',
        "csrc/bind.cpp": "#include <Python.h>\n"
        'extern "C" void run(float*);\n'
        "static int load(PyObject*) { (void)&run; return 0; }\n"
        "static PyModuleDef_Slot slots[] = {{Py_mod_exec, (void*)load}, {0, nullptr}};\n"
        'static PyModuleDef module = {PyModuleDef_HEAD_INIT, "_native", nullptr, 0, nullptr, slots};\n'
        "PyMODINIT_FUNC PyInit__native() { return PyModuleDef_Init(&module); }\n",
    },
}


@dataclass(frozen=True)
class Block:
    page: str
    heading: str
    language: str
    text: str
    number: int

    @property
    def file(self) -> str | None:
        found = FILE_NAME.match(self.text)
        return found[1] if found else None

    def __str__(self) -> str:
        return f"{self.page}#{self.number}"


def blocks_of(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for number, match in enumerate(FENCE.finditer(text), 1):
        headings = re.findall(r"^##+ .*$", FENCE.sub("", text[: match.start()]), re.MULTILINE)
        heading = headings[-1] if headings else ""
        yield Block(page.relative_to(ROOT).as_posix(), heading, match[1], match[2], number)


BLOCKS = [block for page in PAGES for block in blocks_of(page)]


def blocks_of_project(name: str) -> list[Block]:
    page, heading = PROJECTS[name]
    return [block for block in BLOCKS if block.page == page and (not heading or block.heading == heading)]


def in_a_project(block: Block) -> bool:
    return any(block in blocks_of_project(name) for name in PROJECTS)


def files_of(blocks: list[Block]) -> dict[str, str]:
    return {block.file: block.text for block in blocks if block.file is not None}


def run_python(file: Path, *, cwd: Path, env: Mapping[str, str]) -> str:
    done = subprocess.run([sys.executable, str(file)], cwd=cwd, env=env, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_there_are_blocks_of_every_kind() -> None:
    assert {block.language for block in BLOCKS} == {"toml", "python", "cpp", "cmake", "console", "text", "yaml"}


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_links_lead_somewhere(page: Path) -> None:
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    broken = [
        target
        for target in LINK.findall(text)
        if not target.startswith(("http://", "https://")) and not (page.parent / target).exists()
    ]
    assert broken == []


def test_every_page_of_the_docs_is_linked_from_the_readme() -> None:
    linked = set(LINK.findall((ROOT / "README.md").read_text(encoding="utf-8")))
    pages = {page.relative_to(ROOT).as_posix() for page in ROOT.glob("docs/**/*.md")}
    assert pages <= linked


def test_the_page_of_errors_is_as_generated() -> None:
    spec = importlib.util.spec_from_file_location("generate_errors", ROOT / "docs/generate_errors.py")
    assert spec is not None
    assert spec.loader is not None
    generator = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(generator)
    assert set(generator.TEXTS) == set(Code)
    assert generator.PAGE.read_text(encoding="utf-8") == generator.render_page()


def example_of(pattern: str) -> str:
    return pattern.replace("**/", "").replace("*", "a")


@pytest.mark.parametrize("block", [block for block in BLOCKS if block.language == "toml"], ids=str)
def test_tables_load(block: Block, tmp_path: Path) -> None:
    document = tomllib.loads(block.text)
    table = document.get("tool", {}).get("setuptools-cuda")
    if table is None:
        return
    targets = [target for kind in ("extension", "library", "kernel-module") for target in table.get(kind, ())]
    patterns = [p for target in targets for key in ("sources", "headers") for p in target.get(key, ())]
    for override in table.get("override", ()):
        patterns += [override["match"]] if "match" in override else []
        patterns += override.get("sources", ())
    for file in map(example_of, patterns):
        (tmp_path / file).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / file).touch()
    for folder in (folder for one in [table, *targets] for folder in one.get("include-dirs", ())):
        (tmp_path / folder).mkdir(parents=True, exist_ok=True)
    settings = parse_settings(table, root=tmp_path, environment=Environment(variables={}, cwd=tmp_path))
    assert len(settings.targets) == len(targets)
    assert settings.warnings == ()


@pytest.mark.parametrize("name", PROJECTS)
def test_projects_build_and_run(
    name: str,
    our_wheel: Path,
    pip_toolchain_environment: dict[str, str],
    make_project: Callable[[Mapping[str, str]], Path],
    tmp_path: Path,
) -> None:
    """pip builds the page's project, its compiler from pip too; the page's other Python runs against it."""
    blocks = blocks_of_project(name)
    project = make_project({**STOCK.get(name, {}), **files_of(blocks)})
    installed = tmp_path / "installed"
    pip = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(installed)]
    command = [*pip, "--find-links", str(our_wheel.parent), str(project)]
    done = subprocess.run(command, env=pip_toolchain_environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    # What is run may look for a toolkit: in the packages of the test environment.
    paths = os.pathsep.join([str(installed), str(ROOT), *(path for path in sys.path if path.endswith("site-packages"))])
    environment = {**pip_toolchain_environment, "PYTHONPATH": paths}
    for block in blocks:
        if block.language == "python" and block.file is None:
            script = tmp_path / f"snippet{block.number}.py"
            script.write_text(block.text, encoding="utf-8")
            assert run_python(script, cwd=project, env=environment)


@pytest.mark.parametrize(
    "page", sorted({b.page for b in BLOCKS if b.language == "python" and not in_a_project(b)}), ids=str
)
def test_other_python_runs(
    page: str,
    toolkit_nvcc: Path,
    bare_environment: dict[str, str],
    make_project: Callable[[Mapping[str, str]], Path],
    tmp_path: Path,
) -> None:
    """Scripts run in a folder with a CUDA source, with the toolkit wheels installed."""
    del toolkit_nvcc
    blocks = [block for block in BLOCKS if block.page == page and not in_a_project(block)]
    source = 'extern "C" __global__ void saxpy(float a, float* x, float* y) { y[threadIdx.x] += a * x[threadIdx.x]; }\n'
    project = make_project({"src/saxpy.cu": source, **files_of(blocks)})
    environment = {**bare_environment, "PYTHONPATH": str(ROOT)}
    for block in blocks:
        if block.language == "python":
            script = project / (block.file or f"snippet{block.number}.py")
            script.write_text(block.text, encoding="utf-8")
            run_python(script, cwd=project, env=environment)
