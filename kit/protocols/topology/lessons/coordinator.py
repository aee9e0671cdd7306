"""What the lessons on the coordinator ask and check: states, barriers, failures, ways back."""

import random
from functools import partial
from typing import Any

from kit.errors import KitError
from kit.lessons.judge import Arguments, function_task
from kit.lessons.questions import PosedQuestion, copied, model_of, posed
from kit.lessons.replays import Ground, ends, run_task, takes
from kit.lessons.stills import still
from kit.model.registry import build, check_one_of, edition_of
from kit.model.timeline import PassedStep, Timeline
from kit.protocols.topology import coordinator as work
from kit.protocols.topology import topology as act
from kit.protocols.topology.control import has_majority, let_in, served
from kit.protocols.topology.facts import barrier, operation_title
from kit.protocols.topology.rules import cluster
from kit.protocols.topology.rules.editions import MACHINES
from kit.protocols.topology.rules.machines import BOUNDARY, EDITIONS, EdgeRow, Edition
from kit.protocols.topology.rules.work import TopologyOperation, failure, machine_of, under_way
from kit.protocols.topology.topology import Topology
from kit.views.static import Sheet

NULL = "null: nothing is under way"
ON = "it continues anyway"
AGAIN = "it retries"


def next_transition(timeline: Timeline) -> PosedQuestion:
    """Which transition state comes next, if nothing fails? KitError where there is none."""
    m, operation = _under_way(timeline)
    ahead = copied(timeline)
    if not (state := timeline.state.topology.transition):
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
    """What does the coordinator do if its next work fails? KitError where it does no work."""
    m, operation = _under_way(timeline)
    if (piece := work.task_of(timeline.state, m.setting).work) is None:
        raise KitError("predict: the coordinator is doing no work that could fail")
    machine = machine_of(operation, m.setting)
    if (edge := failure(operation, piece, m.setting)) is not None:
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
    """Which nodes' answers does the barrier still wait for? KitError where no barrier runs."""
    m = _model(timeline)
    if (runs := barrier(m, timeline.state)) is None:
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
    """What happens to the previous coordinator's command? KitError where there is none."""
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
    if (operation := under_way(timeline.state.topology)) is None:
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
    """Whoever a request does not pass over must be up; a rebuild needs its own node alone."""
    if kind == "rebuild":
        return node not in down
    without = {"remove": {*ignored, node}, "replace": {*ignored, other}}.get(kind, set())
    return not set(down) - without


def _random_request(chance: random.Random) -> Arguments:
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


# -- operations that fail: where they lead, and how one tries again --------------------------------


OPERATIONS = ("bootstrapping", "replacing", "decommissioning", "removing")


def where_back(operation: str, state: str) -> str:
    """Before reads move, failed work leads back: to be normal again, or out."""
    back = ("left_token_ring", "rollback_to_normal", "tablet_migration")
    if state in (*back, "write_both_read_new"):
        return ""
    leaves = operation in ("decommissioning", "removing")
    return "rollback_to_normal" if leaves else "left_token_ring"


def _random_state(chance: random.Random) -> Arguments:
    operation = chance.choice(OPERATIONS)
    return [operation, chance.choice(MACHINES["documents"][operation].states).name]


def goes_back(m: Any, step: PassedStep) -> bool:
    """Whether an operation turns back once writes go to both."""
    before, after = step.before.topology, step.after.topology
    operation = under_way(before)
    if operation is None or before.transition != "write_both_read_old":
        return False
    edge = MACHINES["documents"][operation.machine].edge(before.transition, "rollback")
    return edge is not None and bool(after.transition == edge.target)


def states_of(s: Any) -> list[str]:
    """The state of each node's row, once nothing is under way."""
    topology: cluster.ClusterTopology = s.topology
    return [] if topology.transition else [entry.state for entry in topology.nodes]


LOST, LEADER, MAJORITY = "message lost", "coordinator dies", "majority lost, then back"
FAILURES = ("another node dies", "the node itself dies", LOST, LEADER, MAJORITY)
"""What can fail while an operation works; every dead node but the operation's own is removed."""


def failure_grid(operation: str = "join F", edition: Edition = "documents") -> Sheet:
    """How an operation on E or F, beside A to D, ends when something fails in one of its states.

    Each piece of work has a row, and each kind of failure a column. Nobody restarts a dead node: an
    operator asks to remove it, or has it ignored if it is the operation's own.

    Raises BadInput for an operation or an edition that does not exist.
    """
    edition = edition_of(edition, EDITIONS)
    rows: dict[str, list[str]] = {}
    for what in FAILURES:
        dead = {"another node dies": "B", LEADER: "A"}.get(what)
        requests = (operation, f"removenode {dead}") if dead else (operation,)
        down = ("E",) if operation.startswith(("remove", "replace")) else ()
        given = {"nodes": 5, "edition": edition, "operations": requests, "down": down}
        m: Any = build("topology", {**given, "failures": 1, "crashes": 3, "lag": False})
        state = m.start()
        while (action := _next(m, state)) is not None:
            task = m.task(state)
            if task.work is not None and not (state.attempted.command or state.attempted.failed):
                name = f"{state.topology.transition or 'null'}: {task.work.name}"
                row = rows.setdefault(name, [])
                if len(row) < FAILURES.index(what) + 1:
                    row.append(_end(m, _with_failure(m, state, what, task.node)))
            state = m.apply(state, action)
    ends = tuple((name, *row) for name, row in rows.items())
    return Sheet(f"{operation} ({edition} edition)", ("state and work", *FAILURES), ends)


def _next(m: Any, s: Any) -> Any | None:
    sure = (each for each in m.actions(s) if m.relied(s, each))
    return next(sure, None) or next((each for each, _ in m.helped(s)), None)


def _with_failure(m: Any, s: Any, what: str, node: int) -> Any:
    dies = {LEADER: "A", MAJORITY: "BCD", FAILURES[0]: "B", LOST: ""}
    names = dies.get(what, m.names[node] if node != cluster.NOBODY else "")
    faults = [Topology.crash_member(each) for each in names] or [Topology.fail_work()]
    if what == FAILURES[1] and not names:
        return s
    for each in faults:
        s = m.apply(s, each) if m.refusal(s, each) is None else s
    if what == MAJORITY:
        while (action := _next(m, s)) is not None and not has_majority(s):
            s = m.apply(s, action)
        for each in map(Topology.restart_member, names):
            s = m.apply(s, each) if m.refusal(s, each) is None else s
    return s


def _end(m: Any, s: Any) -> str:
    while (not m.is_over(s) or s.made < len(m.plan.requests)) and (step := _next(m, s)) is not None:
        s = m.apply(s, step)
    if not s.topology.requests or not all(each.done for each in s.topology.requests):
        return work.said_of(s, m.setting)[0]
    return "rolled back" if s.topology.requests[0].error else "succeeded"


NOT_BACK = "In your run, nothing is rolled back from write_both_read_old."
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
        _random_request,
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
    run_task(
        "leave-again",
        "a leave that is retried",
        "There are three nodes, and C leaves. One piece of work may fail, and two requests may be "
        "made. Give a run, as verbs or as a Player, in which the first attempt is rolled back from "
        "write_both_read_old, yet C has left at the end.",
        "you can fail a step while the coordinator waits for the barrier or streams. Let "
        "everything settle before the second request, and see which nodes must clean up.",
        Ground(
            "topology",
            {"operations": ("decommission C", "decommission C"), "failures": 1, "lag": False},
        ),
        takes(goes_back, NOT_BACK),
        ends(
            lambda s: states_of(s) == ["normal", "normal", "left"],
            "At the end of your run, C has not left, A or B is not normal, or something is under "
            "way.",
        ),
    ),
    run_task(
        "another-replacement",
        "another node replaces C",
        "C is dead. D should replace it, and if D fails, E. One piece of work may fail. Give a "
        "run, as verbs or as a Player, in which D is rolled back from write_both_read_old, and at "
        "the end E has replaced C.",
        "D's way back ends when D has left; then the second request is next.",
        Ground(
            "topology", {"operations": ("replace D C", "replace E C"), "failures": 1, "lag": False}
        ),
        takes(goes_back, NOT_BACK),
        ends(
            lambda s: states_of(s) == ["normal", "normal", "left", "left", "normal"],
            "At the end of your run, E is not normal, C or D has not left, or something is under "
            "way.",
        ),
    ),
    function_task(
        "where-back",
        "where does failed work lead?",
        "Write where_back(operation, state) for the documents edition. `operation` is "
        "bootstrapping, replacing, decommissioning or removing, and `state` is one of its "
        "transition states. Return the state that a rollback leads to, such as "
        "'left_token_ring', or '' if nothing there is rolled back.",
        "two questions decide it: may reads already use the new replicas, and was the node in the "
        "ring before? A state on the way back has no way back of its own.",
        where_back,
        (
            ["bootstrapping", "write_both_read_old"],
            ["removing", "tablet_draining"],
            ["replacing", "write_both_read_new"],
            ["decommissioning", "rollback_to_normal"],
        ),
        _random_state,
    ),
)
