"""What a launcher, such as ccache, is told besides its command. Pure."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from setuptools_cuda.plan.values import Job

_SAID = ("CCACHE_HASHDIR", "CCACHE_NOHASHDIR")
_NAMES_FOLDER = frozenset({"-lineinfo", "--generate-line-info", "-G", "--device-debug"})
"""Options of nvcc that put the project's folder into an object, whatever it is told of prefixes."""


def launcher_variables(jobs: Sequence[Job], *, variables: Mapping[str, str]) -> dict[str, str]:
    """Return variables for the launchers of ``jobs``.

    ccache takes the folder of a compile for a part of its input (its manual, "hash_dir"). Ours give
    the same object in any folder, so that one cache serves all clones; unless the user says otherwise.
    """
    launched = [job for job in jobs if job.launched]
    said = any(name in variables for name in _SAID)
    if not launched or said or any(word in _NAMES_FOLDER for job in launched for word in job.argv):
        return {}
    return {"CCACHE_NOHASHDIR": "true"}
