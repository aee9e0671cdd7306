"""Topology over group 0: one coordinator on the leader walks nodes through the tables.

Clients appear as one request that runs by some version, data not at all: what reads and writes see
while a range moves is another model's. Configuration changes of group 0 and what nodes ask of it
are one step each; the coordinator's own commands are decided and committed in two. Sources:
Topology over Raft; blog post on 6.0, "Driving Topology Changes from a Centralized Topology
Coordinator".
"""

from collections.abc import Iterator
from functools import lru_cache
from typing import Any

from msgspec.structs import replace

from kit.errors import Refusal, counted
from kit.masks import nodes_in, where
from kit.model import declared
from kit.model.declared import Node, Travel, action, always, entry, purpose, refused, step
from kit.model.model import TransitionRows
from kit.model.registry import Fuzzing, Scenario
from kit.protocols.topology import control, coordinator
from kit.protocols.topology.control import ControlState, Next, Travels, majority_refusal, view_of
from kit.protocols.topology.outages import Outages, address_of
from kit.protocols.topology.rules import cluster, work
from kit.protocols.topology.rules import requests as asking
from kit.protocols.topology.rules.decide import decide
from kit.protocols.topology.rules.editions import MACHINES, NODE, REPLACED
from kit.protocols.topology.rules.machines import (
    BOUNDARY,
    IN_TRANSITION,
    EdgeRow,
    Machine,
    Tables,
    machine_of_request,
)
from kit.protocols.topology.rules.work import goes_on, number_of, state_of, under_way
from kit.protocols.topology.symmetry import ControlSymmetry


def row_name(machine: str, edge: EdgeRow) -> str:
    """``bootstrapping: join_group0 → left_token_ring (rollback)``."""
    kind = "" if edge.kind == "happy" else f" ({edge.kind})"
    source, target = edge.source or "null", edge.target or "null"
    return f"{machine}: {source} → {target}{kind}"


def machines(model: control.Control) -> Iterator[Machine]:
    """The machines of the operations that a model's requests may begin."""
    tables = MACHINES[model.setting.tables]
    names = [machine_of_request(r.kind, zero_token=r.zero_token) for r in model.plan.requests]
    track = ["tablets"] * bool(model.tablets or model.on_tablets or model.resizes)
    # Who switches balancing sets a cell at once: that has no machine.
    return (tables[name] for name in dict.fromkeys([*names, *track]) if name in tables)


def rows(model: control.Control) -> TransitionRows:
    """The edges of those machines, and of the diagram of nodes as far as they lead along it."""
    drawn = [(machine.name, edge) for machine in machines(model) for edge in machine.edges]
    names = [row_name(name, edge) for name, edge in drawn]
    known = set(names)

    def taken(before: Any, action: Any, after: Any) -> tuple[str, ...]:
        steps = taken_edges(before.topology, after.topology, model.setting.tables)
        return tuple(row_name(*step) for step in steps if row_name(*step) in known)

    return TransitionRows(tuple(names), taken)


def taken_edges(
    before: cluster.ClusterTopology, after: cluster.ClusterTopology, whose: Tables
) -> Iterator[tuple[str, EdgeRow]]:
    """The machine and the edge that lead from a topology to the next one."""
    old, new = under_way(before), under_way(after)
    if new is not None and (old is None or (old.machine, old.node) != (new.machine, new.node)):
        edges = MACHINES[whose][new.machine].edges
        begins = [edge for edge in edges if edge.source == BOUNDARY]
        yield new.machine, next((e for e in begins if e.target == after.transition), begins[0])
    if old is None:
        # A request that is done at once takes all edges of its machine.
        for was, now in zip(before.requests, after.requests, strict=False):
            if now.done and not (was.done or now.error) and now.kind in AT_ONCE:
                yield from ((now.kind, edge) for edge in MACHINES[whose][now.kind].edges)
        return
    machine = MACHINES[whose][old.machine]
    for edge in machine.edges:
        if edge.source == old.state and _fits(edge, before, after, old):
            yield machine.name, edge


def _fits(
    edge: EdgeRow,
    before: cluster.ClusterTopology,
    after: cluster.ClusterTopology,
    old: work.TopologyOperation,
) -> bool:
    node, ends = old.node, edge.target == BOUNDARY
    if not ends and edge.target != after.transition:
        return False
    number = number_of(after if node != cluster.NOBODY else before, node)
    was, now = (bool(number) and t.requests[number - 1].error for t in (before, after))
    if node == cluster.NOBODY:
        # The track of tablets has two states, and no request: one may lead to the other.
        new = under_way(after)
        still = new is not None and old.machine == new.machine
        return ends != still and ("error" in edge.effects) == (now and not was)
    becomes = edge.becomes or before.nodes[node].state
    return after.nodes[node].state == becomes and (was or ("error" in edge.effects) == now)


AT_ONCE = ("cleanup", "keyspace_rf_change")
"""Requests that hold no state of the cluster: they go from waiting to done in one command."""

COMMITS = (coordinator.Coordinator.commit_decision, coordinator.Coordinator.commit_deposed)
MOVES = (Outages.restart_elsewhere, Outages.restart_configured, Outages.hear_address)
NODE_EDGES = {
    (cluster.NO_ROW, "none"),
    (REPLACED.source, REPLACED.target),
    *((edge.source, edge.target) for edge in NODE.edges),
}
BEHIND_BARRIERS = ("write_both_read_new", "tablet_resize_finalization")
"""The states that are left once nobody can be served by an older version."""
TRACKS = ("tablet_migration", "tablet_draining", "rollback_to_normal")
"""The states in which tablet transitions may be recorded in edition ``documents``."""


DRAIN = "published coordinator, global_token_metadata_barrier"
"""Where the server goes on past a drain that has failed."""


def drains_fail(m: control.Control) -> bool:
    """Whether a drain may fail and its barrier goes on: in the server's edition."""
    causes = m.failures, m.crashes, m.cuts, m.start_down
    return m.setting.edition == "server" and any(causes)


class Topology(control.Serving, coordinator.Coordinator, Outages):
    """A cluster of ``nodes`` members that carries out ``operations``."""

    revision = 3
    name, title = "topology", "Topology over group 0: the coordinator"
    premise = (
        "One coordinator changes the cluster step by step and waits for the nodes in between. The "
        "operator (op) makes requests. The coordinator wears the crown."
    )
    about = "A cluster, its requests, and the faults that can happen."
    rests_at_goals = True
    costs = (
        declared.Cost(
            "sessions",
            "After a drain has failed, work of a session that is closed may still be running.",
            DRAIN,
            # A TRUNCATE throws when its drain fails.
            when=lambda m: (
                drains_fail(m)
                and m.late > 0
                and any(asks.kind != "truncate_table" for asks in m.plan.requests)
            ),
        ),
        declared.Cost(
            "shut-down-unused",
            "After a drain has failed, a request may still write to a node that is shut down.",
            DRAIN,
            when=lambda m: drains_fail(m) and m.clients > 0,
        ),
        declared.Cost(
            "live-versions",
            "After a drain has failed, a request may be served at a version two steps old.",
            DRAIN,
            when=lambda m: drains_fail(m) and m.clients > 0,
        ),
        declared.Cost(
            "older-over",
            "After a drain has failed, a node that was cut off may still serve an older request.",
            DRAIN,
            when=lambda m: drains_fail(m) and m.clients > 0 and m.cuts > 0,
        ),
    )
    first = (
        "make_request", "take_decision", "commit_decision", "do_work", "answer_barrier",
        "move_tablets", "apply_topology", "report_clean", "publish_generation", "unlock_topology",
    )  # fmt: skip

    def set_up(self) -> None:
        """Bystanders, and the numbers of state ids, are interchangeable."""
        super().set_up()
        self.symmetry = ControlSymmetry(self)

    def _request_words(self, action: Any) -> str:
        return asking.request_text(self.plan.requests[action.number], self.names)

    def _request_label(self, s: ControlState, action: Any) -> str:
        words, kind = self._request_words(action), self.plan.requests[action.number].kind
        return f"{words}: {asking.COMMANDS[kind]}" if kind in asking.COMMANDS else words

    def _request_sent(self, before: ControlState, action: Any, after: ControlState) -> Travels:
        asks = self.plan.requests[action.number]
        # Who is removed is dead: an operator asks at another node.
        name = "" if asks.node == cluster.NOBODY or asks.kind == "remove" else self.names[asks.node]
        said = f"{name or 'an operator'} → group 0: {self._request_words(action)}"
        way = self.spot(name) if name else control.NETWORK, coordinator.LOG
        yield Travel("request", *way, asks.kind, said)

    @action(
        tag="request",
        by="op",
        each=lambda m, s: (s.made,) if s.made < len(m.plan.requests) else (),
        verb=_request_words,
        label=_request_label,
        says=lambda m, before, action, after: (
            f"The request {m._request_words(action)} is written to the tables "
            f"(state {after.state_id})."
        ),
        travels=_request_sent,
    )
    @purpose("A request in the tables survives the loss of the coordinator.")
    def make_request(self, s: ControlState, number: int) -> Next:
        """An operator or a client makes the next request; it goes into the tables."""
        asks = self.plan.requests[number]
        blocked = majority_refusal(s)
        given = s.topology, asks, s.reachable, self.setting, self.names
        if blocked := blocked or asking.refusal(*given):
            return blocked
        topology = asking.requested(s.topology, asks, self.setting)
        away = asking.going_away(topology, asks)
        topology = replace(topology, ignored=topology.ignored | away)
        if self.limited:
            topology = replace(topology, nonvoters=topology.nonvoters | away)
        # Who asks to join is up, also a node that has left and was shut down.
        up = s.up | 1 << asks.node if asks.kind in ("join", "replace") else s.up
        s = control.with_topology(s, topology).but(made=s.made + 1, up=up)
        # Who is given up may be the last one that a barrier waits for.
        return s if s.coordinator == cluster.NOBODY else coordinator.advanced(s, self.setting)

    def lagging(self, s: ControlState) -> int:
        """The nodes that are heard and have not applied all (a mask)."""
        newest = len(s.views) - 1
        return where(map(newest.__gt__, s.applied)) & s.reachable if newest else 0

    def _version_words(self, before: ControlState, action: Any, after: ControlState) -> str:
        node = self.number(action.node)
        view, number = view_of(after, node), view_of(after, node).generation
        writes = f" It writes CDC logs for generation {number}."
        said = f"{action.node} now works with version {view.version}, fence {view.fence_version}."
        return said + writes * (number != view_of(before, node).generation)

    def _version_sent(self, before: ControlState, action: Any, after: ControlState) -> Travels:
        version = f"version {view_of(after, self.number(action.node)).version}"
        said = f"group 0 → {action.node}: {version}"
        yield Travel("entry", coordinator.LOG, self.spot(action.node), version, said)

    @action(tag="apply", each=lagging, says=_version_words, travels=_version_sent)
    @purpose("A node routes by the version that it has applied.")
    def apply_topology(self, s: ControlState, node: Node) -> Next:
        """A node applies the next command that changes its view."""
        return s.but(applied=(*s.applied[:node], s.applied[node] + 1, *s.applied[node + 1 :]))

    @action(
        tag="clean",
        each=lambda m, s: where(entry.cleanup == "running" for entry in s.topology.nodes),
        travels=[Travel("entry", "n:{node}", coordinator.LOG, "clean", "{node} → group 0: clean")],
    )
    @purpose("Data that a node does not own must not come back to life.")
    def report_clean(self, s: ControlState, node: Node) -> Next:
        """{node} has deleted the data that it does not own."""
        if not s.reachable >> node & 1:
            return refused("the node is cut off", (self.names[node],))
        clean = cluster.with_node(s.topology, node, cleanup="clean")
        return majority_refusal(s) or control.with_topology(s, clean)

    @action(tag="publish", by=coordinator.Coordinator.by_leader)
    @purpose("Stream readers must know where to look next.")
    def publish_generation(self, s: ControlState) -> Next:
        """A CDC generation is published to stream readers."""
        left = s.topology.unpublished
        if not (self.publishing and left):
            return None
        published = replace(s.topology, unpublished=left - 1)
        return self.may_lead(s) or control.with_topology(s, published)

    @action(tag="unlock", kind="request", by="op")
    @purpose("While the lock is set, no other operation begins.")
    def unlock_topology(self, s: ControlState) -> Next:
        """The lock is removed."""
        if s.topology.transition != "lock":
            return None
        return majority_refusal(s) or control.with_topology(s, replace(s.topology, transition=""))

    def is_over(self, s: ControlState) -> bool:
        """Whether nothing is under way, and nothing waits."""
        return decide(s.topology, s.reachable, self.setting).kind == "rest"

    def suggest(self, s: ControlState) -> Any | None:
        """The next step when nothing goes wrong: the coordinator's work, then what nodes do."""
        if (usual := super().suggest(s)) is not None or self.is_over(s):
            return usual
        # Nothing else helps: work has to fail, or somebody has to lead, or to come back.
        if self.busy(s) is None and coordinator.racks_against(s, self.task(s), self.setting):
            return FailWork()
        return next((a for a in self.actions(s) if self.kind(a) in ("elect", "restart")), None)

    def find(self, s: ControlState, verb: str) -> tuple[Any, Refusal | None] | None:
        """The option that goes by a verb, in the tables' words or in an operator's."""
        return super().find(s, asking.stored_words(verb))

    def milestone(self, before: ControlState, action: Any, after: ControlState) -> str | None:
        """The transition state that a step enters, or the end of an operation."""
        if before.topology.transition != after.topology.transition:
            return after.topology.transition or "no transition"
        pairs = zip(before.topology.nodes, after.topology.nodes, strict=True)
        entered = next((new.state for old, new in pairs if old.state != new.state), None)
        return "asks to join" if entered == "none" else entered

    def readable(self, s: ControlState) -> dict[str, str]:
        """The state as a person reads it: the tables' static cells, the coordinator, every node."""
        topology = s.topology
        leader = "nobody" if s.coordinator == cluster.NOBODY else self.names[s.coordinator]
        decision, command = coordinator.decision_of(s, self.setting), s.attempted.command
        reason, _ = coordinator.said_of(s, self.setting)
        return {
            "transition state": topology.transition or "null",
            "version": f"{topology.version}, fence {topology.fence_version}",
            "session": str(topology.session or "none"),
            "group 0": f"state {s.state_id}, members {' '.join(self.named(topology.members))}",
            "coordinator": f"{leader}: {decision.kind}, {reason}",
            "in hand": "nothing" if command is None else self.sets(s, command),
            "left behind": "nothing" if not s.leftover else f"work of session {s.leftover}",
            **{name: self.node_words(s, i) for i, name in enumerate(self.names)},
        }

    def node_words(self, s: ControlState, node: int) -> str:
        """A node: its row, and what no table tells."""
        entry = s.topology.nodes[node]
        if entry.state == cluster.NO_ROW:
            return "no row yet"
        words = [entry.state, *(["asks to " + entry.request] if entry.request else [])]
        if node in nodes_in(s.topology.members):
            words.append(f"works with version {view_of(s, node).version}")
        words += ["down"] * (not s.up >> node & 1) + ["cut off"] * (s.cut >> node & 1)
        words += [f"is at {address_of(s, node)}"] * bool(s.addresses and s.addresses[node])
        words += ["not known to the others there"] * (s.unheard >> node & 1)
        words += ["ignored, so banned" if self.limited else "ignored"] * (
            s.topology.ignored >> node & 1
        )
        words += [f"cleanup {entry.cleanup}"] * (entry.cleanup != "clean")
        words += [f"a request at version {s.client_version} runs"] * (s.client == node)
        return ", ".join(words)

    @step("INV-MEMBER", on=MOVES, when=lambda m: m.addresses + m.configurations > 0)
    def identity(self, before: ControlState, action: Any, after: ControlState) -> str | None:
        """A node with another address or configuration is still the same node."""
        # No row (but the cell of what changed), no member and no command changes.
        old, new = before.topology, after.topology
        node, stores = self.number(action.node), isinstance(action, RestartConfigured)
        rows = cluster.with_node(new, node, shards=old.nodes[node].shards).nodes
        if (old.nodes, old.members) != (rows, new.members):
            return f"{action.node} changed more than its address or its shards"
        moved = after.state_id - before.state_id
        made = counted(moved, "command")
        return None if moved == stores else f"{action.node} committed {made} to group 0"

    @always("INV-EXCL")
    def one_operation(self, s: ControlState) -> str | None:
        """At most one node is in transition."""
        moving = [e.state for e in s.topology.nodes if e.state in IN_TRANSITION]
        return f"{' and '.join(moving)} at the same time" if len(moving) > 1 else None

    @step("INV-EXCL", on=COMMITS)
    def own_state(self, before: ControlState, action: Any, after: ControlState) -> str | None:
        """The transition state belongs to the operation that is under way."""
        operation = under_way(after.topology)
        if operation is None or goes_on(operation, self.setting):
            return None
        return f"{operation.machine} has no state {operation.state or 'null'}"

    # From release 2026.3 on an operation may come in between: then tablets wait, recorded.
    @always("INV-EXCL", when=lambda m: not m.setting.has("join-first"))
    def tablets_apart(self, s: ControlState) -> str | None:
        """Tablets move in their own track."""
        if s.topology.tablets != "moving":
            return None
        where = s.topology.transition or "null"
        return None if where in TRACKS else f"tablets move while the transition state is {where}"

    @step("INV-EXCL", on=(coordinator.Coordinator.move_tablets,))
    def tablets_hold(self, before: ControlState, action: Any, after: ControlState) -> str | None:
        """No tablet advances while a node operation is under way."""
        if (operation := under_way(before.topology)) is None or operation.state in TRACKS:
            return None
        return f"tablets advanced during {operation.machine}"

    @always()
    def tokenless(self, s: ControlState) -> str | None:
        """A node without tokens owns no ranges."""
        for row in s.topology.nodes:
            if row.zero_token and row.tokens:
                return f"a zero-token node in state {row.state} has tokens"
        return None

    @step("INV-MEMBER")
    def left_final(self, before: ControlState, action: Any, after: ControlState) -> str | None:
        """A node that has left stays out."""
        if before.topology is after.topology:
            return None
        for old, new in zip(before.topology.nodes, after.topology.nodes, strict=True):
            if old.state == "left" != new.state:
                return f"a node that had left is now {new.state}"
        return None

    @always("INV-MEMBER")
    def members(self, s: ControlState) -> str | None:
        """Normal nodes are in group 0; a newcomer is not before it is accepted."""
        # Every normal node is in group 0, and nobody is whose request was not accepted yet.
        # Edition server takes a replaced node out of group 0 one step before its row says so.
        replaced = {e.replaced for e in s.topology.nodes if e.state == "replacing"}
        for node, row in enumerate(s.topology.nodes):
            inside = s.topology.members >> node & 1
            if row.state == "normal" and not inside and node not in replaced:
                return "a normal node is not in group 0"
            if row.state in (cluster.NO_ROW, "none") and inside:
                return f"a node in state {row.state or 'no row'} is in group 0"
        return None

    @always("INV-MEMBER")
    def left_silent(self, s: ControlState) -> str | None:
        """A node that was removed or replaced serves no requests."""
        # A node that others took out is not up, and so serves no client any more.
        # Who leaves by itself knows of it, and is told to shut down.
        rows, requests = s.topology.nodes, s.topology.requests
        gone = [request.node for request in requests if request.kind == "remove"]
        gone += [rows[request.node].replaced for request in requests if request.kind == "replace"]
        heard = any(rows[node].state == "left" and s.reachable >> node & 1 for node in gone)
        return "a node that was removed or replaced is up and reachable" if heard else None

    @step("INV-NORES", on=COMMITS)
    def clean_first(self, before: ControlState, action: Any, after: ControlState) -> str | None:
        """A node that gets ranges back is clean."""
        # Nobody gets ranges back, by another's leaving, while it keeps data that it does not own.
        rows = before.topology.nodes
        dirty = any(
            rows[i].cleanup != "clean"
            for i in nodes_in(cluster.in_state(before.topology, "normal") & before.reachable)
        )
        for old, new in zip(rows, after.topology.nodes, strict=True) if dirty else ():
            if old.state != new.state and new.state in ("decommissioning", "removing"):
                return "ranges come back to a node that did not clean up"
        return None

    @always("INV-SESSION", name="sessions")
    def of_its_session(self, s: ControlState) -> str | None:
        """No work runs after its session has ended."""
        # What was left behind does not run once a barrier has passed since its session was closed.
        # A node that is on its way out is not asked by that barrier: it is shut down next.
        operation = under_way(s.topology)
        if operation and operation.state == "left_token_ring" and operation.node == s.leftover_at:
            return None
        if s.sealed and s.leftover_at != cluster.NOBODY:
            done = "a barrier that followed the session's end"
            return f"work of session {s.leftover} still runs after {done}"
        return None

    @step("INV-ONCE", on=COMMITS)
    def guarded(self, before: ControlState, action: Any, after: ControlState) -> str | None:
        """A command takes effect only on the state that it was based on."""
        deposed = isinstance(action, CommitDeposed)
        command = before.deposed if deposed else before.attempted.command
        if command is None or after.state_id in (before.state_id, command.new):
            return None
        built = command.new - 1
        return f"a command based on state {built} took effect on state {before.state_id}"

    @step("INV-RAFT")
    def majority(self, before: ControlState, action: Any, after: ControlState) -> str | None:
        """Nothing is committed, and no leader elected, without a majority of group 0."""
        elects = before.coordinator != after.coordinator != cluster.NOBODY
        voting = after if isinstance(action, RestartConfigured) else before  # it is up by then
        if (before.state_id == after.state_id and not elects) or control.has_majority(voting):
            return None
        done = "a coordinator was elected" if elects else f"state {after.state_id} was committed"
        return f"{done} without a majority"

    @step("INV-FENCE")
    def versions(self, before: ControlState, action: Any, after: ControlState) -> str | None:
        """Versions only increase, and the fence is never above the version."""
        old, new = before.topology, after.topology
        if new.version < old.version or new.fence_version < old.fence_version:
            return "a version decreased"
        return "the fence is above the version" if new.fence_version > new.version else None

    @step("INV-FENCE", on=(control.Serving.serve_request,))
    def live_versions(self, before: ControlState, action: Any, after: ControlState) -> str | None:
        """No replica serves a request below its fence, or below the last fence but one."""
        # What the last barrier asked for, or is still to ask for, may be in use: an operation ends,
        # and another begins, without one (as after a barrier that failed).
        version, replica = before.client_version, self.number(action.replica)
        fence = max(before.fence_before, view_of(before, replica).fence_version)
        if version >= fence or not control.served(before, replica, self.setting):
            return None
        return f"{action.replica} served version {version}, below the fence {fence}"

    @step("INV-STREAM")
    def older_over(self, before: ControlState, action: Any, after: ControlState) -> str | None:
        """No older request can be served once the barrier has passed."""
        # Streaming begins, and the read switch ends, once nobody can be served by an older version;
        # no more does a new map of tablets come before.
        # A rebuild streams outside any transition, without a barrier: by every version that the
        # fence still lets pass requests write to all that they write to by the newest one.
        streams = after.attempted.streaming and not before.attempted.streaming
        streams = streams and bool(before.topology.transition)
        switched = before.topology.transition != after.topology.transition
        switched = switched and before.topology.transition in BEHIND_BARRIERS
        if not streams and not switched:
            return None
        if before.client == cluster.NOBODY or before.client_version >= before.topology.version:
            return None
        for replica in nodes_in(before.topology.members & before.reachable):
            if cluster.is_served(
                before.client_version, view_of(before, replica), self.setting.safeguards
            ):
                said = "streaming began" if streams else "the operation continued"
                late = f"an older request of {self.names[before.client]}"
                return f"{said} while {self.names[replica]} would still serve {late}"
        return None

    @step("INV-AVAIL", on=(coordinator.Coordinator.do_work,))
    def shut_down_unused(
        self, before: ControlState, action: Any, after: ControlState
    ) -> str | None:
        """No node writes to a node that is told to shut down."""
        operation = under_way(before.topology)
        if operation is None or operation.state != "left_token_ring":
            return None
        task = coordinator.task_of(before, self.setting)
        if task.work is None or task.work.name != "shut_down":
            return None
        if state_of(operation, self.setting).writes == "old":
            return None  # a joiner that failed: nobody writes to it since the rollback's barrier
        others = before.topology.members & before.reachable & ~(1 << operation.node)
        newest = before.topology.version
        older = [i for i in nodes_in(others) if view_of(before, i).version < newest]
        if older:
            return f"{self.names[older[0]]} still writes to a node that is being shut down"
        if before.client not in (cluster.NOBODY, operation.node) and before.client_version < newest:
            who = f"a request from {self.names[before.client]}"
            return f"{who} still writes to a node that is being shut down"
        return None

    @step("INV-STREAM")
    def no_way_back(self, before: ControlState, action: Any, after: ControlState) -> str | None:
        """Reads do not go back to the old replicas."""
        if before.topology is after.topology:
            return None
        operation, later = under_way(before.topology), under_way(after.topology)
        if operation is None or later is None or operation.node != later.node:
            return None
        reads = state_of(operation, self.setting).reads
        if reads == "new" and later.state in ("left_token_ring", "rollback_to_normal"):
            back = state_of(later, self.setting).reads
            return "reads went back to the old replicas" if back == "old" else None
        return None

    @step()
    def node_edges(self, before: ControlState, action: Any, after: ControlState) -> str | None:
        """Node states change as the diagram allows."""
        if before.topology is after.topology:
            return None
        for old, new in zip(before.topology.nodes, after.topology.nodes, strict=True):
            if old.state != new.state and (old.state, new.state) not in NODE_EDGES:
                return f"a node went from {old.state or 'no row'} to {new.state or 'no row'}"
        return None

    @step()
    def transition_edges(
        self, before: ControlState, action: Any, after: ControlState
    ) -> str | None:
        """Transition states change as the tables allow."""
        change = before.topology.transition, after.topology.transition
        if change[0] == change[1] or change in edges_of(self.setting.tables):
            return None
        return f"the transition state went from {change[0] or 'null'} to {change[1] or 'null'}"

    @declared.sometimes(title="A request is carried out")
    def success(self, s: ControlState) -> bool:
        """All requests were made, and at least one was carried out."""
        rows = s.topology.requests
        carried_out = any(row.done and not row.error for row in rows) or not rows
        return s.made == len(self.plan.requests) and carried_out

    @declared.goal("INV-PROGRESS")
    def ends(self, s: ControlState) -> bool:
        """Every operation can end, unless a majority of group 0 is dead."""
        return self.is_over(s) or not control.has_living_majority(s)


@lru_cache
def edges_of(whose: Tables) -> set[tuple[str, str]]:
    """The changes of the transition state that these tables allow."""
    machines = [machine for machine in MACHINES[whose].values() if machine is not NODE]
    pairs = {(edge.source, edge.target) for machine in machines for edge in machine.edges}
    # In edition server a join goes before tablets that move, and goes back to them.
    rests = ("", "tablet_migration") if whose == "server" else ("",)
    return {(a.replace(BOUNDARY, x), b.replace(BOUNDARY, x)) for a, b in pairs for x in rests}


(
    MakeRequest, TakeDecision, CommitDecision, DoWork, AnswerBarrier, MoveTablets, ApplyTopology,
    ReportClean, PublishGeneration, UnlockTopology, BeginRequest, ServeRequest, LeaveBehind,
    LateArrival, EndLeftover, FindImbalance, FindResize, PauseWork, FailWork, CommitDeposed,
    ElectCoordinator, RestartMember, Reconnect, CrashMember, ExcludeNode, CutOff, RestartElsewhere,
    RestartConfigured, HearAddress,
) = Topology.acts  # fmt: skip
ControlAction = Topology.Action
TopologyParameters = Topology.Parameters

SCENARIOS = (
    Scenario(
        "join-with-coordinator",
        (
            "A node joins, step by step. D passes four transition states, three of them "
            "with a barrier (Topology over Raft)"
        ),
        {"operations": ("join D",)},
    ),
    Scenario(
        "stuck-barrier",
        "A barrier waits for an old request. D joins while a client's request may still run",
        {"operations": ("join D",), "clients": 1, "lag": False},
    ),
    Scenario(
        "replace-with-coordinator", "D replaces C, which is dead", {"operations": ("replace D C",)}
    ),
    Scenario(
        "decommission-with-coordinator",
        "A node leaves. C is told to shut down once no node writes to it",
        {"operations": ("leave C",)},
    ),
    Scenario(
        "removenode-with-coordinator",
        "A dead node is removed. The others stream the data of C",
        {"operations": ("remove C",)},
    ),
    Scenario(
        "rebuild-with-coordinator",
        "A node fetches its data again. While C does so, the cluster has no transition state",
        {"operations": ("rebuild C",)},
    ),
    Scenario(
        "queue-of-requests",
        "Three requests wait in line. The coordinator takes them one by one",
        {"operations": ("rebuild A", "leave C", "join D")},
        script=("rebuild A", "leave C", "join D"),
    ),
    Scenario(
        "rack-would-be-empty",
        (
            "The last node of a rack cannot leave. B drains, so C is the last one: the "
            "server refuses at once. Only the published server checks racks"
        ),
        {"edition": "server", "operations": ("leave B", "leave C"), "keyspaces": ("ks dc1=r1,r2",)}
        | {"racks": ("dc1/r1", "dc1/r2", "dc1/r2"), "on_tablets": ("A", "B")},
        script=("leave B",),
    ),
    Scenario(
        "five-of-seven-vote",
        (
            "Five of seven members vote. They are in two datacenters; if a voter dies, "
            "another member votes instead. This is the published server; in the "
            "documents, all seven vote"
        ),
        {
            "edition": "server",
            "nodes": 7,
            "operations": ("rebuild A",),
            "racks": ("dc1/r1", "dc1/r2", "dc1/r3", "dc1/r1", "dc2/r1", "dc2/r2", "dc2/r3"),
            "crashes": 1,
        },
        script=("rebuild A", "crash B"),
    ),
    Scenario(
        "coordinator-dies",
        "The coordinator dies. Between decision and commit; another continues from the tables",
        {"operations": ("join D",), "crashes": 1},
        script=("join D", "decide", "commit", "work", "crash A", "elect B"),
    ),
    Scenario(
        "resize-follows-the-track",
        (
            "A split waits for a move. A table is ready to be split while tablets move: "
            "the new map waits until the moves end"
        ),
        {"operations": (), "tablets": 1, "resizes": 1},
        script=("imbalance", "resize"),
    ),
)
# Faults are rare, so that operations come far enough to meet them everywhere. Edition server breaks
# promises where drains fail (tests/protocols/topology/test_search.py): walks are of the other one.
ASKED = ("join E", "leave D", "rebuild C", "new_cdc_generation", "cleanup")
BUDGETS = {"failures": 2, "crashes": 1, "changes": 1, "clients": 3, "late": 1, "addresses": 1}
FUZZING = Fuzzing(
    {"edition": "documents", "nodes": 4, "operations": ASKED, **BUDGETS},
    {"fault": 0.05, "readdress": 0.05, "elect": 0.02, "client": 0.3},
)
ENTRY = entry(Topology, scenarios=SCENARIOS, rows=rows, fuzzing=FUZZING)
