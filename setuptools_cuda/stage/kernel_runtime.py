"""The images of one source, and the choice among them: what a generated kernel module does.

The text between the marker lines is copied into every generated module, after that of
``kernel_values.py``, whose head says more.
"""

from __future__ import annotations

from setuptools_cuda.stage.kernel_values import Code, Image, Kernel, Kernels, Parameter, _Value

__all__ = ["Code", "Image", "Kernel", "KernelImages", "Kernels", "NoImageError", "Parameter"]

TYPE_CHECKING = False

# --- copied into each generated module from here on ---
if TYPE_CHECKING:
    from cuda.core import Device, ObjectCode  # type: ignore[import-not-found, import-untyped, unused-ignore]


class NoImageError(LookupError):
    """No image serves a GPU and its driver, or none has the wanted format.

    ``held`` are the images there are, with what each needs; ``helps`` is what would help.
    """

    def __init__(self, message: str, *, held: tuple[str, ...], helps: tuple[str, ...]) -> None:
        """Join the parts to a message of several lines."""
        lines = [f"  held   {line}" for line in held or ("nothing",)] + [f"  helps  {line}" for line in helps]
        super().__init__("\n".join([message, *lines]))
        self.held = held
        self.helps = helps


class KernelImages(_Value):
    """The kernels of one source, and the images that hold them."""

    source: str
    images: tuple[Image, ...]
    _kernels: Kernels

    def __init__(self, source: str, *images: Image, kernels: Kernels) -> None:
        """Hold them; no file is read."""
        self._set(source=source, images=images, _kernels=kernels)

    def __repr__(self) -> str:
        return f"KernelImages({self.source!r}, {self.kernels}, {self.images})"

    @property
    def kernels(self) -> Kernels:
        """Return its kernels: a property, so that each source can have a type of its own for them."""
        return self._kernels

    @property
    def ptx(self) -> str:
        """Return the text of the PTX image that most GPUs run: the lowest architecture without a variant.

        Raises:
            NoImageError: there is no PTX image.
        """
        best, best_order = None, (0, 0)
        for image in self.images:
            _, number, variant = image.codes[0].rank
            if image.format == "ptx" and (best is None or (variant, number) < best_order):
                best, best_order = image, (variant, number)
        if best is None:
            helps = ('a build with "ptx" among the formats',)
            raise NoImageError(f"no PTX image of {self.source}", held=self._held(), helps=helps)
        return best.read_bytes().decode()

    def image_for(
        self, compute_capability: tuple[int, int] | int | str, driver: tuple[int, int] | int | str | None = None
    ) -> Image:
        """Return the image to load on a GPU: its own machine code, else older of its major number, else PTX.

        The compute capability is (9, 0), 90 or "9.0". The driver is the CUDA version that it is
        for: (13, 0), "13.0" or 13000 (so says ``cuDriverGetVersion``); None means that any will do.
        A fatbin counts as what is in it. LTO-IR is never chosen, since it has to be linked first.

        Raises:
            NoImageError: no image serves that GPU with that driver; the message says what would help.
            ValueError: an argument is no version.
        """
        capability = parse_version(compute_capability, whole=10, part=1, example='(9, 0), 90 or "9.0"')
        release: tuple[int, int] | None = None
        if driver is not None:
            release = parse_version(driver, whole=1000, part=10, example='(13, 0), 13000 or "13.0"')
            if release >= (100, 0):
                raise ValueError(f"{driver!r} is no CUDA version such as 13.0; is it that of the driver's release?")
        best, best_rank = None, (False, 0, 0, False)
        for image, code in self._serving(capability):
            rank = (*code.rank, image.format != "fatbin")
            if (release is None or code.driver <= release) and (best is None or rank > best_rank):
                best, best_rank = image, rank
        if best is None:
            raise self._no_image(capability, release)
        return best

    def load(self, device: Device | int | None = None) -> ObjectCode:
        """Return the image for a device (the current one by default) as an object of ``cuda.core``.

        Kernels are taken from it by ``get_kernel(name)``, once the device is the current one.

        Raises:
            ImportError: ``cuda.core`` is not installed.
            NoImageError: no image serves the device with its driver.
        """
        try:
            # cuda.core is optional, and not paid for by an import of the module.
            from cuda.bindings import driver as cuda  # type: ignore[import-not-found, import-untyped, unused-ignore]  # noqa: PLC0415 - as said
            from cuda.core import Device, ObjectCode  # type: ignore[import-not-found, import-untyped, unused-ignore]  # noqa: PLC0415 - as said
        except ImportError as error:
            advice = "pip install 'cuda-core[cu13]' (or cu12, as your driver is)"
            raise ImportError(f"to load the kernels of {self.source}: {advice}; now: {error}") from error
        gpu = Device(device) if device is None or isinstance(device, int) else device
        major, minor = gpu.compute_capability
        image = self.image_for((major, minor), cuda.cuDriverGetVersion()[1])
        load = {"cubin": ObjectCode.from_cubin, "ptx": ObjectCode.from_ptx, "fatbin": ObjectCode.from_fatbin}
        return load[image.format](image.read_bytes(), name=self.source)

    def _serving(self, capability: tuple[int, int]) -> list[tuple[Image, Code]]:
        images = [image for image in self.images if image.format != "ltoir"]
        return [(image, code) for image in images for code in image.codes if code.serves(capability)]

    def _held(self) -> tuple[str, ...]:
        return (
            *[
                f"{image.format} {code.name}, which needs a driver for CUDA {_dotted(code.driver)} or newer"
                for image in self.images
                for code in image.codes
            ],
        )

    def _no_image(self, capability: tuple[int, int], release: tuple[int, int] | None) -> NoImageError:
        helps = []
        least: tuple[int, int] | None = None
        for _, code in self._serving(capability):
            least = code.driver if least is None or code.driver < least else least
        if least is None:
            helps.append(f"a build that has {capability[0]}{capability[1]} among its architectures")
            if "ptx" not in [image.format for image in self.images]:
                helps.append('a build that has "ptx" among its formats, for GPUs newer than its architectures')
            if "ltoir" in [image.format for image in self.images]:
                helps.append("a link of the LTO-IR for that GPU, by nvJitLink or cuda.core.Linker")
        elif release is not None:
            helps.append(f"a driver for CUDA {_dotted(least)} or newer")
            helps.append(f"a build by a toolkit that is no newer than CUDA {_dotted(release)}")
        message = f"no image of {self.source} runs on a GPU of compute capability {_dotted(capability)}"
        if release is not None:
            message += f" with a driver for CUDA {_dotted(release)}"
        return NoImageError(message, held=self._held(), helps=(*helps,))


def _dotted(version: tuple[int, int]) -> str:
    return f"{version[0]}.{version[1]}"


def parse_version(value: tuple[int, int] | int | str, *, whole: int, part: int, example: str) -> tuple[int, int]:
    """Return (major, minor); in a single number 1.0 is ``whole`` and 0.1 is ``part``."""
    number = value
    if isinstance(value, str) and value.isascii():
        major, _, minor = value.partition(".")
        if major.isdecimal() and minor.isdecimal():
            return int(major), int(minor)
        number = int(value) if value.isdecimal() else value
    if isinstance(number, int) and number >= whole:
        return number // whole, number % whole // part
    if isinstance(value, tuple) and [type(part) for part in value] == [int, int]:
        return value
    raise ValueError(f"{value!r} is no version such as {example}")


# --- copied up to here ---
