"""How large each room of the project may be, and how large it is: ``python -m tools.budget``.

``budget.toml`` has the most lines of Python of each room (a folder; a family is a room of its own),
lines of data of the tests, bytes of scripts and of styles, and the sums. A room grows when the same
commit raises its figure and says why behind it. ``--lower`` brings figures down to what stands.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
FILE = ROOT / "budget.toml"
PARTS = ("kit", "tests", "tools", "benchmarks")
BYTES = {".js": "scripts", ".mjs": "scripts", ".css": "styles"}
DATA = "data of tests"


def rooms() -> dict[str, int]:
    """The size of each room: lines of Python, or bytes of scripts and styles; then the sums."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z", *PARTS],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    found: Counter[str] = Counter()
    for name in filter(None, listed.split("\0")):
        path = ROOT / name
        if not path.is_file():
            continue
        top, *rest = Path(name).parts[:-1]
        if path.suffix in BYTES:
            found[BYTES[path.suffix]] += path.stat().st_size
        elif path.suffix == ".py":
            room = "/".join((top, *rest[: 2 if rest[:1] == ["protocols"] else 1]))
            lines = path.read_bytes().count(b"\n")
            found[room] += lines
            found[f"all of {top}"] += lines
        elif top == "tests":
            found[DATA] += path.read_bytes().count(b"\n")
    return dict(sorted(found.items()))


def budget(text: str | None = None) -> dict[str, int]:
    """What each room may have."""
    read = tomllib.loads(FILE.read_text(encoding="utf-8") if text is None else text)
    return {room: int(most) for room, most in read.items()}


def excesses(have: dict[str, int], may: dict[str, int]) -> list[str]:
    """A line for each room that is larger than it may be, has no figure, or is not there."""
    over = [f"{room}: {size:,}, {size - may[room]:,} above its budget"
            for room, size in have.items() if size > may.get(room, size)]  # fmt: skip
    over += [f"{room}: has {have[room]:,}, and no budget" for room in have.keys() - may.keys()]
    return over + [f"{room}: is not there" for room in may.keys() - have.keys()]


def lowered(text: str, have: dict[str, int]) -> str:
    """The budget with each figure brought down to what stands; what is said behind it stays."""

    def figure(line: re.Match[str]) -> str:
        room, most = line[1], int(line[2].replace("_", ""))
        return f'"{room}" = {min(most, have.get(room, most)):_}'

    return re.sub(r'^"([^"]+)" = ([\d_]+)', figure, text, flags=re.MULTILINE)


def main() -> int:
    """Print each room beside its budget; 1 where one is larger."""
    have = rooms()
    if "--lower" in sys.argv[1:]:
        FILE.write_text(lowered(FILE.read_text(encoding="utf-8"), have), encoding="utf-8")
    may = budget()
    for room, size in have.items():
        print(f"{room:<28} {size:>9,} of {may.get(room, 0):>9,}")
    over = excesses(have, may)
    print("".join(f"budget: {line}\n" for line in over), end="")
    return int(bool(over))


if __name__ == "__main__":
    sys.exit(main())
