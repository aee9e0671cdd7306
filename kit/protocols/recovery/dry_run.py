"""The recovery adviser."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
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
from kit.protocols.group0.rules.voters import nodes_in
from kit.protocols.recovery.rules.availability import (
    LevelStanding,
    Standing,
    lost_ranges,
    standings,
)
from kit.protocols.recovery.rules.procedure import (
    BY_HAND,
    NEW_STEPS,
    OLD_STEPS,
    Procedure,
    ProcedureChoice,
    ProcedureStep,
    choices,
    leaders,
    only_on,
    regressing,
    which_procedure,
)
from kit.protocols.recovery.rules.quorum import Place, Quorum, after_deaths_among
from kit.protocols.topology.dry_run.opening import PathLike, open_topology
from kit.protocols.topology.rules.columns import JOINING, without_vote
from kit.protocols.topology.rules.machines import Edition

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
        return _mask(node.status in statuses for node in self.nodes)

    @property
    def voting(self) -> int:
        """Who may vote in group 0 (a mask)."""
        return _mask(node.votes and not node.joins for node in self.nodes)

    def able(self, able: bool = True) -> tuple[str, ...]:
        """Who lives or may be restarted, and may take part in a recovery by hand (or may not).

        Who joins or leaves cannot be recovered.
        """
        there = (node for node in self.nodes if node.status != "lost")
        return tuple(node.name for node in there if node.settled is able)

    @property
    def indexes(self) -> dict[str, int]:
        """The commit indexes that are told of nodes that may take part."""
        commits = {node.name: node.commit_index for node in self.nodes}
        able = ((name, commits[name]) for name in self.able())
        return {name: index for name, index in able if index is not None}

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


def _mask(holds: Iterable[bool]) -> int:
    return sum(1 << at for at, each in enumerate(holds) if each)


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
    may_return, gone, rf = tuple(down), tuple(lost), dict(factors or {})
    if not is_topology(text):
        beside = {"status": status, "down": may_return, "lost": gone, "commit": commit, "rf": rf}
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
    for name, index in (commit or {}).items():
        host = node_named(name, hosts, "--commit")
        if host in known:
            raise BadInput("--commit", name, "each HOST once")
        known[host] = index
    dead = opened.down or frozenset()
    going = without_vote(opened.table)
    untold = (UNTOLD,) if opened.down is None and not gone else ()
    answering = for_good - dead if status is not None else set()
    alive = tuple(f"{host} {ALIVE}" for host in hosts if host in answering)
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


MOST_NAMED = 6
NO_UPGRADE = (
    "done: the published server has neither a Raft upgrade nor RECOVERY mode; of the releases that "
    "had them edition documents tells"
)


STOP = (
    "stop for good {}: a node that joins or leaves cannot be recovered; remove it at the end if "
    "nodetool status still shows it"
)
"""Source: published manual, what has to hold before a recovery."""


class QuorumLine(Struct, frozen=True):
    """Group 0: how many vote, how many of them live, how many it takes.

    ``at_once`` says whether there would be a quorum had all died at once, ``in_turn`` had they died
    in the order of the description, one by one: edition ``server`` chooses voters in between.
    """

    voters: int
    live: int
    needed: int
    holds: bool
    at_once: bool
    in_turn: bool


class KeyspaceLine(Struct, frozen=True):
    """Data of a keyspace: at each level now, and of which ranges a replica is left for good."""

    keyspace: str
    levels: tuple[LevelStanding, ...]
    replicas_left: Standing


class RecoveryAdvice(Struct, frozen=True):
    """What to do about a cluster.

    ``restart`` is how many voters have to come back for a quorum. ``leaders`` may lead, those that
    live before those that are down; ``leader`` is the one chosen; ``order`` is that of restarts.
    ``choices`` tell of every procedure why it is offered or is not. ``regressing`` are nodes whose
    state goes back under that leader, by how many entries. ``worst`` says what may be lost, a
    sentence each.
    """

    source: str
    edition: Edition
    procedure: Procedure
    reason: str
    group0: QuorumLine
    keyspaces: tuple[KeyspaceLine, ...]
    down: tuple[str, ...]
    lost: tuple[str, ...]
    restart: int
    leader: str | None
    leaders: tuple[str, ...]
    order: tuple[str, ...]
    regressing: Mapping[str, int]
    steps: tuple[ProcedureStep, ...]
    worst: tuple[str, ...]
    warnings: tuple[str, ...]
    choices: tuple[ProcedureChoice, ...]


def advise(
    cluster: ClusterDescription,
    source: str,
    edition: Edition = "server",
    leader: str | None = None,
    warnings: Iterable[str] = (),
) -> RecoveryAdvice:
    """What to do, with ``leader`` as the recovery leader, or one of those that may lead.

    ``warnings`` are those of the file. A leader's name may be shortened.

    Raises:
        BadInput: for a stuck upgrade in edition ``server``, whose server has neither that upgrade
            nor RECOVERY mode; for a leader that is no node that lives or may be restarted, or whose
            commit index is not told.
    """

    def after(deaths: Iterable[int]) -> Quorum:
        return after_deaths_among(edition, cluster.places, cluster.voting, deaths)

    deaths, stuck = cluster.deaths_in_order, cluster.upgrade == "stuck"
    quorum, down, lost = after(deaths), cluster.mask("down"), cluster.mask("lost")
    if stuck and edition == "server":
        raise BadInput("upgrade", "stuck", NO_UPGRADE)
    procedure, reason = which_procedure(quorum, down, lost, stuck)
    indexes, having = cluster.indexes, cluster.replicas
    able = tuple(sorted(leaders(indexes), key=lambda name: name in cluster.named("down")))
    chosen = able[0] if able else None
    if leader is not None:
        chosen = node_named(leader, cluster.able(), "--leader")
        if chosen not in indexes:
            raise BadInput("--leader", leader, "a node whose commit index is told")
    order, by_leader = _order(cluster, procedure, chosen), procedure == "recovery leader"
    keyspaces = tuple(
        KeyspaceLine(
            name,
            standings(having.places, having.mask("down", "lost"), factors),
            lost_ranges(having.places, having.mask("lost"), factors),
        )
        for name, factors in cluster.keyspaces.items()
    )
    return RecoveryAdvice(
        source=source,
        edition=edition,
        procedure=procedure,
        reason=reason,
        group0=QuorumLine(
            quorum.voters.bit_count(),
            quorum.live.bit_count(),
            quorum.needed,
            quorum.holds,
            after([down | lost]).holds,
            after(1 << node for group in deaths for node in nodes_in(group)).holds,
        ),
        keyspaces=keyspaces,
        down=cluster.named("down"),
        lost=cluster.named("lost"),
        restart=quorum.missing,
        leader=chosen if by_leader else None,
        leaders=able if by_leader else (),
        order=order,
        regressing=regressing(indexes, chosen) if chosen and by_leader else {},
        steps=_steps(cluster, procedure, edition, order),
        worst=tuple(_worst(cluster, quorum, chosen, by_leader, keyspaces)),
        warnings=(*warnings, *_warnings(cluster, procedure, chosen)),
        choices=choices(quorum, down, lost, stuck, edition),
    )


def _order(
    cluster: ClusterDescription, procedure: Procedure, leader: str | None
) -> tuple[str, ...]:
    """Who is restarted after whom: the leader first; nobody while no leader can be named."""
    if procedure not in BY_HAND:
        return cluster.named("down")
    able = cluster.able()
    if procedure == "recovery mode":
        return able
    return (leader, *(name for name in able if name != leader)) if leader else ()


def _steps(
    cluster: ClusterDescription, procedure: Procedure, edition: Edition, order: tuple[str, ...]
) -> tuple[ProcedureStep, ...]:
    if procedure not in BY_HAND or not cluster.able():
        return ()
    words = {
        "leader": order[0] if order else "the node to be chosen",
        "order": (", ".join(order[1:]) or "nobody") if order else "all but the leader",
        "dead": ", ".join(cluster.named("lost")),
    }
    steps = OLD_STEPS if procedure == "recovery mode" else NEW_STEPS[edition]
    down = [node.name for node in cluster.nodes if node.status == "down" and node.settled]
    first = [ProcedureStep("restart", f"restart first {', '.join(down)}")] if down else []
    if stopped := cluster.able(False):
        first.append(ProcedureStep("stop", STOP.format(", ".join(stopped))))
    filled = [ProcedureStep(step.name, step.what.format_map(words)) for step in steps]
    return (*first, *filled)


def _worst(
    cluster: ClusterDescription, quorum: Quorum, leader: str | None, by_leader: bool,
    keyspaces: Iterable[KeyspaceLine],
) -> Iterable[str]:  # fmt: skip
    indexes = cluster.indexes
    if by_leader:
        if only_on(cluster.mask("lost"), quorum.voters, quorum.needed):
            yield "entries that only lost nodes had are gone, whoever leads"
        yield "entries that the leader does not know to be committed are gone"
        if leader is not None:
            known = max((node.commit_index or 0 for node in cluster.nodes), default=0)
            if known > indexes[leader]:
                yield f"entries {indexes[leader] + 1} to {known}, known to be committed, are gone"
        for name, entries in regressing(indexes, leader).items() if leader else ():
            yield (
                f"the state of {name} goes back by {entries}: what it wrote under them may "
                "need a schema that is no more"
            )
        if any(node.state != "normal" for node in cluster.nodes):
            yield "the operation under way is rolled back, or finished"
    for keyspace in keyspaces:
        if keyspace.replicas_left != "available":
            which = "all" if keyspace.replicas_left == "unavailable" else "some"
            yield f"{keyspace.keyspace}: {which} ranges may have lost every replica"


def _warnings(
    cluster: ClusterDescription, procedure: Procedure, leader: str | None
) -> Iterable[str]:
    yield from _replicas(cluster, by_hand=False)
    if joining := [node.name for node in cluster.nodes if node.joins]:
        yield f"neither a vote nor data, as long as they join: {first_of(joining)}"
    if procedure not in BY_HAND:
        return
    if not cluster.able():
        yield "no node is left to recover from"
    indexes = cluster.indexes
    untold = [name for name in cluster.able() if name not in indexes]
    if untold and procedure == "recovery leader":
        chosen = f"{leader} may lead only if none of these knows of more" if leader else "no leader"
        yield f"the commit index is not told of {first_of(untold)}: {chosen}"
    if odd := cluster.able(False):
        yield f"nodes that live have to be normal first: {first_of(odd)}"
    yield from _replicas(cluster, by_hand=True)


def first_of(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    more = f" and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more


def _replicas(cluster: ClusterDescription, by_hand: bool) -> Iterable[str]:
    """Where a keyspace wants more replicas than there are nodes, or than a removal would leave."""
    nodes = Counter(node.dc for node in cluster.replicas.nodes)
    left = Counter(n.dc for n in cluster.nodes if n.status != "lost" and n.settled)
    gone = {node.dc for node in cluster.nodes if node.status == "lost"}
    for name, factors in cluster.keyspaces.items():
        for dc, factor in factors.items():
            if by_hand and dc in gone and left[dc] < factor:
                yield f"replace, do not remove, in {dc}: {left[dc]} left, {name} has RF {factor}"
            if not by_hand and factor > nodes[dc]:
                yield (
                    f"{name} has RF {factor} in {dc}, which has fewer nodes ({nodes[dc]}): "
                    "levels count the replicas that it lacks"
                )
