"""Rehearsing an operation on a ring: every step, its tables, what it copies and waits for.

It drives the model that the player shows. Bounds at the ends of the line are None.
"""

from collections.abc import Collection, Iterator, Mapping
from typing import Any

import msgspec
from msgspec import Struct

from kit.edge.json_text import to_json
from kit.errors import BadInput, Refusal, are, counted
from kit.masks import majority
from kit.model.timeline import Timeline
from kit.operators.importers.ringfile import RingFile
from kit.protocols.tcm import cluster as schedule
from kit.protocols.tcm.cluster import TcmCluster
from kit.protocols.tcm.dry_run.history import begin_in_flight, elsewhere, in_turn, model_for, turn
from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.rules import metadata as rules
from kit.protocols.tcm.rules import operations
from kit.protocols.tcm.rules.barrier import sources
from kit.protocols.tcm.tcm import Crash
from kit.ring.placements import NamedGroups, Table
from kit.ring.ranges import Bounds, Line, bounds
from kit.ring.replication import LocalStrategy, NetworkTopologyStrategy
from kit.ring.sizes import Stored


class Tables(Struct, frozen=True):
    """The read and the write table of one keyspace: (left, right, replicas) rows."""

    reads: tuple[Line, ...]
    writes: tuple[Line, ...]


class Copy(Struct, frozen=True, rename={"sources": "from", "target": "to"}):
    """One range that must be copied; ``bytes`` is None when no size is known."""

    keyspace: str
    range: Bounds
    sources: tuple[str, ...]
    target: str
    bytes: int | None


class Wait(Struct, frozen=True):
    """``needed`` of ``replicas`` must have applied the step before, for one range."""

    keyspace: str
    range: Bounds
    dc: str | None
    replicas: tuple[str, ...]
    needed: int


class PlanStep(Struct, frozen=True):
    """One log event: the tables after it, and what must be done before it is committed."""

    name: str
    epoch: int
    keyspaces: dict[str, Tables]
    streams: tuple[Copy, ...]
    barriers: tuple[Wait, ...]


class HeldRange(Struct, frozen=True):
    """A range that the operation would lock, and the operation in flight that holds it."""

    keyspace: str
    range: Bounds
    operation: str


class PlanReport(Struct, frozen=True):
    """The effect of an operation, or why it may not begin.

    ``reason`` says why it is refused; of one that is accepted, why it halts, with what is still to
    be copied ``pending``. ``locks`` are the ranges it holds until its end (it would hold, when it
    is refused); ``before`` are the tables as they stand before its first step. ``remedy`` is what
    to type on the published server, and last what not to do.
    """

    operation: str
    accepted: bool
    reason: str | None
    warnings: tuple[str, ...]
    locks: dict[str, tuple[Bounds, ...]]
    conflicts: tuple[HeldRange, ...]
    steps: tuple[PlanStep, ...]
    before: dict[str, Tables]
    pending: tuple[Copy, ...] = ()
    remedy: tuple[str, ...] = ()


def dry_run(
    ring_file: RingFile,
    operation: operations.Operation,
    *,
    in_flight: tuple[operations.Operation, ...] = (),
    edition: operations.Edition = "server",
    stored: Stored | None = None,
    level: operations.Level | None = None,
    up: Collection[str] = (),
    down: Collection[str] = (),
) -> PlanReport:
    """Run an operation on a ring through all its steps, everybody who is not ``down`` following.

    ``in_flight`` are operations that are prepared already: their first event is committed, at an
    epoch up to the ring file's. ``stored`` is what is known of bytes. ``level`` is that of the
    progress barriers; None: the edition's.
    ``up`` and ``down`` are nodes of which it is known. BadInput when an operation does not speak of
    this ring, or those in flight exclude each other.
    """
    # The member that it speaks of; a bootstrap speaks of none.
    subject = {"bootstrap": None, "replace": operation.target}.get(operation.kind, operation.node)
    half_in = subject in {other.node for other in in_flight if other.kind in operations.BRINGS}
    every = in_flight if half_in else (*in_flight, operation)
    m = model_for(ring_file, every, edition, level=level, crashes=len(down), stored=stored)
    timeline = Timeline(m)
    begin_in_flight(timeline, in_flight)
    down = [name for name in down if name in m.names]  # who joins with unknown tokens is not there
    in_turn(timeline, [m.wrap["tcm"](Crash(name)) for name in down])
    start = timeline.state
    for other in in_flight:
        if m.tcm.sequence(start.tcm, other.node) is None:
            allowed = (
                "an operation of several events (this one is a single event and never in flight)"
            )
            raise BadInput("operation in flight", other.text, allowed)
    engaged = rules.busy(operation, in_flight)
    if half_in:
        assert engaged is not None, "whoever comes takes part in that"
        shown = tables(m, start, {})
        return PlanReport(operation.text, False, engaged.reason, (), {}, (), (), shown)
    begin = m.wrap["tcm"](rules.Begin(operation))
    engaged = engaged or elsewhere(operation, edition, ring_file.ring, up)
    refusal = engaged or m.refusal(start, begin)
    if refusal is not None:
        return _refused(m, start, operation, refusal)
    opening, ids = timeline.at, getattr(ring_file, "host_ids", {})  # of what tools printed
    timeline.do(begin)
    halt, awaited = None, frozenset[str]()
    while m.tcm.sequence(timeline.state.tcm, operation.node) is not None:
        before = timeline.at
        turn(timeline, operation.node)
        if timeline.at == before:
            halt, awaited = _halt(m, timeline.state, operation.node)
            break
    return _accepted(timeline, operation, opening, halt, awaited.intersection(down), down, ids)


def _halt(m: TcmCluster, s: Any, node: str) -> tuple[str, frozenset[str]]:
    """Why an operation does not go on, though everybody who is up has answered.

    With it come the nodes for which a barrier waits.

    BadInput for a level that some barrier can never meet, whoever is up.
    """
    actions = (*schedule.stream(m, s, node), *schedule.commit(m, s, node))
    refused = [*filter(None, (m.refusal(s, action) for action in actions))]
    lines = [line for refusal in refused for line in (refusal.reason, *refusal.evidence)]
    if why := next((line for line in lines if "no replica" in line), ""):
        allowed = f"a level that each range can meet ({why})"
        raise BadInput("barrier", m.tcm.switches.first_level, allowed)
    barriers = (refusal for refusal in refused if refusal.awaited)
    return lines[0], frozenset(name for each in barriers for name in each.missing)


def _accepted(
    timeline: Timeline,
    operation: operations.Operation,
    opening: int,
    halt: str | None,
    awaited: Collection[str],
    down: Collection[str],
    ids: Mapping[str, str],
) -> PlanReport:
    m: Any = timeline.model
    before = timeline.moments[opening].state
    metadata = m.snapshot(before).metadata
    planned = rules.plan(metadata, m.tcm.cluster.resolved[operation], m.tcm.switches)
    known: NamedGroups = {}
    shown = tables(m, before, known)
    steps = tuple(
        _step(m, timeline.moments[moment.parent].state, moment.state, operation.node, known)
        for moment in timeline.moments[opening + 1 :]
        if moment.milestone is not None
    )
    last = timeline.state
    sequence = m.tcm.sequence(last.tcm, operation.node)
    pending = _copies(m, last, sequence) if sequence else ()
    switches, gone = m.tcm.switches, frozenset(map(m.names.index, down))
    unheld = _unheld(m, metadata, planned, gone)
    lost, waits = ([said for said, asleep in unheld if bool(asleep) is by] for by in (False, True))
    said, typed = tuple[str, ...](), tuple[str, ...]()
    if switches.edition == "server":
        hands_over = operation.kind in ("bootstrap", "move")
        strict = gone & {t.displaced for t in planned.transfers} if hands_over else frozenset()
        ends = _ends(m, planned, strict, waits, lost)
        barrier = f"{halt}".partition("; and ")[0]  # what follows is the rule of the documents
        unmet = barrier.startswith("waiting")
        said = () if ends else _one_source(planned, gone, halt is not None and not unmet)
        at = next((at for at, step in enumerate(steps) if step.streams), None)
        if ends and at is not None:
            steps, pending = steps[:at], steps[at].streams
        if ends:
            halt = f"{barrier}; and {ends}" if unmet else ends
        receive = gone & {t.target for t in planned.transfers}
        late = map(m.names.index, awaited if unmet else ())
        absent = _names_of(m, strict.union(receive, late, *(asleep for _, asleep in unheld)))
        risks = {"lost": bool(lost), "waits": bool(waits), "strict": bool(strict)}
        typed = tuple(remedy(operation, ids, absent, **risks))
    warnings = (*_warnings(metadata, planned.resolved, switches), *said, *waits, *lost)
    locks = _locks(m, metadata, planned)
    return PlanReport(operation.text, True, halt, warnings, locks, (), steps, shown, pending, typed)


def _one_source(planned: rules.Plan, down: frozenset[int], halts: bool) -> tuple[str, ...]:
    """The streams of the published server that differ from the documents', which are shown here.

    Sources: published ``RangeStreamer``, whose source is strict or the first that is up, and
    ``DataMovementVerbHandler``, which takes the nearest one.
    """
    dead = planned.resolved.dead
    gone = down if dead is None else down | {dead}
    alone = [t for t in planned.transfers if t.displaced is None or t.displaced in gone]
    if all(majority(len(t.old_replicas)) < 2 for t in alone):
        return ()
    on = " and does not halt for want of a quorum" if halts else ""
    way = "a quorum streams where no live node hands its place over, as in the documents"
    return (f"{way}; the server copies from one live replica{on}, so repair afterwards",)


def _unheld(
    m: TcmCluster, metadata: rules.Metadata, planned: rules.Plan, down: frozenset[int]
) -> list[tuple[str, frozenset[int]]]:
    """Each range that no live node holds, in words, with the nodes that do and are only down.

    Where there is none, its data is lost with the node that the operation gives up.
    """
    dead, order = planned.resolved.dead, facts.keyspaces(m)
    given_up = frozenset[int]() if dead is None else frozenset((dead,))
    rows = []
    for t in planned.transfers:
        if not sources(t, down | given_up):
            asleep = down.intersection(t.old_replicas) - given_up
            who = f"{_names_of(m, asleep)} {are(len(asleep))} down"
            why = f"it cannot be copied while {who}" if asleep else "its data is lost"
            for keyspace in metadata.keyspaces_of(t.group):
                said = f"no live node holds {keyspace} {t.range.label(facts.space(m))}: {why}"
                rows.append((order.index(keyspace), t.range.left, said, asleep))
    return [(said, asleep) for *_, said, asleep in sorted(rows)]


def _names_of(m: TcmCluster, codes: Collection[int]) -> str:
    return ", ".join(m.names[code] for code in sorted(codes))


def _ends(
    m: TcmCluster, planned: rules.Plan, strict: frozenset[int], waits: list[str], lost: list[str]
) -> str:
    """Why the published server never commits the step that data must precede; empty: it does.

    ``strict`` are the nodes that are down and would hand over ranges. Sources: published
    ``RangeStreamer`` (strict sources), ``Move``, ``UnbootstrapAndLeave``.
    """
    kind = planned.resolved.operation.kind
    ends = f"on the server the {kind} ends with an error"
    if strict:
        who = f"{_names_of(m, strict)} {are(len(strict))} down and would hand over ranges"
        return f"{who}: {ends}, unless cassandra.consistent.rangemovement is off"
    if kind == "removenode" and (lost or waits):
        until = "for ever (assassinate copies nothing)" if lost else "until one is up"
        return f"{(lost or waits)[0]}, and the server tries again {until}"
    return f"{waits[0]}: {ends}" if waits else ""


def _step(m: TcmCluster, before: Any, after: Any, node: str, known: NamedGroups) -> PlanStep:
    sequence = m.tcm.sequence(before.tcm, node)
    event = m.tcm.committed(after.tcm.events)
    return PlanStep(
        event.step,
        event.epoch,
        tables(m, after, known),
        _copies(m, before, sequence) if sequence else (),
        _waits(m, before, sequence) if sequence else (),
    )


def tables(m: TcmCluster, s: Any, known: NamedGroups) -> dict[str, Tables]:
    """The tables of every keyspace as they stand; groups that are ``known`` are held once."""
    snapshot = m.snapshot(s)
    tables_of = dict.fromkeys(facts.keyspaces(m), Tables((), ()))
    for group, placement in enumerate(snapshot.placements):
        reads = _lines(m, placement.reads, known)
        same = placement.writes == placement.reads
        shown = Tables(reads, reads if same else _lines(m, placement.writes, known))
        for keyspace in snapshot.metadata.keyspaces_of(group):
            tables_of[keyspace] = shown
    return tables_of


def _lines(m: TcmCluster, table: Table, known: NamedGroups) -> tuple[Line, ...]:
    space = facts.space(m)
    lefts, rights = table.lefts.tolist(), table.rights.tolist()
    rows = zip(lefts, rights, table.named(m.names, known), strict=True)
    return tuple((*bounds(space, left, right), group) for left, right, group in rows)


def _refused(
    m: TcmCluster, s: Any, operation: operations.Operation, refusal: Refusal
) -> PlanReport:
    metadata, space, order = m.snapshot(s).metadata, facts.space(m), facts.keyspaces(m)
    planned = rules.plan(metadata, m.tcm.cluster.resolved[operation], m.tcm.switches)
    clashes = [
        HeldRange(keyspace, bounds(space, c.ours.left, c.ours.right), c.operation.text)
        for c in rules.conflicts(metadata, planned, m.tcm.switches)
        for keyspace in metadata.keyspaces_of(c.group)
    ]
    clashes.sort(key=lambda clash: order.index(clash.keyspace))
    locks, shown = _locks(m, metadata, planned), tables(m, s, {})
    return PlanReport(operation.text, False, refusal.reason, (), locks, tuple(clashes), (), shown)


def _waits(m: TcmCluster, s: Any, sequence: rules.Sequence) -> tuple[Wait, ...]:
    space, order = facts.space(m), facts.keyspaces(m)
    rows = facts.awaiting(m, s, sequence, None).rows
    return tuple(
        Wait(b.keyspace, bounds(space, b.left, b.right), b.dc, b.replicas, b.needed)
        for b in sorted(rows, key=lambda b: order.index(b.keyspace))
    )


def _copies(m: TcmCluster, s: Any, sequence: rules.Sequence) -> tuple[Copy, ...]:
    space, order = facts.space(m), facts.keyspaces(m)
    rows = facts.streams(m, s, sequence) if sequence.next.switches else ()
    return tuple(
        Copy(r.keyspace, bounds(space, r.left, r.right), r.sources, r.target, r.bytes)
        for r in sorted(
            rows, key=lambda r: (order.index(r.keyspace), r.left, r.right, m.codes[r.target])
        )
    )


def _locks(
    m: TcmCluster, metadata: rules.Metadata, planned: rules.Plan
) -> dict[str, tuple[Bounds, ...]]:
    space = facts.space(m)
    locks: dict[str, tuple[Bounds, ...]] = dict.fromkeys(facts.keyspaces(m), ())
    for group, moved in enumerate(planned.movements):
        for keyspace in metadata.keyspaces_of(group):
            locks[keyspace] = tuple(bounds(space, r.left, r.right) for r in moved.locked)
    return locks


def _about_place(metadata: rules.Metadata, given: operations.ResolvedOperation) -> Iterator[str]:
    """Where a newcomer is taken to be, and that it is alone there."""
    operation, members = given.operation, [node for node in metadata.ring.nodes if node.tokens]
    if operation.kind == "bootstrap":
        place = operations.placed(metadata.ring, given).nodes[given.node]
        assumed = []
        if operation.dc is None and len({node.dc for node in members}) > 1:
            assumed.append(f"datacenter {place.dc}")
        if operation.rack is None and len({(node.dc, node.rack) for node in members}) > 1:
            assumed.append(f"rack {place.rack}")
        if assumed:
            yield f"{operation.node} is assumed to be in {' and '.join(assumed)}"
    others = (node.dc for node in metadata.ring.nodes if node.name != operation.node)
    if operation.dc is not None and operation.dc not in others:
        kept = (keyspace.replication for keyspace in metadata.keyspaces)
        has_replicas = any(
            dict(each.factors).get(operation.dc)
            if isinstance(each, NetworkTopologyStrategy)
            else not isinstance(each, LocalStrategy)
            for each in kept
        )
        said = f"{operation.node} is the first node of datacenter {operation.dc}"
        yield said if has_replicas else f"{said}, where no keyspace keeps replicas"


def _warnings(
    metadata: rules.Metadata,
    given: operations.ResolvedOperation,
    switches: operations.ProtocolSwitches,
) -> Iterator[str]:
    after = operations.ring_after(operations.placed(metadata.ring, given), given)
    for keyspace in metadata.keyspaces:
        lacks = [
            rules.under_replicated(ring, keyspace.replication) for ring in (metadata.ring, after)
        ]
        wants = {dc: wanted for rows in lacks for dc, wanted, _ in rows}
        now, then = ({dc: counted(there, "node") for dc, _, there in rows} for rows in lacks)
        for dc, wanted in wants.items():
            where = f" in {dc}" if dc else ""
            counts = f"{now.get(dc, 'enough')} now, {then.get(dc, 'enough')} afterwards"
            needs = counted(wanted, "replica")
            yield f"keyspace {keyspace.name} needs {needs}{where}: {counts}"
    yield from _about_place(metadata, given)
    if given.operation.kind == "assassinate":
        yield "assassinate streams nothing: run a repair afterwards"
    if switches.forces(given.operation):
        yield "forced: the replication check was skipped"


# -- what to type, and what not to do --------------------------------------------------------------

REPAIR = "afterwards, on every node in turn: nodetool repair --full -pr"
BOOTED = "restart {0}, which continues by itself", "stop {0}, nodetool abortbootstrap --ip {0}"
CANCEL = "cancelInProgressSequences of {0} by JMX"
BEGUN = {
    "move": ("nodetool move --resume", "nodetool move --abort"),
    "decommission": ("nodetool decommission again", CANCEL),
    "removenode": ("it continues by itself", CANCEL),
}
"""How an operation continues that has stopped, and how it is undone; else by starting the node."""
RELAXED = "-Dcassandra.consistent.rangemovement=false"


def remedy(
    operation: operations.Operation,
    ids: Mapping[str, str],
    absent: str,
    *,
    lost: bool,
    waits: bool,
    strict: bool,
) -> Iterator[str]:
    """The lines for the published server, in order; those that forbid something come last.

    ``absent`` names the nodes that are down and without which the operation does not end; ``lost``:
    some ranges are only on the node that is given up; ``waits``: some are only on those ``absent``;
    ``strict``: some of these would hand over ranges.

    Sources: published ``nodetool`` (``removenode``, ``assassinate``, ``repair``,
    ``abortbootstrap``, ``move``), ``BootstrapAndReplace``, ``SingleNodeSequences``.
    """
    kind, node, dead = operation.kind, operation.node, operation.dead
    if lost:
        yield f"if {dead} still has its disk, start it again instead: only it has those ranges"
        yield "otherwise restore them from a backup at the end: no repair brings them back"
    if absent:
        yield f"first start {absent} again (replace or remove what is gone for good)"
    if absent or (lost and kind == "removenode"):
        again, undone = BEGUN.get(kind, BOOTED)
        then = f"then {again}; to give it up: " * bool(absent)
        yield f"if it has begun already: {then}{undone}".format(node)
    if kind == "replace":
        yield f"{dead} must be down (DN in nodetool status), and the disk of {node} empty"
        yield f"start {node} with -Dcassandra.replace_address_first_boot={dead}"
        yield f"once it is UN, on {node}: nodetool repair --full"
        yield f"never start {dead} again, and neither remove nor assassinate it"
    elif kind == "removenode":
        removal = f"removenode {ids.get(node) or f'ID (Host ID of {node} in nodetool status)'}"
        removal = f"assassinate {node}, which gives them up" if lost else removal
        yield f"on a live node: nodetool {removal}"
        yield REPAIR
        yield f"never while {node} is up (decommission it instead), and never start it afterwards"
    elif kind == "assassinate":
        yield f"on a live node: nodetool assassinate {node}"
        yield REPAIR
        yield f"never while {node} is up, nor where removenode works: this one copies nothing"
    elif (waits or strict) and kind != "decommission":
        risk = "leaves ranges empty" if waits else "copies from a replica that may lack writes"
        yield f"don't set {RELAXED} to get past this: it {risk}"


# -- as JSON ---------------------------------------------------------------------------------------


def json_parts(report: PlanReport) -> Iterator[str]:
    """A dry run as JSON in ASCII, piece by piece: as one text it may take gigabytes."""
    plain: dict[str, Any] = msgspec.structs.asdict(report)
    left_out = {"conflicts": not report.accepted, "pending": report.pending}
    left_out["remedy"] = report.reason and report.remedy  # where it halts there is something to do
    for name in ("steps", "before", *(name for name, there in left_out.items() if not there)):
        del plain[name]
    yield to_json(plain)[:-1] + ',"steps":['
    for number, step in enumerate(report.steps):
        yield "," if number else ""
        yield from _step_parts(step)
    yield "]}"


def _step_parts(step: PlanStep) -> Iterator[str]:
    """A step; keyspaces that are replicated alike share their tables, which are written once."""
    yield f'{{"name":{to_json(step.name)},"epoch":{step.epoch},"keyspaces":{{'
    written: dict[int, str] = {}
    for number, (name, shown) in enumerate(step.keyspaces.items()):
        if id(shown) not in written:
            written[id(shown)] = to_json(shown)
        yield ("," if number else "") + to_json(name) + ":"
        yield written[id(shown)]
    yield f'}},"streams":{to_json(step.streams)},"barriers":{to_json(step.barriers)}}}'
