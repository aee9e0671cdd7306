"""The topology upgrade: a POST, a table built from gossip, then requests are served.

A topology that gossip tells becomes one that group 0 keeps. A command of group 0 is committed by
its leader; other nodes apply it later. How long it may take until gossip has told a node of all
others is left out: the build reads what gossip tells of all. Source: Topology over Raft, "Upgrade
from legacy topology to raft-based topology"; the rows are committed one by one here, which the
documents leave open.
"""

from __future__ import annotations

from string import ascii_uppercase
from typing import Any, Literal, TypeAlias

from kit.errors import BadInput, Refusal
from kit.masks import is_majority, nodes_in
from kit.model import declared
from kit.model.declared import Node, Travel, action, always, budget, parameter, purpose, refused
from kit.model.registry import Fuzzing, Scenario
from kit.protocols.upgrade import rules

NOBODY = -1
"""No node leads group 0."""
MOST = 9
GENERATIONS, TABLE = "generations", "table"
"""The key of what ``system.cdc_generations_v3`` holds."""
NO_MAJORITY = refused("no majority of group 0 is up")
NO_LEADER = refused("group 0 has no leader with a majority")

Standing = Literal["outside", "joining", "queued", "normal"]
"""*joining*: in the old way; *queued*: a request of ``system.topology_requests`` waits."""


class TopologyNode(declared.State, frozen=True, cache_hash=True):
    """A node: whether it is up, its version, its place in the cluster, the state that it knows.

    ``reads_table``: its ring comes from ``system.topology``, not from gossip.
    """

    is_up: bool = True
    is_new: bool = True
    standing: Standing = "normal"
    view: rules.TopologyUpgradeState = rules.NOT_UPGRADED
    reads_table: bool = False


class Cluster(declared.State, frozen=True, cache_hash=True, kw_only=True):
    """Every node, and what group 0 has committed.

    ``has_feature``: all nodes support the feature, for good. ``rows`` are the nodes that
    ``system.topology`` has (a mask), ``has_generation`` says whether the CDC generation of the
    build is in ``system.cdc_generations_v3``. ``crashes`` counts what may still happen.
    """

    nodes: tuple[TopologyNode, ...] = ()
    leader: int = 0
    has_feature: bool = False
    upgrade_state: rules.TopologyUpgradeState = rules.NOT_UPGRADED
    rows: int = 0
    has_generation: bool = False
    crashes: int = 0

    @property
    def normal(self) -> int:
        """The nodes that gossip tells as normal: the members (a mask)."""
        return self.where(lambda n: n.standing == "normal")

    @property
    def answering(self) -> int:
        """The members that are up (a mask)."""
        return self.where(lambda n: n.is_up and n.standing == "normal")

    @property
    def unread(self) -> int:
        """The members that the table lacks (a mask)."""
        return self.normal & ~self.rows

    @property
    def has_majority(self) -> bool:
        """Whether a majority of the members is up."""
        return is_majority(self.answering, self.normal)

    @property
    def may_commit(self) -> bool:
        """Whether group 0 has a leader, and a majority of its members is up."""
        return self.leader != NOBODY and self.has_majority

    def knows(self, node: int) -> Cluster:
        """A node has applied all that group 0 committed; from ``done`` on it reads the table."""
        reads = self.nodes[node].reads_table or self.upgrade_state == rules.DONE
        return self.at(node, view=self.upgrade_state, reads_table=reads)

    def committed(self, state: rules.TopologyUpgradeState) -> Cluster:
        """The upgrade has another state; the leader knows it first."""
        return self.but(upgrade_state=state).knows(self.leader)


Next: TypeAlias = Cluster | Refusal | None


class TopologyUpgrade(declared.NodeModel[Cluster]):
    """A cluster of ``nodes`` whose topology goes into group 0."""

    name, title, State = "topology_upgrade", "The topology upgrade", Cluster
    premise = (
        "The topology moves from gossip into a table of group 0. "
        "The coordinator (with the crown) copies what gossip knows, node by node."
    )
    about = "A cluster whose schema is already in group 0, and nodes that want to join it."
    rests_at_goals = True

    nodes: int = parameter(3, "how many members the cluster has", ge=1, le=9)
    older: int = parameter(0, "how many members, counted from A, run an older version", ge=0, le=9)
    joiners: int = budget(1, "how many nodes can join", le=3, own=False)
    crashes: int = budget(0, "how many times a node can go down", le=MOST)
    requests_after_done: bool = declared.safeguard(
        "S-63",
        "Topology requests are served only after upgrade_state is done",
        ("INV-MEMBER", "INV-SAMESTATE"),
        smallest={"nodes": 1, "joiners": 1},
    )

    def set_up(self) -> None:
        """Every node that there may be has a name; no more are older than there are members."""
        if self.older > self.nodes:
            raise BadInput("older", self.older, f"at most {self.nodes}, the number of members")
        self.names = tuple(ascii_uppercase[: self.nodes + self.joiners])

    @property
    def under_way(self) -> str:
        """The source of the topology that goes into group 0, and who asks to join."""
        joining = "".join(f"; {name} joins" for name in self.names[self.nodes :])
        return f"the topology of {', '.join(self.names[: self.nodes])} moves to group 0{joining}"

    def start(self) -> Cluster:
        """Gossip tells the topology; the first node leads group 0."""
        inside = tuple(TopologyNode(is_new=i >= self.older) for i in range(self.nodes))
        outside = (TopologyNode(standing="outside"),) * self.joiners
        ready = self.older == 0
        return super().start().but(nodes=(*inside, *outside), has_feature=ready)

    @action(each=lambda m, s: s.where(lambda n: n.is_up and not n.is_new))
    @purpose("All nodes must support the feature before it is used.")
    def upgrade(self, s: Cluster, node: Node) -> Next:
        """{node} restarts with the newer version{ready}."""
        s = s.at(node, is_new=True)
        supported = all(each.is_new for each in s.nodes)  # who is to join is, too
        return s.but(has_feature=True) if supported else s

    @action(
        label="POST the upgrade at {node}",
        kind="POST",
        each=lambda m, s: s.answering if s.upgrade_state == rules.NOT_UPGRADED else 0,
        travels=[Travel("request", "{node}", "{leader}", "POST")],
    )
    @purpose("An operator decides when the cluster switches over.")
    def post(self, s: Cluster, node: Node) -> Next:
        """POST at {node}: upgrade_state is {state}, and the coordinator on {leader} starts."""
        # All nodes support the feature, and no topology operation runs.
        if s.upgrade_state != rules.NOT_UPGRADED:
            return refused(f"the upgrade has already begun: upgrade_state is {s.upgrade_state}")
        if older := s.where(lambda n: not n.is_new):
            reason = f"{rules.FEATURE} is not enabled: not every node is upgraded"
            return refused(reason, self.named(older))
        if joining := s.where(lambda n: n.standing == "joining"):
            return refused("a topology operation is running", self.named(joining))
        return s.committed(rules.BUILDING).knows(node) if s.may_commit else NO_LEADER

    # The coordinator builds its state

    @action(label="copy {node} into the table",
        each=lambda m, s: s.unread if s.upgrade_state == rules.BUILDING else 0,
        travels=[
            Travel("data", "gossip:{node}", "topology:{node}", "{node}",
                   "{node}'s gossip state → its row in system.topology"),
            Travel("entry", "n:{leader}", TABLE, "row of {node}",
                   "{leader} → system.topology: the row of {node}"),
        ],
    )  # fmt: skip
    @purpose("The table takes over from gossip, so it must hold what gossip knew.")
    def build(self, s: Cluster, node: Node) -> Next:
        """{leader} copies what gossip knows about {node} into system.topology."""
        return s.but(rows=s.rows | 1 << node) if s.may_commit else NO_LEADER

    @action(label="insert a CDC generation",
        kind="build",
        travels=[
            Travel("data", "n:{leader}", GENERATIONS, "generation",
                   "{leader} → system.cdc_generations_v3: a new generation")
        ],
    )  # fmt: skip
    @purpose("The streams need a generation that fits the tokens of all members.")
    def generation(self, s: Cluster) -> Next:
        """{leader} inserts a new generation into system.cdc_generations_v3."""
        # It is made of the tokens of all members.
        if s.upgrade_state != rules.BUILDING or s.has_generation:
            return None
        if s.unread:
            return refused("system.topology is not complete", self.named(s.unread))
        return s.but(has_generation=True) if s.may_commit else NO_LEADER

    @action(
        label="set upgrade_state to done",
        tag="done",
        kind="build",
        says="upgrade_state is done: {leader} serves topology requests from now on.",
    )
    @purpose("The table, not gossip, now says which node owns what.")
    def end(self, s: Cluster) -> Next:
        """The coordinator sets ``upgrade_state`` to ``done``."""
        if s.upgrade_state != rules.BUILDING:
            return None
        if not s.has_generation:
            return refused("the new CDC generation has not been inserted")
        return s.committed(rules.DONE) if s.may_commit else NO_LEADER

    @action(
        tag="apply",
        each=lambda m, s: s.where(
            lambda n: n.is_up and n.standing == "normal" and n.view != s.upgrade_state
        ),
        travels=[Travel("entry", "{leader}", "{node}", "{before.upgrade_state}")],
    )
    @purpose("A node's behavior changes once it has applied this state.")
    def apply_state(self, s: Cluster, node: Node) -> Next:
        """{node} applies what group 0 committed: upgrade_state is {state}."""
        return s.knows(node) if s.may_commit else NO_LEADER

    # Nodes join: in the old way, or by a request

    @action(
        tag="bootstrap",
        kind="join",
        unasked=True,
        each=lambda m, s: s.where(lambda n: n.standing == "outside"),
        says=lambda m, before, action, after: (
            "{node} hears that the cluster is not upgraded, so it joins in the old way: {follows}."
            if before.upgrade_state == rules.NOT_UPGRADED
            else "{node} sends {follows}; its request is queued."
        ),
        travels=[
            Travel("request", "{node}", "{leader}", "query", tells="JOIN_NODE_QUERY"),
            Travel("answer", "{leader}", "{node}", "{short}", tells="{before.upgrade_state}"),
            Travel("request", "{node}", "{leader}", "{follows}"),
        ],
    )
    @purpose("How a node joins depends on how far the upgrade has come.")
    def start_joining(self, s: Cluster, node: Node) -> Next:
        """A member's answer depends on group 0's state: join in the old way, or queue a request."""
        if not s.may_commit:
            return NO_LEADER
        old = rules.join_way(True, s.upgrade_state) == "old way"
        standing: Standing = "joining" if old else "queued"
        return s.at(node, is_up=True, standing=standing, view=s.upgrade_state)

    @action(
        kind="join",
        each=lambda m, s: s.where(lambda n: n.standing == "joining"),
        travels=lambda m, before, action, after: (
            Travel("message", action.node, name, "NORMAL") for name in m.named(before.answering)
        ),
    )
    @purpose("A join that began in the old way ends in the old way.")
    def finish(self, s: Cluster, node: Node) -> Next:
        """{node} gossips that it is normal, and joins group 0."""
        return s.at(node, standing="normal") if s.may_commit else NO_LEADER

    @action(
        kind="join",
        each=lambda m, s: s.where(lambda n: n.standing == "queued"),
        travels=[Travel("answer", "{leader}", "{node}", "response", tells="JOIN_NODE_RESPONSE")],
    )
    @purpose("Joins now go through the table.")
    def serve(self, s: Cluster, node: Node) -> Next:
        """{leader} serves the join of {node}, which takes its ring from system.topology."""
        if self.requests_after_done and s.upgrade_state != rules.DONE:
            return refused(f"upgrade_state is {rules.BUILDING}: requests wait until it is done")
        if not s.may_commit:
            return NO_LEADER
        joined = s.at(node, standing="normal", view=s.upgrade_state, reads_table=True)
        return joined.but(rows=s.rows | 1 << node)

    # Leaders and nodes come and go

    @action(each=lambda m, s: s.answering if s.leader == NOBODY else 0)
    @purpose("The new coordinator reads in group 0 how far the upgrade has come.")
    def elect(self, s: Cluster, node: Node) -> Next:
        """{node} leads group 0; its coordinator continues the upgrade from what it finds there."""
        return s.but(leader=node).knows(node) if s.has_majority else NO_MAJORITY

    @action(each=lambda m, s: s.where(lambda n: not n.is_up))
    @purpose("Until the log brings more, the node uses what it had applied.")
    def restart(self, s: Cluster, node: Node) -> Next:
        """{node} comes back and still knows upgrade_state {view}."""
        return s.at(node, is_up=True)

    @action(
        fault=True,
        spends="crashes",
        each=lambda m, s: s.where(lambda n: n.is_up and n.standing != "outside"),
        says=lambda m, before, action, after: (
            "{node} goes down but keeps its disk{leads_no_more}."
            if before.nodes[m.number(action.node)].standing == "normal"
            else "{node} goes down before it has joined: it has to start from scratch."
        ),
    )
    @purpose("The upgrade must survive the loss of a node.")
    def crash(self, s: Cluster, node: Node) -> Next:
        """A leader that goes down no longer leads; a joiner's data directory must be deleted."""
        if s.nodes[node].standing != "normal":
            return s.at(node, standing="outside")
        return s.at(node, is_up=False).but(leader=NOBODY if s.leader == node else s.leader)

    # What must hold

    @always("INV-MEMBER")
    def in_table(self, s: Cluster) -> str | None:
        """A node that uses system.topology finds every member in it."""
        reading = self.named(s.where(lambda n: n.reads_table))
        if not reading or not s.unread:
            return None
        gone = self.named(s.unread)[0]
        return f"{reading[0]} uses system.topology, but {gone} is missing from it"

    @always("INV-SAMESTATE")
    def same_ring(self, s: Cluster) -> str | None:
        """All members use the same ring."""
        normal = s.normal
        up = nodes_in(s.answering)
        rings = {s.rows if s.nodes[i].reads_table else normal: self.names[i] for i in up}
        if len(rings) < 2:
            return None
        first, second = rings.values()
        return f"{first} and {second} use different rings"

    @declared.step("INV-RAFT", on=(post, build, generation, end, finish, serve, elect))
    def majority(self, before: Cluster, act: Any, after: Cluster) -> str | None:
        """Only a leader with a majority commits, and only a majority elects a leader."""
        if before.has_majority and after.leader != NOBODY:
            return None
        return f"{self.verb(act)} was done although no leader had a majority of group 0"

    @always("INV-FEAT")
    def understood(self, s: Cluster) -> str | None:
        """No member with an older version sees the upgrade."""
        older = s.where(lambda n: not n.is_new)
        if s.upgrade_state == rules.NOT_UPGRADED or not older:
            return None
        return f"{self.named(older)[0]} does not know upgrade_state {s.upgrade_state}"

    @declared.step(title="upgrade_state follows its order")
    def state_in_order(self, before: Cluster, act: Any, after: Cluster) -> str | None:
        """The upgrade moves to the next state or stays in the current one."""
        if rules.follows(before.upgrade_state, after.upgrade_state):
            return None
        return f"upgrade_state went from {before.upgrade_state} to {after.upgrade_state}"

    @declared.goal("INV-PROGRESS", name="ends", title="The upgrade can end")
    @declared.sometimes(name="done", title="The upgrade is done")
    def is_ended(self, s: Cluster) -> bool:
        """All members know that the upgrade is done, and no node is waiting to join."""
        inside = [node for node in s.nodes if node.standing != "outside"]
        return all(n.standing == "normal" and n.is_up and n.view == rules.DONE for n in inside)

    # What is said

    def milestone(self, before: Cluster, action: Any, after: Cluster) -> str | None:
        """The feature, each state of the upgrade, a node that has joined."""
        if after.has_feature and not before.has_feature:
            return "the cluster is ready for the upgrade"
        if after.upgrade_state != before.upgrade_state:
            return f"upgrade_state: {after.upgrade_state}"
        joined = self.named(after.normal & ~before.normal)
        return f"{joined[0]} has joined" if joined else None

    def words(self, before: Cluster, action: Any, after: Cluster) -> dict[str, str]:
        """The leader, what a node knows, how it joins, and what came of the step besides."""
        node = self.number(action.node) if hasattr(action, "node") else NOBODY
        ready = after.has_feature and not before.has_feature
        old = rules.join_way(True, before.upgrade_state) == "old way"
        return {
            "leader": self.names[before.leader] if before.leader != NOBODY else "",
            "state": after.upgrade_state,
            "short": before.upgrade_state.partition("_coordinator")[0].replace("_", " "),
            "view": after.nodes[node].view,
            "follows": "GROUP0_MODIFY_CONFIG" if old else "JOIN_NODE_REQUEST",
            "ready": f". {rules.FEATURE} is enabled: the cluster is ready for the upgrade" * ready,
            "leads_no_more": ". Group 0 has no leader now" * (after.leader != before.leader),
        }

    def readable(self, s: Cluster) -> dict[str, str]:
        """Group 0 and every node."""
        return {
            "upgrade_state": s.upgrade_state,
            "leader": self.names[s.leader] if s.leader != NOBODY else "none",
            "feature": "enabled" if s.has_feature else "not enabled",
            "system.topology": ", ".join(self.named(s.rows)) or "empty",
            "CDC generation": "inserted" if s.has_generation else "not inserted",
            **dict(zip(self.names, map(in_a_line, s.nodes), strict=True)),
        }


def in_a_line(node: TopologyNode) -> str:
    """A node's standing, whether it is up, its version, and what it knows."""
    if node.standing == "outside":
        return "outside"
    version, up = "newer" if node.is_new else "older", "up" if node.is_up else "down"
    return f"{node.standing}, {up}, {version} version, knows {node.view}"


(
    Upgrade, Post, Build, Generation, End, ApplyState, StartJoining, Finish, Serve, Elect, Restart,
    Crash,
) = TopologyUpgrade.acts  # fmt: skip

ENTRY = declared.entry(
    TopologyUpgrade,
    scenarios=(
        Scenario(
            "topology-into-raft",
            (
"The topology moves into a table. The last node is upgraded, POST starts "
"the upgrade, the table fills, and a queued join is served"
),
            {"older": 1},
            script=("upgrade A", "post B", "build A", "bootstrap D", "build B", "build C",
                    "generation", "done", "serve D"),
        ),
        Scenario(
            "joined-in-the-old-way",
            (
"A node joins before the upgrade. It does so in the old way: POST waits "
"for it"
),
            {"nodes": 2},
            script=("bootstrap C", "finish C"),
        ),
        Scenario(
            "coordinator-dies-halfway",
            (
"The leader goes down halfway. The next leader continues the build from "
"what is there"
),
            {"crashes": 1, "joiners": 0},
            script=("post A", "build A", "build B", "crash A", "elect B"),
        ),
    ),
    fuzzing=Fuzzing({"nodes": 3, "older": 2, "joiners": 2, "crashes": 3}, {"crash": 0.3}),
)  # fmt: skip
