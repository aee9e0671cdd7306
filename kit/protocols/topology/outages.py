"""What becomes of nodes: they die and come back, are cut off and heard again, or move.

Group 0 knows nodes by their host ids, and no table of it holds an address. The others look for a
host id at the address that they know; until they have heard of the new one, it is as if it were cut
off. Who has left is not heard at any address. Source: blog post on 6.0, "Additional updates" (host
id in every handshake; a quick restart with another address).
"""

from collections.abc import Iterator
from typing import Any

from msgspec.structs import replace

from kit.masks import nodes_in
from kit.model import flows
from kit.model.declared import Node, Travel, action, off_stage, purpose, refused
from kit.protocols.topology import control
from kit.protocols.topology.control import ControlState, Next, Travels
from kit.protocols.topology.coordinator import advanced, shut_down, task_of
from kit.protocols.topology.rules.cluster import NO_ROW, NOBODY, in_state, with_node
from kit.protocols.topology.rules.work import under_way

TAKING_PART = ("normal", "bootstrapping", "replacing", "decommissioning", "rebuilding")


def address_of(s: ControlState, node: int, *, behind: int = 0) -> str:
    """The address of a node now, or so many changes ago: the second part of it counts them."""
    return flows.address_of(node, s.addresses[node] - behind if s.addresses else 0)


def restarted(s: ControlState, node: int) -> ControlState:
    """The state once a node is up again: with a majority that it hears, it catches up at once."""
    bit = 1 << node
    s = s.but(up=s.up | bit)
    return control.caught_up(s, bit) if control.has_majority(s) and s.reachable & bit else s


class Outages(control.Control):
    """Outages of nodes, and how they come back."""

    def has_a_place(self, s: ControlState) -> int:
        """The nodes that would be taken in again after a restart (a mask): none on their way out.

        Nor those that the model has dead from the start: they are to be removed or replaced. Who is
        ignored counts as dead for good.
        """
        absent = in_state(s.topology, NO_ROW, "left", "removing")
        absent |= self.start_down | s.topology.ignored
        operation = under_way(s.topology)
        if operation is not None and operation.state == "left_token_ring":
            absent |= 1 << operation.node  # it was told to shut down, or will be found to be down
        return (1 << len(self.names)) - 1 & ~absent

    def died(self, s: ControlState, node: int) -> ControlState:
        """The state once a node is dead; a stream that it takes part in is interrupted."""
        if task_of(s, self.setting).needs >> node & 1:
            s = s.but(attempted=s.attempted.but(streaming=False))
        return shut_down(s, node)

    @action(tag="restart", each=lambda m, s: m.has_a_place(s) & ~s.up, unasked=True, relied=False)
    @purpose("It still has what is on its disk; the log provides the rest.")
    def restart_member(self, s: ControlState, node: Node) -> Next:
        """{node} comes back and catches up if it can."""
        return restarted(s, node)

    @action(kind="restart", each=lambda m, s: s.cut & ~in_state(s.topology, "left"), unasked=True)
    @purpose("Messages get through again, so the node can catch up.")
    def reconnect(self, s: ControlState, node: Node) -> Next:
        """The network between {node} and the others works again."""
        return s.but(cut=s.cut & ~(1 << node))

    def mortal(self, s: ControlState) -> Iterator[int]:
        """The nodes that may die, the coordinator first: that is the one worth killing."""
        mortal = s.up & ~in_state(s.topology, NO_ROW, "left")
        leader = mortal & 1 << s.coordinator if s.coordinator != NOBODY else 0
        yield from nodes_in(leader)
        yield from nodes_in(mortal & ~leader)

    @action(
        kind="fault",
        tag="crash",
        label=lambda m, s, action: (
            "kill the coordinator, {node}"
            if m.number(action.node) == s.coordinator
            else "crash {node}"
        ),
        each=mortal,
        spends="faults.crashes",
        fault=True,
        hand=off_stage,
    )
    @purpose("Nodes can stop at any moment, even in the middle of an operation.")
    def crash_member(self, s: ControlState, node: Node) -> Next:
        """{node} goes down, and its disk survives."""
        return self.died(s, node)

    @action(
        tag="exclude",
        label=lambda m, s, action: (
            "exclude {node}: nodetool excludenode" if m.limited else "put {node} into ignore_nodes"
        ),
        each=lambda m, s: in_state(s.topology, *TAKING_PART) & ~s.up & ~s.topology.ignored,
        spends="faults.exclusions",
        unasked=True,
        instructed="a node is down, and nobody was told to do anything about it",
    )
    @purpose("No node should wait for a node that is dead for good.")
    def exclude_node(self, s: ControlState, node: Node) -> Next:
        """{node} is excluded and banned: it counts as dead for good. Removals, replacements
        and tablets no longer wait for it; a join still does.
        """
        if blocked := control.majority_refusal(s):
            return blocked
        s = control.with_topology(s, replace(s.topology, ignored=s.topology.ignored | 1 << node))
        # It may be the last one that a barrier waits for.
        return s if s.coordinator == NOBODY else advanced(s, self.setting)

    @action(
        kind="fault",
        tag="cut",
        label="cut off {node}",
        each=lambda m, s: s.topology.members & s.reachable,
        spends="faults.cuts",
        fault=True,
        hand=lambda m, s, a: ((a.node,), tuple(n for n in m.names if n != a.node)),
    )
    @purpose("A node that no other node hears may still be alive.")
    def cut_off(self, s: ControlState, node: Node) -> Next:
        """{node} is cut off from the others."""
        return s.but(cut=s.cut | 1 << node)

    def stopped(self, s: ControlState, node: int) -> ControlState:
        """The state once a node has stopped, if it ran."""
        return control.settled(self.died(s, node)) if s.up >> node & 1 else s

    def _move_words(self, before: ControlState, action: Any, after: ControlState) -> str:
        node = self.number(action.node)
        old, new = address_of(before, node), address_of(after, node)
        stay = f"Its host id and its state ({after.topology.nodes[node].state}) stay the same"
        moved = f"{action.node} is restarted: it was at {old} and is now at {new}"
        return f"{moved}. {stay}; the others still look for it at {old}."

    @action(
        tag="readdress",
        label="restart {node} with another address",
        each=has_a_place,
        spends="faults.addresses",
        unasked=True,
        says=_move_words,
    )
    @purpose("A node is known by its host id, so its address may change.")
    def restart_elsewhere(self, s: ControlState, node: Node) -> Next:
        """A node stops, if it is running, and starts at another address with the same host id."""
        s = self.stopped(s, node)
        changes = list(s.addresses or (0,) * len(s.applied))
        changes[node] += 1
        return restarted(s.but(addresses=tuple(changes), unheard=s.unheard | 1 << node), node)

    def _shard_words(self, before: ControlState, action: Any, after: ControlState) -> str:
        row = after.topology.nodes[self.number(action.node)]
        begins = f"{action.node} is restarted with {row.shards} shards and stores this in its row"
        stay = f"Its host id, tokens and state ({row.state}) stay the same"
        return f"{begins} (state {after.state_id}). {stay}."

    @action(
        tag="reconfigure",
        kind="readdress",
        label="restart {node} with another configuration",
        each=has_a_place,
        spends="faults.configurations",
        unasked=True,
        says=_shard_words,
    )
    @purpose("The other nodes must know how many shards the node has.")
    def restart_configured(self, s: ControlState, node: Node) -> Next:
        """A node starts with a different number of shards and commits the new number to its row."""
        s = restarted(self.stopped(s, node), node)
        if blocked := control.majority_refusal(s):
            return blocked
        if s.apart >> node & 1:
            return refused("the node cannot reach group 0, which stores its configuration")
        row = s.topology.nodes[node]
        return control.with_topology(s, with_node(s.topology, node, shards=row.shards + 1))

    def _gossiped(self, before: ControlState, action: Any, after: ControlState) -> Travels:
        at = address_of(after, self.number(action.node))
        for other in self.named(after.reachable & after.topology.members):
            yield Travel("message", action.node, other, at, tells=f"I am at {at}")

    @action(
        tag="gossip",
        label="gossip {node}: the others hear where {node} is",
        each=lambda m, s: s.up & s.unheard & ~in_state(s.topology, "left"),
        says=lambda m, before, action, after: (
            f"The others hear that {action.node}, with the same host id, is now at "
            f"{address_of(after, m.number(action.node))}."
        ),
        travels=_gossiped,
    )
    @purpose("The other nodes need the new address to reach the node.")
    def hear_address(self, s: ControlState, node: Node) -> Next:
        """The others hear the new address of a host id."""
        if s.cut >> node & 1:
            return refused("the node is cut off from the others")
        return restarted(s.but(unheard=s.unheard & ~(1 << node)), node)
