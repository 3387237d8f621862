"""Keys that targets of all kinds have, and those of the project beneath them: seen in one wheel."""

from __future__ import annotations

import io
import re
from pathlib import Path

import pytest
from elftools.elf.elffile import ELFFile
from keys_support import (
    Wheel,
    answers,
    architectures,
    dynamic,
    exported_symbols,
    keys_installation,
    shows,
    wheel_once,
)
from keys_targets_support import FILES, KINDS, PROBES, SUFFIX
from setuptools_support import Installation


@pytest.fixture(scope="session")
def installation(shared_folder: Path, our_wheel: Path) -> Installation:
    return keys_installation(shared_folder, our_wheel)


@pytest.fixture(scope="session")
def wheel(installation: Installation, shared_folder: Path) -> Wheel:
    return wheel_once(installation, shared_folder / "keys-targets", FILES)


def shown(wheel: Wheel, kind: str, name: str) -> set[str]:
    """Return what the probes of a target say."""
    place = PROBES[kind].format(name)
    return wheel.shown(f"{place}{SUFFIX}" if kind == "extension" else place)


def values(found: set[str], *names: str) -> list[str]:
    """Return the value that each probe in ``names`` has, '' where the macro was not defined."""
    by_name = {name: one.removeprefix(f"{name}_") for name in names for one in found if one.startswith(f"{name}_")}
    return ["" if re.fullmatch("[A-Z_]+", by_name[name]) else by_name[name] for name in names]


every_kind = pytest.mark.parametrize("kind", KINDS)


@shows("extension.name", "library.name", "kernel-module.module", "library.install")
def test_targets_are_files_of_their_names(wheel: Wheel) -> None:
    assert {name.split(".")[0] for name in wheel.names("demo") if "/" not in name} == {
        *("__init__", "_chosen", "_newest", "_oldest", "_own", "_plain", "_rdc"),
        *("k_chosen", "k_newest", "k_own", "k_plain", "k_rdc"),
    }
    assert [name for name in wheel.names("demo/lib") if "/" not in name] == [
        "libchosen.a",
        "libnewest.a",
        "libown.so",
        "libplain.so",
    ]
    assert {str(one["target"]) for one in wheel.manifest.values()} >= {"demo._own", "demo.k_own", "own"}


@shows("project.std", "*.std")
@every_kind
def test_std_of_the_target_goes_before_that_of_the_project(wheel: Wheel, kind: str) -> None:
    assert values(shown(wheel, kind, "plain"), "std") == ["201703L"]
    assert values(shown(wheel, kind, "own"), "std") == ["202002L"]


@shows("project.std", "*.std")
@pytest.mark.parametrize("kind", ["extension", "library"])
def test_std_is_for_cxx_and_not_for_c(wheel: Wheel, kind: str) -> None:
    assert values(shown(wheel, kind, "own"), "cxx_std", "c_std") == ["202002L", "none"]


@shows("project.defines", "*.defines")
@every_kind
def test_defines_are_those_of_project_and_target(wheel: Wheel, kind: str) -> None:
    assert values(shown(wheel, kind, "plain"), "define_project", "define_target") == ["1", ""]
    assert values(shown(wheel, kind, "own"), "define_project", "define_target") == ["1", "1"]


@shows("extension.defines", "library.defines")
@pytest.mark.parametrize("kind", ["extension", "library"])
def test_defines_are_for_all_languages(wheel: Wheel, kind: str) -> None:
    assert values(shown(wheel, kind, "own"), "cxx_define", "c_define") == ["1", "1"]


@shows("project.include-dirs", "*.include-dirs")
@every_kind
def test_include_dirs_are_those_of_project_and_target(wheel: Wheel, kind: str) -> None:
    places = ("place_project", "place_target")
    assert values(shown(wheel, kind, "plain"), *places) == ["1", ""]
    assert values(shown(wheel, kind, "own"), *places) == ["1", kind.replace("-", "_")]


@shows("project.uses", "*.uses")
@every_kind
def test_uses_are_those_of_project_and_target(wheel: Wheel, kind: str) -> None:
    assert values(shown(wheel, kind, "plain"), "used_project", "used_target") == ["1", ""]
    assert values(shown(wheel, kind, "own"), "used_project", "used_target") == ["1", "1"]


@shows("*.link", "library.include-dirs")
@every_kind
def test_include_dirs_of_a_library_reach_what_links_it(wheel: Wheel, kind: str) -> None:
    assert values(shown(wheel, kind, "plain"), "place_linked") == [""]
    assert values(shown(wheel, kind, "own"), "place_linked") == ["1"]


@shows("*.link", "library.type", "library.defines", "library.flags")
@every_kind
def test_an_interface_is_headers_and_flags_of_what_links_it(wheel: Wheel, kind: str) -> None:
    assert values(shown(wheel, kind, "plain"), "define_linked", "flag_linked") == ["", ""]
    assert values(shown(wheel, kind, "own"), "define_linked", "flag_linked") == ["1", "1"]


@shows("project.flags", "*.flags")
@every_kind
def test_flags_for_cuda_are_those_of_project_and_target(wheel: Wheel, kind: str) -> None:
    assert values(shown(wheel, kind, "plain"), "flag_project", "flag_target") == ["1", ""]
    assert values(shown(wheel, kind, "own"), "flag_project", "flag_target") == ["1", "1"]


@shows("project.flags", "extension.flags", "library.flags")
@pytest.mark.parametrize("kind", ["extension", "library"])
def test_flags_go_to_the_tool_that_they_are_for(wheel: Wheel, kind: str) -> None:
    tools = ("cxx_project", "c_project", "cxx_target", "c_target")
    assert values(shown(wheel, kind, "plain"), *tools) == ["1", "1", "", ""]
    assert values(shown(wheel, kind, "own"), *tools) == ["1", "1", "1", "1"]


@shows("project.flags", "extension.flags", "library.flags")
@pytest.mark.parametrize("kind", ["extension", "library"])
def test_flags_for_the_linker_are_those_of_project_and_target(wheel: Wheel, kind: str) -> None:
    links = {"link_project", "link_target"}
    place = PROBES[kind] + (SUFFIX if kind == "extension" else "")
    assert links & exported_symbols(wheel.files[place.format("plain")]) == {"link_project"}
    assert links & exported_symbols(wheel.files[place.format("own")]) == links


@shows("*.sources", "*.exclude")
@every_kind
def test_sources_are_globs_and_exclude_takes_from_them(wheel: Wheel, kind: str) -> None:
    if kind == "kernel-module":
        images = wheel.names("demo/k_own_images")
        assert images == [
            f"src/{name}.{tag}" for name in ("more/in", "probe") for tag in ("compute_80.ptx", "sm_80.cubin")
        ]
    else:
        assert values(shown(wheel, kind, "own"), "more") == ["in"]
        assert "more_out" not in shown(wheel, kind, "own")


@shows("project.architectures", "*.architectures")
def test_architectures_of_a_target_choose_code_for_those_of_the_project(wheel: Wheel) -> None:
    assert architectures(wheel.module("_plain")) == architectures(wheel.files["demo/lib/libplain.so"])
    assert architectures(wheel.module("_plain")) == {"sm_80", "compute_80"}
    assert architectures(wheel.module("_chosen")) == {"compute_75"}
    assert architectures(wheel.files["demo/lib/libchosen.a"]) == {"compute_75"}
    assert wheel.names("demo/k_chosen_images") == ["src/arch.compute_75.ptx"]


@shows("*.max-architecture")
def test_max_architecture_leaves_ptx_of_the_newest_within_it(wheel: Wheel) -> None:
    assert architectures(wheel.module("_newest")) == {"compute_75"}
    assert architectures(wheel.files["demo/lib/libnewest.a"]) == {"compute_75"}
    assert wheel.names("demo/k_newest_images") == ["src/arch.compute_75.ptx"]


@shows("*.min-architecture", "*.when-empty")
def test_a_source_with_nothing_above_min_architecture_is_skipped_where_when_empty_says_so(wheel: Wheel) -> None:
    assert wheel.has_module("_oldest")
    assert architectures(wheel.module("_oldest")) == set()
    assert not [name for name in wheel.files if "liboldest" in name or "k_oldest" in name]
    for title in ("demo._oldest", "oldest", "demo.k_oldest"):
        assert f"note: {title}: src/arch.cu is skipped: " in wheel.said


@shows("extension.rdc", "library.rdc", "extension.link")
def test_relocatable_device_code_of_a_library_is_linked_into_the_extension(
    wheel: Wheel, installation: Installation
) -> None:
    # Without a device link the import fails: a registration function is undefined.
    assert answers(installation, wheel, "_rdc")["_rdc"] in {7, 8}
    assert wheel.manifest[f"demo/_rdc{SUFFIX}"]["rdc"] is True
    assert "link device code of demo._rdc" in wheel.said


@shows("kernel-module.rdc")
def test_images_of_a_kernel_module_can_be_loaded_whatever_rdc_says(wheel: Wheel) -> None:
    cubin = wheel.files["demo/k_rdc_images/rdc/parts.sm_80.cubin"]
    assert ELFFile(io.BytesIO(cubin)).header.e_type == "ET_EXEC"
    assert "note: demo.k_rdc: rdc changes nothing" in wheel.said


@shows("project.cudart", "extension.cudart", "library.cudart")
def test_cudart_of_the_target_goes_before_that_of_the_project(wheel: Wheel, installation: Installation) -> None:
    runtime = "libcudart.so.13"
    for shared, static in [
        (wheel.module("_plain"), wheel.module("_own")),
        (wheel.files["demo/lib/libplain.so"], wheel.files["demo/lib/libown.so"]),
    ]:
        assert runtime in dynamic(shared, "needed")
        assert [path for path in dynamic(shared, "runpath") if path.endswith("/nvidia/cu13/lib")]
        assert runtime not in dynamic(static, "needed")
    assert answers(installation, wheel, "_own") == {"_own": 1}
    assert "nvidia-cuda-runtime==13.*" in wheel.said


@shows("kernel-module.cudart")
def test_cudart_changes_nothing_of_a_kernel_module(wheel: Wheel) -> None:
    images = [one for path, one in wheel.manifest.items() if path.startswith("demo/k_own_images")]
    assert len(images) == 4
    assert {one["cudart"] for one in images} == {None}
