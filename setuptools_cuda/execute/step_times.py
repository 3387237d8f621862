"""How long each program took that nvcc ran, by its option ``--time``. Quick to import."""

from __future__ import annotations

OPTION = "--time"
"""nvcc appends a row to the file for each of its phases (CUDA Compiler Driver NVCC, "--time")."""


def read_step_times(path: str) -> list[str]:
    """Return program, architecture and milliseconds of each row, in turn; nothing where there is no such file."""
    try:
        with open(path, encoding="utf-8", errors="replace") as file:  # noqa: PTH123 - pathlib is slow to import
            rows = [[cell.strip() for cell in line.split(" , ")] for line in file]
    except OSError:
        return []
    found: list[str] = []
    for row in rows:
        # A comma in a path moves the cells before the last four; such a row is left out.
        if len(row) == 8 and row[-1] == "ms" and row[1] != "nvcc (driver)":
            found += [row[1], row[4], row[6]]
    return found
