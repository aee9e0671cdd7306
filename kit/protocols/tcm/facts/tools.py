"""What ``nodetool`` and ``cqlsh`` answer of a cluster of CEP-21, and which actions they are."""

from collections.abc import Iterator, Mapping

from msgspec.structs import replace

from kit.console.cassandra import PORT, ListedNode, Logged, MetadataServers, ServiceView, rendered
from kit.console.drill import CommandReply, DrillMoment
from kit.console.forms import Given
from kit.console.server import NOT_MODELLED, NodeTable, Row, UserTable
from kit.errors import Refused
from kit.model.flows import ServerHost, address_of, host_id
from kit.protocols.tcm.facts import moment
from kit.protocols.tcm.parameters import Cluster
from kit.protocols.tcm.rules.metadata import Cancel, Metadata, Sequence, finished_step, state_of
from kit.protocols.tcm.rules.operations import Kind
from kit.protocols.tcm.tcm import planned_tokens
from kit.ring.replication import Keyspace
from kit.ring.tokens import TokenSpace

SEQUENCES: dict[str, Kind] = {
    "JOIN": "bootstrap",
    "MOVE": "move",
    "LEAVE": "decommission",
    "REPLACE": "replace",
}
"""What the log calls an operation; of a leave it does not say which nodes stream."""
MEANWHILE = {"bootstrap": "BOOTSTRAPPING", "replace": "BOOT_REPLACING", "decommission": "LEAVING"}
"""A node's state from the start on; one that moves is MOVING from the preparation on."""
PHASES = {
    **dict.fromkeys(("split", "prepare"), "PREPARE"),
    **dict.fromkeys(("add-writes", "start"), "START"),
    **dict.fromkeys(("switch-reads", "mid"), "MID"),
    **dict.fromkeys(("drop-writes", "merge", "finish"), "FINISH"),
}
"""The published name of each step; the documents have one more event than there are names."""
PLACEMENTS = (
    "keyspace_name text, table_name text, range_start text, range_end text; token_type text, "
    "range_start_bytes text, range_end_bytes text, read_endpoints set<text>, "
    "write_endpoints set<text>, read_replicas set<int>, write_replicas set<int>"
)
NO_CMS = "this model shows the CMS as one unit; the models cms and migration show its members"


def kind_of(kind: Kind, step: str) -> str:
    """The published kind of a step of an operation."""
    if step not in PHASES:
        return "ASSASSINATE" if kind == step else "CANCEL_SEQUENCE"
    leaves = "decommission" if kind == "removenode" else kind
    [word] = [word for word, each in SEQUENCES.items() if each == leaves]
    return f"{PHASES[step]}_{word}"


def under_way(sequence: Sequence) -> ListedNode:
    """How the directory has the node of an operation."""
    kind = sequence.plan.operation.kind
    done = finished_step(sequence).name if sequence.done else "prepare"
    begun = bool(sequence.undoing) or PHASES[done] != "PREPARE"
    before = "REGISTERED" if kind in ("bootstrap", "replace") else "JOINED"
    state = "MOVING" if kind == "move" else MEANWHILE.get(kind, "LEAVING") if begun else before
    following = kind_of(kind, sequence.next.name)
    words = {"kind": following.partition("_")[2], "status": state_of(sequence)}
    comes = planned_tokens([sequence], sequence.node) if state == "BOOTSTRAPPING" else ()
    return ListedNode(state, None, {**words, "nextStep": following}, comes)


def directory(cluster: Cluster, metadata: Metadata) -> dict[str, ListedNode]:
    """How the directory has each node of the ring: members, newcomers and who has left."""
    busy = {each.node: under_way(each) for each in metadata.sequences}
    begun, listed = cluster.ring.nodes, dict[str, ListedNode]()
    for place, node in enumerate(metadata.ring.nodes):
        rest = "JOINED" if node.tokens else "LEFT" if begun[place].tokens else "REGISTERED"
        listed[node.name] = replace(busy.get(node.name, ListedNode(rest)), tokens=node.tokens)
    return listed


class TcmServers(MetadataServers):
    """The servers of a cluster whose log is kept somewhere."""

    operations: Mapping[str, str] = {
        **{kind: name for name, kind in SEQUENCES.items()},
        "removenode": "REMOVE",
    }

    does: Mapping[str, str] = {
        "nodetool decommission": "decommission {here}",
        "nodetool assassinate {machine}": "assassinate {machine}",
        "nodetool removenode {host_id}": "removenode {machine}",
    }
    lacks: Mapping[str, str] = {
        "nodetool cms reconfigure": NO_CMS,
        "nodetool cms initialize": NO_CMS,
        "nodetool cms abort": NO_CMS,
        "nodetool cms snapshot": "this model's log has no snapshots; the log in model commit does",
        "nodetool cms unregister": "a node that has left stays in the directory",
    }

    def __init__(self) -> None:
        super().__init__()
        placed = NodeTable("data_placements", PLACEMENTS, self.placed, "system_views")
        self.tables = (*self.tables, placed)

    # Only operators cancel, by a command each. Source: CEP-21, "Public Interfaces"; published code.

    def cancel(self, now: DrillMoment, given: Given) -> CommandReply:
        """By the documents there is one command for each operation."""
        name = self.machine(now, given) if "machine" in given else now.place
        return self.undoing(now, name, str(given["operation"]))

    def abort(self, now: DrillMoment, given: Given) -> CommandReply:
        """In the server there is one for a bootstrap, of a node by its number or its address."""
        reply = self.undoing(now, self.silent(now, given), "bootstrap")
        stays = "this command would also unregister the node, and here it stays registered"
        return replace(reply, lines=(f"{NOT_MODELLED}{stays}",))

    def abort_move(self, now: DrillMoment, given: Given) -> CommandReply:
        """Another one for the move of the node that one is on."""
        return self.undoing(now, now.place, "move")

    def cancel_sequence(self, now: DrillMoment, given: Given) -> CommandReply:
        """All else goes by JMX."""
        [kind] = [kind for kind, name in self.operations.items() if name == given["sequence"]]
        return self.undoing(now, self.numbered(now, given), kind)

    def undoing(self, now: DrillMoment, name: str, kind: str) -> CommandReply:
        """An event that undoes an operation. Raises Refused where no such one is under way."""
        self.answering(now, "nodetool")
        if (sequence := now.model.tcm.sequence(now.state.tcm, name)) is None:
            raise Refused(f"{name} has no operation under way")
        if sequence.plan.operation.kind != kind:
            title = sequence.plan.operation.title
            raise Refused(f"{name} has no {kind} under way: its operation is {title}")
        return CommandReply(actions=(now.model.wrap["tcm"](Cancel(name)),))

    def hosts(self, now: DrillMoment) -> list[ServerHost]:
        """Every machine; a name that is an address is that of its machine."""
        return [
            ServerHost(
                n.name if "." in n.name or ":" in n.name else address_of(at),
                host_id(at), n.dc, n.rack,
            )
            for at, n in enumerate(now.model.tcm.cluster.ring.nodes)
        ]  # fmt: skip

    def is_up(self, now: DrillMoment, at: int) -> bool:
        """Whether its server runs."""
        return now.model.names[at] not in now.state.tcm.down

    def service(self, now: DrillMoment, at: int) -> ServiceView:
        """How far a node is; who the members are is no part of this model."""
        m, log = now.model, now.state.log
        above = range(log.applied[at], log.held[at].bit_length())
        held = tuple(m.log.epoch_of(each + 1) for each in above if log.held[at] >> each & 1)
        return ServiceView(int(m.applied(now.state)[at]), held)

    def entries(self, now: DrillMoment) -> Iterator[Logged]:
        """All that is committed; its text tells nodes and tokens as the published one does."""
        codes = now.model.codes
        for each in moment.log(now.model, now.state):
            done = each.operation
            kind, said = kind_of(done.kind, each.step), f"{each.text} ({done.title})"
            tokens = done.tokens if kind.startswith("PREPARE_") else ()
            text = rendered(kind, said, codes[done.node], tokens, codes.get(done.target))
            yield each.epoch, kind, text, each.epoch

    def listed(self, now: DrillMoment, at: int) -> dict[int, ListedNode]:
        """Members, newcomers and who has left, by what a node has applied."""
        m, s = now.model, now.state
        nodes = directory(m.tcm.cluster, m.snapshot(s, self.service(now, at).epoch).metadata)
        return dict(enumerate(nodes.values()))

    def schema(self, now: DrillMoment, at: int) -> tuple[tuple[Keyspace, ...], list[UserTable]]:
        """The keyspaces stay the same, and have no tables here."""
        return now.model.tcm.cluster.keyspaces, []

    def space(self, now: DrillMoment) -> TokenSpace:
        """The line of tokens."""
        space: TokenSpace = now.model.tcm.cluster.ring.space
        return space

    def placed(self, now: DrillMoment, at: int) -> Iterator[Row]:
        """``system_views.data_placements``, by what a node has applied."""
        m, s, epoch = now.model, now.state, self.service(now, at).epoch
        ends = {m.names[at]: f"{host.address}:{PORT}" for at, host in enumerate(self.hosts(now))}
        for keyspace in moment.keyspaces(m):
            for row in moment.rows(m, s, keyspace, epoch):
                bounds = {"range_start": str(row.left), "range_end": str(row.right)}
                groups = {"read": row.reads, "write": row.writes}
                yield {
                    "keyspace_name": keyspace,
                    **bounds,
                    **{f"{of}_endpoints": [ends[each] for each in g] for of, g in groups.items()},
                    **{f"{of}_replicas": {m.codes[x] + 1 for x in g} for of, g in groups.items()},
                }


SERVERS = TcmServers()
