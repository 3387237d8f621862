"""What an extension or shared library is linked with besides its own objects. Pure."""

from __future__ import annotations

from setuptools_cuda.config.model import Cudart, Extension, Library
from setuptools_cuda.plan.linking import Closure, SharedLink
from setuptools_cuda.plan.rpath import plan_rpaths, up_to_site, wheel_requirements
from setuptools_cuda.plan.targets import Planning


def add_closure(
    link: SharedLink, *, target: Extension | Library, folder: str, closure: Closure, planning: Planning
) -> Cudart:
    """Add libraries, those of packages and of the toolkit included; return how the CUDA runtime is linked.

    ``folder`` is where the shared object lies in the wheel: run paths start there.
    """
    toolchain = planning.facts.toolchain
    cuda = closure.cuda if toolchain else ()
    cudart = planning.cudart(target, cuda=cuda)
    link.archives.extend(built.file for built in closure.libraries if built.file)
    for package in planning.packages(target):
        link.library_dirs.extend(package.library_dirs)
        link.libraries.extend(package.libraries)
        link.rpaths.extend(f"{up_to_site(folder)}/{path}" for path in package.runtime_library_dirs)
    if toolchain:
        link.add_toolkit(cuda, cudart=cudart, toolchain=toolchain)
    link.rpaths.extend(plan_rpaths(folder, cuda=cuda, cudart=cudart, planning=planning))
    link.rpaths.extend(_installed_beside(folder, closure=closure))
    planning.requirements.update(dict.fromkeys(wheel_requirements(cuda, cudart=cudart, toolchain=toolchain)))
    return cudart if toolchain else "none"


def _installed_beside(folder: str, *, closure: Closure) -> list[str]:
    """Return run paths to shared libraries of the same wheel."""
    shared = [built.library for built in closure.libraries if built.library.type == "shared" and built.library.install]
    return [f"{up_to_site(folder)}/{(library.install or '').strip('/')}" for library in shared]
