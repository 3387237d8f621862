from __future__ import annotations

from pathlib import Path
from typing import Any

import jsonschema
import pytest
from config_support import load, write_files
from test_config_checks import BAD, GOOD
from validate_pyproject.api import Validator
from validate_pyproject.errors import ValidationError
from validate_pyproject.plugins import PluginWrapper

from setuptools_cuda.config.keys import ARRAYS, NOT_IN_THIS_RELEASE, SCOPES, TABLES
from setuptools_cuda.config.schema import render_schema, tool_schema
from setuptools_cuda.errors import BuildError

Table = dict[str, Any]
SCHEMA = render_schema()
DRAFT7 = jsonschema.Draft7Validator(SCHEMA)
VALIDATE_PYPROJECT = Validator(plugins=[PluginWrapper("setuptools-cuda", tool_schema)])


def extension(**words: Any) -> Table:
    return {"extension": [{"name": "demo.x", "sources": ["a.cu"], **words}]}


def library(**words: Any) -> Table:
    return {"library": [{"name": "x", "sources": ["a.cu"], **words}]}


def module(**words: Any) -> Table:
    return {"kernel-module": [{"module": "demo.k", "sources": ["a.cu"], **words}]}


def override(**words: Any) -> Table:
    return {**extension(), "override": [words]}


GOOD_TABLES: list[Table] = [
    {},
    {"cuda": ">=12.4,<14", "architectures": "80;90a", "std": "c++17", "jobs": 3, "required": False},
    {"architectures": ["80", "9.0a", "8.0+PTX", "native", "80;90"], "unsupported-architectures": "drop"},
    {"flags": ["-lineinfo", "-I/opt/research/include"], "defines": ["A", "B=1"], "include-dirs": ["/opt/x", "inc"]},
    {"flags": {"cuda": ["-O3"], "cxx": ["-O2"], "c": [], "link": ["-s"]}, "cudart": "none", "compress": "size"},
    {"cache": "off"},
    {"nvcc": "/opt/my cuda/bin/nvcc", "host-compiler": "g++-12", "launcher": "ccache", "profile": "dev"},
    {"toolchain-steps": ["path", "wheel"], "architecture-steps": [], "uses": ["numpy"], "device-compiler": "nvrtc"},
    extension(),
    extension(**{"limited-api": "cp311", "language": "c++", "optional": True, "priority": -1, "memory": "3 GiB"}),
    extension(**{"exclude": ["old/*.cu"], "min-architecture": "sm_80", "max-architecture": "9.0", "rdc": True}),
    library(type="shared", install="demo/lib", headers=["a.cu"]),
    library(type="interface", sources=[]),
    module(formats=["cubin", "ptx", "fatbin", "ltoir"], serves=["75", "12.0"], driver="13.0"),
    module(instantiate=["f<1>"], **{"device-link": "build", "device-compiler": "nvvm"}),
    override(match="*.cu", memory="512 MiB", architectures="90a", **{"when-empty": "skip"}),
    override(target="demo.x", **{"if": {"platform-system": "Linux", "cuda": False, "python-version": ">=3.11"}}),
    override(**{"if": {"architectures": "<80", "cuda": ">=12", "env.CI": True, "env": {"A": "b"}}}),
    {"cmake": {}},
    {"cmake": {"define": {"A": "{architectures:torch}", "B": True, "C": 3, "D": ["x", "y"], "E": ""}}},
    {"cmake": {"define": {"A": '${B} $ENV{HOME} {"json": 1}'}, "link": ["CUDA::cublas"]}},
]
BAD_TABLES: list[Table] = [
    {"stdd": "c++17"},
    {"rdc": True},
    {"cuda": "12.4"},
    {"cuda": 12.4},
    {"architectures": []},
    {"architectures": 80},
    {"architectures": [80]},
    {"architectures": "80;x"},
    {"std": "gnu++17"},
    {"std": ""},
    {"nvcc": "a\nb"},
    {"nvcc": " "},
    {"flags": "-O3"},
    {"flags": {"cudaa": []}},
    {"flags": {"cuda": "-O3"}},
    {"defines": ["-DA"]},
    {"include-dirs": "inc"},
    {"cudart": "dynamic"},
    {"jobs": 0},
    {"jobs": "4"},
    {"required": "yes"},
    {"report": 3},
    {"cmake": []},
    {"cmake": {"defines": {}}},
    {"cmake": {"define": ["A=1"]}},
    {"cmake": {"define": {"A": 1.5}}},
    {"cmake": {"define": {"A B": "1"}}},
    {"cmake": {"define": {"A": "x\ny"}}},
    {"cmake": {"define": {"A": [1]}}},
    {"cmake": {"link": ["cublas"]}},
    {"extension": {}},
    {"extension": [3]},
    {"extension": [{}]},
    extension(name="demo.my-x"),
    extension(name=3),
    extension(sources="a.cu"),
    extension(sources=["/etc/a.cu"]),
    extension(sources=["../a.cu"]),
    extension(module="x"),
    extension(language="fortran"),
    extension(**{"limited-api": "3.11"}),
    extension(priority=True),
    extension(memory="3 G"),
    library(name="a/b"),
    library(type="dynamic"),
    library(install="/lib"),
    {"library": [{"sources": ["a.cu"]}]},
    module(formats=[]),
    module(formats="ptx"),
    module(formats=["sass"]),
    module(serves=["sm_75"]),
    module(driver="13"),
    module(instantiate="f<1>"),
    module(**{"device-link": "load"}),
    override(match="/a.cu"),
    override(**{"max-architecture": "all"}),
    override(**{"if": []}),
    override(**{"if": {"platform": "x"}}),
    override(**{"if": {"cuda": 12}}),
    override(**{"if": {"cuda": "12"}}),
    override(**{"if": {"architectures": "new"}}),
    override(**{"if": {"env": {"A": 1}}}),
    override(**{"if": {"env.A": 1}}),
]


def schema_accepts(table: Table) -> bool:
    accepted = DRAFT7.is_valid(table)
    try:
        VALIDATE_PYPROJECT({"tool": {"setuptools-cuda": table}})
    except ValidationError:
        assert not accepted
        return False
    assert accepted
    return True


def loader_accepts(table: Table, *, root: Path) -> bool:
    try:
        load(table, root=write_files(root, "a.cu"))
    except BuildError:
        return False
    return True


def test_the_schema_is_a_schema() -> None:
    jsonschema.Draft7Validator.check_schema(SCHEMA)
    assert SCHEMA["$schema"] == "http://json-schema.org/draft-07/schema#"


@pytest.mark.parametrize("table", GOOD_TABLES, ids=repr)
def test_schema_and_loader_accept(table: Table, tmp_path: Path) -> None:
    assert loader_accepts(table, root=tmp_path)
    assert schema_accepts(table)


@pytest.mark.parametrize("table", BAD_TABLES, ids=repr)
def test_schema_and_loader_refuse(table: Table, tmp_path: Path) -> None:
    assert not loader_accepts(table, root=tmp_path)
    assert not schema_accepts(table)


def schema_of(scope: str) -> Any:
    table = SCHEMA if scope == "project" else SCHEMA["properties"][scope]
    return table["items"] if table["type"] == "array" else table


def test_the_schema_has_every_key_that_is_acted_on() -> None:
    for scope in SCOPES:
        table = schema_of(scope.name)
        others = {other.name for other in (*ARRAYS, *TABLES)} if scope.name == "project" else set()
        assert set(table["properties"]) == (set(scope.keys) - set(NOT_IN_THIS_RELEASE)) | others
        assert table["additionalProperties"] is False


CHECKED = [(scope.name, key) for scope in SCOPES for key in scope.keys.values() if key.check in GOOD]


@pytest.mark.parametrize(("scope", "key"), CHECKED, ids=[f"{scope}.{key.name}" for scope, key in CHECKED])
def test_the_patterns_let_every_good_value_through(scope: str, key: Any) -> None:
    table = schema_of(scope)
    validator = jsonschema.Draft7Validator(table["properties"][key.name])
    for text in GOOD[key.check]:
        assert validator.is_valid([text] if key.kind == "texts" else text), text


# What a regular expression cannot tell; the loader does.
BEYOND_THE_SCHEMA = {
    "module": {"class", "a.import", "1a"},
    "glob": {"src/**.cu", "a**b/c", ".", "./"},
    "library-name": {"x.a", "libx.so"},
    "memory": {"0", "0 GiB"},
    "specifier": {">=", ">=12.4 <13", "==13.0.88", ">=12.4,!=13.0.2"},
}


@pytest.mark.parametrize(("scope", "key"), CHECKED, ids=[f"{scope}.{key.name}" for scope, key in CHECKED])
def test_the_patterns_stop_bad_values(scope: str, key: Any) -> None:
    table = schema_of(scope)
    validator = jsonschema.Draft7Validator(table["properties"][key.name])
    passed = {text for text in BAD[key.check] if validator.is_valid([text] if key.kind == "texts" else text)}
    assert passed == set(BAD[key.check]) & BEYOND_THE_SCHEMA.get(key.check, set())


def test_the_schema_of_another_tool_is_refused() -> None:
    with pytest.raises(ValueError, match="not of 'other'"):
        tool_schema("other")
