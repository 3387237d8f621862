"""Checks that need a GPU: each kernel is loaded through ``cuda.core`` and launched."""

from __future__ import annotations

import ctypes
import functools
from collections.abc import Callable, Iterator

import cuda.core
import numpy as np
from cuda.core import LaunchConfig, LegacyPinnedMemoryResource, ObjectCode, launch

from sample_pkg import Device, cpu, kernels
from sample_pkg.checks import Check, expect, expect_error, numbers

SIZE = 100_003
THREADS = 256
BLOCKS = 64


def find_kernel_checks(device: Device) -> Iterator[tuple[str, Check]]:
    """Yield (name, check) for every source, and for every image that the GPU and its driver can load."""
    for source, held in kernels.images.items():
        if device.capability < least_capability(source):
            yield f"{source}, nothing for so old a GPU", functools.partial(check_unserved, source, device)
            continue
        yield f"{source}, the image that load() takes", functools.partial(check_loaded, source)
        for image in held.images:
            newest = divmod(device.driver // 10, 100)
            if image.driver <= newest and any(code.serves(device.capability) for code in image.codes):
                yield f"{source}, {image.format} {image.architecture}", functools.partial(check_image, source, image)


def least_capability(source: str) -> tuple[int, int]:
    """Return the lowest compute capability that a source has code for."""
    return divmod(min(code.rank[1] for image in kernels.images[source].images for code in image.codes), 10)


def check_unserved(source: str, device: Device) -> None:
    """Ask for an image that a source's lower bound left out."""
    expect_error(kernels.NoImageError, lambda: kernels.images[source].image_for(device.capability))


def check_loaded(source: str) -> None:
    """Launch a source's kernel out of what ``load`` returns for the current GPU."""
    launch_kernel(source, kernels.images[source].load)


def check_image(source: str, image: kernels.Image) -> None:
    """Launch a source's kernel out of one image."""
    make = ObjectCode.from_cubin if image.format == "cubin" else ObjectCode.from_ptx
    launch_kernel(source, lambda: make(bytes(image)))


def launch_kernel(source: str, load: Callable[[], ObjectCode]) -> None:
    """Launch a source's kernel on pinned memory, which CPU and GPU both see, and compare with plain Python."""
    device = cuda.core.Device()
    device.set_current()
    (name,) = kernels.images[source].kernels
    kernel = load().get_kernel(name.name)
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
