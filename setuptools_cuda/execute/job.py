"""One job of a build, run as a program of its own by ninja.

It starts the compiler in a scratch folder, moves what came out to its place only after the
compiler has succeeded, and leaves a result of what was read, or a record of how it failed.
Nothing is ever half-written.

Run as ``python -I -S job.py SPEC``: it is started once for each compile, so it imports little.
"""

from __future__ import annotations

import os
import sys
import time

if __name__ == "__main__":
    sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__)))))  # noqa: PTH100, PTH120 - pathlib is slow to import

from setuptools_cuda.execute.attempt import Attempt

_INTERRUPTED = 130
"""The status of a program that Ctrl-C ended, as shells give it."""


def main(argv: list[str]) -> int:
    """Run the job that the first argument names."""
    started = time.monotonic_ns()
    build, _, spec = argv[0].rpartition("/jobs/")
    attempt = Attempt(build, name=spec.rpartition(".")[0], started=started)
    # The build's lock lives as long as its jobs; compilers that outlive them are no part of it.
    attempt.let_go_of_lock()
    try:
        return attempt.work()
    except KeyboardInterrupt:
        return _INTERRUPTED


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
