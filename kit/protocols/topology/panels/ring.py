"""The ring of tokens: who reads and writes each range in the transition state of now.

Every node has one token here, in the order of names; who replaces a node has its token. A range is
the first replica's, by the ring without the operation (*old*) or the changed one (*new*): which of
them counts is the selector of the transition state.
"""

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import pairwise

from msgspec import Struct

from kit.errors import counted
from kit.masks import mask_of, nodes_in
from kit.protocols.topology.control import ControlState
from kit.protocols.topology.rules.cluster import NOBODY, ClusterTopology, in_state, owners
from kit.protocols.topology.rules.machines import Selector, StateRow
from kit.protocols.topology.rules.work import state_of, under_way
from kit.protocols.topology.topology import Topology
from kit.views import circle
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
    row = _selectors(m, s)
    has_token_of = list(range(len(m.names)))
    for asks in m.plan.requests:
        if asks.replaced != NOBODY:
            has_token_of[asks.node] = has_token_of[asks.replaced]
    places = {node: at for at, node in enumerate(sorted(set(has_token_of)))}
    place = [places[node] for node in has_token_of]
    nodes = tuple(
        RingNode(m.names[i], place[i], not old >> i & 1, not new >> i & 1, not s.up >> i & 1)
        for i in nodes_in(old | new)
    )
    owned: dict[str, tuple[list[int], dict[int, str]]] = {}
    for name, owning in (("old", old), ("new", new)):
        at = {place[node]: m.names[node] for node in reversed(tuple(nodes_in(owning)))}
        owned |= {name: (sorted(at), at)} if at else {}

    def replicas(selector: Selector, token: int) -> tuple[str, ...]:
        # Of the range that ends at a token the first replica: whose token is next clockwise.
        rings = [owned[name] for name in ("old", "new") if name in owned]
        if selector != "both":
            rings = [owned[selector]] if selector in owned else []
        first = (at[there[bisect_left(there, token) % len(there)]] for there, at in rings)
        return tuple(dict.fromkeys(first))

    tokens = sorted({node.place for node in nodes})
    arcs = (
        RingArc(left, right, replicas(row.reads, right), replicas(row.writes, right))
        for left, right in pairwise((*tokens[-1:], *tokens))
    )
    newest = len(s.views) - 1
    known = (i for i in nodes_in(s.topology.members & s.up) if s.applied[i] == newest)
    named = m.named(mask_of(known))
    return TokenRing(max(place) + 1, row.reads, row.writes, nodes, tuple(arcs), named)


def replicas_in_use(m: Topology, s: ControlState) -> tuple[int, int]:
    """The nodes that are read and that are written, by the newest state of the log (masks)."""
    old, new = _rings(s.topology)
    masks, row = {"old": old, "new": new, "both": old | new}, _selectors(m, s)
    return masks[row.reads], masks[row.writes]


def _selectors(m: Topology, s: ControlState) -> StateRow:
    operation = under_way(s.topology)
    return StateRow("", ()) if operation is None else state_of(operation, m.setting)


def _rings(t: ClusterTopology) -> tuple[int, int]:
    rebuilt = mask_of(i for i in nodes_in(in_state(t, "rebuilding")) if t.nodes[i].tokens)
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


LEGEND = "inside: read; outside: only written; dashed: joins or leaves"
STEP = 16
SIDE = 304
"""Of the square that has room for the ring and two letters outside of it."""
DOWN = "✗"
MOST_SINGLE = 64
"""Ranges that are drawn singly, all of them or those of which something is said."""
MOST_KEPT = 4096
"""Arcs and discs that are drawn once: of a large ring nearly all are those of the step before."""


def draw_ring(scene: Scene) -> Frag:
    """Draw an arc per range with its letters, a disc per owner, the selectors in the middle."""
    now = ring(scene.model, scene.state)
    kept, names = _before(scene), _names(now)
    arcs, nodes = _apart(now, kept)
    taken = Counter(node.place for node in now.nodes)
    x, y = circle.CENTRE
    words = (f"reads: {now.reads} ring", f"writes: {_written(now)}")
    selectors = [
        h("text", line, x=x, y=y - 4 + 18 * i, text_anchor="middle") for i, line in enumerate(words)
    ]
    return h(
        "div",
        h(
            "svg",
            circle.draw_band(0, 1) if len(arcs) < len(now.arcs) else None,
            [_arc(now.places, arc, _sentence(names, arc), arc not in kept) for arc in arcs],
            h("g", selectors, k="selectors"),
            [_node(now.places, node, node.comes and taken[node.place] > 1) for node in nodes],
            viewBox=f"{(circle.WIDTH - SIDE) / 2} {(circle.HEIGHT - SIDE) / 2} {SIDE} {SIDE}",
            role="img",
            aria_label=f"ring of tokens: {'; '.join(_lines(scene))}",
            class_="whole small",
        ),
        h("p", h("small", f"{LEGEND}; {_known(now)}")),
    )


def _before(scene: Scene) -> frozenset[RingArc]:
    state = scene.state if scene.before is None else scene.before
    return frozenset(ring(scene.model, state).arcs)


def _apart(
    now: TokenRing, kept: frozenset[RingArc]
) -> tuple[Sequence[RingArc], Sequence[RingNode]]:
    if len(now.arcs) <= MOST_SINGLE:
        return now.arcs, now.nodes
    arcs = [arc for arc in now.arcs if arc not in kept or arc.reads != arc.writes]
    nodes = [node for node in now.nodes if node.comes or node.goes or node.down]
    return arcs[:MOST_SINGLE], nodes[:MOST_SINGLE]


@lru_cache(MOST_KEPT)
def _arc(places: int, arc: RingArc, sentence: str, is_new: bool) -> Frag:
    left = arc.left if arc.left < arc.right else arc.left - places
    ends = left / places, arc.right / places
    middle = sum(ends) / 2
    # Who reads, from the arc inwards; who only writes, outwards.
    pending = [name for name in arc.writes if name not in arc.reads]
    letters = [
        circle.Letter(name, name, *circle.point(middle, first + step * i), kind)
        for names, first, step, kind in (
            (arc.reads, circle.INSIDE, -STEP, ""),
            (pending, circle.OUTSIDE, STEP, "pending"),
        )
        for i, name in enumerate(names)
    ]
    return h(
        "g",
        h("title", sentence),
        circle.draw_band(*ends),
        [circle.draw_letter(f"token:{arc.right}", letter) for letter in letters],
        k=f"token-arc:{arc.right}",
        class_="arc moved" if is_new else "arc",
    )


@lru_cache(MOST_KEPT)
def _node(places: int, node: RingNode, takes_over: bool) -> Frag:
    x, y = circle.point(node.place / places, circle.RADIUS - takes_over * 2 * (circle.DISC + 2))
    words = (" joins" * node.comes, " leaves" * node.goes, " is down" * node.down)
    return h(
        "g",
        h("title", f"{node.name}{','.join(filter(None, words))}"),
        h("circle", r=circle.DISC, class_="box dashed" if node.comes or node.goes else "box"),
        h("text", f"{DOWN * node.down}{node.name}", dy=5, text_anchor="middle", class_="on"),
        k=f"token:{node.name}",
        transform=f"translate({x:.1f} {y:.1f})",
        data_of=node.name,
    )


def _known(now: TokenRing) -> str:
    if len(now.known) > MOST_SINGLE:
        return f"known to {counted(len(now.known), 'node')}"
    down = ", ".join(node.name for node in now.nodes if node.down)
    away = f"; down, but its token is known: {down}" if down else ""
    return f"known to {', '.join(now.known) or 'no node'}{away}"


def _written(now: TokenRing) -> str:
    return "both rings" if now.writes == "both" else f"{now.writes} ring"


def _names(now: TokenRing) -> dict[int, str]:
    return {node.place: node.name for node in reversed(now.nodes)}


def _sentence(names: Mapping[int, str], arc: RingArc) -> str:
    label = f"({names[arc.left]}, {names[arc.right]}]"
    return f"{label} is read from {', '.join(arc.reads)} and written to {', '.join(arc.writes)}"


def _lines(scene: Scene) -> list[str]:
    now = ring(scene.model, scene.state)
    names = _names(now)
    apart, _ = _apart(now, _before(scene))
    arcs = [_sentence(names, arc) for arc in apart]
    rest = len(now.arcs) - len(apart)
    arcs += [f"{counted(rest, 'more range')}, read and written at the same nodes"] if rest else []
    return [f"reads use the {now.reads} ring, writes {_written(now)}", _known(now), *arcs]


def _text(scene: Scene) -> str:
    return "\n".join(f"  {line}" for line in _lines(scene))


RING = Panel("token-ring", "Ring of tokens", draw_ring, _text, tab="Ring")
