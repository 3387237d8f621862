"""Names of C++ kernels as people write them.

Mangled names are those of the Itanium C++ ABI, which nvcc uses on every platform but Windows'
own. The whole name is left to the C++ runtime library, found wherever a C++ compiler is; the
plain name, on which attributes of generated modules hang, is read here, so that it does not
depend on what is installed.
"""

from __future__ import annotations

import ctypes
import functools
import re
from collections.abc import Callable

_LIBRARIES = ("libstdc++.so.6", "libc++abi.so.1", "libc++abi.dylib")
_SOURCE_NAME = re.compile(r"L?(\d{1,6})", re.ASCII)


def demangle(name: str) -> str:
    """Return ``name`` as C++ writes it, as 'void scale<float, 3>(float*)'.

    A name that is not mangled is returned as it is. So is every name on a machine without a
    C++ runtime library; nothing else can be known of it there. The spelling of rare types may
    differ between versions of that library.
    """
    convert = _demangler()
    found = convert(name) if convert is not None and name.startswith("_Z") else None
    return name if found is None else found


def plain_name(name: str) -> str:
    """Return the last part of a kernel's name without templates and parameters: 'scale' of '_ZN2ns5scaleIfLi3EEEvPT_'.

    A name that is not mangled, or not as kernels are, is returned as it is.
    """
    if not name.startswith("_Z"):
        return name
    nested = name.startswith("_ZN")
    position = len("_ZN") if nested else len("_Z")
    last = ""
    while (match := _SOURCE_NAME.match(name, position)) and (nested or not last):
        start = match.end()
        position = start + int(match[1])
        last = name[start:position]
    return last or name


@functools.cache
def _demangler() -> Callable[[str], str | None] | None:
    for library in _LIBRARIES:
        try:
            runtime = ctypes.CDLL(library)
            convert, free = runtime["__cxa_demangle"], ctypes.CDLL(None).free
        except (OSError, AttributeError, TypeError):
            continue
        convert.argtypes = [ctypes.c_char_p, ctypes.c_void_p, ctypes.c_void_p, ctypes.POINTER(ctypes.c_int)]
        convert.restype = ctypes.c_void_p
        free.argtypes, free.restype = [ctypes.c_void_p], None
        return functools.partial(_call, convert=convert, free=free)
    return None


def _call(name: str, *, convert: Callable[..., int | None], free: Callable[[int], None]) -> str | None:
    address = convert(name.encode(), None, None, ctypes.byref(ctypes.c_int()))
    if not address:
        return None
    try:
        return ctypes.string_at(address).decode("utf-8", "backslashreplace")
    finally:
        free(address)
