"""A recovery by RECOVERY mode: an operator's steps without group 0, then the Raft upgrade.

The operator may do any step at any time: what is refused is what a server refuses. Each node has
what it persists and the mode that it started in. Schema travels by pulls while group 0 does not
manage it. A change of ``group0_upgrade_state`` takes effect when its node restarts, which takes a
stop and a start. Sources: manual on Raft, "Raft manual recovery procedure"; Raft in Scylla, "Group
0 schema versioning" and "Discovery"; published code of the servers that still had RECOVERY mode,
and of those that limit voters.
"""

from collections.abc import Callable, Iterator
from functools import partial, wraps
from itertools import permutations
from typing import Any, TypeAlias

from kit.errors import Refusal
from kit.masks import is_majority, nodes_in, union, where
from kit.model import declared
from kit.model.declared import Node, Travel, action, always, budget, parameter, purpose, refused
from kit.model.flows import ServerLine
from kit.model.registry import Fuzzing, Scenario
from kit.protocols.recovery import lost_majority
from kit.protocols.recovery.lost_majority import MOST_FAULTS, NO_GROUP, typed
from kit.protocols.recovery.mode_cluster import MODES, Mode, ModeNode, ModeState, Value

UPGRADING = refused(  # source: manual on Raft, "Verifying that the procedure finishes"
    "Cannot perform schema or topology changes during this time; the cluster is currently "
    "upgrading to use Raft for schema operations."
)
WAITS_FOR_UPGRADE = refused("a removal must wait until the Raft upgrade has ended")
NO_REMOVAL = refused("group 0 has no majority, so it cannot remove the node")

STARTS: dict[Mode, str] = {
    "recovery": "{node} starts in RECOVERY mode, without group 0.",
    "upgrade": "{node} starts and begins the Raft upgrade{there}.",
    "synchronize": "{node} starts halfway through the Raft upgrade, {where}.",
    "group 0": "{node} starts and runs {where}.",
}

# What a node writes, in the words of the documents where they have some: manual on Raft, the logs
# of "Verifying that the Raft upgrade procedure finished successfully" and of "Raft manual recovery
# procedure". What the documents give in whole sentences is said in words of the kit's own.

GROUP0, UPGRADE = "raft_group0", "raft_group0_upgrade"
logged = partial(ServerLine, "{node}")
own_words = partial(logged, UPGRADE, own=True)

EQUAL_SCHEMA = (
    logged(UPGRADE, "synchronize_schema: my version: {version}"),
    logged(
        UPGRADE,
        "synchronize_schema: schema mismatches: {{}}. {matching} nodes had a matching version.",
    ),
    logged(UPGRADE, "synchronize_schema: finished"),
)
RECOVERY = (
    logged("group0_client", "RECOVERY mode"),
    logged(GROUP0, "setup_group0: Raft RECOVERY mode, skipping group 0 setup"),
    logged(UPGRADE, "RECOVERY mode. Not attempting upgrade"),
)
UPGRADE_BEGINS = (
    logged("features", "Feature SUPPORTS_RAFT_CLUSTER_MANAGEMENT is enabled"),
    logged(GROUP0, "Starting internal upgrade-to-raft procedure"),
    logged(UPGRADE, "starting in `use_pre_raft_procedures` state"),
    own_words("waits until every node is ready to start"),
)
GOES_ON = (logged(UPGRADE, "starting in `synchronize` state"),)
JOINED = (
    logged(UPGRADE, "Joining group 0"),
    logged(GROUP0, "joined group 0 with group id {group_id}"),
    own_words("waits until every peer has joined"),
)
SYNCHRONIZE = (
    own_words("every peer is a member of group 0"),
    own_words("waits for equal schema in group 0"),
    *EQUAL_SCHEMA,
    logged(UPGRADE, "Entering synchronize state"),
    own_words(
        "schema changes are off; if a failure stops the upgrade, it may take manual recovery"
    ),
    own_words("waits until all peers are in synchronize"),
)
FINISHED = (
    logged(UPGRADE, "All peers in synchronize state"),
    logged(UPGRADE, "synchronize_schema: collecting schema versions"),
    logged(UPGRADE, "synchronize_schema: collected remote schema versions"),
    *EQUAL_SCHEMA,
    logged(UPGRADE, "Schema synchronized"),
    logged(UPGRADE, "Raft upgrade finished"),
)
FOLLOWS = (
    own_words("another member has finished the upgrade"),
    logged(UPGRADE, "Raft upgrade finished"),
)
LOGGED_AT_START: dict[Mode, tuple[ServerLine, ...]] = {
    "recovery": RECOVERY,
    "upgrade": UPGRADE_BEGINS,
    "synchronize": GOES_ON,
}

Next: TypeAlias = ModeState | Refusal | None
own = partial(ServerLine, own=True)


def in_order(step: Any) -> Any:
    """A step of the operator: what a server lets happen waits for its place in the procedure."""

    @wraps(step)
    def ordered(self: Any, s: ModeState, *given: Any) -> Next:
        after: Next = step(self, s, *given)
        is_step = isinstance(after, ModeState)
        return self.too_early(s, step.__name__) or after if is_step else after

    return ordered


def live_where(holds: Callable[[ModeNode], bool]) -> Callable[[Any, ModeState], int]:
    """The live nodes for which something holds."""
    return lambda m, s: s.where(lambda n: n.standing == "live" and holds(n))


class RecoveryMode(lost_majority.LostMajority[ModeState]):
    """An operator recovers a group 0 by RECOVERY mode."""

    revision = 3
    name, title, State = "recovery_mode", "A lost majority, recovered with RECOVERY mode", ModeState
    premise = (
        "Without a majority of the voters, no node can change metadata. In RECOVERY "
        "mode, the live nodes work without Raft, remove the dead ones and upgrade again."
    )
    about = """
    A group 0 that lost its majority, or a Raft upgrade that is stuck, and what can still happen.

    In edition ``documents`` all members vote. In edition ``server`` at most five vote, and they
    are chosen again whenever a majority of them is up. No real server had both limited voters and
    this whole procedure. Here they meet.
    """
    rests_at_goals = True
    costs = (
        declared.Cost(
            "one-schema",
            "After a mistyped value, a column is added without group 0 while group 0 still works: "
            "nodes that run by group 0 do not pull it.",
            'Raft in Scylla, "Group 0 schema versioning"; published server, pulls of schema',
            when=lambda m: m.mistypes > 0 and m.changes > 0,
            where=lambda m, s: s.mistypes < m.mistypes and not m.apart(s) & m.ordered(s),
        ),
    )

    stuck: bool = parameter(
        False,
        "whether the nodes died during a Raft upgrade, which needs every node (then "
        "fewer than half of the nodes can be dead)",
    )
    crashes: int = budget(0, "how many times a node can crash", le=MOST_FAULTS)
    deaths: int = budget(0, "how many more nodes can die for good", le=MOST_FAULTS)
    returns: int = budget(0, "how many of the given-up nodes can come back", le=MOST_FAULTS)
    changes: int = budget(
        0, "how many columns can be added", title="schema changes", le=MOST_FAULTS
    )
    mistypes: int = budget(
        0,
        "how many times group0_upgrade_state can be mistyped",
        title="mistyped values",
        le=MOST_FAULTS,
    )

    # fmt: off
    order: bool = declared.safeguard(
        "S-98", "The operator takes the steps in the order of the procedure", ("INV-SCHEMA",),
        smallest={"commit_indexes": (1, 2, 2, 2), "dead": "C D", "returns": 1})
    isolation: bool = declared.safeguard(
        "S-50", "Nodes that are given up are cut off", ("INV-LIN",),
        smallest={"commit_indexes": (1, 1, 1), "dead": "B C", "returns": 2, "changes": 2})
    # fmt: on

    def set_up(self) -> None:
        """Numbers of groups are no more than names."""
        super().set_up()
        self.symmetry, self.settled = ModeState.renumbered, self.forgotten

    def start(self) -> ModeState:
        """The dead are dead; the others run in the old group, or are stuck in its upgrade."""
        everybody, entries = (1 << len(self.names)) - 1, max(self.commit_indexes)
        value: Value = "synchronize" if self.stuck else "use_post_raft_procedures"
        nodes = tuple(
            ModeNode(
                standing="dead" if dead else "live",
                mode="down" if dead else MODES[value],
                value=value,
                group=NO_GROUP if dead else lost_majority.OLD,
                group_id=lost_majority.OLD,
                discovery=everybody,
                history=index,
                columns=(1 << index) - 1,
                version=index,
                applied=index,
            )
            for index, name in zip(self.commit_indexes, self.names, strict=True)
            for dead in (name in self.given_up,)
        )
        logs = (tuple((before, before + 1) for before in range(entries)),)
        begun = super().start().but(nodes=nodes, groups=(everybody,), logs=logs, entries=entries)
        return begun.but(voters=self.first_voters)

    def forgotten(self, before: ModeState, after: ModeState) -> Any:
        """After each step groups are forgotten; where few vote, they are chosen again.

        That does a side of the firewall with a majority of a group's voters.
        """
        s = after.forgetting()
        if self.edition == "documents":
            return s

        def sides(group: int) -> tuple[int, ...]:
            return tuple({s.running(i) for i, node in enumerate(s.nodes) if node.group == group})

        return self.voting(s, sides)

    # What the operator does

    def too_early(self, s: ModeState, step: str) -> Refusal | None:
        """Why a step of the operator does not have its place here."""
        if not self.order:
            return None
        due = (each for each in self.due(s) if self.isolation or type(each) is not Isolate)
        if (first := next(due, None)) is None:
            return refused("the procedure asks for no step now")
        if self.acts[type(first)].name == step:
            return None
        said = f"first: {self.label(s, first)}"
        return refused("the procedure has another step before this one", evidence=(said,))

    def down(self, s: ModeState, node: int) -> Refusal | None:
        """A query needs the node's server."""
        return None if s.nodes[node].is_up else refused("the node is down", (self.names[node],))

    @action()
    @purpose("Nodes that are given up must not interfere with the others.")
    def isolate(self, s: ModeState) -> Next:
        """A firewall cuts off the nodes that are given up."""
        return None if s.isolated or not s.dead else s.but(isolated=True)

    @action(
        label="set recovery on {node}",
        tag="set",
        each=live_where(lambda n: n.value != "recovery"),
        travels=typed("recovery", "group0_upgrade_state is recovery"),
    )
    @purpose("In RECOVERY mode, a node runs without group 0.")
    @in_order
    def set_recovery(self, s: ModeState, node: Node) -> Next:
        """The operator sets group0_upgrade_state on {node} to recovery, for its next start."""
        return self.down(s, node) or s.at(node, value="recovery")

    @action(
        kind="restart",
        each=live_where(lambda n: n.is_up),
        travels=typed("stop", "stop the server"),
        logs=[own("{node}", "init", "shutting down")],
    )
    @purpose("A server loads its state from disk when it starts.")
    @in_order
    def stop(self, s: ModeState, node: Node) -> Next:
        """The operator stops {node}."""
        return s.at(node, mode="down", group=NO_GROUP)

    def says_start(self, before: ModeState, act: Any, after: ModeState) -> str:
        """The mode in which a node starts."""
        return STARTS[after.nodes[self.number(act.node)].mode]

    def logs_start(self, before: ModeState, act: Any, after: ModeState) -> Iterator[ServerLine]:
        """A start says by what a node runs."""
        node = after.nodes[self.number(act.node)]
        value = node.value or "no row"
        yield own(act.node, "init", f"starts; group0_upgrade_state: {value}")
        if node.group != NO_GROUP:
            text = "group id present: starts its Raft server in group {group_id}"
            yield own(act.node, "raft_group0", text)
        yield from LOGGED_AT_START.get(node.mode, ())

    @action(
        tag="start",
        kind="restart",
        each=live_where(lambda n: not n.is_up),
        says=says_start,
        logs=logs_start,
    )
    @purpose("How a node runs depends on what it finds on its disk.")
    def start_server(self, s: ModeState, node: Node) -> Next:
        """The node starts in the mode that its ``group0_upgrade_state`` names."""
        return s.started(node)

    def answers(self, before: ModeState, act: Any, after: ModeState) -> Iterator[Travel]:
        """The answers that the operator reads at every live node."""
        label = "RECOVERY mode" if isinstance(act, ReadLogs) else "one version"
        for name in self.named(after.live):
            text = f"{name} → the operator: {label}"
            yield Travel("answer", self.spot(name), "operator", label, text, leg=0)

    @action(label="read the logs", tag="logs", kind="check", travels=answers)
    @purpose("The operator makes sure that all nodes are in RECOVERY mode.")
    @in_order
    def read_logs(self, s: ModeState) -> Next:
        """The operator finds RECOVERY mode in the log of every live node."""
        if s.logs_read:
            return None
        if others := self.named(s.where(lambda n: n.standing == "live" and n.mode != "recovery")):
            return refused("some nodes are not in RECOVERY mode", others)
        return s.but(logs_read=True)

    @action(
        tag="removenode",
        kind="remove",
        each=lambda m, s: s.dead,
        travels=lambda m, before, action, after: (
            [] if before.remover is None else [m.asked_to_remove(before.remover, action)]
        ),
        logs=lambda m, before, action, after: [
            own(m.named(before.answering)[0], "storage_service", f"{action.node} is removed")
        ],
    )
    @purpose("Dead nodes must be removed before a new group can form.")
    @in_order
    def remove(self, s: ModeState, node: Node) -> Next:
        """The operator removes {node} from the cluster.

        A node that is heard cannot be removed, and a removal needs all other nodes. Outside
        RECOVERY mode it needs group 0, which takes the node out of its members, and waits for the
        end of a Raft upgrade.
        """
        if s.heard(node, s.live):
            return refused("the node is alive", (self.names[node],))
        if down := s.where(lambda n: n.standing == "live" and not n.is_up):
            return refused("some live nodes are down", self.named(down))
        if s.remover is None:
            modes = {n.mode for n in s.nodes if n.standing == "live"}
            return WAITS_FOR_UPGRADE if modes & {"upgrade", "synchronize"} else NO_REMOVAL
        s = s.at(node, standing="removed", mode="down", group=NO_GROUP)
        if s.remover is None or s.nodes[s.remover].mode == "recovery":
            return s
        group = s.nodes[s.remover].group
        return s.in_group(group, s.groups[group] & ~(1 << node), s.logs[group])

    @action(
        label="clear system.discovery on {node}",
        tag="discovery",
        kind="delete",
        each=live_where(lambda n: n.discovery > 0),
        travels=typed("TRUNCATE", "TRUNCATE system.discovery"),
    )
    @purpose("Old peers must not lead the node back to the old group.")
    @in_order
    def truncate_discovery(self, s: ModeState, node: Node) -> Next:
        """The operator clears system.discovery on {node}: the node forgets its old peers."""
        return self.down(s, node) or s.at(node, discovery=0)

    @action(
        label="clear the history on {node}",
        tag="history",
        kind="delete",
        each=live_where(lambda n: n.history > 0),
        travels=typed("TRUNCATE", "TRUNCATE system.group0_history"),
    )
    @purpose("State ids of the old group mean nothing in a new group.")
    @in_order
    def truncate_history(self, s: ModeState, node: Node) -> Next:
        """The operator clears system.group0_history on {node}: no state ids are left."""
        return self.down(s, node) or s.at(node, history=0)

    @action(
        label="clear the group id on {node}",
        tag="id",
        kind="delete",
        each=live_where(lambda n: n.group_id != NO_GROUP),
        travels=typed("DELETE id", "DELETE raft_group0_id"),
    )
    @purpose("With the old id, the node would go back to the old group.")
    @in_order
    def drop_id(self, s: ModeState, node: Node) -> Next:
        """The operator deletes the value of raft_group0_id on {node}."""
        return self.down(s, node) or s.at(node, group_id=NO_GROUP)

    @action(
        label="compare the schema versions",
        tag="describecluster",
        kind="check",
        travels=answers,
        says="nodetool describecluster shows that the live nodes have one schema version.",
    )
    @purpose("The new group starts with one schema, so all nodes must have the same one.")
    @in_order
    def compare(self, s: ModeState) -> Next:
        """The operator compares the schema versions of all live nodes."""
        if s.compared:
            return None
        if down := s.where(lambda n: n.standing == "live" and not n.is_up):
            return refused("some nodes do not answer", self.named(down))
        if len({n.schema_version for n in s.nodes if n.standing == "live"}) > 1:
            return refused("nodes have different schema versions", self.named(s.live))
        return s.but(compared=True)

    @action(
        label="remove the recovery row on {node}",
        kind="leave",
        each=live_where(lambda n: n.value in ("recovery", "unknown")),
        travels=typed("DELETE row", "DELETE group0_upgrade_state"),
    )
    @purpose("Without the row, the node upgrades to Raft again at its next start.")
    @in_order
    def unset(self, s: ModeState, node: Node) -> Next:
        """The operator deletes the row group0_upgrade_state on {node}."""
        return self.down(s, node) or s.at(node, value="")

    # What servers do on their own

    def gains(self, s: ModeState) -> Iterator[tuple[int, int]]:
        """Nodes that do not run by group 0, and every other version that brings them more."""
        for pair in s.pairs():
            for node, source in permutations(pair):
                at, other = s.nodes[node], s.nodes[source]
                apart = at.schema_version != other.schema_version
                if at.mode != "group 0" and apart and s.merged(node, source) != s:
                    yield node, source

    @action(
        each=gains,
        travels=[
            Travel("data", "n:{source}", "n:{node}", "schema",
                   "{source} → {node}: schema mutations")
        ],
        logs=[own("{node}", "migration_manager", "pulled the schema of {source}")],
    )  # fmt: skip
    @purpose("Without Raft, nodes copy schema changes from each other.")
    def pull(self, s: ModeState, node: Node, source: Node) -> Next:
        """{node} pulls {source}'s schema, because their versions differ."""
        return s.merged(node, source)

    def snapshot(self, before: ModeState, act: Any, after: ModeState) -> Iterator[Travel]:
        """The state of the group that a node joins, from the first member that is up; a node that
        creates one has asked all that it knows.
        """
        node = self.number(act.node)
        if self.is_alone(after, act):
            for name in self.named(before.contacts(node)):
                yield from declared.there_and_back(act.node, name, "group?", "none")
        if others := after.running(node) & ~(1 << node):
            source = self.names[next(nodes_in(others))]
            text = f"{source} → {act.node}: snapshot of {{group}}"
            yield Travel("data", self.spot(source), self.spot(act.node), "snapshot", text)

    @action(
        kind="upgrade",
        each=live_where(lambda n: n.waits_for_group),
        says=lambda m, before, action, after: (
            "{node} finds no group 0 among its peers and creates {group}."
            if m.is_alone(after, action)
            else "{node} joins {group} and gets the group's state as a snapshot."
        ),
        travels=snapshot,
        logs=JOINED,
    )
    @purpose("All nodes must be in one group before the group manages the schema.")
    def enter(self, s: ModeState, node: Node) -> Next:
        """A node joins the group 0 that it finds, by snapshot, or creates one.

        Every peer has to answer first. Then discovery needs a group with a majority, or an answer
        from every node that it asks.
        """
        if deaf := s.unheard(node, s.peers):
            return refused("the upgrade waits until every peer answers", self.named(deaf))
        group, contacts = s.found_group(node), s.contacts(node)
        if group != NO_GROUP:
            there = s.where(lambda n: n.group == group) & s.groups[group]
            if not is_majority(s.heard(node, there), s.voters_of(group)):
                return refused(f"{self.group_name(group)} has no majority to let the node in")
            return self.let_in(s.at(node, discovery=s.peers), node, group)
        taking_part = s.heard(node, s.where(lambda n: n.waits_for_group))
        if contacts & ~taking_part:
            silent = self.named(contacts & ~taking_part)
            return refused("discovery waits for all nodes that it knows about", silent)
        first = next(nodes_in(contacts | 1 << node))
        if first != node:
            return refused("another node creates the group", (self.names[first],))
        return s.at(node, discovery=s.peers).created(node)

    def let_in(self, s: ModeState, node: int, group: int) -> ModeState:
        """A node joins a group, whose state is merged into its own."""
        source = next(i for i in nodes_in(s.contacts(node)) if s.nodes[i].group == group)
        newest = max(s.nodes[node].history, s.nodes[source].history)
        s = s.in_group(group, s.groups[group] | 1 << node, s.logs[group]).merged(node, source)
        applied = s.nodes[source].applied
        return s.at(node, group=group, group_id=group, history=newest, applied=applied)

    def of_two_schemas(self, s: ModeState, node: int) -> Refusal | None:
        """Every member of a node's group answers, with its schema version."""
        members = s.groups[s.nodes[node].group]
        if deaf := s.unheard(node, members):
            return refused("some members of the node's group 0 do not answer", self.named(deaf))
        mine = s.nodes[node].schema_version
        apart = s.where(lambda n: n.schema_version != mine) & members
        return refused("schema versions differ", self.named(apart)) if apart else None

    @action(
        kind="upgrade",
        each=live_where(lambda n: n.mode == "upgrade" and n.group != NO_GROUP),
        logs=SYNCHRONIZE,
    )
    @purpose("The schema must not change during the handover.")
    def synchronize(self, s: ModeState, node: Node) -> Next:
        """{node} sees all peers in its group with one schema and enters synchronize. From now on,
        schema changes are refused.
        """
        if outside := s.peers & ~s.groups[s.nodes[node].group]:
            return refused("some peers have not joined group 0", self.named(outside))
        entered = s.at(node, value="synchronize", mode="synchronize")
        return self.of_two_schemas(s, node) or entered

    def ahead(self, s: ModeState, node: int) -> int:
        """The members of its group that a node hears and that have finished the upgrade."""
        group = s.nodes[node].group
        done = s.where(lambda n: n.mode == "group 0" and n.group == group)
        return done & s.heard(node, s.groups[group])

    @action(
        kind="upgrade",
        each=live_where(lambda n: n.mode == "synchronize" and n.group != NO_GROUP),
        logs=lambda m, before, action, after: (
            FOLLOWS if m.ahead(before, m.number(action.node)) else FINISHED
        ),
    )
    @purpose("One log orders all schema changes again.")
    def finish(self, s: ModeState, node: Node) -> Next:
        """{node} finishes the Raft upgrade.

        Some member has already finished, or all are in ``synchronize``, with the same schema
        version.
        """
        members = s.groups[s.nodes[node].group]
        if not self.ahead(s, node):
            heard = s.heard(node, members)
            if late := members & ~(heard & s.where(lambda n: n.mode == "synchronize")):
                return refused("some members are not in synchronize yet", self.named(late))
            if refusal := self.of_two_schemas(s, node):
                return refusal
        return s.at(node, value="use_post_raft_procedures", mode="group 0")

    # What clients do

    @action(
        spends="changes",
        each=lambda m, s: s.where(lambda n: n.is_up),
        says=lambda m, before, action, after: (
            "A client adds column {after.entries} at {node}. It is applied by {took}{skipped}."
            if before.nodes[m.number(action.node)].mode == "group 0"
            else "A client adds column {after.entries} at {node} without group 0. {node} deletes "
            "group0_schema_version and sets committed_by_group0 to false, so its schema version is "
            "a hash again."
        ),
        travels=lambda m, before, action, after: (
            Travel("entry", action.node, name, f"column {after.entries}")
            for name in m.named(before.running(m.number(action.node)))
            if before.nodes[m.number(action.node)].mode == "group 0"
        ),
        logs=[own("{node}", "migration_manager", "a client changes the schema")],
    )
    @purpose("Clients carry on during a recovery.")
    def alter(self, s: ModeState, node: Node) -> Next:
        """A client adds a column at a node, in whatever mode the node runs.

        Group 0 commits an entry, and needs its majority. In ``synchronize`` no change is possible.
        Without group 0 the node changes its own schema, with a tombstone for
        ``group0_schema_version``.
        """
        at, column = s.nodes[node], s.entries + 1
        if at.mode == "synchronize":
            return UPGRADING
        if at.mode != "group 0":
            columns = at.columns | 1 << s.entries
            return s.but(entries=column).at(node, columns=columns, version=-column)
        if not s.may_commit(node):
            return lost_majority.NO_MAJORITY
        log = (*s.logs[at.group][: at.applied], (at.history, column))
        answered = s.answered | (0 if s.is_walled_off(at) else 1 << s.entries)
        changed = at.applying(at.history, column).but(applied=len(log))
        s = s.in_group(at.group, s.groups[at.group], log).but(entries=column, answered=answered)
        return s.put(node, changed).caught_up(node)

    # What goes wrong

    @action(spends="mistypes", each=live_where(lambda n: n.value != "unknown"))
    @purpose("Operators make mistakes, and some of them show only later.")
    def mistype(self, s: ModeState, node: Node) -> Next:
        """The operator mistypes group0_upgrade_state on {node}. An unknown value counts as recovery
        at the next start.
        """
        return self.down(s, node) or s.at(node, value="unknown")

    @action(
        fault=True, spends="crashes", each=live_where(lambda n: n.is_up), hand=declared.off_stage
    )
    @purpose("Nodes can also stop during a recovery.")
    def crash(self, s: ModeState, node: Node) -> Next:
        """{node} goes down and keeps what it has persisted."""
        return s.at(node, mode="down", group=NO_GROUP)

    @action(fault=True, spends="deaths", each=lambda m, s: s.live)
    @purpose("When too many nodes are dead, group 0 has no majority.")
    def die(self, s: ModeState, node: Node) -> Next:
        """{node} dies for good. The operator gives it up as well.

        Anything that no other node knows has died with it.
        """
        if s.live == 1 << node:
            return None
        s = s.at(node, standing="dead", mode="down", group=NO_GROUP)
        left = union(s.nodes[i].columns for i in nodes_in(s.live))
        return s.but(answered=s.answered & left)

    def reviving(self, s: ModeState) -> int:
        """The dead, once the first step cut them off: before it a node that is back needs none."""
        kept_away = self.order and self.isolation and not s.isolated
        return 0 if kept_away else s.where(lambda n: n.standing == "dead")

    @action(
        label="{node} comes back",
        fault=True,
        spends="returns",
        tag="return",
        each=reviving,
        says=lambda m, *step: f"A node that was given up comes back: {m.says_start(*step)}",
        logs=logs_start,
    )
    @purpose("A node that was given up acts on what it has stored.")
    def come_back(self, s: ModeState, node: Node) -> Next:
        """The node runs from what it has persisted."""
        return s.at(node, standing="returned").started(node)

    # What must hold

    @always("INV-ONEGROUP")
    def one_group(self, s: ModeState) -> str | None:
        """Nodes that talk as one cluster are in one group."""
        return self.torn(s)

    @always("INV-SCHEMA")
    def one_schema(self, s: ModeState) -> str | None:
        """All members of a group 0 have the same schema."""
        for i, other in self.of_other_schemas(s):
            pair, group = f"{self.names[i]} and {self.names[other]}", s.nodes[i].group
            return f"{pair} run in {self.group_name(group)} with different schemas"
        return None

    def of_other_schemas(self, s: ModeState) -> Iterator[tuple[int, int]]:
        """Every two nodes that run by one group 0, which has a majority, and differ in columns."""
        for i, node in enumerate(s.nodes):
            if node.mode == "group 0" and s.may_commit(i):
                for other in nodes_in(s.running(i)):
                    there = s.nodes[other]
                    if there.mode == "group 0" and there.columns != node.columns:
                        yield i, other

    def apart(self, s: ModeState) -> int:
        """The columns in which nodes of one group 0 differ (a mask)."""
        return union(s.nodes[i].columns ^ s.nodes[j].columns for i, j in self.of_other_schemas(s))

    def ordered(self, s: ModeState) -> int:
        """The columns that a group 0 has put in order, before the disaster or since (a mask)."""
        return s.answered | (1 << max(self.commit_indexes)) - 1

    @declared.step("INV-LIN", on=(alter,))
    def linearizable(self, before: ModeState, act: Any, after: ModeState) -> str | None:
        """Every schema change sees all earlier ones."""
        node = self.number(act.node)
        missed = before.answered & ~after.nodes[node].columns
        apart = before.nodes[node].mode != "group 0" or before.is_walled_off(before.nodes[node])
        if apart or not missed:
            return None
        column = next(nodes_in(missed)) + 1
        return f"{act.node} does not see column {column}, which was added before"

    @declared.step("INV-RAFT", on=(alter,))
    def majority(self, before: ModeState, act: Any, after: ModeState) -> str | None:
        """Every change of group 0 is committed by a majority of its voters."""
        node = self.number(act.node)
        if before.nodes[node].mode != "group 0" or before.may_commit(node):
            return None
        return f"{act.node} changed the schema although its group has no majority"

    @declared.step("INV-MEMBER", on=(remove,))
    def taken_out(self, before: ModeState, action: Any, after: ModeState) -> str | None:
        """Nodes are removed by group 0 or in RECOVERY mode, and only if no live node hears them."""
        if before.heard(self.number(action.node), before.live):
            return f"{action.node} is removed although the others still hear it"
        committed = before.remover is not None
        return None if committed else f"{action.node} is removed without group 0 or RECOVERY mode"

    @declared.goal("INV-PROGRESS", name="ends", title="The cluster can become whole")
    @declared.sometimes()
    def whole(self, s: ModeState) -> bool:
        """The cluster is whole."""
        return s.is_whole

    # The documented order, and what is said

    def suggest(self, s: ModeState) -> Any | None:
        """The first step of the documented order that is due and not refused.

        What servers do on their own comes first, so that the operator looks at what they made.
        """
        if s.is_whole:
            return None
        due = (*(a for a in self.actions(s) if isinstance(a, BY_SERVERS)), *self.due(s))
        return next((each for each in due if self.refusal(s, each) is None), None)

    def due(self, s: ModeState) -> Iterator[Any]:
        """The actions that the documented order asks for now, the first steps first."""
        live = [(self.names[i], s.nodes[i]) for i in nodes_in(s.live)]
        if s.dead and not s.isolated:
            yield Isolate()
        yield from (StartServer(name) for name, n in live if not n.is_up)
        if s.can_change_schema:
            yield from map(Remove, self.named(s.dead))
        if not s.logs_read or s.dead or s.is_half_recovered:
            yield from (SetRecovery(name) for name, n in live if n.value != "recovery")
            yield from (Stop(name) for name, n in live if n.mode != "recovery")
            yield from (ReadLogs(),) if not s.logs_read else ()
            yield from map(Remove, self.named(s.dead))
        elif wrong := [name for name, n in live if n.value in ("recovery", "unknown")]:
            yield from (TruncateDiscovery(name) for name, n in live if n.discovery)
            yield from (TruncateHistory(name) for name, n in live if n.history)
            yield from (DropId(name) for name, n in live if n.group_id != NO_GROUP)
            yield from (Compare(),) if not s.compared else ()
            yield from map(Unset, wrong)
        else:
            yield from (Stop(name) for name, n in live if n.mode == "recovery")

    def is_alone(self, s: ModeState, act: Any) -> bool:
        """Whether the node of an action is the only member of its group."""
        node = self.number(act.node)
        return s.groups[s.nodes[node].group] == 1 << node

    def milestone(self, before: ModeState, action: Any, after: ModeState) -> str | None:
        """All in RECOVERY mode, nobody dead any more, a new group, the end."""
        if after.is_whole and not before.is_whole:
            return "the cluster is whole"
        if type(action) is Enter and self.is_alone(after, action):
            return f"{self.group_name(after.nodes[self.number(action.node)].group)} is created"
        if after.logs_read and not before.logs_read:
            return "all nodes are in RECOVERY mode"
        return "no dead node is left" if before.dead and not after.dead else None

    def words(self, before: ModeState, action: Any, after: ModeState) -> dict[str, str]:
        """The group of the node, by its name and its id, and its schema version."""
        if not hasattr(action, "node"):
            return {}
        number = self.number(action.node)
        node, running = after.nodes[number], before.running(number)
        steps = zip(before.nodes, after.nodes, strict=True)
        took = running & where(now.columns > was.columns for was, now in steps)
        passed = ", ".join(self.named(running & ~took))
        group = self.group_name(node.group)
        place = f"in {group}" if group else "without a group 0"
        return {
            "group": group,
            "where": place,
            "there": "" if node.waits_for_group and node.mode == "upgrade" else f", {place}",
            "group_id": lost_majority.group_uuid(node.group),
            "version": node.version_id,
            "took": ", ".join(self.named(took)),
            "skipped": passed and f", not by {passed}, whose history ends with another state id",
            "matching": str(after.groups[node.group].bit_count()),
        }

    def readable(self, s: ModeState) -> dict[str, str]:
        """The operator's view, and every node."""
        return {
            "dead nodes": "cut off" if s.isolated else "not cut off",
            "logs": "RECOVERY mode on all nodes" if s.logs_read else "not read",
            "describecluster": "one schema version" if s.compared else "not run",
            **dict(zip(self.names, map(self.in_a_line, s.nodes), strict=True)),
        }

    def in_a_line(self, node: ModeNode) -> str:
        """The group of a node, and what it has persisted."""
        if node.standing == "removed":
            return "removed"
        group = f" of {self.group_name(node.group)}" if node.group != NO_GROUP else ""
        parts = (
            "back" if node.standing == "returned" else "",
            "dead" if node.standing == "dead" else f"{node.mode_text}{group}",
            f"row {node.value}" if node.value else "no row",
            self.stored_id(node.group_id),
            f"discovery {', '.join(self.named(node.discovery))}" if node.discovery else "",
            f"history up to {node.history}" if node.history else "no history",
            f"schema version {node.version_text}",
        )
        return ", ".join(filter(None, parts))


(
    Isolate, SetRecovery, Stop, StartServer, ReadLogs, Remove, TruncateDiscovery, TruncateHistory,
    DropId, Compare, Unset, Pull, Enter, Synchronize, Finish, Alter, Mistype, Crash, Die, ComeBack,
) = RecoveryMode.acts  # fmt: skip
BY_OPERATOR = (
    *(Isolate, SetRecovery, Mistype, Stop, StartServer, ReadLogs, Remove),
    *(TruncateDiscovery, TruncateHistory, DropId, Compare, Unset),
)
"""What the operator does; the rest happens."""

BY_SERVERS = (Pull, Enter, Synchronize, Finish)
"""What servers do on their own."""

LOG = RecoveryMode.server_log()

FIVE = {"commit_indexes": (10, 11, 11, 11, 11), "dead": "C D E"}
ENTRY = declared.entry(
    RecoveryMode,
    scenarios=(
        Scenario(
            "recovery-mode",
            "Three of five nodes die. A and B enter RECOVERY mode, remove the dead nodes "
                "and upgrade to Raft again",
            FIVE,
        ),
        Scenario(
            "upgrade-is-stuck",
            (
"An upgrade is stuck. One of three nodes died in a Raft upgrade: while "
"another restarts, there is no quorum"
),
            {"commit_indexes": (1, 1, 1), "dead": "C", "stuck": True},
        ),
        Scenario(
            "dies-in-recovery-mode",
            (
"Four of seven nodes die, then one more. C dies during the procedure and "
"is removed as well"
),
            {"commit_indexes": (2,) * 7, "dead": "D E F G", "deaths": 1},
            script=("isolate", "set A", "set B", "set C", "stop A", "start A", "die C"),
        ),
        Scenario(
            "three-voters-die",
            (
"Three voters die at once. Five of seven nodes vote, as in the published "
"server: four nodes are alive, but there is no majority"
),
            {"edition": "server", "commit_indexes": (2,) * 7, "dead": "A B C", "returns": 1},
        ),
        Scenario(
            "change-in-recovery-mode",
            "The schema changes in RECOVERY mode. Its version is a hash again",
            {**FIVE, "changes": 2},
            script=("isolate", "set A", "set B", "stop A", "start A", "stop B", "start B",
                    "alter A"),
        ),
    ),
    fuzzing=Fuzzing(
        {"crashes": 1, "returns": 1, "changes": 2, "mistypes": 1},
        {"crash": 0.2, "return": 0.3, "mistype": 0.2},
        comes_to_goals=False,  # an operator may set and unset a row for ever
    ),
)  # fmt: skip
