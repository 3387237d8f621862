"""How much memory is left: of the machine, and within each limit of the control groups we are in.

Sources: proc(5) for ``/proc/meminfo``, ``/proc/self/cgroup`` and ``/proc/self/mountinfo``; the
kernel's documents "Control Group v2" and "Memory Resource Controller" for the files of a group.
Imports little: each compile asks while it runs.
"""

from __future__ import annotations

import os

Group = tuple[str, str, str]
"""The files of one group that has a limit: the limit, what is used, and what of that can be given back."""
_V2 = ("memory.max", "memory.current", "memory.stat")
_V1 = ("memory.limit_in_bytes", "memory.usage_in_bytes", "memory.stat")
_NO_LIMIT = 1 << 60
"""Version 1 says a number near 2**63 where there is no limit."""
_FILE_PAGES = ("inactive_file", "active_file", "total_inactive_file", "total_active_file")


def find_groups(*, proc: str = "/proc/self") -> tuple[Group, ...]:
    """Return the memory groups that this process is in and that have a limit, their parents included."""
    mounts = _mounts(f"{proc}/mountinfo")
    found: list[Group] = []
    for line in _lines(f"{proc}/cgroup"):
        number, controllers, path = line.split(":", 2)
        kind, files = ("cgroup2", _V2) if number == "0" and not controllers else ("memory", _V1)
        if kind == "memory" and "memory" not in controllers.split(","):
            continue
        for mount, root in mounts.get(kind, ()):
            found.extend(_limited(mount, root=root, path=path, files=files))
    return tuple(dict.fromkeys(found))


def _mounts(file: str) -> dict[str, list[tuple[str, str]]]:
    """Return by kind where groups are mounted, with the group that the mount shows as its top."""
    found: dict[str, list[tuple[str, str]]] = {}
    for line in _lines(file):
        before, _, after = line.partition(" - ")
        fields, rest = before.split(), after.split()
        if len(fields) < 5 or not rest:
            continue
        mount = fields[4].replace("\\040", " ")
        if rest[0] == "cgroup2":
            found.setdefault("cgroup2", []).append((mount, fields[3]))
        elif rest[0] == "cgroup" and "memory" in rest[-1].split(","):
            found.setdefault("memory", []).append((mount, fields[3]))
    return found


def _limited(mount: str, *, root: str, path: str, files: tuple[str, str, str]) -> list[Group]:
    """Return the groups with a limit from our own up to the mount's top."""
    inside = path[len(root) :] if root != "/" and path.startswith(root) else path
    # In a container the path may be one of the host's: then what is mounted is all that we are told.
    if not os.path.isdir(mount + inside):  # noqa: PTH112 - pathlib is slow to import
        inside = ""
    parts = [part for part in inside.split("/") if part]
    groups = ["/".join([mount, *parts[:depth]]) for depth in range(len(parts), -1, -1)]
    return [
        (f"{group}/{files[0]}", f"{group}/{files[1]}", f"{group}/{files[2]}")
        for group in groups
        if 0 < _number(f"{group}/{files[0]}") < _NO_LIMIT
    ]


def read_headroom(groups: tuple[Group, ...] | list[list[str]], *, meminfo: str = "/proc/meminfo") -> int:
    """Return the bytes that can still be taken before something is killed; 0 where that is unknown."""
    rooms = [max(1, _number(limit) - _used(used, stat)) for limit, used, stat in groups if _number(limit)]
    available = _available(meminfo)
    return min([*rooms, *([available] if available else [])], default=0)


def _used(current: str, stat: str) -> int:
    """Return what a group holds and cannot give back: pages of files can be read again."""
    counts = dict(line.split() for line in _lines(stat) if line.count(" ") == 1)
    total = [int(counts[name]) for name in _FILE_PAGES[2:] if name in counts]
    pages = total or [int(counts[name]) for name in _FILE_PAGES[:2] if name in counts]
    return _number(current) - sum(pages)


def _available(meminfo: str) -> int:
    return next((int(line.split()[1]) * 1024 for line in _lines(meminfo) if line.startswith("MemAvailable:")), 0)


def _number(file: str) -> int:
    text = next(iter(_lines(file)), "").strip()
    return int(text) if text.isdecimal() else 0


def _lines(file: str) -> list[str]:
    try:
        with open(file, encoding="utf-8", errors="replace") as text:  # noqa: PTH123 - pathlib is slow to import
            return text.read().splitlines()
    except OSError:
        return []
