"""Every layout in every isolation. Not part of the default run: ``nox -s layouts``, or pytest on this file.

It downloads the newest toolkit, mounts (so it has to be root, or in a namespace where it may), and takes Debian's
packages from ``$DEBIAN_TOOLKITS``: the folders ``11.8`` (of bookworm) and ``12.4`` (of trixie) hold what
``dpkg -x`` makes of ``apt-get download nvidia-cuda-toolkit nvidia-cuda-dev libnvvm4 libthrust-dev libcub-dev
libcu++-dev`` and of ``libcudart11.0`` or ``libcudart12``, all of the component non-free.
"""

from __future__ import annotations

from pathlib import Path

import pytest
from layouts_support import ISOLATIONS, LAYOUTS, MORE, Cell, Layout


@pytest.mark.parametrize("layout", [*LAYOUTS, *MORE], ids=lambda each: each.name)
@pytest.mark.parametrize("isolation", ISOLATIONS)
def test_cell(
    layout: Layout,
    isolation: str,
    toolkit_nvcc: Path,
    our_wheel: Path,
    shared_folder: Path,
    tmp_path: Path,
    bare_environment: dict[str, str],
) -> None:
    cell = Cell(layout, isolation, toolkit_nvcc, our_wheel, shared_folder)
    status, said = cell.build(tmp_path, variables=bare_environment)
    cell.check(tmp_path, status=status, said=said)
