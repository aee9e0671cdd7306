"""The drill of a recovery: what an operator types, which step of the model it is, the grade."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from msgspec.structs import replace

from kit.engine.drill import (
    CheckedStep,
    CommandReply,
    Drill,
    DrillKind,
    DrillMoment,
    Grade,
    GradeRow,
    happened,
    judged,
    refusal_line,
)
from kit.engine.forms import Form, Given, Slot
from kit.engine.model import Model
from kit.engine.server_log import searched
from kit.engine.timeline import Moment, Timeline
from kit.errors import Refused, are
from kit.operators import printing
from kit.operators.printing import Row
from kit.protocols.group0.rules.voters import majority, nodes_in
from kit.protocols.recovery import facts
from kit.protocols.recovery import recovery as act
from kit.protocols.recovery.drill.judging import (
    data_unavailable,
    died_with,
    ever_dead,
    kept,
    missing_entries,
    one_group,
)
from kit.protocols.recovery.drill.reading import (
    SELECT,
    NodeTable,
    read_forms,
    read_slots,
    read_table,
)
from kit.protocols.recovery.drill.walling import dropped
from kit.protocols.recovery.lost_majority import NO_GROUP, NOBODY, OLD
from kit.protocols.recovery.recovering_cluster import RecoveryNode, RecoveryState
from kit.protocols.recovery.recovery import LOG as SERVER_LOG
from kit.protocols.recovery.recovery import MOST_CRASHES, Coordinate, Crash, Recovery, Replace
from kit.protocols.recovery.rules.procedure import NEW_STEPS
from kit.protocols.recovery.rules.servers import ServerHost, group_uuid, schema_version


def machines(m: Recovery, run: Iterable[Moment]) -> tuple[ServerHost, ...]:
    """Every machine, in the order of nodes; a new one where a dead node was replaced in the run."""
    fresh = {step.action.node for step in run if isinstance(step.action, Replace)}
    return tuple(m.host(number, name in fresh) for number, name in enumerate(m.names))


def here(now: DrillMoment) -> int:
    """The number of the machine that one is on."""
    m: Recovery = now.model
    return m.number(now.place)


def running(now: DrillMoment, tool: str, in_maintenance: bool = False) -> int:
    """The machine that one is on, whose server answers, in maintenance mode or not.

    Raises:
        Refused: as the tool says where the server is down.
    """
    number = here(now)
    node: RecoveryNode = now.state.nodes[number]
    answers = in_maintenance and is_maintained(now, number)
    if node.status not in ("up", "returned") and not answers:
        raise Refused(f"{tool} on {now.place}: connection refused, the server is down")
    return number


def named(now: DrillMoment, host_id: str) -> int:
    """The number of the node with a host id."""
    ids = [machine.host_id for machine in machines(now.model, now.run)]
    return ids.index(host_id)


def maintenance(now: DrillMoment, number: int, stops: int = 0) -> str:
    """The mark of a node that is in maintenance since it was stopped so often, and ``stops``."""
    name = now.model.names[number]
    actions = (step.action for step in now.run)
    before = sum(isinstance(each, Crash) and each.node == name for each in actions)
    return f"maintenance {number} {before + stops}"


def is_maintained(now: DrillMoment, number: int) -> bool:
    """Whether a node is down for all others, and was started in maintenance mode."""
    node: RecoveryNode = now.state.nodes[number]
    return node.status == "down" and maintenance(now, number) in now.marks


UPGRADED = "use_post_raft_procedures"
GROUP_ID = "raft_group0_id"
BUSY = "write_both_read_old"
"""The transition state that is shown while an operation is under way: the model has no kinds."""
TOKENS_APART = 100


def gone(now: DrillMoment, what: str, number: int, group: int) -> bool:
    """Whether a command on a node has deleted what belonged to a group."""
    return deleted(what, number, group) in now.marks


def deleted(what: str, number: int, group: int) -> str:
    """The mark of a command that deleted something of a group on a node."""
    return f"deleted {what} {number} {group}"


def noted_id(group_id: str) -> str:
    """The mark of a group's id that was read where a node has it persisted."""
    return f"noted {group_id}"


def seen_in_log(number: int, group: int) -> str:
    """The mark of a group's id that was read in a node's log."""
    return f"seen {number} {group}"


def stored_group(now: DrillMoment, number: int) -> int:
    """The group whose id and discovery a node has, or had until its restart."""
    node: RecoveryNode = now.state.nodes[number]
    return node.group_id if node.group_id != NO_GROUP else node.group


def former_groups(now: DrillMoment, number: int) -> list[int]:
    """The groups that a node had the id of in the run, and has no more."""
    present = now.state.nodes[number].group_id
    had = {step.state.nodes[number].group_id for step in now.run}
    return sorted(had - {present, NO_GROUP})


def commit_index(now: DrillMoment, number: int, group: int) -> int:
    """The last commit index that a node had in a group; 0 if it had none."""
    nodes = (step.state.nodes[number] for step in now.run)
    return next((n.index for n in reversed(list(nodes)) if group in (n.group, n.group_id)), 0)


def raft_groups(now: DrillMoment, number: int, table: str) -> list[int]:
    """The groups of which a node has rows in a table of Raft, in their order."""
    node: RecoveryNode = now.state.nodes[number]
    former = former_groups(now, number) if node.old_rows else []
    kept = {group for group in former if not gone(now, table, number, group)}
    return sorted(kept | {node.group_id} - {NO_GROUP})


def _local(now: DrillMoment, number: int) -> Iterator[Row]:
    node: RecoveryNode = now.state.nodes[number]
    yield {"key": "group0_upgrade_state", "value": UPGRADED}
    there = node.group_id != NO_GROUP
    yield {"key": GROUP_ID, "value": group_uuid(node.group_id) if there else None}


def _discovery(now: DrillMoment, number: int) -> Iterator[Row]:
    group = stored_group(now, number)
    if group == NO_GROUP or gone(now, "discovery", number, group):
        return
    for machine in _members(now, group):
        yield {"key": "peers", "ip_addr": machine.address, "raft_server_id": machine.host_id}


def _members(now: DrillMoment, group: int) -> Iterator[ServerHost]:
    everyone = machines(now.model, now.run)
    yield from (everyone[i] for i in nodes_in(now.state.groups[group]))


def _history(now: DrillMoment, number: int) -> Iterator[Row]:
    for column in reversed(list(nodes_in(now.state.nodes[number].columns))):
        text = f"{column + 1:08x}-fe88-11f0-8002-000000000001"
        said = f"add column {column + 1}"
        yield {"key": "history", "state_id": text, "description": said}


def _raft(now: DrillMoment, number: int) -> Iterator[Row]:
    for group in raft_groups(now, number, "raft"):
        index = commit_index(now, number, group)
        yield {"group_id": group_uuid(group), "commit_idx": index}


def _snapshots(now: DrillMoment, number: int) -> Iterator[Row]:
    for group in raft_groups(now, number, "raft_snapshots"):
        index = commit_index(now, number, group)
        yield {"group_id": group_uuid(group), "idx": index}


def _configuration(now: DrillMoment, number: int) -> Iterator[Row]:
    for group in raft_groups(now, number, "raft_snapshot_config"):
        for machine in _members(now, group):
            yield {
                "group_id": group_uuid(group),
                "disposition": "CURRENT",
                "server_id": machine.host_id,
                "can_vote": _votes(now, group, machine),
            }


def _votes(now: DrillMoment, group: int, machine: ServerHost) -> bool:
    return bool(now.state.voters_of(group) >> now.model.number(machine.name) & 1)


def _raft_state(now: DrillMoment, number: int) -> Iterator[Row]:
    group = now.state.nodes[number].group
    if group == NO_GROUP:
        return
    for machine in _members(now, group):
        yield {
            "group_id": group_uuid(group),
            "disposition": "CURRENT",
            "server_id": machine.host_id,
            "can_vote": _votes(now, group, machine),
        }


def _topology(now: DrillMoment, number: int) -> Iterator[Row]:
    state = now.state
    for at, machine in enumerate(machines(now.model, now.run)):
        removed = state.nodes[at].status == "removed"
        yield {
            "key": "topology",
            "host_id": machine.host_id,
            "datacenter": machine.dc,
            "rack": machine.rack,
            "node_state": "left" if removed else "normal",
            "tokens": None if removed else [str(TOKENS_APART * (at + 1))],
            "transition_state": BUSY if state.operation == "under way" else None,
            "version": 1,
            "fence_version": 1,
        }


TABLES: Mapping[str, NodeTable] = {
    f"system.{table.name}": table
    for table in (
        NodeTable("scylla_local", ("key", "value"), _local),
        NodeTable("discovery", ("key", "ip_addr", "raft_server_id"), _discovery),
        NodeTable("group0_history", ("key", "state_id", "description"), _history),
        NodeTable("raft", ("group_id", "commit_idx"), _raft),
        NodeTable("raft_snapshots", ("group_id", "idx"), _snapshots),
        NodeTable(
            "raft_snapshot_config",
            ("group_id", "disposition", "server_id", "can_vote"),
            _configuration,
        ),
        NodeTable("raft_state", ("group_id", "disposition", "server_id", "can_vote"), _raft_state),
        NodeTable(
            "topology",
            (
                *("key", "host_id", "datacenter", "rack", "node_state", "tokens"),
                *("transition_state", "version", "fence_version"),
            ),
            _topology,
        ),
    )
}


def _committing(now: DrillMoment, tool: str) -> int:
    """The group of the node that one is on, which has a majority.

    Raises:
        Refused: where the server is down, or waits for a majority in vain.
    """
    number = running(now, tool)
    node: RecoveryNode = now.state.nodes[number]
    walled_off = now.state.is_walled_off(node)
    if now.state.may_commit(node.group, walled_off):
        return node.group
    voters = now.state.voters_of(node.group)
    up = (now.state.running(node.group, walled_off) & voters).bit_count()
    many, needed = voters.bit_count(), majority(voters.bit_count())
    who = "members" if voters == now.state.groups[node.group] else "voters"
    raise Refused(f"{tool}: timed out; {up} of {many} {who} answer, {needed} {are(needed)} needed")


def leader_host(now: DrillMoment, given: Given) -> CommandReply:
    """The host id of a member that leads: the recovery leader where it is one."""
    group = _committing(now, "raft/leader_host")
    members = list(nodes_in(now.state.running(group)))
    chosen = now.state.leader
    leads = chosen if chosen != NOBODY and chosen in members else members[0]
    return CommandReply((machines(now.model, now.run)[leads].host_id,))


def read_barrier(now: DrillMoment, given: Given) -> CommandReply:
    """A barrier passes where a majority answers."""
    group = _committing(now, "raft/read_barrier")
    return CommandReply((f"group 0 {group_uuid(group)}: the barrier has passed",))


def maintain(now: DrillMoment, given: Given) -> CommandReply:
    """A start that no other node sees; a server that is up stops first."""
    name = str(given["node"])
    number = now.model.number(name)
    node: RecoveryNode = now.state.nodes[number]
    if not node.takes_part:
        raise Refused(f"{name} is {node.status}: there is nothing to start")
    stops = (Crash(name),) if node.status == "up" else ()
    mark = maintenance(now, number, len(stops))
    return CommandReply(
        (f"{name} is in maintenance mode: its tables can be read there, nobody reaches it",),
        actions=stops,
        marks=(mark,),
    )


TROUBLESHOOTING: tuple[Form, ...] = (
    Form("GET /raft/leader_host", "who leads group 0 (published server's route)", leader_host),
    Form("POST /raft/read_barrier", "whether a majority answers (published server's)",
         read_barrier),
    Form("start {node} --maintenance-mode", "start cut off from all others", maintain, own=True),
)  # fmt: skip


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


def replace_node(now: DrillMoment, given: Given) -> CommandReply:
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
    Form(_REPLACE, "a new node in the place of a dead one", replace_node, own=True),
    Form(f"{_REPLACE} --ignore-dead-nodes-for-replace {{host_ids}}", "while others are dead",
         replace_node, own=True),
    Form("DELETE FROM {raft_table} WHERE group_id = {group_id}", "delete Raft's rows of a group",
         delete_rows),
    *TROUBLESHOOTING,
    Form("happen {event} {node}", "what no operator does", happen, own=True),
)  # fmt: skip


ENDS_ALL = "every node that lives runs in one new group, and nothing of the old one is left"


def grade(now: DrillMoment) -> Grade:
    """The run, graded; the same run has the same grade, but for what was only looked at."""
    well = kept(_died(now) & ~_known(now.state), "entry and datum")
    return Grade(
        (
            judged("cluster whole", list(_unfinished(now)), ENDS_ALL),
            one_group(now),
            judged("nothing lost", list(_lost(now)), well),
            GradeRow("steps", None, _steps(now)),
            data_unavailable(now, facts.ranges),
            *_looked_at(now),
        )
    )


def _unfinished(now: DrillMoment) -> Iterator[str]:
    """What the recovery still lacks; nothing where the model says that it is done."""
    m: Recovery = now.model
    s: RecoveryState = now.state
    if m.is_recovered(s):
        return
    new = s.new_group
    if new == NO_GROUP:
        yield "no recovery leader runs in a new group"
    others = m.named(s.where(lambda n: n.takes_part and n.group != new))
    if others:
        yield f"not in the new group: {', '.join(others)}"
    if s.operation == "under way":
        yield "the topology operation is still under way"
    dead = m.named(s.dead)
    if dead:
        yield f"dead, and neither removed nor replaced: {', '.join(dead)}"
    with_option = m.named(s.where(lambda n: n.takes_part and n.option != NOBODY))
    if m.edition == "server" and with_option:
        yield f"recovery_leader is still set: {', '.join(with_option)}"
    rows = m.named(s.where(lambda n: n.takes_part and n.old_rows))
    if rows:
        yield f"Raft rows of the old group are left: {', '.join(rows)}"


def _lost(now: DrillMoment) -> Iterator[str]:
    """Entries that a live node had at the start, and data that point at nothing."""
    m: Recovery = now.model
    start, s = now.run[0].state, now.state
    had = _known(start)
    for heard in s.acknowledged[OLD + 1 :]:
        had |= heard
    yield from missing_entries(had & ~_died(now), _known(s))
    for row in facts.effects(m, s):
        if not row.is_known and row.group:
            yield f"{row.node} has data in column {row.column}, which its group does not know"


def _died(now: DrillMoment) -> int:
    return died_with(now, act.Die, _known)


def _known(s: RecoveryState) -> int:
    """The entries that nodes which are counted on know (a mask)."""
    known = 0
    for node in s.nodes:
        known |= node.columns if node.takes_part else 0
    return known


def _looked_at(now: DrillMoment) -> Iterator[GradeRow]:
    """The steps that only look. Whoever leaves them out breaks nothing, and does not know it."""
    looking = [step.name for step in NEW_STEPS[now.model.edition] if step.name in LOOKING]
    left_out = [name for name in looking if not _done(now, name)]
    looked = "the old group's id, and the new one in each log"
    if looking:
        said = f"left out: {', '.join(left_out)}" if left_out else looked
        yield GradeRow("looked at", None, said)


def _steps(now: DrillMoment) -> str:
    used = sum(1 for step in now.run if isinstance(step.action, OPERATORS))
    return f"{used}; the procedure takes {procedure_length(now.model)}"


OPERATORS = (*Recovery(edition="server").procedure, act.Replace, act.Crash)
"""Steps of an operator; who stops a node is told apart from a crash by nothing in the model."""


def procedure_length(m: Recovery) -> int:
    """How many steps the procedure has in its order, with a stop before each restart."""
    timeline = Timeline(Recovery(replace(m.parameters, choose_again=False)))
    stops = 0
    while (action := timeline.suggest()) is not None:
        up = isinstance(action, act.Restart)
        stops += up and timeline.state.nodes[m.number(action.node)].status == "up"
        timeline.do(action)
    return len(timeline.path()) - 1 + stops


def checklist(now: DrillMoment) -> tuple[CheckedStep, ...]:
    """The steps of the edition; those that leave nothing behind by the marks of who looked."""
    m: Recovery = now.model
    leader = m.names[now.state.leader] if now.state.leader != NOBODY else "the recovery leader"
    words = {"dead": ever_dead(now), "leader": leader, "order": "in any order"}
    return tuple(
        CheckedStep(step.name, step.what.format(**words), _done(now, step.name))
        for step in NEW_STEPS[m.edition]
    )


def _done(now: DrillMoment, name: str) -> bool:
    return DONE[name](now.model, now.state, now)


def _each(holds: Callable[[RecoveryNode, RecoveryState], bool]) -> Callable[..., bool]:
    """Whether something holds of all nodes that are counted on, once the recovery goes on."""
    return lambda m, s, now: all(holds(n, s) for n in s.nodes if n.takes_part)


def _ever(holds: Callable[[Recovery, RecoveryState], bool]) -> Callable[..., bool]:
    """Whether something held in some state of the run."""
    return lambda m, s, now: any(holds(m, step.state) for step in now.run)


DONE: dict[str, Callable[[Any, RecoveryState, DrillMoment], bool]] = {
    "isolate": lambda m, s, now: s.isolated,
    "rolling restart": lambda m, s, now: _restarted_first(now),
    "note id": lambda m, s, now: noted_id(group_uuid(s.abandoned)) in now.marks,
    "read": lambda m, s, now: s.indexes_read,
    "delete": _each(lambda n, s: not OLD <= n.group_id <= s.abandoned),
    "choose": lambda m, s, now: s.leader != NOBODY,
    "set": _each(lambda n, s: n.option == s.leader != NOBODY or n.group > s.abandoned),
    "restart leader": _ever(lambda m, s: s.new_group != NO_GROUP),
    "restart others": _ever(lambda m, s: s.is_together),
    "check": lambda m, s, now: _checked(now),
    "replace": lambda m, s, now: not s.dead,
    "unset": lambda m, s, now: (
        _ever(lambda m, s: s.is_together)(m, s, now) and all(n.option == NOBODY for n in s.nodes)
    ),
    "clean": _each(lambda n, s: not n.old_rows),
}


LOOKING = ("note id", "check")
"""Steps that leave no trace in the cluster."""


def _checked(now: DrillMoment) -> bool:
    """Whether the new group's id was seen in the log of each node that was restarted into it.

    A new node in the place of a dead one was not.
    """
    s: RecoveryState = now.state
    new = s.new_group
    fresh = {step.action.node for step in now.run if isinstance(step.action, act.Replace)}
    restarted = now.model.named(s.where(lambda node: node.takes_part))
    wanted = {seen_in_log(now.model.number(name), new) for name in restarted if name not in fresh}
    return new != NO_GROUP and wanted <= now.marks


def _restarted_first(now: DrillMoment) -> bool:
    """Whether each live node was started in the run while all of them had the old group's id."""
    started: set[str] = set()
    for step in now.run:
        if isinstance(step.action, act.Restart):
            started.add(step.action.node)
        if isinstance(step.action, act.DeleteId):
            break
    m, s = now.model, now.run[0].state
    return {*m.named(s.where(lambda n: n.takes_part))} <= started


MISTAKES = ("isolation", "latest-index", "leader-first")
"""Rules that an operator may break in a drill; what a server refuses stays refused."""
TIMES = 2
"""How often each thing may happen that no operator does."""


def opened(model: Recovery) -> Recovery:
    """The same group, in which an operator may make mistakes and nodes may come back."""
    live = len(model.names) - len(model.given_up)
    parameters = replace(
        model.parameters,
        choose_again=True,
        crashes=MOST_CRASHES,
        deaths=max(model.deaths, live - 1),
        returns=max(model.returns, len(model.given_up)),
        changes=max(model.changes, TIMES),
        writes=max(model.writes, live),
    )
    return Recovery(parameters, tuple(sorted({*model.off, *MISTAKES})))


def begun(model: Recovery) -> list[str]:
    """Each live node has stored data in the newest column that it knows."""
    start = model.start()
    live = model.named(start.where(lambda node: node.takes_part))
    newest = (start.nodes[model.number(name)].index for name in live)
    return [f"write {name} column {column}" for name, column in zip(live, newest, strict=True)]


def own_step(model: Recovery, state: RecoveryState) -> Any:
    """The coordinator of the new group ends the operation that was under way."""
    coordinate = Coordinate()
    return None if model.refusal(state, coordinate) else coordinate


DRILL = DrillKind(
    title="Recover a group 0 that lost its majority",
    task="The dead will not come back by themselves. Bring the cluster together in one new group "
    "0, without them, and lose nothing that need not be lost. help lists the commands.",
    forms=FORMS,
    slots=SLOTS,
    opened=opened,
    starts_at=lambda model: model.named(model.start().where(lambda node: node.takes_part))[0],
    begun=begun,
    own_step=own_step,
    checklist=checklist,
    grade=grade,
)


COMMIT_INDEX = "SELECT commit_idx, group_id FROM system.raft"
THE_ID = f"SELECT value FROM system.scylla_local WHERE key = '{GROUP_ID}'"
IN_THE_LOG = f"grep 'group id' {LOG}"
"""What the manual has looked at, of which the model has no step."""


def typed_out(now: DrillMoment, action: Any) -> Iterator[str]:
    """The lines for one step; none for a step that another one's lines or the cluster do."""
    m: Recovery = now.model
    hosts = machines(m, now.run)
    match action:
        case act.Isolate():
            addresses = (hosts[i].address for i in nodes_in(now.state.dead))
            yield f"firewall drop {', '.join(addresses)}"
        case act.Read():
            yield from (THE_ID,) if m.edition == "server" else ()
            yield from _on_each(now, COMMIT_INDEX)
        case act.DeleteId(name):
            yield from (f"on {name}", "TRUNCATE TABLE system.discovery")
            yield f"DELETE value FROM system.scylla_local WHERE key = '{GROUP_ID}'"
        case act.SetOption(name):
            leader = hosts[now.state.leader].host_id
            yield from (f"on {name}", f"edit {FILE} recovery_leader: {leader}")
        case act.Restart(name):
            yield f"restart {name}"
        case act.Remove(name):
            yield _removal(now, name)
        case act.UnsetOption(name):
            yield from (f"on {name}", f"edit {FILE} recovery_leader:")
        case act.CleanRows(name):
            yield f"on {name}"
            for group in former_groups(now, m.number(name)):
                for table in RAFT_TABLES:
                    yield f"DELETE FROM system.{table} WHERE group_id = {group_uuid(group)}"


def _on_each(now: DrillMoment, line: str) -> Iterator[str]:
    for name in now.model.named(now.state.where(lambda node: node.takes_part)):
        yield from (f"on {name}", line)


def _removal(now: DrillMoment, name: str) -> str:
    hosts = machines(now.model, now.run)
    number = now.model.number(name)
    others = [hosts[i].host_id for i in nodes_in(now.state.dead) if i != number]
    ignoring = f" --ignore-dead-nodes {','.join(others)}" if others else ""
    return f"nodetool removenode {hosts[number].host_id}{ignoring}"


def procedure_lines(kind: DrillKind, model: Model[Any, Any]) -> tuple[str, ...]:
    """The lines of the whole procedure in its own order, on a drill of this model.

    The leader is chosen as the procedure says, and what is typed for the choice are the options.
    """
    drill = Drill(kind, model)
    parameters: Any = drill.timeline.model.parameters
    guarded = Recovery(parameters)
    lines: list[str] = []
    while (action := guarded.suggest(drill.timeline.state)) is not None:
        if isinstance(action, act.Choose):
            drill.timeline.do(action)
        apart = not drill.timeline.state.is_together
        typed = list(_entered(drill, typed_out(drill.now, action)))
        if apart and drill.timeline.state.is_together and parameters.edition == "server":
            typed += _entered(drill, _on_each(drill.now, IN_THE_LOG))
        lines += typed
    return tuple(lines)


def _entered(drill: Drill, lines: Iterable[str]) -> Iterator[str]:
    for line in lines:
        drill.enter(line)
        yield line
