"""What an operator may type in the drill by RECOVERY mode; a command is a step of the model."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from kit.engine.drill import CommandReply, DrillMoment, happened
from kit.engine.forms import Form, Given, Slot
from kit.engine.server_log import searched
from kit.errors import Refused
from kit.operators import printing
from kit.protocols.group0.rules.voters import nodes_in
from kit.protocols.recovery import recovery_mode as act
from kit.protocols.recovery.drill.mode_tables import (
    COMPARED,
    GROUP_ID,
    MODE_TABLES,
    STATE,
    hosts,
    noted_mistype,
)
from kit.protocols.recovery.drill.reading import read_forms, read_slots, read_table
from kit.protocols.recovery.drill.walling import dropped
from kit.protocols.recovery.mode_cluster import MODES, ModeNode, ModeState
from kit.protocols.recovery.recovery_mode import LOG, RecoveryMode
from kit.protocols.recovery.rules.hosts import ServerHost

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
