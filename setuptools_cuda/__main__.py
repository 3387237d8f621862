"""``python -m setuptools_cuda`` is the command ``setuptools-cuda``."""

from __future__ import annotations

from setuptools_cuda.cli.main import run_as_program

if __name__ == "__main__":
    run_as_program()
