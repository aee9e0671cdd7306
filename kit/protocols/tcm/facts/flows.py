"""What travels in a step of CEP-21: commits into the log, entries to nodes, streams along the ring.

A node is where one of its tokens is drawn; the log is in the middle. Source: CEP-21, "Event
Submission Protocol", "Node Level Changes" and "Bootstrap".
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kit.engine.flows import Flow, FlowTable
from kit.engine.log import Append, Apply, CatchUp, Deliver, Rewrite
from kit.errors import counted
from kit.protocols.tcm.cluster import TcmCluster
from kit.protocols.tcm.facts.moment import NodeRow, nodes, space
from kit.protocols.tcm.hold import Hold, Release
from kit.protocols.tcm.model import Crash, Restart, Stream
from kit.protocols.tcm.rules.metadata import Advance, AutomaticCancel, Begin, Cancel
from kit.protocols.tcm.rules.operations import Operation
from kit.protocols.tcm.rules.steps import OPERATION_SPECS
from kit.protocols.tcm.rules.streams import sources
from kit.ring.ranges import Range

LOG, RING = "log", "ring"
MOST_RANGES = 4
"""Ranges that a sentence names; the rest is counted."""
LONGEST_LABEL = 16
NEAREST = 8
"""A way along the ring is at least this part of it, where the source has a token so far away."""


def spot(name: str, token: int | str) -> str:
    """The key of a token of a node on the ring; with an empty token, what they all begin with."""
    return f"n:{name}:{token}"


def _place(m: TcmCluster, before: Any, after: Any, name: str) -> str:
    """Where a node stands: at its first token.

    One that has just left is where it was; one without tokens has its row among those that apply.
    """
    for state in (after, before):
        tokens = _row(m, state, name).tokens
        if tokens:
            return spot(name, tokens[0])
    return f"strip:{name}"


def _row(m: TcmCluster, s: Any, name: str) -> NodeRow:
    return next(row for row in nodes(m, s) if row.name == name)


# -- the log ---------------------------------------------------------------------------------------


def _began(m: TcmCluster, before: Any, action: Begin, after: Any) -> tuple[Flow, ...]:
    return _submitted(m, before, after, _driver(action.operation))


def _advanced(m: TcmCluster, before: Any, action: Advance, after: Any) -> tuple[Flow, ...]:
    sequence = m.tcm.sequence(before.tcm, action.node)
    assert sequence is not None
    node = None if sequence.undoing else _driver(sequence.plan.operation)
    return _submitted(m, before, after, node)


def _given_up(m: TcmCluster, before: Any, action: AutomaticCancel, after: Any) -> tuple[Flow, ...]:
    return _submitted(m, before, after, action.by)


def _driver(operation: Operation) -> str | None:
    """The node that carries an operation out; an operator is nowhere in the picture."""
    return operation.node if OPERATION_SPECS[operation.kind].driver == "node" else None


def _submitted(m: TcmCluster, before: Any, after: Any, node: str | None) -> tuple[Flow, ...]:
    if node is None:
        return ()
    label = f"epoch {m.snapshot(after).metadata.epoch}"
    place = _place(m, before, after, node)
    return (Flow("request", place, LOG, label, f"{node} → log: commits {label}"),)


def _applied(m: TcmCluster, before: Any, action: Any, after: Any) -> tuple[Flow, ...]:
    node = action.node
    label = _epochs(range(m.applied_by(before, node) + 1, m.applied_by(after, node) + 1))
    return (_entry(m, before, after, node, label),)


def _delivered(m: TcmCluster, before: Any, action: Any, after: Any) -> tuple[Flow, ...]:
    return (_entry(m, before, after, action.node, f"epoch {m.log.epoch_of(action.index + 1)}"),)


def _entry(m: TcmCluster, before: Any, after: Any, node: str, label: str) -> Flow:
    return Flow("entry", LOG, _place(m, before, after, node), label, f"log → {node}: {label}")


def _caught_up(m: TcmCluster, before: Any, action: Any, after: Any) -> tuple[Flow, ...]:
    """A node asks a peer for what is above its own epoch, and adopts what it is sent."""
    node, peer = action.node, action.peer
    asks, answers = (_place(m, before, after, name) for name in (node, peer))
    had, label = m.applied_by(before, node), _epochs(m.log.answered(before.log, action))
    return (
        Flow("request", asks, answers, f"above {had}?", f"{node} → {peer}: asks above epoch {had}"),
        Flow("entry", answers, asks, label, f"{peer} → {node}: {label}", 1),
    )


def _epochs(epochs: range | tuple[int, ...]) -> str:
    return f"epoch {epochs[0]}" if len(epochs) == 1 else f"epochs {epochs[0]} to {epochs[-1]}"


# -- streams ---------------------------------------------------------------------------------------


def _streamed(m: TcmCluster, before: Any, action: Stream, after: Any) -> tuple[Flow, ...]:
    """Each source sends its ranges along the ring into the new replica."""
    sequence, task = m.tcm.task(before.tcm, action)
    down, _ = m.tcm.absent(before.tcm, sequence)
    ranges_of: dict[str, dict[Range, None]] = {}
    for transfer in task.transfers:
        for code in sources(transfer, down, m.tcm.switches):
            ranges_of.setdefault(m.names[code], {})[transfer.range] = None
    return tuple(
        _stream(m, after, source, action.target, tuple(ranges))
        for source, ranges in ranges_of.items()
    )


def _stream(m: TcmCluster, after: Any, source: str, target: str, ranges: tuple[Range, ...]) -> Flow:
    """From a token of the source to where the target has, or will have, the first of the ranges."""
    labels = [part.label(space(m)) for part in ranges[:MOST_RANGES]]
    rest = len(ranges) - len(labels)
    named = ", ".join(labels) + (f" and {counted(rest, 'more range')}" if rest else "")
    short = len(ranges) == 1 and len(labels[0]) <= LONGEST_LABEL
    count = counted(len(ranges), "range")
    receiver = _row(m, after, target)
    tokens = receiver.coming or receiver.tokens
    end = min((token for token in tokens if token >= ranges[0].right), default=tokens[0])
    begin = _apart(m, _row(m, after, source).tokens, end)
    return Flow(
        "data",
        spot(source, begin),
        spot(target, end),
        labels[0] if short else count,
        f"{source} → {target}: streams {named}",
        around=RING,
    )


def _apart(m: TcmCluster, tokens: tuple[int, ...], token: int) -> int:
    """Of a node's tokens the first that is far enough from another one for a way to be seen."""
    line = space(m)
    whole = line.high - line.low

    def far(other: int) -> int:
        return min(abs(other - token), whole - abs(other - token))

    return next((t for t in tokens if far(t) * NEAREST >= whole), max(tokens, key=far))


def ends(flows: Iterable[Flow]) -> frozenset[str]:
    """The keys between which something travels."""
    return frozenset(key for flow in flows for key in (flow.from_key, flow.to_key))


# An operator's cancel comes from nobody in the picture, and an entry is appended by its commit;
# crashes, and what a test holds back, send nothing.
FLOWS = FlowTable(
    {
        Begin: _began,
        Advance: _advanced,
        AutomaticCancel: _given_up,
        Apply: _applied,
        Deliver: _delivered,
        CatchUp: _caught_up,
        Stream: _streamed,
    },
    (Cancel, Append, Rewrite, Crash, Restart, Hold, Release),
)
