"""What an operator may type in the drill by RECOVERY mode; a command is a step of the model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from kit.engine.drill import CommandReply, DrillMoment
from kit.engine.forms import Form, Given, Slot
from kit.errors import Refused
from kit.protocols.group0.rules.voters import nodes_in
from kit.protocols.recovery.drill import printing
from kit.protocols.recovery.drill.events import happened
from kit.protocols.recovery.drill.looking import searched
from kit.protocols.recovery.drill.tables import Row
from kit.protocols.recovery.facts.log import LOG
from kit.protocols.recovery.facts.machines import (
    ServerHost,
    group_uuid,
    schema_version,
    server_host,
)
from kit.protocols.recovery.old import actions as act
from kit.protocols.recovery.old import cluster
from kit.protocols.recovery.old.model import RecoveryMode
from kit.protocols.recovery.old.state import MODES, OldNode, OldState
from kit.protocols.recovery.state import NO_GROUP

LOG_FILE = "/var/log/scylla.log"
STATE, GROUP_ID = "group0_upgrade_state", "raft_group0_id"
HASHED = 1 << 100
"""What tells a schema version that is a hash from one that group 0 wrote."""
EVENTS = ("alter", "crash", "die", "return")
COLUMNS = {
    "system.scylla_local": ("key", "value"),
    "system.discovery": ("key", "ip_addr", "raft_server_id"),
    "system.group0_history": ("key", "state_id"),
}


def hosts(m: RecoveryMode) -> list[ServerHost]:
    """Every machine, in the order of nodes."""
    return [server_host(name, number) for number, name in enumerate(m.names)]


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
    s: OldState = now.state
    there = (
        (each, "U" if at == number or cluster.hears(s, number, at) else "D")
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
        node: OldNode = s.nodes[at]
        if at == number or cluster.hears(s, number, at):
            is_hash, version = node.schema_version
            name = schema_version(version + HASHED if is_hash else version)
            versions.setdefault(name, []).append(host.address)
        elif node.standing != "removed":
            unreachable.append(host.address)
    step = act.CompareVersions()
    able = not s.compared and m.refusal(s, step) is None
    lines = tuple(printing.cluster_lines(versions, unreachable))
    return CommandReply(lines, actions=(step,) if able else ())


def select(now: DrillMoment, given: Given) -> CommandReply:
    """Rows of a system table of this node."""
    number = answering(now, "cqlsh")
    table = str(given["table"])
    rows = list(_rows(now, table, now.state.nodes[number]))
    if "key" in given:
        rows = [row for row in rows if row["key"] == given["key"]]
    return CommandReply(tuple(printing.cql_rows(COLUMNS[table], rows)))


def _rows(now: DrillMoment, table: str, node: OldNode) -> Iterator[Row]:
    if table == "system.scylla_local":
        if node.value:
            yield {"key": STATE, "value": node.value}
        there = node.group_id != NO_GROUP
        yield {"key": GROUP_ID, "value": group_uuid(node.group_id) if there else None}
    elif table == "system.discovery":
        for at in nodes_in(node.discovery):
            host = hosts(now.model)[at]
            yield {"key": "peers", "ip_addr": host.address, "raft_server_id": host.host_id}
    elif node.history:
        yield {"key": "history", "state_id": f"{node.history:08x}-fe88-11f0-8002-000000000001"}


def update(now: DrillMoment, given: Given) -> CommandReply:
    """``group0_upgrade_state`` is written: what is no known value is taken for recovery later."""
    answering(now, "cqlsh")
    value = str(given["value"])
    if value in MODES and value not in ("recovery", "unknown"):
        raise Refused(f"{value} is written by the server alone; nobody types it")
    name = now.place
    action = act.SetRecovery(name) if value == "recovery" else act.MistypeValue(name)
    return CommandReply(actions=(action,))


def query(action: Any) -> Callable[[DrillMoment, Given], CommandReply]:
    """A query on this node that is one step of the model."""

    def answer(now: DrillMoment, given: Given) -> CommandReply:
        answering(now, "cqlsh")
        return CommandReply(actions=(action(now.place),))

    return answer


def serve(*steps: Any) -> Callable[[DrillMoment, Given], CommandReply]:
    """Steps of a server's life, of the node that is named or of this one."""

    def answer(now: DrillMoment, given: Given) -> CommandReply:
        name = str(given.get("node", now.place))
        node: OldNode = now.state.nodes[now.model.number(name)]
        up = node.is_up
        if node.standing != "live":
            raise Refused(f"{name} is {node.standing}: there is no server to stop or start")
        if len(steps) == 1 and up is (steps[0] is act.StartServer):
            raise Refused(f"{name} is {'up' if up else 'down'} already")
        needed = [each for each in steps if up or each is not act.StopServer or len(steps) == 1]
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
    everyone = hosts(now.model)
    wanted = {everyone[i].address for i in cluster.given_up(now.state)}
    left = wanted - {*given["addresses"]}
    if left:
        raise Refused(f"these could still come back: {', '.join(sorted(left))}")
    return CommandReply(actions=(act.CutOffDead(),))


def remove(now: DrillMoment, given: Given) -> CommandReply:
    """``nodetool removenode``; the others that are dead are ignored."""
    answering(now, "nodetool")
    m: RecoveryMode = now.model
    number = [each.host_id for each in hosts(m)].index(str(given["host_id"]))
    if now.state.nodes[number].standing == "live":
        raise Refused(f"{m.names[number]} is counted on: it is not removed")
    return CommandReply(actions=(act.RemoveDead(m.names[number]),))


def grep(now: DrillMoment, given: Given) -> CommandReply:
    """Lines of this node's log; RECOVERY mode read on every live node is a step."""
    m, s = now.model, now.state
    lines = searched(now, LOG, given)
    marks = (f"log {now.place}",) if any("RECOVERY mode" in line for line in lines) else ()
    read = {f"log {m.names[i]}" for i in cluster.live(s)} <= {*now.marks, *marks}
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
    return [hosts(now.model)[i].address for i in cluster.given_up(now.state)]


SLOTS: dict[str, Slot] = {
    "node": Slot("a node", lambda now: now.model.names),
    "host_id": Slot("a host id", lambda now: [each.host_id for each in _there(now)]),
    "ignored": Slot("host ids", lambda now: [each.host_id for each in _there(now)], many=True),
    "addresses": Slot("addresses of dead nodes", _dead, many=True),
    "table": Slot("a system table", lambda now: COLUMNS),
    "key": Slot("a key in quotes", lambda now: (STATE, GROUP_ID), quoted=True),
    "value": Slot("a value in quotes", quoted=True),
    "pattern": Slot("words to look for"),
    "event": Slot("what happens", lambda now: EVENTS),
}
_RESTART = serve(act.StopServer, act.StartServer)
FORMS: tuple[Form, ...] = (
    Form("on {node}", "go to a machine", on, own=True),
    Form("ssh {node}", "the same", on, offered=False),
    Form("nodetool status", "who is up, as this node sees it", status),
    Form("nodetool describecluster", "the schema versions of the cluster", describe),
    Form("firewall drop {addresses}", "all live nodes refuse these addresses", firewall, own=True),
    Form("SELECT * FROM {table}", "read a system table of this node", select),
    Form("SELECT value FROM {table} WHERE key = {key}", "one row of it", select, offered=False),
    Form(f"UPDATE system.scylla_local SET value = 'recovery' WHERE key = '{STATE}'",
         "enter RECOVERY mode at the next start",
         lambda now, given: update(now, {"value": "recovery"})),
    Form(f"UPDATE system.scylla_local SET value = {{value}} WHERE key = '{STATE}'",
         "write another value", update, offered=False),
    Form("restart {node}", "restart the server of a node", _RESTART, own=True),
    Form("systemctl restart scylla-server", "restart the server here", _RESTART, offered=False),
    Form("systemctl stop scylla-server", "stop the server here", serve(act.StopServer),
         offered=False),
    Form("systemctl start scylla-server", "start the server here", serve(act.StartServer),
         offered=False),
    Form("stop {node}", "stop the server of a node", serve(act.StopServer), own=True),
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
         "delete the persisted id of group 0", query(act.DropGroupId)),
    Form(f"DELETE FROM system.scylla_local WHERE key = '{STATE}'", "leave RECOVERY mode",
         query(act.DeleteStateRow)),
    Form("happen {event} {node}", "what no operator does", happen, own=True),
)  # fmt: skip
