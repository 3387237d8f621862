"""Compiles without nvcc: jobs that run libNVRTC, libNVVM, LLVM and ptxas. Pure.

Each runs as a program of ``execute``, which a job calls through ``{programs}``; ``{tool:NAME}``
stands for a library or program of the toolkit, so that no command tells where that lies.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from setuptools_cuda.config.model import Project
from setuptools_cuda.plan.device_options import DeviceWords, ir_words, nvrtc_words
from setuptools_cuda.plan.effective import SourceOptions
from setuptools_cuda.plan.options import DEPFILE, KEEP, OUT, compress_options, is_compressed, program
from setuptools_cuda.plan.paths import digest, object_name
from setuptools_cuda.plan.values import Job, Output
from setuptools_cuda.resolution.architecture_codes import describe_codes
from setuptools_cuda.resolution.device_compilers import list_tools
from setuptools_cuda.resolution.device_plugins import DevicePlugin
from setuptools_cuda.resolution.device_tools import DeviceTools
from setuptools_cuda.resolution.values import Architecture, Code

_HEADERS = ("include", "cccl")


@dataclass
class DevicePass:
    """One source as one device compiler takes it, with the outputs asked for so far."""

    source: str
    compiler: str
    codes: tuple[Code, ...]
    words: DeviceWords
    key: str
    compress: tuple[str, ...] = ()
    instantiate: tuple[str, ...] = ()
    rdc: bool = False
    text: Architecture | None = None
    """The ``.target`` of a PTX source: the one PTX that it has."""
    depends: tuple[str, ...] = ()
    memory: int = 0
    priority: int = 0
    wants: dict[str, str] = field(default_factory=dict)
    used_by: dict[str, None] = field(default_factory=dict)

    @property
    def compressed(self) -> bool:
        """Return whether its fatbin is compressed."""
        return is_compressed(self.compress)

    def want(self, role: str, *, target: str) -> str:
        """Return the file of ``role``, relative to the build folder, and note that ``target`` uses it."""
        self.used_by[target] = None
        for other in self._made_of(role):
            self.want(other, target=target)
        kind, _, architecture = role.partition(":")
        name = object_name(self.source, key=self.key)[:-2]
        return self.wants.setdefault(role, f"images/{name}{'.' if architecture else ''}{architecture}.{kind}")

    def _made_of(self, role: str) -> Iterator[str]:
        """Yield the roles that a role is made of: machine code of PTX, a fatbin of everything."""
        kind, _, architecture = role.partition(":")
        if kind == "cubin" and self.text is None and self.compiler != "nvrtc":
            yield f"ptx:{architecture}"
        if kind == "fatbin":
            yield from (f"cubin:{code.architecture}" for code in self.codes if code.real)
            yield from (f"ptx:{architecture}" for architecture in self.ptx_in_fatbin)

    @property
    def ptx_in_fatbin(self) -> tuple[Architecture, ...]:
        """Return the architectures whose PTX a fatbin holds."""
        virtual = tuple(code.architecture for code in self.codes if code.virtual)
        return virtual if self.text is None else (self.text,)


@dataclass(kw_only=True)
class DeviceJobs:
    """A registry of such compiles, filled while targets are planned; :meth:`jobs` ends it."""

    project: Project
    tools: DeviceTools | None
    plugins: Mapping[str, DevicePlugin] = field(default_factory=dict)
    namespace: str = ""
    _passes: dict[str, DevicePass] = field(default_factory=dict)

    def source(
        self,
        options: SourceOptions,
        *,
        compiler: str,
        codes: Sequence[Code],
        text: Architecture | None = None,
    ) -> DevicePass:
        """Return the one compile of a source with these options for these codes."""
        tools = self._tools()
        if compiler == "nvrtc":
            words = nvrtc_words(options, project=self.project)
        else:
            words = ir_words(options, compiler=compiler, project=self.project)
        plugin = self.plugins.get(compiler)
        names = list_tools(compiler, formats=("cubin", "fatbin"))
        names = (*names, *_HEADERS, "crt") if compiler == "nvrtc" else names
        compress = compress_options(self.project, release=tools.release)
        key = digest(
            self.namespace,
            options.source,
            compiler,
            "rdc" if options.rdc else "whole",
            describe_codes(codes),
            *words.compiler,
            "",
            *words.ptxas,
            "",
            *options.instantiate,
            "",
            *compress,
            plugin.identity if plugin else "",
            tools.identity(*(name for name in names if name in tools.paths)),
        )
        fresh = DevicePass(
            options.source,
            compiler,
            tuple(codes),
            words,
            key,
            compress,
            options.instantiate,
            options.rdc,
            text,
            options.depends,
            options.memory,
            options.priority,
        )
        return self._passes.setdefault(key, fresh)

    def _tools(self) -> DeviceTools:
        if self.tools is None:
            raise ValueError("a device compile needs its tools")
        return self.tools

    def jobs(self) -> tuple[Job, ...]:
        """Return all compiles; more of what one makes may be asked for by another of the same source."""
        return tuple(job for one in self._passes.values() for job in self._render(one))

    def _render(self, one: DevicePass) -> Iterator[Job]:
        for architecture in _architectures(one, kinds=("ltoir",)):
            yield self._ltoir(one, architecture)
        if "fatbin" in one.wants:
            yield self._fatbin(one)
        if one.compiler == "nvrtc":
            for architecture in _architectures(one, kinds=("ptx", "cubin")):
                yield self._nvrtc(one, architecture)
            return
        for architecture in _architectures(one, kinds=("cubin",)):
            yield self._ptxas(one, architecture)
        for architecture in _architectures(one, kinds=("ptx",)):
            yield self._ptx(one, architecture)

    def _nvrtc(self, one: DevicePass, architecture: str) -> Job:
        roles = [role for role in (f"ptx:{architecture}", f"cubin:{architecture}") if role in one.wants]
        real = any(role.startswith("cubin") for role in roles)
        name = f"{'sm' if real else 'compute'}_{architecture}"
        return self._compile(one, architecture, self._nvrtc_argv(one, f"-arch={name}"), roles=roles, depfile=True)

    def _nvrtc_argv(self, one: DevicePass, *words: str) -> tuple[str, ...]:
        tools = self._tools()
        folders = [name for name in _HEADERS if name in tools.paths]
        # Headers of a wheel are told by its version, which is in the key; where it lies changes with each environment.
        told = (word for name in folders if name in tools.versions for word in ("--told", f"{{tool:{name}}}"))
        headers = (f"-I{{tool:{name}}}" for name in folders)
        rdc = ("-rdc=true",) if one.rdc else ()
        return (
            *program("device_nvrtc.py"),
            *("--library", "{tool:nvrtc}", "--keep", KEEP, "--depfile", DEPFILE),
            *told,
            *(word for expression in one.instantiate for word in ("--instantiate", expression)),
            *(one.source, "--", *words, *rdc, *one.words.compiler, *headers),
        )

    def _ltoir(self, one: DevicePass, architecture: str) -> Job:
        role = f"ltoir:{architecture}"
        if one.compiler == "nvrtc":
            argv = self._nvrtc_argv(one, f"-arch=compute_{architecture}", "-dlto")
            return self._compile(one, architecture, argv, roles=[role], depfile=True)
        argv = self._nvvm_argv(one, f"-arch=compute_{architecture}", "-gen-lto")
        return self._compile(one, architecture, argv, roles=[role], depfile=False)

    def _nvvm_argv(self, one: DevicePass, *words: str) -> tuple[str, ...]:
        return (
            *program("device_nvvm.py"),
            *("--library", "{tool:nvvm}", "--libdevice", "{tool:libdevice}", "--output", OUT),
            *(one.source, "--", *words, *one.words.compiler),
        )

    def _ptx(self, one: DevicePass, architecture: str) -> Job:
        argv: tuple[str, ...]
        if one.compiler == "nvvm":
            argv = self._nvvm_argv(one, f"-arch=compute_{architecture}")
        elif one.compiler == "llvm":
            argv = (
                *program("device_llvm.py"),
                *("--site", "{tool:llvmlite}", "--libdevice", "{tool:libdevice}", "--output", OUT),
                *("--cpu", f"sm_{architecture}", one.source),
            )
        elif one.compiler in self.plugins:
            argv = self.plugins[one.compiler].command(one.source, architecture)
        else:
            check = self._least_known(one)
            argv = (
                *program("device_ptx.py"),
                *("--ptxas", "{tool:ptxas}", "--arch", f"sm_{check}", "--output", OUT, one.source),
            )
        return self._compile(one, architecture, argv, roles=[f"ptx:{architecture}"], depfile=DEPFILE in argv)

    def _least_known(self, one: DevicePass) -> Architecture:
        """Return the architecture to check PTX for: its target, or the oldest that ptxas still compiles for."""
        target = one.text or one.codes[0].architecture
        known = self._tools().known
        return target if target in known else min((each for each in known if each >= target), default=target)

    def _ptxas(self, one: DevicePass, architecture: str) -> Job:
        text = one.source if one.text else f"{{build}}/{one.wants[f'ptx:{architecture}']}"
        relocatable = ("-c",) if one.rdc else ()
        argv = ("{tool:ptxas}", f"-arch=sm_{architecture}", *relocatable, *one.words.ptxas, text, "-o", OUT)
        needs = () if one.text else (one.wants[f"ptx:{architecture}"],)
        return self._compile(one, architecture, argv, roles=[f"cubin:{architecture}"], depfile=False, needs=needs)

    def _fatbin(self, one: DevicePass) -> Job:
        parts = [(role, file) for role, file in one.wants.items() if role.startswith(("ptx:", "cubin:"))]
        kinds = {"ptx": "ptx", "cubin": "elf"}
        images = (
            f"--image3=kind={kinds[role.partition(':')[0]]},sm={role.partition(':')[2]},file={{build}}/{file}"
            for role, file in parts
            if self._in_fatbin(one, role)
        )
        argv = ("{tool:fatbinary}", "-64", *one.compress, *images, "--create", OUT)
        needs = tuple(file for role, file in parts if self._in_fatbin(one, role))
        return self._compile(one, "fatbin", argv, roles=["fatbin"], depfile=False, needs=needs)

    def _in_fatbin(self, one: DevicePass, role: str) -> bool:
        kind, _, architecture = role.partition(":")
        if kind == "ptx":
            return architecture in map(str, one.ptx_in_fatbin)
        return architecture in {str(code.architecture) for code in one.codes if code.real}

    def _compile(
        self,
        one: DevicePass,
        what: str,
        argv: tuple[str, ...],
        *,
        roles: Sequence[str],
        depfile: bool,
        needs: tuple[str, ...] = (),
    ) -> Job:
        codes = tuple(code for code in one.codes if str(code.architecture) == what) or one.codes
        shown = "fatbin" if what == "fatbin" else f"{roles[0].partition(':')[0]} {what}"
        return Job(
            key=digest(one.key, *roles, what),
            kind="device",
            argv=argv,
            inputs=(one.source, *one.depends),
            needs=needs,
            outputs=tuple(Output(role, one.wants[role]) for role in roles),
            title=f"{one.source} by {one.compiler} ({shown})",
            used_by=tuple(one.used_by),
            codes=codes,
            depfile=depfile,
            memory=one.memory,
            priority=one.priority,
        )


def _architectures(one: DevicePass, *, kinds: Sequence[str]) -> tuple[str, ...]:
    """Return the architectures of the outputs of some kinds, in the order that they were asked for."""
    parts = (role.partition(":") for role in one.wants)
    return tuple(dict.fromkeys(architecture for kind, _, architecture in parts if kind in kinds))
