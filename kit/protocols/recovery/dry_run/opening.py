"""Opening what is known of a cluster that lost nodes: a description, or a dump of its topology.

A description is JSON: ``{"nodes": [{"name": "A", "dc": "dc1", "rack": "r1", "status": "up",
"commit_index": 10}, …], "keyspaces": {"shop": {"dc1": 3}}}``. ``status`` is ``up``, ``down`` (it
may be restarted) or ``lost`` (for good). ``deaths`` lists who died with whom, in order; who is in
none of them died before. ``upgrade`` is ``stuck`` while the Raft upgrade is. A node that joins or
leaves has a ``state`` as in ``system.topology``; ``votes`` is false of one that lost its vote.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Literal, get_args

import msgspec
from msgspec import Meta, Struct, ValidationError, field
from msgspec.structs import replace

from kit.edge.json_text import located, parse_json
from kit.edge.reading import read_text
from kit.engine.registry import one_of
from kit.errors import BadInput, misfit
from kit.operators.importers.ringfile import LARGEST_FILE
from kit.operators.importers.system_tables import is_topology
from kit.protocols.recovery.rules.quorum import Place
from kit.protocols.topology.dry_run.opening import PathLike, open_topology
from kit.protocols.topology.rules.columns import JOINING, without_vote

Status = Literal["up", "down", "lost"]
Name = Annotated[str, Meta(min_length=1, max_length=200, pattern=r"^[!-~]+$")]
Index = Annotated[int, Meta(ge=0, le=2**62)]
Factor = Annotated[int, Meta(ge=0, le=1000)]
SETTLED = ("normal", "rebuilding")
UNTOLD = "nothing tells who is dead (--status, --down, --lost): all nodes are taken to live"
ALIVE = "is --lost, and up by nodetool status: make sure that it is dead"
MOST_NODES = 10_000
MOST_KEYSPACES = MOST_DATACENTERS = 100
OWN = re.compile(r'"(?:status|commit_index|deaths|upgrade)"\s*:')  # of JSON that names nodes
FORM = "a description of a cluster in JSON, or a dump of system.topology"


class ClusterNode(Struct, frozen=True, forbid_unknown_fields=True):
    """A member: where it stands, whether it lives, how far it knows the log to be committed.

    ``state`` is its state in ``system.topology``: a node votes, and has data, once it has joined.
    ``votes`` is false of one that has joined and lost its vote, as it is to go.
    """

    name: Name
    dc: Name = "dc1"
    rack: Name = "r1"
    status: Status = "up"
    commit_index: Index | None = None
    state: Name = "normal"
    votes: bool = True

    @property
    def joins(self) -> bool:
        """Whether it is not there yet: it has neither a vote nor data of its own."""
        return self.state in JOINING

    @property
    def settled(self) -> bool:
        """Whether it neither joins nor leaves: no other node can be recovered."""
        return self.state in SETTLED


class ClusterDescription(Struct, frozen=True, forbid_unknown_fields=True):
    """A cluster that lost nodes; ``keyspaces`` give each datacenter its replication factor."""

    nodes: Annotated[tuple[ClusterNode, ...], Meta(min_length=1, max_length=MOST_NODES)]
    keyspaces: Annotated[
        Mapping[Name, Annotated[Mapping[Name, Factor], Meta(max_length=MOST_DATACENTERS)]],
        Meta(max_length=MOST_KEYSPACES),
    ] = field(default_factory=dict)
    deaths: tuple[tuple[Name, ...], ...] = ()
    upgrade: Literal["done", "stuck"] = "done"

    def named(self, *statuses: Status) -> tuple[str, ...]:
        """The nodes of these statuses."""
        return tuple(node.name for node in self.nodes if node.status in statuses)

    def mask(self, *statuses: Status) -> int:
        """The same as a mask."""
        return sum(1 << at for at, node in enumerate(self.nodes) if node.status in statuses)

    @property
    def voting(self) -> int:
        """Who may vote in group 0 (a mask)."""
        nodes = enumerate(self.nodes)
        return sum(1 << at for at, node in nodes if node.votes and not node.joins)

    @property
    def replicas(self) -> ClusterDescription:
        """The nodes that have data: all but those that join."""
        return replace(self, nodes=tuple(node for node in self.nodes if not node.joins))

    @property
    def places(self) -> tuple[Place, ...]:
        """The datacenter and the rack of each node."""
        return tuple((node.dc, node.rack) for node in self.nodes)

    @property
    def deaths_in_order(self) -> tuple[int, ...]:
        """Who died at once (masks), in order; first those whose time is not told."""
        at = {node.name: i for i, node in enumerate(self.nodes)}
        known = [sum(1 << at[name] for name in group) for group in self.deaths]
        return tuple(filter(None, (self.mask("down", "lost") & ~sum(known), *known)))


def open_cluster(
    path: PathLike,
    *,
    status: PathLike | None = None,
    down: Iterable[str] = (),
    lost: Iterable[str] = (),
    commit: Mapping[str, int] | None = None,
    factors: Mapping[str, int] | None = None,
) -> tuple[ClusterDescription, tuple[str, ...]]:
    """Open a description, or a dump of ``system.topology`` with what only options can tell.

    With it come warnings, lines to show.

    Of a dump ``status`` is the text of ``nodetool status``; ``down`` nodes may be restarted, those
    ``lost`` are gone; ``commit`` gives commit indexes by host, ``factors`` the replication factor
    of each datacenter. Hosts are ids or their beginnings.

    Raises:
        BadInput: for a file that is not well formed, a name of no node, options beside a
            description.
    """
    text = read_text(path, "FILE", LARGEST_FILE)
    may_return, gone = tuple(down), tuple(lost)
    indexes, rf = dict(commit or {}), dict(factors or {})
    if not is_topology(text):
        beside = {"status": status, "down": may_return, "lost": gone, "commit": indexes, "rf": rf}
        for name, given in beside.items():
            if given:
                raise BadInput(f"--{name}", given, "nothing beside a description; it says this")
        return parse_cluster(text), ()
    opened = open_topology(path, status=status, down=may_return)
    rows = [row for row in opened.table.rows if row.node_state not in (None, "none", "left")]
    hosts = [row.host_id for row in rows]
    for_good = {node_named(name, hosts, "--lost") for name in gone}
    for name in may_return:
        if any(host in for_good for host in hosts if host.startswith(name.lower())):
            raise BadInput("--down", name, "a node that is not --lost as well")
    known: dict[str, int] = {}
    for name, index in indexes.items():
        host = node_named(name, hosts, "--commit")
        if host in known:
            raise BadInput("--commit", name, "each HOST once")
        known[host] = index
    dead = opened.down or frozenset()
    going = without_vote(opened.table)
    untold = (UNTOLD,) if opened.down is None and not gone else ()
    answering = [host for host in hosts if host in for_good - dead] if status is not None else []
    alive = tuple(f"{host} {ALIVE}" for host in answering)
    nodes = tuple(
        ClusterNode(
            row.host_id,
            row.datacenter or "dc1",
            row.rack or "r1",
            "lost" if row.host_id in for_good else "down" if row.host_id in dead else "up",
            known.get(row.host_id),
            row.node_state or "none",
            row.host_id not in going,
        )
        for row in rows
    )
    cluster = _checked(ClusterDescription(nodes, {"keyspace": rf} if rf else {}))
    return cluster, (*opened.warnings, *untold, *alive)


def is_description(text: str) -> bool:
    """Whether a text, or its beginning, looks like a description: nodes, and who is lost."""
    return text.lstrip().startswith("{") and '"nodes"' in text and OWN.search(text) is not None


def parse_cluster(text: str) -> ClusterDescription:
    """Read the text of a description.

    Raises:
        BadInput: naming the field, with its line and column in the text.
    """
    value = parse_json(text, "FILE", FORM)
    try:
        return _checked(msgspec.convert(value, ClusterDescription))
    except (ValidationError, UnicodeError) as error:
        of_status = str(error).endswith(".status`")
        allowed = f"one of {', '.join(get_args(Status))}" if of_status else FORM
        raise located(misfit("FILE", value, error, allowed), text) from None
    except BadInput as error:
        raise located(error, text) from None


def _checked(given: ClusterDescription) -> ClusterDescription:
    """The description, if its names fit one another."""
    names = [node.name for node in given.nodes]
    dead = set(given.named("down", "lost"))
    if len(set(names)) < len(names):
        again = next(name for at, name in enumerate(names) if name in names[:at])
        raise BadInput("nodes", again, "each name once")
    dcs = list(dict.fromkeys(node.dc for node in given.nodes))
    for keyspace, factors in given.keyspaces.items():
        if not any(factors.values()):
            raise BadInput(f"keyspaces.{keyspace}", dict(factors), "a replica in one datacenter")
        for dc in factors:
            if dc not in dcs:
                raise BadInput(f"keyspaces.{keyspace}", dc, one_of(dc, dcs))
    seen: set[str] = set()
    for at, group in enumerate(given.deaths):
        for name in group:
            if name not in dead:
                raise BadInput(f"deaths[{at}]", name, "a node that is down or lost")
            if name in seen:
                raise BadInput(f"deaths[{at}]", name, "each node once")
            seen.add(name)
    return given


def node_named(name: str, names: Sequence[str], option: str) -> str:
    """The node that a name means: its own, or the beginning of only one.

    Raises:
        BadInput: naming the option, for a name of no node, or of several.
    """
    if name in names:
        return name
    fitting = [each for each in names if name and each.startswith(name.lower())]
    if len(fitting) != 1:
        several = "a name of one node only"
        nobody = one_of(name, list(names)) if names else "nobody: all are lost"
        raise BadInput(option, name, several if fitting else nobody)
    return fitting[0]


def source_of(path: PathLike) -> str:
    """What a report calls the file."""
    return Path(path).name
