"""A recovery: an operator's steps on a group 0 that lost its majority.

Each node has what it persists: group id, schema, ``recovery_leader``, rows of Raft. An entry
reaches all members that are up at once: what Raft does between them is the matter of ``group0``.
The manual's first rolling restart changes nothing here and is no step. Sources: Topology over Raft,
"Raft topology recovery"; the published manual and code. Edition ``documents`` has their seven
steps: whoever chooses a leader reads the commit indexes, and a firewall is no step, but the older
manual's note: it is there from the start (Q-54).

Of the lines that servers log, ``joined group 0 with group id`` is a server's own fragment (manual
on Raft), and so are the two by which the published manual has each restarted node checked (edition
``server``); of the rest no document gives the words.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from itertools import permutations
from typing import Annotated, Any, TypeAlias

from msgspec import Meta

from kit.errors import Refusal, counted
from kit.masks import nodes_in
from kit.model import declared
from kit.model.declared import Node, Travel, action, always, budget, parameter, purpose, refused
from kit.model.flows import ServerLine
from kit.model.registry import Fuzzing, Scenario
from kit.protocols.recovery import lost_majority
from kit.protocols.recovery import recovering_cluster as cluster
from kit.protocols.recovery.lost_majority import MOST_FAULTS, NO_GROUP, NOBODY, OLD, typed
from kit.protocols.recovery.recovering_cluster import RecoveryNode, RecoveryState
from kit.protocols.recovery.rules.procedure import NEW_STEPS

MOST_CRASHES = 99  # whoever drills may stop nodes as often as a person will
RAFT, TOPOLOGY, INIT, STORAGE = "raft_group0", "raft_topology", "init", "storage_service"
RECOVERS = "Performing Raft-based recovery procedure with recovery leader"
FOUND = "Raft-based recovery procedure - found group 0 with ID"

OF_STEP = {"delete": "delete_id", "set": "set_option"} | {
    name: name for name in ("isolate", "read", "choose")
}
"""The actions up to the first restart, by the steps of the procedure; the others follow."""
UNDER_WAY = refused("a topology operation is in progress")

Ignoring: TypeAlias = Annotated[
    bool, declared.Each((True, False), lambda ignoring: "" if ignoring else " alone")
]
Next: TypeAlias = RecoveryState | Refusal | None
own = partial(ServerLine, own=True)


class Recovery(lost_majority.LostMajority[RecoveryState]):
    """An operator recovers a group 0 by ``recovery_leader``."""

    revision = 3
    name, title, State = "recovery", "A group 0 that lost its majority", RecoveryState
    premise = (
        "Without a majority of the voters, no node can change metadata. The operator "
        "(op) forms a new group from the live nodes."
    )
    about = "A group 0 that lost its majority, and what can happen while an operator recovers it."
    rests_at_goals = True

    operation: bool = parameter(
        False, "whether the first dead node was being decommissioned when the nodes died"
    )
    past_barriers: bool = parameter(
        False, "whether reads had already switched by then, so that the operation can succeed"
    )
    choose_again: bool = parameter(
        False, "whether another leader can be chosen while there is no new group"
    )
    majority_lives: bool = parameter(
        False,
        "whether a majority of group 0's voters is alive, so that there is nothing to recover",
    )
    racks: tuple[Annotated[str, Meta(pattern=r"^[\w-]{1,40}/[\w-]{1,40}$")], ...] = parameter(
        (),
        "datacenter/rack of each member, starting with A; if empty, dc1 with three racks",
        max_length=9,
        written=True,
    )
    crashes: int = budget(0, "how many times a node can crash", le=MOST_CRASHES)
    deaths: int = budget(0, "how many more nodes can die for good", le=MOST_FAULTS)
    returns: int = budget(0, "how many of the given-up nodes can come back", le=MOST_FAULTS)
    changes: int = budget(
        0, "how many columns can be added", title="schema changes", le=MOST_FAULTS
    )
    writes: int = budget(0, "how many times a node can store data in a column", le=MOST_FAULTS)

    # fmt: off
    latest_index: bool = declared.safeguard(
        "S-47", "The recovery leader is a node with the latest commit index", ("INV-CAUSAL",),
        smallest={"commit_indexes": (1, 2, 2, 2), "dead": "C D", "writes": 1})
    causality: bool = declared.safeguard(
        "S-48", "A node stores data only with a schema that it has persisted", ("INV-CAUSAL",),
        smallest={"commit_indexes": (1, 2, 2), "dead": "B C", "writes": 1})
    leader_first: bool = declared.safeguard(
        "S-49", "The recovery leader restarts first", ("INV-ONEGROUP", "INV-PROGRESS"),
        smallest={"commit_indexes": (1, 1, 1, 1), "dead": "C D"})
    isolation: bool = declared.safeguard(
        "S-50", "Nodes that are given up are cut off", ("INV-ONEGROUP", "INV-LIN"),
        smallest={"commit_indexes": (1, 1, 1, 1, 1), "dead": "C D E", "returns": 3, "changes": 2})
    # fmt: on

    def set_up(self) -> None:
        """The steps are in the edition's order; in ``server`` voters are chosen again."""
        super().set_up()
        names = (step.name for step in NEW_STEPS[self.edition])
        self.first = tuple(OF_STEP[name] for name in names if name in OF_STEP)
        if self.edition == "server":
            self.settled = self.chosen_again

    @property
    def under_way(self) -> str:
        """The nodes that recover, the lost ones, and whether an operation was under way."""
        live = ", ".join(name for name in self.names if name not in self.given_up)
        operation = f", halfway through {self.half_done}" if self.operation else ""
        return f"recovery of {live} without {', '.join(self.given_up)}{operation}"

    @property
    def half_done(self) -> str:
        """The operation that they died in."""
        return f"{cluster.LEAVES} {self.given_up[0]}"

    @property
    def reached(self) -> str:
        """The transition state in which they died."""
        return "write_both_read_new" if self.past_barriers else "write_both_read_old"

    def start(self) -> RecoveryState:
        """The majority is dead; the others still run in the old group."""
        dead, up = RecoveryNode("dead", NO_GROUP, OLD), RecoveryNode("up", OLD, OLD)
        nodes = tuple(
            (dead if name in self.given_up else up).but(columns=(1 << index) - 1)
            for name, index in zip(self.names, self.commit_indexes, strict=True)
        )
        everybody, entries = (1 << len(nodes)) - 1, max(self.commit_indexes)
        begun = super().start().but(nodes=nodes, groups=(everybody,), entries=entries)
        return begun.but(
            voters=self.first_voters,
            abandoned=NO_GROUP if self.majority_lives else OLD,
            operation=self.reached if self.operation else "none",
            isolated=self.isolation and self.edition == "documents",
        )

    def chosen_again(self, before: RecoveryState, after: RecoveryState) -> Any:
        """A side of the firewall with a majority of a group's voters chooses them again."""
        return self.voting(after, lambda group: (after.running(group), after.running(group, True)))

    # The procedure

    @action()
    @purpose("Nodes that are given up must not interfere with the others.")
    def isolate(self, s: RecoveryState) -> Next:
        """A firewall cuts off the nodes that are given up."""
        return None if s.isolated else s.but(isolated=True)

    @action(
        label="remove the group id and discovery state of {node}",
        tag="delete",
        each=lambda m, s: s.where(
            lambda n: n.status == "up" and NO_GROUP < n.group_id <= max(OLD, s.abandoned)
        ),
        travels=typed("DELETE", "remove the group id and the discovery state"),
    )
    @purpose("Without the old id and peers, the node looks for the new group at its next start.")
    def delete_id(self, s: RecoveryState, node: Node) -> Next:
        """The operator removes the group id and the discovery state of {node}, which stays in its
        group until it restarts.
        """
        if self.edition == "server":
            if self.isolation and not s.isolated:
                return refused("the nodes that are given up are not cut off yet")
            if not s.indexes_read:
                said = "commit_idx must be read first"
                return refused(f"{said}, while the group id is still there to find it")
        return s.at(node, group_id=NO_GROUP)

    def indexes(self, before: RecoveryState, act: Any, after: RecoveryState) -> Iterator[Travel]:
        """Each live node tells the operator its own."""
        for node in nodes_in(before.live):
            name, label = self.names[node], f"commit_idx {before.nodes[node].index}"
            text = f"{name} → the operator: {label}"
            yield Travel("answer", self.spot(name), "operator", label, text)

    @action(label="read commit_idx", when=lambda m: m.edition == "server", travels=indexes)
    @purpose("The node with the latest commit index should lead, or entries could be lost.")
    def read(self, s: RecoveryState) -> Next:
        """The operator reads commit_idx on every live node."""
        if s.indexes_read:
            return None
        if down := self.named(s.where(lambda n: n.status == "down")):
            return refused("some live nodes are down: start them first", down)
        return s.but(indexes_read=True)

    def eligible(self, s: RecoveryState) -> int:
        """Who may be named: one that is counted on, another one only if that is asked for."""
        if s.needs_leader:
            return s.live
        again = self.choose_again and len(s.groups) - 1 == s.abandoned
        return s.live & ~(1 << s.leader) if again else 0

    @action(
        each=eligible,
        says=lambda m, *step: (
            "The operator "
            + "reads the commit index of every live node and " * (m.edition == "documents")
            + "chooses {node} as recovery leader: it knows {known}."
        ),
        travels=lambda m, *step: m.indexes(*step) if m.edition == "documents" else (),
    )
    @purpose("The new group starts with what this node knows.")
    def choose(self, s: RecoveryState, node: Node) -> Next:
        """The operator chooses a recovery leader.

        A node that is down can be asked, too: its tables are read in maintenance mode.
        """
        if self.edition == "server" and not s.indexes_read:
            return refused("commit indexes have not been read")
        group, at = s.recoverable, s.nodes[node]
        if NO_GROUP not in (group, s.abandoned):  # a newer group than those given up can go on
            if at.group_id != group:
                called = self.group_name(group)
                return refused(f"{called} can carry on: choose one of its members")
            return s.but(leader=node)
        newest = max(each.index for each in s.nodes if each.takes_part)
        if at.index < newest and self.latest_index:
            said = f"its commit index is {at.index}, but another live node has {newest}"
            return refused("the leader needs the latest commit index", evidence=(said,))
        return s.but(leader=node, abandoned=len(s.groups) - 1)  # all groups so far are given up

    def unled(self, s: RecoveryState) -> int:
        """Who does not know of the leader, and still belongs to a group that is given up."""
        if s.leader == NOBODY or not s.nodes[s.leader].takes_part:
            return 0
        return s.where(
            lambda n: n.takes_part and n.option != s.leader and n.group_id <= s.abandoned
        )

    @action(
        label="set recovery_leader on {node}",
        tag="set",
        each=unled,
        travels=typed("option", "recovery_leader is set"),
    )
    @purpose("All nodes must join the same new group.")
    def set_option(self, s: RecoveryState, node: Node) -> Next:
        """The operator sets recovery_leader to {leader} in {node}'s configuration."""
        return s.at(node, option=s.leader)

    def startable(self, s: RecoveryState) -> Iterable[int]:
        """The nodes that are down, or have no id any more; the leader comes first."""
        able = s.where(lambda n: n.takes_part and (n.status == "down" or n.group_id == NO_GROUP))
        return sorted(nodes_in(able), key=lambda node: node != s.leader)

    def snapshot(self, before: RecoveryState, act: Any, after: RecoveryState) -> Iterator[Travel]:
        """The state of the group that a node joins, from a member that has its newest."""
        node = self.number(act.node)
        group = after.nodes[node].group
        was_member = group < len(before.groups) and before.groups[group] >> node & 1
        if group == NO_GROUP or was_member:
            return
        others = after.running(group) & ~(1 << node)
        if not others:
            return
        newest = before.latest(others)
        holders = [i for i in nodes_in(others) if before.nodes[i].columns == newest]
        source = self.names[after.leader if after.leader in holders else holders[0]]
        known = counted(after.nodes[node].index, "entry", "entries")
        text = f"{source} → {act.node}: snapshot of {self.group_name(group)}, {known}"
        yield Travel("data", self.spot(source), self.spot(act.node), "snapshot", text)

    def restarted(self, before: RecoveryState, action: Any, after: RecoveryState) -> str:
        """The end of a start: nowhere, in its own group, in one that it creates or joins."""
        number = self.number(action.node)
        was, node, group = before.nodes[number], after.nodes[number], "{group}"
        if node.group == NO_GROUP:
            return "{node} refuses to start: it has neither a group id nor recovery_leader."
        if was.group_id == node.group:
            gets = ", where it gets the entries that it missed" * (was.columns != node.columns)
            return f"{{node}} starts with its own state and runs in {group}{gets}."
        if len(after.groups) > len(before.groups):
            why = "is the recovery leader" if node.option == number else "finds no group to join"
            return f"{{node}} {why} and creates {group}."
        lost = was.columns & ~node.columns
        back = f" {{node}}'s schema loses {named_columns(lost)}." if lost else ""
        return f"{{node}} joins {group} and gets the group's state as a snapshot.{back}"

    def logs_start(self, before: RecoveryState, act: Any, after: Any) -> Iterator[ServerLine]:
        """A start says in which group the node runs, and how it came there."""
        name, number = act.node, self.number(act.node)
        was, node = before.nodes[number], after.nodes[number]
        yield own(name, INIT, "the server starts")
        if node.group == NO_GROUP:
            yield own(name, RAFT, "neither a group id nor recovery_leader: refuses to start")
            return
        group = lost_majority.group_uuid(node.group)
        if was.group_id == node.group:
            ignored = ", recovery_leader is ignored" if node.option != NOBODY else ""
            yield own(name, RAFT, f"has group id {group}{ignored}")
            return
        creates, server = len(after.groups) > len(before.groups), self.edition == "server"
        if server:  # it has started with recovery_leader, or would refuse to
            leader = self.host(node.option)
            yield ServerLine(name, STORAGE, f"{RECOVERS} {leader.host_id}/{leader.address}")
        if creates:
            yield own(name, RAFT, f"creates group 0 with group id {group}")
        if server:
            yield ServerLine(name, STORAGE, f"{FOUND} {group}")
        if not creates:
            yield ServerLine(name, RAFT, f"joined group 0 with group id {group}")

    @action(each=startable, says=restarted, travels=snapshot, logs=logs_start)
    @purpose("A node looks for its group when it starts.")
    def restart(self, s: RecoveryState, node: Node) -> Next:
        """The node runs in its persisted group; without one, it creates one, joins one or fails.

        A node other than the leader needs a group that it can join (S-49). A server of edition
        ``server`` waits for such a group. Without the option it starts and goes down again.
        """
        at, server = s.nodes[node], self.edition == "server"
        if at.group_id != NO_GROUP:
            return s.at(node, status="up", group=at.group_id).synchronized(node)
        if server and at.option == NOBODY:
            return s.at(node, status="down", group=NO_GROUP)
        group = s.to_join(node)
        if group != NO_GROUP:
            if not s.may_commit(group):
                return refused(f"{self.group_name(group)} has no majority to let the node in")
            return s.at(node, status="up").joined(node, group)
        if (server or self.leader_first) and not node == s.leader == at.option:
            leader = s.leader if at.option == NOBODY else at.option
            why = self.unled_by(s, leader)
            if leader == node:
                said = "the leader's own recovery_leader does not name it"
                why = refused(said, (self.names[node],))
            if why is not None:
                return why
        return s.at(node, status="up").created(node)

    def next_of_operation(self, s: RecoveryState) -> cluster.HalfDone:
        """The next steps of the coordinator in the new group on the operation that it found."""
        subject, group = self.number(self.given_up[0]), s.new_group
        alive = s.running(group) if group != NO_GROUP else 0
        return cluster.next_of_operation(s.operation, subject, s.peers, s.dead, alive, self.edition)

    def unled_by(self, s: RecoveryState, leader: int) -> Refusal | None:
        """Why the node that is to lead has no group that goes on."""
        if leader == NOBODY:
            return refused("no recovery leader has been chosen")
        name, at = self.names[leader], s.nodes[leader]
        # Down in its new group it cannot lead; down without one it has yet to create it.
        if not at.takes_part or (at.status == "down" and at.group_id > s.abandoned):
            return refused(f"the recovery leader is {at.status}", (name,))
        if at.group <= s.abandoned:
            return refused("the recovery leader has not created its group yet", (name,))
        called = self.group_name(at.group)
        return None if s.may_commit(at.group) else refused(f"{called} has no majority")

    def asks_all(self, before: RecoveryState, act: Any, after: RecoveryState) -> Iterator[Travel]:
        """A barrier, if the state has one, asks the nodes; the dead do not answer."""
        leader, done = self.names[before.leader], self.next_of_operation(before)
        for name in self.named(done.addressed):
            yield Travel("request", leader, name, "barrier", leg=0)
        for name in self.named(done.addressed & before.running(before.new_group)):
            yield Travel("answer", name, leader, "done", leg=1)

    def coordinated(self, before: RecoveryState, act: Any, after: RecoveryState) -> str:
        """The coordinator's work on the operation, and where that leads."""
        done, subject = self.next_of_operation(before), self.given_up[0]
        silent = ", ".join(self.named(done.addressed & ~before.running(before.new_group)))
        why = f"The barrier of {before.operation} got no answer from {silent}"
        if not silent:
            why = f"The work of {before.operation} is done"
        ways = {
            "done": f"{subject} has left the cluster",
            "rolled back": f"{subject} is normal again in the tables, and its request has failed",
        }
        way = f"{self.half_done} goes {'back' if done.failed else 'on'} to {after.operation}"
        return f"{why}, so {ways.get(after.operation, way)}."

    @action(
        says=coordinated,
        travels=asks_all,
        logs=lambda m, before, action, after: [
            own(m.names[before.leader], TOPOLOGY, m.coordinated(before, action, after))
        ],
    )
    @purpose("An operation in progress has to end or be undone.")
    def coordinate(self, s: RecoveryState) -> Next:
        """The coordinator on the new group's leader continues the operation that was in progress.

        A barrier asks every normal node. Some are dead, so it fails, and the operation takes the
        way back in the transition tables. The dead nodes cannot have been removed, because a
        removal waits for the end of the operation. Once reads use the new replicas, there is no way
        back, and the operation succeeds.
        """
        if not s.is_under_way:
            return None
        if refusal := self.unled_by(s, s.leader):
            return refusal
        done = self.next_of_operation(s)
        if done.after == s.operation:
            return refused(f"a {done.failed} is waiting for an answer", self.named(done.missing))
        s = s.but(operation=done.after)
        subject = self.number(self.given_up[0])
        return s.with_node(subject, cluster.REMOVED_NODE) if done.after == "done" else s

    def apart(self, s: RecoveryState) -> Refusal | None:
        """Steps wait until all nodes that are counted on are in the new group."""
        if s.is_together:
            return None
        missing = s.where(lambda n: n.takes_part and n.group <= s.abandoned)
        return refused("some live nodes do not run in a new group", self.named(missing))

    def irremovable(self, s: RecoveryState, node: int) -> Refusal | None:
        """A removal waits until somebody coordinates, and refuses a node that lives.

        It is refused while an operation is as it was when they died; later it ends that first.
        """
        if s.abandoned == NO_GROUP and not s.may_commit(OLD):
            return lost_majority.NO_MAJORITY
        refusal = self.apart(s) or (UNDER_WAY if s.operation == self.reached else None)
        if not refusal and not s.may_commit(s.new_group):
            refusal = refused(f"{self.group_name(s.new_group)} has no majority")
        if refusal:
            return refusal
        is_alive = s.hears(node, self.edition)
        return refused("the node is alive", (self.names[node],)) if is_alive else None

    @action(
        tag="removenode",
        kind="remove",
        verb="removenode {node}{ignoring}",
        each=lambda m, s: ((i, ignoring) for i in nodes_in(s.dead) for ignoring in (True, False)),
        travels=lambda m, before, action, after: (
            [m.asked_to_remove(before.leader, action)] if before.leader >= 0 else []
        ),
        says="The operator removes {node}{others}.",
        logs=[own("{leader}", TOPOLOGY, "removenode of {host_id} is done")],
    )
    @purpose("Dead nodes stay members until they are removed.")
    def remove(self, s: RecoveryState, node: Node, ignoring: Ignoring = True) -> Next:
        """The operator removes a dead node, and either ignores the other dead nodes or does not."""
        others = s.dead & ~(1 << node)
        if refusal := self.irremovable(s, node):
            return refusal
        if others and not ignoring:
            return refused("other nodes are dead but not ignored", self.named(others))
        return self.ended(s).with_node(node, cluster.REMOVED_NODE)

    def ended(self, s: RecoveryState) -> RecoveryState:
        """A request stays in the queue until the coordinator has ended what it went on with."""
        while isinstance(after := self.coordinate(s), RecoveryState):
            s = after
        return s

    @action(
        label="unset recovery_leader on {node}",
        tag="unset",
        when=lambda m: m.edition == "server",
        each=lambda m, s: s.where(lambda n: n.takes_part and n.option != NOBODY),
        travels=typed("no option", "recovery_leader is unset"),
    )
    @purpose("The option is needed only during the recovery.")
    def unset_option(self, s: RecoveryState, node: Node) -> Next:
        """The operator unsets recovery_leader on {node}, so group ids have to match again."""
        return self.apart(s) or s.at(node, option=NOBODY)

    @action(
        label="clean the old rows of {node}",
        tag="clean",
        each=lambda m, s: s.where(lambda n: n.takes_part and s.leftover(n)),
        travels=typed("DELETE rows", "DELETE the rows of the old group"),
    )
    @purpose("The old group is finished, so its rows are no longer needed.")
    def clean_rows(self, s: RecoveryState, node: Node) -> Next:
        """The operator deletes the old group's Raft rows on {node}."""
        if s.dead:
            return refused("some dead nodes are neither removed nor replaced", self.named(s.dead))
        return self.apart(s) or s.at(node, old_rows=False)

    # What an operator may do instead, and what clients do

    @action(
        unasked=True,
        each=lambda m, s: s.dead,
        travels=snapshot,
        logs=[ServerLine("{node}", RAFT, "joined group 0 with group id {group_id}")],
    )
    @purpose("The cluster needs new copies to replace those that it lost.")
    def replace(self, s: RecoveryState, node: Node) -> Next:
        """A new node takes the place of {node} and gets the group's state."""
        refusal = self.irremovable(s, node)
        return refusal or self.ended(s).with_node(node, cluster.NEW_NODE).joined(node, s.new_group)

    def sides(self, s: RecoveryState) -> Iterable[int]:
        """The first node of each group that has somebody up, on either side of the firewall."""
        first: dict[tuple[int, bool], int] = {}
        for number, node in enumerate(s.nodes):
            if node.group != NO_GROUP:
                first.setdefault((node.group, s.is_walled_off(node)), number)
        return first.values()

    @action(
        unasked=True,
        spends="changes",
        each=sides,
        says="A client adds column {after.entries} at {node}, and the members of {group} that "
        "{node} reaches apply it.",
        travels=lambda m, before, action, after: (
            Travel("entry", action.node, name, f"column {after.entries}")
            for name in m.named(before.company(m.number(action.node)))
        ),
    )
    @purpose("A schema change needs a majority of its group.")
    def alter(self, s: RecoveryState, node: Node) -> Next:
        """A client changes the schema in the group that a node runs in.

        A change committed behind the firewall reaches no client of the cluster that recovers.
        """
        group, walled_off = s.nodes[node].group, s.is_walled_off(s.nodes[node])
        if not s.may_commit(group, walled_off):
            return lost_majority.NO_MAJORITY
        company, column = s.company(node), 1 << s.entries
        known = s.acknowledged
        heard = known[group] | (0 if walled_off else column)
        acknowledged = (*known[:group], heard, *known[group + 1 :])
        s = s.having(company, s.latest(company) | column)
        return s.but(acknowledged=acknowledged, entries=s.entries + 1)

    def storable(self, s: RecoveryState) -> Iterator[tuple[int, int]]:
        """Nodes, with the newest column that each knows, and with the newest of all."""
        for number, node in enumerate(s.nodes):
            if node.status == "up":
                for column in sorted({node.columns.bit_length(), s.entries} - {0}):
                    if not node.data >> column - 1 & 1:
                        yield number, column

    @action(unasked=True, spends="writes", verb="write {node} column {column}", each=storable)
    @purpose("Clients carry on during a recovery.")
    def write(self, s: RecoveryState, node: Node, column: int) -> Next:
        """{node} stores data in column {column}."""
        at = s.nodes[node]
        if self.causality and not at.columns >> column - 1 & 1:
            return refused(f"{self.names[node]} has not persisted the entry for column {column}")
        return s.at(node, data=at.data | 1 << column - 1)

    # What goes wrong

    @action(
        fault=True,
        spends="crashes",
        each=lambda m, s: s.serving,
        logs=[own("{node}", INIT, "the server is down")],
    )
    @purpose("Nodes can also stop during a recovery.")
    def crash(self, s: RecoveryState, node: Node) -> Next:
        """{node} goes down and keeps what it has persisted."""
        return s.at(node, status="down", group=NO_GROUP)

    @action(fault=True, spends="deaths", each=lambda m, s: s.live)
    @purpose("When too many nodes are dead, group 0 has no majority.")
    def die(self, s: RecoveryState, node: Node) -> Next:
        """{node} dies for good."""
        if s.live == 1 << node:
            return None
        return s.at(node, status="dead", group=NO_GROUP)

    def reviving(self, s: RecoveryState) -> int:
        """The dead, once the recovery has begun: before it, a node that is back needs none."""
        begun = any(n.takes_part and n.group_id != OLD for n in s.nodes)
        able = s.where(lambda n: n.status == "dead" and n.group_id != NO_GROUP)
        return able if begun else 0

    @action(
        label="{node} comes back",
        fault=True,
        spends="returns",
        tag="return",
        each=reviving,
        logs=logs_start,
    )
    @purpose("A node that was given up knows nothing about the new group.")
    def come_back(self, s: RecoveryState, node: Node) -> Next:
        """{node}, which was given up, comes back and runs in {group}."""
        group = s.nodes[node].group_id
        return s.at(node, status="returned", group=group).synchronized(node)

    # What must hold

    @always("INV-CAUSAL")
    def causal(self, s: RecoveryState) -> str | None:
        """All data is in columns that the group knows."""
        for name, node in zip(self.names, s.nodes, strict=True):
            dangling = node.data & ~node.columns
            if node.group > OLD and dangling:
                column = next(nodes_in(dangling)) + 1
                return f"{name} has data in column {column}, which its group does not know"
        return None

    @always("INV-ONEGROUP")
    def one_group(self, s: RecoveryState) -> str | None:
        """Nodes that talk as one cluster are in one group."""
        return self.torn(s)

    @always("INV-SCHEMA")
    def one_schema(self, s: RecoveryState) -> str | None:
        """All members of a new group that can commit have the same schema."""
        for group in filter(s.may_commit, range(OLD + 1, len(s.groups))):
            if len({s.nodes[i].columns for i in nodes_in(s.running(group))}) > 1:
                return f"members of {self.group_name(group)} have different schemas"
        return None

    @declared.step("INV-LIN", on=(alter,))
    def linearizable(self, before: RecoveryState, action: Any, after: RecoveryState) -> str | None:
        """Every schema change sees all earlier ones."""
        node = self.number(action.node)
        company, columns = before.company(node), after.nodes[node].columns
        for pair in before.as_one_cluster(self.edition):
            for here, there in permutations(pair):
                missed = before.acknowledged[before.nodes[there].group] & ~columns
                if company >> here & 1 and missed:
                    group = self.group_name(before.nodes[node].group)
                    column = next(nodes_in(missed)) + 1
                    return f"{group} does not see column {column}, which was added before"
        return None

    @declared.step("INV-MEMBER", on=(coordinate, remove, replace))
    def taken_out(self, before: RecoveryState, action: Any, after: RecoveryState) -> str | None:
        """Only a majority of the new group changes the topology, and removes no node it hears."""
        alters = isinstance(action, Coordinate)
        if not alters and before.hears(self.number(action.node), self.edition):
            return f"{action.node} is removed although the others still hear it"
        committed = before.may_commit(before.new_group)
        return None if committed else "the topology changes without a majority of a new group"

    @declared.step("INV-RAFT", on=(alter,))
    def majority(self, before: RecoveryState, action: Any, after: RecoveryState) -> str | None:
        """Every schema change is committed by a majority of its group."""
        node = before.nodes[self.number(action.node)]
        if before.may_commit(node.group, before.is_walled_off(node)):
            return None
        return f"{action.node} changed the schema although its group has no majority"

    @declared.step(on=(clean_rows,))
    def cleaned_last(self, before: RecoveryState, action: Any, after: RecoveryState) -> str | None:
        """The old group's rows are deleted only when no node needs the group."""
        # The order of the documents' procedure (G-026): removals come first, then the rows.
        if before.dead or not before.is_together:
            return f"{action.node} deletes old rows while nodes are dead or not in a new group"
        return None

    # S-49 off, two groups are the harm; that they can never be one is behind it.
    @declared.goal(
        "INV-PROGRESS", name="ends", title="The recovery can end", sign=lambda m: not m.leader_first
    )
    @declared.sometimes(name="recovered", title="The recovery is done")
    def is_recovered(self, s: RecoveryState) -> bool:
        """Every step is done: one group, no dead node in it, nothing left of the old group."""
        unset = self.edition == "documents" or all(n.option == NOBODY for n in s.nodes)
        clean = not any(map(s.leftover, s.nodes))
        ended = not s.is_under_way and not s.dead
        return s.is_together and unset and clean and ended

    @declared.step("INV-CAUSAL", on=(write,), sign=lambda m: not m.causality)
    def persist_in_order(self, before: RecoveryState, act: Any, after: RecoveryState) -> str | None:
        """Data is persisted only after the schema that it needs."""
        known = before.nodes[self.number(act.node)].columns >> act.column - 1 & 1
        early = f"{act.node} stores data in column {act.column} before the entry for it"
        return None if known else early

    # What is said

    def suggest(self, s: RecoveryState) -> Any | None:
        """The operator's next step; a leader that was chosen stays."""
        chosen = () if s.needs_leader else (Choose,)
        if s.abandoned == NO_GROUP:
            return next((each for each in self.actions(s) if type(each) is Remove), None)
        wanted = (each for each in self.actions(s) if type(each) in self.procedure)
        return next((each for each in wanted if type(each) not in chosen), None)

    @property
    def procedure(self) -> tuple[type, ...]:
        """The steps of the procedure, in the order of the edition."""
        saids = ((rule.action, self.acts[rule.action].said) for rule in self.rules)
        steps = tuple(kind for kind, said in saids if not (said.unasked or said.fault))
        return tuple(kind for kind in steps if self.edition == "server" or kind is not Isolate)

    def milestone(self, before: RecoveryState, action: Any, after: RecoveryState) -> str | None:
        """The dead cut off, ids deleted, a leader, a new group, all in it, a removal, the end."""
        if after.isolated and not before.isolated:
            return "the dead are cut off"
        if before.has_ids and not after.has_ids:
            return "no live node has a group id"
        if after.leader not in (before.leader, NOBODY):
            return f"{self.names[after.leader]} will lead"
        if len(after.groups) > len(before.groups):
            return f"{self.group_name(len(after.groups) - 1)} is created"
        if after.is_together and not before.is_together:
            return "all nodes are in the new group"
        if type(action) is Remove:
            return f"{action.node} is out of the cluster"
        return "the recovery is done" if self.is_recovered(after) else None

    def words(self, before: RecoveryState, action: Any, after: RecoveryState) -> dict[str, str]:
        """The leader, the other dead; the machine of the node, its group, and what it knows."""
        words = {
            "leader": self.names[after.leader] if after.leader != NOBODY else "nobody",
            "others": f" and ignores {', '.join(self.named(after.dead))}" if after.dead else "",
        }
        if not hasattr(action, "node"):
            return words
        number = self.number(action.node)
        node = after.nodes[number]
        return words | {
            "host_id": self.host(number).host_id,
            "group": self.group_name(node.group),
            "group_id": lost_majority.group_uuid(node.group),
            "known": counted(node.index, "entry", "entries"),
        }

    def readable(self, s: RecoveryState) -> dict[str, str]:
        """The operator's view, and every node."""
        by_step = self.edition == "server"
        return {
            "recovery leader": self.names[s.leader] if s.leader != NOBODY else "not chosen",
            "dead nodes": "cut off" if s.isolated else "not cut off",
            **({"commit indexes": "read" if s.indexes_read else "not read"} if by_step else {}),
            "operation": f"{self.half_done}: {s.operation}" if self.operation else "none",
            **dict(zip(self.names, map(self.in_a_line, s.nodes), strict=True)),
        }

    def in_a_line(self, node: RecoveryNode) -> str:
        """The group of a node, and what it has persisted."""
        if node.status == "removed":
            return "removed"
        back = "back, " if node.status == "returned" else ""
        runs = f"runs in {self.group_name(node.group)}" if node.group != NO_GROUP else node.status
        option = f", recovery_leader {self.names[node.option]}" if node.option != NOBODY else ""
        data = f", data in {named_columns(node.data)}" if node.data else ""
        stored = self.stored_id(node.group_id) + " or discovery state" * node.looks_for_group
        return f"{back}{runs}, {stored}, commit index {node.index}{option}{data}"


def named_columns(mask: int) -> str:
    """``columns 1, 2``."""
    return f"column{'s' * (mask.bit_count() > 1)} {lost_majority.listed_columns(mask)}"


(
    Isolate, DeleteId, Read, Choose, SetOption, Restart, Coordinate, Remove, UnsetOption, CleanRows,
    Replace, Alter, Write, Crash, Die, ComeBack,
) = Recovery.acts  # fmt: skip
OF_EACH = (DeleteId, SetOption, Restart, UnsetOption, CleanRows)
"""The steps that are done on each live node."""
LOG = Recovery.server_log()

FIVE = {"commit_indexes": (10, 11, 12, 12, 12), "dead": "C D E"}
FOUR = {"edition": "server", "commit_indexes": (2,) * 4, "dead": "C D", "majority_lives": True}
SIX = {"commit_indexes": (1, 2, 2, 2, 2, 2), "dead": "D E F", "operation": True}
MISHAPS = {"crashes": 1, "deaths": 1, "returns": 1, "changes": 1, "writes": 1}
ENTRY = declared.entry(
    Recovery,
    scenarios=(
        Scenario(
            "majority-is-lost",
            "Three of five nodes die. B knows more than A and leads, but entry 12 is lost "
            "with the dead nodes",
            {**FIVE, "operation": True, "writes": 1},
        ),
        Scenario(
            "manual-order",
            (
                "Three of five nodes die, by the manual. The published server's manual "
                "removes recovery_leader at the end"
            ),
            {**FIVE, "edition": "server"},
        ),
        Scenario(
            "voters-die-at-once",
            (
                "Three voters die at once. Five of seven nodes vote in the published "
                "server: four nodes are alive, but there is no majority"
            ),
            {"edition": "server", "commit_indexes": (3, 3, 3, 2, 3, 3, 3), "dead": "A B C"},
        ),
        Scenario(
            "majority-lives",
            (
                "Two of four nodes die. In the published server, three of them vote: two "
                "voters live, so the dead nodes can be removed"
            ),
            FOUR,
        ),
    ),
    fuzzing=Fuzzing({**SIX, **MISHAPS}, {"crash": 0.2, "die": 0.1, "return": 0.3}),
)
