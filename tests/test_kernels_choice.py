"""Which image is chosen for which GPU and driver: a table of cases, and what is said where there is none."""

from __future__ import annotations

import sys
import types
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from setuptools_cuda.resolution.catalogue import CATALOGUE, ReleaseFacts
from setuptools_cuda.resolution.values import Release
from setuptools_cuda.stage.drivers import FIRST_RELEASES, gpu_driver, machine_code_driver, ptx_driver, toolkit_isa
from setuptools_cuda.stage.kernel_runtime import Code, Image, KernelImages, Kernels, NoImageError, parse_version
from tests.kernels_support import PTX, architecture, images_of, plan_module


def held(*words: str, tmp_path: Path, toolkit: str = "13.0", isa: str = "9.0") -> KernelImages:
    return images_of(plan_module(*words), root=tmp_path, toolkit=toolkit, isa=isa)["k/a.cu"]


# held, compute capability, driver, the architecture chosen (None: there is none)
CASES = [
    # machine code of the GPU's own number
    ("sm_80 sm_90 compute_90", (9, 0), None, "sm_90"),
    ("sm_80 sm_90 compute_90", (9, 0), "13.0", "sm_90"),
    ("sm_90 sm_90a compute_90a", (9, 0), None, "sm_90a"),
    ("sm_100 sm_100f", (10, 0), None, "sm_100f"),
    ("sm_100f sm_100a", (10, 0), None, "sm_100a"),
    # else of the same major number, not newer
    ("sm_80 sm_86 compute_86", (8, 9), None, "sm_86"),
    ("sm_80 sm_89 compute_75", (8, 6), None, "sm_80"),
    ("sm_75 sm_80", (7, 5), None, "sm_75"),
    ("sm_100f", (10, 3), None, "sm_100f"),
    ("sm_100 sm_103f", (10, 0), None, "sm_100"),
    ("sm_120f compute_90", (12, 1), None, "sm_120f"),
    # 'a' serves its own number and nothing else
    ("sm_100a", (10, 3), None, None),
    ("sm_90a", (10, 0), None, None),
    ("sm_100a compute_100", (10, 3), None, "compute_100"),
    ("compute_90a", (10, 0), None, None),
    ("compute_90a", (9, 0), None, "compute_90a"),
    ("compute_90 compute_90a", (9, 0), None, "compute_90a"),
    # 'f' PTX stays within its family
    ("compute_100f", (10, 3), None, "compute_100f"),
    ("compute_100f", (12, 0), None, None),
    ("compute_103f", (10, 0), None, None),
    # else PTX, also across majors, the newest that is not newer than the GPU
    ("sm_80 compute_75 compute_80 compute_120", (9, 0), None, "compute_80"),
    ("sm_90 compute_90", (12, 0), None, "compute_90"),
    ("sm_90 compute_90", (8, 0), None, None),
    ("sm_86", (8, 0), None, None),
    # drivers
    ("sm_80 compute_80", (8, 0), (12, 9), None),
    ("compute_80", (8, 0), "13.0", "compute_80"),
    ("compute_80", (8, 0), 13010, "compute_80"),
    ("compute_80", (8, 0), 12090, None),
    # fatbins count as what is in them; a plain file of the same code comes first
    ("fatbin sm_80 sm_90 compute_90", (9, 0), None, "sm_80 sm_90 compute_90"),
    ("fatbin sm_80 sm_90 compute_90", (12, 0), None, "sm_80 sm_90 compute_90"),
    ("fatbin sm_80 sm_90 compute_90", (7, 5), None, None),
    # LTO-IR is never chosen
    ("lto_80", (8, 0), None, None),
]


def words_of(line: str) -> tuple[str, ...]:
    return (line,) if line.startswith("fatbin") else tuple(line.split())


@pytest.mark.parametrize(("line", "capability", "driver", "expected"), CASES)
def test_the_choice(
    line: str,
    capability: tuple[int, int],
    driver: tuple[int, int] | int | str | None,
    expected: str | None,
    tmp_path: Path,
) -> None:
    images = held(*words_of(line), tmp_path=tmp_path)
    try:
        chosen = images.image_for(capability, driver).architecture
    except NoImageError:
        chosen = None
    assert chosen == expected


@pytest.mark.parametrize("order", [slice(None), slice(None, None, -1)])
def test_plain_files_come_before_fatbins_and_machine_code_before_ptx(order: slice, tmp_path: Path) -> None:
    words = ["fatbin sm_80 sm_90 compute_80", "sm_90", "compute_120"]
    images = held(*words[order], tmp_path=tmp_path)
    assert images.image_for(90).format == "cubin"
    assert images.image_for(80).format == "fatbin"
    assert images.image_for(120).format == "ptx"
    assert images.image_for(100).format == "fatbin"


def test_the_order_of_images_decides_nothing(tmp_path: Path) -> None:
    words = ["sm_80", "sm_86", "compute_75", "compute_80"]
    expected = {86: "sm_86", 89: "sm_86", 80: "sm_80", 75: "compute_75", 90: "compute_80"}
    for turn in range(4):
        images = held(*words[turn:], *words[:turn], tmp_path=tmp_path)
        assert {number: images.image_for(number).architecture for number in expected} == expected


# toolkit, ISA of its PTX, image, the least driver
DRIVERS = [
    ("11.8", "7.8", "sm_80", (11, 0)),
    ("11.8", "7.8", "sm_90", (11, 8)),
    ("11.8", "7.8", "compute_80", (11, 8)),
    ("12.4", "8.4", "sm_90", (12, 0)),
    ("12.4", "8.4", "compute_90", (12, 4)),
    ("12.9", "8.8", "sm_120", (12, 8)),
    ("12.9", "8.8", "sm_121", (12, 9)),
    ("12.9", "8.8", "sm_100f", (12, 9)),
    ("12.8", "8.7", "compute_100", (12, 8)),
    ("13.5", "9.5", "sm_75", (13, 0)),
    ("13.5", "9.5", "sm_107", (13, 4)),
    ("13.5", "9.5", "compute_75", (13, 5)),
    ("12.0", "8.0", "fatbin sm_80 compute_80", (12, 0)),
    ("12.0", "8.0", "fatbin-compressed sm_80 compute_80", (12, 4)),
    ("13.0", "8.5", "compute_80", (12, 5)),
]


@pytest.mark.parametrize(("toolkit", "isa", "word", "driver"), DRIVERS)
def test_the_least_driver(toolkit: str, isa: str, word: str, driver: tuple[int, int], tmp_path: Path) -> None:
    (image,) = held(word, tmp_path=tmp_path, toolkit=toolkit, isa=isa).images
    assert image.driver == driver


def test_ptx_and_machine_code_of_a_newer_toolkit_than_the_driver(tmp_path: Path) -> None:
    images = held("sm_90", "compute_90", tmp_path=tmp_path, toolkit="13.5", isa="9.5")
    assert images.image_for(90, "13.0").architecture == "sm_90"
    with pytest.raises(NoImageError):
        images.image_for(120, "13.0")
    assert images.image_for(120, "13.5").architecture == "compute_90"


@pytest.mark.parametrize("capability", [(9, 0), 90, "9.0", "90"])
@pytest.mark.parametrize("driver", [(13, 0), 13000, "13.0", "13000"])
def test_spellings(
    capability: tuple[int, int] | int | str, driver: tuple[int, int] | int | str, tmp_path: Path
) -> None:
    images = held("sm_90", tmp_path=tmp_path)
    assert images.image_for(capability, driver).architecture == "sm_90"


@pytest.mark.parametrize(("value", "expected"), [(120, (12, 0)), ("12.1", (12, 1)), ("103", (10, 3)), ((7, 5), (7, 5))])
def test_compute_capabilities(value: tuple[int, int] | int | str, expected: tuple[int, int]) -> None:
    assert parse_version(value, whole=10, part=1, example="") == expected


@pytest.mark.parametrize(
    ("value", "expected"), [(12080, (12, 8)), ("12.8", (12, 8)), (13000, (13, 0)), (11080, (11, 8))]
)
def test_driver_versions(value: int | str, expected: tuple[int, int]) -> None:
    assert parse_version(value, whole=1000, part=10, example="") == expected


@pytest.mark.parametrize(
    "value",
    [9, "9", "sm_90", "9.0a", "90a", "", "9.", ".0", "-9.0", "\u0669.\u0660", (9,), (9, 0, 0), ("9", "0"), 9.0, None],
)
def test_what_is_no_compute_capability(value: object, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"is no version such as \(9, 0\), 90 or"):
        held("sm_90", tmp_path=tmp_path).image_for(value)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", ["580.65", (580, 65), 580065])
def test_the_number_of_a_driver_release_is_no_cuda_version(value: object, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"is no CUDA version such as 13\.0; is it that of the driver's release"):
        held("sm_90", tmp_path=tmp_path).image_for(90, value)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [13, 580, "580.65.06", "13", 13.0])
def test_what_is_no_driver_version(value: object, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"is no version such as \(13, 0\), 13000 or"):
        held("sm_90", tmp_path=tmp_path).image_for(90, value)  # type: ignore[arg-type]


def message(images: KernelImages, capability: tuple[int, int], driver: str | None = None) -> str:
    with pytest.raises(NoImageError) as caught:
        images.image_for(capability, driver)
    return str(caught.value)


def test_the_message_for_an_old_driver(tmp_path: Path) -> None:
    images = held("sm_90", "compute_90", tmp_path=tmp_path, toolkit="13.5", isa="9.5")
    assert message(images, (12, 0), "13.0") == (
        "no image of k/a.cu runs on a GPU of compute capability 12.0 with a driver for CUDA 13.0\n"
        "  held   cubin sm_90, which needs a driver for CUDA 13.0 or newer\n"
        "  held   ptx compute_90, which needs a driver for CUDA 13.5 or newer\n"
        "  helps  a driver for CUDA 13.5 or newer\n"
        "  helps  a build by a toolkit that is no newer than CUDA 13.0"
    )


def test_the_message_for_a_gpu_that_is_not_served(tmp_path: Path) -> None:
    assert message(held("sm_90", tmp_path=tmp_path), (12, 0)) == (
        "no image of k/a.cu runs on a GPU of compute capability 12.0\n"
        "  held   cubin sm_90, which needs a driver for CUDA 13.0 or newer\n"
        "  helps  a build that has 120 among its architectures\n"
        '  helps  a build that has "ptx" among its formats, for GPUs newer than its architectures'
    )


def test_the_message_of_lto_ir_and_of_nothing(tmp_path: Path) -> None:
    assert "a link of the LTO-IR for that GPU" in message(held("lto_80", tmp_path=tmp_path), (8, 0))
    assert "  held   nothing\n" in message(KernelImages("k.cu", kernels=Kernels()), (8, 0))


@pytest.mark.parametrize(
    ("words", "file"),
    [
        (("compute_80",), "a.compute_80.ptx"),
        (("compute_90", "compute_80", "sm_75"), "a.compute_80.ptx"),
        (("compute_75a", "compute_90", "compute_75f"), "a.compute_90.ptx"),
        (("compute_90a", "compute_100f"), "a.compute_100f.ptx"),
    ],
)
def test_the_ptx_is_the_one_that_most_gpus_run(words: tuple[str, ...], file: str, tmp_path: Path) -> None:
    images = held(*words, tmp_path=tmp_path)
    chosen = next(image for image in images.images if image.path.name == file)
    chosen.path.write_text("this one")
    assert images.ptx == "this one"


def test_without_ptx_the_text_is_an_error_that_says_so(tmp_path: Path) -> None:
    with pytest.raises(NoImageError, match=r'(?s)no PTX image of k/a.cu.*"ptx" among the formats'):
        _ = held("sm_80", "fatbin sm_80 compute_80", tmp_path=tmp_path).ptx


numbers = st.sampled_from([75, 80, 86, 89, 90, 100, 103, 120, 121])
codes = st.tuples(st.sampled_from(["sm", "compute"]), numbers, st.sampled_from(["", "a", "f"]))


@given(st.lists(codes, unique=True, max_size=8), numbers, st.sampled_from([None, (12, 9), (13, 0)]))
def test_what_is_chosen_serves_and_nothing_better_is_held(
    held_codes: list[tuple[str, int, str]], gpu: int, driver: tuple[int, int] | None
) -> None:
    images = [
        Image(name, Code(name, driver=(12 + number % 2, 9 * (1 - number % 2))), image_format=kind, isa=None, size=1)
        for kind, number, variant in held_codes
        for name in [f"{kind}_{number}{variant}"]
    ]
    able = [
        image
        for image, (kind, number, variant) in zip(images, held_codes, strict=True)
        if (driver is None or image.driver <= driver)
        and (
            number == gpu
            if variant == "a"
            else number <= gpu and (number // 10 == gpu // 10 or (kind, variant) == ("compute", ""))
        )
    ]
    collection = KernelImages("k.cu", *images, kernels=Kernels())
    try:
        chosen = collection.image_for(gpu, driver)
    except NoImageError:
        assert not able
    else:
        assert chosen.codes[0].rank == max(image.codes[0].rank for image in able)


@pytest.mark.parametrize("facts", CATALOGUE, ids=lambda facts: str(facts.release))
def test_drivers_agree_with_the_catalogue(facts: ReleaseFacts) -> None:
    assert toolkit_isa(facts.release) == facts.ptx_isa
    assert ptx_driver(facts.ptx_isa) <= facts.release
    for number in facts.numbers:
        first = next(entry.release for entry in CATALOGUE if number in entry.numbers)
        oldest = gpu_driver(number)
        assert oldest is not None
        assert oldest == first or first == CATALOGUE[0].release >= oldest


def test_older_ptx_and_gpus() -> None:
    assert [str(ptx_driver(isa)) for isa in [(3, 2), (6, 3), (7, 0), (8, 5), (8, 6), (9, 0), (10, 1)]] == [
        "8.0",
        "10.0",
        "11.0",
        "12.5",
        "12.7",
        "13.0",
        "14.1",
    ]
    assert gpu_driver(52) == Release(11, 0)
    assert gpu_driver(max(FIRST_RELEASES) + 9) is None
    assert machine_code_driver(architecture("150"), toolkit=Release(14, 2)) == Release(14, 2)


class Device:
    compute_capability = (9, 0)

    def __init__(self, device: object) -> None:
        self.device = device


class ObjectCode:
    def __init__(self, *facts: object) -> None:
        self.facts = facts

    @classmethod
    def from_cubin(cls, code: bytes, *, name: str) -> ObjectCode:
        return cls("cubin", code, name)

    @classmethod
    def from_ptx(cls, code: bytes, *, name: str) -> ObjectCode:
        return cls("ptx", code, name)

    @classmethod
    def from_fatbin(cls, code: bytes, *, name: str) -> ObjectCode:
        return cls("fatbin", code, name)


@pytest.fixture
def _cuda_core(monkeypatch: pytest.MonkeyPatch) -> None:
    """Stand in for cuda.core, which needs a GPU and its driver: a driver for CUDA 13.0 and an H100."""
    driver = types.SimpleNamespace(cuDriverGetVersion=lambda: (0, 13000))
    for name, content in {
        "cuda": {},
        "cuda.bindings": {"driver": driver},
        "cuda.core": {"Device": Device, "ObjectCode": ObjectCode},
    }.items():
        module = types.ModuleType(name)
        module.__dict__.update(content)
        monkeypatch.setitem(sys.modules, name, module)


@pytest.mark.usefixtures("_cuda_core")
@pytest.mark.parametrize("device", [None, 0, Device(0)])
def test_loading(device: object, tmp_path: Path) -> None:
    cubin = held("sm_90", "compute_90", tmp_path=tmp_path).load(device)  # type: ignore[arg-type]
    assert cubin.facts == ("cubin", b"cubin of k/a.cu", "k/a.cu")
    fatbin = held("fatbin sm_90", tmp_path=tmp_path).load(device)  # type: ignore[arg-type]
    assert fatbin.facts == ("fatbin", b"fatbin of k/a.cu", "k/a.cu")
    ptx = held("sm_80", "compute_80", tmp_path=tmp_path).load(device)  # type: ignore[arg-type]
    assert ptx.facts == ("ptx", PTX.encode(), "k/a.cu")


@pytest.mark.usefixtures("_cuda_core")
def test_loading_what_the_driver_does_not_know(tmp_path: Path) -> None:
    with pytest.raises(NoImageError, match=r"9\.0 with a driver for CUDA 13\.0"):
        held("compute_90", tmp_path=tmp_path, toolkit="13.5", isa="9.5").load()


def test_loading_without_cuda_core_says_what_to_install(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setitem(sys.modules, "cuda.core", None)
    monkeypatch.setitem(sys.modules, "cuda.bindings", None)
    with pytest.raises(ImportError, match=r"kernels of k/a\.cu: pip install 'cuda-core\[cu13\]'"):
        held("sm_90", tmp_path=tmp_path).load()
