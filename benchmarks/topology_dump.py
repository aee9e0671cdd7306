"""What a coordinator would do next on a dump of ``system.topology`` of a large cluster.

From the file to the answer, in seconds, the best of some rounds; beside it, what it costs only to
split the same CSV into fields.
"""

from __future__ import annotations

import csv
import random
import tempfile
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from benchmarks.figures import Figure, alternating, show, spoken
from kit.protocols.topology.dry_run.report import coordinator

SIZES = ((1000, 16), (1000, 256))
AIM = 1.0  # seconds
FEATURES = "{" + ", ".join(f"'FEATURE_{i}'" for i in range(100)) + "}"
HEADER = (
    "host_id,datacenter,rack,node_state,tokens,supported_features,enabled_features,"
    "transition_state,version,fence_version"
)


def dump_text(nodes: int, tokens: int) -> str:
    """A CSV dump of normal nodes, the last of them bootstrapping."""
    chance = random.Random(4)
    drawn = chance.sample(range(-(2**61), 2**61), nodes * tokens)
    lines = [HEADER]
    for at in range(nodes):
        own = ", ".join(f"'{token}'" for token in drawn[at * tokens : (at + 1) * tokens])
        state = "bootstrapping" if at == nodes - 1 else "normal"
        host = f"{at:08x}-0000-4000-8000-{at:012x}"
        lines.append(
            f'{host},dc{at % 2},r{at % 3},{state},"{{{own}}}","{FEATURES}","{FEATURES}",'
            "write both read old,12,12"
        )
    return "\n".join([*lines, ""])


def figures() -> Iterator[Figure]:
    """A row for each size, against only splitting the text, and the aim."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "topology.csv"
        for nodes, tokens in SIZES:
            text = dump_text(nodes, tokens)
            path.write_text(text, "utf-8")
            whole, bare = alternating(3, partial(coordinator, path), partial(fields, text))
            yield Figure(
                f"topology DUMP, {nodes} x {tokens}, {len(text) / 1e6:.0f} MB",
                spoken(whole),
                f"split CSV {spoken(bare)}",
                whole / bare,
                f"< {AIM:.0f} s",
                whole < AIM,
            )


def fields(text: str) -> int:
    """How many fields the text has."""
    return sum(map(len, csv.reader(text.split("\n"))))


if __name__ == "__main__":
    show(figures())
