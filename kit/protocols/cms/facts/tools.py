"""What ``nodetool`` and ``cqlsh`` answer of the CMS and its log, and which actions they are."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from msgspec import Struct
from msgspec.structs import replace

from kit.console import cassandra
from kit.console import server as tools
from kit.console.drill import CommandReply, DrillMoment
from kit.console.forms import Given
from kit.errors import BadInput, Refused
from kit.masks import is_majority, nodes_in
from kit.model.flows import ServerHost, address_of, as_uuid, host_id
from kit.protocols.cms.cms import Cms, CmsState, working
from kit.protocols.cms.commit import Commit
from kit.protocols.cms.migration import FIRST, INITIALIZED
from kit.protocols.cms.rules import members as rules
from kit.protocols.cms.rules import schema
from kit.protocols.cms.rules.events import NODE, TABLE, Metadata, parsed
from kit.protocols.cms.rules.events import STEP as STEP_EVENT
from kit.protocols.cms.rules.log import SNAPSHOT, Entry, NodeLog, metadata
from kit.protocols.gossip.facts import SchemaServers
from kit.protocols.gossip.rules import BOOT, NORMAL, version_of

KINDS = {
    rules.INITIALIZE: "INITIALIZE_CMS",
    rules.JOIN: "UNSAFE_JOIN",
    rules.LEAVE: "PREPARE_LEAVE",
    rules.REMOVE_NODE: "PREPARE_LEAVE",
    rules.WITHOUT: "PREPARE_SIMPLE_CMS_RECONFIGURATION",
    rules.LEFT: "FINISH_LEAVE",
    rules.ASSASSINATE: "ASSASSINATE",
    SNAPSHOT: "TRIGGER_SNAPSHOT",
    rules.FORCE: "FORCE_SNAPSHOT",
    rules.CHANGE: "CUSTOM",
    rules.STARTUP: "STARTUP",
    rules.RECONFIGURE: "PREPARE_COMPLEX_CMS_RECONFIGURATION",
    rules.CANCEL: "CANCEL_CMS_RECONFIGURATION",
    rules.CHOOSE: "PREPARE_SIMPLE_CMS_RECONFIGURATION",
    rules.REPLACE: "PREPARE_SIMPLE_CMS_RECONFIGURATION",
    rules.UNREGISTER: "UNREGISTER",
}
"""The published kind of each event. A node that joins or leaves does so in fewer events here."""
STEPS = {rules.START_ADD: "START_ADD_TO_CMS", rules.FINISH_ADD: "FINISH_ADD_TO_CMS"}
OF_ALL = rules.INITIALIZE, rules.FORCE, rules.REPLACE, rules.CHOOSE, rules.CANCEL, rules.RECONFIGURE
"""Events that tell of a whole state or change, not of one node."""
ELSEWHERE = 100
"""By how much a new address is greater."""
STEP, REMOVAL = "ADVANCE_CMS_RECONFIGURATION", "REMOVE_FROM_CMS"
"""Steps of a change: one kind in the server's edition, those of the documents' are older."""
SCHEMA_CHANGE = "SCHEMA_CHANGE"
NO_SNAPSHOT = "nobody can ask for a snapshot in this model; in the commit model you can"
RESUME = ("nodetool cms reconfigure --resume", "nodetool cms reconfigure -r")
CANCEL = ("nodetool cms reconfigure --cancel", "nodetool cms reconfigure -c")
IGNORE = tuple(f"nodetool cms initialize {word} {{machine}}" for word in ("--ignore", "-i"))
IGNORING = "nodetool cms reconfigure --ignore {machine}"
BY_DC = "nodetool cms reconfigure {sizes}"
HEALTH = (
    "members set<text>; answering set<text>, can_commit boolean, needs_reconfiguration boolean, "
    "commits_paused boolean"
)


UNPREPARED = "no entry of the model prepares this change"
ENDED = "the server has one more entry, which ends the change"


class LoggedEvent(Struct, frozen=True):
    """An entry before it is printed: its kind, what it says, its id, who wanted it, its node.

    ``begins``: a change of the members begins with it, ``lacks`` are entries that the server has
    beside it, in words.
    """

    epoch: int
    kind: str
    event: str
    id: int
    by: str = ""
    node: int | None = None
    replaced: int | None = None
    more: Mapping[str, str] = {}  # other fields of its kind, by their published names
    begins: bool = False
    lacks: tuple[str, ...] = ()


def number_of(m: Cms, entry: Entry) -> int:
    """The id of an entry, made of its epoch and its submitter."""
    return entry.epoch << 8 | (m.number(entry.id) + 1 if entry.id in m.names else 0)


def _known_at(m: Cms, log: NodeLog, epoch: int) -> rules.Members:
    entries = tuple(each for each in log.entries if each.epoch <= epoch)
    snapshots = tuple(each for each in log.snapshots if each.epoch <= epoch)
    known: rules.Members = metadata(NodeLog(entries, snapshots), m.machine)
    return known


def of_members(m: Cms, entry: Entry, members: int) -> LoggedEvent:
    """An entry of the log, committed while these were the ``members``.

    The server rejects ``PREPARE_LEAVE`` of a member: its leaving begins with a change of the CMS
    in which another takes its place (published ``PrepareLeave``, ``maybeReconfigureCMS``).
    """
    (what, nodes), said = rules.parsed(entry.event), entry.event
    kind = KINDS.get(what, STEPS.get(what, REMOVAL) if m.edition == "documents" else STEP)
    if m.edition == "server" and what in rules.GOES and members & nodes:
        kind = KINDS[rules.REPLACE]
    node = nodes.bit_length() - 1 if nodes.bit_count() == 1 and what not in OF_ALL else None
    more = dict[str, str]()
    if what == rules.STARTUP:
        place = nodes.bit_length() - 1 + ELSEWHERE
        more = {"addresses": f"broadcastAddress=/{address_of(place)}:{cassandra.PORT}"}
    if what == rules.RECONFIGURE:
        size, by_dc = rules.sizes_in(entry.event)
        sizes = rules.sizes_of(by_dc or str(size), m.datacenters)
        more = {"replicationParams": cassandra.replication_params(sizes)}
        said = f"{what} {by_dc or size}"  # what was asked for: the published entry names no node
    number = number_of(m, entry)
    return LoggedEvent(entry.epoch, kind, said, number, entry.id, node, more=more)


def with_lacks(m: Cms, s: CmsState, log: NodeLog) -> Iterator[LoggedEvent]:
    """The entries of a log of the members, and what the server has before and behind each change.

    The model has no entry that prepares a change which no operator asked for, and none that unlocks
    the log. A change that names its members has ended when no step follows, any other one when
    there are as many members as are wanted, or can be.
    """
    is_open = False
    for entry in log.entries:
        members = _known_at(m, log, entry.epoch)  # who leaves is one until a step takes it out
        event = of_members(m, entry, members.readers | members.writers)
        if event.kind == STEP:
            few = members.readers.bit_count() != sum(m.wanted_sizes(members).values())
            missing = members.pending or members.chosen or few
            begins, is_open = not is_open, bool(missing and m.step_of(s, members))
            lacks = (UNPREPARED,) * begins + (ENDED,) * (not is_open)
            event = replace(event, begins=begins, lacks=lacks)
        elif event.kind in (KINDS[rules.FORCE], KINDS[rules.CANCEL]):
            is_open = False
        elif event.kind.endswith("RECONFIGURATION"):
            is_open = True
        yield event


def submitted(
    m: Any, entry: Entry, kind: str, number: int, node: str, replaced: str = ""
) -> LoggedEvent:
    """An event of nodes by their names, one that is not there yet with the next number."""
    at, old = ((*m.names, name).index(name) if name else None for name in (node, replaced))
    return LoggedEvent(entry.epoch, kind, entry.event, number, entry.id, at, old)


def _step_of_change(event: str, node: int | None) -> Mapping[str, str]:
    name, what = cassandra.node_id(node) if node is not None else "", rules.parsed(event)[0]
    steps = {
        rules.START_ADD: f"StartAddToCMS({name})",
        rules.FINISH_ADD: "FinishCMSReconfiguration()",
        rules.REMOVE: f"RemoveFromCMS({name})",
    }
    active = f"ActiveTransition{{nodeId={name}, streamCandidates=?}}"
    active = active if what == rules.FINISH_ADD else "null" if what in steps else "?"
    return {"current": steps.get(what, "?"), "diff": "?", "activeTransition": active}


def no_quorum(silent: tuple[str, ...]) -> Refused:
    """Why the log cannot be read: who of the CMS does not answer."""
    who = f" (missing {', '.join(silent)})" if silent else ""
    return Refused(f"the log is read at QUORUM, and no quorum of the CMS answers{who}")


def read_at_quorum(m: Any, members: int, up: int) -> None:
    """Raises Refused where no quorum of these members is up."""
    if not is_majority(members & up, members):
        raise no_quorum(m.named(members & ~up))


class LoggingServers(cassandra.MetadataServers):
    """Servers that print the events of their models as the published table has them."""

    lacks: Mapping[str, str] = {
        "nodetool ring": tools.NO_TOKENS,
        "nodetool cms dumpdirectory --tokens": tools.NO_TOKENS,
    }

    def logged(self, now: DrillMoment) -> Iterable[LoggedEvent]:
        """The log, as a quorum of the CMS answers. Raises Refused where there is none."""
        raise NotImplementedError

    def entries(self, now: DrillMoment) -> Iterator[cassandra.Logged]:
        """The same, the steps of each change of the members counted from 0.

        Each step names one of them; what is left of the change is in no log here.
        """
        idx = 0
        for each in self.logged(now):
            kind, node, old, more = each.kind, each.node, each.replaced, each.more
            if kind == SCHEMA_CHANGE:
                node, more = None, {"schemaTransformation": each.event}
            elif kind == STEP:
                idx = 0 if each.begins else idx
                more = {"idx": str(idx), **_step_of_change(each.event, node)}
                node, idx = None, idx + 1
            elif kind.endswith("RECONFIGURATION"):
                idx = 0
            by = "; ".join((f"by {each.by}", *each.lacks))
            said = f"{each.event} ({by})" if each.by else each.event
            yield each.epoch, kind, cassandra.rendered(kind, said, node, (), old, more), each.id


class CmsServers(LoggingServers):
    """The servers of a cluster, some of which are the CMS."""

    does: Mapping[str, str] = {
        "nodetool decommission": "decommission * {here} *",
        "nodetool assassinate {machine}": "assassinate * {machine} *",
        "nodetool removenode {host_id}": "removenode * {machine} *",
        "nodetool cms reconfigure {size}": "reconfigure * {size} *",
        IGNORING: "ignore * {machine} *",
        BY_DC: "resize * {sizes} *",
        "nodetool cms unregister {node_id}": "unregister * {machine} *",
        **dict.fromkeys(RESUME, "advance *"),
        **dict.fromkeys(CANCEL, "cancel *"),
    }
    lacks: Mapping[str, str] = {**LoggingServers.lacks, "nodetool cms snapshot": NO_SNAPSHOT}

    def __init__(self) -> None:
        super().__init__()
        health = tools.NodeTable("cms_health", HEALTH, self.health, tools.OWN_KEYSPACE)
        self.tables = (*self.tables, health)

    def hosts(self, now: DrillMoment) -> list[ServerHost]:
        """Every machine; the asked one knows the new address of whom it reaches."""
        m, s = now.model, now.state
        knows = m.reached(s, now.here)
        moved = [bool(node.moved and knows >> at & 1) for at, node in enumerate(s.nodes)]
        return [
            ServerHost(address_of(at + ELSEWHERE * moved[at]), host_id(at), node.dc, node.rack)
            for at, node in enumerate(m.ring)
        ]

    def reached(self, now: DrillMoment, at: int) -> set[int]:
        """Those that are up in the cluster, and whose address the node knows; and the node."""
        known = nodes_in(now.model.reached(now.state, at))
        return {at, *(each for each in known if self.is_up(now, each))}

    def machine_is(self, now: DrillMoment, at: int) -> str:
        """How a machine is. One whose node has left the cluster is as it was before."""
        past = (step.state.nodes[at].health for step in reversed(now.run))
        return next((each for each in past if each != "left"), "left")

    def is_up(self, now: DrillMoment, at: int) -> bool:
        """Whether its server runs, for the cluster."""
        return bool(now.state.nodes[at].health == "up")

    def has_left(self, now: DrillMoment, name: str) -> str:
        """That a node is no longer in the cluster, if so."""
        left = now.state.nodes[now.number(name)].health == "left"
        return f"{name} has left the cluster" if left else ""

    def answering(self, now: DrillMoment, tool: str) -> int:
        """The server of a node that has left serves no clients, but answers its own tools."""
        left = self.has_left(now, now.place)
        if not left or self.machine_is(now, now.here) != "up":
            return super().answering(now, tool)
        if tool == "cqlsh":
            raise Refused(f"{tool} on {now.place}: connection refused, {left}")
        return now.here

    def acted(self, now: DrillMoment, given: Given, command: str) -> CommandReply:
        """Nobody takes anything from a node that has left."""
        if left := self.has_left(now, now.place):
            raise Refused(left)
        return super().acted(now, given, command)

    def idle(self, now: DrillMoment, given: Given, command: str) -> str:
        """Nothing is under way, nothing is half done, or all is as it is asked for."""
        m, known = now.model, now.model.newest(now.state)
        if not m.has_quorum(now.state):
            return "no quorum of the CMS answers"
        if command in RESUME:
            return "no change of the members is under way"
        if command in CANCEL:
            return "no node is half added to the CMS: there is nothing to give up"
        if known.sizes in (given.get("size"), given.get("sizes")):
            return "this size was already asked for"
        return super().idle(now, given, command)

    def service(self, now: DrillMoment, at: int) -> cassandra.ServiceView:
        """The members, and whether they are to change, by a node's own log."""
        m, s, log = now.model, now.state, now.state.nodes[at].log
        known, first = m.known(s, at), log.entry(1)
        few = known.readers.bit_count() != sum(m.wanted_sizes(known).values())
        return cassandra.ServiceView(
            log.epoch,
            tuple(each.epoch for each in log.held),
            tuple(nodes_in(known.readers)) if log.epoch else (),
            bool(log.epoch and (m.step_of(s, known) or (few and m.edition == "server"))),
            sizes=m.wanted_sizes(known),
            identifier=str(number_of(m, first) if first else "?"),
        )

    def logged(self, now: DrillMoment) -> list[LoggedEvent]:
        """What a quorum of the CMS has stored: the log of the member that has most of it."""
        m, s = now.model, now.state
        if not m.has_quorum(s):
            raise no_quorum(m.named(m.newest(s).readers & ~working(m, s)))
        log = s.nodes[max(nodes_in(working(m, s)), key=lambda at: m.epoch(s, at))].log
        loaded = (each.epoch for each in log.snapshots if log.entry(each.epoch) is None)
        kind, said = KINDS[rules.FORCE], "a hand-made snapshot"
        forced = (LoggedEvent(at, kind, said, at << 8) for at in loaded)
        events = (*forced, *with_lacks(m, s, log))
        return sorted(events, key=lambda each: each.epoch)

    def listed(self, now: DrillMoment, at: int) -> dict[int, cassandra.ListedNode]:
        """The nodes that are in the cluster, leave it, or were in it, by a node's own log."""
        m, log = now.model, now.state.nodes[at].log
        known = m.known(now.state, at)
        states = dict.fromkeys(nodes_in(m.directory(log) if log.epoch else 0), "LEFT")
        states |= dict.fromkeys(nodes_in(known.cluster if log.epoch else 0), "JOINED")
        # As long as a member hands over, the server says nothing of its leaving.
        handing = known.readers | known.writers if m.edition == "server" else 0
        states |= dict.fromkeys(nodes_in(known.leaving & ~handing), "LEAVING")
        return {node: cassandra.ListedNode(state) for node, state in states.items()}

    def by_datacenter(self, now: DrillMoment, given: Given) -> CommandReply:
        """``nodetool cms reconfigure dc1:3 dc2:1``: a datacenter that is not named has no member.

        Raises BadInput for one that is named twice.
        """
        pairs = sorted(str(each).split(":") for each in given.values())
        sizes, dcs = dict(pairs), {each.dc for each in now.model.ring}
        if len(sizes) < len(pairs):
            raise BadInput("reconfigure", " ".join(map(":".join, pairs)), "each datacenter once")
        if {*sizes} == {min(dcs)}:
            return self.acted(now, {"size": sizes[min(dcs)]}, "nodetool cms reconfigure {size}")
        return self.acted(now, {"sizes": ",".join(map(":".join, pairs))}, BY_DC)

    def reconfigure_without(self, now: DrillMoment, given: Given) -> CommandReply:
        """``nodetool cms reconfigure 3 --ignore HOST``, for the size that the CMS is to have."""
        if now.model.newest(now.state).sizes != str(given["size"]):
            raise Refused(f"{tools.NOT_MODELLED}another size and --ignore at once")
        return self.acted(now, given, IGNORING)

    def change_status(self, now: DrillMoment, given: Given) -> CommandReply:
        """What is half done, what is to be added and removed, by this node's log."""
        here = self.answering(now, "nodetool")
        known, hosts = now.model.known(now.state, here), self.hosts(now)
        wanted = now.model.wanted(now.state, known) or known.readers
        added, removed = wanted & ~known.writers, known.readers & ~wanted
        parts = {"ACTIVE": known.pending, "ADDITIONS": added, "REMOVALS": removed}
        if not any(parts.values()):
            return CommandReply(("No active reconfiguration",))
        ends = {at: f"/{host.address}:{cassandra.PORT}" for at, host in enumerate(hosts)}
        named = {word: ", ".join(ends[at] for at in nodes_in(of)) for word, of in parts.items()}
        return CommandReply(tuple(f"{word}: [{names}]" for word, names in named.items()))

    def health(self, now: DrillMoment, at: int) -> Iterator[tools.Row]:
        """Our own table: the CMS by the newest log of all, as nobody can ask."""
        m, s = now.model, now.state
        members, can = m.newest(s), m.has_quorum(s) and not s.open
        groups = [*m.named(members.readers)], [*m.named(members.readers & working(m, s))]
        values = (*groups, can, bool(m.step_of(s, members)), s.open)
        yield tools.row_of(HEALTH, values)


GROWS = "here the CMS grows by one named node, not to a size"


class MigratingServers(LoggingServers):
    """The servers of a cluster that goes over from gossip to the log."""

    does: Mapping[str, str] = {
        "nodetool cms initialize": "initialize {here}",
        **dict.fromkeys(IGNORE, "initialize {here} {machine}"),
        "nodetool cms abortinitialization --initiator {machine}": "abort {machine}",
    }
    lacks: Mapping[str, str] = {
        **LoggingServers.lacks,
        "nodetool describecluster": "the nodes of this model have facts but no schema version",
        "nodetool cms reconfigure": GROWS,
        "nodetool cms snapshot": NO_SNAPSHOT,
        "nodetool cms unregister": "no node leaves for good here",
    }

    def service(self, now: DrillMoment, at: int) -> cassandra.ServiceView:
        """The CMS as a node knows it."""
        m, node = now.model, now.state.nodes[at]
        members = tuple(nodes_in(node.knows))
        few = bool(node.log) and len(members) < min(m.size, m.nodes)
        migrates, sizes = node.initiator is not None, {self.hosts(now)[at].dc: len(members)}
        return cassandra.ServiceView(node.epoch, (), members, few, not node.log, migrates, sizes)

    def with_cms(self, now: DrillMoment) -> int:
        """Raises Refused also for the old version."""
        here = super().with_cms(now)
        if not now.state.nodes[here].is_new:
            raise Refused(f"{now.place} runs the old version, which has no CMS")
        return here

    def logged(self, now: DrillMoment) -> Iterator[LoggedEvent]:
        """The log that the asked node runs by. Raises Refused where its CMS has no quorum."""
        m, s = now.model, now.state
        if (log := s.log_of(s.nodes[now.here])) is None:
            return
        read_at_quorum(m, log.members_at(log.top), s.up)
        change = SCHEMA_CHANGE if m.requested == "schema" else KINDS[rules.CHANGE]
        grows = STEP if m.edition == "server" else STEPS[rules.FINISH_ADD]
        for epoch, kind in enumerate(("PRE_INITIALIZE_CMS", KINDS[rules.INITIALIZE]), FIRST):
            yield LoggedEvent(epoch, kind, log.text_of(epoch, m.names), epoch)
        for epoch, (what, number) in enumerate(log.entries, INITIALIZED + 1):
            kind, node = (change, None) if what == "change" else (grows, number)
            yield LoggedEvent(epoch, kind, log.text_of(epoch, m.names), epoch, node=node)

    def listed(self, now: DrillMoment, at: int) -> dict[int, cassandra.ListedNode]:
        """The nodes that are there, by the log or by gossip; a lost one stays until it is replaced.

        In a fresh cluster nobody has joined the ring yet.
        """
        m, node = now.model, now.state.nodes[at]
        nodes = (each for each in enumerate(now.state.nodes) if each[1].status != "absent")
        heard = (each for each, _ in nodes if node.met >> each & 1)
        return {each: cassandra.ListedNode("REGISTERED" if m.fresh else "JOINED") for each in heard}

    def node_rows(self, now: DrillMoment, at: int) -> Iterator[tools.Row]:
        """An old version has no such table, and a fresh node lists nobody before the log."""
        node = now.state.nodes[at]
        known = node.log or (node.is_new and not now.model.fresh)
        return super().node_rows(now, at) if known else iter(())

    def heard(self, now: DrillMoment, at: int) -> Iterator[tools.Row]:
        """Without a log the same states, of versions that the model does not tell."""
        if now.state.nodes[at].log:
            yield from super().heard(now, at)
            return
        hosts = self.hosts(now)
        for place, node in self.listed(now, at).items():
            host, known = hosts[place], {"STATUS": "NORMAL"} if node.state == "JOINED" else {}
            known |= {"DC": host.dc, "RACK": host.rack, "HOST_ID": host.host_id}
            yield cassandra.gossiped(host.address, {each: (None, of) for each, of in known.items()})


OF_EVENTS = {
    "decommission": "FINISH_LEAVE",
    "replace": "FINISH_REPLACE",
    SNAPSHOT: KINDS[SNAPSHOT],
    STEP_EVENT: "CUSTOM",
}
"""The published kind of events; all else changes the schema."""
NOUNS = dict(zip(schema.OPERATIONS, ("JOIN", "LEAVE", "MOVE", "REPLACE"), strict=True))
OF_OPERATIONS = {
    schema.CANCEL: "CANCEL_SEQUENCE",
    schema.CMS: STEP,
    **{what: f"START_{noun}" for what, noun in NOUNS.items()},
    **{schema.OPERATIONS[what][1]: f"FINISH_{noun}" for what, noun in NOUNS.items()},
}
"""The same where an operation has two events, as in the model of the schema."""
FIXED = "the members stay the same in this model; in the cms model they change"


class CommitServers(LoggingServers):
    """The servers of a cluster in which events are submitted to a CMS that stays the same."""

    lacks: Mapping[str, str] = {
        **LoggingServers.lacks,
        "nodetool cms reconfigure": FIXED,
        "nodetool cms initialize": FIXED,
        "nodetool cms abort": FIXED,
        "nodetool cms unregister": "a node that has left stays in the directory",
    }

    def is_up(self, now: DrillMoment, at: int) -> bool:
        """Whether its server runs."""
        return bool(now.state.nodes[at].up)

    def known(self, now: DrillMoment, at: int) -> Metadata:
        """The metadata that a node has made of its log."""
        made: Metadata = metadata(now.state.nodes[at].log, now.model.machine)
        return made

    def version(self, now: DrillMoment, at: int) -> str:
        """It changes with each change of a table."""
        tables = (x.epoch for x in self.known(now, at).facts if x.thing.startswith(TABLE))
        return as_uuid(max(tables, default=0))

    def service(self, now: DrillMoment, at: int) -> cassandra.ServiceView:
        """How far a node is."""
        m, log = now.model, now.state.nodes[at].log
        held = tuple(each.epoch for each in log.held)
        sizes = {self.hosts(now)[at].dc: m.size}
        return cassandra.ServiceView(log.epoch, held, tuple(nodes_in(m.cms)), sizes=sizes)

    def logged(self, now: DrillMoment) -> Iterator[LoggedEvent]:
        """What a majority has accepted, as far as one of it has applied it; archives left out."""
        m, s = now.model, now.state
        live = m.live(s)
        read_at_quorum(m, m.cms, live)
        log = max((s.nodes[at].log for at in nodes_in(live)), key=lambda log: log.epoch)
        for each in (each for each in log.entries if each.epoch > log.cut):
            what, *things = parsed(each.event)
            kind, number = OF_EVENTS.get(what, SCHEMA_CHANGE), int(each.id[1:])
            old, new = (thing.removeprefix(f"{NODE} ") for thing in things)
            yield submitted(m, each, kind, number, new or old, old if new else "")

    def listed(self, now: DrillMoment, at: int) -> dict[int, cassandra.ListedNode]:
        """The nodes that are there, and those that have left, as a node's log says."""
        facts = {each.thing: each.state for each in self.known(now, at).facts}
        there = (facts.get(f"{NODE} {name}") == "there" for name in now.model.names)
        return {
            at: cassandra.ListedNode("JOINED" if each else "LEFT") for at, each in enumerate(there)
        }

    def snapshot(self, now: DrillMoment, given: Given) -> CommandReply:
        """``nodetool cms snapshot``: the node submits the snapshot that the run has for it.

        Raises Refused where it has none, or a member is not to be asked now.
        """
        self.answering(now, "nodetool")
        for action, _ in now.model.options(now.state):
            if isinstance(action, Commit.submit.struct):
                wish = now.model.submissions[action.request]
                if (wish.event, wish.node) == (SNAPSHOT, now.place):
                    return CommandReply(actions=(action,))
        raise Refused(f"this run has no “snapshot at {now.place}” left")


CANCEL_NODE = "nodetool cancel {operation} {machine}"


class OrderedServers(SchemaServers, LoggingServers):
    """The servers of a cluster whose schema is in the log, or without S-80 in gossip alone."""

    does: Mapping[str, str] = {
        CANCEL_NODE: "cancel {machine}",
        "nodetool decommission": "decommission {here}",
    }
    operations: Mapping[str, str] = {"bootstrap": "JOIN"}
    lacks: Mapping[str, str] = {
        **CommitServers.lacks,
        "nodetool cms reconfigure": GROWS,
        "nodetool cms snapshot": NO_SNAPSHOT,
    }

    def is_up(self, now: DrillMoment, at: int) -> bool:
        """Whether its server runs: a joiner's does once it has asked a seed."""
        node = now.state.nodes[at]
        return bool(node.is_up and node.phase != "out")

    def version(self, now: DrillMoment, at: int) -> str:
        """The version of its schema."""
        return version_of(now.state.nodes[at].cells)

    def service(self, now: DrillMoment, at: int) -> cassandra.ServiceView:
        """The CMS as a node knows it. Raises Refused where there is none."""
        m, node = now.model, now.state.nodes[at]
        if not m.ordered:
            raise Refused(f"{tools.NOT_MODELLED}without S-80 there is no log and no CMS")
        members = tuple(map(m.number, node.members))
        sizes = {self.hosts(now)[at].dc: len(members)}
        return cassandra.ServiceView(node.epoch, (), members, sizes=sizes)

    def logged(self, now: DrillMoment) -> Iterator[LoggedEvent]:
        """The committed events, on top of what there was before, which is one base state."""
        m, s = now.model, now.state
        self.service(now, now.here)
        read_at_quorum(m, m.mask(m.latest(s).members), s.where(lambda node: node.is_up))
        yield LoggedEvent(m.base, KINDS[rules.INITIALIZE], "what was there before", 0)
        for each in s.log:
            word, *_, name = each.event.split()
            yield submitted(m, each, OF_OPERATIONS.get(word, SCHEMA_CHANGE), each.epoch, name)

    def reached(self, now: DrillMoment, at: int) -> set[int]:
        """Those that are up, and are not cut off from the node."""
        names = now.model.names
        up = (each for each in range(len(names)) if self.is_up(now, each))
        return {each for each in up if now.model.reaches(now.state, names[at], names[each])}

    def abort(self, now: DrillMoment, given: Given) -> CommandReply:
        """``nodetool abortbootstrap``: the same as ``cancel``, of a node that is not up."""
        return self.acted(now, {"machine": self.silent(now, given)}, CANCEL_NODE)

    def node_rows(self, now: DrillMoment, at: int) -> Iterator[tools.Row]:
        """The directory is made of the log, too."""
        self.service(now, at)
        return super().node_rows(now, at)

    def listed(self, now: DrillMoment, at: int) -> dict[int, cassandra.ListedNode]:
        """The nodes that own data, and those that join, as a node knows them."""
        m, s = now.model, now.state
        kinds = {NORMAL: "JOINED", BOOT: "BOOTSTRAPPING", schema.REPLACED: "BOOT_REPLACING"}
        kinds |= {each: each for each in (schema.LEAVING, schema.MOVING)}
        return {
            m.number(name): cassandra.ListedNode(state)
            for status, state in kinds.items()
            for name in m.status(s, s.nodes[at], status)
        }


SERVERS, MIGRATING = CmsServers(), MigratingServers()
SUBMITTING, ORDERED = CommitServers(), OrderedServers()
