"""A dry run as a history: operations on somebody's own ring, done step by step to the end.

It drives the same tcm model that the player shows. What the cluster's tools show comes first:
operations in flight, nodes that are down. Then every operation that may begin does; everybody who
is up follows, data is streamed, each operation commits its next step, and those that had to wait
begin as soon as they may.
"""

from collections.abc import Collection, Iterable, Iterator
from operator import attrgetter
from typing import Any

from msgspec import Struct

from kit.errors import BadInput, Refusal
from kit.model.timeline import Moment, Timeline
from kit.operators.importers.opening import Imported
from kit.operators.importers.ringfile import RingFile, place_name
from kit.protocols.tcm import cluster as schedule
from kit.protocols.tcm.cluster import TcmCluster
from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.parameters import TcmParameters
from kit.protocols.tcm.rules.metadata import SHRINKS, Advance, Begin, too_few_left
from kit.protocols.tcm.rules.operations import Edition, Level, Operation
from kit.protocols.tcm.tcm import Crash
from kit.ring.sizes import Stored
from kit.ring.tokens import MURMUR3
from kit.ring.topology import Ring


def operations_of(given: Imported) -> tuple[Operation, ...]:
    """Those of an import that can be rehearsed, since their tokens are known, in its order.

    A node that leaves, though a keyspace then wants more replicas than there are nodes, was forced.
    """
    operations, leaving = list[Operation](), set[int]()
    for seen in filter(attrgetter("complete"), given.in_flight):
        force = False
        if seen.kind in SHRINKS:
            code = given.ring.names.index(seen.node)
            force = bool(too_few_left(given.ring, given.keyspaces, leaving, code))
            leaving.add(code)
        place = {"dc": seen.dc, "rack": seen.rack}
        operations.append(Operation(seen.kind, seen.node, seen.tokens, **place, force=force))
    return tuple(operations)


def forced_notes(given: Imported) -> Iterator[str]:
    """A line for each operation in flight that only ``--force`` could begin now."""
    for operation in operations_of(given):
        if operation.force:
            yield f"{operation.title} is in flight, though too few nodes remain for a keyspace"


def check_begins(operation: Operation, refusal: Refusal | None) -> None:
    """BadInput names an operation in flight that could not have begun, with the reason."""
    if refusal is not None:
        allowed = f"one that can begin ({refusal.reason})"
        raise BadInput("operation in flight", operation.text, allowed)


def elsewhere(
    operation: Operation, edition: Edition, ring: Ring, up: Collection[str]
) -> Refusal | None:
    """The objection of the node where an operation would be run, before anything is proposed.

    Sources: published ``SingleNodeSequences``; its test of a host's replacement.
    """
    dead = operation.dead
    several = {node.name for node in ring.nodes if len(node.tokens) > 1}
    if edition == "server" and operation.kind == "move" and operation.node in several:
        return Refusal(f"{operation.node} has several tokens, and the server moves a node with one")
    if edition == "server" and operation.kind in ("removenode", "replace") and dead in up:
        instead = "decommission it" if operation.kind == "removenode" else "stop it first"
        return Refusal(f"{dead} is up: {instead}")
    return None


def model_for(
    ring_file: RingFile,
    operations: tuple[Operation, ...],
    edition: Edition = "server",
    *,
    begun: int | None = None,
    crashes: int = 0,
    cancels: int = 0,
    stored: Stored | None = None,
    level: Level | None = None,
) -> TcmCluster:
    """The tcm model of somebody's own ring, with the first ``begun`` operations (None: all but one)
    in flight. ``stored`` is how much it holds, to show in a player; ``level`` that of its barriers.
    BadInput when an operation does not speak of this ring.
    """
    space = ring_file.ring.space
    ends = (None, None) if space == MURMUR3 else (space.low, space.high)
    for operation in operations:
        # New names are as strict as those of a ring file: they are shown, stored and compared.
        for field in ("node", "dc", "rack"):
            if (name := getattr(operation, field)) is not None:
                place_name(name, field)
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
            cancels=cancels,
            stored=stored,
            level=level or "own",
        )
    )


def begin_in_flight(timeline: Timeline, operations: Iterable[Operation]) -> None:
    """Commit the first event of what is in flight; BadInput when those exclude each other."""
    m: Any = timeline.model
    for operation in operations:
        action = m.wrap["tcm"](Begin(operation))
        check_begins(operation, m.refusal(timeline.state, action))
        timeline.do(action)


def turn(timeline: Timeline, node: str | None = None) -> bool:
    """Everybody follows, data is streamed, each operation (or one) commits a step: did any?"""
    m: Any = timeline.model
    timeline.run(tuple(schedule.follow(m, timeline.state)))
    s = timeline.state
    timeline.run([a for a in schedule.stream(m, s, node) if m.refusal(s, a) is None])
    return in_turn(timeline, schedule.commit(m, timeline.state, node))


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
    edition: Edition = "server",
    stored: Stored | None = None,
) -> Timeline:
    """Rehearse operations to the end, or as far as they go; the history stands where they begin.

    ``in_flight`` are operations under way beside those that the files show. BadInput when one does
    not speak of this ring, is given twice, or those in flight exclude each other.
    """
    begun = tuple(dict.fromkeys((*operations_of(given), *in_flight)))
    everything = (*begun, *operations)
    for i, operation in enumerate(everything):
        if operation in everything[:i]:
            where = "already in flight" if operation in begun else "given twice"
            raise BadInput("operation", operation.text, f"each operation once; this one is {where}")
    # One node more than those that are down may crash: what if, at any step. Not where so many are
    # offered that nobody could choose.
    crashes = len(given.down) + (len(given.ring.nodes) <= MOST_TO_CHOOSE)
    # Of a newcomer's load nothing is read.
    loads = tuple(load for load in given.loads.items() if load[0] in given.ring.names)
    held = stored or Stored(loads)
    m: Any = model_for(given, everything, edition, begun=len(begun), crashes=crashes, stored=held)
    timeline, shown = Timeline(m), Timeline(m)
    begin_in_flight(shown, begun)
    in_turn(shown, [m.wrap["tcm"](Crash(name)) for name in given.down])
    timeline.run(shown.actions())  # as one folded step
    in_turn(timeline, m.to_begin(timeline.state))
    first = timeline.at
    while turn(timeline) | in_turn(timeline, m.to_begin(timeline.state)):
        pass
    timeline.goto(first)
    return timeline


def opening_state(timeline: Timeline) -> Any:
    """The state just before the first planned operation began; where none did, the one shown."""
    begins = {planned.operation.text for planned in outcome(timeline)}
    for moment in timeline.path()[1:]:
        came = timeline.moments[moment]
        if came.fold == 0 and timeline.model.verb(came.action) in begins:
            return timeline.moments[came.parent].state
    return timeline.state


def steps(timeline: Timeline) -> tuple[StepSummary, ...]:
    """Every epoch of the branch that is shown, with what an operator asks of it."""
    moments = (timeline.moments[moment] for moment in timeline.path())
    return tuple(_summary(timeline.model, at) for at in moments if at.milestone is not None)


def _summary(m: Any, at: Moment) -> StepSummary:
    copies = [(name, copy) for name, copy in facts.copies(m, at.state) if not copy.done]
    loads = facts.traffic_of(copies)
    sizes = [copy.bytes for _, copy in copies if copy.bytes is not None]
    lost = facts.losses(m, at.state)
    line = facts.log(m, at.state)[-1]
    return StepSummary(
        m.newest_epoch(at.state),
        f"{line.text} ({line.operation.title})",
        at.id,
        len(copies),
        sum(sizes) if sizes or not copies else None,
        loads[0].node if loads else None,
        tuple(sorted({name for loss in lost for name, _ in loss.nodes}, key=m.codes.__getitem__)),
        max((loss.broken for loss in lost), default=0),
    )


def standstill(timeline: Timeline) -> Iterator[str]:
    """The operations that did not come to their end, and why, a line each."""
    m: Any = timeline.model
    state = timeline.moments[timeline.tip].state
    for planned in outcome(timeline):
        title = planned.operation.title
        if planned.refusal is not None:
            yield f"{title} cannot begin: {planned.refusal.reason}"
        if planned.status == "under way":
            refusal = m.refusal(state, m.wrap["tcm"](Advance(planned.operation.node)))
            yield f"{title} has stopped: {refusal.reason if refusal else 'no node continues it'}"


def outcome(timeline: Timeline) -> tuple[facts.Planned, ...]:
    """Every operation as it stands at the end of the branch that is shown."""
    m: Any = timeline.model
    return facts.planned(m, timeline.moments[timeline.tip].state)
