"""What a linker says of symbols that nothing defines, and whether that matters.

A shared object may leave symbols to whoever loads it: an extension leaves Python's. Linkers are
therefore silent about all others too, and the user hears of them at import. Here the linker is
made to report them (``-z defs``), and those that Python's own process has are passed over.
"""

from __future__ import annotations

import re

_REPORT = re.compile(r"undefined (?:reference to|symbol:?) [`']?(?P<name>.+?)'?$")
_MORE = re.compile(r"more undefined references to [`'].+' follow$")
_PYTHON = re.compile(r"_?Py\w*")
_DEVICE_LINK = ("__cudaRegisterLinkedBinary", "__fatbinwrap_")
_SHOWN = 10


def find_undefined(output: str) -> tuple[str, ...]:
    """Return the symbols that the linker reports and that a Python process has not, each once."""
    found = (match["name"] for line in output.splitlines() if (match := _REPORT.search(line)))
    return tuple(name for name in dict.fromkeys(found) if not _PYTHON.fullmatch(name) and not _is_loaded(name))


def without_reports(output: str) -> str:
    """Return the linker's output without its reports of undefined symbols."""
    lines = output.splitlines(keepends=True)
    reports = (_REPORT, _MORE, re.compile(r": in function `"))
    return "".join(line for line in lines if not any(report.search(line.rstrip()) for report in reports))


def describe_undefined(names: tuple[str, ...]) -> str:
    """Return what to tell of symbols that nothing defines."""
    device = [name for name in names if name.startswith(_DEVICE_LINK)]
    if device:
        return (
            f"relocatable device code was linked without a device link (undefined {device[0]}): "
            "set rdc = true for the target that compiles it"
        )
    shown = "\n".join(f"undefined symbol: {name}" for name in names[:_SHOWN])
    more = f"\n... and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return (
        f"{shown}{more}\nNothing that is linked defines it, so the import would fail: is a source missing, or was one "
        "skipped? Is it in a library of the table, which `link` has to name? "
        '(flags = { link = ["-Wl,--unresolved-symbols=ignore-all"] } leaves it to run time.)'
    )


def _is_loaded(name: str) -> bool:
    """Return whether this process, a Python, defines a C symbol: libc and libm are not always linked by name."""
    import ctypes  # noqa: PLC0415 - a link without undefined symbols must not pay for it

    return name.isidentifier() and hasattr(ctypes.CDLL(None), name)
