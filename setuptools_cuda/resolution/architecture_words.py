"""The words that architectures are written in, and what each of them says.

Nothing here knows a toolkit: a word is well formed or not, whichever release compiles it.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Literal

from setuptools_cuda.errors import BuildError, Code, Problem
from setuptools_cuda.resolution.values import Architecture

Dialect = Literal["ours", "cmake", "torch"]
Kind = Literal["one", "native", "all", "all-major"]
Mark = Literal["", "real", "virtual", "ptx"]
Variant = Literal["", "a", "f"]

SPELLINGS = "80, 8.0, sm_80, compute_80, 80-real, 80-virtual, 8.0+PTX, 90a, 100f, native, all or all-major"


@dataclass(frozen=True)
class Word:
    """One word of a list of architectures.

    ``architecture`` is None for 'native', 'all' and 'all-major'. ``mark`` is '' for a bare
    number, 'real' for '80-real', 'virtual' for '80-virtual' and 'compute_80', 'ptx' for
    '8.0+PTX'. 'sm_80' is a bare number, as it is in ``nvcc -arch=sm_80``, which gives PTX too.
    """

    text: str
    kind: Kind
    architecture: Architecture | None = None
    mark: Mark = ""


# https://pytorch.org/docs/stable/cpp_extension.html: the names of TORCH_CUDA_ARCH_LIST. The
# last number of a family carries its PTX, the boards of the embedded line have none.
TORCH_NAMES: dict[str, tuple[str, ...]] = {
    "kepler": ("3.5+ptx",),
    "kepler+tesla": ("3.7",),
    "maxwell": ("5.0", "5.2+ptx"),
    "maxwell+tegra": ("5.3",),
    "pascal": ("6.0", "6.1+ptx"),
    "volta": ("7.0+ptx",),
    "volta+tegra": ("7.2",),
    "turing": ("7.5+ptx",),
    "ampere": ("8.0", "8.6+ptx"),
    "ampere+tegra": ("8.7",),
    "ada": ("8.9+ptx",),
    "hopper": ("9.0+ptx",),
    "blackwell": ("10.0", "10.3", "12.0", "12.1+ptx"),
    "blackwell+tegra": ("11.0",),
    "rubin": ("10.7+ptx",),
}
# Words that stand for a list, in our own spelling and in that of PyTorch's build files.
_LISTS: dict[str, Kind] = {"native": "native", "all": "all", "all-major": "all-major"}
_TORCH_LISTS: dict[str, Kind] = {"auto": "native", "common": "all-major"}

_SEPARATORS = re.compile(r"[\s;,]+")
_NUMBER = re.compile(
    r"(?P<prefix>sm_|compute_)?(?:(?P<number>[1-9][0-9]{1,2})|(?P<major>[1-9][0-9]?)\.(?P<minor>[0-9]))"
    r"(?P<variant>[af]?)(?P<suffix>-real|-virtual|\+ptx)?"
)
# '75.0' is 7.5 written wrongly, and not the architecture 750: https://developer.nvidia.com/cuda-gpus ends at 12.
_MAJORS = 29
_PREFIX_MARKS: dict[str, Mark] = {"": "", "sm_": "", "compute_": "virtual"}
_SUFFIX_MARKS: dict[str, Mark] = {"": "", "-real": "real", "-virtual": "virtual", "+ptx": "ptx"}
_VARIANTS: dict[str, Variant] = {"": "", "a": "a", "f": "f"}


def parse_architectures(words: Sequence[str] | str, *, where: str, dialect: Dialect = "ours") -> tuple[Word, ...]:
    """Return the words of a list of architectures, in the order they were written.

    ``words`` are one text or several, each with any of the separators ``;`` ``,`` and white
    space. The dialects 'torch' and 'cmake' add the names of ``TORCH_CUDA_ARCH_LIST`` and the
    word ``OFF`` of ``CMAKE_CUDA_ARCHITECTURES``; for 'OFF' nothing is returned.

    Raises:
        BuildError: BAD_ARCHITECTURE, naming ``where`` and every malformed word at once.
    """
    tokens = _split(words)
    if dialect == "cmake" and [token.casefold() for token in tokens] == ["off"]:
        return ()
    problem = _find_problem(tokens, where=where, dialect=dialect)
    if problem is not None:
        raise BuildError(problem)
    return tuple(word for token in tokens for word in _parse_token(token, dialect=dialect))


def check_architectures(words: Sequence[str] | str, *, where: str, dialect: Dialect = "ours") -> Problem | None:
    """Return what :func:`parse_architectures` would raise, or None for a well-formed list."""
    try:
        parse_architectures(words, where=where, dialect=dialect)
    except BuildError as error:
        return error.problems[0]
    return None


def parse_architecture(text: str, *, where: str) -> Architecture:
    """Return the single architecture that a bound such as ``max-architecture`` names.

    Raises:
        BuildError: BAD_ARCHITECTURE for anything but one number, with or without a variant.
    """
    words = parse_architectures(text, where=where)
    found = words[0].architecture
    if len(words) > 1 or found is None or words[0].mark:
        what = f"{_quote(text)} is not one architecture"
        raise BuildError(Problem(Code.BAD_ARCHITECTURE, what, where, fix=("write one number, as 90 or 9.0",)))
    return found


def speaks_of_ptx(words: Iterable[Word]) -> bool:
    """Return whether any word asks for PTX by itself, so that none is added."""
    return any(word.mark in ("virtual", "ptx") for word in words)


def _split(words: Sequence[str] | str) -> tuple[str, ...]:
    texts = (words,) if isinstance(words, str) else words
    return tuple(token for text in texts for token in _SEPARATORS.split(text) if token)


def _parse_token(token: str, *, dialect: Dialect) -> tuple[Word, ...]:
    folded = token.casefold()
    kind = _LISTS.get(folded) or (_TORCH_LISTS.get(folded) if dialect == "torch" else None)
    if kind is not None:
        return (Word(token, kind),)
    if dialect == "torch" and (numbers := _find_torch_name(folded)):
        return tuple(word for number in numbers for word in _parse_number(number, text=token))
    return _parse_number(folded, text=token)


def _parse_number(folded: str, *, text: str) -> tuple[Word, ...]:
    match = _NUMBER.fullmatch(folded)
    if match is None:
        return ()
    prefix, suffix = match["prefix"] or "", match["suffix"] or ""
    mark = _SUFFIX_MARKS[suffix] or _PREFIX_MARKS[prefix]
    if prefix and suffix and (prefix, mark) not in {("sm_", "real"), ("sm_", "ptx"), ("compute_", "virtual")}:
        return ()
    if match["major"] and int(match["major"]) > _MAJORS:
        return ()
    number = int(match["number"] or match["major"] + match["minor"])
    return (Word(text, "one", Architecture(number, _VARIANTS[match["variant"]]), mark),)


def _find_torch_name(folded: str) -> tuple[str, ...]:
    if folded in TORCH_NAMES:
        return TORCH_NAMES[folded]
    # 'Hopper+PTX' asks for the PTX that the name brings anyway, 'Ampere+Tegra+PTX' for its own.
    name, plus, rest = folded.rpartition("+")
    numbers = TORCH_NAMES.get(name, ()) if plus and rest == "ptx" else ()
    return (*numbers[:-1], numbers[-1].removesuffix("+ptx") + "+ptx") if numbers else ()


def _find_problem(tokens: Sequence[str], *, where: str, dialect: Dialect) -> Problem | None:
    bad = tuple(dict.fromkeys(token for token in tokens if not _parse_token(token, dialect=dialect)))
    details: tuple[tuple[str, str], ...] = ()
    if not tokens:
        what = "no architecture is named"
    elif bad:
        what = (
            f"{' and '.join(map(_quote, bad))} {'is not an architecture' if len(bad) == 1 else 'are no architectures'}"
        )
        details = tuple((_quote(token), hint) for token in bad if (hint := _suggest(token)))
    else:
        return None
    fix = [f"write architectures as {SPELLINGS}"]
    if dialect == "torch":
        fix.append(f"or by PyTorch's names: {', '.join(name.title() for name in TORCH_NAMES if '+' not in name)}")
    return Problem(Code.BAD_ARCHITECTURE, what, where, details, tuple(fix))


def _suggest(token: str) -> str:
    """Return what was perhaps meant, as a phrase, or ''."""
    folded = token.casefold()
    if numbers := _find_torch_name(folded):
        plain = ", ".join(number.replace("ptx", "PTX") for number in numbers)
        return f"a name of TORCH_CUDA_ARCH_LIST; here write {plain}"
    if folded in _TORCH_LISTS:
        return f"a word of TORCH_CUDA_ARCH_LIST; here write {_TORCH_LISTS[folded]}"
    return _suggest_word(folded)


def _suggest_word(folded: str) -> str:
    if re.fullmatch("[1-9]", folded):
        return f"did you mean {folded}0 (compute capability {folded}.0)?"
    if re.fullmatch(r"compute_\S+-real|(sm_\S+)-virtual", folded):
        return "the two halves contradict each other: sm_ is machine code, compute_ is PTX"
    close = difflib.get_close_matches(folded, _LISTS, n=1, cutoff=0.6)
    if close:
        return f"did you mean {close[0]}?"
    if point := re.fullmatch(r"([1-9])([0-9])\.0([af]?)", folded):
        return f"did you mean {point[1]}.{point[2]}{point[3]}?"
    digits = re.search(r"(?<![0-9])([1-9][0-9]{1,2})([af]?)(?![0-9a-z])", folded)
    return f"did you mean {digits[1]}{digits[2]}?" if digits else ""


def _quote(text: str) -> str:
    return repr(text if len(text) <= 40 else text[:37] + "...")
