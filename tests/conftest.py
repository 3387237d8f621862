"""Fixtures that several test files share: a real toolkit, a bare environment, our own wheel."""

from __future__ import annotations

import fcntl
import importlib.metadata
import os
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import pytest
from sample_support import build_sample

ROOT = Path(__file__).resolve().parent.parent

# What pip and uv need of the outer environment to reach an index: nothing here says anything about CUDA.
_PASSED_ON = (
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "REQUESTS_CA_BUNDLE",
    "CURL_CA_BUNDLE",
    "XDG_CONFIG_HOME",
    "XDG_CONFIG_DIRS",
    "http_proxy",
    "https_proxy",
    "no_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "NO_PROXY",
)


@pytest.fixture(scope="session")
def toolkit_nvcc() -> Path:
    """Return the nvcc of the toolkit wheels in the test environment; a missing one is a failure."""
    try:
        distribution = importlib.metadata.distribution("nvidia-cuda-nvcc")
    except importlib.metadata.PackageNotFoundError:
        pytest.fail("the tests need nvcc from pip: pip install 'setuptools-cuda-build[toolchain]'")
    found = sorted(
        str(distribution.locate_file(file)) for file in distribution.files or () if file.match("nvidia/cu*/bin/nvcc")
    )
    if not found:
        pytest.fail(f"nvidia-cuda-nvcc {distribution.version} holds no nvidia/cu*/bin/nvcc")
    return Path(found[-1]).resolve()


def make_bare_environment(home: Path) -> dict[str, str]:
    """Return the variables of a machine on which CUDA was never heard of, but pip works."""
    outer = {name: value for name, value in os.environ.items() if name.startswith(("PIP_", "UV_"))}
    outer.update({name: os.environ[name] for name in _PASSED_ON if name in os.environ})
    # pip's cache is kept, or each isolated build would download the toolkit anew.
    outer.setdefault("PIP_CACHE_DIR", str(Path.home() / ".cache" / "pip"))
    outer.setdefault("UV_CACHE_DIR", str(Path.home() / ".cache" / "uv"))
    return {**outer, "PATH": "/usr/bin:/bin", "HOME": str(home), "LANG": "C.UTF-8"}


@pytest.fixture
def bare_environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return a bare environment with a home of its own."""
    return make_bare_environment(tmp_path_factory.mktemp("home"))


@pytest.fixture(scope="session")
def pip_toolchain_environment(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """Return a bare environment in which builds take their compiler from pip, whatever the machine has."""
    steps = {"SETUPTOOLS_CUDA_TOOLCHAIN_STEPS": "wheel pip"}
    return {**make_bare_environment(tmp_path_factory.mktemp("home")), **steps}


@contextmanager
def only_one_worker(folder: Path) -> Iterator[None]:
    """Hold a lock in ``folder``, so that of several pytest-xdist workers one does the work."""
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@pytest.fixture(scope="session")
def shared_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder that all workers of this one test run share."""
    base = tmp_path_factory.getbasetemp()
    folder = (base.parent if "PYTEST_XDIST_WORKER" in os.environ else base) / "shared"
    folder.mkdir(exist_ok=True)
    return folder


@pytest.fixture(scope="session")
def our_wheel(shared_folder: Path) -> Path:
    """Return the wheel of this project, built once a test run from the tree as it stands."""
    folder = shared_folder / "our-wheel"
    folder.mkdir(exist_ok=True)
    with only_one_worker(folder):
        if not list(folder.glob("*.whl")):
            command = [sys.executable, "-m", "build", "--wheel", "--no-isolation", "--outdir", str(folder), str(ROOT)]
            done = subprocess.run(command, capture_output=True, text=True, check=False)
            assert done.returncode == 0, done.stdout + done.stderr
    (wheel,) = folder.glob("*.whl")
    return wheel


@pytest.fixture(scope="session")
def sample_build(shared_folder: Path, our_wheel: Path, pip_toolchain_environment: dict[str, str]) -> Path:
    """Return a folder with the sample's wheel in ``wheels``, built once a test run by pip's default isolation."""
    folder = shared_folder / "sample"
    folder.mkdir(exist_ok=True)
    with only_one_worker(folder):
        if not (folder / "done").exists():
            build_sample(folder, our_wheel=our_wheel, env=pip_toolchain_environment)
            (folder / "done").touch()
    return folder


@pytest.fixture
def make_project(tmp_path: Path) -> Callable[[Mapping[str, str]], Path]:
    """Return a function that writes files (path to text) into a new folder and returns the folder."""
    made = 0

    def make(files: Mapping[str, str], name: str = "project") -> Path:
        nonlocal made
        made += 1
        folder = tmp_path / (name if made == 1 else f"{name}{made}")
        for path, text in files.items():
            file = folder / path
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text, encoding="utf-8")
        return folder

    return make
