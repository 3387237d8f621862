"""Puts a report into its folder."""

from __future__ import annotations

from pathlib import Path

from setuptools_cuda.config.model import Settings
from setuptools_cuda.errors import BuildError, Code, Problem
from setuptools_cuda.execute.writing import write_whole
from setuptools_cuda.report.document import render_json
from setuptools_cuda.report.page import render_page
from setuptools_cuda.report.values import Report

DOCUMENT, PAGE = "report.json", "report.html"


def write_folder(folder: Path, *, settings: Settings) -> None:
    """Make the folder of the report. Raises BuildError where nothing can be written into it."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        probe = folder / f"{DOCUMENT}.probe"
        probe.touch()
        probe.unlink()
    except OSError as error:
        raise BuildError(_unwritable(folder, error=error, settings=settings)) from error


def write_report(report: Report, *, folder: Path, settings: Settings) -> None:
    """Write ``report.json`` and ``report.html``, each whole or not at all. Raises BuildError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        write_whole(folder / DOCUMENT, render_json(report).encode("utf-8", "backslashreplace"))
        write_whole(folder / PAGE, render_page(report).encode("utf-8", "backslashreplace"))
    except OSError as error:
        raise BuildError(_unwritable(folder, error=error, settings=settings)) from error


def _unwritable(folder: Path, *, error: OSError, settings: Settings) -> Problem:
    return Problem(
        Code.NOT_WRITABLE,
        f"the report cannot be written to {folder}: {error.strerror or error}",
        where=settings.origin("report").text,
        fix=("name a folder that you may write to; it is relative to the project", "or leave the report out"),
    )
