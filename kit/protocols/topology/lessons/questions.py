"""Questions on a coordinator: what comes next, whom it waits for, where a failure leads.

Each is answered by the transition tables and the model, never by a text.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from kit.engine.timeline import Timeline
from kit.errors import KitError
from kit.lessons.questions import PosedQuestion, copied, model_of
from kit.lessons.stills import still
from kit.protocols.topology import coordinator as work
from kit.protocols.topology.facts.moment import barrier, operation_title
from kit.protocols.topology.rules.machines import BOUNDARY, EdgeRow, Machine
from kit.protocols.topology.rules.work import TopologyOperation, failure, machine_of, under_way
from kit.protocols.topology.topology import Topology
from kit.views.question import Question

NULL = "null: nothing is under way"
ON = "it goes on all the same"
AGAIN = "it tries again"


def next_transition(timeline: Timeline) -> PosedQuestion:
    """Which transition state comes next, when nothing fails?

    Raises:
        KitError: when no operation is under way.
    """
    m, operation = _under_way(timeline)
    ahead = copied(timeline)
    state = timeline.state.topology.transition
    while ahead.state.topology.transition == state and ahead.forward() is not None:
        pass
    after = ahead.state.topology.transition or NULL
    names = [row.name for row in machine_of(operation, m.setting).states]
    question = Question(
        f"{operation_title(m, operation)} is in {state}. Nothing fails. Which state is next?",
        tuple(dict.fromkeys([*(name for name in names if name != state), NULL])),
        (after,),
        f"The table of {operation.machine} leads from {state} to {after}.",
    )
    return PosedQuestion(question, still(ahead, "states"))


def after_failure(timeline: Timeline) -> PosedQuestion:
    """Where does it lead when the next piece of work fails?

    Raises:
        KitError: when the coordinator is at no work.
    """
    m, operation = _under_way(timeline)
    piece = work.task_of(timeline.state, m.setting).work
    if piece is None:
        raise KitError("predict: the coordinator is at no work that could fail")
    machine = machine_of(operation, m.setting)
    edge = failure(operation, piece, m.setting)
    answer = _leads(edge) if edge else ON if piece.on_failure == "proceed" else AGAIN
    question = Question(
        f"{operation_title(m, operation)} is in {operation.state}, and {piece.name} fails. What "
        "does the coordinator do?",
        tuple(dict.fromkeys([*_targets(machine), ON, AGAIN])),
        (answer,),
        _because(machine, operation, edge),
    )
    return PosedQuestion(question, still(timeline, "states"))


def _targets(machine: Machine) -> Iterator[str]:
    for edge in machine.edges:
        if edge.kind != "happy":
            yield _leads(edge)


def _leads(edge: EdgeRow) -> str:
    return f"the node is {edge.becomes}" if edge.target == BOUNDARY else edge.target


def _because(machine: Machine, operation: TopologyOperation, edge: EdgeRow | None) -> str:
    if edge is not None:
        return f"In {operation.state} the table has an edge for it: {edge.kind} to {_leads(edge)}."
    back = [row.name for row in machine.states if machine.edge(row.name, "rollback")]
    rolls = f"only {', '.join(back)} can be rolled back" if back else "nothing can be rolled back"
    return f"In {operation.state} there is no edge for it: of {machine.name} {rolls}."


def barrier_waits(timeline: Timeline) -> PosedQuestion:
    """Whose answer does the barrier still wait for?

    Raises:
        KitError: when no barrier runs.
    """
    m = _model(timeline)
    runs = barrier(m, timeline.state)
    if runs is None:
        raise KitError("predict: no barrier runs here")
    left = [name for name, _ in runs.refused]
    reasons = [f"{name}: {why}" for name, why in runs.refused if why]
    question = Question(
        f"The coordinator has sent {runs.command}. Whose answer is still missing?",
        tuple(name for name in m.names),
        tuple(left),
        ". ".join([f"It needs {', '.join(runs.needs)}", *reasons]) + ".",
    )
    return PosedQuestion(question, still(timeline, "barrier"))


def of_the_deposed(timeline: Timeline) -> PosedQuestion:
    """What comes of the command that the last coordinator had decided on?

    Raises:
        KitError: when there is no such command.
    """
    m, s = _model(timeline), timeline.state
    if s.deposed is None:
        raise KitError("predict: no command of an earlier coordinator is on its way")
    ahead = copied(timeline)
    action = next(a for a in m.actions(s) if m.verb(a) == "commit deposed")
    ahead.do(action)
    effective = ahead.state.state_id != s.state_id
    choices = ("it takes effect", "it is in the log and has no effect", "group 0 refuses it")
    question = Question(
        f"It was decided on state {s.deposed.new - 1}; the newest state is {s.state_id}. What "
        "comes of it?",
        choices,
        (choices[0] if effective else choices[1],),
        "A command carries the state id that it was decided on, and does nothing on another one.",
    )
    return PosedQuestion(question, still(ahead, "history"))


def _under_way(timeline: Timeline) -> tuple[Topology, TopologyOperation]:
    m = _model(timeline)
    operation = under_way(timeline.state.topology)
    if operation is None:
        raise KitError("predict: no operation is under way here")
    return m, operation


def _model(timeline: Timeline) -> Any:
    return model_of(timeline, Topology, "topology, the coordinator")
