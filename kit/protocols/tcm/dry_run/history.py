"""A dry run as a history: operations on somebody's own ring, done step by step to the end.

It drives the same tcm model that the player shows. What the cluster's tools show comes first:
operations in flight, nodes that are down. Then every operation that may begin does; everybody who
is up follows, data is streamed, each operation commits its next step, and those that had to wait
begin as soon as they may.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct

from kit.engine.timeline import Timeline
from kit.errors import BadInput, Refusal
from kit.operators.importers.opening import Imported, InFlight
from kit.operators.importers.ringfile import LONGEST_NAME, RingFile
from kit.protocols.tcm import cluster as schedule
from kit.protocols.tcm.cluster import TcmCluster
from kit.protocols.tcm.facts import dry_run as dry_run_facts
from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.facts.dry_run import Loss, Planned
from kit.protocols.tcm.parameters import TcmParameters
from kit.protocols.tcm.rules.metadata import Advance, Begin
from kit.protocols.tcm.rules.operations import Edition, Operation
from kit.protocols.tcm.tcm import Crash
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


MOST_TO_CHOOSE = 128


class StepSummary(Struct, frozen=True):
    """One epoch of a dry run.

    ``streams`` and ``bytes`` are what is still to be copied when it is committed (None: no size is
    known), ``busiest`` the node that sends the most of it. ``fragile`` are nodes whose death would
    then break a quorum, ``broken`` the ranges that lack one already. ``moment`` is its place in
    the history, to go to in the player.
    """

    epoch: int
    say: str
    moment: int
    streams: int
    bytes: int | None
    busiest: str | None
    fragile: tuple[str, ...]
    broken: int


def dry_run_of(
    given: Imported,
    operations: tuple[Operation, ...],
    *,
    in_flight: tuple[Operation, ...] = (),
    edition: Edition = "documents",
    stored: Stored | None = None,
) -> Timeline:
    """Rehearse operations to the end, or as far as they go; the history stands where they begin.

    ``in_flight`` are operations under way beside those that the files show.

    Raises:
        BadInput: when an operation does not speak of this ring, is given twice, or those in flight
            exclude each other.
    """
    seen = operations_of(given)
    begun = tuple(dict.fromkeys((*seen, *in_flight)))
    everything = (*begun, *operations)
    for i, operation in enumerate(everything):
        if operation in everything[:i]:
            where = "in flight already" if operation in begun else "given twice"
            raise BadInput("operation", operation.text, f"each operation once; this one is {where}")
    # One node more than those that are down may crash: what if, at any step. Not where so many are
    # offered that nobody could choose.
    spare = int(len(given.ring.nodes) <= MOST_TO_CHOOSE)
    m = model_for(
        given,
        everything,
        edition,
        begun=len(begun),
        crashes=len(given.down) + spare,
        stored=stored or Stored(tuple(_loads(given))),
    )
    timeline = Timeline(m)
    _as_the_tools_show(timeline, begun, given.down)
    in_turn(timeline, m.to_begin(timeline.state))
    first = timeline.at
    while turn(timeline) | in_turn(timeline, m.to_begin(timeline.state)):
        pass
    timeline.goto(first)
    return timeline


def _as_the_tools_show(timeline: Timeline, begun: Iterable[Operation], down: Iterable[str]) -> None:
    """Operations in flight, then nodes that are down, as one folded step."""
    m: Any = timeline.model
    seen = Timeline(m)
    begin_in_flight(seen, begun)
    in_turn(seen, [m.wrap["tcm"](Crash(name)) for name in down])
    if seen.at:
        timeline.run(seen.moments[moment].action for moment in seen.path()[1:])


def _loads(given: Imported) -> Iterator[tuple[str, int]]:
    """The loads of the nodes that own tokens: of a newcomer nothing is read."""
    return ((name, size) for name, size in given.loads.items() if name in given.ring.names)


def opening_state(timeline: Timeline) -> Any:
    """The state just before the first planned operation began; where none did, the one shown."""
    begins = {planned.operation.text for planned in outcome(timeline)}
    for moment in timeline.path():
        came = timeline.moments[moment]
        if (
            came.action is not None
            and came.fold == 0
            and timeline.model.verb(came.action) in begins
        ):
            return timeline.moments[came.parent].state
    return timeline.state


# -- what it comes to -----------------------------------------------------------------------------


def steps(timeline: Timeline) -> tuple[StepSummary, ...]:
    """Every epoch of the branch that is shown, with what an operator asks of it."""
    m: Any = timeline.model
    return tuple(
        _summary(m, timeline, moment)
        for moment in timeline.path()
        if timeline.moments[moment].milestone is not None
    )


def _summary(m: TcmCluster, timeline: Timeline, moment: int) -> StepSummary:
    at = timeline.moments[moment]
    copies = [copy for copy in dry_run_facts.copies(m, at.state) if not copy.done]
    loads = dry_run_facts.traffic_of(copies)
    sizes = [copy.bytes for copy in copies if copy.bytes is not None]
    lost = dry_run_facts.losses(m, at.state)
    line = facts.log(m, at.state)[-1]
    return StepSummary(
        facts.epoch(m, at.state),
        f"{line.text} ({line.operation})",
        moment,
        len(copies),
        sum(sizes) if sizes or not copies else None,
        loads[0].node if loads and loads[0].sends else None,
        fragile(m, lost),
        max((loss.broken for loss in lost), default=0),
    )


def fragile(m: TcmCluster, lost: Iterable[Loss]) -> tuple[str, ...]:
    """The nodes whose death would take a quorum from some range, in the order of the ring file."""
    names = {name for loss in lost for name, _ in loss.nodes}
    return tuple(sorted(names, key=lambda name: m.codes[name]))


def standstill(timeline: Timeline) -> Iterator[str]:
    """What did not come to its end, and why, a line each."""
    m: Any = timeline.model
    state = timeline.moments[timeline.tip].state
    for planned in outcome(timeline):
        title = planned.operation.title
        if planned.status == "planned" and planned.refusal is not None:
            yield f"{title} cannot begin: {planned.refusal.reason}"
        if planned.status == "under way":
            refusal = m.refusal(state, m.wrap["tcm"](Advance(planned.operation.node)))
            yield f"{title} stands still: {refusal.reason if refusal else 'nobody goes on'}"


def outcome(timeline: Timeline) -> tuple[Planned, ...]:
    """Every operation as it stands at the end of the branch that is shown."""
    m: Any = timeline.model
    return dry_run_facts.planned(m, timeline.moments[timeline.tip].state)
