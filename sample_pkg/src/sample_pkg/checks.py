"""The checks: results of the extension and of the kernels, held against plain Python.

The numbers are small whole ones, so that float32 holds every result exactly and the
comparison needs no tolerance.
"""

from __future__ import annotations

import functools
import importlib
import importlib.util
from array import array
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import sample_pkg
from sample_pkg import Device, cpu, kernels

Check = Callable[[], None]
SIZES = (0, 1, 255, 256, 257, 100_003)


@dataclass(frozen=True)
class Outcome:
    """Whether a check failed, and a remark to print behind its name."""

    failed: bool
    note: str = ""


def run_check(check: Check) -> Outcome:
    """Run one check and return what came of it."""
    try:
        check()
    except Exception as error:  # noqa: BLE001 - whatever goes wrong is the finding
        return Outcome(failed=True, note=f": {type(error).__name__}: {error}")
    return Outcome(failed=False)


def find_checks(device: Device | None) -> Iterator[tuple[str, Check]]:
    """Yield (name, check) for all that can be checked with ``device``, which may be None."""
    where = "cpu" if device is None else "gpu"
    yield f"saxpy by the extension ({where})", lambda: check_saxpy(where)
    yield f"block_sum by the extension ({where})", lambda: check_block_sum(where)
    yield "wrong arguments are refused", check_refusals
    for source in kernels.images:
        yield f"images of {source}", functools.partial(check_images, source)
    if device is not None and has_cuda_core():
        yield from importlib.import_module("sample_pkg.gpu_checks").find_kernel_checks(device)


def has_cuda_core() -> bool:
    """Return whether ``cuda.core``, which loads kernels, is installed."""
    return all(importlib.util.find_spec(name) is not None for name in ("cuda", "cuda.core"))


def numbers(size: int, *, step: int) -> array[float]:
    """Return ``size`` whole numbers below 1000 as float32."""
    return array("f", (index * step % 1000 for index in range(size)))


def check_saxpy(where: str) -> None:
    """Compare saxpy with plain Python, for sizes around the edges of a block."""
    for size in SIZES:
        x, got, wanted = numbers(size, step=7), numbers(size, step=3), numbers(size, step=3)
        answered = sample_pkg.saxpy(2.0, x, got)
        cpu.saxpy(2.0, x, wanted)
        expect(got == wanted, f"size {size}: another result")
        expect(answered == where, f"size {size}: answered from the {answered}")


def check_block_sum(where: str) -> None:
    """Compare the sum with plain Python."""
    for size in SIZES:
        x = numbers(size, step=7)
        got = sample_pkg.block_sum(x)
        expect(got == (cpu.block_sum(x)[0], where), f"size {size}: {got}")


def check_refusals() -> None:
    """Hand over what is not one-dimensional float32, or does not fit together."""
    floats = numbers(4, step=1)
    expect_error(TypeError, lambda: sample_pkg.block_sum(array("d", [1.0])))
    expect_error(TypeError, lambda: sample_pkg.saxpy(1.0, floats, [1.0]))
    expect_error(BufferError, lambda: sample_pkg.saxpy(1.0, floats, memoryview(floats).toreadonly()))
    expect_error(ValueError, lambda: sample_pkg.saxpy(1.0, floats, numbers(5, step=1)))
    expect_error(ValueError, lambda: sample_pkg.saxpy(1.0, memoryview(floats)[1:], memoryview(floats)[:-1]))


def check_images(source: str) -> None:
    """Look at every image of a source: each is there, and its PTX has the kernels' names."""
    held = kernels.images[source]
    expect(len(held.kernels) == 1, f"{len(held.kernels)} kernels")
    for image in held.images:
        expect(len(bytes(image)) == image.size > 0, f"{image.path} is not as it was built")
    for kernel in held.kernels:
        expect(f".entry {kernel.name}(" in held.ptx, f"no {kernel.name} in the PTX")


def expect(holds: bool, otherwise: str) -> None:  # noqa: FBT001 - reads as an assertion, which -O would remove
    """Raise AssertionError with the text ``otherwise`` unless ``holds``."""
    if not holds:
        raise AssertionError(otherwise)


def expect_error(kind: type[Exception], action: Callable[[], object]) -> None:
    """Raise AssertionError unless ``action`` raises an exception of this kind."""
    try:
        action()
    except kind:
        return
    raise AssertionError(f"no {kind.__name__}")
