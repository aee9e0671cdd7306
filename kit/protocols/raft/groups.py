"""Several groups of Raft on the same nodes, over one network: a UUID tells whose a message is.

Each group has its own log, leader and options. A timeout may run out at any time.
Source: Scylla, Raft in Scylla, "Raft application in Scylla".
"""

from collections.abc import Iterator
from typing import Annotated, Any, TypeAlias

from msgspec import Struct

from kit.errors import Refusal
from kit.model import declared
from kit.model.actors import STILL, ActorState, NetworkModel, Post, Turn, receives
from kit.model.declared import Node, action, always, parameter, purpose, refused
from kit.model.network import DeliverMessage, Envelope, words
from kit.model.registry import Fuzzing, Scenario
from kit.protocols.raft import core
from kit.protocols.raft.messages import Message
from kit.protocols.raft.rules.configuration import Member
from kit.protocols.raft.state import Leader, Options, Output, Server
from kit.protocols.raft.words import data_text, message_text, server_text

IDS = {
    "schema": "5c8e0a10-0000-1000-8000-00000000a001",
    "data": "da7a0b20-0000-1000-8000-00000000b002",
}
UUIDS = tuple(IDS.values())
EDITIONS = (Options("server", timers=False), Options("documents", timers=False))
"""The options of each group: they differ."""
Servers: TypeAlias = tuple[Server, ...]
Group: TypeAlias = Annotated[int, declared.Each(lambda m: tuple(IDS), by_place=True)]
EVENTS = {
    "campaign": (
        "{node} has not heard from a leader of {group} in time: it asks who would vote for it.",
        "Each group elects its own leader; two groups can have different leaders.",
    ),
    "write": (
        "A client writes {held}: {node} appends it to the log of {group}.",
        "Each group has its own log: a command in one is not an entry in the other.",
    ),
    "remind": (
        "{node} tells the other members of {group} how much is committed.",
        "Followers learn from the leader's next message what a majority has stored.",
    ),
    "snapshot": (
        "{node} takes a snapshot of {group}, which replaces the entries up to index {applied}.",
        "A log must not grow forever, so a snapshot can take the place of applied entries.",
    ),
    "remove": (
        "{node} starts to remove {gone} from {group}: the new configuration is now in its log.",
        "A change to a group's members is an entry in its log, and no other group sees it.",
    ),
}
"""What may happen to a group at a node: in words, and why that is so."""
Event: TypeAlias = Annotated[str, declared.Each(tuple(EVENTS))]


class GroupMessage(Struct, frozen=True, tag="of", cache_hash=True):
    """A message, with the id of the group that it belongs to."""

    group: str
    message: Message

    @property
    def name(self) -> str:
        """The group's name."""
        return [*IDS][UUIDS.index(self.group)]


class RaftGroups(NetworkModel):
    """Nodes with a server of each group. A node's state is its servers, a group after another."""

    name, title = "raft_groups", "Two Raft groups on the same nodes"
    premise = (
        "Nodes run two groups over one network. "
        "Each group has a UUID, which routes its messages and is the key of its stored rows."
    )
    about = "How many nodes there are, and how far the groups can get."
    nodes: int = parameter(3, "how many nodes there are", ge=1, le=5)
    terms: int = parameter(
        1, "the last term in which a server can ask for votes", ge=1, le=5, counts=True
    )
    entries: int = parameter(
        3, "the last index that a command from a client can get", ge=1, le=9, counts=True
    )

    def set_up(self) -> None:
        """Nodes with addresses, of different formats, which only the transport reads."""
        self.connect(tuple("ABCDE"[: self.nodes]))
        self.members = tuple(
            Member(name, f"10.0.0.{at}" if at % 2 else f"{name.lower()}.example:7000")
            for at, name in enumerate(self.names, 1)
        )

    def begin(self, node: str) -> Turn:
        """A server of each group, with an empty log."""
        stored = core.first_stored(self.members)
        return tuple(core.restart(node, stored, each).server for each in EDITIONS), ()

    def after(self, servers: Servers, group: int, output: Output) -> Turn:
        """The outcome of an event of one group: what is committed is applied at once."""
        server = core.apply(output.server, output.server.commit, EDITIONS[group]).server
        uuid = UUIDS[group]
        posts = (Post(each.target, GroupMessage(uuid, each.message)) for each in output.messages)
        return (*servers[:group], server, *servers[group + 1 :]), tuple(posts)

    @receives(GroupMessage)
    def receives_message(self, servers: Servers, envelope: Envelope[GroupMessage]) -> Turn:
        """The server of the message's group gets it."""
        uuid, message = envelope.message.group, envelope.message.message
        group = UUIDS.index(uuid)
        output = core.receive(servers[group], envelope.source, message, EDITIONS[group])
        return self.after(servers, group, output)

    @action(
        verb="{event} {node} {group}",
        says=lambda m, before, a, after: EVENTS[a.event][0],
        pace=lambda m, s, a: "slow" if a.event in ("campaign", "remind") else "",
    )
    @purpose("Each group has its own leader and its own log.")
    def happen(self, s: ActorState, node: Node, group: Group, event: Event) -> Any:
        """Something happens to {group} at {node}."""
        server, options, name = s.nodes[node][group], EDITIONS[group], UUIDS[group]
        role, log = server.role, server.log
        leads = isinstance(role, Leader)
        if leads == (event == "campaign") or (event == "campaign" and server.term >= self.terms):
            return None
        if any(each.message.group == name for each in s.network.in_flight):
            return refused("messages of this group are still on their way")
        output: Output | Refusal = refused("there is nothing to do for this event")
        if event == "campaign":
            output = core.campaign(server, options)
        elif event == "write" and log.last_index < self.entries:
            output = core.submit(server, f"x{log.last_index}", options)
        elif event == "remind" and any(p.commit < server.commit for p in role.progress):
            output = core.remind(server, options)
        elif event == "snapshot":
            output = core.take_snapshot(server, f"{server.applied} entries", options)
        elif event == "remove" and len(log.configuration.members) == self.nodes > 1:
            output = core.configure(server, self.members[:-1], options)
        if isinstance(output, Refusal):
            return output
        after = self.turned(s, node, self.after(s.nodes[node], group, output))
        return None if after == s else after

    @always("INV-LEADER")
    def one_leader(self, s: ActorState) -> str | None:
        """In each group, a term has at most one leader."""
        for group in range(len(IDS)):
            terms = [each[group].term for each in s.nodes if isinstance(each[group].role, Leader)]
            if len(terms) > len(set(terms)):
                return f"in {[*IDS][group]}, a term has two leaders"
        return None

    @declared.live("INV-PROGRESS")
    def led_again(self, s: ActorState) -> bool:
        """Each group elects a leader: all nodes are up, and hear one another."""
        return all(
            any(isinstance(each[group].role, Leader) for each in s.nodes)
            for group in range(len(IDS))
        )

    def horizon(self, s: Any) -> Iterator[tuple[Any, str]]:
        """Elections in a term that the model does not have."""
        for name, servers in zip(self.names, s.nodes, strict=True):
            for group, server in zip(IDS, servers, strict=True):
                if server.term >= self.terms and not isinstance(server.role, Leader):
                    yield RaftGroups.happen(name, group, "campaign"), f"terms={self.terms}"

    @declared.sometimes(when=lambda m: m.nodes > 1)
    def own_leaders(self, s: ActorState) -> bool:
        """Groups have different leaders."""
        leads = [[isinstance(of.role, Leader) for of in each] for each in s.nodes]
        return [True, False] in leads and [False, True] in leads

    def milestone(self, before: ActorState, action: Any, after: ActorState) -> str | None:
        """Somebody leads a group, commits or snapshots there; or what the network says."""
        if isinstance(action, RaftGroups.happen) and action.event == "snapshot":
            return f"{action.node} snapshots {action.group}"
        for node, (was, now) in enumerate(zip(before.nodes, after.nodes, strict=True)):
            for group, old, new in zip(IDS, was, now, strict=True):
                if isinstance(new.role, Leader) and not isinstance(old.role, Leader):
                    return f"{self.names[node]} leads {group}"
                if isinstance(new.role, Leader) and new.commit > old.commit:
                    entry = new.log.entry(new.commit)
                    if entry and (text := data_text(entry.data)):
                        return f"{group}: {text} committed"
        reached = super().milestone(before, action, after)
        return None if reached == STILL else reached

    def words(self, before: Any, action: Any, after: Any) -> declared.Words:
        """The names for what is written, how far a snapshot goes, and who has to go."""
        values = dict(super().words(before, action, after))
        if isinstance(action, DeliverMessage):  # what a message causes is of its group, too
            of = f"n group {action.envelope.message.name}"
            values["received"] = f"I{of}, {values['received'].replace(f' i{of}', '')}"
        if not isinstance(action, RaftGroups.happen):
            return values
        server = after.nodes[self.index[action.node]][[*IDS].index(action.group)]
        last = server.log.entry(server.log.last_index)
        written = {"held": last.data if last else "", "applied": server.applied}
        return {**values, **written, "gone": self.names[-1]}

    def suggest(self, s: ActorState) -> Any | None:
        """What can be received, and an election where nobody leads; the rest is up to a story."""
        led = {group for of in s.nodes for group, each in zip(IDS, of, strict=True) if each.leader}
        for each in self.suggestible(s):
            if not isinstance(each, RaftGroups.happen):
                return each
            if each.event == "campaign" and each.group not in led:
                return each
        return None

    def why(self, action: Any) -> str:
        """Of each event its own reason."""
        is_event = isinstance(action, RaftGroups.happen)
        return EVENTS[action.event][1] if is_event else super().why(action)

    def purpose_of(self, message: GroupMessage) -> str:
        """The purpose of the message within."""
        return super().purpose_of(message.message)

    def readable(self, s: ActorState) -> dict[str, Any]:
        """Each node's servers, a line for each group, then the network."""
        nodes = ([server_text(each) for each in of] for of in s.nodes)
        lines = (dict(zip(IDS, texts, strict=True)) for texts in nodes)
        return super().readable(s) | dict(zip(self.names, lines, strict=True))

    def in_short(self, message: GroupMessage) -> str:
        """The group of the message, and the message in short."""
        return f"{message.name}: {message_text(message.message)}"

    def in_full(self, message: GroupMessage) -> str:
        """The message with all that it says, and whose it is."""
        return f"{message_text(message.message, fully=True)} in group {message.name}"

    def in_verbs(self, message: GroupMessage) -> str:
        """The beginning of the group's id, and all that the message says."""
        return f"{message.group[:8]} {words(message.message)}"


ELECTED = (
    *("campaign A schema", "deliver A>B 5c8e0a10 vote 1 0 0 True False"),
    *("deliver B>A 5c8e0a10 voted 1 True True", "deliver A>B 5c8e0a10 vote 1 0 0 False False"),
    *("deliver B>A 5c8e0a10 voted 1 True False", "campaign B data"),
)
STORED = ("deliver C>A {} accepted 1 {} {}", "deliver B>A {} accepted 1 {} {}")
BOTH = (
    *("campaign A schema", "write A schema", *(each.format("5c8e0a10", 1, 2) for each in STORED)),
    *("campaign A data", "write A data", *(each.format("da7a0b20", 1, 2) for each in STORED)),
    *(f"{event} A schema" for event in ("snapshot", "remove")),
    STORED[0].format("5c8e0a10", 2, 3),
)
"""Each group elects A and stores a command; then one of them continues without C."""
SCENARIOS = (
    Scenario("one-node-leads", "A node leads both groups. Then C leaves one of them", script=BOTH),
    Scenario("own-leaders", "A leads one group and B the other", {"nodes": 2}, script=ELECTED),
)
ENTRY = declared.entry(
    RaftGroups, scenarios=SCENARIOS, fuzzing=Fuzzing({"terms": 3, "entries": 6}, {"deliver": 3})
)
