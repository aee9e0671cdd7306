"""A dumped metadata log to step through, and *what if* from one of its epochs on.

Nothing is computed while it is read: what happened is in the log. A fork at an epoch is a run of
the tcm model: the ring as it was then, with every operation at the step that it had reached.
"""

from collections.abc import Iterable, Iterator

from msgspec import structs

from kit.errors import BadInput, counted
from kit.model.record import ReadOn, Record, RecordState
from kit.model.timeline import Timeline
from kit.operators.importers.nodetool import name_order
from kit.operators.importers.opening import Imported
from kit.protocols.tcm.dry_run import metadata_log as logs
from kit.protocols.tcm.dry_run.history import begin_in_flight, model_for, turn
from kit.protocols.tcm.dry_run.opening import NO_KEYSPACE, Keyspaces, named_keyspaces
from kit.protocols.tcm.panels.operation import diagram
from kit.protocols.tcm.parameters import parse_operation
from kit.protocols.tcm.rules.operations import BEFORE, BRINGS, OPERATION_SPECS, Operation
from kit.ring.replication import Keyspace
from kit.ring.tokens import MURMUR3
from kit.ring.topology import Node, Ring
from kit.views.declared import Alike, Badges, Column, Table, of_state, panel_of, status
from kit.views.diagrams import Standing, state_panel
from kit.views.panel import Scene
from kit.views.registry import Views

MOST_LINES = 40
"""Epochs that are listed below the picture, the last ones."""


class RealLog(Record):
    """The entries of a real log, one after the other."""

    name = "tcm/log"
    title = "A real cluster's metadata log"
    ends = "the log ends here"
    entries: tuple[logs.Epoch, ...]

    def __init__(self, history: logs.MetadataHistory) -> None:
        super().__init__(history.epochs)
        self.history = history

    def milestone(self, before: RecordState, action: ReadOn, after: RecordState) -> str | None:
        """The end of an operation."""
        entry = self.entries[before.read]
        ends = entry.kind.startswith(("FINISH_", "CANCEL_"))
        return entry.say if ends and entry.operation else None

    def describe(self, before: RecordState, action: ReadOn, after: RecordState) -> str:
        """The content of the epoch."""
        entry = self.entries[before.read]
        return f"epoch {entry.epoch}, {entry.time}: {entry.say}"

    def newest_epoch(self, s: RecordState) -> int:
        """The last epoch that was read; the one before the first, where none was."""
        return self.entries[max(0, s.read - 1)].epoch - (s.read == 0)


_at = of_state(lambda m, s: m.history.at(m.newest_epoch(s)))
"""Every node, and every operation under way, at the epoch that was read last."""


def standing(scene: Scene) -> Standing | None:
    """The diagram of the operation that was last heard of, with its way so far."""
    read = scene.model.entries[: scene.state.read]
    entry = next((entry for entry in reversed(read) if entry.operation), None)
    if entry is None:
        return None
    flight = entry.operation
    done = OPERATION_SPECS[flight.kind].done
    passed = (done if step == "finish" else step for step in flight.steps)
    back = (BEFORE[flight.kind],) if entry.kind == "CANCEL_SEQUENCE" else ()
    return Standing(diagram(flight.kind, "server"), (BEFORE[flight.kind], *passed, *back))


def _flights(scene: Scene) -> Iterator[tuple[str, str, str]]:
    m, epoch = scene.model, scene.model.newest_epoch(scene.state)
    for flight in _at(scene)[1]:
        title = m.history.name(flight.replaced, epoch) if flight.replaced else ""
        what = f"{flight.kind} {title}".rstrip()
        yield m.history.name(flight.node, epoch), what, flight.steps[-1]
    if cms := m.history.reconfiguration(epoch):
        yield "the CMS", "perhaps " * (cms == logs.PREPARED) + "a change of its members", cms


def _badges(scene: Scene) -> Badges:
    yield "epoch", f"epoch {scene.model.newest_epoch(scene.state)}", "plain"
    yield "read", f"{scene.state.read} of {len(scene.model.entries)} read", "plain"
    flights = sum(last != logs.PREPARED for _, _, last in _flights(scene))
    yield "flights", f"{counted(flights, 'operation')} under way", "busy" if flights else "plain"


NODES = Table(
    lambda scene: _at(scene)[0],
    "n:{0.node}",
    (
        Column("Node", "name"),
        Column("Id", "node"),
        Column("State", "state"),
        Column("Datacenter", "dc", "not known"),
        Column("Rack", "rack", "not known"),
        Column("Tokens", lambda n: "not known" if n.tokens is None else str(len(n.tokens))),
    ),
    caption="Every node at this epoch",
    of="{0.name}",
    empty="No node is known yet.",
    alike=Alike(lambda member: (member.state,)),
)
FLIGHTS = Table(
    _flights,
    "flight:{0[0]}",
    ("Node", "Operation", "Last step"),
    caption="Under way",
    of="{0[0]}",
    empty="No operation is in progress.",
)
EPOCHS = Table(
    lambda scene: list(reversed(scene.model.entries[: scene.state.read])),
    "epoch:{0.epoch}",
    (
        Column("Epoch", "epoch"),
        Column("When", "time"),
        Column("What", "say"),
        Column("Kind", "kind"),
    ),
    of=lambda entry: entry.node or "",
    empty="No entry has been read yet.",
    most=MOST_LINES,
    thing="earlier epoch",
)
VIEWS = Views(
    (
        status(_badges, "badges", lambda scene: f"epoch {scene.model.newest_epoch(scene.state)}"),
        state_panel("states", "Operation", standing, "No operation has been read yet."),
        panel_of("nodes", "Nodes", FLIGHTS, NODES),
        panel_of("epochs", "Log", EPOCHS, still=True),
    ),
    picture="states",
    table="nodes",
    badges="badges",
)


def ring_of(
    members: Iterable[logs.Member], epoch: int, keyspaces: tuple[Keyspace, ...]
) -> Imported:
    """The ring that these members made at an epoch.

    Raises BadInput for one whose datacenter, rack or tokens the files do not tell.
    """
    nodes = []
    for m in (member for member in members if member.state in logs.OWNING):
        if m.tokens is None or m.dc is None or m.rack is None:
            place = "an epoch at which every node's tokens and place are known"
            allowed = f"{place}: give dumpdirectory --tokens as well"
            raise BadInput(f"epoch {epoch}: tokens of {m.name}", None, allowed)
        nodes.append(Node(m.name, m.tokens, m.dc, m.rack))
    ring = Ring.of(sorted(nodes, key=lambda node: name_order(node.name)), MURMUR3)
    return Imported(epoch, ring, keyspaces)


def fork(
    history: logs.MetadataHistory,
    epoch: int,
    keyspaces: Keyspaces,
    operations: str | Iterable[str] = (),
) -> Timeline:
    """The cluster at an epoch of a log as a run of the tcm model, as ``kit.what_if`` opens it."""
    members, flights = history.at(history.known(epoch))
    named = named_keyspaces(keyspaces)
    ring = ring_of(members, epoch, named)
    if not named:
        raise BadInput("keyspaces", None, NO_KEYSPACE)
    names = {member.node: member.name for member in members}
    begun = tuple(operation_of(flight, members) for flight in flights)
    given = [operations] if isinstance(operations, str) else list(operations)
    others = tuple(parse_operation(line) for line in given)
    done = sum(len(flight.steps) for flight in flights)
    before = structs.replace(ring, epoch=max(0, epoch - done) + len(begun))
    timeline = Timeline(
        model_for(before, (*begun, *others), begun=len(begun), crashes=1, cancels=1)
    )
    begin_in_flight(timeline, begun)
    for flight in flights:
        for step in flight.steps[1:]:
            if not turn(timeline, names[flight.node]):
                what = f"{flight.kind} {names[flight.node]}: {step}"
                raise BadInput(f"epoch {epoch}", what, "a step that the published rules allow")
    return timeline


def operation_of(flight: logs.Flight, members: logs.Members) -> Operation:
    """An operation under way as an operator would have written it, among those who are there."""
    known = {member.node: member for member in members}
    names = {node: member.name for node, member in known.items()}
    name = names.get(flight.node, f"node {flight.node}")
    if flight.kind in ("bootstrap", "move") and not flight.tokens:
        raise BadInput(f"tokens of {name}", None, "an operation whose preparation is in the log")
    replaced = flight.replaced
    target = None if replaced is None else names.get(replaced, f"node {replaced}")
    coming = known.get(flight.node) if flight.kind in BRINGS else None
    dc, rack = (coming.dc, coming.rack) if coming else (None, None)
    return Operation(flight.kind, name, flight.tokens or (), target, dc, rack, flight.force)
