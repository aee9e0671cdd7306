"""How large a ring is: its picture, and what one table of it costs."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from kit.edge.arguments import checked
from kit.engine.registry import build
from kit.lessons.stills import Still, still
from kit.operators.workload import PLACEMENTS, estimate
from kit.protocols.tcm.spark.histories import Sample
from kit.ring.replication import total
from kit.views.parts import volume
from kit.views.report import Sheet
from kit.widgets.player import Player


class RingPicture(Struct, frozen=True):
    """A ring as a picture; its words say how large it is and list no tokens."""

    picture: Still
    words: str

    def __repr__(self) -> str:
        return self.words

    def _repr_mimebundle_(self, **options: Any) -> dict[str, str]:
        return {**self.picture._repr_mimebundle_(**options), "text/plain": self.words}


@checked
def ring_picture(sample: Sample) -> RingPicture:
    """The ring of a sample as it stands; of a large one how dense its tokens are."""
    operation = sample.bootstrap().text
    given = {"members": sample.ring.nodes, "keyspaces": sample.keyspaces, "operations": [operation]}
    nodes, tokens = len(sample.ring.nodes), len(sample.ring.tokens)
    picture = still(Player(build("tcm", given), controls=False), "ring")
    return RingPicture(picture, f"The ring of {nodes:,} nodes with {tokens:,} tokens")


@checked
def estimates(sample: Sample, *rings: tuple[int, int]) -> Sheet:
    """What one table of all ranges costs the plain engine, for rings of nodes with tokens each.

    They are replicated as the keyspaces of ``sample``; the figures are estimates.
    """
    replicas = sum(total(keyspace.replication, sample.ring) for keyspace in sample.keyspaces)
    rows = [_row(nodes, tokens, replicas) for nodes, tokens in rings]
    heads = ("nodes", "tokens each", "ranges", "seconds", "memory")
    return Sheet("One table of all ranges, estimated for the plain engine", heads, tuple(rows))


def _row(nodes: int, tokens: int, replicas: int) -> tuple[str, ...]:
    ranges = nodes * tokens
    room, seconds = estimate(ranges, replicas, PLACEMENTS)
    took = "below 0.1" if seconds < 0.1 else f"{seconds:,.1f}"
    return f"{nodes:,}", f"{tokens:,}", f"{ranges:,}", took, volume(room)
