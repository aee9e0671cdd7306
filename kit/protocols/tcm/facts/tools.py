"""What ``nodetool`` and ``cqlsh`` answer of a cluster of CEP-21, and which actions they are."""

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from kit.engine.cassandra import PORT, ListedNode, LoggedEvent, MetadataServers, ServiceView
from kit.engine.drill import DrillMoment
from kit.engine.flows import ServerHost, as_uuid, host_id
from kit.engine.server import NodeTable, Row
from kit.protocols.tcm.facts import moment
from kit.protocols.tcm.rules.metadata import Committed, Sequence, finished_step, state_of
from kit.protocols.tcm.rules.operations import Kind

SEQUENCES: dict[str, Kind] = {
    "JOIN": "bootstrap",
    "MOVE": "move",
    "LEAVE": "decommission",
    "REPLACE": "replace",
}
"""What the log calls an operation; of a leave it does not say who streams."""
MEANWHILE = {"bootstrap": "BOOTSTRAPPING", "replace": "BOOT_REPLACING", "decommission": "LEAVING"}
"""A node's state from the start on; one that moves is MOVING from the preparation on."""
PHASES = {
    **dict.fromkeys(("split", "prepare"), "PREPARE"),
    **dict.fromkeys(("add-writes", "start"), "START"),
    **dict.fromkeys(("switch-reads", "mid"), "MID"),
    **dict.fromkeys(("drop-writes", "merge", "finish"), "FINISH"),
}
"""The published name of each step; the documents have one more event than there are names."""
PLACEMENT_COLUMNS = (
    *("keyspace_name", "table_name", "range_start", "range_end", "token_type"),
    *("range_start_bytes", "range_end_bytes", "read_endpoints", "write_endpoints"),
    *("read_replicas", "write_replicas"),
)
FIRST_ADDRESS = 11
NO_CMS = "the CMS is one place in this model; models cms and migration have its members"


def kind_of(kind: Kind, step: str) -> str:
    """The published kind of a step of an operation."""
    if step not in PHASES:
        return "ASSASSINATE" if kind == step else "CANCEL_SEQUENCE"
    leaves = "decommission" if kind == "removenode" else kind
    [word] = [word for word, each in SEQUENCES.items() if each == leaves]
    return f"{PHASES[step]}_{word}"


def logged(event: Committed) -> LoggedEvent:
    """An epoch as the published table has it."""
    kind = kind_of(event.operation.kind, event.step)
    text = f"{event.text} ({event.operation.title})"
    return LoggedEvent(event.epoch, kind, text, event.epoch)


def under_way(sequence: Sequence) -> ListedNode:
    """How the directory has the node of an operation."""
    kind = sequence.plan.operation.kind
    done = finished_step(sequence).name if sequence.done else "prepare"
    begun = bool(sequence.undoing) or PHASES[done] != "PREPARE"
    leaves = "decommission" if kind == "removenode" else kind
    before = "REGISTERED" if kind in ("bootstrap", "replace") else "JOINED"
    state = "MOVING" if kind == "move" else MEANWHILE[leaves] if begun else before
    following = kind_of(kind, sequence.next.name)
    status = state_of(sequence)
    word = following.partition("_")[2]
    return ListedNode(state, None, {"kind": word, "status": status, "nextStep": following})


class TcmServers(MetadataServers):
    """The servers of a cluster whose log is kept somewhere."""

    does: Mapping[str, str] = {
        "nodetool decommission": "decommission {here}",
        "nodetool assassinate {machine}": "assassinate {machine}",
    }
    lacks: Mapping[str, str] = {
        "nodetool cms reconfigure": NO_CMS,
        "nodetool cms initialize": NO_CMS,
        "nodetool cms abort": NO_CMS,
        "nodetool cms snapshot": "this log has no snapshots; that of model commit has",
        "nodetool cms unregister": "whoever has left stays in the directory",
    }

    def __init__(self) -> None:
        super().__init__()
        placed = NodeTable(
            "data_placements", PLACEMENT_COLUMNS, self.placement_rows, "system_views"
        )
        self.tables = (*self.tables, placed)

    def hosts(self, now: DrillMoment) -> list[ServerHost]:
        """Every machine; a name that is an address is that of its machine."""
        nodes = now.model.tcm.cluster.ring.nodes
        return [
            ServerHost(_address(node.name, at), host_id(at), node.dc, node.rack)
            for at, node in enumerate(nodes)
        ]

    def is_up(self, now: DrillMoment, at: int) -> bool:
        """Whether its server runs."""
        return now.model.names[at] not in now.state.tcm.down

    def version(self, now: DrillMoment, at: int) -> str:
        """No event of this model changes the schema."""
        return as_uuid(0)

    def epoch(self, now: DrillMoment, at: int) -> int:
        """The last epoch that a node has applied."""
        return int(now.model.applied(now.state)[at])

    def service(self, now: DrillMoment, at: int) -> ServiceView:
        """How far a node is; who the members are is no part of this model."""
        return ServiceView(self.epoch(now, at), len(self.held(now, at)))

    def entries(self, now: DrillMoment) -> list[LoggedEvent]:
        """All that is committed."""
        return [logged(each) for each in moment.log(now.model, now.state)]

    def listed(self, now: DrillMoment, at: int) -> dict[int, ListedNode]:
        """Members, newcomers and who has left, by what a node has applied."""
        m, s = now.model, now.state
        metadata = m.snapshot(s, self.epoch(now, at)).metadata
        busy = {each.node: under_way(each) for each in metadata.sequences}
        begun, listed = m.tcm.cluster.ring.nodes, dict[int, ListedNode]()
        for place, node in enumerate(metadata.ring.nodes):
            rest = "JOINED" if node.tokens else "LEFT" if begun[place].tokens else "REGISTERED"
            listed[place] = replace(busy.get(node.name, ListedNode(rest)), tokens=node.tokens)
        return listed

    def held(self, now: DrillMoment, at: int) -> tuple[int, ...]:
        """The epochs above a gap."""
        m, s = now.model, now.state
        applied, held = s.log.applied[at], s.log.held[at]
        waiting = range(applied, held.bit_length())
        return tuple(m.log.epoch_of(each + 1) for each in waiting if held >> each & 1)

    def placement_rows(self, now: DrillMoment, at: int) -> Iterator[Row]:
        """``system_views.data_placements``, by what a node has applied."""
        m, s, hosts = now.model, now.state, self.hosts(now)
        for keyspace in moment.keyspaces(m):
            for row in moment.rows(m, s, keyspace, self.epoch(now, at)):
                groups = [
                    sorted(m.codes[name] for name in each) for each in (row.reads, row.writes)
                ]
                yield {
                    "keyspace_name": keyspace,
                    "range_start": str(row.left),
                    "range_end": str(row.right),
                    "token_type": "Murmur3",
                    **{f"{end}_endpoints": [f"{hosts[c].address}:{PORT}" for c in group]
                       for end, group in zip(("read", "write"), groups, strict=True)},
                    **{f"{end}_replicas": {c + 1 for c in group}
                       for end, group in zip(("read", "write"), groups, strict=True)},
                }  # fmt: skip


def _address(name: str, at: int) -> str:
    number = FIRST_ADDRESS + at
    return name if "." in name or ":" in name else f"10.0.{number >> 8}.{number & 255}"


SERVERS = TcmServers()
