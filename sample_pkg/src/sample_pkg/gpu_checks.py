"""Checks that need a GPU: each kernel is loaded through ``cuda.core`` and launched."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Iterator
from typing import Any

import numpy as np
from cuda.core import Device, LaunchConfig, LegacyPinnedMemoryResource, launch

from sample_pkg import cpu, kernels
from sample_pkg.checks import Check, expect, numbers

SIZE = 100_003
THREADS = 256
BLOCKS = 64


def find_kernel_checks() -> Iterator[tuple[str, Check]]:
    """Yield (name, check) for every kernel."""
    for source, images in kernels.images.items():
        for kernel in images.kernels:
            yield f"kernel {kernel.name} of {source}, through cuda.core", functools.partial(check_kernel, source)


def check_kernel(source: str) -> None:
    """Load the kernel of a source for the current GPU, launch it and compare with plain Python."""
    device = Device()
    device.set_current()
    held = kernels.images[source]
    (name,) = held.kernels
    try:
        launch_kernel(device, held.load().get_kernel(name.name), name=name.name)
    except kernels.NoImageError:
        # Only a GPU older than the source's least architecture is rightly without an image.
        expect(device.compute_capability < least_capability(source), f"{source} has no image for this GPU")


def least_capability(source: str) -> tuple[int, int]:
    """Return the lowest compute capability that a source has code for."""
    numbers_of = [int(image.architecture.rpartition("_")[2].rstrip("af")) for image in kernels.images[source].images]
    return divmod(min(numbers_of), 10)


def launch_kernel(device: Any, kernel: Any, *, name: str) -> None:
    """Launch one of the package's kernels on pinned memory, which CPU and GPU both see."""
    memory = LegacyPinnedMemoryResource()
    stream = device.create_stream()
    x_buffer, y_buffer = memory.allocate(SIZE * 4), memory.allocate(SIZE * 8)
    x = np.from_dlpack(x_buffer).view(np.float32)
    x[:] = np.frombuffer(numbers(SIZE, step=7), dtype=np.float32)
    config = LaunchConfig(grid=BLOCKS, block=THREADS)
    if name == "saxpy":
        y = np.from_dlpack(y_buffer).view(np.float32)[:SIZE]
        y[:] = np.frombuffer(numbers(SIZE, step=3), dtype=np.float32)
        launch(stream, config, kernel, ctypes.c_float(2), x_buffer, y_buffer, ctypes.c_uint64(SIZE))
        stream.sync()
        wanted = numbers(SIZE, step=3)
        cpu.saxpy(2.0, numbers(SIZE, step=7), wanted)
        expect(y.tolist() == wanted.tolist(), "another result")
    else:
        partials = np.from_dlpack(y_buffer).view(np.float64)[:BLOCKS]
        partials[:] = 0
        launch(stream, config, kernel, x_buffer, y_buffer, ctypes.c_uint64(SIZE))
        stream.sync()
        expect(float(partials.sum()) == cpu.block_sum(x.tolist())[0], f"sum {float(partials.sum())}")
