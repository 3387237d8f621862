"""``NVCC_PREPEND_FLAGS`` and ``NVCC_APPEND_FLAGS``: options that nvcc adds to every call.

NVIDIA CUDA Compiler Driver, section "NVCC environment variables". They are part of a
toolchain's identity. What the plan decides (architectures, kept files, outputs) must not be
decided there a second time.
"""

from __future__ import annotations

import os
import re
import shlex
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from setuptools_cuda.environment import Environment
from setuptools_cuda.errors import Code, Problem, raise_if_any
from setuptools_cuda.process import run_tool
from setuptools_cuda.resolution.programs import probe_variables

VARIABLES = ("NVCC_PREPEND_FLAGS", "NVCC_APPEND_FLAGS")

_ARCHITECTURE = "set `architectures`, or SETUPTOOLS_CUDA_ARCHITECTURES"
_OUTPUT = "outputs follow from the targets of [tool.setuptools-cuda]"
_RDC = "set `rdc`"
_FORBIDDEN: dict[str, str] = {
    **dict.fromkeys(("arch", "gpu-architecture", "code", "gpu-code", "gencode", "generate-code"), _ARCHITECTURE),
    **dict.fromkeys(
        ("keep", "save-temps", "keep-dir", "objtemp", "objdir-as-tempdir", "clean", "clean-targets"), _OUTPUT
    ),
    **dict.fromkeys(("o", "output-file", "odir", "output-directory", "c", "compile", "link", "lib", "run"), _OUTPUT),
    **dict.fromkeys(("ptx", "cubin", "fatbin", "cuda", "E", "preprocess", "optix-ir", "ltoir", "dryrun"), _OUTPUT),
    **dict.fromkeys(("M", "MM", "MD", "MMD", "MF", "MT", "generate-dependencies", "dependency-output"), _OUTPUT),
    **dict.fromkeys(
        ("rdc", "relocatable-device-code", "dc", "device-c", "dw", "device-w", "dlink", "device-link"), _RDC
    ),
}
_HOST = ("ccbin", "compiler-bindir")


@dataclass(frozen=True)
class NvccFlags:
    """The options of both variables, checked."""

    given: tuple[tuple[str, str], ...] = ()
    """(variable, value) of those that are set."""
    host_compiler: tuple[str, str] | None = None
    """(variable, value) of the last ``-ccbin`` in them."""
    allow_unsupported: bool = False

    @property
    def notes(self) -> tuple[str, ...]:
        """Return one line for each variable that is set."""
        return tuple(f"{name}={value.strip()} is added to every nvcc call" for name, value in self.given)

    @property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """Return the options for an identity, without the path of the host compiler."""
        kept = ((name, shlex.join(_drop_host(shlex.split(value)))) for name, value in self.given)
        return tuple((name, options) for name, options in kept if options)


def resolve_nvcc_flags(environment: Environment) -> NvccFlags:
    """Return the options that nvcc will add to each call.

    Raises:
        BuildError: UNUSABLE_SETTING, for each option that the plan decides.
    """
    given = tuple((name, value) for name in VARIABLES if (value := environment.get(name)) is not None)
    raise_if_any(problem for name, value in given for problem in _check(name, value))
    hosts = [(name, host) for name, value in given for host in _find_host(shlex.split(value))]
    words = [word for _, value in given for word in shlex.split(value)]
    allowed = any(option == "allow-unsupported-compiler" for option, _ in _list_options(words))
    return NvccFlags(given, hosts[-1] if hosts else None, allowed)


def probe_flags(flags: NvccFlags, *, nvcc: Path, host_compiler: Path, environment: Environment) -> Problem | None:
    """Return what is wrong with the options, as nvcc sees them, or None where it goes on to compile.

    An option that it does not know, a file, or ``--version`` would end each compile, or come in its place.
    """
    if not flags.given:
        return None
    host = () if flags.host_compiler else ("-ccbin", str(host_compiler))
    argv = [str(nvcc), "--dryrun", *host, "-c", "-x", "cu", os.devnull, "-o", os.devnull]
    done = run_tool(argv, variables={**probe_variables(environment), **dict(flags.given)}, cwd=environment.cwd)
    if done.ok and re.search(r"^#\$ ", done.stderr, re.MULTILINE):
        return None
    said = (done.stderr.strip() or done.stdout.strip() or f"status {done.status}").splitlines()[-1]
    where = ", ".join(f"{name}={value.strip()}" for name, value in flags.given)
    what, fix = "nvcc compiles nothing with these options", "take out what is no option of a compile, or unset it"
    return Problem(Code.UNUSABLE_SETTING, what, where, (("nvcc says", said),), (fix,))


def _check(name: str, value: str) -> Iterator[Problem]:
    try:
        words = shlex.split(value)
    except ValueError as error:
        yield Problem(Code.UNUSABLE_SETTING, f"cannot be read: {error}", f"{name}={value}", fix=("close the quotes",))
        return
    for option, word in _list_options(words):
        if option in _FORBIDDEN:
            what = f"the option {word.split('=')[0]} is decided by the build, not by this variable"
            fix = f"take it out of {name}; {_FORBIDDEN[option]}"
            yield Problem(Code.UNUSABLE_SETTING, what, f"{name}={value}", fix=(fix,))


def _list_options(words: list[str]) -> Iterator[tuple[str, str]]:
    """Yield (name, word) of nvcc's own options; what -Xcompiler and its like hand on is none."""
    handed_on = False
    for word in words:
        option = "" if handed_on else _name_option(word)
        if option:
            yield option, word
        handed_on = "=" not in word and (option.startswith("X") or option.endswith("-options"))


def _name_option(word: str) -> str:
    return word.lstrip("-").split("=")[0] if word.startswith("-") else ""


def _find_host(words: list[str]) -> Iterator[str]:
    for place, word in enumerate(words):
        if _name_option(word) in _HOST:
            following = words[place + 1] if place + 1 < len(words) else ""
            yield word.partition("=")[2] if "=" in word else following


def _drop_host(words: list[str]) -> list[str]:
    kept: list[str] = []
    skip = False
    for word in words:
        if not skip and _name_option(word) not in _HOST:
            kept.append(word)
        skip = _name_option(word) in _HOST and "=" not in word
    return kept
