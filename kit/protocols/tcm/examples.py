"""Transactional Cluster Metadata in the registry: scenarios worth seeing, diagrams, coverage."""

from __future__ import annotations

from typing import Any

from kit.engine.former import Former
from kit.engine.model import TransitionRows
from kit.engine.registry import Diagram, Entry, Fuzzing, Scenario
from kit.protocols.tcm.cluster import SAFEGUARDS, TcmCluster
from kit.protocols.tcm.edge import ALSO
from kit.protocols.tcm.parameters import TcmParameters
from kit.protocols.tcm.refinement import refinement
from kit.protocols.tcm.rules.history import state_of
from kit.protocols.tcm.rules.metadata import Advance, Begin, Cancel
from kit.protocols.tcm.rules.operations import Kind
from kit.protocols.tcm.rules.steps import BEFORE, EDITIONS, OPERATION_SPECS, transitions
from kit.ring.topology import Node

# The ring of CEP-21's worked tables: A, B, C at 100, 200, 300, and X at 150 once it has joined.
_WITH_X = (Node("A", (100,)), Node("B", (200,)), Node("C", (300,)), Node("X", (150,)))
_WORKED = {"focus": (0, 200)}
_TEN = {"nodes": 10, "rf": 3}

SCENARIOS = (
    Scenario(
        "bootstrap",
        "X joins at 150 in four epochs (CEP-21, Bootstrap)",
        {"operations": ("bootstrap X --tokens 150",), **_WORKED},
    ),
    Scenario(
        "decommission",
        "X leaves again in four epochs (CEP-21, Decommission)",
        {"members": _WITH_X, "low": 0, "high": 400, "operations": ("decommission X",), **_WORKED},
    ),
    Scenario(
        "rf3",
        "The range that X gains with RF 3, epochs 100 to 103 (CEP-21, Consistency Guarantees)",
        {"rf": 3, "epoch": 99, "operations": ("bootstrap X --tokens 150",), "focus": (100, 150)},
    ),
    Scenario(
        "move",
        "A node gives up one token and takes another, in five epochs",
        {"nodes": 5, "operations": ("move B --tokens 450",)},
    ),
    Scenario(
        "replace",
        "A new node takes the place of a dead one",
        {"nodes": 4, "rf": 3, "operations": ("replace B Z",)},
    ),
    Scenario(
        "removenode",
        "A dead node is removed; a quorum of the others streams",
        {"nodes": 5, "rf": 3, "operations": ("removenode B",)},
    ),
    Scenario(
        "assassinate",
        "A dead node is taken out at once, without streaming",
        {"nodes": 5, "rf": 3, "operations": ("assassinate B",)},
    ),
    Scenario(
        "two-bootstraps",
        "Two bootstraps on disjoint ranges advance side by side; a third has to wait",
        {
            **_TEN,
            "operations": (
                "bootstrap X --tokens 550",
                "bootstrap Y --tokens 850",
                "bootstrap Z --tokens 750",
            ),
        },
        script=("bootstrap X --tokens 550", "bootstrap Y --tokens 850"),
    ),
    Scenario(
        "cancel",
        "After the read switch a cancel takes two events, with a barrier between",
        {"rf": 3, "cancels": 1, "operations": ("bootstrap X --tokens 150",)},
        script=("bootstrap X --tokens 150", "commit X", "commit X", "cancel X", "commit X"),
    ),
    Scenario(
        "crash-and-resume",
        "The joining node crashes between two epochs and goes on where it was",
        {"crashes": 1, "operations": ("bootstrap X --tokens 150",)},
        script=("bootstrap X --tokens 150", "commit X", "crash X", "restart X"),
    ),
    Scenario(
        "gap",
        "An entry arrives above a gap and is held back until the gap is filled",
        {"window": 2, "barrier": False, "operations": ("bootstrap X --tokens 150",)},
        script=("bootstrap X --tokens 150", "apply X", "commit X", "deliver 2 to A", "apply A"),
    ),
    Scenario(
        "two-datacenters",
        "A bootstrap with racks in two datacenters and two keyspaces",
        {"nodes": 8, "strategy": "network", "dcs": 2, "racks": 2},
    ),
)


KINDS = ("begin", "stream", "commit", "cancel", "crash", "restart", "apply", "deliver")


def rows(model: TcmCluster) -> TransitionRows:
    """The kinds of action, and the diagrams of the kinds of operation that the model can begin."""
    kinds = dict.fromkeys(operation.kind for operation in model.tcm.cluster.operations)
    drawn = {
        (kind, state, event): f"{kind}: {state} - {event}"
        for kind in kinds
        for state, event, _ in transitions(kind, model.parameters.edition)
    }

    def taken(before: Any, action: Any, after: Any) -> tuple[str, ...]:
        own = action.action
        kind = model.kind(action)
        if not isinstance(own, Begin | Advance | Cancel):
            return (kind,)
        row = drawn.get(_row(model, after))
        return (kind,) if row is None else (kind, row)

    return TransitionRows((*KINDS, *drawn.values()), taken)


def _row(model: TcmCluster, after: Any) -> tuple[Kind, str, str]:
    """The kind of operation, its state before the last event, and the step that the event does."""
    event = model.tcm.committed(after.tcm.events)
    kind = event.operation.kind
    return kind, BEFORE[kind] if event.before is None else state_of(event.before), event.step


DIAGRAMS = tuple(
    Diagram(f"tcm-{kind}-{edition}", f"{kind}, edition {edition}", transitions(kind, edition))
    for kind in OPERATION_SPECS
    for edition in EDITIONS
)
# One operation of each kind, so that walks meet every row of every diagram; faults are rare.
FUZZING = Fuzzing(
    {
        "nodes": 4,
        "operations": (
            "bootstrap X --tokens 150",
            "decommission A",
            "move B --tokens 250",
            "replace C Z",
            "removenode D",
            "assassinate D",
        ),
        "window": 2,
        "crashes": 1,
        "cancels": 4,
    },
    {"begin": 0.1, "cancel": 0.05, "crash": 0.05, "deliver": 0.1},
)
ENTRY = Entry(
    name="tcm",
    title=TcmCluster.title,
    parameters=TcmParameters,
    build=TcmCluster,
    safeguards=SAFEGUARDS,
    scenarios=SCENARIOS,
    diagrams=DIAGRAMS,
    rows=rows,
    fuzzing=FUZZING,
    refinement=refinement,
    former=Former(
        actions={"learn": "apply"},
        parameters={"shape": "edition"},
        verbs=ALSO,
        scenarios={
            "remove": "removenode",
            "two-joins": "two-bootstraps",
            "implementation": "server",
        },
        said={"kind": ALSO},
    ),
)
