"""Files of a job that are written whole, and folders that are thrown away, without slow imports."""

from __future__ import annotations

import os


def write_beside(path: str, data: bytes) -> None:
    """Write ``data`` to ``path`` by way of a file beside it, so that nobody ever sees a part of it."""
    fresh = f"{path}.{os.getpid()}.new"
    try:
        with open(fresh, "wb") as file:  # noqa: PTH123 - pathlib is slow to import
            file.write(data)
        os.replace(fresh, path)  # noqa: PTH105 - the same
    except OSError:
        remove_tree(fresh)
        raise


def remove_tree(path: str) -> None:
    """Remove a file, or a folder with all that is in it, as far as that goes; missing ones are fine."""
    try:
        if not os.path.isdir(path) or os.path.islink(path):  # noqa: PTH112, PTH114 - pathlib is slow to import
            os.unlink(path)  # noqa: PTH108 - the same
            return
        for name in os.listdir(path):  # noqa: PTH208 - the same
            remove_tree(f"{path}/{name}")
        os.rmdir(path)  # noqa: PTH106 - the same
    except OSError:
        return
