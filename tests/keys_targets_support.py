"""A project with targets of each kind: one that sets no key, one that sets what it can, and those with bounds."""

from __future__ import annotations

import sysconfig

from keys_support import BIND_H, HEAD, PROBE_H

TARGETS = """
architectures = ["80"]
std = "c++17"
defines = ["DEFINE_PROJECT=1"]
include-dirs = ["inc/project"]
uses = ["pybind11"]
cudart = "shared"

[tool.setuptools-cuda.flags]
cuda = ["-DFLAG_PROJECT=1"]
cxx = ["-DCXX_PROJECT=1"]
c = ["-DC_PROJECT=1"]
link = ["-Wl,--defsym=link_project=1"]
"""
# Targets that set nothing, and targets that set what they can.
PLAIN = """
[[tool.setuptools-cuda.{kind}]]
{name}
sources = ["src/probe.cu", {host}]
"""
OWN = """
[[tool.setuptools-cuda.{kind}]]
{name}
sources = ["src/probe.cu", "src/more/*.cu", {host}]
exclude = ["src/more/out.cu"]
std = "c++20"
defines = ["DEFINE_TARGET=1"]
include-dirs = ["inc/{kind}"]
uses = ["numpy"]
link = ["headers"]
cudart = "static"
[tool.setuptools-cuda.{kind}.flags]
cuda = ["-DFLAG_TARGET=1"]
cxx = ["-DCXX_TARGET=1"]
c = ["-DC_TARGET=1"]
link = ["-Wl,--defsym=link_target=1"]
"""
BOUNDS = """
[[tool.setuptools-cuda.{kind}]]
{chosen}
sources = ["src/arch.cu", {host_chosen}]
architectures = ["75"]
[[tool.setuptools-cuda.{kind}]]
{newest}
sources = ["src/arch.cu", {host_newest}]
max-architecture = "75"
[[tool.setuptools-cuda.{kind}]]
{oldest}
sources = ["src/arch.cu", {host_oldest}]
min-architecture = "90"
when-empty = "skip"
"""
LINKED = """
[[tool.setuptools-cuda.library]]
name = "headers"
type = "interface"
include-dirs = ["inc/linked"]
defines = ["DEFINE_LINKED=1"]
flags = ["-DFLAG_LINKED=1"]

[[tool.setuptools-cuda.library]]
name = "parts"
sources = ["rdc/parts.cu"]
rdc = true

[[tool.setuptools-cuda.extension]]
name = "demo._rdc"
sources = ["rdc/main.cu", "src/_rdc.c"]
rdc = true
link = ["parts"]
cudart = "static"

[[tool.setuptools-cuda.kernel-module]]
module = "demo.k_rdc"
sources = ["rdc/parts.cu"]
rdc = true
"""
SUFFIX = str(sysconfig.get_config_var("EXT_SUFFIX"))
KINDS = ("extension", "library", "kernel-module")
NAMES = {
    "extension": 'name = "demo._{}"',
    "library": 'name = "{0}"\ntype = "shared"\ninstall = "demo/lib"',
    "kernel-module": 'module = "demo.k_{}"',
}
HOSTS = {
    "extension": '"src/_{}.c", "src/host.c", "src/host.cpp"',
    "library": '"src/host.c", "src/host.cpp"',
    "kernel-module": "",
}


def words(kind: str, name: str) -> dict[str, str]:
    return {"name": NAMES[kind].format(name), "host": HOSTS[kind].format(name)}


def bounds(kind: str) -> str:
    every = ("chosen", "newest", "oldest")
    names = {name: NAMES[kind].format(name).replace('type = "shared"\n', "") for name in every}
    if kind == "kernel-module":
        names = {name: f'{text}\nformats = ["ptx"]' for name, text in names.items()}
    hosts = {f"host_{name}": f'"src/_{name}.c"' if kind == "extension" else "" for name in every}
    return BOUNDS.format(kind=kind, **names, **hosts)


PYPROJECT = "".join(
    [
        HEAD,
        TARGETS,
        *(PLAIN.format(kind=kind, **words(kind, "plain")) for kind in KINDS),
        *(OWN.format(kind=kind, **words(kind, "own")) for kind in KINDS),
        *map(bounds, KINDS),
        LINKED,
    ]
)
FILES = {
    "pyproject.toml": PYPROJECT,
    "inc/project/project.h": "#define PLACE_PROJECT 1\n",
    "inc/linked/linked.h": "#define PLACE_LINKED 1\n",
    **{f"inc/{kind}/target.h": f"#define PLACE_TARGET {kind.replace('-', '_')}\n" for kind in KINDS},
    "src/probe.h": PROBE_H,
    "src/probe.cu": """\
#include "probe.h"
#if __has_include("project.h")
#include "project.h"
#endif
#if __has_include("target.h")
#include "target.h"
#endif
#if __has_include("linked.h")
#include "linked.h"
#endif
#if __has_include(<pybind11/pybind11.h>)
#define USED_PROJECT 1
#endif
#if __has_include(<numpy/arrayobject.h>)
#define USED_TARGET 1
#endif
SHOW(std, __cplusplus)
SHOW(define_project, DEFINE_PROJECT)
SHOW(define_target, DEFINE_TARGET)
SHOW(define_linked, DEFINE_LINKED)
SHOW(flag_linked, FLAG_LINKED)
SHOW(flag_project, FLAG_PROJECT)
SHOW(flag_target, FLAG_TARGET)
SHOW(place_project, PLACE_PROJECT)
SHOW(place_target, PLACE_TARGET)
SHOW(place_linked, PLACE_LINKED)
SHOW(used_project, USED_PROJECT)
SHOW(used_target, USED_TARGET)
""",
    "src/host.h": """\
#ifdef __cplusplus
#define C_NAMES extern "C"
#else
#define C_NAMES
#endif
#define SHOW_(name, value) \\
    C_NAMES __attribute__((visibility("default"))) int host_##name##_##value(void) { return 0; }
#define SHOW(name, value) SHOW_(name, value)
""",
    "src/host.cpp": """\
#include "host.h"
SHOW(cxx_std, __cplusplus)
SHOW(cxx_project, CXX_PROJECT)
SHOW(cxx_target, CXX_TARGET)
SHOW(cxx_define, DEFINE_TARGET)
""",
    "src/host.c": """\
#include "host.h"
#ifndef __cplusplus
SHOW(c_std, none)
#endif
SHOW(c_project, C_PROJECT)
SHOW(c_target, C_TARGET)
SHOW(c_define, DEFINE_TARGET)
""",
    "src/more/in.cu": '#include "../probe.h"\nSHOW(more, in)\n',
    "src/more/out.cu": '#include "../probe.h"\nSHOW(more, out)\n',
    "src/arch.cu": '#include "probe.h"\nSHOW(arch, there)\n',
    "rdc/parts.cu": 'extern "C" __device__ int twice(int x) { return 2 * x; }\n'
    'extern "C" __global__ void parts(int *x) { *x = twice(*x); }\n',
    "rdc/main.cu": 'extern "C" __device__ int twice(int x);\n__global__ void k(int *x) { *x = twice(*x); }\n'
    'extern "C" int run(void) { k<<<1, 1>>>(nullptr); return cudaGetLastError() == cudaSuccess ? 7 : 8; }\n',
    "src/bind.h": BIND_H,
    **{
        f"src/_{name}.c": f'#define NAME _{name}\n#define ANSWER 1\n#include "bind.h"\n'
        for name in ("plain", "own", "chosen", "newest", "oldest")
    },
    "src/_rdc.c": '#define NAME _rdc\n#define CALL run\n#include "bind.h"\n',
}
PROBES = {
    "extension": "demo/_{}",
    "library": "demo/lib/lib{}.so",
    "kernel-module": "demo/k_{}_images/src/probe",
}
