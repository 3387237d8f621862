"""Which variables play a role in a build, and which one."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from setuptools_cuda.cli.diagnosis import Variable
from setuptools_cuda.config.external import VARIABLE_PREFIX, variable_name
from setuptools_cuda.config.keys import PROJECT
from setuptools_cuda.environment import Environment
from setuptools_cuda.resolution import architecture_steps, nvcc_flags, steps, variables
from setuptools_cuda.resolution.host_compiler import HOST_VARIABLES

ROLES: Mapping[str, str] = {
    **dict.fromkeys(steps.COMPILER_VARIABLES, "names the nvcc"),
    **dict.fromkeys(steps.ROOT_VARIABLES, "names the toolkit's folder"),
    "CONDA_PREFIX": "is looked at for an nvcc",
    **dict.fromkeys(HOST_VARIABLES, "names the host compiler"),
    "CC": "names the C compiler, which nvcc does not get",
    **dict.fromkeys((name for name, _ in architecture_steps.VARIABLES), "names architectures"),
    **dict.fromkeys(nvcc_flags.VARIABLES, "is added to every call by nvcc itself"),
    **dict.fromkeys(variables.CUDA_VARIABLES, "flags for nvcc"),
    "CFLAGS": "flags for C sources",
    "CXXFLAGS": "flags for C++ sources",
    "LDFLAGS": "flags for links",
    **dict.fromkeys(("CPATH", "CPLUS_INCLUDE_PATH"), "is where compilers look for headers first"),
    "LIBRARY_PATH": "is where linkers look for libraries first",
    "LD_LIBRARY_PATH": "is where programs look for libraries first, the driver's too",
    "FORCE_CUDA": "makes a missing toolkit an error",
    "MAX_JOBS": "compiles that run at once",
    "NVCC_THREADS": "threads of one nvcc",
    "SOURCE_DATE_EPOCH": "the time in archives",
    "TMPDIR": "is where nvcc keeps temporary files",
    "CUDA_VISIBLE_DEVICES": "hides GPUs, from 'native' too",
}
"""What each variable of others does, in words that follow its value."""


def list_variables(environment: Environment) -> tuple[Variable, ...]:
    """Return the variables that are set and play a role: ours first, then in the order of :data:`ROLES`."""
    others = ((name, environment.get(name), role) for name, role in ROLES.items())
    return (*_list_ours(environment), *(Variable(name, value, role) for name, value, role in others if value))


def _list_ours(environment: Environment) -> Iterator[Variable]:
    keys = {variable_name(key): f"is the key {key.name!r}" for key in PROJECT.keys.values()}
    for name in sorted(environment.variables):
        value = environment.get(name)
        if name.startswith(VARIABLE_PREFIX) and value:
            yield Variable(name, value, keys.get(name, "is no variable of setuptools_cuda"))
