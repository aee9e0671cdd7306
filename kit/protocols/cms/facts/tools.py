"""What ``nodetool`` and ``cqlsh`` answer of the members of the CMS, and which actions they are."""

from collections.abc import Iterator, Mapping
from operator import attrgetter

from kit.engine.cassandra import PORT, UNTOLD, ListedNode, LoggedEvent, MetadataServers, ServiceView
from kit.engine.drill import CommandReply, DrillMoment
from kit.engine.flows import ServerHost, as_uuid, host_id
from kit.engine.forms import Given
from kit.engine.server import OWN_KEYSPACE, NodeTable, Row
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
    rules.RECONFIGURE: "PREPARE_COMPLEX_CMS_RECONFIGURATION",
    rules.CANCEL: "CANCEL_CMS_RECONFIGURATION",
    rules.CHOOSE: "PREPARE_SIMPLE_CMS_RECONFIGURATION",
    rules.REPLACE: "PREPARE_SIMPLE_CMS_RECONFIGURATION",
}
"""The published kind of each event. A node that joins or leaves does so in fewer events here."""
STEPS = {
    rules.START_ADD: "START_ADD_TO_CMS",
    rules.FINISH_ADD: "FINISH_ADD_TO_CMS",
    rules.START_REMOVE: "REMOVE_FROM_CMS",
    rules.FINISH_REMOVE: "REMOVE_FROM_CMS",
    rules.REMOVE: "REMOVE_FROM_CMS",
}
"""Those of a change of the members, in the documents' edition; one kind in the server's."""
FIRST_ADDRESS = 11
NO_TOKENS = "nodes of this model have no tokens"


def logged(m: Cms, entry: Entry) -> LoggedEvent:
    """An entry as the published table has it; its id is made of its epoch and its submitter."""
    what, _ = rules.parsed(entry.event)
    step = STEPS.get(what) if m.edition == "documents" else "ADVANCE_CMS_RECONFIGURATION"
    kind = KINDS.get(what) or str(step)
    by = m.names.index(entry.id) + 1 if entry.id in m.names else 0
    return LoggedEvent(entry.epoch, kind, f"{entry.event} (by {entry.id})", entry.epoch << 8 | by)


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
        columns = ("members", "answering", "can_commit", "needs_reconfiguration", "commits_paused")
        health = NodeTable("cms_health", columns, self.health_rows, OWN_KEYSPACE)
        self.tables = (*self.tables, health)

    # What a node knows

    def hosts(self, now: DrillMoment) -> list[ServerHost]:
        """Every machine, in the datacenter and rack that the model gives it."""
        m: Cms = now.model
        return [
            ServerHost(f"10.0.0.{FIRST_ADDRESS + at}", host_id(at), node.dc, node.rack)
            for at, node in enumerate(m.ring)
        ]

    def is_up(self, now: DrillMoment, at: int) -> bool:
        """Whether its server runs."""
        return bool(now.state.nodes[at].health == "up")

    def version(self, now: DrillMoment, at: int) -> str:
        """No event of this model changes the schema."""
        return as_uuid(0)

    def service(self, now: DrillMoment, at: int) -> ServiceView:
        """The members, and whether they are to change, by a node's own log."""
        m, s, log = now.model, now.state, now.state.nodes[at].log
        known, first = m.known(s, at), log.entry(1)
        return ServiceView(
            log.epoch,
            len(log.held),
            tuple(nodes_in(known.readers)) if log.epoch else (),
            bool(log.epoch and m.step_of(s, known)),
            s.open,
            size=str(m.wanted(s, known).bit_count()),
            identifier=str(logged(m, first).id) if first else UNTOLD,
        )

    def entries(self, now: DrillMoment) -> list[LoggedEvent]:
        """What a quorum of the CMS has stored: the log of the member that has most of it."""
        m, s = now.model, now.state
        if not m.has_quorum(s):
            silent = ", ".join(m.named(m.newest(s).readers & ~working(m, s)))
            who = f" (missing {silent})" if silent else ""
            raise Refused(f"the log is read at QUORUM, and no quorum of the CMS answers{who}")
        best = max(nodes_in(working(m, s)), key=lambda at: m.epoch(s, at))
        log = s.nodes[best].log
        has = {each.epoch for each in log.entries}
        loaded = [
            LoggedEvent(each.epoch, KINDS[rules.FORCE], "a hand-made snapshot", each.epoch << 8)
            for each in log.snapshots
            if each.epoch not in has
        ]
        return sorted(
            [*loaded, *(logged(m, each) for each in log.entries)], key=attrgetter("epoch")
        )

    def listed(self, now: DrillMoment, at: int) -> dict[int, ListedNode]:
        """Who is in the cluster, leaves it, or was in it, by a node's own log."""
        m, s = now.model, now.state
        log, known = s.nodes[at].log, m.known(s, at)
        if not log.epoch:
            return {}
        ever = union(each.cluster for each in (m.machine.initial, *m.memberships(log)))
        states = (
            (node, known.cluster >> node & 1, known.leaving >> node & 1) for node in nodes_in(ever)
        )
        return {
            node: ListedNode(("LEAVING" if leaves else "JOINED") if is_in else "LEFT")
            for node, is_in, leaves in states
        }

    def held(self, now: DrillMoment, at: int) -> tuple[int, ...]:
        """The epochs above a gap."""
        return tuple(each.epoch for each in now.state.nodes[at].log.held)

    def health_rows(self, now: DrillMoment, at: int) -> Iterator[Row]:
        """Our own table: the CMS by the newest log of all, as nobody can ask."""
        m, s = now.model, now.state
        members, up = m.newest(s), working(m, s)
        yield {
            "members": [*m.named(members.readers)],
            "answering": [*m.named(members.readers & up)],
            "can_commit": m.has_quorum(s) and not s.open,
            "needs_reconfiguration": bool(m.step_of(s, members)),
            "commits_paused": s.open,
        }

    def change_status(self, now: DrillMoment, given: Given) -> CommandReply:
        """What is half done, what is to be added and removed, by this node's log."""
        here = self.answering(now, "nodetool")
        m, s = now.model, now.state
        known, hosts = m.known(s, here), self.hosts(now)
        wanted = m.wanted(s, known) or known.readers
        parts = {
            "ACTIVE": known.pending,
            "ADDITIONS": wanted & ~known.writers,
            "REMOVALS": known.readers & ~wanted,
        }
        if not any(parts.values()):
            return CommandReply(("No active reconfiguration",))
        listed = {
            word: ", ".join(f"/{hosts[at].address}:{PORT}" for at in nodes_in(mask))
            for word, mask in parts.items()
        }
        return CommandReply(tuple(f"{word}: [{names}]" for word, names in listed.items()))


SERVERS = CmsServers()
