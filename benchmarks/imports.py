"""How long importing the kit takes, and its engine, in a fresh Python; against an empty one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator

from benchmarks.figures import Figure, show, spoken

ROUNDS = 7
AIM = 0.2
HEAVY = ("pandas", "pyspark", "matplotlib")
PROGRAMS = (
    ("import kit", "import kit", True),
    (
        "import kit, timeline, search, traces",
        "import kit.model.timeline, kit.search.check, kit.model.trace",
        True,
    ),
    ("... and build twophase", "import kit; kit.build('twophase')", False),
    ("... and build tcm (numpy)", "import kit; kit.build('tcm')", False),
)


def took(program: str) -> float:
    """Seconds that the program takes in a fresh Python, by its own clock; the best of some."""
    timed = (
        "import sys, time; began = time.perf_counter()\n"
        f"{program}\n"
        "print(time.perf_counter() - began)\n"
        f"assert not {HEAVY!r} or not set({HEAVY!r}) & set(sys.modules)"
    )
    command = [sys.executable, "-c", timed]
    outputs = [
        subprocess.run(command, capture_output=True, text=True, check=True).stdout
        for _ in range(ROUNDS)
    ]
    return min(float(output) for output in outputs)


def figures() -> Iterator[Figure]:
    """A row a program; none of them loads pandas, pyspark or matplotlib."""
    numpy = took("import numpy")
    for name, program, aimed in PROGRAMS:
        ours = took(program)
        yield Figure(
            name,
            spoken(ours),
            f"import numpy {spoken(numpy)}",
            numpy / ours,
            f"below {spoken(AIM)}" if aimed else "",
            ours < AIM if aimed else None,
        )


if __name__ == "__main__":
    show(figures())
