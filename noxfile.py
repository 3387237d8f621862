"""Sessions: tests on every Python, linters, docs, and the lowest versions of what we ask for.

Run ``pipx run nox`` for all of them, ``nox -s tests-3.13`` for one.
"""

from __future__ import annotations

import nox

nox.options.default_venv_backend = "uv|virtualenv"
nox.options.error_on_missing_interpreters = False
nox.options.sessions = ["lint", "tests", "lowest", "docs"]

PYTHONS = ["3.10", "3.11", "3.12", "3.13"]
PYTEST = ("python", "-m", "pytest", "-n", "auto", "--maxprocesses", "8")


@nox.session(python=PYTHONS)
def tests(session: nox.Session) -> None:
    session.install("-e", ".[test,toolchain]")
    session.run(*PYTEST, *session.posargs)


@nox.session
def lint(session: nox.Session) -> None:
    session.install("-e", ".[lint]")
    session.run("ruff", "check")
    session.run("ruff", "format", "--check")
    session.run("mypy")


@nox.session
def docs(session: nox.Session) -> None:
    """Run and build every example of README and docs, and compare the generated reference."""
    session.install("-e", ".[test,toolchain]")
    session.run("python", "-m", "pytest", "tests/test_docs.py", *session.posargs)


@nox.session(python="3.10", venv_backend="uv")
def lowest(session: nox.Session) -> None:
    """Test with the oldest releases that our own requirements allow."""
    session.install("--resolution", "lowest-direct", "-e", ".[test]")
    # The toolkit is no dependency: take the release that keeps its parts together.
    session.install("cuda-toolkit[nvcc,cccl]==13.0.3.*")
    session.run(*PYTEST, *session.posargs)
