"""The C++ compiler that nvcc hands host code to: which one, and whether the toolkit takes it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from setuptools_cuda.config.model import Origin, Settings
from setuptools_cuda.environment import Environment
from setuptools_cuda.errors import BuildError, Code, Problem
from setuptools_cuda.resolution.catalogue import CATALOGUE, find_facts
from setuptools_cuda.resolution.host_probe import HostFacts, probe_fit, probe_host
from setuptools_cuda.resolution.nvcc_flags import NvccFlags
from setuptools_cuda.resolution.programs import (
    find_program,
    is_folder,
    is_one_place,
    list_search_folders,
    parse_command,
)
from setuptools_cuda.resolution.values import HostCompiler, Release

# What the platform calls its C++ compiler, the first that is there.
PLATFORM_NAMES = ("c++", "g++", "clang++")

_ALLOW = "allow-unsupported-compiler"
HOST_VARIABLES = ("NVCC_CCBIN", "CUDAHOSTCXX", "CXX")
_C_COMPILER = re.compile(r"(.*?)(gcc|clang)(-[0-9.]+)?")
_CXX_OF = {"gcc": "g++", "clang": "clang++"}
_FIX = (
    "install one (Debian, Ubuntu: apt-get install g++; Fedora: dnf install gcc-c++; conda: cxx-compiler),",
    "or name one with SETUPTOOLS_CUDA_HOST_COMPILER",
)


@dataclass(frozen=True)
class HostProgram:
    """A host compiler that runs. Whether a toolkit takes it is not known yet."""

    path: Path
    launcher: tuple[str, ...]
    facts: HostFacts
    origin: Origin
    replaceable: bool
    """Whether a sibling that fits may stand in for it: it was not named for nvcc."""
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Wish:
    label: str
    value: str
    base: Path
    origin: Origin
    replaceable: bool = False

    @property
    def where(self) -> str:
        return f"{self.label}={self.value}"


def resolve_host_program(settings: Settings, *, environment: Environment, nvcc_flags: NvccFlags) -> HostProgram:
    """Return the host compiler that was asked for, or the platform's.

    Raises:
        BuildError: UNUSABLE_SETTING for one that was named and does not work, NO_HOST_COMPILER
            where none was named and none is there.
    """
    found = find_host_program(settings, environment=environment, nvcc_flags=nvcc_flags)
    if found is None:
        raise BuildError(_describe_none(environment))
    _check_one_voice(found, environment=environment, nvcc_flags=nvcc_flags)
    return found


def find_host_program(settings: Settings, *, environment: Environment, nvcc_flags: NvccFlags) -> HostProgram | None:
    """Return what :func:`resolve_host_program` does, or None where no compiler is there at all."""
    wishes = tuple(_list_wishes(settings, environment=environment, nvcc_flags=nvcc_flags))
    if wishes:
        found = _resolve_wish(wishes[0], environment=environment)
        return replace(found, notes=(*found.notes, *_name_others(wishes, found=found, environment=environment)))
    for candidate in PLATFORM_NAMES:
        path = find_program(candidate, environment=environment)
        facts = probe_host(path, environment=environment) if path is not None else ""
        if path is not None and isinstance(facts, HostFacts):
            return HostProgram(path, (), facts, Origin("found", f"{candidate} on PATH"), replaceable=True)
    return None


def resolve_host_compiler(
    program: HostProgram,
    *,
    include_dirs: Sequence[Path],
    release: Release,
    environment: Environment,
    allow_unsupported: bool = False,
) -> HostCompiler:
    """Return the host compiler to use with a toolkit: ``program``, or a sibling that fits.

    Raises:
        BuildError: UNFIT_HOST_COMPILER when the toolkit takes neither.
    """
    said = probe_fit(program.path, include_dirs=include_dirs, environment=environment)
    if not said:
        return _accept(program)
    if allow_unsupported:
        return _accept(
            program, f"toolkit {release} does not support {program.facts}; -allow-unsupported-compiler is set"
        )
    if program.replaceable:
        for path, facts in _list_siblings(program, environment=environment):
            if not probe_fit(path, include_dirs=include_dirs, environment=environment):
                note = f"{path} is used: toolkit {release} does not take {program.facts} ({program.origin.text})"
                origin = Origin("found", f"{path.name}, as toolkit {release} does not take {program.path.name}")
                return HostCompiler(path, program.launcher, facts.family, facts.version, origin, (*program.notes, note))
    raise BuildError(_describe_unfit(program, said=said, release=release))


def find_fitting(program: HostProgram, *, environment: Environment) -> tuple[HostFacts, ...]:
    """Return ``program`` and the siblings that may stand in for it, before a toolkit is known."""
    siblings = _list_siblings(program, environment=environment) if program.replaceable else ()
    return (program.facts, *(facts for _, facts in siblings))


def allows_unsupported(settings: Settings) -> bool:
    """Return whether the project's flags ask nvcc to take any host compiler."""
    every = [settings.project.flags, *(t.flags for t in settings.targets), *(o.flags for o in settings.overrides)]
    return any(flag.lstrip("-") == _ALLOW for flags in every for flag in flags.cuda)


def _accept(program: HostProgram, *notes: str) -> HostCompiler:
    facts = program.facts
    notes = (*program.notes, *notes)
    return HostCompiler(program.path, program.launcher, facts.family, facts.version, program.origin, notes)


def _list_wishes(settings: Settings, *, environment: Environment, nvcc_flags: NvccFlags) -> Iterator[_Wish]:
    key, origin = settings.project.host_compiler, settings.origin("host-compiler")
    set_outside = origin.kind in ("config-setting", "environment")
    if key and set_outside:
        yield _Wish(origin.text, key, environment.cwd, origin)
    if nvcc_flags.host_compiler is not None:
        name, value = nvcc_flags.host_compiler
        yield _Wish(f"{name}: -ccbin", value, environment.cwd, Origin("environment", name))
    given = ((variable, environment.get(variable)) for variable in HOST_VARIABLES)
    for variable, text in given:
        if text is not None:
            shown = Origin("environment", f"{variable}={text}")
            yield _Wish(variable, text, environment.cwd, shown, replaceable=variable == "CXX")
    if key and not set_outside:
        yield _Wish("host-compiler", key, settings.root, origin)


def _name_others(wishes: Sequence[_Wish], *, found: HostProgram, environment: Environment) -> Iterator[str]:
    """Yield a note on each wish that another compiler was preferred to. CXX has host sources of its own to compile."""
    for wish in wishes[1:]:
        command = parse_command(wish.value, base=wish.base)
        path = _find_compiler(command.program, base=wish.base, environment=environment) if command else None
        if wish.label == "CXX" or (path is not None and is_one_place(path, found.path)):
            continue
        if wish.label == "host-compiler":
            yield f"the key 'host-compiler' of the project gives way to {found.origin.text}"
        else:
            yield f"{wish.where} is not looked at: {found.origin.text} comes first"


def _resolve_wish(wish: _Wish, *, environment: Environment) -> HostProgram:
    command = parse_command(wish.value, base=wish.base)
    if command is None:
        raise BuildError(_describe_unusable(wish, "names no program"))
    path = _find_compiler(command.program, base=wish.base, environment=environment)
    if path is None:
        raise BuildError(_describe_unusable(wish, f"there is no program {command.program!r}"))
    _check_launcher(command.launcher, wish=wish, environment=environment)
    path, notes = _prefer_cxx(path)
    facts = probe_host(path, environment=environment)
    if isinstance(facts, str):
        raise BuildError(_describe_unusable(wish, f"{path} {facts}"))
    if command.options:
        notes = (*notes, f"options in {wish.label} ({' '.join(command.options)}) are not handed to nvcc")
    return HostProgram(path, command.launcher, facts, wish.origin, wish.replaceable, notes)


def _find_compiler(name: str, *, base: Path, environment: Environment) -> Path | None:
    """Return the program; a folder stands for the compiler in it, as in nvcc's ``-ccbin``."""
    folder = base / name
    if "/" in name and is_folder(folder):
        inside = (find_program(str(folder / each), environment=environment) for each in PLATFORM_NAMES)
        return next((path for path in inside if path is not None), None)
    return find_program(name, environment=environment, base=base)


def _check_launcher(launcher: tuple[str, ...], *, wish: _Wish, environment: Environment) -> None:
    if launcher and find_program(launcher[0], environment=environment, base=wish.base) is None:
        raise BuildError(_describe_unusable(wish, f"there is no program {launcher[0]!r}"))


def _prefer_cxx(path: Path) -> tuple[Path, tuple[str, ...]]:
    """Return the C++ compiler beside a C compiler: only that one links C++."""
    match = _C_COMPILER.fullmatch(path.name)
    if match is None:
        return path, ()
    sibling = path.with_name(f"{match[1]}{_CXX_OF[match[2]]}{match[3] or ''}")
    if not sibling.is_file():
        return path, ()
    return sibling, (f"{sibling} is used for {path}, which compiles C",)


def _check_one_voice(found: HostProgram, *, environment: Environment, nvcc_flags: NvccFlags) -> None:
    """Refuse a ``-ccbin`` in nvcc's variables that says something else than the setting."""
    if nvcc_flags.host_compiler is None:
        return
    name, value = nvcc_flags.host_compiler
    named = _find_compiler(value, base=environment.cwd, environment=environment)
    if named is not None and is_one_place(_prefer_cxx(named)[0], found.path):
        return
    what = f"names another host compiler than {found.origin.text} ({found.path})"
    fix = (f"take -ccbin out of {name}, or let both name one compiler",)
    raise BuildError(Problem(Code.UNUSABLE_SETTING, what, f"{name}: -ccbin {value}", fix=fix))


def _list_siblings(program: HostProgram, *, environment: Environment) -> Iterator[tuple[Path, HostFacts]]:
    """Yield the installed compilers ``g++-N`` (``clang++-N``) that are older, newest first."""
    name = re.compile(rf"{re.escape(_CXX_OF[program.facts.family])}-(\d+)")
    found: dict[int, Path] = {}
    for folder in dict.fromkeys((*list_search_folders(environment), program.path.parent)):
        for path in folder.glob(f"{_CXX_OF[program.facts.family]}-*"):
            match = name.fullmatch(path.name)
            if match and find_program(str(path), environment=environment):
                found.setdefault(int(match[1]), path)
    for major in sorted(found, reverse=True):
        facts = probe_host(found[major], environment=environment)
        if isinstance(facts, HostFacts) and facts.version < program.facts.version:
            yield found[major], facts


def _describe_none(environment: Environment) -> Problem:
    names = ", ".join(PLATFORM_NAMES)
    variables = ", ".join(("SETUPTOOLS_CUDA_HOST_COMPILER", *HOST_VARIABLES))
    details = (("looked at", f"{variables}: not set\nPATH={environment.get('PATH') or ''}: no {names}"),)
    what = "no C++ compiler: nvcc needs one for everything that it does"
    return Problem(Code.NO_HOST_COMPILER, what, details=details, fix=_FIX)


def _describe_unusable(wish: _Wish, why: str) -> Problem:
    fix = ("name a C++ compiler by its path or its name on PATH, or leave it out for the platform's",)
    return Problem(Code.UNUSABLE_SETTING, "this host compiler cannot be used", wish.where, (("why", why),), fix)


def _describe_unfit(program: HostProgram, *, said: str, release: Release) -> Problem:
    family = program.facts.family
    facts = find_facts(release)
    limit = getattr(facts, family, None)
    older = _CXX_OF[family] if limit is None else f"{_CXX_OF[family]}-{limit} or older"
    newer = next((f for f in CATALOGUE if f.release > release and f.accepts(family, program.facts.version[0])), None)
    fix = [f"install {older}, and name it with SETUPTOOLS_CUDA_HOST_COMPILER if its name has no version in it,"]
    if newer is not None:
        fix.append(f"or use toolkit {newer.release}, which takes {family} {program.facts.version[0]},")
    fix.append('or, at your own risk, add "-allow-unsupported-compiler" to `flags`')
    details = [("chosen by", program.origin.text), ("toolkit", said.partition("! The nvcc flag")[0])]
    if program.replaceable:
        details.append(("looked for", f"{_CXX_OF[family]}-N on PATH: none that fits"))
    what = f"toolkit {release} does not take {program.facts} ({program.path})"
    return Problem(Code.UNFIT_HOST_COMPILER, what, details=tuple(details), fix=tuple(fix))
