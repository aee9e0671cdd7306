"""What the tools of Apache Cassandra print of what a node knows: ``nodetool cms``, ``ring``,
``gossipinfo``, and the virtual tables.

Names of fields, and their order where one is published, are those of ``CMSAdmin``,
``ClusterMetadataLogTable``, ``ClusterMetadataDirectoryTable`` and ``GossipInfoTable``. What a model
does not tell is ``?``. A model has no clock: the time of an entry is its epoch, in seconds.
"""

from collections.abc import Iterable, Iterator, Mapping
from datetime import UTC, datetime
from math import inf
from operator import itemgetter
from typing import Any, TypeAlias

from msgspec import Struct

from kit.console.drill import CommandReply, DrillMoment
from kit.console.forms import Form, Given
from kit.console.logs import whole
from kit.console.server import (
    NO_TOKENS,
    OWN_KEYSPACE,
    UNTOLD,
    KnownRing,
    NodeTable,
    Row,
    Servers,
    aligned,
    row_of,
)
from kit.errors import Refused
from kit.model.flows import as_uuid
from kit.ring.tokens import TokenSpace

SEEN = "epoch of {}"
"""The mark of a node that was asked for its epoch."""
PORT, NATIVE_PORT = 7000, 9042
LOG = "epoch bigint; kind text, transformation text, entry_id bigint, entry_time timestamp"
DIRECTORY = (
    "node_id int; host_id uuid, state text, cassandra_version text, serialization_version text, "
    "rack text, dc text, broadcast_address text, broadcast_port int, local_address text, "
    "local_port int, native_address text, native_port int, tokens list<text>, "
    "multi_step_operation map<text, text>"
)
REPLICATION = "node_id int; address text, up boolean, epoch bigint, behind bigint, held set<bigint>"
STATES = ("STATUS", "SCHEMA", "DC", "RACK", "HOST_ID")
"""What models tell of the states that servers gossip."""
GOSSIP = (
    "address text, port int; hostname text, generation int, heartbeat text, status text, "
    "schema text, dc text, rack text, host_id uuid, status_version int, schema_version int, "
    "dc_version int, rack_version int, host_id_version int, tokens_version int"
)
RING_HEAD = ("Address", "Rack", "Status", "State", "Load", "Owns", "Token")
STANDINGS = {
    "JOINED": "Normal",
    "BOOTSTRAPPING": "Joining",
    "BOOT_REPLACING": "Joining",
    "LEAVING": "Leaving",
    "MOVING": "Moving",
}
"""The states of the directory that are in the ring, and the word of nodetool for them."""
STATUSES = {"JOINED": "NORMAL", "BOOTSTRAPPING": "BOOT", "BOOT_REPLACING": "BOOT_REPLACE"}
"""The word of gossip for a state, where it is another one."""
Logged: TypeAlias = tuple[int, str, str, int]
"""An entry of the log: its epoch, its published kind, the event in words, its id."""


class ListedNode(Struct, frozen=True):
    """A node of the directory: its state, its tokens (None: untold), what it has under way.

    ``joins_at`` are the tokens of a bootstrap that is under way; the node does not own them yet.
    """

    state: str
    tokens: tuple[int, ...] | None = None
    operation: Mapping[str, str] = {}
    joins_at: tuple[int, ...] = ()

    @property
    def placed(self) -> tuple[int, ...] | None:
        """The tokens by which ``status`` and ``ring`` list it.

        Source: published ``StorageService.getTokenToEndpointMap``, which adds those of joiners.
        """
        return self.joins_at or self.tokens


class ServiceView(Struct, frozen=True):
    """The CMS as a node knows it, and how far the node is.

    ``held`` are epochs above a gap. ``members`` are places of nodes, None: the model has none;
    ``unsettled``: they are to change, ``by_gossip``: the node has no log, ``migrates``: it is about
    to begin one, ``sizes`` are how many are wanted in each datacenter (none: untold).
    """

    epoch: int
    held: tuple[int, ...]
    members: tuple[int, ...] | None = None
    unsettled: bool = False
    by_gossip: bool = False
    migrates: bool = False
    sizes: Mapping[str, int] = {}
    identifier: str = UNTOLD


_CLASSES = {
    "PRE_INITIALIZE_CMS": "PreInitialize",
    "INITIALIZE_CMS": "Initialize",
    "SCHEMA_CHANGE": "AlterSchema",
    "CANCEL_SEQUENCE": "CancelInProgressSequence",
    "PREPARE_SIMPLE_CMS_RECONFIGURATION": "PrepareCMSReconfiguration#Simple",
    "PREPARE_COMPLEX_CMS_RECONFIGURATION": "PrepareCMSReconfiguration#Complex",
}
"""What the published transformations call themselves, where that is not their kind."""


def rendered(
    kind: str,
    said: str,
    node: int | None = None,
    tokens: Iterable[int] = (),
    replaced: int | None = None,
    more: Mapping[str, str] = {},
) -> str:
    """A transformation as the log prints it, of nodes by their places; then what is said of it.

    Fields of a kind that are not of its node are given as ``more``, by their published names.
    """
    name = _CLASSES.get(kind) or kind.title().replace("_", "").replace("Cms", "CMS")
    step, _, what = kind.partition("_")
    own = "nodeId" if step in ("CANCEL", "UNREGISTER", "STARTUP") else "id"
    own = "leaving" if kind in ("ASSASSINATE", "PREPARE_LEAVE") else own
    own = "replacement" if what == "REPLACE" else own
    fields = {} if replaced is None else {"replaced": node_id(replaced)}
    fields |= {} if node is None else {own: node_id(node)}
    fields |= {"tokens": f"[{', '.join(map(str, tokens))}]"} if tokens else {}
    inner = ", ".join(f"{each}={of}" for each, of in {**fields, **more}.items())
    return f"{name}{{{inner}}}: {said}"


def node_id(place: int) -> str:
    """``NodeId{id=1}``: nodes are numbered in the order in which they have registered."""
    return f"NodeId{{id={place + 1}}}"


def replication_params(sizes: Mapping[str, int]) -> str:
    """How many members each datacenter has, as the published ``ReplicationParams`` says it."""
    each = ", ".join(f"{dc}={size}" for dc, size in sizes.items())
    strategy = "org.apache.cassandra.locator.MetaStrategy"
    return f"ReplicationParams{{class={strategy}, {each}}}" if sizes else UNTOLD


def gossiped(
    address: str, states: Mapping[str, tuple[int | None, str]], generation: int | None = None
) -> Row:
    """A node's gossip about another one: each state with its version (None: untold), value."""
    row = {"address": address, "port": PORT, "generation": generation}
    values = {name.lower(): value for name, (_, value) in states.items()}
    return {**row, **values, **{f"{n.lower()}_version": at for n, (at, _) in states.items()}}


class GossipServers(Servers):
    """Servers that tell what they have heard of each other."""

    lacks: Mapping[str, str] = {"nodetool cms": "there is no CMS", "nodetool ring": NO_TOKENS}

    def __init__(self) -> None:
        self.tables = (NodeTable("gossip_info", GOSSIP, self.heard, "system_views"),)

    def heard(self, now: DrillMoment, at: int) -> Iterator[Row]:
        """A node's gossip about each other one, and about itself (``gossiped``)."""
        raise NotImplementedError

    def gossipinfo(self, now: DrillMoment, given: Given) -> CommandReply:
        """``nodetool gossipinfo``."""
        lines = []
        for row in self.heard(now, self.answering(now, "nodetool")):
            lines += [f"/{row['address']}"]
            lines += [f"  {name}:{_java(row.get(name))}" for name in ("generation", "heartbeat")]
            for name in (*STATES, "TOKENS"):
                version, value = row.get(f"{name.lower()}_version"), row.get(name.lower())
                lines += [f"  {name}:{_java(version)}:{value}"] if value is not None else []
            lines += ["  TOKENS: not present"] if "tokens" not in row else []
        return CommandReply(tuple(lines))


class MetadataServers(GossipServers):
    """Servers that follow a log of metadata; a family says what a node knows of it."""

    def __init__(self) -> None:
        super().__init__()
        self.tables = (
            *self.tables,
            NodeTable("cluster_metadata_log", LOG, self.log_rows, "system_views"),
            NodeTable("cluster_metadata_directory", DIRECTORY, self.node_rows, "system_views"),
            NodeTable("log_replication", REPLICATION, self.replication, OWN_KEYSPACE),
        )

    # What a family says of its model

    def service(self, now: DrillMoment, at: int) -> ServiceView:
        """The CMS, as a node knows it."""
        raise NotImplementedError

    def entries(self, now: DrillMoment) -> Iterable[Logged]:
        """The log, as a quorum of the CMS answers. Raises Refused where there is none."""
        raise NotImplementedError

    def listed(self, now: DrillMoment, at: int) -> Mapping[int, ListedNode]:
        """The directory as a node knows it, by the places of nodes."""
        raise NotImplementedError

    def space(self, now: DrillMoment) -> TokenSpace | None:
        """The line of tokens; None where nodes have none."""
        return None

    def version(self, now: DrillMoment, at: int) -> str:
        """No event of these models changes the schema."""
        return as_uuid(0)

    def with_cms(self, now: DrillMoment) -> int:
        """The machine that one is on. Raises Refused where it is down, or knows of no CMS."""
        return self.answering(now, "nodetool")

    # What the tools answer

    def known_ring(self, now: DrillMoment, at: int) -> KnownRing | None:
        """The tokens in the directory of the node that is asked."""
        if (space := self.space(now)) is None:
            return None
        listed = self.listed(now, at).items()
        return KnownRing(space, {place: node.tokens or () for place, node in listed})

    def is_member(self, now: DrillMoment, at: int) -> bool:
        """Whether the node that is asked lists another one in the ring."""
        return any(each == at for each, *_ in self.members(now))

    def members(self, now: DrillMoment) -> Iterator[tuple[int, str, str]]:
        """The directory of the node that is asked."""
        for at, node in self.listed(now, now.here).items():
            if node.state in STANDINGS:
                count = UNTOLD if node.placed is None else str(len(node.placed))
                yield at, STANDINGS[node.state][0], count

    def describe_cms(self, now: DrillMoment, given: Given) -> CommandReply:
        """``nodetool cms describe``: this node's own view."""
        here, hosts = self.with_cms(now), self.hosts(now)
        view = self.service(now, here)
        members = view.members or ()
        ends = [f"(nodeid={at + 1},address=/{hosts[at].address}:{PORT})" for at in members]
        belongs = here in members
        values = {
            "CMS Identifier": view.identifier,
            "Members": ",".join(ends),
            "Needs reconfiguration": view.unsettled,
            "Is Member": belongs,
            "Service State": "GOSSIP" if view.by_gossip else "LOCAL" if belongs else "REMOTE",
            "Is Migrating": view.migrates,
            "Epoch": view.epoch,
            "Local Pending Count": len(view.held),
            "Commits Paused": False,  # a member's own flag, set by JMX, which no model has
            "Replication factor": replication_params(view.sizes) if view.epoch else "",
        }
        if view.members is None:
            labels = ("Members", "Needs reconfiguration", "Is Member", "Service State")
            values |= dict.fromkeys(labels, UNTOLD)
        lines = (f"{label}: {_java(value)}".rstrip() for label, value in values.items())
        marks = (SEEN.format(now.place),)
        return CommandReply(("Cluster Metadata Service:", *lines), marks=marks)

    def silent(self, now: DrillMoment, given: Given) -> str:
        """The node whose bootstrap is to be aborted. Raises Refused where it is up.

        Source: published ``StorageService.abortBootstrap``.
        """
        name = self.machine(now, given) if "machine" in given else self.numbered(now, given)
        at = now.number(name)
        if at in self.reached(now, self.answering(now, "nodetool")):
            raise Refused(f"Can't abort bootstrap for {node_id(at)} - it is alive ({name})")
        return name

    def systemctl(self) -> tuple[Form, ...]:
        """``systemctl``, which starts and stops the server of the machine that one is on."""
        turns = {"restart": self.restart, "stop": self.stop, "start": self.start}
        words = ((f"systemctl {word} cassandra", f"{word} the server here") for word in turns)
        return tuple(map(Form, *zip(*words, strict=True), turns.values()))

    def dumplog(self, now: DrillMoment, given: Given) -> CommandReply:
        """``nodetool cms dumplog``: the log, the same from every node that answers."""
        first = whole("--start", given.get("start", 1))
        rows = self.log_rows(now, self.with_cms(now))
        last = whole("--end", given["end"]) if "end" in given else inf
        some = (row for row in rows if first <= row["epoch"] <= last)
        return CommandReply(tuple(_blocks("Epoch", some)))

    def dumpdirectory(self, now: DrillMoment, given: Given) -> CommandReply:
        """``nodetool cms dumpdirectory``: the nodes, as the asked one knows them."""
        rows = self.node_rows(now, self.with_cms(now))
        shown = rows if "tokens" in given else ({**row, "tokens": None} for row in rows)
        return CommandReply(tuple(_blocks("NodeId", sorted(shown, key=itemgetter("node_id")))))

    def dumpdirectory_tokens(self, now: DrillMoment, given: Given) -> CommandReply:
        """The same with the tokens of each node."""
        return self.dumpdirectory(now, {"tokens": "all"})

    def ring(self, now: DrillMoment, given: Given) -> CommandReply:
        """``nodetool ring``: a row a token, by datacenter."""
        here, by_dc = self.answering(now, "nodetool"), dict[str, list[tuple[int, Any]]]()
        up, hosts = self.reached(now, here), self.hosts(now)
        for at, node in self.listed(now, here).items():
            health, host = "Up" if at in up else "Down", hosts[at]
            row = host.address, host.rack, health, STANDINGS.get(node.state), UNTOLD, UNTOLD
            by_dc.setdefault(host.dc, []).extend((token, row) for token in node.placed or ())
        lines: list[str] = []
        for dc, owned in sorted(each for each in by_dc.items() if each[1]):
            last, rows = max(owned)[0], [(*row, str(token)) for token, row in sorted(owned)]
            wraps = [("",) * 6 + (str(last),)] if len(rows) > 1 else []
            cells = aligned([RING_HEAD, *wraps, *rows])
            lines += ["", f"Datacenter: {dc}", "==========", *cells]
        return CommandReply(tuple(lines))

    # The tables

    def heard(self, now: DrillMoment, at: int) -> Iterator[Row]:
        """The log sets the states: their version is the epoch of the node that is asked."""
        epoch, hosts = self.service(now, at).epoch, self.hosts(now)
        for place, node in self.listed(now, at).items():
            host, status = hosts[place], STATUSES.get(node.state, node.state)
            states = {"STATUS": status, "DC": host.dc, "RACK": host.rack, "HOST_ID": host.host_id}
            states |= {"TOKENS": "<hidden>"} if node.tokens else {}
            if node.state == "REGISTERED":
                del states["STATUS"]
            yield gossiped(host.address, {name: (epoch, each) for name, each in states.items()})

    def log_rows(self, now: DrillMoment, at: int) -> Iterator[Row]:
        """``system_views.cluster_metadata_log``."""
        for each in self.entries(now):
            yield row_of(LOG, (*each, datetime.fromtimestamp(each[0], UTC)))

    def node_rows(self, now: DrillMoment, at: int) -> Iterator[Row]:
        """``system_views.cluster_metadata_directory``."""
        hosts = self.hosts(now)
        for place, node in self.listed(now, at).items():
            host = hosts[place]
            tokens = None if node.tokens is None else tuple(map(str, node.tokens))
            values = (
                *(place + 1, host.host_id, node.state, UNTOLD, UNTOLD, host.rack, host.dc),
                *(host.address, PORT, host.address, PORT, host.address, NATIVE_PORT),
                *(tokens, node.operation or None),
            )
            yield row_of(DIRECTORY, values)

    def replication(self, now: DrillMoment, at: int) -> Iterator[Row]:
        """Our own table: how far each node is that the asked one lists, as nobody can ask."""
        hosts = self.hosts(now)
        views = [self.service(now, place) for place in range(len(hosts))]
        top = max(view.epoch for view in views)
        for place in self.listed(now, at):
            view = views[place]
            far = self.is_up(now, place), view.epoch, top - view.epoch, {*view.held}
            yield row_of(REPLICATION, (place + 1, hosts[place].address, *far))


def _java(value: Any) -> str:
    if isinstance(value, datetime):
        return value.strftime("%a %b %d %H:%M:%S UTC %Y")
    if isinstance(value, tuple):
        return f"[{', '.join(value)}]"
    if isinstance(value, Mapping):
        return f"{{{', '.join(f'{name}={each}' for name, each in value.items())}}}"
    if isinstance(value, bool):
        return str(value).lower()
    return UNTOLD if value is None else str(value)


def _blocks(title: str, rows: Iterable[Row]) -> Iterator[str]:
    for row in rows:
        [(_, key), *values] = row.items()
        fields = [(name, _java(value)) for name, value in values if value is not None]
        width = max(len(name) for name, _ in fields) + 1
        yield f"{title}: {key}"
        for name, value in fields:
            yield f"  {name.ljust(width)}{'/' * name.endswith('_address')}{value}"
