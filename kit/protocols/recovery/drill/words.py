"""What an operator may type in the drill of a recovery, and which steps of the model it is."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from kit.engine.drill import CommandReply, DrillMoment, happened, refusal_line
from kit.engine.forms import Form, Given, Slot
from kit.engine.server_log import searched
from kit.errors import Refused
from kit.operators import printing
from kit.protocols.recovery import recovery as act
from kit.protocols.recovery.drill.reading import SELECT, read_forms, read_slots, read_table
from kit.protocols.recovery.drill.servers import here, machines, named, running
from kit.protocols.recovery.drill.tables import (
    GROUP_ID,
    TABLES,
    deleted,
    former_groups,
    gone,
    noted_id,
    seen_in_log,
    stored_group,
)
from kit.protocols.recovery.drill.troubleshooting import TROUBLESHOOTING
from kit.protocols.recovery.drill.walling import dropped
from kit.protocols.recovery.lost_majority import NO_GROUP, NOBODY
from kit.protocols.recovery.recovering_cluster import RecoveryNode
from kit.protocols.recovery.recovery import LOG as SERVER_LOG
from kit.protocols.recovery.recovery import Recovery
from kit.protocols.recovery.rules.hosts import ServerHost, group_uuid, schema_version

FILE = "/etc/scylla/scylla.yaml"
LOG = "/var/log/scylla.log"
RAFT_TABLES = ("raft", "raft_snapshots", "raft_snapshot_config")
EVENTS = ("alter", "crash", "die", "return")


def reached(now: DrillMoment, number: int) -> set[int]:
    """The nodes whose gossip a node takes, itself among them."""
    pairs = [pair for pair in now.state.talking() if number in pair]
    return {number, *(node for pair in pairs for node in pair)}


def status(now: DrillMoment, given: Given) -> CommandReply:
    """``nodetool status``, as a node sees the others; what is not known is ``?``."""
    up = reached(now, running(now, "nodetool"))
    hosts = (
        (each, "U" if at in up else "D")
        for at, each in enumerate(machines(now.model, now.run))
        if now.state.nodes[at].status != "removed"
    )
    return CommandReply(tuple(printing.status_lines(hosts)))


def describe(now: DrillMoment, given: Given) -> CommandReply:
    """``nodetool describecluster``: the schema versions of those that are reached."""
    up = reached(now, running(now, "nodetool"))
    versions: dict[str, list[str]] = {}
    unreachable = []
    for at, machine in enumerate(machines(now.model, now.run)):
        node: RecoveryNode = now.state.nodes[at]
        if at in up:
            versions.setdefault(schema_version(node.columns), []).append(machine.address)
        elif node.status != "removed":
            unreachable.append(machine.address)
    return CommandReply(tuple(printing.cluster_lines(versions, unreachable)))


def remove(now: DrillMoment, given: Given) -> CommandReply:
    """``nodetool removenode``, with the other dead nodes ignored or not."""
    running(now, "nodetool")
    node, ignoring = _dead(now, str(given["host_id"])), _ignores_all(now, given)
    return CommandReply(actions=(act.Remove(node, ignoring),))


def replace(now: DrillMoment, given: Given) -> CommandReply:
    """A new node with ``replace_node_first_boot``; without the option it meets who is dead."""
    node = _dead(now, str(given["host_id"]))
    if not _ignores_all(now, given):
        why = now.model.refusal(now.state, act.Remove(node, ignoring=False))
        if why is not None:
            raise Refused(f"{why.reason} ({', '.join(why.missing)})")
    return CommandReply(actions=(act.Replace(node),))


def _dead(now: DrillMoment, host_id: str) -> str:
    """The name of a node that is to leave: one that is up is alive."""
    m: Recovery = now.model
    number = named(now, host_id)
    node: RecoveryNode = now.state.nodes[number]
    if node.takes_part:
        if number in reached(now, here(now)):
            raise Refused(f"the node is alive ({m.names[number]})")
        raise Refused(f"{m.names[number]} is counted on: start it, or let it die first")
    return m.names[number]


def _ignores_all(now: DrillMoment, given: Given) -> bool:
    """Whether every dead node but the one that leaves is named among those to ignore."""
    ignored = {named(now, each) for each in given.get("host_ids", ())} | {
        named(now, str(given["host_id"]))
    }
    return ignored >= {
        i for i, node in enumerate(now.state.nodes) if node.status in ("dead", "returned")
    }


def select(now: DrillMoment, given: Given) -> CommandReply:
    """A read of a system table; reading commit indexes everywhere is a step of the procedure."""
    number = running(now, "cqlsh", in_maintenance=True)
    table = TABLES[str(given["table"])]
    answer = read_table(table, now, number, given)
    noted = (f"read {number}",) if table.name == "raft" and "commit_idx" in answer.columns else ()
    ids = (r["value"] for r in answer.rows if "value" in answer.columns and r["key"] == GROUP_ID)
    marks = (*noted, *(noted_id(each) for each in ids if each))
    return CommandReply(answer.lines, _all_read(now, noted), marks=marks)


def _all_read(now: DrillMoment, noted: tuple[str, ...]) -> tuple[Any, ...]:
    """The model's step, once the index of every node that is counted on was read."""
    marks = now.marks | {*noted}
    wanted = {f"read {i}" for i, node in enumerate(now.state.nodes) if node.takes_part}
    ready = noted and wanted <= marks and not now.state.indexes_read
    return (act.Read(),) if ready else ()


def truncate_discovery(now: DrillMoment, given: Given) -> CommandReply:
    """The state of discovery goes; with the group id it is one step of the model."""
    return _half_of_deletion(now, "discovery")


def delete_group_id(now: DrillMoment, given: Given) -> CommandReply:
    """The persisted group id goes."""
    return _half_of_deletion(now, "id")


def _half_of_deletion(now: DrillMoment, half: str) -> CommandReply:
    number = running(now, "cqlsh")
    group = stored_group(now, number)
    if group > now.state.abandoned:
        called = now.model.group_name(group)
        raise Refused(f"{called} is not given up: name another recovery leader first")
    action = act.DeleteId(now.place)
    refusal = now.model.why_not(now.state, action)
    if refusal is not None:
        raise Refused(refusal.reason)
    other = "id" if half == "discovery" else "discovery"
    done = gone(now, other, number, group) and not gone(now, half, number, group)
    return CommandReply(actions=(action,) if done else (), marks=(deleted(half, number, group),))


def delete_rows(now: DrillMoment, given: Given) -> CommandReply:
    """Raft's rows of a group go, table by table; all of them are one step of the model."""
    number = running(now, "cqlsh")
    table, group_id = str(given["raft_table"]).removeprefix("system."), str(given["group_id"])
    group = next(i for i in range(len(now.state.groups)) if group_uuid(i) == group_id)
    action = act.CleanRows(now.place)
    refusal = now.model.why_not(now.state, action)
    if refusal is not None:
        raise Refused(refusal_line(refusal))
    if group not in former_groups(now, number):
        raise Refused(f"{now.place} runs in {now.model.group_name(group)}: its rows are in use")
    marks = now.marks | {deleted(table, number, group)}
    left = [
        (name, former)
        for former in former_groups(now, number)
        for name in RAFT_TABLES
        if deleted(name, number, former) not in marks
    ]
    done = not left and now.has(action)
    return CommandReply(actions=(action,) if done else (), marks=(deleted(table, number, group),))


def configuration(now: DrillMoment, given: Given) -> CommandReply:
    """The lines of the file that matter here."""
    node: RecoveryNode = now.state.nodes[here(now)]
    everyone = machines(now.model, now.run)
    lines = ["cluster_name: 'drill'", "consistent_cluster_management: true"]
    if node.option != NOBODY:
        lines.append(f"recovery_leader: {everyone[node.option].host_id}")
    return CommandReply(tuple(lines))


def set_leader(now: DrillMoment, given: Given) -> CommandReply:
    """The option names a leader; whoever is named first is chosen by that."""
    m: Recovery = now.model
    leader = named(now, str(given["host_id"]))
    if not now.state.nodes[leader].takes_part:
        raise Refused(f"{m.names[leader]} is given up: a node that lives has to lead")
    chosen = () if leader == now.state.leader else (act.Choose(m.names[leader]),)
    node: RecoveryNode = now.state.nodes[here(now)]
    if node.option == leader and not chosen:
        return CommandReply()
    if not all(map(now.has, chosen)):
        group = m.group_name(now.state.recoverable)
        raise Refused(f"{m.names[now.state.leader]} leads {group}, which can go on")
    if not chosen and node.group_id > now.state.abandoned:
        raise Refused(f"{now.place} is in {m.group_name(node.group_id)}: it needs no leader to it")
    return CommandReply(actions=(*chosen, act.SetOption(now.place)))


def unset_leader(now: DrillMoment, given: Given) -> CommandReply:
    """The option goes, and the server reads its file again."""
    if now.state.nodes[here(now)].option == NOBODY:
        raise Refused(f"recovery_leader is not set in {FILE} of {now.place}")
    if now.model.edition == "documents":
        raise Refused("in these documents' procedure recovery_leader stays set")
    return CommandReply(actions=(act.UnsetOption(now.place),))


def on(now: DrillMoment, given: Given) -> CommandReply:
    """Another machine."""
    m: Recovery = now.model
    number = m.names.index(str(given["node"]))
    node: RecoveryNode = now.state.nodes[number]
    if node.status in ("dead", "removed"):
        raise Refused(f"ssh: connect to host {_machine(now, number).address}: no route to host")
    return CommandReply(place=m.names[number])


def _machine(now: DrillMoment, number: int) -> ServerHost:
    return machines(now.model, now.run)[number]


def _server_of(now: DrillMoment, given: Given) -> str:
    """The node that is named, or the one that one is on; only one that is counted on has a server
    to stop or start.
    """
    name = str(given.get("node", now.place))
    node: RecoveryNode = now.state.nodes[now.model.number(name)]
    if not node.takes_part:
        raise Refused(f"{name} is {node.status}: there is no server to stop or start")
    return name


def stop(now: DrillMoment, given: Given) -> CommandReply:
    """The server stops; its disk stays."""
    name = _server_of(now, given)
    if now.state.nodes[now.model.number(name)].status == "down":
        raise Refused(f"{name} is down already: there is nothing to stop")
    return CommandReply(actions=(act.Crash(name),))


def start(now: DrillMoment, given: Given) -> CommandReply:
    """The server starts."""
    name = _server_of(now, given)
    if now.state.nodes[now.model.number(name)].status == "up":
        raise Refused(f"{name} is up already: there is nothing to start")
    _whole_deletion(now, name)
    return CommandReply(actions=(act.Restart(name),))


def restart(now: DrillMoment, given: Given) -> CommandReply:
    """Stop and start: two steps, between which the node is down."""
    name = _server_of(now, given)
    _whole_deletion(now, name)
    up = now.state.nodes[now.model.number(name)].status == "up"
    stops = (act.Crash(name),) if up and now.state.crashes else ()
    return CommandReply(actions=(*stops, act.Restart(name)))


def _whole_deletion(now: DrillMoment, name: str) -> None:
    """A start between the two deletions is not modelled, and so it is not played."""
    number = now.model.number(name)
    group = now.state.nodes[number].group_id
    halves = [half for half in ("id", "discovery") if gone(now, half, number, group)]
    if group != NO_GROUP and halves == ["id"]:
        raise Refused(
            f"{name} has no raft_group0_id, but rows in system.discovery: truncate it first "
            "(what a start does otherwise is not modelled)"
        )


def grep(now: DrillMoment, given: Given) -> CommandReply:
    """The lines of this node's log that hold some words; all of them without words.

    Who sees a group's id in a log has looked: that is noted.
    """
    lines = searched(now, SERVER_LOG, given)
    noted = (
        seen_in_log(here(now), group)
        for group in range(len(now.state.groups))
        if any(group_uuid(group) in line for line in lines)
    )
    return CommandReply(lines, marks=tuple(noted))


def firewall(now: DrillMoment, given: Given) -> CommandReply:
    """All live nodes refuse these addresses; with every dead one it is the model's step."""
    everyone = zip(machines(now.model, now.run), now.state.nodes, strict=True)
    dead = [machine.address for machine, node in everyone if not node.takes_part]
    return dropped(now, given, dead, act.Isolate())


def happen(now: DrillMoment, given: Given) -> CommandReply:
    """What no operator does: a node crashes, dies, comes back; a client changes the schema."""
    return happened(now, given, EVENTS)


def _host_ids(now: DrillMoment) -> Iterable[str]:
    there = zip(machines(now.model, now.run), now.state.nodes, strict=True)
    return [machine.host_id for machine, node in there if node.status != "removed"]


def _dead_addresses(now: DrillMoment) -> Iterable[str]:
    there = zip(machines(now.model, now.run), now.state.nodes, strict=True)
    return [m.address for m, n in there if not n.takes_part and n.status != "removed"]


SLOTS: dict[str, Slot] = {
    "host_id": Slot("a host id", _host_ids),
    "host_ids": Slot("host ids with commas between", _host_ids, many=True),
    "node": Slot("a node", lambda now: now.model.names),
    "addresses": Slot("addresses of dead nodes", _dead_addresses, many=True),
    **read_slots(TABLES),
    "raft_table": Slot("a table", lambda now: [f"system.{name}" for name in RAFT_TABLES]),
    "group_id": Slot(
        "the id of a group", lambda now: [group_uuid(g) for g in range(len(now.state.groups))]
    ),
    "pattern": Slot("words to look for"),
    "event": Slot("what happens", lambda now: EVENTS),
}
_REMOVE = "nodetool removenode {host_id}"
_REPLACE = "new-node --replace-node-first-boot {host_id}"


def _server(
    word: str, about: str, answer: Callable[[DrillMoment, Given], CommandReply]
) -> list[Form]:
    return [
        Form(f"{word} {{node}}", f"{about} of a node", answer, own=True),
        Form(f"systemctl {word} scylla-server", f"{about} here", answer, offered=False),
    ]


FORMS: tuple[Form, ...] = (
    Form("on {node}", "go to a machine", on, own=True),
    Form("ssh {node}", "the same", on, offered=False),
    Form("nodetool status", "who is up, as this node sees it", status),
    Form("nodetool describecluster", "the schema versions of the cluster", describe),
    Form("firewall drop {addresses}", "all live nodes refuse these addresses", firewall, own=True),
    Form("SELECT commit_idx, group_id FROM system.raft", "the commit index of this node",
         lambda now, given: select(now, {"columns": ("group_id", "commit_idx"),
                                         "table": "system.raft"})),
    *read_forms(select),
    Form(f"{SELECT} WHERE {{column}} = {{group_id}}", "rows of a group",
         lambda now, given: select(now, {**given, "value": given["group_id"]}), offered=False),
    Form(f"SELECT value FROM system.scylla_local WHERE key = '{GROUP_ID}'", "the id of group 0",
         lambda now, given: select(now, {"columns": ("value",), "table": "system.scylla_local",
                                         "column": "key", "value": GROUP_ID})),
    Form("TRUNCATE TABLE system.discovery", "delete the state of discovery", truncate_discovery),
    Form("TRUNCATE system.discovery", "the same", truncate_discovery, offered=False),
    Form(f"DELETE value FROM system.scylla_local WHERE key = '{GROUP_ID}'",
         "delete the persisted id of group 0", delete_group_id),
    Form(f"grep {{pattern}} {LOG}", "lines of this node's log that hold these words", grep),
    Form(f"cat {LOG}", "the whole log of this node", grep),
    Form(f"cat {FILE}", "the configuration of this node", configuration),
    Form(f"edit {FILE} recovery_leader: {{host_id}}", "set the option", set_leader, own=True),
    Form(f"edit {FILE} recovery_leader:", "take the option away, and reload", unset_leader,
         own=True),
    *_server("restart", "restart the server", restart),
    *_server("stop", "stop the server", stop),
    *_server("start", "start the server", start),
    Form(_REMOVE, "remove a dead node", remove),
    Form(f"{_REMOVE} --ignore-dead-nodes {{host_ids}}", "while others are dead", remove),
    Form(_REPLACE, "a new node in the place of a dead one", replace, own=True),
    Form(f"{_REPLACE} --ignore-dead-nodes-for-replace {{host_ids}}", "while others are dead",
         replace, own=True),
    Form("DELETE FROM {raft_table} WHERE group_id = {group_id}", "delete Raft's rows of a group",
         delete_rows),
    *TROUBLESHOOTING,
    Form("happen {event} {node}", "what no operator does", happen, own=True),
)  # fmt: skip
