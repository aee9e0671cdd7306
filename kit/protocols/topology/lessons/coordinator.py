"""What the lessons on the coordinator ask and check: states, barriers, failures, the queue."""

import random
from functools import partial
from typing import Any

from kit.errors import KitError
from kit.lessons.judge import Arguments, function_task
from kit.lessons.questions import PosedQuestion, copied, model_of, posed
from kit.lessons.replays import Ground, ends, run_task, takes
from kit.lessons.stills import still
from kit.masks import mask_of, nodes_in
from kit.model.registry import check_one_of, edition_of
from kit.model.timeline import PassedStep, Timeline
from kit.protocols.topology import coordinator as work
from kit.protocols.topology import topology as act
from kit.protocols.topology.control import let_in, served
from kit.protocols.topology.facts import barrier, operation_title
from kit.protocols.topology.rules import cluster
from kit.protocols.topology.rules.decide import queue
from kit.protocols.topology.rules.editions import MACHINES
from kit.protocols.topology.rules.machines import BOUNDARY, EDITIONS, EdgeRow, Edition
from kit.protocols.topology.rules.work import TopologyOperation, failure, machine_of, under_way
from kit.protocols.topology.topology import Topology
from kit.views.static import Sheet

NULL = "null: nothing is under way"
ON = "it continues anyway"
AGAIN = "it retries"


def next_transition(timeline: Timeline) -> PosedQuestion:
    """Which transition state comes next, when nothing fails?

    Raises KitError when no operation is under way that has transition states.
    """
    m, operation = _under_way(timeline)
    ahead = copied(timeline)
    state = timeline.state.topology.transition
    if not state:
        raise KitError(f"predict: {operation_title(m, operation)} has no transition states")
    while ahead.state.topology.transition == state and ahead.forward() is not None:
        pass
    after = ahead.state.topology.transition or NULL
    names = [row.name for row in machine_of(operation, m.setting).states]
    return posed(
        f"{operation_title(m, operation)} is in {state}. If nothing fails, which state comes next?",
        [*(name for name in names if name != state), NULL],
        (after,),
        f"The table of {operation.machine} leads from {state} to {after}.",
        still(ahead, "states"),
    )


def after_failure(timeline: Timeline) -> PosedQuestion:
    """What does the coordinator do when the next piece of work fails?

    Raises KitError when the coordinator is doing no work.
    """
    m, operation = _under_way(timeline)
    piece = work.task_of(timeline.state, m.setting).work
    if piece is None:
        raise KitError("predict: the coordinator is doing no work that could fail")
    machine = machine_of(operation, m.setting)
    edge = failure(operation, piece, m.setting)
    if edge is not None:
        answer = _leads(edge)
        because = f"the table has an edge for this failure: {edge.kind} → {answer}"
    else:
        answer = ON if piece.on_failure == "proceed" else AGAIN
        back = [row.name for row in machine.states if machine.edge(row.name, "rollback")]
        rolls = f"only {', '.join(back)}" if back else "nothing"
        rolls = f"in {machine.name}, {rolls} can be rolled back"
        if operation.state in back:
            rolls = f"other work of {operation.state} can be rolled back"
        because = f"the table has no edge for this failure: {rolls}"
    targets = [_leads(each) for each in machine.edges if each.kind != "happy"]
    return posed(
        f"{operation_title(m, operation)} is in {operation.state}, and {piece.name} fails. What "
        "does the coordinator do?",
        [*targets, ON, AGAIN],
        (answer,),
        f"In {operation.state}, {because}.",
        still(timeline, "states"),
    )


def _leads(edge: EdgeRow) -> str:
    return f"the node is {edge.becomes}" if edge.target == BOUNDARY else edge.target


def barrier_waits(timeline: Timeline) -> PosedQuestion:
    """Which nodes' answers does the barrier still wait for?

    Raises KitError when no barrier runs.
    """
    m = _model(timeline)
    runs = barrier(m, timeline.state)
    if runs is None:
        raise KitError("predict: no barrier runs here")
    left = [name for name, _ in runs.refused]
    reasons = [f"{name}: {why}" for name, why in runs.refused if why]
    return posed(
        f"The coordinator has sent {runs.command}. Which answers are still missing?",
        m.names,
        left,
        ". ".join([f"The barrier needs answers from {', '.join(runs.needs)}", *reasons]) + ".",
        still(timeline, "barrier"),
    )


def of_the_deposed(timeline: Timeline) -> PosedQuestion:
    """What happens to the command that the previous coordinator had decided on?

    Raises KitError when there is no such command.
    """
    m, s = _model(timeline), timeline.state
    if s.deposed is None:
        raise KitError("predict: no command of an earlier coordinator is on its way")
    ahead = copied(timeline)
    action = next(a for a in m.actions(s) if m.verb(a) == "commit deposed")
    ahead.do(action)
    effective = ahead.state.state_id != s.state_id
    choices = ("it takes effect", "it is in the log but has no effect", "group 0 refuses it")
    return posed(
        f"The command was based on state {s.deposed.new - 1}; the newest state is {s.state_id}. "
        "What happens to the command?",
        choices,
        (choices[0] if effective else choices[1],),
        "A command names the state that it was based on. On any other state, it does nothing.",
        still(ahead, "history"),
    )


def _model(timeline: Timeline) -> Any:
    return model_of(timeline, Topology, "topology, the coordinator")


def _under_way(timeline: Timeline) -> tuple[Any, TopologyOperation]:
    m = _model(timeline)
    operation = under_way(timeline.state.topology)
    if operation is None:
        raise KitError("predict: no operation is under way here")
    return m, operation


HEADS = ("state", "reads", "writes", "work", "then", "if it cannot be done")


def machine_table(name: str, edition: Edition = "documents") -> Sheet:
    """The states of an operation: which replicas requests use, the work, where it leads.

    ``name`` is that of the node's state, such as ``bootstrapping``.

    Raises BadInput for an operation or an edition that does not exist.
    """
    edition = edition_of(edition, EDITIONS)
    machines = MACHINES[edition]
    known = [each for each, machine in machines.items() if machine.states]
    check_one_of("operation", name, known)
    machine = machines[name]
    rows = []
    for state in machine.states:
        leads = {
            edge.kind: edge.target if edge.target != BOUNDARY else edge.becomes or "the end"
            for edge in reversed(machine.edges)
            if edge.source == state.name
        }
        work = ", ".join(row.name for row in state.work)
        back = ", ".join(leads[kind] for kind in ("rollback", "rejected") if kind in leads) or "–"
        rows.append((state.name, state.reads, state.writes, work, leads.get("happy", ""), back))
    return Sheet(f"{name} ({edition} edition)", HEADS, tuple(rows))


NAMES = "ABCDE"
KINDS = ("join", "leave", "remove", "replace", "rebuild")


def rolled_back(timeline: Timeline) -> str | None:
    """The goal that the join was accepted, then rolled back, and that the node has left."""
    steps = [step.after.topology for step in timeline.passed()]
    last = timeline.state.topology
    if not any(entry.state == "bootstrapping" for s in steps for entry in s.nodes):
        return "In your run, no node was ever bootstrapping."
    if not any(s.transition == "left_token_ring" for s in steps):
        return "Your run never went through left_token_ring."
    if last.transition or all(entry.state != "left" for entry in last.nodes):
        return "At the end of your run, no node has left, or something is still under way."
    return None


def two_coordinators(timeline: Timeline) -> str | None:
    """The goal that an old coordinator's command came too late, and that the join ended well."""
    late = (step for step in timeline.passed() if isinstance(step.action, act.CommitDeposed))
    if all(step.before.state_id != step.after.state_id for step in late):
        return "In your run, no command of an earlier coordinator was committed without effect."
    last = timeline.state.topology
    done = all(entry.state == "normal" for entry in last.nodes) and not last.transition
    return None if done else "At the end of your run, not every node is normal."


def may_begin(kind: str, node: str, other: str, down: list[str], ignored: list[str]) -> bool:
    """Whether a request may begin with these nodes down, in a cluster of A to E.

    ``other`` is the node that is replaced. The truth is the coordinator's own queue.
    """
    names = [*NAMES, "X"]
    joins = kind in ("join", "replace")
    subject = names.index("X") if joins else names.index(node)
    request = cluster.NodeEntry(
        state="none" if joins else "normal",
        tokens=not joins,
        request=kind,
        request_id=1,
        replaced=names.index(other) if kind == "replace" else -1,
    )
    nodes = [cluster.NodeEntry(state="normal", tokens=True)] * len(NAMES) + [cluster.NodeEntry()]
    nodes[subject] = request
    topology = cluster.ClusterTopology(
        nodes=tuple(nodes),
        ignored=mask_of(names.index(name) for name in ignored),
        requests=(cluster.RequestEntry(kind, subject),),
        members=(1 << len(NAMES)) - 1,
    )
    alive = (1 << len(names)) - 1 & ~mask_of(names.index(name) for name in down)
    (entry,) = queue(topology, alive, cluster.Setting("server"))
    return not any(nodes_in(entry.waits_for)) and entry.standing == "next"


def _drawn(chance: random.Random) -> Arguments:
    kind = chance.choice(KINDS)
    node, other = chance.sample(NAMES, 2)
    down = sorted(chance.sample(NAMES, chance.randint(0, 2)))
    if kind in ("remove", "replace"):
        down = sorted({*down, node if kind == "remove" else other})
    ignored = sorted(chance.sample(NAMES, chance.randint(0, 2)))
    return [kind, "X" if kind in ("join", "replace") else node, other, down, ignored]


def coordinator_dies(m: Any, step: PassedStep) -> bool:
    """Whether the coordinator crashes while the newcomer is streaming."""
    dies = isinstance(step.action, act.CrashMember) and step.before.attempted.streaming
    return dies and m.number(step.action.node) == step.before.coordinator


def fence_refuses(m: Any, step: PassedStep) -> bool:
    """Whether a replica refuses a client's request that is below its fence."""
    if not isinstance(step.action, act.ServeRequest):
        return False
    return not served(step.before, m.number(step.action.replica), m.setting)


def ended_under_another(timeline: Timeline) -> str | None:
    """The goal that every node is normal and up at the end, under another coordinator."""
    first, s = timeline.moments[0].state, timeline.state
    if s.topology.transition or any(entry.state != "normal" for entry in s.topology.nodes):
        return "At the end of your run, not every node is normal, or something is under way."
    if s.coordinator in (cluster.NOBODY, first.coordinator):
        return "At the end of your run, there is no coordinator, or it is the first one again."
    return None


def late_part(let: bool, timeline: Timeline) -> str | None:
    """The goal that a late part of a stream was let in where it came, or was refused."""
    m: Any = timeline.model
    fates = (
        let_in(step.before, m.number(step.action.node), m.setting)
        for step in timeline.passed()
        if isinstance(step.action, act.LateArrival)
    )
    said = "let in" if let else "refused"
    return None if let in fates else f"In your run, no late part of a stream was {said}."


GROUNDS = {
    "take-over": Ground("topology", {"operations": ("join D",), "crashes": 1}),
    "below-the-fence": Ground(  # only the server commits the fence although the drain failed
        "topology",
        {"edition": "server", "nodes": 4, "operations": ("leave B",), "cuts": 1, "clients": 1},
    ),
    "two-late-parts": Ground("topology", {"operations": ("join D",), "late": 2, "failures": 1}),
}
TASKS = (
    run_task(
        "roll-it-back",
        "a join that is rolled back",
        "One piece of work may fail. Give a run, as verbs or as a Player, in which D begins to "
        "bootstrap, is rolled back, and at the end has left.",
        "let work fail in a state for which the table has a rollback; then play to the end. In "
        "write_both_read_new, it is too late for that.",
        Ground("topology", {"operations": ("join D",), "failures": 1}),
        rolled_back,
    ),
    run_task(
        "too-late",
        "the command of a deposed coordinator",
        "A coordinator may be deposed twice. Give a run, as verbs or as a Player, in which one "
        "coordinator decides, another takes over and commits first, the old command arrives late "
        "and has no effect, and D is normal at the end.",
        "elect another coordinator between decide and commit, let it begin, and then play "
        "commit deposed.",
        Ground("topology", {"operations": ("join D",), "changes": 2}),
        two_coordinators,
    ),
    function_task(
        "may-begin",
        "which nodes must be up",
        "Write may_begin(kind, node, other, down, ignored) for a request in a cluster of A to E, "
        "where all nodes are normal. `kind` is join, leave, remove, replace or rebuild; X joins or "
        "replaces `other`. `down` and `ignored` are lists of names. Return True when the request "
        "may begin in the server edition: only the server first checks which nodes are up.",
        "a join or a leave needs every normal node. A removal or a replace does not need the "
        "ignored nodes or the node that is removed or replaced. A rebuild needs only its own node.",
        may_begin,
        (
            ["join", "X", "A", ["B"], []],
            ["remove", "C", "A", ["C"], []],
            ["remove", "C", "A", ["B", "C"], ["B"]],
            ["rebuild", "A", "B", ["B"], []],
        ),
        _drawn,
    ),
    run_task(
        "take-over",
        "somebody takes over",
        "A member may die once. Give a run, as verbs or as a Player, in which the coordinator dies "
        "while D is streaming, and at the end every node is normal under another coordinator.",
        "the barrier needs the dead member too. Restart it before you let the barrier fail.",
        GROUNDS["take-over"],
        takes(coordinator_dies, "In your run, no coordinator dies while a stream runs."),
        ended_under_another,
    ),
    run_task(
        "below-the-fence",
        "below the fence",
        "The server edition commits the fence even if a drain has failed. B leaves; a member may "
        "be cut off once, and a client may make a request. Give a run, as verbs or as a Player, in "
        "which a replica refuses the client's request, and at the end B has left.",
        "cut a node off before it learns of the new version, and let the client's request begin "
        "there. Let the barrier's drain fail, so that the fence is committed. Then reconnect.",
        GROUNDS["below-the-fence"],
        takes(fence_refuses, "In your run, no replica refuses a request."),
        ends(
            lambda s: s.topology.nodes[NAMES.index("B")].state == "left",
            "At the end of your run, B has not left.",
        ),
    ),
    run_task(
        "two-late-parts",
        "two late parts",
        "Two stream parts may be left behind, and one step may fail. Give a run, as verbs or "
        "as a Player, in which one late part is let in and another is refused.",
        "a part that arrives while its session is open is let in; let it finish. Leave another "
        "part behind, and let the stream fail: the next command closes the session.",
        GROUNDS["two-late-parts"],
        partial(late_part, True),
        partial(late_part, False),
    ),
)
