"""What the ring of tokens shows: whose each range is, who has applied which epoch, the log."""

from collections.abc import Iterator, Sequence
from typing import Any

from kit.errors import first_of
from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.facts.large import DENSITY, listed
from kit.protocols.tcm.panels import placement
from kit.protocols.tcm.rules.metadata import Advance
from kit.protocols.tcm.tcm import LOG, spot
from kit.ring.ranges import Range
from kit.ring.replication import by_datacenter
from kit.views.panel import Panel, Scene
from kit.views.ring import (
    LISTED,
    Card,
    Member,
    Probe,
    Replica,
    Ring,
    State,
    Table,
    draw_ring,
    known_by,
    marks,
)

MOST_CARDS = 2
BRINGS = ("bootstrap", "replace")
WORDS = {
    **dict.fromkeys(("split", "prepare"), ("split", "cut the range")),
    **dict.fromkeys(("add-writes", "start"), ("write {}", "{} gets writes")),
    **dict.fromkeys(("switch-reads", "mid"), ("read {}", "{} answers reads")),
    **dict.fromkeys(("drop-writes", "finish"), ("let go", "the old let go")),
    "merge": ("merge", "equal ranges merge"),
    "assassinate": ("remove {}", "{} is removed"),
    "cancel": ("undo", "taken back"),
    "cancel-reads": ("reads back", "the old are read"),
    "cancel-writes": ("undo", "taken back"),
}
"""What an event does, in two words and in more: ``{}`` is who comes."""
STATES: dict[str, State] = {"joining": "joins", "replacing": "joins", "leaving": "leaves"}


def ring_of(scene: Scene, who: str = "") -> Ring:
    """The ring by the newest epoch, or as a node knows it."""
    m = scene.model
    known = next((row.epoch for row in scene.of(facts.applied) if row.node == who), None)
    line, newest = facts.space(m), scene.model.newest_epoch(scene.state)
    cards, coming = [*_cards(scene, newest)], next(_coming(scene), None)
    if known is not None:
        cards, coming = [*_cards(scene, known)], next(_cards(scene, known + 1, 1))
    return Ring(
        line.low,
        line.high,
        tuple(_members(scene)),
        tuple(_table(scene, name, known) for name in facts.keyspaces(m)),
        lambda lo, hi: Range(lo, hi).label(line),
        facts.range_key,
        spot,
        line.label,
        tuple(cards),
        coming,
        known is not None or _is_shut(scene),
        tuple(_probes(scene, known)),
        placement.guilty_parts(scene),
        tuple(dict.fromkeys(x for each in m.tcm.cluster.operations for x in each.involved)),
        tuple(facts.notices(m, scene.state)),
        LOG,
        since=f"epoch {newest if known is None else known}",
        behind=tuple(row.node for row in scene.of(facts.applied) if row.epoch < newest),
    )


def _table(scene: Scene, name: str, known: int | None) -> Table:
    m, s = scene.model, scene.state
    snapshot = m.snapshot(s, known)
    group = snapshot.metadata.group_of(name)
    copies = (
        by_datacenter(snapshot.metadata.groups[group], m.tcm.cluster.ring)
        if group is not None
        else {}
    )
    if placement.large(scene, name) is None:
        rows = facts.rows(m, s, name, known)
        coming = () if known is not None else _planned(scene, name, rows)
        locks = (lock for each in scene.of(facts.operations) for lock in each.locks)
        held = tuple((lock.left, lock.right) for lock in locks if lock.keyspace == name)
        return Table(name, (*_replicas(rows), *coming), copies, held)
    changed = placement.changed_of_many(scene, name)[0]
    pairs = changed.rows[:LISTED]
    rows = tuple(row for row, _ in pairs) or listed(m, s, name, 0, LISTED)
    before = tuple(each for _, was in pairs for each in _replicas(was)) or tuple(_replicas(rows))
    parts = tuple((at / DENSITY, (at + 1) / DENSITY) for at in changed.bins)
    count = placement.large(scene, name) or 0
    return Table(name, tuple(_replicas(rows)), copies, (), count, parts, before)


def _replicas(rows: Any) -> Iterator[Replica]:
    for row in rows:
        for node in dict.fromkeys((*row.writes, *row.reads)):
            yield row.left, row.right, node, node in row.reads, node in row.writes


def _planned(scene: Scene, name: str, rows: Sequence[facts.RangeRow]) -> Iterator[Replica]:
    """Who is to get ranges, and is not asked there yet."""
    m, s = scene.model, scene.state
    group = {(row.right, node) for row in rows for node in (*row.writes, *row.reads)}
    for sequence in m.snapshot(s).metadata.sequences:
        for each in () if sequence.undoing else sequence.plan.transfers:
            node, names = m.names[each.target], m.snapshot(s).metadata.keyspaces_of(each.group)
            if name in names and (each.range.right, node) not in group:
                yield each.range.left, each.range.right, node, False, False


def _members(scene: Scene) -> Iterator[Member]:
    m, s = scene.model, scene.state
    epochs = {row.node: row for row in scene.of(facts.reached)}
    arriving = scene.of(facts.arriving)
    dead = {each.plan.operation.dead for each in m.snapshot(s).metadata.sequences}
    for node in scene.of(facts.nodes):
        row = epochs[node.name]
        knows = f"{row.epoch}" + f"+{len(row.held)}" * bool(row.held)
        state: State = STATES.get(node.status, "works")
        if not node.up:
            state = "gone" if node.name in dead or not node.tokens else "down"
        words = f"{node.dc}, rack {node.rack}, {node.status}{'' if node.up else ', down'}"
        yield Member(node.name, node.tokens, state, knows, node.dc, node.rack,
                     words, node.coming, arriving.get(node.name, ""))  # fmt: skip


def _cards(scene: Scene, last: int, most: int = MOST_CARDS) -> Iterator[Card]:
    done, first = facts.log(scene.model, scene.state), scene.model.parameters.epoch
    if last - first < most:
        yield Card(str(first), "start", "the start")
    for each in done[max(last - first - most, 0) : last - first]:
        yield _words(str(each.epoch), each.step, each.operation, undone=each.cancelled)


def _words(number: str, step: str, operation: Any, *, undone: bool = False) -> Card:
    brings = operation.kind in BRINGS or step == "assassinate"
    who = operation.node if brings else "new"
    short, long = (each.format(who) for each in WORDS["cancel" if undone else step])
    return Card(number, short, long.replace("new ", "the new "))


def _coming(scene: Scene) -> Iterator[Card]:
    """The next step of what is under way: first of the operation that went on last."""
    operations = {each.node: each for each in scene.of(facts.operations)}
    newest = facts.log(scene.model, scene.state)[-1:]
    order = sorted(operations, key=lambda node: not any(x.operation.node == node for x in newest))
    for node in order:
        if (sequence := scene.model.tcm.under_way(scene.state.tcm, node)) is not None:
            number = str(scene.model.newest_epoch(scene.state) + 1)
            yield _words(number, sequence.next.name, sequence.plan.operation)


def _is_shut(scene: Scene) -> bool:
    waits = [each.node for each in scene.of(facts.operations)]
    wrap = scene.model.wrap["tcm"]
    return all(scene.refusal(wrap(Advance(node))) is not None for node in waits[:4])


def _probes(scene: Scene, known: int | None) -> Iterator[Probe]:
    """Who is asked for a key where something moves; of quorums that miss each other, both."""
    m, apart = scene.model, scene.of(facts.missed)
    if apart is not None:
        token, (read_at, reads), (written_at, writes) = apart
        yield Probe(token, f"read {token}, epoch {read_at}", read=reads)
        yield Probe(token, f"write {token}, epoch {written_at}", writes)
    elif placement.large(scene, facts.keyspaces(m)[0]) is None:
        held = [row for row in facts.rows(m, scene.state, None, known) if row.locked_by]
        moving = [row for row in held if {*row.reads} != {*row.writes}]
        for row in (moving or held)[:1]:
            token = row.left + (row.right - row.left) * 3 // 10
            epoch = known or m.newest_epoch(scene.state)
            title = f"key {facts.space(m).label(token)}, epoch {epoch}"
            yield Probe(token, title, row.writes, row.reads)


def ring_text(scene: Scene) -> str:
    """Write a line per node: where it is, what it owns, what it is doing, which epoch it knows."""
    space = facts.space(scene.model)
    epochs = {row.node: row.epoch for row in scene.of(facts.applied)}
    texts = []
    for node in scene.of(facts.nodes):
        tokens = first_of([space.label(token) for token in node.tokens], 8) or "none"
        known = f", epoch {epochs[node.name]}" if node.name in epochs else ""
        state = f"{node.status}{'' if node.up else ', down'}{known}"
        texts.append(f"  {node.name} ({node.dc} {node.rack}) {state}: {tokens}")
    texts += [f"  {said}" for said in facts.notices(scene.model, scene.state)]
    texts += [f"  {words}" for words in (placement.missed_words(scene),) if words]
    return "\n".join(texts)


RING = Panel("ring", "Ring", lambda scene: draw_ring(scene, ring_of), ring_text, still=True,
             legend=lambda scene: marks(ring_of(scene)), known=known_by(ring_of))  # fmt: skip
