"""What a schema by gossip does not promise: each of these breaks by itself."""

from __future__ import annotations

from collections.abc import Callable

from kit.engine.actors import ActorState
from kit.engine.model import Monitor, Property, always, goal, sometimes
from kit.engine.network import DeliverMessage, Heal, Partition
from kit.protocols.gossip.actors import LegacyNode, MakeChange, PullAnswer
from kit.protocols.gossip.rules.mutations import SchemaCell, merged
from kit.protocols.gossip.rules.schema import cells_of, definitions, schema_of
from kit.protocols.gossip.words import PlannedChange

Acknowledged = tuple[tuple[int, SchemaCell], ...]
"""Cells of changes that clients were told are done, each with the number of its change."""
LostUpdates = tuple[Acknowledged, str]
Changers = tuple[tuple[str, ...], str]
"""Who changed the schema while the network is split as it is; what was seen on both sides."""
Sides = Callable[[ActorState], tuple[tuple[LegacyNode, ...], ...]]


def properties_of(sides: Sides) -> tuple[Property, ...]:
    """What one would like of a schema that all nodes share, and what some run must reach."""
    return (
        always(
            "one-side",
            "Of a split network one side has all the newest changes",
            lambda s: _apart(sides(s)),
        ),
        always("one-id", "A name stands for one table on all nodes", _two_ids),
        always("loadable", "No table lacks its keyspace, no column its table", _orphan),
        sometimes("differ", "Two nodes have different versions", lambda s: not agreed(s)),
        sometimes("again", "All have one version, after another one", _again),
        goal("agreement", "All nodes can come to one version", agreed),
    )


def agreed(s: ActorState) -> bool:
    """Whether all nodes have one version."""
    return len({node.version for node in s.nodes}) == 1


def _again(s: ActorState) -> bool:
    return agreed(s) and all(node.past for node in s.nodes)


def is_dominated(cell: SchemaCell, node: LegacyNode) -> bool:
    """Whether a node has something newer where this cell belongs, and that says something else."""
    if merged(node.cells, (cell,)) != node.cells:
        return False  # the node has not heard of it
    there = next((each.value for each in node.cells if each.place == cell.place), "")
    return there != cell.value


def _apart(sides: tuple[tuple[LegacyNode, ...], ...]) -> str | None:
    """Two nodes of different sides of which each has what the other one lacks."""
    for at, side in enumerate(sides):
        for a in side:
            for b in (node for other in sides[at + 1 :] for node in other):
                both = merged(a.cells, b.cells)
                if both not in (a.cells, b.cells):
                    return (
                        f"{a.name} has version {a.version} and {b.name} {b.version}: "
                        "each has changes that the other lacks"
                    )
    return None


def _two_ids(s: ActorState) -> str | None:
    ids: dict[str, tuple[str, str]] = {}
    for node in s.nodes:
        for name, words in definitions(node.cells).items():
            first, where = ids.setdefault(name, (words, node.name))
            if name.startswith("table ") and first != words:
                return f"{name} has {first} on {where} and {words} on {node.name}"
    return None


def _orphan(s: ActorState) -> str | None:
    for node in s.nodes:
        for orphan in schema_of(node.cells).orphans:
            return f"{node.name} has {orphan}, and not what it belongs to"
    return None


def lost_updates(changes: tuple[PlannedChange, ...], index: dict[str, int]) -> Monitor:
    """The monitor of changes that somebody overwrites who did not know of them."""

    def lost(kept: Acknowledged, node: LegacyNode) -> str:
        for number, cell in kept:
            if is_dominated(cell, node):
                return f"{changes[number].text} was done, and is overwritten on {node.name}"
        return ""

    def step(m: LostUpdates, before: ActorState, action: object, after: ActorState) -> LostUpdates:
        kept, witness = m
        if isinstance(action, MakeChange):
            at = changes[action.number].node
            was, now = before.nodes[at], after.nodes[at]
            new = _written(action.number, now, changes[action.number])
            known = {cell for cell in was.cells if cell not in now.cells}
            kept = (*(each for each in kept if each[1] not in known), *new)
            return kept, witness or lost(new, now)
        assert isinstance(action, DeliverMessage)
        if isinstance(action.envelope.message, PullAnswer):
            witness = witness or lost(kept, after.nodes[index[action.envelope.target]])
        return kept, witness

    return Monitor(
        "lost-update",
        "Nobody overwrites a change without knowing it",
        lambda: ((), ""),
        step,
        lambda memory: memory[1] or None,
        on=(MakeChange, DeliverMessage),
    )


def split_brain(changes: tuple[PlannedChange, ...], sides: Sides) -> Monitor:
    """The monitor of a split network both of whose sides change the schema."""

    def step(m: Changers, before: ActorState, action: object, after: ActorState) -> Changers:
        changers, witness = m
        if not isinstance(action, MakeChange):
            return (), witness  # the network is split otherwise, or whole again
        halves = sides(before)
        if len(halves) == 1 or witness:
            return (), witness
        name = before.nodes[changes[action.number].node].name
        [side] = ({node.name for node in half} for half in halves if name in {n.name for n in half})
        others = [each for each in changers if each not in side]
        if others:
            return (), f"{others[0]} and {name} changed the schema, and did not reach one another"
        return changers[:1] or (name,), ""

    return Monitor(
        "split-brain",
        "Of a split network one side alone changes the schema",
        lambda: ((), ""),
        step,
        lambda memory: memory[1] or None,
        on=(MakeChange, Partition, Heal),
    )


def _written(number: int, now: LegacyNode, planned: PlannedChange) -> Acknowledged:
    """The cells of a change that a node has done with its timestamp."""
    timestamp = dict(now.done)[number]
    return tuple((number, cell) for cell in cells_of(planned.change, timestamp, now.name))
