"""What a job's runner needs to know. Pure."""

from __future__ import annotations

from setuptools_cuda.execute.fields import render_fields
from setuptools_cuda.plan.values import Job


def job_name(job: Job) -> str:
    """Return the name by which a job goes in its build folder."""
    return f"{job.kind}-{job.key}"


def render_spec(job: Job) -> bytes:
    """Return the job file of ``job``. Raises ValueError for a control character in a word of it."""
    return render_fields(
        {
            "kind": [job.kind],
            "argv": job.argv,
            "title": [job.title],
            "source": [job.inputs[0] if job.inputs else ""],
            "used_by": job.used_by,
            "roles": [output.role for output in job.outputs],
            "files": [output.file for output in job.outputs],
            "codes": [str(code.architecture) for code in job.codes],
            "depfile": ["yes"] if job.depfile else [],
            **({"launched": ["yes"]} if job.launched else {}),
        }
    )
