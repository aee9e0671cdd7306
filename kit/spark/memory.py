"""How much memory this process and all that it started hold at most: Python, Java, workers."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from types import TracebackType

from kit.edge.arguments import checked
from kit.spark.looking import Looking

PAGE = os.sysconf("SC_PAGE_SIZE")
PROC = Path("/proc")


class Peak:
    """Samples the resident memory of a process tree while it is entered.

    Resident sizes are added up, so that pages which processes share count several times: the true
    peak is at most ``peak`` (bytes).
    """

    @checked
    def __init__(self, seconds: float = 0.2) -> None:
        """Sample every so many seconds."""
        self.peak = 0
        self._seconds = seconds
        self._looking: Looking | None = None

    def __enter__(self) -> Peak:
        self._looking = Looking(self._seconds, self._look).__enter__()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if self._looking is not None:
            self._looking.__exit__()
        self._look()

    def _look(self) -> None:
        self.peak = max(self.peak, resident())

    def __repr__(self) -> str:
        return f"peak of all processes: {self.peak / 2**30:.1f} GiB"


def resident(root: int | None = None) -> int:
    """The resident bytes of a process and all its descendants, now; this one's by default."""
    processes = _listed()
    children: dict[int, list[int]] = {}
    for process, (parent, _) in processes.items():
        children.setdefault(parent, []).append(process)
    total, waiting = 0, [os.getpid() if root is None else root]
    while waiting:
        process = waiting.pop()
        total += processes.get(process, (0, 0))[1]
        waiting += children.get(process, [])
    return total


def _listed() -> dict[int, tuple[int, int]]:
    """(parent, resident bytes) of every process."""
    if not (PROC / "self" / "stat").exists():
        return _process_sizes()
    processes = {}
    for folder in PROC.iterdir():
        if folder.name.isdecimal():
            try:
                # The second field is the program's name in brackets, which may hold anything.
                fields = (folder / "stat").read_text(errors="replace").rpartition(")")[2].split()
            except OSError:
                continue  # it has ended meanwhile
            processes[int(folder.name)] = (int(fields[1]), int(fields[21]) * PAGE)
    return processes


def _process_sizes() -> dict[int, tuple[int, int]]:
    """The same from ``ps``, where there is no /proc."""
    command = ["ps", "-axo", "pid=,ppid=,rss="]
    listing = subprocess.run(command, check=True, capture_output=True, text=True).stdout
    rows = (line.split() for line in listing.splitlines())
    return {int(pid): (int(parent), int(size) * 1024) for pid, parent, size in rows}
