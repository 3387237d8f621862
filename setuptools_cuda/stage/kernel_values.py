"""What is known of kernels and of the images that hold them.

The text between the marker lines is copied into every generated kernel module, together with
that of ``kernel_runtime.py``, so that such a module needs nothing but Python. It therefore
imports nothing before it has to, and uses few builtins: a source named ``max.cu`` makes a
global of that name.
"""

from __future__ import annotations

__all__ = ["Code", "Image", "Kernel", "Kernels", "Parameter"]

# --- copied into each generated module from here on ---
TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path


class _Value:
    """A value: its attributes are set once, and two of the same content are equal."""

    __slots__ = ()

    def _set(self, /, **facts: object) -> None:
        for name, fact in facts.items():
            object.__setattr__(self, name, fact)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(f"{self.__class__.__name__}.{name} cannot be changed")

    def __setstate__(self, state: dict[str, object] | tuple[None, dict[str, object]]) -> None:
        self._set(**(state if isinstance(state, dict) else state[1]))

    def __eq__(self, other: object) -> bool:
        return self.__class__ is other.__class__ and self.__repr__() == other.__repr__()

    def __hash__(self) -> int:
        return self.__repr__().__hash__()


class Parameter(_Value):
    """One parameter of a kernel: its PTX type, and its size and alignment in bytes.

    The type is as in 'u64' for a pointer, 'f32' for a float, 'b8' for a struct (an array of bytes).
    """

    __slots__ = ("alignment", "size", "type")
    type: str
    size: int
    alignment: int

    def __init__(self, ptx_type: str, *, size: int, alignment: int) -> None:
        """Hold what the PTX says of the parameter."""
        self._set(type=ptx_type, size=size, alignment=alignment)

    def __repr__(self) -> str:
        return f"Parameter({self.type!r}, size={self.size}, alignment={self.alignment})"


class Kernel(str, _Value):
    """One kernel: a string, its name as in the PTX, by which loaders find it (CuPy wants the plain :attr:`name`).

    ``demangled`` is the name as C++ writes it, and ``parameters`` what a launch has to give.
    ``attribute`` is its name in :class:`Kernels`, '' where that name would not be unique.
    """

    __slots__ = ("attribute", "demangled", "parameters")
    attribute: str
    demangled: str
    parameters: tuple[Parameter, ...]

    def __new__(cls, name: str, *parameters: Parameter, demangled: str = "", attribute: str = "") -> Kernel:
        """Return the string ``name`` with what is known of the kernel."""
        kernel = str.__new__(cls, name)
        cls._set(kernel, demangled=demangled or name, attribute=attribute, parameters=parameters)
        return kernel

    @property
    def name(self) -> str:
        """Return the name as in the PTX, as a plain string."""
        return str(self)


class Kernels(_Value):
    """The kernels of one source, in the order of its PTX.

    Each can be had by position, and by its name: as in the PTX, or as C++ writes it, with or
    without return type and parameters. Those of a unique plain name are attributes.
    """

    __kernels: tuple[Kernel, ...] = ()

    def __init__(self, *kernels: Kernel) -> None:
        """Hold the kernels."""
        object.__setattr__(self, "_Kernels__kernels", kernels)
        self._set(**{kernel.attribute: kernel for kernel in kernels if kernel.attribute})

    def __iter__(self) -> Iterator[Kernel]:
        return self.__kernels.__iter__()

    def __len__(self) -> int:
        return self.__kernels.__len__()

    def __getitem__(self, key: int | str) -> Kernel:
        if isinstance(key, int):
            return self.__kernels[key]
        exact = [kernel for kernel in self if key in (kernel.name, kernel.demangled)]
        found = exact or [kernel for kernel in self if f" {key}(" in f" {kernel.demangled}"]
        if found.__len__() != 1:
            names = ", ".join([kernel.demangled for kernel in self])
            count = f"{found.__len__()} kernels are" if found else "no kernel is"
            raise KeyError(f"{count} named {key!r}, of: {names or 'none at all'}")
        return found[0]

    def __repr__(self) -> str:
        return f"Kernels({', '.join([kernel.name for kernel in self])})"


class Code(_Value):
    """Code for one architecture: 'sm_90a' (machine code) or 'compute_90' (PTX).

    ``driver`` is the CUDA version (major, minor) of the oldest driver that loads it.
    """

    __slots__ = ("driver", "name")
    name: str
    driver: tuple[int, int]

    def __init__(self, name: str, *, driver: tuple[int, int]) -> None:
        """Hold the name and the least driver."""
        self._set(name=name, driver=driver)

    def __repr__(self) -> str:
        return f"Code({self.name!r}, driver={self.driver})"

    @property
    def rank(self) -> tuple[bool, int, int]:
        """Return the order of preference: machine code, the newer one, then 'a' and 'f' variants."""
        kind, _, number = self.name.partition("_")
        return kind == "sm", int(number.rstrip("af")), ("", "f", "a").index(number.lstrip("0123456789"))

    def serves(self, capability: tuple[int, int]) -> bool:
        """Return whether a GPU of this compute capability can run the code, leaving aside its driver.

        Machine code runs within its major number on the same or a newer GPU; PTX on every such GPU; an 'f'
        variant within its family, an 'a' variant nowhere else. (CUDA Programming Guide, "Compute Capabilities".)
        """
        machine, number, variant = self.rank
        wanted = capability[0] * 10 + capability[1]
        if variant == 2:
            return number == wanted
        return number <= wanted and (number // 10 == capability[0] or not (machine or variant))


class Image(_Value):
    """One file of device code.

    ``format`` is 'cubin', 'ptx', 'fatbin' or 'ltoir'; ``codes`` is what is in the file, ``isa`` the
    version of its PTX (None without any), ``size`` its bytes. An image can be given to whatever
    takes a path, and ``bytes(image)`` to whatever takes bytes. ``file`` is relative to the module.
    """

    __slots__ = ("codes", "file", "format", "isa", "size")
    file: str
    format: str
    codes: tuple[Code, ...]
    isa: tuple[int, int] | None
    size: int

    def __init__(self, file: str, *codes: Code, image_format: str, isa: tuple[int, int] | None, size: int) -> None:
        """Hold the facts; the file is not read before its bytes are asked for."""
        self._set(file=file, format=image_format, codes=codes, isa=isa, size=size)

    def __repr__(self) -> str:
        return f"Image({self.file!r}, {self.codes}, isa={self.isa}, size={self.size})"

    def __fspath__(self) -> str:
        return str(self.path)

    def __bytes__(self) -> bytes:
        return self.read_bytes()

    @property
    def architecture(self) -> str:
        """Return what it has code for, as 'sm_90a', or 'sm_80 sm_90 compute_90' for a fatbin."""
        return " ".join([code.name for code in self.codes])

    @property
    def driver(self) -> tuple[int, int]:
        """Return the CUDA version of the oldest driver that loads any of its code."""
        least = self.codes[0].driver
        for code in self.codes:
            least = code.driver if code.driver < least else least
        return least

    @property
    def path(self) -> Path:
        """Return where the file is; within the archive, if the package is imported from a zip file."""
        from pathlib import Path  # noqa: PLC0415 - not paid for by an import of the module

        return Path(__file__).parent / self.file

    def read_bytes(self) -> bytes:
        """Return the content of the file, also out of a zip file."""
        try:
            return self.path.read_bytes()
        except NotADirectoryError:
            content: bytes = globals()["__spec__"].loader.get_data(str(self.path))
            return content


# --- copied up to here ---
