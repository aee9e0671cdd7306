"""The ring of tokens: who reads and writes each range in the transition state of now."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Iterator, Mapping
from functools import lru_cache
from itertools import pairwise

from msgspec import Struct

from kit.protocols.group0.rules.voters import nodes_in
from kit.protocols.topology.control import ControlState
from kit.protocols.topology.rules.cluster import NOBODY, ClusterTopology, mask_of, owners
from kit.protocols.topology.rules.machines import Selector
from kit.protocols.topology.rules.work import state_of, under_way
from kit.protocols.topology.topology import Topology
from kit.views.circle import (
    CENTRE,
    DISC,
    HEIGHT,
    INSIDE,
    OUTSIDE,
    RADIUS,
    WIDTH,
    Letter,
    draw_band,
    draw_letter,
    point,
)
from kit.views.fragment import Frag, h
from kit.views.panel import Panel, Scene

STATES_KEPT = 16


class RingArc(Struct, frozen=True):
    """A range between two tokens (by their places), and who reads and writes it."""

    left: int
    right: int
    reads: tuple[str, ...]
    writes: tuple[str, ...]


class RingNode(Struct, frozen=True):
    """A node on the ring: its token's place, and whether the operation brings or takes it.

    ``down``: it is not up; its token is known all the same.
    """

    name: str
    place: int
    comes: bool
    goes: bool
    down: bool = False


class TokenRing(Struct, frozen=True):
    """The ring at one version: ``places`` is how many there are for tokens, ``reads`` and
    ``writes`` are the selectors. ``known`` are the members that have applied this version.
    """

    places: int
    reads: Selector
    writes: Selector
    nodes: tuple[RingNode, ...]
    arcs: tuple[RingArc, ...]
    known: tuple[str, ...]


@lru_cache(STATES_KEPT)  # the ring of now is drawn and told, and then is that of the step before
def ring(m: Topology, s: ControlState) -> TokenRing:
    """The ring of a state."""
    old, new = _rings(s.topology)
    operation = under_way(s.topology)
    row = None if operation is None else state_of(operation, m.setting)
    reads: Selector = "old" if row is None else row.reads
    writes: Selector = "old" if row is None else row.writes
    place = _places(m)
    return TokenRing(
        max(place) + 1,
        reads,
        writes,
        tuple(
            RingNode(
                *(m.names[i], place[i], not old >> i & 1, not new >> i & 1), down=not s.up >> i & 1
            )
            for i in nodes_in(old | new)
        ),
        tuple(_arcs(m, place, {"old": old, "new": new}, reads, writes)),
        m.named(_knowing(s)),
    )


def _knowing(s: ControlState) -> int:
    """The members that go by the newest version, whoever else is down (a mask)."""
    newest = len(s.views) - 1
    return sum(1 << i for i in nodes_in(s.topology.members & s.up) if s.applied[i] == newest)


def _rings(t: ClusterTopology) -> tuple[int, int]:
    """Who owns tokens by the ring without the operation, and by the changed one (masks)."""
    rebuilt = sum(1 << i for i in nodes_in(mask_of(t, "rebuilding")) if t.nodes[i].tokens)
    stay = owners(t) | rebuilt
    operation = under_way(t)
    if operation is None or operation.node == NOBODY:
        return stay, stay
    entry, bit = t.nodes[operation.node], 1 << operation.node
    if entry.state in ("decommissioning", "removing"):
        return stay | bit, stay
    if entry.state in ("bootstrapping", "replacing") and entry.tokens:
        replaced = 1 << entry.replaced if entry.state == "replacing" else 0
        return stay, stay & ~replaced | bit
    return stay, stay


def _places(m: Topology) -> tuple[int, ...]:
    """The place of each node's token on the ring."""
    has_token_of = list(range(len(m.names)))
    for asks in m.plan.requests:
        if asks.replaced != NOBODY:
            has_token_of[asks.node] = has_token_of[asks.replaced]
    tokens = sorted(set(has_token_of))
    return tuple(map(tokens.index, has_token_of))


def _arcs(
    m: Topology, place: tuple[int, ...], rings: dict[str, int], reads: Selector, writes: Selector
) -> list[RingArc]:
    tokens = sorted({place[i] for i in nodes_in(rings["old"] | rings["new"])})
    if not tokens:
        return []
    named = {name: _owners(m, place, owning, tokens) for name, owning in rings.items() if owning}

    def replicas(selector: Selector, token: int) -> tuple[str, ...]:
        chosen = ("old", "new") if selector == "both" else (selector,)
        return tuple(dict.fromkeys(named[name][token] for name in chosen if name in named))

    return [
        RingArc(left, right, replicas(reads, right), replicas(writes, right))
        for left, right in pairwise((tokens[-1], *tokens))
    ]


def _owners(m: Topology, place: tuple[int, ...], owning: int, tokens: list[int]) -> dict[int, str]:
    """The first replica of the range that ends at each token: whose token is next clockwise."""
    at = {place[node]: m.names[node] for node in reversed(tuple(nodes_in(owning)))}
    there = sorted(at)
    return {token: at[there[bisect_left(there, token) % len(there)]] for token in tokens}


LEGEND = "inside: read; outside: only written; dashed: comes or goes"
STEP = 16
SIDE = 304
"""Of the square that has room for the ring and two letters outside of it."""
DOWN = "✗"
MOST_KEPT = 4096
"""Arcs and discs that are drawn once: of a large ring nearly all are those of the step before."""


def draw_ring(scene: Scene) -> Frag:
    """Draw an arc per range with its letters, a disc per owner, the selectors in the middle."""
    now = ring(scene.model, scene.state)
    before = now if scene.before is None else ring(scene.model, scene.before)
    kept, names = frozenset(before.arcs), _names(now)
    return h(
        "div",
        h(
            "svg",
            [_arc(now.places, arc, _sentence(names, arc), arc not in kept) for arc in now.arcs],
            _selectors(now),
            [_node(now.places, node, _takes_over(now, node)) for node in now.nodes],
            viewBox=f"{(WIDTH - SIDE) / 2} {(HEIGHT - SIDE) / 2} {SIDE} {SIDE}",
            role="img",
            aria_label=f"ring of tokens: {'; '.join(_lines(scene))}",
            class_="whole small",
        ),
        h("p", h("small", f"{LEGEND}; {_known(now)}")),
    )


@lru_cache(MOST_KEPT)
def _arc(places: int, arc: RingArc, sentence: str, is_new: bool) -> Frag:
    left = arc.left if arc.left < arc.right else arc.left - places
    ends = left / places, arc.right / places
    middle = sum(ends) / 2
    return h(
        "g",
        h("title", sentence),
        draw_band(*ends),
        [draw_letter(f"token:{arc.right}", letter) for letter in _letters(arc, middle)],
        k=f"token-arc:{arc.right}",
        class_="arc moved" if is_new else "arc",
    )


def _letters(arc: RingArc, middle: float) -> Iterator[Letter]:
    """Who reads, from the arc inwards; who only writes, outwards."""
    for i, name in enumerate(arc.reads):
        yield Letter(name, name, *point(middle, INSIDE - STEP * i), "")
    pending = [name for name in arc.writes if name not in arc.reads]
    for i, name in enumerate(pending):
        yield Letter(name, name, *point(middle, OUTSIDE + STEP * i), "pending")


def _takes_over(now: TokenRing, node: RingNode) -> bool:
    """Whether a node comes to the token of another one."""
    return node.comes and any(other.place == node.place for other in now.nodes if other != node)


@lru_cache(MOST_KEPT)
def _node(places: int, node: RingNode, takes_over: bool) -> Frag:
    """A disc at the node's token; one that takes another's place stands within the ring."""
    x, y = point(node.place / places, RADIUS - takes_over * 2 * (DISC + 2))
    return h(
        "g",
        h("title", _node_words(node)),
        h("circle", r=DISC, class_="box dashed" if node.comes or node.goes else "box"),
        h("text", f"{DOWN * node.down}{node.name}", dy=5, text_anchor="middle", class_="on"),
        k=f"token:{node.name}",
        transform=f"translate({x:.1f} {y:.1f})",
        data_of=node.name,
    )


def _node_words(node: RingNode) -> str:
    words = (" comes" * node.comes, " goes" * node.goes, " is down" * node.down)
    return f"{node.name}{','.join(filter(None, words))}"


def _known(now: TokenRing) -> str:
    """Who has learned of this ring; tokens of a node that is down come from group 0, too."""
    down = ", ".join(node.name for node in now.nodes if node.down)
    away = f"; down, and known by its token: {down}" if down else ""
    return f"known to {', '.join(now.known) or 'nobody'}{away}"


def _selectors(now: TokenRing) -> Frag:
    x, y = CENTRE
    words = (f"reads: {now.reads} ring", f"writes: {_written(now)}")
    return h(
        "g",
        [
            h("text", line, x=x, y=y - 4 + 18 * i, text_anchor="middle")
            for i, line in enumerate(words)
        ],
        k="selectors",
    )


def _written(now: TokenRing) -> str:
    return "both rings" if now.writes == "both" else f"{now.writes} ring"


def _names(now: TokenRing) -> dict[int, str]:
    """Whose token is at each place; of two that share one, the first."""
    return {node.place: node.name for node in reversed(now.nodes)}


def _sentence(names: Mapping[int, str], arc: RingArc) -> str:
    label = f"({names[arc.left]}, {names[arc.right]}]"
    return f"{label} is read from {', '.join(arc.reads)}, written to {', '.join(arc.writes)}"


def _lines(scene: Scene) -> list[str]:
    now = ring(scene.model, scene.state)
    names = _names(now)
    arcs = [_sentence(names, arc) for arc in now.arcs]
    return [f"reads use the {now.reads} ring, writes {_written(now)}", _known(now), *arcs]


def ring_text(scene: Scene) -> str:
    """Write the selectors, and a line for each range."""
    return "\n".join(f"  {line}" for line in _lines(scene))


RING = Panel("token-ring", "Ring of tokens", draw_ring, ring_text, tab="Ring")
