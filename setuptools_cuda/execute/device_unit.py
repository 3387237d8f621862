"""Writes the source that makes kernels of templates for nvcc: it includes theirs, and takes each one's address."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

from setuptools_cuda.execute.device_program import run_program, write_text


def main(argv: Sequence[str]) -> None:
    """Write what the arguments say."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--include", required=True)
    parser.add_argument("--instantiate", action="append", required=True)
    parser.add_argument("--output", required=True)
    given = parser.parse_args(list(argv))
    write_text(Path(given.output), render_unit(given.include, expressions=given.instantiate))


def render_unit(source: str, *, expressions: Sequence[str]) -> str:
    """Return the text of a source that instantiates ``expressions`` of the templates in ``source``."""
    # The address of a kernel instantiates it, whatever its parameters are, which an explicit
    # instantiation would have to repeat.
    uses = (
        f"__attribute__((used)) static auto const setuptools_cuda_{number} = {expression};\n"
        for number, expression in enumerate(expressions)
    )
    return f'#include "{source}"\n' + "".join(uses)


if __name__ == "__main__":
    sys.exit(run_program(main))
