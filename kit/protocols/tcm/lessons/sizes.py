"""How large a ring is: its picture, and what one table of it costs."""

from __future__ import annotations

from typing import Any

from msgspec import Struct

from kit.edge.arguments import checked
from kit.engine.registry import build
from kit.engine.timeline import Timeline
from kit.operators.workload import PLACEMENTS, estimate
from kit.protocols.tcm.panels.ring import RING
from kit.protocols.tcm.spark.histories import Sample
from kit.ring.replication import total
from kit.views.fragment import Frag, h
from kit.views.panel import scene_at
from kit.views.parts import volume
from kit.views.report import Sheet
from kit.views.static import static_html


class RingPicture(Struct, frozen=True):
    """A ring as a drawing; its words say how large it is and list no tokens."""

    drawing: Frag
    words: str

    def __repr__(self) -> str:
        return self.words

    def _repr_mimebundle_(self, **_options: Any) -> dict[str, str]:
        body = h("div", h("p", f"{self.words}."), self.drawing)
        return {"text/plain": self.words, "text/html": static_html(body)}


@checked
def ring_picture(sample: Sample) -> RingPicture:
    """The ring of a sample as a newcomer gets its first writes; dark are the newcomer's tokens."""
    begin = sample.bootstrap()
    given = {"members": sample.ring.nodes, "keyspaces": sample.keyspaces, "barrier": False}
    timeline = Timeline(build("tcm", {**given, "operations": [begin.text]}))
    for verb in (begin.text, f"apply {begin.node}", f"commit {begin.node}"):
        option = timeline.model.find(timeline.state, verb)
        assert option is not None
        timeline.do(option[0])
    drawn = RING.draw(scene_at(timeline, timeline.at))
    nodes, tokens = len(sample.ring.nodes), len(sample.ring.tokens)
    words = f"A ring of {nodes:,} nodes with {tokens:,} tokens, and {begin.title}"
    return RingPicture(next(part for part in drawn.walk() if part.tag == "svg"), words)


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
