"""What travels in the steps of the control model: data between replicas, barriers, commands.

What the cluster itself does travels as in ``topology``, between the nodes of the grid.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

from msgspec.structs import replace

from kit.engine.flows import Flow, FlowTable, Travels
from kit.protocols.tablets.facts.copies import WITHIN_NODE
from kit.protocols.tablets.facts.grid import TabletGrid
from kit.protocols.tablets.facts.tracks import grid
from kit.protocols.tablets.hosts import LOG, NETWORK, barrier, host_spot, replica_spot
from kit.protocols.tablets.rules.replica_sets import TabletReplica
from kit.protocols.tablets.rules.stages import REPAIR, STREAM
from kit.protocols.tablets.tracks import actions as act
from kit.protocols.tablets.tracks import working
from kit.protocols.tablets.tracks.coordinating import piece_of
from kit.protocols.tablets.tracks.model import Tracks
from kit.protocols.tablets.tracks.state import TabletCommand, TracksState
from kit.protocols.tablets.tracks.wording import said
from kit.protocols.topology import topology as cluster
from kit.protocols.topology.coordinator import LOG as THEIR_LOG
from kit.protocols.topology.rules.cluster import NOBODY
from kit.protocols.topology.serving import NETWORK as THEIR_NETWORK

MOST_NAMED = 8
"""Tablets that a label names."""
MOST_SHOWN = 60
"""Ways that are shown of a step in which very much travels."""
_SPOTS = {THEIR_LOG: LOG, THEIR_NETWORK: NETWORK}


def _here(key: str) -> str:
    """The part of the grid that a part of the topology's pictures is here."""
    kind, _, name = key.partition(":")
    return host_spot(name) if kind == "n" else _SPOTS.get(key, key)


def _of_cluster(travels: Travels) -> Travels:
    def lifted(m: Tracks, before: TracksState, action: Any, after: TracksState) -> tuple[Flow, ...]:
        sent = travels(m.control, before.control, action, after.control)
        return tuple(
            replace(flow, from_key=_here(flow.from_key), to_key=_here(flow.to_key)) for flow in sent
        )

    return lifted


def _leader(m: Tracks, s: TracksState) -> str:
    leads = s.control.coordinator
    return LOG if leads == NOBODY else host_spot(m.names[leads])


def _committed(m: Tracks, before: TracksState, action: Any, after: TracksState) -> tuple[Flow, ...]:
    """A command of tablets says what it does; any other is the cluster's."""
    late = isinstance(action, cluster.CommitDeposed)
    command = before.deposed if late else before.command
    if command is None:
        return _of_cluster(cluster.Topology.acts[type(action)].flows)(m, before, action, after)
    effect = "" if after.tablets is not before.tablets else " (no effect)"
    text = f"coordinator → group 0: {said(m, before, command)}{effect}"
    return (Flow("entry", _leader(m, before), LOG, _label(m, command), text),)


def _label(m: Tracks, command: TabletCommand) -> str:
    every = (*(c.tablet for c in command.changes), *(number for number, _ in command.begins))
    tablets = list(dict.fromkeys(every))
    if len(tablets) > MOST_NAMED:
        return f"{len(tablets):,} tablets"
    return f"tablet {', '.join(map(str, tablets))}"


def _barrier(
    m: Tracks, before: TracksState, action: act.PassBarrier, after: TracksState
) -> tuple[Flow, ...]:
    names = working.named(m, working.barrier_nodes(before))
    leader = _leader(m, before)
    return tuple(
        Flow(leg.kind, leg.source, leg.target, leg.label, leg.text, leg.leg or 0)
        for leg in barrier(names, leader)
    )


def _worked(
    m: Tracks, before: TracksState, action: act.WorkOnTablet, after: TracksState
) -> tuple[Flow, ...]:
    """Data from replica to replica; or an order from the coordinator to whom it concerns."""
    piece = piece_of(m, before, action.tablet)
    assert piece is not None
    return tuple(_of_piece(m, before, piece, grid(m, before)))


def _worked_on_all(
    m: Tracks, before: TracksState, action: act.WorkOnAll, after: TracksState
) -> tuple[Flow, ...]:
    """The same of every tablet that was worked on; of very much, the first of it."""
    shards = grid(m, before)
    done = (p for p in working.pieces(m, before) if not p.work.barrier)
    done = (p for p in done if after.tablets[p.tablet] is not before.tablets[p.tablet])
    flows = (flow for piece in done for flow in _of_piece(m, before, piece, shards))
    return tuple(islice(flows, MOST_SHOWN))


def _of_piece(
    m: Tracks, before: TracksState, piece: working.Piece, shards: TabletGrid
) -> Iterator[Flow]:
    sources, written = working.involved(m, before, piece.transition, piece.work.name)
    label = m.tablet_words(piece.tablet)
    if piece.work.name == STREAM:
        pairs = [(source, target) for source in sources for target in written]
    elif piece.work.name == REPAIR:
        pairs = [(a, b) for a in sources for b in written if a != b]
    else:
        yield from _orders(_leader(m, before), piece.work.name, label, written)
        return
    place = m.place(piece.tablet)
    linked = piece.work.name == STREAM and piece.transition.kind == WITHIN_NODE
    how = f"hard links to {label}" if linked else label
    for source, target in pairs:
        ends = (_spot(shards, place, source), _spot(shards, place, target))
        yield Flow("data", *ends, how, f"{source} → {target}: {how}")


def _orders(leader: str, work: str, label: str, hosts: tuple[TabletReplica, ...]) -> Iterator[Flow]:
    words = work.replace("_", " ")
    for each in hosts:
        text = f"coordinator → {each}: {words} of {label}"
        yield Flow("message", leader, host_spot(each.host), words, text)


def _spot(shards: TabletGrid, tablet: tuple[str, int], place: TabletReplica) -> str:
    """The chip of a tablet at a place; the node's row where it has none."""
    for held in shards.held.get(place, ()):
        if (held.tablet.table, held.tablet.number) == tablet:
            return replica_spot(held.key)
    return host_spot(place.host)


def _arrived(
    m: Tracks, before: TracksState, action: act.ArriveLate, after: TracksState
) -> tuple[Flow, ...]:
    """What comes late is let in or turned away, for its permit."""
    late = before.late
    assert late is not None
    kept = after.late is not None
    label = f"{late.work} {'let in' if kept else 'refused'}"
    shards = grid(m, before)
    return tuple(
        Flow(
            "data" if kept else "refusal",
            NETWORK,
            _spot(shards, m.place(late.tablet), target),
            label,
            f"network → {target}: {label}, sent in {late.stage}",
        )
        for target in late.targets
    )


def _delayed(
    m: Tracks, before: TracksState, action: act.DelayRpc, after: TracksState
) -> tuple[Flow, ...]:
    """The RPC has left the coordinator, and nobody waits for it any more."""
    late = after.late
    assert late is not None
    text = f"coordinator → network: {late.work} of tablet {late.tablet}"
    return (Flow("message", _leader(m, before), NETWORK, late.work, text),)


_COMMITS: tuple[type, ...] = (cluster.CommitDecision, cluster.CommitDeposed)
_SEEN: tuple[type, ...] = (cluster.MakeRequest, cluster.AnswerBarrier, cluster.DoWork)
"""What of the cluster's own moves here: its nodes apply at once, and serve no requests."""
_CLUSTER = {kind: _of_cluster(cluster.Topology.acts[kind].flows) for kind in _SEEN}
FLOWS = FlowTable(
    {
        **_CLUSTER,
        **dict.fromkeys(_COMMITS, _committed),
        act.PassBarrier: _barrier,
        act.WorkOnTablet: _worked,
        act.WorkOnAll: _worked_on_all,
        act.DelayRpc: _delayed,
        act.ArriveLate: _arrived,
    },
    # A decision is the coordinator's own until it is committed; failing and ending move nothing.
    (
        *(kind for kind in cluster.Topology.acts if kind not in {*_SEEN, *_COMMITS}),
        act.BeginTransition,
        act.BeginPlan,
        act.AnswerStages,
        act.ApplyStages,
        act.FailBarrier,
        act.FailTablet,
        act.EndLate,
        act.AlterBaseTable,
    ),
)
