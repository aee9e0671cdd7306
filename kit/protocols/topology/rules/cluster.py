"""What a coordinator reads: the tables as it keeps them in memory, and the cells a command sets.

The compact form of ``rules.columns``, in which nodes are numbers and sets of nodes are bit masks. A
coordinator builds it from the tables alone (``rules.columns``). Descriptions, timestamps and the
contents of CDC generations are left out: nothing here depends on them. Below stand the safeguards
as the rules ask for them, and what versions, fences and sessions decide on one node: who is served,
who drains, whose work is let in. Source: Topology over Raft, "Topology guards", "Topology state
persistence table"; read by Q-21 and Q-46.
"""

from collections.abc import Iterator
from functools import lru_cache
from itertools import zip_longest
from typing import Any, Literal

from msgspec import Struct, field
from msgspec.structs import asdict, replace

from kit.errors import check_among
from kit.masks import mask_of, where
from kit.protocols.group0.rules.commands import Group0Safeguards
from kit.protocols.group0.rules.releases import NEWEST, RELEASES, Release, has
from kit.protocols.topology.rules.machines import EDITIONS, Edition, Tables

NOBODY = -1
NO_ROW = ""
"""The state of a node that has no row yet."""

Tablets = Literal["even", "uneven", "moving"]
"""The tablet track as one piece of work: nothing to do, a plan to make, transitions under way."""


class NodeEntry(Struct, frozen=True, cache_hash=True, kw_only=True):
    """The row of one node.

    ``request`` is the column ``topology_request``; ``request_id`` the number of its current or last
    request (0: none), counted from 1 in the order of ids. ``tokens`` says whether it owns any,
    ``zero_token`` whether it never will. ``supported`` is a mask of features. ``rack`` is the
    columns ``datacenter`` and ``rack``, as in ``dc1/r1`` (empty: nothing is said of them).
    ``rebuild_option`` and ``tokens_string`` are what the request of the node says, empty for null.
    ``shards`` is the column ``shard_count``, of what each server's configuration decides.
    """

    state: str = NO_ROW
    request: str = ""
    request_id: int = 0
    replaced: int = NOBODY
    tokens: bool = False
    zero_token: bool = False
    cleanup: str = "clean"
    supported: int = 0
    rack: str = ""
    rebuild_option: str = ""
    tokens_string: str = ""
    shards: int = 1


Factor = int | tuple[str, ...]
"""How many replicas a datacenter has, or its racks that have one each (edition ``server``)."""

Replication = tuple[tuple[str, Factor], ...]
"""The replicas that a keyspace has in each datacenter, ascending by datacenter."""


class RequestEntry(Struct, frozen=True, cache_hash=True):
    """A row of ``topology_requests``: what was asked for, of which node (``NOBODY``: of all).

    ``keyspace`` and ``replication`` are those of an RF change, ``table`` that of a truncate.
    """

    kind: str
    node: int
    done: bool = False
    error: bool = False
    keyspace: str = ""
    replication: Replication = ()
    table: str = ""


class ClusterTopology(Struct, frozen=True, cache_hash=True, kw_only=True):
    """The topology of a cluster at one state of group 0.

    ``transition`` is empty for null. ``session`` is the id of the open session, 0 for none.
    ``ignored``: the column ``ignore_nodes``. ``queue`` holds the numbers of pending global
    requests, ``running`` that of the one under way. ``members`` is group 0's configuration;
    ``nonvoters`` of it have lost their vote, as they are to go. ``tablets`` and ``tablets_on``
    (who has any) stand for the tables of tablets, ``resizes`` for the tables whose split or merge
    may be finalized. ``generations`` counts committed CDC
    generations, ``unpublished`` those of them not yet published. ``enabled`` is a mask of
    features. ``rf``: the replicas in each datacenter of a keyspace that has to stay
    RF-rack-valid (0: there is none). ``keyspaces`` are those with tablets, as far as they are
    known. ``balancing``: tablet balancing has not been switched off.
    """

    nodes: tuple[NodeEntry, ...]
    transition: str = ""
    version: int = 1
    fence_version: int = 1
    session: int = 0
    ignored: int = 0
    requests: tuple[RequestEntry, ...] = ()
    queue: tuple[int, ...] = ()
    running: int = 0
    members: int = 0
    nonvoters: int = 0
    tablets: str = "even"
    tablets_on: int = 0
    resizes: int = 0
    generations: int = 1
    unpublished: int = 0
    enabled: int = 0
    rf: int = 0
    keyspaces: tuple[tuple[str, Replication], ...] = ()
    balancing: bool = True


MASKS = ("ignored", "members", "nonvoters", "tablets_on")
"""The cells of a topology that hold a set of nodes."""


def with_node(topology: ClusterTopology, node: int, **cells: Any) -> ClusterTopology:
    """The topology in which these cells of one node's row are set."""
    entry = replace(topology.nodes[node], **cells)
    nodes = (*topology.nodes[:node], entry, *topology.nodes[node + 1 :])
    return replace(topology, nodes=nodes)


def with_request(topology: ClusterTopology, number: int, **cells: Any) -> ClusterTopology:
    """The topology in which these cells of one request's row are set."""
    place = number - 1
    entry = replace(topology.requests[place], **cells)
    requests = (*topology.requests[:place], entry, *topology.requests[place + 1 :])
    return replace(topology, requests=requests)


def unbegun(topology: ClusterTopology, node: int) -> ClusterTopology:
    """The topology in which a node's pending request is done, with an error."""
    topology = with_request(topology, topology.nodes[node].request_id, done=True, error=True)
    return with_node(topology, node, request="")


def changed_requests(
    before: ClusterTopology, after: ClusterTopology
) -> Iterator[tuple[int, RequestEntry | None, RequestEntry]]:
    """Every request that differs: its number, what it was (None: it is new), what it is."""
    pairs = zip_longest(before.requests, after.requests)
    yield from ((n, was, now) for n, (was, now) in enumerate(pairs, 1) if was != now)


@lru_cache(maxsize=1 << 11)
def in_state(topology: ClusterTopology, *states: str) -> int:
    """The nodes in one of these states."""
    return where(entry.state in states for entry in topology.nodes)


def owners(topology: ClusterTopology) -> int:
    """The normal nodes that own tokens."""
    own = enumerate(topology.nodes)
    return mask_of(i for i, entry in own if entry.tokens and entry.state == "normal")


Cells = tuple[tuple[str, Any], ...]
Rows = tuple[tuple[int, Cells], ...]


class Mutation(Struct, frozen=True, cache_hash=True):
    """The cells that a command sets: static ones, and those of rows of nodes and requests.

    Cells keep what they are given whatever the state, as in the tables: that a command takes effect
    only on the state that it was decided on is the guard's affair.
    """

    static: Cells = ()
    nodes: Rows = ()
    requests: Rows = ()


def difference(before: ClusterTopology, after: ClusterTopology) -> Mutation:
    """The mutation that makes ``after`` of ``before``; requests are only ever added."""
    return Mutation(
        tuple(cell for cell in _cells(before, after) if cell[0] not in ("nodes", "requests")),
        _rows(before.nodes, after.nodes),
        _rows(before.requests, after.requests),
    )


def _cells(before: Struct | None, after: Struct) -> Cells:
    had = {} if before is None else asdict(before)
    return tuple(cell for cell in asdict(after).items() if had.get(cell[0], had) != cell[1])


def _rows(before: tuple[Struct, ...], after: tuple[Struct, ...]) -> Rows:
    changed = []
    for i, entry in enumerate(after):
        had = before[i] if i < len(before) else None
        if had is not entry and had != entry:
            changed.append((i, _cells(had, entry)))
    return tuple(changed)


def mutated(topology: ClusterTopology, mutation: Mutation) -> ClusterTopology:
    """The topology once the cells are set."""
    nodes, requests = list(topology.nodes), list(topology.requests)
    for i, cells in mutation.nodes:
        nodes[i] = replace(nodes[i], **dict(cells))
    for i, cells in mutation.requests:
        if i < len(requests):
            requests[i] = replace(requests[i], **dict(cells))
        else:
            requests.append(RequestEntry(**dict(cells)))
    return replace(topology, **dict(mutation.static), nodes=tuple(nodes), requests=tuple(requests))


class TopologySafeguards(Struct, frozen=True, kw_only=True):
    """One switch a safeguard, with its name; what each is called stands in ``control``.

    ``group0`` are those of the commands, among them that each carries its guard. What happens with
    a switch off is said beside it, and where it is asked for.
    """

    group0: Group0Safeguards = field(default_factory=Group0Safeguards)
    tablet_track_excludes: bool = True  # a node operation begins while tablets move (decide)
    drain_before_leaving: bool = True  # a node stops before the others stop writing to it (work)
    continue_from_tables: bool = True  # only who began an operation goes on (coordinator)
    start_marker: bool = True  # a new coordinator begins without a command (coordinator)
    no_rollback_after_switch: bool = True  # rolled back though reads use new replicas (work)
    fencing: bool = True  # a replica serves requests of any version
    barrier_drains: bool = True  # a node answers a barrier while its older requests run
    sessions: bool = True  # work is let in and left alone whatever its session
    refuse_live_removal: bool = True  # a node that is up may be removed (requests)
    cleanup_first: bool = True  # a node may get a range back before it cleaned up (decide)
    refuse_left: bool = True  # a host id that has left may join once more (requests)


class Setting(Struct, frozen=True, cache_hash=True):
    """How a cluster is run: its edition, which safeguards are on, a server's release.

    ``Setting(release="2026.1")`` is the published server of that line. Raises BadInput for others.
    """

    edition: Edition = "server"
    safeguards: TopologySafeguards = TopologySafeguards()
    release: Release = NEWEST

    def __post_init__(self) -> None:
        check_among("edition", self.edition, EDITIONS)
        check_among("release", self.release, RELEASES)

    @property
    def tables(self) -> Tables:
        """The transition tables that it runs by."""
        old = self.edition == "server" and not has("paused-drain", self.release)
        return "server-2025" if old else self.edition

    def has(self, change: str) -> bool:
        """Whether it is a server whose release has this change (``releases.CHANGES``)."""
        return self.edition == "server" and has(change, self.release)


class LocalView(Struct, frozen=True, cache_hash=True):
    """What of an applied topology steers requests, streams and the writes of CDC logs on a node."""

    version: int
    fence_version: int
    session: int
    generation: int = 1


def local_view(topology: ClusterTopology) -> LocalView:
    """The view of a node that has applied this topology."""
    own = topology.version, topology.fence_version, topology.session
    return LocalView(*own, topology.generations)


def is_served(version: int, replica: LocalView, safeguards: TopologySafeguards) -> bool:
    """Whether a replica serves a request of a version: none below the fence that it has applied."""
    return version >= replica.fence_version or not safeguards.fencing


def is_drained(version: int, view: LocalView, safeguards: TopologySafeguards) -> bool:
    """Whether a node's own request of a version may still run when it answers a barrier."""
    return version >= view.version or not safeguards.barrier_drains


def is_open(session: int, view: LocalView, safeguards: TopologySafeguards) -> bool:
    """Whether work with the permit of a session is let in, and may run on, at a node."""
    return session == view.session or not safeguards.sessions
