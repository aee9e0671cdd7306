"""What ``nodetool`` and ``cqlsh`` answer of the members of the CMS, and which actions they are."""

from collections.abc import Iterator, Mapping

from kit.engine.cassandra import PORT, ListedNode, Logged, MetadataServers, ServiceView
from kit.engine.drill import CommandReply, DrillMoment
from kit.engine.flows import ServerHost, address_of, host_id
from kit.engine.forms import Given
from kit.engine.server import NO_TOKENS, OWN_KEYSPACE, NodeTable, Row, Servers
from kit.errors import Refused
from kit.masks import nodes_in, union
from kit.protocols.cms.cms import Cms, working
from kit.protocols.cms.rules import members as rules
from kit.protocols.cms.rules.log import SNAPSHOT, Entry

KINDS = {
    rules.INITIALIZE: "INITIALIZE_CMS",
    rules.JOIN: "UNSAFE_JOIN",
    rules.LEAVE: "PREPARE_LEAVE",
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
}
"""The published kind of each event. A node that joins or leaves does so in fewer events here."""
STEPS = {rules.START_ADD: "START_ADD_TO_CMS", rules.FINISH_ADD: "FINISH_ADD_TO_CMS"}
ELSEWHERE = 100
"""By how much a new address is greater."""
STEP, REMOVAL = "ADVANCE_CMS_RECONFIGURATION", "REMOVE_FROM_CMS"
"""Steps of a change: one kind in the server's edition, those of the documents' are older."""
HEALTH = ("members", "answering", "can_commit", "needs_reconfiguration", "commits_paused")


def logged(m: Cms, entry: Entry) -> Logged:
    """An entry as the published table has it; its id is made of its epoch and its submitter."""
    what, _ = rules.parsed(entry.event)
    step = STEPS.get(what, REMOVAL) if m.edition == "documents" else STEP
    number = entry.epoch << 8 | (m.number(entry.id) + 1 if entry.id in m.names else 0)
    return entry.epoch, KINDS.get(what, step), f"{entry.event} (by {entry.id})", number


class CmsServers(MetadataServers):
    """The servers of a cluster, some of which are the CMS."""

    does: Mapping[str, str] = {
        "nodetool decommission": "decommission * {here} *",
        "nodetool assassinate {machine}": "assassinate * {machine} *",
        "nodetool cms reconfigure {size}": "reconfigure * {size} *",
        "nodetool cms reconfigure --resume": "advance *",
        "nodetool cms reconfigure --cancel": "cancel *",
    }
    lacks: Mapping[str, str] = {
        "nodetool ring": NO_TOKENS,
        "nodetool cms dumpdirectory --tokens": NO_TOKENS,
        "nodetool cms unregister": "whoever has left stays in the directory",
    }

    def __init__(self) -> None:
        super().__init__()
        health = NodeTable("cms_health", HEALTH, self.health, OWN_KEYSPACE)
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
        """Those that are up, and whose address the node knows."""
        known = nodes_in(now.model.reached(now.state, at))
        return {each for each in known if self.is_up(now, each)}

    def is_up(self, now: DrillMoment, at: int) -> bool:
        """Whether its server runs."""
        return bool(now.state.nodes[at].health == "up")

    def service(self, now: DrillMoment, at: int) -> ServiceView:
        """The members, and whether they are to change, by a node's own log."""
        m, s, log = now.model, now.state, now.state.nodes[at].log
        known, first = m.known(s, at), log.entry(1)
        return ServiceView(
            log.epoch,
            tuple(each.epoch for each in log.held),
            tuple(nodes_in(known.readers)) if log.epoch else (),
            bool(log.epoch and m.step_of(s, known)),
            s.open,
            str(m.wanted(s, known).bit_count()),
            str(logged(m, first)[-1] if first else "?"),
        )

    def entries(self, now: DrillMoment) -> list[Logged]:
        """What a quorum of the CMS has stored: the log of the member that has most of it."""
        m, s = now.model, now.state
        if not m.has_quorum(s):
            silent = ", ".join(m.named(m.newest(s).readers & ~working(m, s)))
            who = f" (missing {silent})" if silent else ""
            raise Refused(f"the log is read at QUORUM, and no quorum of the CMS answers{who}")
        log = s.nodes[max(nodes_in(working(m, s)), key=lambda at: m.epoch(s, at))].log
        loaded = (each.epoch for each in log.snapshots if log.entry(each.epoch) is None)
        forced = ((at, KINDS[rules.FORCE], "a hand-made snapshot", at << 8) for at in loaded)
        return sorted([*forced, *(logged(m, each) for each in log.entries)])

    def listed(self, now: DrillMoment, at: int) -> dict[int, ListedNode]:
        """Who is in the cluster, leaves it, or was in it, by a node's own log."""
        m, log = now.model, now.state.nodes[at].log
        known = m.known(now.state, at)
        ever = union(each.cluster for each in (m.machine.initial, *m.memberships(log)))
        states = dict.fromkeys(nodes_in(ever if log.epoch else 0), "LEFT")
        states |= dict.fromkeys(nodes_in(known.cluster if log.epoch else 0), "JOINED")
        states |= dict.fromkeys(nodes_in(known.leaving), "LEAVING")
        return {node: ListedNode(state) for node, state in states.items()}

    def change_status(self, now: DrillMoment, given: Given) -> CommandReply:
        """What is half done, what is to be added and removed, by this node's log."""
        here = self.answering(now, "nodetool")
        known, hosts = now.model.known(now.state, here), self.hosts(now)
        wanted = now.model.wanted(now.state, known) or known.readers
        added, removed = wanted & ~known.writers, known.readers & ~wanted
        parts = {"ACTIVE": known.pending, "ADDITIONS": added, "REMOVALS": removed}
        if not any(parts.values()):
            return CommandReply(("No active reconfiguration",))
        ends = {at: f"/{host.address}:{PORT}" for at, host in enumerate(hosts)}
        named = {word: ", ".join(ends[at] for at in nodes_in(of)) for word, of in parts.items()}
        return CommandReply(tuple(f"{word}: [{names}]" for word, names in named.items()))

    def health(self, now: DrillMoment, at: int) -> Iterator[Row]:
        """Our own table: the CMS by the newest log of all, as nobody can ask."""
        m, s = now.model, now.state
        members, can = m.newest(s), m.has_quorum(s) and not s.open
        groups = [*m.named(members.readers)], [*m.named(members.readers & working(m, s))]
        values = (*groups, can, bool(m.step_of(s, members)), s.open)
        yield dict(zip(HEALTH, values, strict=True))


class MigratingServers(Servers):
    """The servers of a cluster that goes over from gossip to the log."""

    does: Mapping[str, str] = {
        "nodetool cms initialize": "initialize {here}",
        "nodetool cms initialize --ignore {machine}": "initialize {here} {machine}",
        "nodetool cms abortinitialization --initiator {machine}": "abort {machine}",
    }
    lacks: Mapping[str, str] = {
        "nodetool describecluster": "nodes of this model have facts, and no schema version",
        "nodetool ring": NO_TOKENS,
    }

    def is_up(self, now: DrillMoment, at: int) -> bool:
        """Whether its server runs."""
        return bool(now.state.up >> at & 1)


SERVERS, MIGRATING = CmsServers(), MigratingServers()
