"""Random edits, each followed by a build: as many compiles as had to be, and what a build from scratch gives."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest
from rebuild_walk import Walk


@pytest.mark.parametrize(("seed", "cache"), [(1, False), (2, True)], ids=["without a cache", "with a cache"])
def test_random_edits(tmp_path: Path, bare_environment: Mapping[str, str], seed: int, cache: bool) -> None:
    walk = Walk(tmp_path, bare_environment, seed=seed, cache=cache)
    for _ in range(6):
        walk.step()
    assert walk.compiled > 6
