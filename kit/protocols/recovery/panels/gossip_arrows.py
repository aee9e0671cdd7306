"""Arrows of gossip between the nodes of the picture: accepted, tolerated, or rejected."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from kit.protocols.recovery.facts.moment import GossipRow
from kit.views.fragment import Frag, h

Point = tuple[float, float]
TIP, WING = 7.0, 4.0  # of an arrow's head: its length, half its width
CROSS = 6.0
FAR = 0.62  # of the way between two nodes: where a head is


def arrows(rows: Iterable[GossipRow], places: Mapping[str, Point]) -> Iterator[Frag]:
    """Draw an arrow both ways for each two nodes that are up.

    It is dashed where ids of groups differ and ``recovery_leader`` tolerates it; where gossip is
    rejected there is a cross in place of the heads.
    """
    for row in rows:
        first, second = places[row.first], places[row.second]
        differ = " dashed" if row.why != "one group id" else ""
        heads = (_head(second, first, FAR), _head(first, second, FAR)) if row.accepted else ()
        said = "accepted" if row.accepted else "rejected"
        yield h(
            "g",
            h("title", f"gossip of {row.first} and {row.second}: {said}, {row.why}"),
            h("path", d=f"M{_spot(first)}L{_spot(second)}", class_=f"wire{differ}"),
            heads or h("path", d=_cross(first, second), class_="cross"),
            k=f"arrow:{row.first}:{row.second}",
            class_=said,
        )


def _spot(at: Point) -> str:
    return f"{at[0]:.1f} {at[1]:.1f}"


def _between(a: Point, b: Point, share: float) -> Point:
    return a[0] + (b[0] - a[0]) * share, a[1] + (b[1] - a[1]) * share


def _head(a: Point, b: Point, share: float) -> Frag:
    """The head of an arrow from one place to another, on the way."""
    long = max(((b[0] - a[0]) ** 2 + (b[1] - a[1]) ** 2) ** 0.5, 1.0)
    along = (b[0] - a[0]) / long, (b[1] - a[1]) / long
    x, y = _between(a, b, share)
    back = x - along[0] * TIP, y - along[1] * TIP
    left = back[0] - along[1] * WING, back[1] + along[0] * WING
    right = back[0] + along[1] * WING, back[1] - along[0] * WING
    return h("polygon", points=" ".join(map(_spot, ((x, y), left, right))), class_="tip")


def _cross(a: Point, b: Point) -> str:
    x, y = _between(a, b, 0.5)
    return (
        f"M{x - CROSS:.1f} {y - CROSS:.1f}l{2 * CROSS:.0f} {2 * CROSS:.0f}"
        f"m0 {-2 * CROSS:.0f}l{-2 * CROSS:.0f} {2 * CROSS:.0f}"
    )
