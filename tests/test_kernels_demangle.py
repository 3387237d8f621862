from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from setuptools_cuda.stage import demangle as module
from setuptools_cuda.stage.demangle import demangle, plain_name

NAMES = [
    ("saxpy", "saxpy", "saxpy"),
    ("_leading", "_leading", "_leading"),
    ("_Z2stPi", "st(int*)", "st"),
    ("_ZL5helloPi", "hello(int*)", "hello"),
    ("_ZN2nsL5helloEPi", "ns::hello(int*)", "hello"),
    ("_ZN2ns5scaleIfLi3EEEvPT_1P", "void ns::scale<float, 3>(float*, P)", "scale"),
    ("_Z4bredILi128EEvPKiPi", "void bred<128>(int const*, int*)", "bred"),
    ("_ZN1a1b4variINS0_1SEJifEEEvDpT0_", "void a::b::vari<a::b::S, int, float>(int, float)", "vari"),
    ("_ZN1a1b2fpIXadL_ZNS0_1gEiEEEEvv", "void a::b::fp<&a::b::g>()", "fp"),
    ("_ZN1a1b2v13abiEPi", "a::b::v1::abi(int*)", "abi"),
    ("_ZN33_GLOBAL__N__2191a138_4_a_cu_saxpy6hiddenEi", "(anonymous namespace)::hidden(int)", "hidden"),
    ("_Z", "_Z", "_Z"),
    ("_ZN", "_ZN", "_ZN"),
    ("_Z99short", "_Z99short", "short"),
]


@pytest.mark.parametrize(("name", "demangled", "plain"), NAMES)
def test_names_that_nvcc_writes(name: str, demangled: str, plain: str) -> None:
    assert (demangle(name), plain_name(name)) == (demangled, plain)


@pytest.fixture
def _no_library(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(module, "_LIBRARIES", ("libnone-such.so.6",))
    module._demangler.cache_clear()
    yield
    module._demangler.cache_clear()


@pytest.mark.usefixtures("_no_library")
def test_without_a_runtime_library_names_stay_as_they_are() -> None:
    assert demangle("_Z2stPi") == "_Z2stPi"
    assert plain_name("_Z2stPi") == "st"


@given(st.text(max_size=40))
def test_any_name(name: str) -> None:
    for text in (name, f"_Z{name}", f"_ZN{name}"):
        assert isinstance(plain_name(text), str)
        assert plain_name(text) or not text


@given(st.text(alphabet="_ZNKLIEJSTPi0123456789abv.$", max_size=30))
def test_any_mangled_name(name: str) -> None:
    assert demangle(f"_Z{name}")
