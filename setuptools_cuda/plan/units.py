"""Sources of ours that instantiate the templates of a project's source for nvcc. Pure."""

from __future__ import annotations

from collections.abc import Sequence

from setuptools_cuda.plan.options import OUT, program
from setuptools_cuda.plan.paths import digest, without_suffix
from setuptools_cuda.plan.values import Job, Output


def unit_file(source: str, *, key: str) -> str:
    """Return such a source's place, relative to the build folder.

    Its name is another than that of ``source``: a source at the project's root would else include itself.
    """
    return f"generated/{key}/{without_suffix(source).rsplit('/', 1)[-1]}_instances.cu"


def plan_unit(file: str, *, source: str, expressions: Sequence[str], key: str, used_by: tuple[str, ...]) -> Job:
    """Return the job that writes the source ``file``, which includes ``source`` and instantiates ``expressions``."""
    words = (word for expression in expressions for word in ("--instantiate", expression))
    return Job(
        key=digest(key, "unit"),
        kind="device",
        argv=(*program("device_unit.py"), "--include", source, *words, "--output", OUT),
        inputs=(),
        needs=(),
        outputs=(Output("source", file),),
        title=f"the instantiations of {source}",
        used_by=used_by,
    )
