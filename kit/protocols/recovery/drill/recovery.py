"""The drill of a recovery: what an operator types, which step of the model it is, the grade.

A state has no room for what the model does not tell apart. Those cells of tables come from the run
(the commit index that a node had in its former group) or from what was typed (rows that were
deleted one table after the other, before the model's one step). A node in maintenance mode is down
for all others: the mark of the drill says that its tables can be read on the machine.

The documents tell that there is a table of a group's state and calls for Raft's operations, and
give no words. Table and routes are those of the published server, ``system.raft_state`` and
``/raft/...``; the start in maintenance mode is our own.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import pairwise, takewhile
from typing import Any, TypeAlias

from msgspec.structs import replace

from kit.console import drill
from kit.console.drill import CommandReply, DrillMoment, GradeRow, judged
from kit.console.forms import Form, Given, Slot
from kit.console.server import CONFIGURATION, COUNTED, NodeTable, Row
from kit.errors import Refused, are
from kit.masks import is_majority, majority, nodes_in, union
from kit.model.flows import ServerHost, as_uuid, token_of
from kit.model.timeline import Moment, Timeline
from kit.protocols.recovery import facts
from kit.protocols.recovery import recovery as act
from kit.protocols.recovery.drill import lost_majority
from kit.protocols.recovery.lost_majority import NO_GROUP, NOBODY, OLD, group_uuid
from kit.protocols.recovery.recovering_cluster import LEAVES, RecoveryNode, RecoveryState
from kit.protocols.recovery.recovery import LOG, MOST_CRASHES, Recovery
from kit.protocols.recovery.rules.procedure import KEPT_STEPS, NEW_STEPS
from kit.protocols.topology.rules.machines import TRANSITION_STATE
from kit.protocols.topology.rules.remedies import ProcedureStep

UPGRADED = "use_post_raft_procedures"
GROUP_ID = "raft_group0_id"
RAFT_TABLES = ("raft", "raft_snapshots", "raft_snapshot_config")
MISTAKES = ("isolation", "latest-index", "leader-first")
"""Rules that an operator may break in a drill; what a server refuses stays refused."""


# -- what was deleted, and what a node had before --------------------------------------------------


Machines: TypeAlias = list[tuple[int, ServerHost]]
"""The machines that a node had, the newest last; each with the first group that it could be in."""


def all_machines(m: Recovery, run: Iterable[Moment]) -> tuple[Machines, ...]:
    """Every machine of each node; another one for each time that it was replaced in the run."""
    every: tuple[Machines, ...] = tuple([(OLD, m.host(at))] for at in range(len(m.names)))
    for step in run:
        if isinstance(step.action, act.Replace):
            number = m.number(step.action.node)
            fresh = m.host(number, len(every[number]))
            every[number].append((step.state.nodes[number].group, fresh))
    return every


def mark(*words: object) -> str:
    """The mark of what was typed or seen.

    *deleted*: what belonged to a group on a node; *noted*: a group's id, where a node has it
    persisted; *seen*: a group's id in a node's log; *read*: a node's commit index.
    """
    return " ".join(map(str, words))


def stored_group(now: DrillMoment, number: int) -> int:
    """The group whose id and discovery a node has, or had until its restart."""
    node: RecoveryNode = now.state.nodes[number]
    return node.group_id if node.group_id != NO_GROUP else node.group


def last_given_up(s: RecoveryState) -> int:
    """The newest group that is given up; the old one is, once a recovery begins."""
    return max(OLD, s.abandoned)


def former_groups(now: DrillMoment, number: int) -> list[int]:
    """The groups that a node had the id of in the run, and has no more."""
    present = now.state.nodes[number].group_id
    had = {step.state.nodes[number].group_id for step in now.run}
    return sorted(had - {present, NO_GROUP})


def commit_index(now: DrillMoment, number: int, group: int) -> int:
    """The last commit index that a node had in a group; 0 if it had none."""
    nodes = (step.state.nodes[number] for step in reversed(now.run))
    return next((n.index for n in nodes if group in (n.group, n.group_id)), 0)


def raft_groups(now: DrillMoment, number: int, table: str) -> list[int]:
    """The groups of which a node has rows in a table of Raft, in their order."""
    node: RecoveryNode = now.state.nodes[number]
    former = former_groups(now, number) if node.old_rows else []
    kept = {group for group in former if mark("deleted", table, number, group) not in now.marks}
    return sorted(kept | {node.group_id} - {NO_GROUP})


def maintenance(now: DrillMoment, number: int, stops: int = 0) -> str:
    """The mark of a node that is in maintenance since it was stopped so often, and ``stops``."""
    name = now.model.names[number]
    actions = (step.action for step in now.run)
    before = sum(isinstance(each, act.Crash) and each.node == name for each in actions)
    return f"maintenance {number} {before + stops}"


# -- system tables ---------------------------------------------------------------------------------


def _local(now: DrillMoment, number: int) -> Iterator[Row]:
    group = now.state.nodes[number].group_id
    yield {"key": "group0_upgrade_state", "value": UPGRADED}
    yield {"key": GROUP_ID, "value": group_uuid(group) if group != NO_GROUP else None}


def _discovery(now: DrillMoment, number: int) -> Iterator[Row]:
    group = stored_group(now, number)
    if group != NO_GROUP and mark("deleted", "discovery", number, group) not in now.marks:
        for _, host in _members(now, group):
            yield {"key": "peers", "ip_addr": host.address, "raft_server_id": host.host_id}


def _members(now: DrillMoment, group: int) -> Iterator[tuple[int, ServerHost]]:
    every = all_machines(now.model, now.run)
    for at in nodes_in(now.state.groups[group]):
        yield at, [host for first, host in every[at] if first <= group][-1]


def _history(now: DrillMoment, number: int) -> Iterator[Row]:
    for column in reversed(list(nodes_in(now.state.nodes[number].columns))):
        text = f"{column + 1:08x}-fe88-11f0-8002-000000000001"
        yield {"key": "history", "state_id": text, "description": f"add column {column + 1}"}


def _indexes(table: str, column: str) -> NodeTable:
    def rows(now: DrillMoment, number: int) -> Iterator[Row]:
        for group in raft_groups(now, number, table):
            yield {"group_id": group_uuid(group), column: commit_index(now, number, group)}

    return NodeTable(table, f"group_id timeuuid; {column} bigint", rows)


def _members_of(table: str, groups: Callable[[DrillMoment, int], Iterable[int]]) -> NodeTable:
    def rows(now: DrillMoment, number: int) -> Iterator[Row]:
        for group in groups(now, number):
            for at, host in _members(now, group):
                yield {
                    "group_id": group_uuid(group),
                    "disposition": "CURRENT",
                    "server_id": host.host_id,
                    "can_vote": bool(now.state.voters_of(group) >> at & 1),
                }

    columns = "group_id timeuuid, disposition text, server_id uuid; can_vote boolean"
    return NodeTable(table, columns, rows)


def is_leaving(now: DrillMoment, at: int) -> bool:
    """Whether a node is the one of the operation that is under way."""
    return bool(now.state.is_under_way and now.model.names[at] == now.model.given_up[0])


def _topology(now: DrillMoment, number: int) -> Iterator[Row]:
    busy = now.state.is_under_way
    every = all_machines(now.model, now.run)
    hosts = [(host, at, host is each[-1][1]) for at, each in enumerate(every) for _, host in each]
    for machine, at, is_last in sorted(hosts, key=lambda row: row[0].host_id):
        left = not is_last or now.state.nodes[at].status == "removed"
        yield {
            "key": "topology",
            "host_id": machine.host_id,
            "datacenter": machine.dc,
            "rack": machine.rack,
            "node_state": "left" if left else LEAVES if is_leaving(now, at) else "normal",
            "tokens": None if left else [token_of(at)],
            "transition_state": (
                TRANSITION_STATE[now.state.operation].spelled(now.model.edition) if busy else None
            ),
            "version": 1,
            "fence_version": 1,
        }


TABLES = (
    NodeTable("scylla_local", "key text; value text", _local),
    NodeTable("discovery", "key text, ip_addr text; raft_server_id uuid", _discovery),
    NodeTable(
        "group0_history", "key text, state_id timeuuid; description text", _history, descending=True
    ),
    _indexes("raft", "commit_idx"),
    _indexes("raft_snapshots", "idx"),
    _members_of("raft_snapshot_config", partial(raft_groups, table="raft_snapshot_config")),
    _members_of("raft_state", lambda now, at: {now.state.nodes[at].group} - {NO_GROUP}),
    NodeTable(
        "topology",
        "key text, host_id uuid; datacenter text, rack text, node_state text, tokens set<text>, "
        "transition_state text static, version bigint static, fence_version bigint static",
        _topology,
    ),
)


# -- what may be typed -----------------------------------------------------------------------------


class RecoveryServers(lost_majority.LostServers):
    """The servers of a cluster that recovers by ``recovery_leader``."""

    log, tables = LOG, TABLES
    stops, starts, isolates = act.Crash, act.Restart, act.Isolate

    def hosts(self, now: DrillMoment) -> tuple[ServerHost, ...]:
        """The newest machine of each node, where dead ones were replaced in the run."""
        return tuple(each[-1][1] for each in all_machines(now.model, now.run))

    def letter(self, now: DrillMoment, at: int) -> str:
        """Leaving, as long as the operation that it died in goes on."""
        return "L" if is_leaving(now, at) else "N"

    def tokens(self, now: DrillMoment, at: int) -> str:
        """One, as ``system.topology`` has it."""
        return "1"

    def is_up(self, now: DrillMoment, at: int) -> bool:
        """Also of a node that was given up."""
        return now.state.nodes[at].status in ("up", "returned")

    def reached(self, now: DrillMoment, at: int) -> set[int]:
        """The nodes whose gossip a node takes, itself among them."""
        return {at}.union(*(p for p in now.state.talking(now.model.edition) if at in p))

    def version(self, now: DrillMoment, at: int) -> str:
        """It is made of the columns."""
        return as_uuid(now.state.nodes[at].columns)

    def restart(self, now: DrillMoment, given: Given) -> CommandReply:
        """A start between the two deletions is not modelled, and so it is not played."""
        name = self.server(now, given)
        number = now.model.number(name)
        group = now.state.nodes[number].group_id
        halves = ("id", "discovery")
        gone = [each for each in halves if mark("deleted", each, number, group) in now.marks]
        if group != NO_GROUP and gone == ["id"]:
            raise Refused(
                f"{name} has no raft_group0_id but still has rows in system.discovery: truncate "
                "that table first (the model does not include a start without this)"
            )
        return super().restart(now, given)

    def select(self, now: DrillMoment, given: Given) -> CommandReply:
        """A read of a system table; all commit indexes read are a step of the procedure."""
        node: RecoveryNode = now.node
        maintained = node.status == "down" and maintenance(now, now.here) in now.marks
        number = now.here if maintained else self.answering(now, "cqlsh")
        answer, table = self.read(now, number, given), given["table"]
        marks = []
        if table == "system.raft" and "commit_idx" in answer.columns:
            marks.append(mark("read", number))
        if table == "system.raft_state" and answer.columns != COUNTED:
            marks.append("looked who votes")
        if "value" in answer.columns:
            ids = (row["value"] for row in answer.rows if row["key"] == GROUP_ID)
            marks += [mark("noted", each) for each in ids if each]
        wanted = {mark("read", i) for i in nodes_in(now.state.live)}
        ready = mark("read", number) in marks and wanted <= now.marks | {*marks}
        after = now.model.comes_to(now.state, act.Read()) if ready else None
        able = now.model.edition == "server" and isinstance(after, RecoveryState)
        # A read itself is never refused.
        return CommandReply(answer.lines, (act.Read(),) * able, marks=tuple(marks))

    def grep(self, now: DrillMoment, given: Given) -> CommandReply:
        """Who sees a group's id in a log has looked: that is noted."""
        lines = self.searched(now, given)
        noted = (
            mark("seen", now.here, group)
            for group in range(len(now.state.groups))
            if any(group_uuid(group) in line for line in lines)
        )
        return CommandReply(lines, marks=tuple(noted))

    def configuration(self, now: DrillMoment, given: Given) -> CommandReply:
        """The lines of the file that matter here."""
        leader = now.node.option
        lines = ["cluster_name: 'drill'", "consistent_cluster_management: true"]
        if leader != NOBODY:
            lines.append(f"recovery_leader: {self.hosts(now)[leader].host_id}")
        return CommandReply(tuple(lines))


SERVERS = RecoveryServers()


def remove(now: DrillMoment, given: Given) -> CommandReply:
    """``nodetool removenode``, with the other dead nodes ignored or not."""
    SERVERS.answering(now, "nodetool")
    node, ignoring = _leaving(now, given), _ignores_all(now, given)
    return CommandReply(actions=(act.Remove(node, ignoring),))


def replace_node(now: DrillMoment, given: Given) -> CommandReply:
    """A new node with ``replace_node_first_boot``; without the option it meets who is dead."""
    node = _leaving(now, given)
    why = now.model.refusal(now.state, act.Remove(node, ignoring=False))
    if why is not None and not _ignores_all(now, given):
        raise Refused(drill.refusal_line(why))
    return CommandReply(actions=(act.Replace(node),))


def _leaving(now: DrillMoment, given: Given, of: str = "the node") -> str:
    number = SERVERS.number(now, given)
    name = str(now.model.names[number])
    if now.state.nodes[number].takes_part:
        if number in SERVERS.reached(now, now.here):
            raise Refused(f"{of} is alive ({name})")
        raise Refused(f"{name} is not given up: start it, or let it die first")
    return name


def _ignores_all(now: DrillMoment, given: Given) -> bool:
    """Whether every dead node but the one that leaves is named among those to ignore.

    A node that lives is not ignored: that would ban it (published ``raft_removenode``).
    """
    for ignored in given.get("host_ids", ()):
        _leaving(now, {"host_id": ignored}, "a node to ignore")
    ids = [machine.host_id for machine in SERVERS.hosts(now)]
    named = {given["host_id"], *given.get("host_ids", ())}
    return named >= {ids[i] for i in nodes_in(now.state.dead)}


def half_of_deletion(half: str, other: str) -> Callable[[DrillMoment, Given], CommandReply]:
    """The state of discovery goes, or the persisted id: both are one step of the model."""

    def answer(now: DrillMoment, given: Given) -> CommandReply:
        number = SERVERS.answering(now, "cqlsh")
        group = stored_group(now, number)
        if group > last_given_up(now.state):
            called = now.model.group_name(group)
            raise Refused(f"{called} is not given up: set another recovery leader first")
        action = act.DeleteId(now.place)
        if (refusal := now.model.why_not(now.state, action)) is not None:
            raise Refused(refusal.reason)
        mine, theirs = (mark("deleted", each, number, group) for each in (half, other))
        done = theirs in now.marks and mine not in now.marks
        return CommandReply(actions=(action,) * done, marks=(mine,))

    return answer


def delete_rows(now: DrillMoment, given: Given) -> CommandReply:
    """Raft's rows of a group go, table by table; all of them are one step of the model."""
    number = SERVERS.answering(now, "cqlsh")
    table, group_id = str(given["raft_table"]).removeprefix("system."), given["group_id"]
    group = next(i for i in range(len(now.state.groups)) if group_uuid(i) == group_id)
    action = act.CleanRows(now.place)
    if (refusal := now.model.why_not(now.state, action)) is not None:
        raise Refused(drill.refusal_line(refusal))
    former, typed = former_groups(now, number), mark("deleted", table, number, group)
    if group not in former:
        raise Refused(f"{now.place} runs in {now.model.group_name(group)}, whose rows are in use")
    rows = {mark("deleted", name, number, each) for each in former for name in RAFT_TABLES}
    done = rows <= now.marks | {typed} and now.has(action)
    return CommandReply(actions=(action,) * done, marks=(typed,))


def set_leader(now: DrillMoment, given: Given) -> CommandReply:
    """The option names a leader; whoever is named first is chosen by that."""
    m: Recovery = now.model
    leader, node = SERVERS.number(now, given), now.node
    if not now.state.nodes[leader].takes_part:
        raise Refused(f"{m.names[leader]} is given up: the leader must be a live node")
    chosen = () if leader == now.state.leader else (act.Choose(m.names[leader]),)
    if node.option == leader and not chosen:
        return CommandReply()
    if not all(map(now.has, chosen)):
        group = m.group_name(now.state.recoverable)
        raise Refused(f"{m.names[now.state.leader]} leads {group}, which can carry on")
    if not chosen and node.group_id > now.state.abandoned:
        raise Refused(
            f"{now.place} is already in {m.group_name(node.group_id)}: it needs no "
            "leader to join that group"
        )
    return CommandReply(actions=(*chosen, act.SetOption(now.place)))


def unset_leader(now: DrillMoment, given: Given) -> CommandReply:
    """The option goes, and the server reads its file again."""
    if now.node.option == NOBODY:
        raise Refused(f"recovery_leader is not set in {CONFIGURATION} on {now.place}")
    if now.model.edition == "documents":
        raise Refused("in the procedure of these documents, recovery_leader stays set")
    return CommandReply(actions=(act.UnsetOption(now.place),))


def _committing(now: DrillMoment, tool: str) -> int:
    """The group of the node that one is on, which has a majority.

    Raises Refused where the server is down, or waits for a majority in vain.
    """
    SERVERS.answering(now, tool)
    s: RecoveryState = now.state
    group, walled_off = now.node.group, s.is_walled_off(now.node)
    if s.may_commit(group, walled_off):
        return int(group)
    voters = s.voters_of(group)
    up = (s.running(group, walled_off) & voters).bit_count()
    many, needed = voters.bit_count(), majority(voters.bit_count())
    who = "members" if voters == s.groups[group] else "voters"
    raise Refused(
        f"{tool}: timed out: {up} of {many} {who} answered, {needed} {are(needed)} needed"
    )


def leader_host(now: DrillMoment, given: Given) -> CommandReply:
    """The host id of a member that leads: the recovery leader where it is one."""
    members = now.state.running(_committing(now, "raft/leader_host"))
    leads, chosen = next(nodes_in(members)), now.state.leader
    if chosen != NOBODY and members >> chosen & 1:
        leads = chosen
    return CommandReply((SERVERS.hosts(now)[leads].host_id,))


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
    stops = (act.Crash(name),) if node.status == "up" else ()
    return CommandReply(
        (f"{name} is in maintenance mode: its tables can be read there, but no node reaches it",),
        actions=stops,
        marks=(maintenance(now, number, len(stops)),),
    )


COMMIT_INDEX = "SELECT commit_idx, group_id FROM system.raft"
THE_ID = f"SELECT value FROM system.scylla_local WHERE key = '{GROUP_ID}'"
TRUNCATED, DELETED = half_of_deletion("discovery", "id"), half_of_deletion("id", "discovery")
DELETE_ID = f"DELETE value FROM system.scylla_local WHERE key = '{GROUP_ID}'"
OPTION = f"edit {CONFIGURATION} recovery_leader:"
REPLACE = "new-node --replace-node-first-boot {host_id}"
SLOTS = SERVERS.slots(
    raft_table=Slot("a table", lambda now: [f"system.{name}" for name in RAFT_TABLES]),
    group_id=Slot("a group's id", lambda now: [*map(group_uuid, range(len(now.state.groups)))]),
)
FORMS = SERVERS.completed(
    *SERVERS.understood("on", "ssh", "nodetool", "firewall"),
    SERVERS.reading(COMMIT_INDEX, "read this node's commit index",
                    columns=("commit_idx", "group_id"), table="system.raft"),
    *SERVERS.understood("SELECT"),
    SERVERS.reading(THE_ID, "read the id of group 0",
                    columns=("value",), table="system.scylla_local", column="key", value=GROUP_ID),
    *lost_majority.truncating("discovery", "delete the discovery state", TRUNCATED),
    Form(DELETE_ID, "delete the persisted id of group 0", DELETED),
    *SERVERS.understood("grep", "journalctl", "cat"),
    Form(f"{OPTION} {{host_id}}", "set recovery_leader", set_leader, own=True),
    Form(OPTION, "remove recovery_leader and reload", unset_leader, own=True),
    *SERVERS.understood("restart", "systemctl restart", "stop", "systemctl stop", "start",
                        "systemctl start"),
    *lost_majority.removing(remove),
    Form(REPLACE, "put a new node in a dead node's place", replace_node, own=True),
    Form(f"{REPLACE} --ignore-dead-nodes-for-replace {{host_ids}}", "replace a node while "
        "others are dead",
         replace_node, own=True),
    Form("DELETE FROM {raft_table} WHERE group_id = {group_id}", "delete a group's Raft rows",
         delete_rows),
    *SERVERS.route("GET", "/raft/leader_host", "show which node leads group 0 (published server)",
                   leader_host),
    *SERVERS.route("POST", "/raft/read_barrier", "show whether a majority answers (published "
        "server)",
                   read_barrier),
    Form("start {node} --maintenance-mode", "start a node cut off from the others", maintain,
         own=True),
    *SERVERS.understood("happen"),
)  # fmt: skip


# -- the grade, and the checklist that the run ticks -----------------------------------------------


OPERATORS = (*Recovery(edition="server").procedure, act.Replace, act.Crash)
"""Steps of an operator; who stops a node is told apart from a crash by nothing in the model."""


FIRST_RESTART = "rolling restart"
NEEDLESS = (act.Choose, act.DeleteId, act.SetOption)
"""What begins a recovery; reading and a firewall harm nobody."""


def has_majority(s: RecoveryState) -> bool:
    """Whether the old group can go on: it is not given up, and most of its voters can run in it."""
    able = s.where(lambda n: n.takes_part and OLD in (n.group, n.group_id))
    return s.abandoned == NO_GROUP and is_majority(able, s.voters_of(OLD))


def steps_of(m: Recovery, s: RecoveryState) -> tuple[ProcedureStep, ...]:
    """The steps of the procedure; a recovery that was begun without need is to be ended, too."""
    return KEPT_STEPS if m.majority_lives and has_majority(s) else NEW_STEPS[m.edition]


def grade(now: DrillMoment) -> drill.Grade:
    """The run, graded; the same run has the same grade, but for what was only looked at.

    Told, and not judged, is how many steps it took beside the procedure's own order, and how long
    clients were worse off than at the start.
    """
    m, s = now.model, now.state
    had = union(s.acknowledged[OLD + 1 :])
    dangling = (
        f"{row.node} has data in column {row.column}, which its group does not know"
        for row in facts.effects(m, s)
        if not row.is_known and row.group
    )
    whole = "all live nodes run in one group, and nothing is left of any other group"
    needless = [
        f"a majority of the voters was alive: no need to {m.label(before.state, step.action)}"
        for before, step in pairwise(now.run)
        if isinstance(step.action, NEEDLESS) and has_majority(before.state)
    ]
    kept = judged("no needless recovery", needless[:1], "the group that had a majority carried on")
    used = sum(isinstance(step.action, OPERATORS) for step in now.run)
    return drill.Grade(
        (
            judged("cluster whole", list(_unfinished(m, s)), whole),
            *((kept,) if m.majority_lives else ()),
            lost_majority.one_group(now),
            lost_majority.nothing_lost(now, act.Die, had, "entries and data", dangling),
            GradeRow("steps", None, f"{used} taken, {procedure_length(m)} in the procedure"),
            lost_majority.data_unavailable(now),
            *_looked_at(now),
        )
    )


def _unfinished(m: Recovery, s: RecoveryState) -> Iterator[str]:
    if m.is_recovered(s):
        return
    if s.new_group == NO_GROUP:
        yield "no recovery leader runs in a new group"
    if outside := m.named(s.where(lambda n: n.takes_part and n.group != s.new_group)):
        yield f"not in the new group: {', '.join(outside)}"
    if s.is_under_way:
        yield "the topology operation is still in progress"
    still_set = s.where(lambda n: n.takes_part and n.option != NOBODY)
    for said, nodes in (
        ("dead, but neither removed nor replaced", s.dead),
        ("recovery_leader is still set", still_set if m.edition == "server" else 0),
        ("Raft rows of the old group remain", s.where(lambda n: n.takes_part and s.leftover(n))),
    ):
        if nodes:
            yield f"{said}: {', '.join(m.named(nodes))}"


def _looked_at(now: DrillMoment) -> Iterator[GradeRow]:
    looking = [step for step in checklist(now) if step.name in ("note id", "check")]
    left_out = ", ".join(step.name for step in looking if not step.done)
    looked = "the old group's id was noted, and the new id was found in each log"
    if looking:
        yield GradeRow("looked at", None, f"skipped: {left_out}" if left_out else looked)


def procedure_length(m: Recovery) -> int:
    """How many steps the procedure has in its order, with a stop before each restart.

    The first rolling restart changes nothing in the model, which does not suggest it.
    """
    timeline = Timeline(Recovery(replace(m.parameters, choose_again=False)))
    asks = any(step.name == FIRST_RESTART for step in steps_of(m, timeline.state))
    stops: int = 2 * asks * timeline.state.live.bit_count()
    while (action := timeline.suggest()) is not None:
        up = isinstance(action, act.Restart)
        stops += up and timeline.state.nodes[m.number(action.node)].status == "up"
        timeline.do(action)
    return len(timeline.path()) - 1 + stops


def checklist(now: DrillMoment) -> tuple[drill.CheckedStep, ...]:
    """The steps of the edition; those that leave nothing behind by the marks of who looked."""
    m, s = now.model, now.state
    is_chosen = s.leader != NOBODY
    leader = m.names[s.leader] if is_chosen else "the recovery leader"
    words = {"dead": lost_majority.ever_dead(now), "leader": leader, "order": "in any order"}
    wrong = {"choose": {"leader": f"not {leader}"}} if _chosen_ill(now) else {}
    steps = {}
    for name, what in ((step.name, step.what) for step in steps_of(m, s)):
        text = what if is_chosen else what.removesuffix(": {leader}")
        steps[name] = text.format(**words | wrong.get(name, {})), DONE[name]
    return drill.procedure(steps, MISSED)(now)


Done = Callable[[DrillMoment], bool]


def _each(holds: Callable[[RecoveryNode, RecoveryState], bool]) -> Done:
    return lambda now: all(holds(n, now.state) for n in now.state.nodes if n.takes_part)


def _was_together(now: DrillMoment) -> bool:
    return any(step.state.is_together and step.state.new_group > OLD for step in now.run)


def _unset(now: DrillMoment) -> bool:
    return _was_together(now) and all(node.option == NOBODY for node in now.state.nodes)


def _chosen_ill(now: DrillMoment) -> bool:
    guarded = Recovery(now.model.parameters)
    chosen = [(a.state, b.action) for a, b in pairwise(now.run) if isinstance(b.action, act.Choose)]
    return bool(chosen) and guarded.refusal(*chosen[-1]) is not None


def _checked(now: DrillMoment) -> bool:
    """Whether the new group's id was seen in the log of each node that was restarted into it.

    A new node in the place of a dead one was not.
    """
    new, m = now.state.new_group, now.model
    fresh = m.mask({step.action.node for step in now.run if isinstance(step.action, act.Replace)})
    wanted = {mark("seen", at, new) for at in nodes_in(now.state.live & ~fresh)}
    return new != NO_GROUP and wanted <= now.marks


def _restarted_first(now: DrillMoment) -> bool:
    before = takewhile(lambda step: not isinstance(step.action, act.DeleteId), now.run)
    started = {step.action.node for step in before if isinstance(step.action, act.Restart)}
    return {*now.model.named(now.run[0].state.live)} <= started


DONE: dict[str, Done] = {
    "voters": lambda now: "looked who votes" in now.marks,
    "isolate": lambda now: bool(now.state.isolated),
    FIRST_RESTART: _restarted_first,
    "note id": lambda now: mark("noted", group_uuid(last_given_up(now.state))) in now.marks,
    "read": lambda now: bool(now.state.indexes_read),
    "delete": _each(lambda n, s: not OLD <= n.group_id <= last_given_up(s)),
    "choose": lambda now: now.state.leader != NOBODY and not _chosen_ill(now),
    "set": _each(lambda n, s: n.option == s.leader != NOBODY or n.group > last_given_up(s)),
    "restart leader": lambda now: any(step.state.new_group > OLD for step in now.run),
    "restart others": _was_together,
    "check": _checked,
    "replace": lambda now: not now.state.dead,
    "unset": _unset,
    "clean": _each(lambda n, s: not n.old_rows),
}
MISSED: dict[str, Done] = {
    "isolate": lambda now: not now.state.dead,
    FIRST_RESTART: lambda now: any(isinstance(step.action, act.DeleteId) for step in now.run),
    "note id": _each(lambda n, s: n.group_id != last_given_up(s)),
    "choose": lambda now: not now.model.eligible(now.state),
}
"""When it is too late for a step that was not done; other steps can be done at any time."""


# -- the drill -------------------------------------------------------------------------------------


def opened(model: Recovery) -> Recovery:
    """The same group, in which an operator may make mistakes and nodes may come back."""
    live = len(model.names) - len(model.given_up)
    parameters = replace(
        model.parameters,
        choose_again=True,
        crashes=MOST_CRASHES,
        deaths=max(model.deaths, live - 1),
        returns=max(model.returns, len(model.given_up)),
        changes=max(model.changes, lost_majority.TIMES),
        writes=max(model.writes, live),
    )
    return Recovery(parameters, tuple(sorted({*model.off, *MISTAKES})))


def begun(model: Recovery) -> list[str]:
    """Each live node has stored data in the newest column that it knows."""
    start = model.start()
    return [f"write {model.names[i]} column {start.nodes[i].index}" for i in nodes_in(start.live)]


def own_step(model: Recovery, state: RecoveryState) -> Any:
    """The coordinator of the new group goes on with the operation that was under way."""
    coordinate = act.Coordinate()
    return None if model.refusal(state, coordinate) else coordinate


DRILL = drill.DrillKind(
    title="Recover a group 0 that lost its majority",
    task="The dead nodes will not come back on their own. Bring the live nodes together in "
    "one new group 0, and lose nothing that does not have to be lost. help lists the commands.",
    forms=FORMS,
    slots=SLOTS,
    opened=opened,
    starts_at=lambda model: model.named(model.start().live)[0],
    begun=begun,
    own_step=own_step,
    checklist=checklist,
    grade=grade,
)


NODES_ARE_DEAD = replace(
    DRILL,
    title="Two of four nodes are dead",
    task="C and D are dead for good, and someone has already opened the manual at the page "
    "on recovery. Make the cluster whole without them. Look before you act. help lists the "
    "commands.",
)
