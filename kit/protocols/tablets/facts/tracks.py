"""One state of the control model as people ask of it: grid, table, stages, the barrier."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from kit.engine.breaches import PassedStep
from kit.protocols.tablets.facts.grid import GridHost, PlacedTablet, TabletGrid, TabletWay
from kit.protocols.tablets.rules.layout import last_tokens
from kit.protocols.tablets.rules.replica_sets import Replicas
from kit.protocols.tablets.rules.stages import TransitionKind
from kit.protocols.tablets.tracks import working
from kit.protocols.tablets.tracks.model import Tracks
from kit.protocols.tablets.tracks.state import TabletRow, TabletTransition, TracksState
from kit.protocols.topology.facts.moment import NodeFacts, nodes
from kit.protocols.topology.rules.machines import Selector

TABLE = "ks.t"
"""The model has one table."""


def grid(m: Tracks, s: TracksState) -> TabletGrid:
    """Who holds which tablet; a node is there as soon as it has a row."""
    hosts = (_host(m, node) for node in nodes(m.control, s.control))
    tablets = (_placed(number, row) for number, row in enumerate(s.tablets))
    return TabletGrid(tuple(hosts), tuple(tablets))


def _host(m: Tracks, node: NodeFacts) -> GridHost:
    state = "" if node.state == "normal" else node.state
    asks = node.request if node.request in ("leave", "remove", "replace") else ""
    ignored = "ignored" if node.is_ignored else ""
    note = node.health or ignored or NOTES.get(state, state) or NOTES[asks]
    return GridHost(node.name, m.parameters.shards, m.rack(node.name), note, node.is_coordinator)


NOTES = {
    "": "",
    "none": "new",
    "bootstrapping": "joins",
    "replacing": "joins",
    "replace": "joins",
    "decommissioning": "leaves",
    "leave": "leaves",
    "removing": "goes",
    "remove": "goes",
    "rebuilding": "rebuilds",
}
"""Short words beside a node's name: its row has room for few letters."""


def _placed(number: int, row: TabletRow) -> PlacedTablet:
    ways = tuple(TabletWay(t.kind, t.stage, t.sets) for t in row.transitions)
    return PlacedTablet(TABLE, number, row.replicas, ways, row.some)


class TableRow(Struct, frozen=True):
    """A row of ``system.tablets``, as texts; empty where a column is null."""

    number: int
    last_token: str
    replicas: str
    new_replicas: str
    stage: str
    transition: str
    session: str


def table(s: TracksState) -> tuple[TableRow, ...]:
    """``system.tablets``; of a tablet in two transitions both are told."""
    lasts = last_tokens(len(s.tablets))
    return tuple(_row(number, lasts[number], row) for number, row in enumerate(s.tablets))


def _row(number: int, last: int, row: TabletRow) -> TableRow:
    def of_each(texts: Iterator[str]) -> str:
        return " and ".join(filter(None, texts))

    ways = row.transitions
    return TableRow(
        number,
        str(last),
        words(row.replicas),
        of_each(words(t.new) for t in ways),
        of_each(t.stage for t in ways),
        of_each(t.kind for t in ways),
        of_each(str(t.session) if t.session else "" for t in ways),
    )


def words(replicas: Replicas) -> str:
    """Replicas as they are written: ``A:0, B:1``."""
    return ", ".join(map(str, replicas))


class WorkFacts(Struct, frozen=True):
    """A piece of a stage's work, and whether it is *done*, *failed*, *next* or *later*."""

    name: str
    standing: str


class StageFacts(Struct, frozen=True):
    """A tablet in transition: where it stands, whom requests use meanwhile, what its stage does."""

    tablet: int
    kind: TransitionKind
    stage: str
    reads: Selector
    read_from: Replicas
    writes: Selector
    written_to: Replicas
    session: int
    work: tuple[WorkFacts, ...]


def stages(m: Tracks, s: TracksState) -> tuple[StageFacts, ...]:
    """Every transition, by tablet."""
    return tuple(
        _stage(m, number, transition)
        for number, row in enumerate(s.tablets)
        for transition in row.transitions
    )


def _stage(m: Tracks, tablet: int, t: TabletTransition) -> StageFacts:
    row = m.table(t).state(t.stage)
    several = len(m.parameters.tables) > 1
    work = tuple(
        WorkFacts(f"{each.name} {table}" if table and several else each.name, _standing(place, t))
        for place, (each, table) in enumerate(m.work(t.kind, t.stage))
    )
    chosen = t.sets.chosen
    return StageFacts(
        *(tablet, t.kind, t.stage, row.reads, chosen(row.reads)),
        *(row.writes, chosen(row.writes), t.session, work),
    )


def _standing(place: int, t: TabletTransition) -> str:
    if place != t.done:
        return "done" if place < t.done else "later"
    return "failed" if t.failed else "next"


class StageWay(Struct, frozen=True):
    """A transition of a tablet with the stages that it went through; ``ended`` once it is over."""

    tablet: int
    kind: TransitionKind
    stages: tuple[str, ...]
    ended: bool


def way_of(s: TracksState, steps: Sequence[PassedStep]) -> StageWay | None:
    """The transition that moved last, or is the first of those under way; None before any."""
    ways: dict[tuple[int, int], StageWay] = {}
    last: StageWay | None = None
    for before, after in _changes(s, steps):
        for number, (was, now) in enumerate(zip(before.tablets, after.tablets, strict=True)):
            if was is now:
                continue
            for place in range(max(len(was.transitions), len(now.transitions))):
                moved = _moved(number, was, now, place, ways.get((number, place)))
                if moved is not None:
                    ways[number, place] = last = moved
    return last


def _changes(
    s: TracksState, steps: Sequence[PassedStep]
) -> Iterator[tuple[TracksState, TracksState]]:
    pairs = ((step.before, step.after) for step in steps)
    yield from (pair for pair in pairs if pair[0].tablets is not pair[1].tablets)


def _moved(
    number: int, was: TabletRow, now: TabletRow, place: int, way: StageWay | None
) -> StageWay | None:
    """The way of a transition after a step that moved it on; None where it did not."""
    old, new = _at(was, place), _at(now, place)
    if (old and old.stage) == (new and new.stage):
        return None
    if new is None:
        assert old is not None
        passed = way.stages if way else (old.stage,)
        return StageWay(number, old.kind, passed, ended=True)
    passed = way.stages if way and old and not way.ended else (old.stage,) if old else ()
    return StageWay(number, new.kind, (*passed, new.stage), ended=False)


def _at(row: TabletRow, place: int) -> TabletTransition | None:
    return row.transitions[place] if place < len(row.transitions) else None


class TabletBarrier(Struct, frozen=True):
    """The barrier that tablets wait for: for which, whom it asks, who does not hear it, why not."""

    tablets: tuple[int, ...]
    hosts: tuple[str, ...]
    missing: tuple[str, ...]


def barrier(m: Tracks, s: TracksState) -> TabletBarrier | None:
    """The barrier; None where no tablet waits for one."""
    waiting = tuple(p.tablet for p in working.pieces(m, s) if p.work.barrier)
    if not waiting:
        return None
    needed = working.barrier_nodes(s)
    missing = needed & ~s.control.reachable
    return TabletBarrier(waiting, working.named(m, needed), working.named(m, missing))


def first_kind(m: Tracks) -> TransitionKind:
    """The kind of transition that comes first, as long as none has come."""
    return m.parameters.kinds[0] if m.parameters.moves and m.parameters.kinds else "migration"
