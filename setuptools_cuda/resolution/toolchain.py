"""Settings to toolchain: one nvcc, and everything that belongs to it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from setuptools_cuda.config.model import Settings
from setuptools_cuda.environment import Environment
from setuptools_cuda.errors import BuildError, Code, Problem, raise_if_any
from setuptools_cuda.resolution.farm import plan_farm
from setuptools_cuda.resolution.host_compiler import allows_unsupported, resolve_host_compiler, resolve_host_program
from setuptools_cuda.resolution.host_probe import probe_text
from setuptools_cuda.resolution.identity import digest_facts, digest_file
from setuptools_cuda.resolution.library_files import diagnose_libraries
from setuptools_cuda.resolution.needs import describe_target, list_needy
from setuptools_cuda.resolution.nvcc_flags import NvccFlags, probe_flags, resolve_nvcc_flags
from setuptools_cuda.resolution.parts import diagnose_parts
from setuptools_cuda.resolution.pip_step import render_requirement
from setuptools_cuda.resolution.probe import Layout, Toolkit, probe_known, probe_lacks, probe_layout
from setuptools_cuda.resolution.search import Chosen, Search, search_nvcc
from setuptools_cuda.resolution.values import Farm, HostCompiler, Toolchain
from setuptools_cuda.resolution.wheels import diagnose_mixture, find_site

FARM_FOLDER = "toolkit"


def resolve_toolchain(settings: Settings, *, environment: Environment, build_dir: Path) -> Toolchain:
    """Return the toolchain; nothing is written.

    Where it lies in NVIDIA's wheels, its paths are those of a link farm in
    ``build_dir/toolkit``, which :func:`setuptools_cuda.resolution.farm.write_farm` has to write
    before anything is compiled.

    Raises:
        BuildError: NO_COMPILER with all that was looked at; UNUSABLE_SETTING, UNFIT_RELEASE,
            PARTIAL_TOOLKIT, MIXED_RELEASES, NO_HOST_COMPILER, UNFIT_HOST_COMPILER,
            PLUGIN_FAILED, TOOL_FAILED or BAD_VALUE for an nvcc that was found or set.
    """
    search = search_nvcc(settings, environment=environment)
    found = complete_toolchain(search, settings=settings, environment=environment, build_dir=build_dir)
    if found is None:
        raise BuildError(describe_no_compiler(search, settings=settings, environment=environment))
    return found


def find_toolchain(settings: Settings, *, environment: Environment, build_dir: Path) -> Toolchain | None:
    """Return the toolchain, or None where no step has a usable nvcc and nothing set is at fault.

    Raises:
        BuildError: as :func:`resolve_toolchain` does, but for NO_COMPILER.
    """
    search = search_nvcc(settings, environment=environment)
    return complete_toolchain(search, settings=settings, environment=environment, build_dir=build_dir)


def complete_toolchain(
    search: Search, *, settings: Settings, environment: Environment, build_dir: Path
) -> Toolchain | None:
    """Return the toolchain of the nvcc that ``search`` came to, or None where it came to none.

    Raises:
        BuildError: as :func:`resolve_toolchain` does for an nvcc that was found.
    """
    if search.chosen is None:
        return None
    return _complete(search, search.chosen, settings=settings, environment=environment, build_dir=build_dir)


def describe_no_compiler(search: Search, *, settings: Settings, environment: Environment) -> Problem:
    """Return the problem that a search came to nothing, with all that was looked at."""
    width = max((len(each.where) for each in search.candidates), default=0)
    lines = "\n".join(f"{each.where:<{width}}  {each.verdict}" for each in search.candidates)
    details = (("looked at", lines or "nothing: toolchain-steps names no step"),)
    fix = (*suggest_toolkit(settings, environment=environment), "setuptools-cuda doctor shows the whole search")
    return Problem(Code.NO_COMPILER, render_lack(settings), details=details, fix=fix)


def render_lack(settings: Settings) -> str:
    """Return one line that says that there is no nvcc, and what it is needed for."""
    needy = list_needy(settings)
    within = f" within {settings.project.cuda}" if settings.project.cuda else ""
    return f"no CUDA compiler (nvcc){within}" + (f" for {describe_target(needy[0])}" if needy else "")


def suggest_toolkit(settings: Settings, *, environment: Environment) -> tuple[str, ...]:
    """Return what to do where there is no nvcc, in lines. What ``toolchain-steps`` leaves out is no advice."""
    steps = settings.project.toolchain_steps
    has_wheels = steps is None or not {"wheel", "pip"}.isdisjoint(steps)
    has_root = steps is None or "root-env" in steps
    if not (has_wheels or has_root):
        where = settings.origin("toolchain-steps").text
        return (f"add 'wheel' (a toolkit from pip) or 'root-env' (CUDA_HOME) to {where}",)
    if not has_wheels:
        return ("point CUDA_HOME at a toolkit",)
    try:
        spec = render_requirement(settings, environment=environment)
    except BuildError as error:
        reason, place = error.problems[0].what, " and point CUDA_HOME at it" if has_root else ""
        return (f"install a toolkit{place}; one from PyPI will not do: {reason}",)
    by_root = ("or point CUDA_HOME at a toolkit",) if has_root else ()
    return (f"add \"{spec}\" to build-system.requires (without build isolation: pip install '{spec}'),", *by_root)


def _complete(
    search: Search, chosen: Chosen, *, settings: Settings, environment: Environment, build_dir: Path
) -> Toolchain:
    """Return the toolchain of the nvcc that won."""
    flags = resolve_nvcc_flags(environment)
    program = resolve_host_program(settings, environment=environment, nvcc_flags=flags)
    layout = probe_layout(chosen.nvcc, host_compiler=program.path, environment=environment)
    toolkit = Toolkit(chosen.version, layout, find_site(layout.root))
    options = probe_flags(flags, nvcc=layout.nvcc, host_compiler=program.path, environment=environment)
    mixture = diagnose_mixture(toolkit.site, release=toolkit.release) if toolkit.site is not None else None
    parts = diagnose_parts(toolkit, settings=settings, host_compiler=program.path, environment=environment)
    libraries = diagnose_libraries(toolkit, settings=settings, host_compiler=program.path, environment=environment)
    raise_if_any(problem for problem in (mixture, parts, libraries, options) if problem is not None)
    host = resolve_host_compiler(
        program,
        include_dirs=layout.include_dirs,
        release=toolkit.release,
        environment=environment,
        allow_unsupported=flags.allow_unsupported or allows_unsupported(settings),
    )
    farm = plan_farm(layout.root, into=build_dir / FARM_FOLDER) if toolkit.site is not None else None
    place = _move_into(farm, layout) if farm is not None else layout
    return Toolchain(
        nvcc=place.nvcc,
        launcher=chosen.location.launcher,
        release=toolkit.release,
        version=chosen.version.version,
        root=place.root,
        include_dirs=place.include_dirs,
        library_dirs=place.library_dirs,
        found_via=chosen.location.origin,
        step=chosen.step,
        candidates=search.candidates,
        known=probe_known(layout, release=toolkit.release, environment=environment),
        host_compiler=host,
        identity=_digest(toolkit, host=host, flags=flags, environment=environment),
        from_wheel=farm is not None,
        notes=(*search.notes, *_explain_move(layout, place, chosen=chosen), *flags.notes, *host.notes),
        lacks=probe_lacks(layout, environment=environment),
        farm=farm,
    )


def _move_into(farm: Farm, layout: Layout) -> Layout:
    """Return the layout as it is once the farm is written."""
    folder = farm.folder

    def move(path: Path) -> Path:
        return folder / path.relative_to(layout.root)

    return Layout(
        nvcc=folder / "bin" / "nvcc",
        binary=layout.binary,
        root=folder,
        include_dirs=tuple(move(path) for path in layout.include_dirs),
        library_dirs=(folder / "lib", folder / "lib" / "stubs"),
        cicc=layout.cicc,
        ptxas=layout.ptxas,
        libdevice=layout.libdevice,
    )


def _explain_move(layout: Layout, place: Layout, *, chosen: Chosen) -> Iterator[str]:
    if layout.nvcc != chosen.nvcc:
        yield f"{layout.nvcc} is called in place of {chosen.nvcc}, which is a link to it and has no toolkit beside it"
    if place.nvcc != layout.nvcc and layout.nvcc.resolve() != layout.binary.resolve():
        yield f"{layout.binary} is called in place of {layout.nvcc}, which is a wrapper of it"


def _digest(toolkit: Toolkit, *, host: HostCompiler, flags: NvccFlags, environment: Environment) -> str:
    layout = toolkit.layout
    files = (("nvcc", layout.binary), ("cicc", layout.cicc), ("ptxas", layout.ptxas))
    facts = [("nvcc --version", toolkit.version.text)]
    if toolkit.site is None and _is_script(layout.nvcc):
        facts.append(("wrapper", digest_file(layout.nvcc)))
    facts.extend((label, digest_file(path)) for label, path in files if path is not None and path.is_file())
    facts.append(("host compiler", f"{host} {probe_text(host.path, environment=environment)}"))
    return digest_facts((*facts, *flags.facts))


def _is_script(path: Path) -> bool:
    """Return whether nvcc is called by a script, which may add options of its own."""
    with path.open("rb") as file:
        return file.read(2) == b"#!"
