"""The run itself: operations on somebody's own ring, driven turn by turn along a timeline.

It drives the same tcm model that the player shows. What is in flight comes first; then the
schedule of ``kit.protocols.tcm.schedule`` goes on for as long as anything moves.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from kit.engine.timeline import Timeline
from kit.errors import BadInput, Refusal
from kit.operators.importers.opening import Imported, InFlight
from kit.operators.importers.ringfile import LONGEST_NAME, RingFile
from kit.protocols.tcm import schedule
from kit.protocols.tcm.cluster import TcmCluster
from kit.protocols.tcm.parameters import TcmParameters
from kit.protocols.tcm.rules.metadata import Begin
from kit.protocols.tcm.rules.operations import Operation
from kit.protocols.tcm.rules.steps import Edition
from kit.ring.sizes import Stored
from kit.ring.tokens import MURMUR3


def operation_of(seen: InFlight) -> Operation | None:
    """The operation to rehearse; None when its tokens are not known."""
    if not seen.complete:
        return None
    if seen.kind == "bootstrap":
        return Operation("bootstrap", seen.node, seen.tokens, dc=seen.dc, rack=seen.rack)
    return Operation(seen.kind, seen.node, seen.tokens)


def operations_of(given: Imported) -> tuple[Operation, ...]:
    """Those of an import that can be rehearsed, in its order."""
    operations = (operation_of(seen) for seen in given.in_flight)
    return tuple(operation for operation in operations if operation is not None)


def check_begins(operation: Operation, refusal: Refusal | None) -> None:
    """What the tools show in flight must have been able to begin.

    Raises:
        BadInput: naming the operation, with the reason of the refusal.
    """
    if refusal is not None:
        allowed = f"one that may begin ({refusal.reason})"
        raise BadInput("operation in flight", operation.text, allowed)


def model_for(
    ring_file: RingFile,
    operations: tuple[Operation, ...],
    edition: Edition = "documents",
    *,
    begun: int | None = None,
    crashes: int = 0,
    stored: Stored | None = None,
) -> TcmCluster:
    """The tcm model of somebody's own ring; the first ``begun`` operations (None: all but the last)
    are in flight already. ``stored`` is how much it holds, to show in a player.

    Raises:
        BadInput: when an operation does not speak of this ring.
    """
    space = ring_file.ring.space
    ends = (None, None) if space == MURMUR3 else (space.low, space.high)
    for operation in operations:
        _check_names(operation)
    return TcmCluster(
        TcmParameters(
            members=ring_file.ring.nodes,
            keyspaces=ring_file.keyspaces,
            low=ends[0],
            high=ends[1],
            operations=tuple(operation.text for operation in operations),
            edition=edition,
            epoch=ring_file.epoch - (len(operations) - 1 if begun is None else begun),
            crashes=crashes,
            stored=stored,
        )
    )


def _check_names(operation: Operation) -> None:
    """New names are as strict as those of a ring file: they are shown, stored and compared."""
    for field in ("node", "dc", "rack"):
        name = getattr(operation, field)
        if name is not None and not (0 < len(name) <= LONGEST_NAME and name.isprintable()):
            raise BadInput(field, name, f"a text of 1 to {LONGEST_NAME} printable characters")


def begin_in_flight(timeline: Timeline, operations: Iterable[Operation]) -> None:
    """Commit the first event of what is in flight already.

    Raises:
        BadInput: when those in flight exclude each other.
    """
    m: Any = timeline.model
    for operation in operations:
        action = m.wrap["tcm"](Begin(operation))
        check_begins(operation, m.refusal(timeline.state, action))
        timeline.do(action)


def turn(timeline: Timeline, node: str | None = None) -> bool:
    """Everybody follows, data is streamed, each operation (or one) commits its next step.

    Whether any committed. What is followed and what is streamed is one folded step each.
    """
    m: Any = timeline.model
    _folded(timeline, schedule.follow(m, timeline.state))
    s = timeline.state
    streams = schedule.stream(m, s, node)
    _folded(timeline, (action for action in streams if m.refusal(s, action) is None))
    return in_turn(timeline, schedule.commit(m, timeline.state, node))


def _folded(timeline: Timeline, actions: Iterable[Any]) -> None:
    """Several actions as one folded step, if there are any."""
    chosen = tuple(actions)
    if chosen:
        timeline.run(chosen)


def in_turn(timeline: Timeline, actions: Iterable[Any]) -> bool:
    """Those of several actions that may happen, a step each; whether there were any."""
    before = timeline.at
    for action in actions:
        if timeline.model.refusal(timeline.state, action) is None:
            timeline.do(action)
    return timeline.at != before
