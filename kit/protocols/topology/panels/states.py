"""The picture: the machine of the operation under way, the state of now lit, the way taken."""

from collections.abc import Iterator
from operator import itemgetter

from msgspec.structs import replace

from kit.protocols.topology.control import ControlState
from kit.protocols.topology.rules import machines as tables
from kit.protocols.topology.rules.cluster import NOBODY
from kit.protocols.topology.rules.editions import MACHINES, NODE
from kit.protocols.topology.rules.work import TopologyOperation, machine_of, under_way
from kit.protocols.topology.topology import machines
from kit.views.declared import Column, Table, panel_of
from kit.views.diagrams import END, START, Standing, StateDiagram, state_panel
from kit.views.panel import Scene

NULL = "null"
"""What a state without a transition state is called: the column is null."""

UNDRAWN = ("node", "cleanup", "keyspace_rf_change")
"""Machines of their own panel, and without states to draw."""


def diagram(machine: tables.Machine, whose: tables.Tables) -> StateDiagram:
    """A machine of this family as it is drawn."""
    # A machine that several tables share is drawn once.
    same = [other for other in tables.TABLES if MACHINES[other].get(machine.name) == machine]
    whose = whose if whose not in same[1:] else same[0]
    name = f"state-topology-{machine.name}{'' if len(same) == len(tables.TABLES) else f'-{whose}'}"
    return machine_diagram(machine, name, f"transition states of {machine.name}")


def machine_diagram(machine: tables.Machine, name: str, label: str) -> StateDiagram:
    """Any machine as it is drawn; what leads back, or out, is dashed."""
    backwards = [edge for edge in machine.edges if edge.kind != "happy"]
    ways = (
        (
            START if edge.source == tables.BOUNDARY else edge.source or NULL,
            _event(edge),
            edge.becomes or END if edge.target == tables.BOUNDARY else edge.target or NULL,
        )
        for edge in machine.edges
    )
    return StateDiagram(name, label, tuple(ways), frozenset(map(_event, backwards)))


def _event(edge: tables.EdgeRow) -> str:
    return edge.label or ("" if edge.kind == "happy" else edge.kind)


OF_NODE = replace(machine_diagram(NODE, "state-topology-node", "states of a node"), tight=True)


def diagrams() -> Iterator[StateDiagram]:
    """Every machine of both editions, one that they share once."""
    yield OF_NODE
    drawn = (
        diagram(machine, whose)
        for whose in tables.TABLES
        for name, machine in MACHINES[whose].items()
        if name not in UNDRAWN
    )
    yield from {each.name: each for each in drawn}.values()


def standing(scene: Scene) -> Standing | None:
    """The state of the last operation; before the first, the machine of what is asked first."""
    m = scene.model
    current: TopologyOperation | None = None
    machine: tables.Machine | None = None
    path: list[str] = []
    # Of the states those whose tables are others than those of the step before.
    ways = (step for step in scene.way() if step.after.topology is not step.before.topology)
    for s in (_first(scene), *(step.after for step in ways)):
        if (operation := under_way(s.topology)) is not None:
            before = current and (current.machine, current.node)
            if before != (operation.machine, operation.node):
                machine, path = machine_of(operation, m.setting), [START]
            if path[-1] != (state := operation.state or NULL):
                path.append(state)
        elif current is not None:
            path.append(END if current.node == NOBODY else s.topology.nodes[current.node].state)
        current = operation
    if machine is None or machine.name in UNDRAWN:
        machine = next((each for each in machines(m) if each.name not in UNDRAWN), None)
        path = [START]
    return Standing(diagram(machine, m.setting.tables), tuple(path)) if machine else None


def _first(scene: Scene) -> ControlState:
    way = scene.way()
    first: ControlState = way[0].before if way else scene.state
    return first


def node_standing(scene: Scene) -> Standing | None:
    """The states of the node that the first request is about."""
    m = scene.model
    node = next((asks.node for asks in m.plan.requests if asks.node != NOBODY), None)
    if node is None:
        return None
    states = [_first(scene), *(step.after for step in scene.way())]
    names = [s.topology.nodes[node].state or "none" for s in states]
    path = [name for i, name in enumerate(names) if i == 0 or name != names[i - 1]]
    return Standing(OF_NODE, tuple(path))


STATES = state_panel("states", "Transition", standing, "No operation was requested.", tab="States")
NODE_STATES = state_panel(
    "node", "States of the node", node_standing, "No request names a node.", tab="Node"
)


def legend(scene: Scene) -> Iterator[tuple[str, str, str]]:
    """Each transition state of the edition: its name, who passes it, and a mark at that of now."""
    edition, whose = scene.model.setting.edition, scene.model.setting.tables
    played = [(name, machine.states) for name, machine in MACHINES[whose].items()]
    for known in tables.TRANSITION_STATES:
        passing = (
            name for name, states in played if known.name in {state.name for state in states}
        )
        passed_by = ", ".join(passing) or ("not played" if known.edition == edition else "")
        if passed_by:
            is_now = scene.state.topology.transition == known.name
            yield known.name, passed_by, HERE * is_now


HERE = "✓"
LEGEND = panel_of(
    "legend",
    "Transition states",
    Table(
        legend,
        "legend:{0[0]}",
        (
            "transition_state",
            "operations and tracks that use it",
            Column("current state", itemgetter(2)),
        ),
        of="state:{0[0]}",
    ),
    tab="Legend",
)
