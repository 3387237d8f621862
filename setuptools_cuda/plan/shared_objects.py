"""What an extension or shared library is linked with besides its own objects. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from setuptools_cuda.config.model import Cudart, Extension, Library
from setuptools_cuda.errors import Code, Problem
from setuptools_cuda.plan.linking import Closure, SharedLink
from setuptools_cuda.plan.rpath import plan_rpaths, up_to_site, wheel_requirements
from setuptools_cuda.plan.targets import Planning
from setuptools_cuda.resolution.values import Package


def add_closure(
    link: SharedLink, *, target: Extension | Library, folder: str, closure: Closure, planning: Planning
) -> Cudart:
    """Add libraries, those of packages and of the toolkit included; return how the CUDA runtime is linked.

    ``folder`` is where the shared object lies in the wheel: run paths start there.
    """
    toolchain = planning.facts.toolchain
    packages = planning.packages(target)
    named = (*closure.cuda, *(name for package in packages for name in package.cuda))
    cuda = tuple(dict.fromkeys(named)) if toolchain else ()
    planning.problems.extend(_find_runtimeless(target, packages=packages, planning=planning))
    cudart = planning.cudart(target, cuda=cuda)
    link.archives.extend(built.file for built in closure.libraries if built.file)
    for package in packages:
        link.library_dirs.extend(package.library_dirs)
        link.libraries.extend(package.libraries)
        link.rpaths.extend(f"{up_to_site(folder)}/{path}" for path in package.runtime_library_dirs)
        planning.requirements.update({package.requirement: None} if package.requirement else {})
    if toolchain:
        link.add_toolkit(cuda, cudart=cudart, toolchain=toolchain)
    link.rpaths.extend(plan_rpaths(folder, cuda=cuda, cudart=cudart, planning=planning))
    link.rpaths.extend(_installed_beside(folder, closure=closure))
    planning.requirements.update(dict.fromkeys(wheel_requirements(cuda, cudart=cudart, toolchain=toolchain)))
    return cudart if toolchain else "none"


def _find_runtimeless(
    target: Extension | Library, *, packages: Iterable[Package], planning: Planning
) -> Iterator[Problem]:
    """Yield a problem for each package whose libraries call the CUDA runtime, where nothing brings it."""
    asked = target.cudart or planning.settings.project.cudart
    if planning.facts.toolchain and asked != "none":
        return
    for package in packages:
        if package.needs_runtime:
            yield Problem(
                Code.CONFLICT,
                f"the libraries of {package.name} call the CUDA runtime, which is not linked",
                where=f"{target.where}.cudart",
                fix=('set cudart = "static" (or "shared"): a toolkit is looked for then',),
            )


def _installed_beside(folder: str, *, closure: Closure) -> list[str]:
    """Return run paths to shared libraries of the same wheel."""
    shared = [built.library for built in closure.libraries if built.library.type == "shared" and built.library.install]
    return [f"{up_to_site(folder)}/{(library.install or '').strip('/')}" for library in shared]
