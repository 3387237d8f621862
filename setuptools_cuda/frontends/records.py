"""The records of what builds put into the source tree, one for each interpreter."""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path

from setuptools_cuda.stage.record import read_record


def source_record(folder: Path) -> Path:
    """Return the file in our build folder that records what this interpreter's builds put into the source tree.

    Several interpreters may share a source tree, and each has extensions of its own in it.
    """
    threads = "t" if sysconfig.get_config_var("Py_GIL_DISABLED") else ""
    return folder / f"source-tree-{sys.implementation.cache_tag}{threads}.json"


def read_source_records(folder: Path) -> dict[str, str]:
    """Return what the builds of all interpreters put into the source tree, with digests. Raises BuildError."""
    records = (read_record(file) for file in sorted(folder.glob("source-tree-*.json")))
    return {name: digest for record in records for name, digest in record.items()}
