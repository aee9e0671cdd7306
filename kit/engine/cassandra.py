"""What the tools of Apache Cassandra print of the metadata that a node knows: ``nodetool cms``,
``gossipinfo``, the virtual tables.

Names of fields, and the order where one is published, are those of ``CMSAdmin``,
``ClusterMetadataLogTable``, ``ClusterMetadataDirectoryTable`` and ``GossipInfoTable``. What a model
does not tell is ``?``. A model has no clock: the time of an entry is its epoch, in seconds.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any

from msgspec import Struct

from kit.engine.drill import CommandReply, DrillMoment
from kit.engine.forms import Form, Given
from kit.engine.server import OWN_KEYSPACE, NodeTable, Row, Servers, aligned
from kit.errors import BadInput

UNTOLD = "?"
SEEN = "epoch of {}"
"""The mark of a node that was asked for its epoch."""
PORT, NATIVE_PORT = 7000, 9042
LOG_COLUMNS = ("epoch", "kind", "transformation", "entry_id", "entry_time")
NODE_COLUMNS = (
    *("node_id", "host_id", "state", "cassandra_version", "serialization_version", "rack", "dc"),
    *("broadcast_address", "broadcast_port", "local_address", "local_port", "native_address"),
    *("native_port", "tokens", "multi_step_operation"),
)
GOSSIP_STATES = ("STATUS", "DC", "RACK", "HOST_ID")
"""The states that models tell of, of those that servers gossip."""
GOSSIP_COLUMNS = (
    *("address", "port", "hostname", "generation", "heartbeat"),
    *(state.lower() for state in GOSSIP_STATES),
    *(f"{state.lower()}_version" for state in (*GOSSIP_STATES, "TOKENS")),
)
RING_HEAD = ("Address", "Rack", "Status", "State", "Load", "Owns", "Token")
LETTERS = {"JOINED": "N", "BOOTSTRAPPING": "J", "BOOT_REPLACING": "J", "LEAVING": "L"}
LETTERS |= {"MOVING": "M"}
STATUSES = {"JOINED": "NORMAL", "BOOTSTRAPPING": "BOOT", "BOOT_REPLACING": "BOOT_REPLACE"}
"""What gossip calls the states of the directory that it has another word for."""


class LoggedEvent(Struct, frozen=True):
    """An entry of the log: its epoch, its published kind, the event in words, its id."""

    epoch: int
    kind: str
    text: str
    id: int


class ListedNode(Struct, frozen=True):
    """A node of the directory: its state there, its tokens, what it has under way.

    ``tokens`` None: the model does not tell.
    """

    state: str
    tokens: tuple[int, ...] | None = None
    operation: Mapping[str, str] = {}


class ServiceView(Struct, frozen=True):
    """The CMS as a node knows it; ``members`` are numbers of nodes, None: the model has none.

    ``pending`` counts entries above a gap, ``unsettled``: the members are to change, ``paused``:
    nothing is committed, ``size`` is how many members are wanted.
    """

    epoch: int
    pending: int
    members: tuple[int, ...] | None = None
    unsettled: bool = False
    paused: bool = False
    migrating: bool = False
    size: str = UNTOLD
    identifier: str = UNTOLD


class GossipEntry(Struct, frozen=True):
    """What a node has heard of another one: a version and a value for each state.

    ``tokens`` is the version of its tokens; None: it has told none.
    """

    address: str
    states: Mapping[str, tuple[int, str]]
    tokens: int | None = None
    generation: int | None = None
    heartbeat: int | None = None


class MetadataServers(Servers):
    """Servers that follow a log of metadata; a family says what a node knows of it."""

    def __init__(self) -> None:
        self.tables = (
            NodeTable("cluster_metadata_log", LOG_COLUMNS, self.log_rows, "system_views"),
            NodeTable("cluster_metadata_directory", NODE_COLUMNS, self.node_rows, "system_views"),
            NodeTable("gossip_info", GOSSIP_COLUMNS, self.gossip_rows, "system_views"),
            NodeTable(
                "log_replication", ("node_id", "address", "up", "epoch", "behind", "held"),
                self.replication_rows, OWN_KEYSPACE,
            ),
        )  # fmt: skip

    # What a family says of its model

    def service(self, now: DrillMoment, at: int) -> ServiceView:
        """The CMS, as a node knows it."""
        raise NotImplementedError

    def entries(self, now: DrillMoment) -> Sequence[LoggedEvent]:
        """The log, as a quorum of the CMS answers. Raises Refused where there is none."""
        raise NotImplementedError

    def listed(self, now: DrillMoment, at: int) -> Mapping[int, ListedNode]:
        """The directory as a node knows it, by the places of nodes."""
        raise NotImplementedError

    def held(self, now: DrillMoment, at: int) -> tuple[int, ...]:
        """The epochs that a node holds back above a gap."""
        raise NotImplementedError

    def heard(self, now: DrillMoment, at: int) -> Iterator[GossipEntry]:
        """What a node has heard by gossip: the log sets the states, by its own epoch."""
        epoch, hosts = self.service(now, at).epoch, self.hosts(now)
        for place, node in self.listed(now, at).items():
            host = hosts[place]
            said = (STATUSES.get(node.state, node.state), host.dc, host.rack, host.host_id)
            states = {name: (epoch, value) for name, value in zip(GOSSIP_STATES, said, strict=True)}
            if node.state == "REGISTERED":
                del states["STATUS"]
            yield GossipEntry(host.address, states, epoch if node.tokens else None)

    # What the tools answer

    def is_member(self, now: DrillMoment, at: int) -> bool:
        """Whether the node that is asked lists another one in the ring."""
        node = self.listed(now, now.here).get(at)
        return node is not None and node.state in LETTERS

    def letter(self, now: DrillMoment, at: int) -> str:
        """The state of a member in the directory of the node that is asked."""
        return LETTERS[self.listed(now, now.here)[at].state]

    def count(self, now: DrillMoment, at: int) -> str:
        """How many tokens a member has, where the model has tokens."""
        tokens = self.listed(now, now.here)[at].tokens
        return UNTOLD if tokens is None else str(len(tokens))

    def describe_cms(self, now: DrillMoment, given: Given) -> CommandReply:
        """``nodetool cms describe``: this node's own view."""
        here, hosts = self.answering(now, "nodetool"), self.hosts(now)
        view = self.service(now, here)
        members = [
            f"(nodeid={at + 1},address=/{hosts[at].address}:{PORT})" for at in view.members or ()
        ]
        is_told = view.members is not None
        belongs = here in (view.members or ())
        values: dict[str, Any] = {
            "CMS Identifier": view.identifier,
            "Members": ",".join(members) if is_told else UNTOLD,
            "Needs reconfiguration": view.unsettled if is_told else UNTOLD,
            "Is Member": belongs if is_told else UNTOLD,
            "Service State": ("LOCAL" if belongs else "REMOTE") if is_told else UNTOLD,
            "Is Migrating": view.migrating,
            "Epoch": view.epoch,
            "Local Pending Count": view.pending,
            "Commits Paused": view.paused,
            "Replication factor": view.size if view.epoch else "",
        }
        lines = (f"{label}: {_java(value)}".rstrip() for label, value in values.items())
        marks = (SEEN.format(now.place),)
        return CommandReply(("Cluster Metadata Service:", *lines), marks=marks)

    def systemctl(self) -> tuple[Form, ...]:
        """``systemctl``, which starts and stops the server of the machine that one is on."""
        turns = {"restart": self.restart, "stop": self.stop, "start": self.start}
        return tuple(
            Form(f"systemctl {word} cassandra", f"{word} the server here", turn)
            for word, turn in turns.items()
        )

    def dumplog(self, now: DrillMoment, given: Given) -> CommandReply:
        """``nodetool cms dumplog``: the log, the same from every node that answers."""
        first = _epoch(given, "epoch", 1)
        last = _epoch(given, "last", 2**63 - 1)
        rows = self.log_rows(now, self.answering(now, "nodetool"))
        some = (row for row in rows if first <= row["epoch"] <= last)
        return CommandReply(tuple(_blocks("Epoch", some)))

    def dumpdirectory(self, now: DrillMoment, given: Given) -> CommandReply:
        """``nodetool cms dumpdirectory``: the nodes, as the asked one knows them."""
        rows = self.node_rows(now, self.answering(now, "nodetool"))
        shown = rows if "tokens" in given else ({**row, "tokens": None} for row in rows)
        return CommandReply(tuple(_blocks("NodeId", shown)))

    def dumpdirectory_tokens(self, now: DrillMoment, given: Given) -> CommandReply:
        """The same with the tokens of each node."""
        return self.dumpdirectory(now, {"tokens": "all"})

    def gossipinfo(self, now: DrillMoment, given: Given) -> CommandReply:
        """``nodetool gossipinfo``: what the asked node has heard of each other one, and itself."""
        lines = []
        for each in self.heard(now, self.answering(now, "nodetool")):
            lines += [f"/{each.address}", f"  generation:{_java(each.generation)}"]
            lines += [f"  heartbeat:{_java(each.heartbeat)}"]
            lines += [
                f"  {name}:{version}:{value}" for name, (version, value) in each.states.items()
            ]
            hidden = f"{each.tokens}:<hidden>" if each.tokens is not None else " not present"
            lines += [f"  TOKENS:{hidden}"]
        return CommandReply(tuple(lines))

    def ring(self, now: DrillMoment, given: Given) -> CommandReply:
        """``nodetool ring``: a row a token, by datacenter."""
        here = self.answering(now, "nodetool")
        up, hosts, by_dc = self.reached(now, here), self.hosts(now), dict[str, list[Any]]()
        states = {"N": "Normal", "J": "Joining", "L": "Leaving", "M": "Moving"}
        for at, node in self.listed(now, here).items():
            if self.is_member(now, at):
                state, host = states[self.letter(now, at)], hosts[at]
                row = (host.address, host.rack, "Up" if at in up else "Down", state, "?", "?")
                by_dc.setdefault(host.dc, []).extend((token, row) for token in node.tokens or ())
        lines: list[str] = []
        for dc, owned in sorted(by_dc.items()):
            owned.sort()
            wraps = [("",) * 6 + (str(owned[-1][0]),)] if len(owned) > 1 else []
            cells = [RING_HEAD, *wraps, *((*row, str(token)) for token, row in owned)]
            lines += ["", f"Datacenter: {dc}", "==========", *aligned(cells)]
        return CommandReply(tuple(lines))

    # The virtual tables

    def log_rows(self, now: DrillMoment, at: int) -> Iterator[Row]:
        """``system_views.cluster_metadata_log``."""
        for each in self.entries(now):
            time = datetime.fromtimestamp(each.epoch, UTC)
            yield dict(
                zip(LOG_COLUMNS, (each.epoch, each.kind, each.text, each.id, time), strict=True)
            )

    def node_rows(self, now: DrillMoment, at: int) -> Iterator[Row]:
        """``system_views.cluster_metadata_directory``."""
        hosts = self.hosts(now)
        for place, node in self.listed(now, at).items():
            host = hosts[place]
            tokens = None if node.tokens is None else tuple(map(str, node.tokens))
            values = (
                *(place + 1, host.host_id, node.state, UNTOLD, UNTOLD, host.rack, host.dc),
                *((host.address, PORT) * 2),
                *(host.address, NATIVE_PORT, tokens, node.operation or None),
            )
            yield dict(zip(NODE_COLUMNS, values, strict=True))

    def gossip_rows(self, now: DrillMoment, at: int) -> Iterator[Row]:
        """``system_views.gossip_info``."""
        for each in self.heard(now, at):
            row: dict[str, Any] = dict.fromkeys(GOSSIP_COLUMNS)
            row |= {"address": each.address, "port": PORT, "tokens_version": each.tokens}
            row |= {"generation": each.generation, "heartbeat": each.heartbeat}
            for name, (version, value) in each.states.items():
                row |= {name.lower(): value, f"{name.lower()}_version": version}
            yield row

    def replication_rows(self, now: DrillMoment, at: int) -> Iterator[Row]:
        """Our own table: how far each node is that the asked one lists, as nobody can ask."""
        listed, hosts = self.listed(now, at), self.hosts(now)
        epochs = [self.service(now, place).epoch for place in range(len(hosts))]
        for place in listed:
            yield {
                "node_id": place + 1,
                "address": hosts[place].address,
                "up": self.is_up(now, place),
                "epoch": epochs[place],
                "behind": max(epochs) - epochs[place],
                "held": {*self.held(now, place)},
            }


def _java(value: Any) -> str:
    """A value as Java prints it."""
    match value:
        case None:
            return UNTOLD
        case bool():
            return str(value).lower()
        case datetime():
            return value.strftime("%a %b %d %H:%M:%S UTC %Y")
        case tuple():
            return f"[{', '.join(map(str, value))}]"
        case Mapping():
            return f"{{{', '.join(f'{name}={each}' for name, each in value.items())}}}"
    return str(value)


def _blocks(title: str, rows: Iterable[Row]) -> Iterator[str]:
    """A block for each row: its key, then a line for each column that it has a value of."""
    width = 0
    for row in rows:
        [(_, key), *values] = row.items()
        fields = {name: _java(value) for name, value in values if value is not None}
        width = width or max(map(len, fields)) + 1
        yield f"{title}: {key}"
        for name, value in fields.items():
            slash = "/" * name.endswith("_address")
            yield f"  {name.ljust(width)}{slash}{value}"


def _epoch(given: Given, name: str, otherwise: int) -> int:
    """An epoch that is given as an option. Raises BadInput for no number."""
    text = str(given.get(name, otherwise))
    if not (text.isascii() and text.isdecimal() and len(text) < 20):
        raise BadInput("--start" if name == "epoch" else "--end", text, "an epoch, a number from 1")
    return int(text)
