from __future__ import annotations

import importlib.resources
import json
import re
from dataclasses import replace
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from setuptools_cuda.errors import BuildError
from setuptools_cuda.plan.values import Artifact, BuildPlan
from setuptools_cuda.resolution.manifest import NewerManifestError, parse_manifest
from setuptools_cuda.resolution.values import Code
from setuptools_cuda.stage.manifest import merge_manifests, render_manifest
from tests.kernels_support import architecture, plan_module, read_facts, write_images

REFERENCE = Path(__file__).resolve().parent.parent / "docs/reference/manifest.md"
FACTS = {
    "toolkit": {"release": "13.0", "version": "13.0.88"},
    "host_compiler": {"family": "gcc", "version": "12.2"},
    "architectures": ["80", "90a-real"],
}
CODES = (
    Code(architecture("80"), real=True, virtual=False),
    Code(architecture("90"), real=True, virtual=True),
)


def schema() -> dict[str, Any]:
    text = importlib.resources.files("setuptools_cuda.stage").joinpath("manifest.schema.json").read_text("utf-8")
    found: dict[str, Any] = json.loads(text)
    return found


def make(tmp_path: Path, facts: dict[str, object] | None = None) -> tuple[BuildPlan, dict[str, Path]]:
    """Return a plan with an artifact of each kind, and its files."""
    module = plan_module("sm_90a", "compute_80", "fatbin-compressed sm_80 compute_80", "lto_80")
    files = write_images(module, root=tmp_path)
    others = (
        Artifact("library", "ops", "libops.a", "demo/lib/libops.a", codes=CODES, rdc=True),
        Artifact("extension", "demo._native", "n.so", "demo/_native.so", codes=CODES, cudart="static", compressed=True),
        Artifact("header", "ops", "", "demo/include/ops.h", source="src/ops.h"),
        Artifact("extension", "demo._plain", "p.so", "demo/_plain.so", cudart="none"),
    )
    for artifact in others:
        path = tmp_path / artifact.destination
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(artifact.destination.encode())
        files[artifact.destination] = path
    images = tuple(image for file in module.files for image in file.images)
    plan = BuildPlan(artifacts=(*others, *images), kernel_modules=(module,), facts=facts or FACTS)
    return plan, files


def render(tmp_path: Path, facts: dict[str, object] | None = None) -> str:
    plan, files = make(tmp_path, facts)
    return render_manifest(plan, files=files, ptx=read_facts(plan.kernel_modules[0]))


def by_path(text: str) -> dict[str, dict[str, Any]]:
    return {artifact["path"]: artifact for artifact in json.loads(text)["artifacts"]}


def test_it_follows_its_schema(tmp_path: Path) -> None:
    jsonschema.Draft202012Validator.check_schema(schema())
    jsonschema.validate(json.loads(render(tmp_path)), schema())
    jsonschema.validate(json.loads(render_manifest(BuildPlan(facts={"toolkit": None}), files={}, ptx={})), schema())


@pytest.mark.parametrize(
    "change",
    [
        {"schema": 2},
        {"artifacts": [{}]},
        {"toolkit": {"release": "13", "version": ""}},
        {"user": "me"},
    ],
)
def test_the_schema_refuses_what_is_wrong(change: dict[str, object], tmp_path: Path) -> None:
    with pytest.raises(jsonschema.ValidationError):
        jsonschema.validate({**json.loads(render(tmp_path)), **change}, schema())


def test_an_extension_and_a_library(tmp_path: Path) -> None:
    found = by_path(render(tmp_path))
    assert found["demo/_native.so"] == {
        "path": "demo/_native.so",
        "kind": "extension",
        "target": "demo._native",
        "source": None,
        "format": None,
        "architectures": {"real": ["sm_80", "sm_90"], "virtual": ["compute_90"]},
        "ptx_isa": "9.0",
        "drivers": {"sm_80": "13.0", "sm_90": "13.0", "compute_90": "13.0"},
        "least_driver": "13.0",
        "compressed": True,
        "size": 15,
        "rdc": False,
        "cudart": "static",
    }
    assert found["demo/lib/libops.a"]["rdc"] is True
    assert found["demo/lib/libops.a"]["cudart"] is None


@pytest.mark.parametrize("path", ["demo/_plain.so", "demo/include/ops.h"])
def test_what_has_no_device_code_needs_no_driver(path: str, tmp_path: Path) -> None:
    found = by_path(render(tmp_path))[path]
    assert (found["least_driver"], found["ptx_isa"], found["drivers"]) == (None, None, {})
    assert found["architectures"] == {"real": [], "virtual": []}


def test_images(tmp_path: Path) -> None:
    found = by_path(render(tmp_path))
    folder = "demo/kernels_images/k"
    assert found[f"{folder}/a.sm_90a.cubin"]["architectures"] == {"real": ["sm_90a"], "virtual": []}
    assert found[f"{folder}/a.compute_80.ptx"]["architectures"] == {"real": [], "virtual": ["compute_80"]}
    assert found[f"{folder}/a.compute_80.ptx"]["ptx_isa"] == "9.0"
    assert found[f"{folder}/a.ltoir"]["architectures"] == {"real": [], "virtual": ["lto_80"]}
    assert found[f"{folder}/a.fatbin"]["source"] == "k/a.cu"
    assert found[f"{folder}/a.fatbin"]["compressed"] is True


@pytest.mark.parametrize(
    ("release", "compressed", "least", "ptx"),
    [
        ("12.0", False, "12.0", "8.0"),
        ("12.0", True, "12.4", "8.0"),
        ("12.6", False, "12.0", "8.5"),
        ("13.5", True, "13.0", "9.5"),
    ],
)
def test_compression_counts(release: str, compressed: bool, least: str, ptx: str, tmp_path: Path) -> None:
    plan, files = make(tmp_path, {**FACTS, "toolkit": {"release": release, "version": f"{release}.1"}})
    extension = next(artifact for artifact in plan.artifacts if artifact.target == "demo._native")
    plan = replace(plan, artifacts=(replace(extension, compressed=compressed),), kernel_modules=())
    found = by_path(render_manifest(plan, files=files, ptx={}))["demo/_native.so"]
    assert (found["least_driver"], found["ptx_isa"]) == (least, ptx)


def test_kernel_modules(tmp_path: Path) -> None:
    (module,) = json.loads(render(tmp_path))["kernel_modules"]
    (source,) = module["sources"]
    assert (module["module"], module["path"], source["source"], source["attribute"]) == (
        "demo.kernels",
        "demo/kernels.py",
        "k/a.cu",
        "a",
    )
    assert len(source["images"]) == 4
    assert source["kernels"][-1] == {
        "name": "_ZN2ns5helloEi",
        "demangled": "ns::hello(int)",
        "parameters": [{"type": "u32", "size": 4, "alignment": 4}],
    }


def test_the_same_build_gives_the_same_text_anywhere(tmp_path: Path) -> None:
    one, two = render(tmp_path / "one"), render(tmp_path / "another folder")
    assert one == two
    assert str(tmp_path) not in one
    plan, files = make(tmp_path / "one")
    turned = replace(
        plan, artifacts=plan.artifacts[::-1], parallel=64, toolchain_identity="x", summary="/root", notes=("now",)
    )
    assert render_manifest(turned, files=files, ptx=read_facts(plan.kernel_modules[0])) == one


def test_keys_are_sorted_and_the_last_line_ends(tmp_path: Path) -> None:
    text = render(tmp_path)
    assert text.endswith("}\n")
    assert text.isascii()
    assert text == json.dumps(json.loads(text), indent=2, sort_keys=True) + "\n"


def properties(part: object) -> set[str]:
    if isinstance(part, list):
        return {name for item in part for name in properties(item)}
    if not isinstance(part, dict):
        return set()
    own = set(part["properties"]) if isinstance(part.get("properties"), dict) else set()
    return own | {name for value in part.values() for name in properties(value)}


def test_the_reference_has_every_key_and_no_other() -> None:
    rows = re.findall(r"^\| `([a-z_]+)` \|", REFERENCE.read_text("utf-8"), re.MULTILINE)
    assert set(rows) == properties(schema())


def test_manifests_of_one_wheel_become_one(tmp_path: Path) -> None:
    """One alone stays as it is, and of two each keeps its own, in order."""
    text = render(tmp_path)
    assert merge_manifests({"a": text}) == text
    empty = {**json.loads(text), "toolkit": None, "host_compiler": None, "architectures": []}
    parts = [{**empty, key: json.loads(text)[key]} for key in ("artifacts", "libraries", "kernel_modules")]
    for number, part in enumerate(parts):
        kept = ("artifacts", "libraries", "kernel_modules")[number]
        part.update({key: [] for key in ("artifacts", "libraries", "kernel_modules") if key != kept})
    parts[1] |= {key: FACTS[key] for key in FACTS}
    merged = merge_manifests({str(number): json.dumps(part) for number, part in enumerate(parts)})
    assert json.loads(merged) == json.loads(text)


def test_two_toolkits_in_one_wheel_are_refused(tmp_path: Path) -> None:
    text = render(tmp_path)
    other = text.replace("13.0.88", "13.5.37")
    with pytest.raises(BuildError, match="differ in their toolkit"):
        merge_manifests({"a": text, "b": other})


@pytest.mark.parametrize("text", ["no json", '{"schema": 1}'])
def test_what_is_no_manifest_is_not_merged(text: str, tmp_path: Path) -> None:
    with pytest.raises(BuildError, match="b: it is no manifest"):
        merge_manifests({"a": render(tmp_path), "b": text})


def test_what_is_written_is_read(tmp_path: Path) -> None:
    text = render(tmp_path)
    assert parse_manifest(text) == json.loads(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("[]", "does not say the number of its schema"),
        ('{"schema": true, "artifacts": []}', "does not say the number of its schema"),
        ('{"schema": Infinity, "artifacts": []}', "does not say the number of its schema"),
        ('{"schema": 0, "artifacts": []}', "does not say the number of its schema"),
        pytest.param("[" * 100_000, "nested too deeply", id="deep"),
        ('{"schema": 1}', "it has no artifacts"),
        ('{"schema": 1, "artifacts": null}', "its artifacts is not what it has to be"),
        ('{"schema": 1, "artifacts": ["a"]}', "its artifacts is not what it has to be"),
        ('{"schema": 1, "artifacts": [{}]}', r"it has no artifacts\[0\]\.path"),
        ('{"schema": 1, "artifacts": [], "libraries": null}', "its libraries is not what it has to be"),
        ('{"schema": 1, "artifacts": [], "toolkit": {"release": "13.0"}}', r"it has no toolkit\.version"),
        ('{"schema": 1, "artifacts": [], "toolkit": {"release": "new", "version": "13.0"}}', r"its toolkit\.release"),
    ],
)
def test_what_is_no_manifest_is_not_read(text: str, said: str) -> None:
    with pytest.raises(ValueError, match=said) as caught:
        parse_manifest(text)
    assert not isinstance(caught.value, NewerManifestError)


def test_a_newer_manifest_is_said_to_be_one() -> None:
    with pytest.raises(NewerManifestError, match="its schema is 99, and this release reads 1"):
        parse_manifest('{"schema": 99}')
