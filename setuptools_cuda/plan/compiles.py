"""Compiles: each (source, options, architectures) once, whoever uses what comes out of it."""

from __future__ import annotations

import functools
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from setuptools_cuda.config.model import Project
from setuptools_cuda.plan.effective import SourceOptions
from setuptools_cuda.plan.facts import Facts
from setuptools_cuda.plan.options import (
    DEPFILE,
    OUT,
    PREFIX_MAP,
    compress_options,
    cuda_options,
    host_options,
    is_compressed,
    launcher_of,
    nvcc_command,
    place_options,
    profile_options,
    reproducible_options,
)
from setuptools_cuda.plan.paths import digest, object_name
from setuptools_cuda.plan.places import Places
from setuptools_cuda.plan.units import plan_unit, unit_file
from setuptools_cuda.plan.values import Job, Output
from setuptools_cuda.resolution.architecture_codes import describe_codes, merge_codes, render_gencode
from setuptools_cuda.resolution.values import Code, Toolchain

OBJECT, FATBIN, LTOIR = "object", "fatbin", "ltoir"


@dataclass
class CudaPass:
    """One run of nvcc over one source, with the outputs that its users asked for so far."""

    source: str
    key: str
    name: str
    """The key without what every source gets for Python's sake: names in the code are made of it, so that code is
    the same whether a project has extensions beside it or not."""
    options: tuple[str, ...]
    codes: tuple[Code, ...]
    rdc: bool
    mode: str = ""
    """nvcc's phase option where it is not for the outputs to decide: ``-ltoir``."""
    place_options: tuple[str, ...] = ()
    memory: int = 0
    priority: int = 0
    wants: dict[str, str] = field(default_factory=dict)
    """Role to file, in the order asked for."""
    used_by: dict[str, None] = field(default_factory=dict)
    depends: dict[str, None] = field(default_factory=dict)
    instantiate: tuple[str, ...] = ()
    """Instantiations of the source's templates: nvcc then compiles a source of ours that includes it."""

    @property
    def unit(self) -> str:
        """Return that source, relative to the build folder; '' where there is none."""
        return unit_file(self.source, key=self.key) if self.instantiate else ""

    def want(self, role: str, *, target: str) -> str:
        """Return the file of ``role``, relative to the build folder, and note that ``target`` uses it."""
        self.used_by[target] = None
        return self.wants.setdefault(role, self._file(role))

    def _file(self, role: str) -> str:
        name = object_name(self.source, key=self.key)
        if role == OBJECT:
            return f"objects/{name}"
        kind, _, architecture = role.partition(":")
        return f"images/{name[:-2]}{'.' if architecture else ''}{architecture}.{kind}"


@dataclass(kw_only=True)
class Compiles:
    """A registry of compiles, filled while targets are planned; :meth:`jobs` ends it."""

    facts: Facts
    project: Project
    python_includes: tuple[str, ...]
    python_defines: tuple[str, ...] = ()
    """The limited API, where all extensions of the project build for the same one."""
    namespace: str = ""
    """Part of every key: plans of one build folder that ask for other outputs do not undo each other."""
    places: Places = field(default_factory=Places)
    _passes: dict[str, CudaPass] = field(default_factory=dict)
    _host: dict[str, Job] = field(default_factory=dict)

    def cuda(self, options: SourceOptions, *, codes: Sequence[Code], toolchain: Toolchain) -> CudaPass:
        """Return the one pass that compiles a source with these options for these codes."""
        words = (
            *cuda_options(self._with_python(options), python_includes=self.python_includes),
            *profile_options(self.project, lacks=toolchain.lacks),
            *compress_options(self.project, release=toolchain.release),
        )
        return self._pass(options, words=(*render_gencode(codes), *words), codes=codes, toolchain=toolchain, mode="")

    def _with_python(self, options: SourceOptions) -> SourceOptions:
        new = tuple(define for define in self.python_defines if define not in options.defines)
        return replace(options, defines=(*options.defines, *new))

    def _python_words(self, options: SourceOptions) -> tuple[str, ...]:
        """Return the options that no target asks for, and that all sources get where the project has an extension."""
        folders = (folder for folder in self.python_includes if folder not in options.include_dirs)
        defines = (define for define in self.python_defines if define not in options.defines)
        return (*(f"-I{folder}" for folder in folders), *(f"-D{define}" for define in defines))

    def ltoir(self, options: SourceOptions, *, code: Code, toolchain: Toolchain) -> CudaPass:
        """Return the pass that makes LTO-IR of a source, for one architecture."""
        # Functions that other sources call are kept in relocatable code alone.
        rdc = ("-rdc=true",) if options.rdc else ()
        words = (*cuda_options(options, python_includes=self.python_includes), *rdc)
        number = str(code.architecture)
        gencode = f"-gencode=arch=compute_{number},code=lto_{number}"
        return self._pass(options, words=(gencode, *words), codes=(code,), toolchain=toolchain, mode="-ltoir")

    def _pass(
        self, options: SourceOptions, *, words: Sequence[str], codes: Sequence[Code], toolchain: Toolchain, mode: str
    ) -> CudaPass:
        rdc = "rdc" if options.rdc else "whole"
        # A source of ours names the one that it includes from the project's root.
        words = (*words, "-I.") if options.instantiate else words
        stable = self.places.stable(words)
        key = digest(self.namespace, options.source, *stable, "", *options.instantiate, rdc, mode, toolchain.identity)
        maps = place_options(stable, places=self.places, nvcc=True)
        python = self.places.stable(self._python_words(options))
        plain = (word for word in stable if word not in python)
        name = digest(self.namespace, options.source, *plain, "", *options.instantiate, rdc, mode, toolchain.identity)
        fresh = CudaPass(options.source, key, name, stable, tuple(codes), options.rdc, mode, maps)
        fresh.instantiate = options.instantiate
        found = self._passes.setdefault(key, fresh)
        found.memory = max(found.memory, options.memory)
        found.priority = max(found.priority, options.priority)
        found.depends.update(dict.fromkeys(options.depends))
        return found

    def host(
        self, options: SourceOptions, *, target: str, command: Sequence[str], generated_by: Job | None = None
    ) -> str:
        """Return the object of a C or C++ source, compiled by ``command`` with the source's options."""
        stable = self.places.stable((*command, *host_options(options, facts=self.facts), PREFIX_MAP))
        words = (*stable, *place_options(stable, places=self.places, nvcc=False))
        identity = self.facts.toolchain.identity if self.facts.toolchain else ""
        named = self.places.path(options.source)
        key = digest(named, *words, identity)
        file = f"objects/{object_name(named, key=key)}"
        source = generated_by.outputs[0].file if generated_by else options.source
        argument = _in_build(source) if generated_by else named
        job = Job(
            key=key,
            kind="host",
            argv=(*words, "-MD", "-MF", DEPFILE, "-c", argument, "-o", OUT),
            inputs=() if generated_by else (source, *options.depends),
            needs=(source,) if generated_by else (),
            outputs=(Output(OBJECT, file),),
            title=options.source,
            used_by=(target,),
            depfile=True,
            memory=options.memory,
            priority=options.priority,
        )
        before = self._host.get(key)
        self._host[key] = _joined(before, job) if before else job
        return file

    def cython(self, options: SourceOptions, *, module: str, cplus: bool, executable: str, target: str) -> Job:
        """Return the job that makes C or C++ of a .pyx."""
        suffix = "cpp" if cplus else "c"
        argv = self.places.stable(
            (
                *(executable, "-m", "cython", "--module-name", module, "-M"),
                *(("--cplus",) if cplus else ()),
                *(f"-I{folder}" for folder in options.include_dirs),
                *(options.source, "-o", OUT),
            )
        )
        # Its place is in debug information, which must not depend on where Python lies.
        key = digest(*argv[1:])
        job = Job(
            key=key,
            kind="cython",
            argv=argv,
            inputs=(options.source, *options.depends),
            needs=(),
            outputs=(Output("source", f"generated/{key}/{module.rsplit('.', 1)[-1]}.{suffix}"),),
            title=options.source,
            used_by=(target,),
            depfile=True,
        )
        self._host[key] = job
        return job

    @property
    def compressed(self) -> bool:
        """Return whether device code in objects is compressed."""
        toolchain = self.facts.toolchain
        return toolchain is not None and is_compressed(compress_options(self.project, release=toolchain.release))

    def codes_of(self, *targets: str) -> tuple[Code, ...]:
        """Return what is compiled for ``targets`` together, each architecture once, in canonical order."""
        passes = (one for one in self._passes.values() if not one.used_by.keys().isdisjoint(targets))
        return merge_codes(code for one in passes for code in one.codes)

    def jobs(self, toolchain: Toolchain | None) -> tuple[Job, ...]:
        """Return all compiles: higher priority first, then CUDA before host sources."""
        launcher = launcher_of(self.project, toolchain=toolchain)
        render = functools.partial(_render_pass, toolchain=toolchain, root=self.facts.root, launcher=launcher)
        units = (
            plan_unit(one.unit, source=one.source, expressions=one.instantiate, key=one.key, used_by=tuple(one.used_by))
            for one in self._passes.values()
            if one.unit
        )
        cuda = (*units, *(job for one in self._passes.values() for job in render(one)))
        host = (_launched(job, launcher=launcher) if job.kind == "host" else job for job in self._host.values())
        return tuple(sorted((*cuda, *host), key=lambda job: (-job.priority, -len(job.codes))))

    def repeated_notes(self) -> tuple[str, ...]:
        """Return a line for each source that has to be compiled more than once."""
        by_source: dict[str, list[CudaPass]] = {}
        for one in (one for one in self._passes.values() if not one.mode):
            by_source.setdefault(one.source, []).append(one)
        return tuple(_compiled_again(source, passes) for source, passes in by_source.items() if len(passes) > 1)


def _compiled_again(source: str, passes: Iterable[CudaPass]) -> str:
    passes = tuple(passes)
    shared = set.intersection(*(set(one.options) for one in passes))
    users = "; ".join(f"for {', '.join(one.used_by)} with {_own_options(one, shared=shared)}" for one in passes)
    return f"{source} is compiled {len(passes)} times: {users}. What all of them need can be set for the whole project"


def _own_options(one: CudaPass, *, shared: Collection[str]) -> str:
    own = [option for option in one.options if option not in shared]
    return " ".join(own) or ("relocatable device code" if one.rdc else "nothing of its own")


def _joined(one: Job, other: Job) -> Job:
    """Return the one job of two targets that compile a source in the same way."""
    return replace(
        one,
        inputs=tuple(dict.fromkeys((*one.inputs, *other.inputs))),
        used_by=tuple(dict.fromkeys((*one.used_by, *other.used_by))),
        memory=max(one.memory, other.memory),
        priority=max(one.priority, other.priority),
    )


def _launched(job: Job, *, launcher: Sequence[str]) -> Job:
    return replace(job, argv=(*launcher, *job.argv), launched=True) if launcher else job


def _in_build(file: str) -> str:
    return f"{{build}}/{file}"


def _render_pass(one: CudaPass, *, toolchain: Toolchain | None, root: str, launcher: Sequence[str]) -> Iterator[Job]:
    """Yield the job of a pass, or two: a launcher caches objects alone, so images then come by a run of their own."""
    if toolchain is None:
        raise ValueError("a CUDA pass needs a toolchain")
    objects = {role: file for role, file in one.wants.items() if role == OBJECT}
    images = {role: file for role, file in one.wants.items() if role != OBJECT}
    command, lacks = nvcc_command(toolchain, root=root), toolchain.lacks
    if not launcher or not objects:
        yield _job(one, command=command, mode=_mode(one), wants=one.wants, keeping=True, lacks=lacks)
        return
    phase = "-dc" if one.rdc else "-c"
    yield _job(one, command=(*launcher, *command), mode=phase, wants=objects, keeping=False, lacks=lacks)
    if images:
        yield _job(one, command=command, mode="-fatbin", wants=images, keeping=True, lacks=lacks)


def _job(
    one: CudaPass, *, command: Sequence[str], mode: str, wants: Mapping[str, str], keeping: bool, lacks: Collection[str]
) -> Job:
    argv = (
        *command,
        mode,
        *one.options,
        *reproducible_options(one.source, key=one.name, keeping=keeping, lacks=lacks),
        *one.place_options,
        *("-MD", "-MF", DEPFILE, _in_build(one.unit) if one.unit else one.source, "-o", OUT),
    )
    return Job(
        key=one.key if keeping else digest(one.key, "launched"),
        kind="cuda",
        argv=argv,
        inputs=(one.source, *one.depends),
        needs=(one.unit,) if one.unit else (),
        outputs=tuple(Output(role, file) for role, file in wants.items()),
        title=f"{one.source} for {describe_codes(one.codes)}",
        used_by=tuple(one.used_by),
        codes=one.codes,
        depfile=True,
        memory=one.memory,
        priority=one.priority,
        launched=not keeping,
    )


def _mode(one: CudaPass) -> str:
    if one.mode:
        return one.mode
    if OBJECT in one.wants:
        return "-dc" if one.rdc else "-c"
    return "-fatbin"
