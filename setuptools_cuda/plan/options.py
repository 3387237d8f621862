"""Command lines of compilers, as tuples of arguments. Pure."""

from __future__ import annotations

import shlex
from collections.abc import Collection, Sequence
from pathlib import PurePath

from setuptools_cuda.config.model import Project
from setuptools_cuda.errors import Code as ErrorCode
from setuptools_cuda.errors import Problem
from setuptools_cuda.plan.effective import C_SUFFIXES, SourceOptions
from setuptools_cuda.plan.facts import Facts
from setuptools_cuda.plan.paths import source_id
from setuptools_cuda.plan.places import Places, quoted
from setuptools_cuda.resolution.values import Release, Toolchain

OUT, KEEP, DEPFILE = "{out}", "{keep}", "{depfile}"
"""Arguments that the runner of a job replaces by paths of its own."""

_PROGRAM = ("{python}", "-I", "-S")


def program(name: str) -> tuple[str, ...]:
    """Return the start of a command that runs a program of ``execute`` in the build's own Python."""
    return (*_PROGRAM, f"{{programs}}/{name}")


SEED = "--frandom-seed"
FAST = "--Ofast-compile"
COMPRESS_BY_DEFAULT = Release(13, 0)
COMPRESS_SINCE = Release(12, 8)
"""``--compress-mode`` came with nvcc 12.8 (CUDA 12.8 release notes); what it makes needs a driver of 12.4."""
SHELL_UNSAFE = frozenset('$`\\\n"')
"""nvcc hands its arguments to a shell, in which these are not what they seem."""


def cuda_options(options: SourceOptions, *, python_includes: Sequence[str]) -> tuple[str, ...]:
    """Return nvcc's options of a source: those that decide the code, in a fixed order."""
    std = (f"-std={options.std}",) if options.std else ()
    includes = tuple(f"-I{folder}" for folder in dict.fromkeys((*options.include_dirs, *python_includes)))
    # nvcc takes a list of definitions, with commas between them.
    defines = tuple("-D" + define.replace(",", r"\,") for define in options.defines)
    return (*std, *includes, *defines, "-Xcompiler", "-fPIC", *options.flags.cuda)


def host_options(options: SourceOptions, *, facts: Facts) -> tuple[str, ...]:
    """Return the host compiler's options of a C or C++ source."""
    is_c = options.suffix in C_SUFFIXES
    std = (f"-std={options.std}",) if options.std and not is_c else ()
    folders = facts.toolchain.include_dirs if facts.toolchain else ()
    toolkit = tuple(below_root(folder, root=facts.root) for folder in folders)
    includes = tuple(f"-I{folder}" for folder in dict.fromkeys((*options.include_dirs, *toolkit)))
    defines = tuple(f"-D{define}" for define in options.defines)
    return (*std, *includes, *defines, *(options.flags.c if is_c else options.flags.cxx))


def profile_options(project: Project, *, lacks: Collection[str]) -> tuple[str, ...]:
    """Return what the project's profile adds to the options of an nvcc that ``lacks`` some of an older one's."""
    quick = () if FAST in lacks else ("-Ofc=max",)
    return {"release": (), "dev": quick, "debug": ("-g", "-G")}[project.profile]


def compress_options(project: Project, *, release: Release) -> tuple[str, ...]:
    """Return nvcc's option for the compression of device code, where there is one."""
    mode = project.compress or ("size" if release >= COMPRESS_BY_DEFAULT else None)
    return (f"--compress-mode={mode}",) if mode else ()


def is_compressed(options: Sequence[str]) -> bool:
    """Return whether nvcc compresses device code with these options."""
    modes = [option.partition("=")[2] for option in options if option.startswith("--compress-mode=")]
    return bool(modes) and modes[-1] != "none"


def reproducible_options(source: str, *, key: str, keeping: bool, lacks: Collection[str]) -> tuple[str, ...]:
    """Return the options that make an object the same in any folder.

    nvcc derives names from the process, the time and the absolute path of the source; each gets a
    name of our own in its place. ``key`` tells two compiles of one source apart, so that their
    symbols do not clash in one link. ``keeping`` leaves the intermediate files, which are images too;
    a launcher that caches restores none of them, and without them nvcc's names are good as well.
    nvcc hands ``-Xcompiler`` to a shell, which puts in the project root whatever characters that
    has: builds run there. ``lacks`` are options that an older nvcc does not have: without the seed, relocatable
    device code of it is another each time.
    """
    name = f"{source_id(source)}.{key}"
    return (
        *(("--keep", "--keep-dir", KEEP) if keeping else ("-objtemp",)),
        "-Xcudafe",
        f"--orig_src_path_name {name}",
        *(() if SEED in lacks else (f"{SEED}={name}",)),
        "-Xcompiler",
        '-ffile-prefix-map="$PWD"=.',
    )


def nvcc_command(toolchain: Toolchain, *, root: str) -> tuple[str, ...]:
    """Return nvcc with its host compiler."""
    return (below_root(toolchain.nvcc, root=root), "-ccbin", str(toolchain.host_compiler.path))


def launcher_of(project: Project, *, toolchain: Toolchain | None) -> tuple[str, ...]:
    """Return the words before each compile: the key ``launcher``, else what ``NVCC`` carries (``ccache nvcc``)."""
    if project.launcher:
        return tuple(shlex.split(project.launcher))
    return toolchain.launcher if toolchain else ()


def below_root(path: PurePath, *, root: str) -> str:
    """Return ``path`` relative to the project root where it lies below it, so that no command tells where that is."""
    return path.relative_to(root).as_posix() if path.is_relative_to(root) else path.as_posix()


PREFIX_MAP = "-ffile-prefix-map={root}=."
"""The host compiler's option that keeps the project's place out of objects; the runner puts the root in."""


def place_options(words: Sequence[str], *, places: Places, nvcc: bool) -> tuple[str, ...]:
    """Return the options that keep the paths of the build environment, which ``words`` name, out of outputs.

    The host compiler takes the last map that fits; nvcc hands it over by a shell.
    """
    if nvcc:
        return tuple(
            word
            for placeholder, name in places.prefix_maps(words)
            for word in ("-Xcompiler", f"-ffile-prefix-map={quoted(placeholder)}={name}")
        )
    return tuple(f"-ffile-prefix-map={placeholder}={name}" for placeholder, name in places.prefix_maps(words))


def check_places(facts: Facts) -> list[Problem]:
    """Return a problem for the project's or the toolkit's folder where nvcc cannot work in it.

    nvcc names both by their absolute paths in the commands that it hands to a shell.
    """
    toolchain = facts.toolchain
    if toolchain is None:
        return []
    places = [("the project lies in", facts.root)]
    places += [] if toolchain.from_wheel else [("the toolkit lies in", str(toolchain.root))]
    return [
        Problem(
            ErrorCode.UNSAFE_PATH,
            f"{where} {place!r}, where nvcc cannot work",
            details=(("why", "nvcc hands its path to a shell, which expands $, ` and \\ and ends a word at a quote"),),
            fix=('build in a folder without $, `, ", \\ and line breaks in its path',),
        )
        for where, place in places
        if set(place) & SHELL_UNSAFE
    ]


def check_shell_safe(options: SourceOptions, *, where: str) -> list[Problem]:
    """Return a problem for each define or folder that would change in nvcc's shell."""
    suspects = [("defines", d) for d in options.defines if set(d) & (SHELL_UNSAFE - {'"'})]
    suspects += [("include-dirs", d) for d in options.include_dirs if set(d) & (SHELL_UNSAFE | {","})]
    return [
        Problem(
            ErrorCode.UNSAFE_PATH,
            f"{value!r} cannot reach nvcc unchanged",
            where=f"{where}.{key}",
            details=(("why", "nvcc splits a list at commas, and hands words to a shell, which expands $, ` and \\"),),
            fix=("rename the folder" if key == "include-dirs" else "put the definition into a header",),
        )
        for key, value in suspects
    ]
