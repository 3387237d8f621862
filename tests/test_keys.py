"""Every key of the table has a test that shows its effect."""

from __future__ import annotations

import importlib
from pathlib import Path

from keys_support import SHOWN

from setuptools_cuda.config.keys import SCOPES

EVERY = {f"{scope.name}.{name}" for scope in SCOPES for name in scope.keys}


def test_every_key_has_a_test_that_shows_its_effect() -> None:
    folder = Path(__file__).parent
    for file in sorted((*folder.glob("test_keys_*.py"), folder / "test_scikit_build.py")):
        importlib.import_module(file.stem)
    covered = {name for names in SHOWN.values() for name in names}
    assert sorted(covered) == sorted(EVERY)
