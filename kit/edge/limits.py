"""How much memory this process may take, how many cores and tasks a Spark may be asked for."""

import os
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

from msgspec import Struct
from msgspec.structs import astuple

from kit.errors import BadInput, counted

try:
    import resource
except ImportError:  # a page's Python: nothing tells what it takes, and nothing limits it
    HAS_LIMITS = False
else:
    HAS_LIMITS = True

CGROUPS = Path("/sys/fs/cgroup")
OWN_CGROUP = Path("/proc/self/cgroup")
STATM = Path("/proc/self/statm")
UNLIMITED = 1 << 60  # bytes: what stands for no limit is at least so much
NEARLY = 0.75  # of a limit
MOST_MEMBERS = 1000  # of an archive, or of a folder that is read as one
MOST_PACKED = 256 << 20  # bytes of an archive as it lies on the disk
MOST_UNPACKED = 512 << 20  # bytes of all that is in an archive
MOST_TIMES = 300  # an archive's content to its packed size: rows of one table pack to a fiftieth
FREELY_UNPACKED = 1 << 20  # bytes: so many may come of any archive
ALONE = sys.platform in ("emscripten", "wasi")
"""Whether Python has one thread and no process beside it, as in a page.

Then nobody looks after what computes: who began it can end the page's worker, as a whole.
"""
MOST_TASKS = 100_000  # of one job of Spark's: with more, all its time goes into counting them


class Usage(Struct, frozen=True):
    """Bytes that the process has now: in memory, as addresses, as data."""

    resident: int
    addresses: int
    data: int


def usage() -> Usage:
    """The memory and time of the process now; at the most so far, where nothing tells."""
    try:
        words = STATM.read_text(encoding="ascii").split()
    except OSError:
        if not HAS_LIMITS:
            return Usage(0, 0, 0)
        unit = 1 if sys.platform == "darwin" else 1024
        return Usage(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit, 0, 0)
    pages = os.sysconf("SC_PAGE_SIZE")
    return Usage(int(words[1]) * pages, int(words[0]) * pages, int(words[5]) * pages)


def limits() -> Usage:
    """The most of each that the process may have."""
    if not HAS_LIMITS:
        return Usage(UNLIMITED, UNLIMITED, UNLIMITED)
    physical = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    own = (resource.getrlimit(which)[0] for which in (resource.RLIMIT_AS, resource.RLIMIT_DATA))
    soft = (UNLIMITED if each == resource.RLIM_INFINITY else each for each in own)
    return Usage(min([physical, *_of_container()]), *soft)


def most_files() -> int:
    """How many files and connections the process may have open."""
    most = resource.getrlimit(resource.RLIMIT_NOFILE)[0] if HAS_LIMITS else 0
    return most if most > 0 else UNLIMITED


def is_tight(most: Usage) -> bool:
    """Whether the process nears one of the limits: it has three quarters of it."""
    pairs = zip(astuple(usage()), astuple(most), strict=True)
    return any(has > limit * NEARLY for has, limit in pairs)


def spare() -> int:
    """The bytes that the process may still take before it nears a limit."""
    pairs = zip(astuple(usage()), astuple(limits()), strict=True)
    least: int = min(int(limit * NEARLY) - has for has, limit in pairs)
    return max(0, least)


def check_room(field: str, value: object, estimate: int) -> None:
    """Refuse work beyond the memory there is. Raises BadInput with the estimate and the room."""
    room = spare()
    if estimate > room:
        allowed = f"work within {spoken(room)} of memory, but this needs about {spoken(estimate)}"
        raise BadInput(field, value, allowed)


def most_unpacked(packed: int) -> int:
    """How many bytes may come of an archive of this size: of a bomb it would be far more."""
    return min(MOST_UNPACKED, max(FREELY_UNPACKED, packed * MOST_TIMES))


def shortage() -> str:
    """A sentence for when memory runs out in spite of that."""
    return f"memory: none left, with {spoken(usage().resident)} in use"


def most_cores() -> int:
    """How many threads may be asked to work at once: eight a core, or 64 on a small machine."""
    return max(64, 8 * (os.cpu_count() or 1))


def spoken(number: int) -> str:
    """``8 kB``, ``32 MB``: rounded to whole units of a thousand."""
    for unit, size in (("GB", 10**9), ("MB", 10**6), ("kB", 10**3)):
        if number >= size:
            return f"{round(number / size):,} {unit}"
    return counted(number, "byte")


def _of_container() -> Iterator[int]:
    """The limits of the process's control groups, of both versions, from its own up to the root."""
    try:
        lines = OWN_CGROUP.read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        lines = []
    for line in ["0::/", "0:memory:/", *lines]:
        _, kinds, place = [*line.split(":", 2), "", ""][:3]
        if kinds == "":
            base, name = CGROUPS, "memory.max"
        elif "memory" in kinds.split(","):
            base, name = CGROUPS / "memory", "memory.limit_in_bytes"
        else:
            continue
        group = base / place.lstrip("/")
        while True:
            with suppress(OSError, ValueError):  # there is none; or it says max
                yield int((group / name).read_text(encoding="ascii"))
            if group in (base, group.parent):
                break
            group = group.parent
