"""What the values of single keys have to look like. The model names these checks."""

from __future__ import annotations

import keyword
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

from packaging.specifiers import InvalidSpecifier, SpecifierSet

from setuptools_cuda.config.findings import Finding, shorten, show_number
from setuptools_cuda.errors import Code


@dataclass(frozen=True)
class Check:
    """A check of one value, or of each item of a list.

    ``pattern`` is a regular expression for the JSON schema. It lets every good value through,
    and stops what a regular expression can stop.
    """

    find: Callable[[Any], Finding | None]
    pattern: str = ""
    needs_item: bool = False


_NUMBER = r"(?:[1-9][0-9]{1,2}|[1-9][0-9]?\.[0-9])"
_ARCHITECTURE = (
    r"^(?:native|all|all-major"
    rf"|{_NUMBER}[af]?(?:-real|-virtual|\+PTX)?"
    rf"|sm_{_NUMBER}[af]?(?:-real|\+PTX)?"
    rf"|compute_{_NUMBER}[af]?(?:-virtual)?)$"
)
_BOUND = rf"^(?:sm_)?{_NUMBER}[af]?$"
_CAPABILITY = rf"^{_NUMBER}$"
_CUDA_LIBRARY = r"^CUDA::[A-Za-z0-9_]+$"
_DEFINE = r"^[A-Za-z_][A-Za-z0-9_]*(=.*)?$"
_FOLDER = r"^(?![/~]|[A-Za-z]:)(?!(.*/)?\.\.(/|$))[^\\]+$"
_LIBRARY = r"^[A-Za-z0-9_][A-Za-z0-9_.+-]*$"
_LIMITED = r"^cp3([2-9]|[1-9][0-9]+)$"
_MEMORY = r"^ *[0-9]+(\.[0-9]+)? *(B|[kKMGT]B|[KMGT]iB)? *$"
_MODULE = r"^[^\s.-]+(\.[^\s.-]+)*$"
_PLACE = r"^(?!(?:{words})$)(?![A-Za-z0-9_]+://)(?!~[^/])[^\x24]*$"
_RELEASE = r"^[0-9]+\.[0-9]+$"
_STD = r"^c\+\+(11|14|17|20|23|26)$"

_SWITCHES = frozenset({"on", "off", "true", "false", "yes", "no", "0", "1", "none"})

_UNITS: Mapping[str, int] = {
    "": 1,
    "B": 1,
    "kB": 10**3,
    "KB": 10**3,
    "MB": 10**6,
    "GB": 10**9,
    "TB": 10**12,
    "KiB": 2**10,
    "MiB": 2**20,
    "GiB": 2**30,
    "TiB": 2**40,
}


def parse_memory(text: str) -> int:
    """Return the bytes that ``text`` means, as '3 GiB', '512 MiB' or '1000000'.

    Raises:
        ValueError: the text is no amount of memory.
    """
    found = re.fullmatch(r" *(\d+(?:\.\d+)?) *([kKMGTiB]*) *", text, re.ASCII)
    if not found or found[2] not in _UNITS:
        raise ValueError(f"{text!r} is no amount of memory")
    whole, _, fraction = found[1].partition(".")
    scale: int = 10 ** len(fraction)
    return int(whole + fraction) * _UNITS[found[2]] // scale


def parse_bound(text: str) -> int:
    """Return the number of an architecture without its variant: 90 of '90a', 'sm_90' or '9.0'."""
    return int(re.sub(r"\D", "", text))


def _check_glob(text: str) -> Finding | None:
    if "\\" in text:
        return Finding(f"{shorten(text)} has a backslash", fix=("write '/' between folders, on every platform",))
    if text.startswith(("/", "~")) or re.match(r"[A-Za-z]:", text):
        return Finding(f"{shorten(text)} is absolute", fix=("write it relative to the folder of pyproject.toml",))
    parts = text.split("/")
    if ".." in parts:
        return Finding(f"{shorten(text)} has '..' in it", fix=("sources lie in the folder of pyproject.toml",))
    if any("**" in part and part != "**" for part in parts):
        return Finding(f"{shorten(text)} joins '**' with other letters", fix=("write '**' alone, as src/**/*.cu",))
    if not any(part not in {"", "."} for part in parts):
        return Finding(f"{shorten(text)} names no file")
    return None


def _check_folder(text: str) -> Finding | None:
    if re.search(_FOLDER, text):
        return None
    return Finding(
        f"{shorten(text)} is no folder within the wheel", fix=("write it relative, with '/', as 'demo/lib'",)
    )


def _check_module(text: str) -> Finding | None:
    for part in text.split("."):
        if not part.isidentifier():
            what = f"{shorten(text)} is no module name: {part!r} is no identifier"
            fixed = re.sub(r"[^\w.]", "_", text.replace("/", ".").removesuffix(".py"))
            good = all(piece.isidentifier() for piece in fixed.split("."))
            return Finding(what, Code.BAD_NAME, fix=(f"write it as {fixed!r}",) if good else ())
        if keyword.iskeyword(part):
            return Finding(f"{shorten(text)} is no module name: {part!r} is a Python keyword", Code.BAD_NAME)
    return None


def _check_library(text: str) -> Finding | None:
    if not re.search(_LIBRARY, text):
        what = f"{shorten(text)} is no library name"
        return Finding(what, Code.BAD_NAME, fix=("use letters, digits and '_', '-', '.', '+'",))
    if text.endswith((".a", ".so", ".lib", ".dll")):
        fix = ("write the name alone; 'attention' makes libattention.a",)
        return Finding(f"{shorten(text)} is a file name", Code.BAD_NAME, fix=fix)
    return None


def _check_architecture(text: str) -> Finding | None:
    if re.search(_ARCHITECTURE, text):
        return None
    known = "80, 8.0, sm_80, compute_80, 80-real, 80-virtual, 90a, 100f, 8.0+PTX, native, all, all-major"
    return Finding(f"{shorten(text)} is no architecture", Code.BAD_ARCHITECTURE, fix=(f"write it as one of {known}",))


def _check_bound(text: str) -> Finding | None:
    if re.search(_BOUND, text):
        return None
    what = f"{shorten(text)} is no single architecture"
    return Finding(what, Code.BAD_ARCHITECTURE, fix=("write it as 80, 8.0 or sm_80",))


def _check_precision(given: SpecifierSet, *, text: str) -> Finding | None:
    """Refuse a release such as 13.0.88, which no toolkit would be found within: major and minor are compared."""
    for one in given:
        parts = one.version.split(".")
        if any(part.isdigit() and int(part) for part in parts[2:]):
            what = f"{shorten(text)} names more than a major and a minor release, and only those are compared"
            return Finding(what, fix=(f"write {'.'.join(parts[:2])} in place of {one.version}",))
    return None


def _check_specifier(text: str) -> Finding | None:
    try:
        given = SpecifierSet(text)
    except InvalidSpecifier:
        given = SpecifierSet()
    if len(given) > 0:
        return _check_precision(given, text=text)
    fix = "write it as '>=12.4', '==13.*' or '>=12.4,<14'"
    return Finding(f"{shorten(text)} is no version specifier", fix=(fix,))


def _check_limited_api(text: str) -> Finding | None:
    if re.search(_LIMITED, text):
        return None
    found = re.fullmatch(r"(?:cp|abi)?3[._]?(\d{1,2})", text, re.ASCII)
    fix = f"cp3{found[1]}" if found and int(found[1]) >= 2 else "cp311"
    return Finding(f"{shorten(text)} is no tag of the limited API", fix=(f"write it as {fix!r}; cp32 is the oldest",))


def _check_memory(text: str) -> Finding | None:
    fix = ("write it as '3 GiB', '512 MiB' or a number of bytes",)
    try:
        amount = parse_memory(text)
    except ValueError:
        return Finding(f"{shorten(text)} is no amount of memory", fix=fix)
    return None if amount > 0 else Finding(f"{shorten(text)} is no memory at all", fix=fix)


def _check_positive(number: int) -> Finding | None:
    return None if number > 0 else Finding(f"{show_number(number)} is too small", fix=("write 1 or more",))


def _check_define(text: str) -> Finding | None:
    if re.search(_DEFINE, text, re.DOTALL):
        return None
    fix = f"write it as {text[2:]!r}" if text.startswith("-D") and text[2:] else "write it as 'NAME' or 'NAME=VALUE'"
    return Finding(f"{shorten(text)} is no definition", fix=(fix,))


def _check_place(text: str) -> Finding | None:
    word = text.strip().lower()
    if word in _SWITCHES:
        return Finding(f"{shorten(text)} is no folder", fix=(f"a folder of that name is './{word}'",))
    if re.match(r"\w+://", word):
        return Finding(f"{shorten(text)} is no folder", fix=("write the path of a folder of this machine",))
    if word.startswith("~") and word != "~" and not word.startswith("~/"):
        return Finding(f"{shorten(text)}: the home of another user is not looked up", fix=("write the whole path",))
    if "$" in word:
        what = f"{shorten(text)}: variables are not filled in here"
        return Finding(what, fix=("write what the variable holds; '~/' is your home folder",))
    return None


def _check_cache(text: str) -> Finding | None:
    found = _check_place(text)
    if text.strip().lower() == "off" or found is None:
        return None
    return replace(found, fix=(*found.fix, "write 'off' to have no cache"))


def _matches(pattern: str, *, what: str, fix: str) -> Callable[[str], Finding | None]:
    def find(text: str) -> Finding | None:
        return None if re.search(pattern, text) else Finding(f"{shorten(text)} {what}", fix=(fix,))

    return find


CHECKS: Mapping[str, Check] = {
    "glob": Check(_check_glob, pattern=_FOLDER),
    "globs": Check(_check_glob, pattern=_FOLDER),
    "folder": Check(_check_folder, pattern=_FOLDER),
    "module": Check(_check_module, pattern=_MODULE),
    "library-name": Check(_check_library, pattern=_LIBRARY),
    "architectures": Check(_check_architecture, pattern=_ARCHITECTURE, needs_item=True),
    "architecture": Check(_check_bound, pattern=_BOUND),
    "capabilities": Check(
        _matches(_CAPABILITY, what="is no compute capability", fix="write it as '75' or '7.5'"), pattern=_CAPABILITY
    ),
    "specifier": Check(_check_specifier, pattern=r"^[ ,]*[=!<>~]"),
    "release": Check(
        _matches(_RELEASE, what="is no CUDA release", fix="write it as major and minor, as '13.0'"), pattern=_RELEASE
    ),
    "std": Check(
        _matches(_STD, what="is no standard that nvcc takes", fix="write it as 'c++17'; one of 11, 14, 17, 20, 23, 26"),
        pattern=_STD,
    ),
    "defines": Check(_check_define, pattern=_DEFINE),
    "memory": Check(_check_memory, pattern=_MEMORY),
    "limited-api": Check(_check_limited_api, pattern=_LIMITED),
    "place": Check(_check_place, pattern=_PLACE.format(words="on|off|true|false|yes|no|0|1|none")),
    "cache": Check(_check_cache, pattern=_PLACE.format(words="on|true|false|yes|no|0|1|none")),
    "positive": Check(_check_positive),
    "cuda-library": Check(
        _matches(_CUDA_LIBRARY, what="is no library of CUDA", fix="write it by CMake's name, as 'CUDA::cublas'"),
        pattern=_CUDA_LIBRARY,
    ),
}
"""The checks by the names that the model gives them."""
