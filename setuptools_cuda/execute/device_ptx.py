"""Checks hand-written PTX by ptxas, and hands on its text as it is."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

if __name__ == "__main__":
    sys.path.insert(0, str(Path(__file__).parents[2]))

from setuptools_cuda.execute.device_program import FailedCompileError, run_program
from setuptools_cuda.process import run_inheriting


def main(argv: Sequence[str]) -> None:
    """Check as the arguments say. Raises FailedCompileError with what ptxas said."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--ptxas", required=True)
    parser.add_argument("--arch", required=True)
    parser.add_argument("--output", required=True)
    parser.add_argument("source")
    given = parser.parse_args(list(argv))
    text = Path(given.source).read_bytes()
    output = Path(given.output)
    done = run_inheriting([given.ptxas, f"-arch={given.arch}", given.source, "-o", str(output)])
    if done.status != 0:
        raise FailedCompileError(f"ptxas does not accept {given.source}\n{done.output.strip()}")
    if done.output:
        sys.stdout.write(done.output)
    output.write_bytes(text)


if __name__ == "__main__":
    sys.exit(run_program(main))
