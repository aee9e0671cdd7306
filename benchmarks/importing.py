"""Opening the output of ``nodetool ring`` of a large cluster, the text made in memory.

The best of some rounds; the text is not read from a disk. Beside it, what it costs only to split
the same text into lines and words.
"""

from __future__ import annotations

import random
from collections.abc import Iterator
from functools import partial

from benchmarks.figures import Figure, alternating, show, spoken
from kit.operators.importers.nodetool import RING_COLUMNS
from kit.operators.importers.opening import Imported, import_texts

SIZES = ((100, 256), (1000, 16), (1000, 256))
KEYSPACE = 'ks={"class": "NetworkTopologyStrategy", "dc1": 3, "dc2": 3}'
ROW = "{:<12}  {:<12}{:<7}{:<8}{:<16}{:<20}{:<44}"
AIM = 3.0  # seconds, at 1000 x 256


def ring_text(nodes: int, tokens: int) -> str:
    """``nodetool ring`` of two datacenters with three racks each, random tokens."""
    drawn = random.Random(4).sample(range(-(2**61), 2**61), nodes * tokens)
    blocks = []
    for dc in (0, 1):
        rows = sorted((t, at % nodes) for at, t in enumerate(drawn) if at % nodes % 2 == dc)
        heads = {
            node: (f"10.{dc}.{node // 250}.{node % 250}", f"r{node // 2 % 3 + 1}")
            for node in range(dc, nodes, 2)
        }
        lines = [f"Datacenter: dc{dc + 1}", "==========", ROW.format(*RING_COLUMNS.split())]
        lines.append(ROW.format(*[""] * 6, rows[-1][0]))
        lines += [
            ROW.format(*heads[node], "Up", "Normal", f"{100 + node}.25 GiB", "0.60%", token)
            for token, node in rows
        ]
        blocks += [*lines, ""]
    closing = '  Warning: "nodetool ring" is used to output all the tokens of a node.'
    return "\n".join(["", *blocks, closing, "", "", "  "])


def figures() -> Iterator[Figure]:
    """A row a size: the whole import against only finding the tokens, and the aim."""
    for nodes, tokens in SIZES:
        text = ring_text(nodes, tokens)
        whole, bare = alternating(3, partial(imported, text), partial(last_words, text))
        rows = len(imported(text).ring.tokens)
        assert rows == nodes * tokens
        largest = (nodes, tokens) == SIZES[-1]
        yield Figure(
            f"import nodetool ring, {nodes} x {tokens}, {len(text) / 1e6:.0f} MB",
            spoken(whole),
            f"split lines {spoken(bare)}",
            whole / bare,
            f"< {AIM:.0f} s" if largest else "",
            whole < AIM if largest else None,
        )


def imported(text: str) -> Imported:
    """The text as a ring with a keyspace."""
    return import_texts([("ring.txt", text)], [KEYSPACE])


def last_words(text: str) -> list[str]:
    """The least that any reader does: the last word of each line, unchecked."""
    return [line.rsplit(None, 1)[-1] for line in text.split("\n") if line.strip()]


if __name__ == "__main__":
    show(figures())
