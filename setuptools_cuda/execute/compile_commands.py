"""``compile_commands.json``: how each source is compiled, for clangd and other tools of clang.

Its format is clang's "JSON Compilation Database Format Specification". Host sources have their
command as it runs. clang stops at the options of nvcc, so CUDA sources have clang's words for it.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath

from setuptools_cuda.execute.clang_words import translate
from setuptools_cuda.execute.folder import BuildFolder
from setuptools_cuda.execute.names import Names
from setuptools_cuda.execute.writing import write_if_changed
from setuptools_cuda.plan.values import BuildPlan, Job

FILE = "compile_commands.json"
"""Its name, in the folder that all builds of a project share."""
_CUDA = ".cu"
_CLANG = ("clang++", "-x", "cuda", "-Wno-unknown-cuda-version")
"""clang does not know the newest releases, and reads their headers all the same."""
_KNOWN = frozenset({50, 52, 53, 60, 61, 62, 70, 72, 75, 80, 86, 87, 89, 90, 100, 101, 120})
"""Architectures that clang 20 has, the variant 'a' of the last four too (its release notes, and those before)."""
_UNWANTED = frozenset({"-MD", "-MF", "{depfile}"})


def write_compile_commands(plan: BuildPlan, *, folder: BuildFolder, names: Names) -> None:
    """Write the file beside the build folder of this Python, whole or not at all, unless it is so already."""
    write_if_changed(folder.path.parent / FILE, render_compile_commands(plan, names=names))


def render_compile_commands(plan: BuildPlan, *, names: Names) -> str:
    """Return its text: an entry for each compile of C, C++ and CUDA sources, in the order of their files."""
    entries = [entry for job in plan.jobs for entry in _describe(job, plan=plan, names=names)]
    entries.sort(key=lambda entry: (str(entry["file"]), str(entry["output"])))
    return json.dumps(entries, indent=1) + "\n"


def _describe(job: Job, *, plan: BuildPlan, names: Names) -> Iterator[dict[str, object]]:
    output = f"{names.build}/{job.outputs[0].file}"
    argv = job.argv[len(plan.launcher) :] if job.launched else job.argv
    if job.kind == "host":
        wanted = [output if word == "{out}" else word for word in argv if word not in _UNWANTED]
        arguments = names.replaced(wanted)
        file = arguments[arguments.index("-c") + 1]
    elif job.kind in {"cuda", "device"} and job.inputs and PurePosixPath(job.inputs[0]).suffix == _CUDA:
        file = names.path(job.inputs[0]) if job.inputs[0].startswith("{") else job.inputs[0]
        words = (*_architecture(job), *translate(names.replaced(argv)), *names.replaced(plan.clang_words))
        arguments = [*_CLANG, *words, "-c", file, "-o", output]
    else:
        return
    yield {"directory": names.root, "file": file, "arguments": arguments, "output": output}


def _architecture(job: Job) -> Sequence[str]:
    """Return the option for one architecture, the newest that clang knows: an editor shows what one compile sees."""
    known = [code.architecture for code in job.codes if code.architecture.number in _KNOWN]
    if not known:
        return ()
    newest = max(known)
    return (f"--cuda-gpu-arch={newest.real if newest.variant != 'f' else f'sm_{newest.number}'}",)
