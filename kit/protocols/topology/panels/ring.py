"""The ring of tokens: who reads and writes each range in the transition state of now.

Every node has one token here, in the order of names; who replaces a node has its token. A range is
the first replica's, by the ring without the operation (*old*) or the changed one (*new*): which of
them counts is the selector of the transition state.
"""

from bisect import bisect_left
from functools import lru_cache
from itertools import pairwise

from kit.errors import counted, first_of
from kit.masks import mask_of, nodes_in
from kit.protocols.topology import facts
from kit.protocols.topology.control import ControlState
from kit.protocols.topology.rules.cluster import NOBODY, ClusterTopology, in_state, owners
from kit.protocols.topology.rules.machines import Selector, StateRow
from kit.protocols.topology.rules.work import state_of, under_way
from kit.protocols.topology.topology import Topology
from kit.views.panel import Panel, Scene
from kit.views.ring import Member, Replica, Ring, State, Table, draw_ring, is_many, marks

STATES_KEPT = 16


@lru_cache(STATES_KEPT)  # the ring of now is drawn and told, and then is that of the step before
def ring(m: Topology, s: ControlState) -> Ring:
    """The ring by the newest version: nobody's token has a number, so all ranges are alike."""
    old, new = _rings(s.topology)
    row, rows = _selectors(m, s), {each.name: each for each in facts.nodes(m, s)}
    has_token_of = list(range(len(m.names)))
    for asks in m.plan.requests:
        if asks.replaced != NOBODY:
            has_token_of[asks.node] = has_token_of[asks.replaced]
    places = {node: at for at, node in enumerate(sorted(set(has_token_of)))}
    place = [places[node] for node in has_token_of]
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

    def member(i: int) -> Member:
        comes, goes, down = not old >> i & 1, not new >> i & 1, not s.up >> i & 1
        view = rows[m.names[i]].view
        state: State = "down" if down else "joins" if comes else "leaves" if goes else "works"
        doing = " and ".join(filter(None, ("joins" * comes, "leaves" * goes, "is down" * down)))
        knows = str(view.version) if view and not down else ""
        return Member(m.names[i], (place[i],), state, knows, words=doing or "works")

    members = tuple(member(i) for i in nodes_in(old | new))
    names = {token: each.name for each in reversed(members) for token in each.tokens}
    last = max(names, default=1)
    low = last - max(place) - 1
    placed = list[Replica]()
    for left, right in pairwise((low, *sorted(names))):
        reads, writes = replicas(row.reads, right), replicas(row.writes, right)
        group = dict.fromkeys((*reads, *writes))
        placed += [(left, right, name, name in reads, name in writes) for name in group]
    return Ring(
        low,
        last,
        members,
        (Table("", tuple(placed), {"": 1}),),
        lambda lo, hi: f"({names.get(lo, names[last])}, {names[hi]}]",
        lambda lo, hi: f"token-arc:{hi}",
        lambda name, token: f"token:{name}",
        lambda token: "",
        center="selectors",
        known=known_to(m, s),
        since=f"state {s.state_id}",
        behind=tuple(name for name, node in rows.items() if node.is_behind),
    )


def known_to(m: Topology, s: ControlState) -> tuple[str, ...]:
    """The members that have applied the newest version."""
    there, newest = nodes_in(s.topology.members & s.up), len(s.views) - 1
    return m.named(mask_of(i for i in there if s.applied[i] == newest))


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
    if (operation := under_way(t)) is None or operation.node == NOBODY:
        return stay, stay
    entry, bit = t.nodes[operation.node], 1 << operation.node
    if entry.state in ("decommissioning", "removing"):
        return stay | bit, stay
    if entry.state in ("bootstrapping", "replacing") and entry.tokens:
        replaced = 1 << entry.replaced if entry.state == "replacing" else 0
        return stay, stay & ~replaced | bit
    return stay, stay


MOST_SINGLE = 64
"""Ranges of which each is told; of more those that are under way."""


def ring_of(scene: Scene, who: str = "") -> Ring:
    """The ring of a moment, or of when a node had last applied all there was."""
    way = [scene.state, *(step.before for step in reversed(scene.way()))] if who else []
    at = scene.model.number(who) if who else 0
    had_all = (s for s in way if s.applied[at] == len(s.views) - 1)
    return ring(scene.model, next(had_all, scene.state))


def _text(scene: Scene) -> str:
    now = ring_of(scene)
    [table], row = now.tables, _selectors(scene.model, scene.state)
    written = "both rings" if row.writes == "both" else f"the {row.writes} ring"
    known = first_of(scene.of(known_to), MOST_SINGLE, "node") or "no node"
    down = ", ".join(each.name for each in now.members if each.state == "down")
    known += f"; down, but its token is known: {down}" if down else ""
    shown = [*table.rows]
    if len(shown) > MOST_SINGLE:
        shown = [bounds for bounds, row in table.rows.items() if {*row.values()} != {(True, True)}]
    lines = [f"reads use the {row.reads} ring, writes go to {written}", f"known to {known}"]
    lines += [now.says(table, bounds) for bounds in shown[:MOST_SINGLE]]
    rest = len(table.rows) - len(shown[:MOST_SINGLE])
    lines += [counted(rest, "more range")] * bool(rest)
    return "\n".join(f"  {line}" for line in lines)


RING = Panel(
    "token-ring",
    "Ring of tokens",
    lambda scene: draw_ring(scene, ring_of),
    _text,
    tab="Ring",
    shown=lambda scene: is_many(ring_of(scene)),
    legend=lambda scene: marks(ring_of(scene)),
)
