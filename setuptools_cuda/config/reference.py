"""The reference page of all keys, made from the model.

``python -m setuptools_cuda.config.reference`` writes it to ``docs/reference/settings.md``.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path

from setuptools_cuda.config.external import setting_name, variable_name
from setuptools_cuda.config.keys import NOT_IN_THIS_RELEASE, PROJECT, SCOPES, Key, Scope, ScopeName, find_scopes
from setuptools_cuda.config.model import CacheEntries, Flags
from setuptools_cuda.config.placeholders import PLACEHOLDERS
from setuptools_cuda.config.pyproject import TABLE
from setuptools_cuda.config.tables import head_of

OTHER_VARIABLES: Mapping[str, tuple[str, ...]] = {
    "architectures": (
        "CUDAARCHS",
        "CMAKE_CUDA_ARCHITECTURES",
        "TORCH_CUDA_ARCH_LIST",
        "CUDA_COMPUTE_CAPS",
        "CUDA_COMPUTE_CAP",
    ),
    "required": ("FORCE_CUDA",),
    "nvcc": (
        "NVCC",
        "CUDACXX",
        "CUDA_HOME",
        "CUDA_PATH",
        "CUDA_ROOT",
        "CUDAToolkit_ROOT",
        "CUDA_TOOLKIT_ROOT_DIR",
    ),
    "host-compiler": ("NVCC_CCBIN", "CUDAHOSTCXX", "CXX"),
    "jobs": ("MAX_JOBS",),
}
"""Variables of other tools that come before a key of the project, in their order."""

PAGE = Path("docs/reference/settings.md")
_TITLES: dict[ScopeName, str] = {
    "project": "The project",
    "extension": "Extensions",
    "library": "Libraries",
    "kernel-module": "Kernel modules",
    "override": "Overrides",
    "cmake": "CMake",
}
_INTRODUCTION = f"""\
# Settings

<!-- Made by `python -m setuptools_cuda.config.reference` from setuptools_cuda/config/model.py. Edit that. -->

All keys of `[{TABLE}]` in `pyproject.toml`, by table.

A key of the project can also be given from outside. The first of these decides:

1. the config setting `-C cuda.KEY=VALUE` of the front-end that builds (pip, build, uv), where the
   build backend is `setuptools_cuda.build_meta`;
2. the variable `SETUPTOOLS_CUDA_KEY`;
3. a variable of another tool, where there is one (`CUDAARCHS`, `CUDA_HOME`, ...); `FORCE_CUDA=1`
   means `required = true`;
4. the key in `pyproject.toml`;
5. the default.

In the table of the project's keys the last column has these in their order. A setting and our variable
replace what stands in `pyproject.toml`. A setting reaches us only through our backend: with plain
`setuptools.build_meta`, and for the commands of a `setup.py`, use the variable.

A list is given by repeating the setting, or with `;`, `,` or white space between its items. `flags`
is read as a shell would read it, and replaces `flags.cuda`; the other lists of `flags` stay as they are. An
empty value is no value.
An unknown setting that starts with `cuda.` is an error, an unknown variable that starts with
`SETUPTOOLS_CUDA_` a warning.

From Python (`setup.py`), the same words have `_` in place of `-`.
"""


def render_reference() -> str:
    """Return the page in Markdown."""
    parts = [
        _INTRODUCTION,
        *(_render_scope(scope) for scope in SCOPES),
        _render_placeholders(),
        _CONDITIONS,
        _GLOBS,
        _render_refused(),
    ]
    return "\n".join(parts)


def write_reference(root: Path) -> Path:
    """Write the page below the project's ``root``; return its path."""
    page = root / PAGE
    page.parent.mkdir(parents=True, exist_ok=True)
    page.write_text(render_reference(), encoding="utf-8")
    return page


def _render_scope(scope: Scope) -> str:
    columns = [
        "key",
        "type",
        "default",
        "meaning",
        *(["from outside, the first that is set"] if scope is PROJECT else []),
    ]
    rows = [columns, ["---"] * len(columns)]
    rows += [list(_cells(key, scope=scope)) for key in scope.keys.values() if key.available]
    return "\n".join(
        [f"## {_TITLES[scope.name]}: `{head_of(scope.name)}`", "", *(f"| {' | '.join(row)} |" for row in rows), ""]
    )


def _cells(key: Key, *, scope: Scope) -> Iterator[str]:
    yield f"`{key.name}`"
    yield _type(key)
    yield "required" if key.name == scope.required else _default(key)
    yield (key.doc + (f" ({key.since})" if key.since else "")).replace("*", r"\*")
    if scope is PROJECT:
        names = (f"-C {setting_name(key)}=", variable_name(key), *OTHER_VARIABLES.get(key.name, ()))
        yield ", ".join(f"`{name}`" for name in names)


def _type(key: Key) -> str:
    choices = ", ".join(f"`{choice}`" for choice in key.choices)
    words = {
        "text": "string",
        "switch": "boolean",
        "number": "whole number",
        "choice": f"one of {choices}" if len(key.choices) > 1 else choices,
        "texts": "list of strings, or one string with `;`, `,` or spaces" if key.separable else "list of strings",
        "choices": f"list of {choices}",
        "flags": "table of lists, or a list",
        "condition": "table",
        "cache-entries": "table of strings, numbers, booleans or lists of strings",
    }
    return words[key.kind]


def _default(key: Key) -> str:
    if key.default is None or key.default == "":
        return "not set"
    if isinstance(key.default, bool):
        return f"`{str(key.default).lower()}`"
    if key.default in ((), Flags(), CacheEntries()):
        return "empty"
    if isinstance(key.default, tuple):
        return "`[" + ", ".join(f'"{item}"' for item in key.default) + "]`"
    return f'`"{key.default}"`'


_CONDITIONS = """\
## Conditions: `if`

All words of an `if` table must hold.

| word | holds where |
|---|---|
| `platform-system` | the system has this name: `Linux`, `Windows`, `Darwin` (case does not matter) |
| `platform-machine` | the machine has this name: `x86_64`, `aarch64`, `AMD64` |
| `python-version` | the interpreter is within the specifier, as `">=3.12"`; major and minor are compared |
| `cuda` | the toolkit is within the specifier; `false`: there is no toolkit, `true`: there is one |
| `architectures` | the requested architectures hold this one (`"90a"`), or one within the bound (`"<80"`) |
| `env.NAME` | the variable has this value; `true`: it is set, and not to 0, false, off or no |
"""
_GLOBS = """\
## Globs

Patterns are relative to the folder of `pyproject.toml`, with `/` on every platform. `*`, `?` and
`[...]` stay within one name; `**` stands alone and goes through any number of folders. A wildcard
matches no name that starts with a dot, nor the project's `build` folder; `**` also passes over
virtual environments and does not follow links to folders. A pattern that is a file's name means
that file. A pattern without a match is an error; in `exclude` it is a warning.
"""


def _render_placeholders() -> str:
    rows = [f"| `{{{name}}}` | {meaning} |" for name, meaning in PLACEHOLDERS.items()]
    head = "## Placeholders in `cmake.define`\n\n| placeholder | stands for |\n|---|---|"
    return "\n".join([head, *rows, ""])


def _render_refused() -> str:
    if not NOT_IN_THIS_RELEASE:
        return ""
    rows = [f"| `{name}` | {', '.join(find_scopes(name))} | {fix} |" for name, fix in NOT_IN_THIS_RELEASE.items()]
    head = "## Not in this release\n\nThese keys are known, and refused.\n\n| key | table | instead |\n|---|---|---|"
    return "\n".join([head, *rows, ""])


if __name__ == "__main__":
    write_reference(Path(__file__).parents[2])
