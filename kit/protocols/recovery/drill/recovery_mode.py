"""The drill of a recovery by RECOVERY mode, as the older documents have it."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from kit.engine.drill import (
    CheckedStep,
    CommandReply,
    DrillKind,
    DrillMoment,
    Grade,
    GradeRow,
    happened,
    judged,
)
from kit.engine.forms import Form, Given, Slot
from kit.engine.runs import played_out
from kit.engine.server_log import searched
from kit.engine.timeline import Timeline
from kit.errors import Refused
from kit.operators import printing
from kit.operators.printing import Row
from kit.protocols.group0.rules.voters import nodes_in
from kit.protocols.recovery import facts
from kit.protocols.recovery import recovery_mode as act
from kit.protocols.recovery.drill.judging import (
    data_unavailable,
    died_with,
    ever_dead,
    kept,
    missing_entries,
    one_group,
)
from kit.protocols.recovery.drill.reading import NodeTable, read_forms, read_slots, read_table
from kit.protocols.recovery.drill.walling import dropped
from kit.protocols.recovery.lost_majority import MOST_FAULTS, NO_GROUP
from kit.protocols.recovery.mode_cluster import MODES, ModeNode, ModeState
from kit.protocols.recovery.recovery_mode import LOG, RecoveryMode
from kit.protocols.recovery.rules.procedure import OLD_STEPS
from kit.protocols.recovery.rules.servers import ServerHost, group_uuid, server_host

STATE, GROUP_ID = "group0_upgrade_state", "raft_group0_id"
COMPARED = "compared"
"""The mark of one schema version, seen on all live nodes while all were in RECOVERY mode."""


def hosts(m: RecoveryMode) -> list[ServerHost]:
    """Every machine, in the order of nodes."""
    return [server_host(name, number) for number, name in enumerate(m.names)]


def mistyped(now: DrillMoment, number: int) -> tuple[str, ...]:
    """The values that were typed on a node and are no known ones, in their order."""
    begins = f"mistyped {number} "
    marks = (m.removeprefix(begins).partition(" ") for m in now.marks if m.startswith(begins))
    return tuple(value for _, _, value in sorted(marks, key=lambda mark: int(mark[0])))


def noted_mistype(now: DrillMoment, number: int, value: str) -> str:
    """The mark of the next one."""
    return f"mistyped {number} {len(mistyped(now, number))} {value}"


def _local(now: DrillMoment, number: int) -> Iterator[Row]:
    node = now.state.nodes[number]
    if node.value:
        typed = mistyped(now, number) if node.value == "unknown" else ()
        yield {"key": STATE, "value": typed[-1] if typed else node.value}
    there = node.group_id != NO_GROUP
    yield {"key": GROUP_ID, "value": group_uuid(node.group_id) if there else None}


def _discovery(now: DrillMoment, number: int) -> Iterator[Row]:
    for at in nodes_in(now.state.nodes[number].discovery):
        host = hosts(now.model)[at]
        yield {"key": "peers", "ip_addr": host.address, "raft_server_id": host.host_id}


def _history(now: DrillMoment, number: int) -> Iterator[Row]:
    newest = now.state.nodes[number].history
    if newest:
        yield {"key": "history", "state_id": f"{newest:08x}-fe88-11f0-8002-000000000001"}


MODE_TABLES: Mapping[str, NodeTable] = {
    f"system.{table.name}": table
    for table in (
        NodeTable("scylla_local", ("key", "value"), _local),
        NodeTable("discovery", ("key", "ip_addr", "raft_server_id"), _discovery),
        NodeTable("group0_history", ("key", "state_id"), _history),
    )
}


LOG_FILE = "/var/log/scylla.log"
EVENTS = ("alter", "crash", "die", "return")


def answering(now: DrillMoment, tool: str) -> int:
    """The node that one is on, whose server runs.

    Raises:
        Refused: as the tool says where it does not.
    """
    number: int = now.model.number(now.place)
    if not now.state.nodes[number].is_up:
        raise Refused(f"{tool} on {now.place}: connection refused, the server is down")
    return number


def status(now: DrillMoment, given: Given) -> CommandReply:
    """``nodetool status``, as this node sees the others."""
    number = answering(now, "nodetool")
    s: ModeState = now.state
    there = (
        (each, "U" if at == number or s.hears(number, at) else "D")
        for at, each in enumerate(hosts(now.model))
        if s.nodes[at].standing != "removed"
    )
    return CommandReply(tuple(printing.status_lines(there)))


def describe(now: DrillMoment, given: Given) -> CommandReply:
    """``nodetool describecluster``; one version on all live nodes is a step of the procedure."""
    number = answering(now, "nodetool")
    m, s = now.model, now.state
    versions: dict[str, list[str]] = {}
    unreachable = []
    for at, host in enumerate(hosts(m)):
        node: ModeNode = s.nodes[at]
        if at == number or s.hears(number, at):
            versions.setdefault(node.version_id, []).append(host.address)
        elif node.standing != "removed":
            unreachable.append(host.address)
    step = act.Compare()
    agree = m.refusal(s, step) is None
    lines = tuple(printing.cluster_lines(versions, unreachable))
    return CommandReply(
        lines,
        actions=(step,) if agree and not s.compared else (),
        marks=(COMPARED,) if agree and s.in_recovery_mode else (),
    )


def select(now: DrillMoment, given: Given) -> CommandReply:
    """Rows of a system table of this node."""
    number = answering(now, "cqlsh")
    answer = read_table(MODE_TABLES[str(given["table"])], now, number, given)
    return CommandReply(answer.lines)


def update(now: DrillMoment, given: Given) -> CommandReply:
    """``group0_upgrade_state`` is written: what is no known value is taken for recovery later."""
    number = answering(now, "cqlsh")
    value = str(given["value"])
    if value in MODES and value not in ("recovery", "unknown"):
        raise Refused(f"{value} is written by the server alone; nobody types it")
    name = now.place
    if value == "recovery":
        return CommandReply(actions=_written(now, act.SetRecovery(name)))
    if now.state.nodes[number].value != "unknown" and not now.state.mistypes:
        raise Refused("no other value is written here any more: write recovery")
    marks = (noted_mistype(now, number, value),)
    return CommandReply(actions=_written(now, act.Mistype(name)), marks=marks)


def _written(now: DrillMoment, action: Any) -> tuple[Any, ...]:
    """A statement as a step of the model; none where it changes nothing, which it may."""
    return (action,) if now.has(action) else ()


def query(action: Any) -> Callable[[DrillMoment, Given], CommandReply]:
    """A query on this node that is one step of the model."""

    def answer(now: DrillMoment, given: Given) -> CommandReply:
        answering(now, "cqlsh")
        return CommandReply(actions=_written(now, action(now.place)))

    return answer


def leave(now: DrillMoment, given: Given) -> CommandReply:
    """The row goes that an operator wrote; one that the server wrote stays."""
    node: ModeNode = now.state.nodes[answering(now, "cqlsh")]
    if node.value not in ("", "recovery", "unknown"):
        said = f"{STATE} is {node.value} on {now.place}: the server wrote it"
        raise Refused(f"{said} (what a start without it does is not modelled)")
    return query(act.Unset)(now, given)


def serve(*steps: Any) -> Callable[[DrillMoment, Given], CommandReply]:
    """Steps of a server's life, of the node that is named or of this one."""

    def answer(now: DrillMoment, given: Given) -> CommandReply:
        name = str(given.get("node", now.place))
        node: ModeNode = now.state.nodes[now.model.number(name)]
        up = node.is_up
        if node.standing != "live":
            raise Refused(f"{name} is {node.standing}: there is no server to stop or start")
        if len(steps) == 1 and up is (steps[0] is act.StartServer):
            raise Refused(f"{name} is {'up' if up else 'down'} already")
        needed = [each for each in steps if up or each is not act.Stop or len(steps) == 1]
        return CommandReply(actions=tuple(each(name) for each in needed))

    return answer


def on(now: DrillMoment, given: Given) -> CommandReply:
    """Another machine."""
    m: RecoveryMode = now.model
    number = m.number(str(given["node"]))
    if now.state.nodes[number].standing in ("dead", "removed"):
        address = hosts(m)[number].address
        raise Refused(f"ssh: connect to host {address}: no route to host")
    return CommandReply(place=m.names[number])


def firewall(now: DrillMoment, given: Given) -> CommandReply:
    """All live nodes refuse these addresses; with every dead one it is the model's step."""
    return dropped(now, given, _dead(now), act.Isolate())


def remove(now: DrillMoment, given: Given) -> CommandReply:
    """``nodetool removenode``; the others that are dead are ignored."""
    answering(now, "nodetool")
    m: RecoveryMode = now.model
    number = [each.host_id for each in hosts(m)].index(str(given["host_id"]))
    if now.state.nodes[number].standing == "live":
        raise Refused(f"{m.names[number]} is counted on: it is not removed")
    return CommandReply(actions=(act.Remove(m.names[number]),))


def grep(now: DrillMoment, given: Given) -> CommandReply:
    """Lines of this node's log; RECOVERY mode read on every live node is a step."""
    m, s = now.model, now.state
    lines = searched(now, LOG, given)
    marks = (f"log {now.place}",) if any("RECOVERY mode" in line for line in lines) else ()
    read = {f"log {m.names[i]}" for i in nodes_in(s.live)} <= {*now.marks, *marks}
    step = act.ReadLogs()
    able = read and not s.logs_read and m.refusal(s, step) is None
    return CommandReply(lines, actions=(step,) if able else (), marks=marks)


def happen(now: DrillMoment, given: Given) -> CommandReply:
    """What no operator does."""
    return happened(now, given, EVENTS)


def _there(now: DrillMoment) -> Iterable[ServerHost]:
    pairs = zip(hosts(now.model), now.state.nodes, strict=True)
    return [host for host, node in pairs if node.standing != "removed"]


def _dead(now: DrillMoment) -> Iterable[str]:
    return [hosts(now.model)[i].address for i in nodes_in(now.state.dead)]


SLOTS: dict[str, Slot] = {
    "node": Slot("a node", lambda now: now.model.names),
    "host_id": Slot("a host id", lambda now: [each.host_id for each in _there(now)]),
    "ignored": Slot("host ids", lambda now: [each.host_id for each in _there(now)], many=True),
    "addresses": Slot("addresses of dead nodes", _dead, many=True),
    **read_slots(MODE_TABLES),
    "pattern": Slot("words to look for"),
    "event": Slot("what happens", lambda now: EVENTS),
}
_RESTART = serve(act.Stop, act.StartServer)
FORMS: tuple[Form, ...] = (
    Form("on {node}", "go to a machine", on, own=True),
    Form("ssh {node}", "the same", on, offered=False),
    Form("nodetool status", "who is up, as this node sees it", status),
    Form("nodetool describecluster", "the schema versions of the cluster", describe),
    Form("firewall drop {addresses}", "all live nodes refuse these addresses", firewall, own=True),
    Form("SELECT * FROM {table}", "read a system table of this node",
         lambda now, given: select(now, {**given, "columns": ("*",)})),
    *read_forms(select),
    Form(f"UPDATE system.scylla_local SET value = 'recovery' WHERE key = '{STATE}'",
         "enter RECOVERY mode at the next start",
         lambda now, given: update(now, {"value": "recovery"})),
    Form(f"UPDATE system.scylla_local SET value = {{value}} WHERE key = '{STATE}'",
         "write another value", update, offered=False),
    Form("restart {node}", "restart the server of a node", _RESTART, own=True),
    Form("systemctl restart scylla-server", "restart the server here", _RESTART, offered=False),
    Form("systemctl stop scylla-server", "stop the server here", serve(act.Stop),
         offered=False),
    Form("systemctl start scylla-server", "start the server here", serve(act.StartServer),
         offered=False),
    Form("stop {node}", "stop the server of a node", serve(act.Stop), own=True),
    Form("start {node}", "start the server of a node", serve(act.StartServer), own=True),
    Form(f"grep 'RECOVERY mode' {LOG_FILE}", "whether this node is in RECOVERY mode",
         lambda now, given: grep(now, {"pattern": "RECOVERY mode"})),
    Form(f"grep {{pattern}} {LOG_FILE}", "lines of this node's log", grep, offered=False),
    Form(f"cat {LOG_FILE}", "the whole log of this node", grep),
    Form("nodetool removenode {host_id}", "remove a dead node; the others are ignored", remove),
    Form("nodetool removenode {host_id} --ignore-dead-nodes {ignored}", "the same", remove,
         offered=False),
    Form("TRUNCATE TABLE system.discovery", "delete the state of discovery",
         query(act.TruncateDiscovery)),
    Form("TRUNCATE TABLE system.group0_history", "delete the history of group 0",
         query(act.TruncateHistory)),
    Form("TRUNCATE system.discovery", "the same", query(act.TruncateDiscovery), offered=False),
    Form("TRUNCATE system.group0_history", "the same", query(act.TruncateHistory), offered=False),
    Form(f"DELETE value FROM system.scylla_local WHERE key = '{GROUP_ID}'",
         "delete the persisted id of group 0", query(act.DropId)),
    Form(f"DELETE FROM system.scylla_local WHERE key = '{STATE}'", "leave RECOVERY mode",
         leave),
    Form("happen {event} {node}", "what no operator does", happen, own=True),
)  # fmt: skip


def grade(now: DrillMoment) -> Grade:
    """The run, graded; the same run has the same grade, whatever was typed."""
    whole = "every node that lives runs in one group 0, after the Raft upgrade"
    return Grade(
        (
            judged("cluster whole", list(_unfinished(now)), whole),
            one_group(now),
            judged("nothing lost", _lost(now), kept(_died(now) & ~_known(now.state), "entry")),
            GradeRow("steps", None, _steps(now)),
            data_unavailable(now, facts.mode_ranges),
        )
    )


def _unfinished(now: DrillMoment) -> Iterator[str]:
    """What the procedure still lacks; nothing where the model says that the cluster is whole."""
    m: RecoveryMode = now.model
    s: ModeState = now.state
    if s.is_whole:
        return
    dead = m.named(s.dead)
    if dead:
        yield f"dead, and not removed: {', '.join(dead)}"
    by_mode: dict[str, list[str]] = {}
    for i in nodes_in(s.live):
        by_mode.setdefault(s.nodes[i].mode, []).append(m.names[i])
    by_mode.pop("group 0", None)
    for mode, names in by_mode.items():
        yield f"{', '.join(names)}: {mode}"
    groups = {s.nodes[i].group for i in nodes_in(s.live)} - {NO_GROUP}
    if len(groups) > 1:
        yield "the live nodes run in different groups"
    if not by_mode and not any(s.may_commit(i) for i in nodes_in(s.live)):
        yield "group 0 has no majority"


def _lost(now: DrillMoment) -> list[str]:
    had = _known(now.run[0].state)
    for step in now.run:
        had |= step.state.answered
    return missing_entries(had & ~_died(now), _known(now.state))


def _died(now: DrillMoment) -> int:
    return died_with(now, act.Die, _known)


def _known(s: ModeState) -> int:
    known = 0
    for i in nodes_in(s.live):
        known |= s.nodes[i].columns
    return known


def _steps(now: DrillMoment) -> str:
    used = sum(isinstance(step.action, act.BY_OPERATOR) for step in now.run)
    timeline = played_out(Timeline(RecoveryMode(now.model.parameters)))
    run = [timeline.moments[at].action for at in timeline.path()]
    needed = sum(isinstance(action, act.BY_OPERATOR) for action in run)
    return f"{used} of the operator; the procedure takes {needed}"


def checklist(now: DrillMoment) -> tuple[CheckedStep, ...]:
    """The documents' steps, ticked by the run."""
    dead = ever_dead(now)
    return tuple(
        CheckedStep(step.name, step.what.format(dead=dead), DONE[step.name](now))
        for step in OLD_STEPS
    )


def _all(holds: Callable[[ModeNode], bool]) -> Callable[[DrillMoment], bool]:
    """Whether something held of all live nodes at once."""
    return lambda now: any(
        all(holds(step.state.nodes[i]) for i in nodes_in(step.state.live)) for step in now.run
    )


def _each(action: Any, behind: Any = None) -> Callable[[DrillMoment], bool]:
    """Whether a step was done on every live node, after another one that was."""

    def done(now: DrillMoment) -> bool:
        actions = [step.action for step in now.run]
        starts = [at for at, each in enumerate(actions) if behind and isinstance(each, behind)]
        begun = (starts[-1] if starts else len(actions)) if behind else 0
        names = {each.node for each in actions[begun:] if isinstance(each, action)}
        return names >= {now.model.names[i] for i in nodes_in(now.state.live)}

    return done


def _compared(now: DrillMoment) -> bool:
    """Whether the versions were looked at in their place: what was equal before tells nothing."""
    steps = (step for step in now.run if isinstance(step.action, act.Compare))
    return COMPARED in now.marks or any(step.state.in_recovery_mode for step in steps)


DONE: dict[str, Callable[[DrillMoment], bool]] = {
    "isolate": lambda now: now.state.isolated,
    "enter": _each(act.SetRecovery),
    "rolling restart": _all(lambda node: node.mode == "recovery"),
    "check mode": lambda now: any(step.state.logs_read for step in now.run),
    "remove": lambda now: not now.state.dead,
    "truncate": _all(lambda n: n.discovery == n.history == 0 and n.group_id == NO_GROUP),
    "compare": _compared,
    "leave": _each(act.Unset),
    "restart again": _each(act.StartServer, behind=act.Unset),
    "upgrade": lambda now: now.state.is_whole,
}


TIMES = 2
"""How often each thing may happen that no operator does."""


def opened(model: RecoveryMode) -> RecoveryMode:
    """The same group, in which nodes may crash and come back, and a value may be mistyped."""
    live = len(model.names) - len(model.given_up)
    return RecoveryMode(
        replace(
            model.parameters,
            crashes=max(model.crashes, TIMES),
            deaths=max(model.deaths, live - 1),
            returns=max(model.returns, len(model.given_up)),
            changes=max(model.changes, TIMES),
            mistypes=MOST_FAULTS,
        )
    )


def own_step(model: RecoveryMode, state: ModeState) -> Any:
    """What servers do by themselves: they pull schema, and go through the Raft upgrade."""
    return next((a for a in model.actions(state) if isinstance(a, act.BY_SERVERS)), None)


DRILL = DrillKind(
    title="Recover a group 0 by RECOVERY mode",
    task="The dead will not come back by themselves. Enter RECOVERY mode, remove them, leave it "
    "again, and let the Raft upgrade run to its end. help lists the commands.",
    forms=FORMS,
    slots=SLOTS,
    opened=opened,
    starts_at=lambda model: model.named(model.start().live)[0],
    own_step=own_step,
    checklist=checklist,
    grade=grade,
)
