"""The recovery adviser."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Annotated, Any, Literal

import msgspec
from msgspec import Meta, Struct, ValidationError, field
from msgspec.structs import replace

from kit import errors
from kit.edge.json_text import located, parse_json
from kit.edge.paths import Readable
from kit.edge.reading import read_text
from kit.errors import BadInput, are, counted, misfit
from kit.masks import mask_of, nodes_in, where
from kit.model.registry import check_one_of, one_of
from kit.operators.importers.nodetool import HOST_ID, Listing, Seen
from kit.operators.importers.ringfile import LARGEST_FILE, by_name
from kit.operators.importers.system_tables import RaftView, is_topology
from kit.protocols.group0.rules.quorum import Place, Quorum, extremes
from kit.protocols.group0.rules.releases import GOSSIPED, NEWEST, RELEASES, Release, gossips, has
from kit.protocols.group0.rules.voters import VoterRules
from kit.protocols.recovery.rules import availability
from kit.protocols.recovery.rules import procedure as procedures
from kit.protocols.recovery.rules.procedure import BY_HAND, NOT_KNOWN, Procedure, ProcedureChoice
from kit.protocols.topology.dry_run.opening import elsewhere, open_topology, read_status
from kit.protocols.topology.rules.columns import JOINING, UPGRADE_STATES, without_vote
from kit.protocols.topology.rules.machines import NODE_STATES, Edition
from kit.protocols.topology.rules.remedies import LostNode, ProcedureStep, Remedy, steps_for_dead

Status = Literal["up", "down", "lost"]
WORDS = {
    "status`": "one of up, down, lost",
    "upgrade`": "one of done, stuck",
    "upgrade_state`": f"one of {', '.join(UPGRADE_STATES)}",
}
Name = Annotated[str, Meta(min_length=1, max_length=200, pattern=r"^[!-~]+$")]
Index = Annotated[int, Meta(ge=0, le=2**62)]
Factor = Annotated[int, Meta(ge=0, le=1000)]
SETTLED = ("normal", "rebuilding")
NO_MEMBERS = ("none", "left")
"""States of nodes that are not there yet, or no more: they have neither a vote nor data."""
UNTOLD = (
    "no option says which nodes are dead (--status, --down, --lost): all nodes are "
    "assumed to be alive"
)
SURE = "make sure that it is dead"
BANNED = "is excluded or ignored: it is banned, so it is lost for good"
ALIVE = f"is --lost but up in nodetool status: {SURE}"
MOST_NODES = 10_000
MOST_KEYSPACES = MOST_DATACENTERS = 100
OWN = re.compile(r'"(?:status|commit_index|deaths|upgrade|votes)"\s*:')  # of JSON that names nodes
FORM = "a description of a cluster in JSON, or a dump of system.topology"


class ClusterNode(Struct, frozen=True, forbid_unknown_fields=True):
    """A member: where it stands, whether it lives, how far it knows the log to be committed.

    Without ``dc`` or ``rack`` it is not known where it is.

    ``state`` is its state in ``system.topology``: a node may vote, and has data, once it has
    joined, unless it owns no ``tokens``. ``votes`` is whether it votes, as ``system.raft_state``
    says; None: nothing tells.
    """

    name: Name
    dc: Name | None = None
    rack: Name | None = None
    status: Status = "up"
    commit_index: Index | None = None
    state: Name = "normal"
    votes: bool | None = None
    tokens: bool = True

    @property
    def joins(self) -> bool:
        """Whether it is not there yet: it has neither a vote nor data of its own."""
        return self.state in JOINING

    @property
    def settled(self) -> bool:
        """Whether it neither joins nor leaves: no other node can be recovered."""
        return self.state in SETTLED


class ClusterDescription(Struct, frozen=True, forbid_unknown_fields=True):
    """A cluster that lost nodes; ``keyspaces`` give each datacenter its replication factor.

    ``left`` names those that have left, and are no nodes any more. ``upgrade_state`` is that of
    ``system.topology``; None: nothing tells.
    """

    nodes: Annotated[tuple[ClusterNode, ...], Meta(min_length=1, max_length=MOST_NODES)]
    keyspaces: Annotated[
        Mapping[Name, Annotated[Mapping[Name, Factor], Meta(max_length=MOST_DATACENTERS)]],
        Meta(max_length=MOST_KEYSPACES),
    ] = field(default_factory=dict)
    deaths: tuple[tuple[Name, ...], ...] = ()
    upgrade: Literal["done", "stuck"] = "done"
    left: tuple[Name, ...] = ()
    upgrade_state: Literal["not_upgraded", "build_coordinator_state", "done"] | None = None

    def named(self, *statuses: Status) -> tuple[str, ...]:
        """The nodes of these statuses."""
        return tuple(node.name for node in self.nodes if node.status in statuses)

    def mask(self, *statuses: Status) -> int:
        """The members of these statuses, as a mask."""
        return where(node.status in statuses and not node.joins for node in self.nodes)

    @property
    def told_to_vote(self) -> int:
        """The voters of the description (a mask); 0: it names none."""
        return where(node.votes is True for node in self.nodes)

    @property
    def returning(self) -> tuple[str, ...]:
        """The members that are down and can be restarted."""
        return tuple(n.name for n in self.nodes if n.status == "down" and not n.joins)

    def able(self, able: bool = True) -> tuple[str, ...]:
        """The nodes that live or may be restarted, and may take part in a recovery by hand (or may
        not).

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
        """The nodes that are replicas of anything: they are there, and no zero-token nodes."""
        able = (node for node in self.nodes if node.tokens and not node.joins)
        return replace(self, nodes=tuple(able))

    @property
    def places(self) -> tuple[Place, ...]:
        """The datacenter and the rack of each node, empty where they are not known."""
        return tuple((node.dc or "", node.rack or "") for node in self.nodes)

    @property
    def unplaced(self) -> tuple[str, ...]:
        """The members of which the datacenter or the rack is not known."""
        return tuple(node.name for node in self.nodes if not (node.dc and node.rack))


def open_cluster(
    path: Readable,
    *,
    status: Readable | None = None,
    down: Iterable[str] = (),
    lost: Iterable[str] = (),
    commit: Mapping[str, int] | None = None,
    factors: Mapping[str, int] | None = None,
) -> tuple[ClusterDescription, tuple[str, ...]]:
    """Open a description, or a dump of ``system.topology`` with what only options can tell.

    With it come warnings, lines to show.

    ``status`` is the text of ``nodetool status``, which tells datacenters and racks that the file
    does not have, and who is down. Of a dump, ``down`` nodes may be restarted, and ``lost`` ones
    never come back; ``commit`` gives commit indexes by host, ``factors`` the replication factor
    of each datacenter. Hosts are ids, their beginnings, or addresses of ``status``.

    Raises BadInput for a file that is not well formed, a name of no node, options beside a
    description.
    """
    text = read_text(path, "FILE", LARGEST_FILE)
    may_return, gone, rf = tuple(down), tuple(lost), dict(factors or {})
    if not (is_topology(text) or ("node_state" in text and "host_id" in text)):
        beside = {"down": may_return, "lost": gone, "commit": commit, "rf": rf}
        for name, given in beside.items():
            if given:
                allowed = "nothing, because a description says this itself"
                raise BadInput(f"--{name}", given, allowed)
        cluster = parse_cluster(text)
        return (cluster, ()) if status is None else _with_status(cluster, read_status(status))
    opened = open_topology(path, status=status, down=may_return)
    rows = [row for row in opened.table.rows if row.node_state not in NO_MEMBERS]
    hosts = [row.host_id for row in rows]
    address = {seen.name: host for host, seen in opened.listed.items()}
    for_good = {node_named(address.get(name, name), hosts, "--lost") for name in gone}
    for name in may_return:
        host = address.get(name, name).lower()
        if any(each in for_good for each in hosts if each.startswith(host)):
            raise BadInput("--down", name, "a node that is not also --lost")
    banned = opened.excluded & {*hosts}
    for_good |= banned
    known: dict[str, int] = {}
    for name, index in (commit or {}).items():
        host = node_named(address.get(name, name), hosts, "--commit")
        if host in known:
            raise BadInput("--commit", name, "each HOST once")
        known[host] = index
    dead = opened.down or frozenset()
    going = without_vote(opened.table)
    untold = (UNTOLD,) if opened.down is None and not gone else ()
    answering = for_good - dead - banned if status is not None else set()
    alive = tuple(f"{host} {ALIVE}" for host in hosts if host in answering)
    seen = {host: opened.listed.get(host, Seen(host)) for host in hosts}
    nodes = tuple(
        ClusterNode(
            row.host_id,
            row.datacenter or seen[row.host_id].dc,
            row.rack or seen[row.host_id].rack,
            "lost" if row.host_id in for_good else "down" if row.host_id in dead else "up",
            known.get(row.host_id),
            row.node_state or "none",
            False if row.host_id in going else None,
            bool(row.tokens),
        )
        for row in rows
    )
    left = tuple(row.host_id for row in opened.table.rows if row.node_state == "left")
    more: Any = {"left": left, "upgrade_state": opened.table.upgrade_state}
    cluster = _checked(ClusterDescription(nodes, {"keyspace": rf} if rf else {}, **more))
    bans = (f"{host} {BANNED}" for host in sorted(banned))
    return cluster, (*opened.warnings, *untold, *alive, *bans)


def _with_status(
    cluster: ClusterDescription, listing: Listing
) -> tuple[ClusterDescription, tuple[str, ...]]:
    seen = {name: node for node in listing.nodes for name in (node.name, node.host_id) if name}
    known, source, nodes, warnings = {*cluster.left}, listing.source, [], list[str]()
    for node in cluster.nodes:
        entry, status = seen.get(node.name.lower()), node.status
        if entry is None:
            warnings.append(f"{source} does not list {node.name}")
            nodes.append(node)
            continue
        known |= {entry.name, entry.host_id or ""}
        place, there = (node.dc, node.rack), (node.name, entry.dc, entry.rack)
        warnings += elsewhere(source, {node.name: place}, [there], "file")
        if (entry.state == "joining") != node.joins:
            warnings.append(f"{node.name} is {node.state} here, but {entry.state} in {source}")
        if status != "up" and entry.health == "up":
            warnings.append(f"{node.name} is {status} here, but up in {source}: {SURE}")
        elif status != "lost" and entry.health == "excluded":
            status = "lost"
            warnings.append(f"{node.name} {BANNED}")
        elif status == "up" and entry.health == "down":
            status = "down"
            warnings.append(f"{node.name} is down in {source}, so it counts as down")
        dc, rack = node.dc or entry.dc, node.rack or entry.rack
        nodes.append(replace(node, dc=dc, rack=rack, status=status))
    for entry in listing.nodes:
        if not known & {entry.name, entry.host_id} and entry.state != "joining":
            allowed = "a host id or an address that the file has as a name: add it, as it may vote"
            raise BadInput(f"{source} {entry.name}", entry.host_id or entry.name, allowed)
    return _checked(replace(cluster, nodes=tuple(nodes))), tuple(warnings)


def is_description(text: str) -> bool:
    """Whether a text, or its beginning, looks like a description: nodes, and who is lost."""
    own = OWN.search(text) is not None or ('"name"' in text and '"tokens"' not in text)
    return text.lstrip().startswith("{") and '"nodes"' in text and own


def parse_cluster(text: str) -> ClusterDescription:
    """Read the text of a description.

    Raises BadInput naming the field, with its line and column in the text.
    """
    value = parse_json(text, "FILE", FORM)
    try:
        return _checked(msgspec.convert(value, ClusterDescription))
    except (ValidationError, UnicodeError) as error:
        allowed = WORDS.get(str(error).rpartition(".")[2], FORM)
        raise located(misfit("FILE", value, error, allowed), text) from None
    except BadInput as error:
        raise located(error, text) from None


def _checked(given: ClusterDescription) -> ClusterDescription:
    names = [node.name for node in given.nodes]
    dead = set(given.named("down", "lost"))
    if len(set(names)) < len(names):
        again = next(name for at, name in enumerate(names) if name in names[:at])
        raise BadInput("nodes", again, "each name once")
    if all(node.votes is False for node in given.nodes):
        raise BadInput("nodes", "no votes", "one node or more that votes")
    if given.told_to_vote:
        _check_votes(given.nodes)
    dcs = list(dict.fromkeys(node.dc for node in given.nodes))
    for keyspace, factors in given.keyspaces.items():
        if not any(factors.values()):
            raise BadInput(
                f"keyspaces.{keyspace}", dict(factors), "at least one replica in some datacenter"
            )
        for dc in factors:
            if None not in dcs and dc not in dcs:
                raise BadInput(f"keyspaces.{keyspace}", dc, one_of(dc, [*filter(None, dcs)]))
    seen: set[str] = set()
    for at, group in enumerate(given.deaths):
        for name in group:
            if name not in dead:
                raise BadInput(f"deaths[{at}]", name, "a node that is down or lost")
            if name in seen:
                raise BadInput(f"deaths[{at}]", name, "each node once")
            seen.add(name)
    spaces = {name: dict(sorted(of.items())) for name, of in sorted(given.keyspaces.items())}
    return _members(replace(given, keyspaces=spaces))


def _members(given: ClusterDescription) -> ClusterDescription:
    for at, node in enumerate(given.nodes):
        check_one_of(f"nodes[{at}].state", node.state, NODE_STATES)
    members = [node for node in given.nodes if node.state not in NO_MEMBERS]
    if not members:
        raise BadInput("nodes", "none or left", "a node that is a member")
    there = {node.name for node in members}
    deaths = tuple(tuple(name for name in group if name in there) for group in given.deaths)
    left = {*given.left, *(node.name for node in given.nodes if node.state == "left")} - there
    return replace(given, nodes=by_name(members), deaths=deaths, left=tuple(sorted(left)))


def _check_votes(nodes: Iterable[ClusterNode]) -> None:
    for at, node in enumerate(nodes):
        if node.votes is None and not node.joins:
            allowed = "true or false for every node that has joined, or no votes at all"
            raise BadInput(f"nodes[{at}].votes", None, allowed)
        if node.votes and node.joins:
            raise BadInput(f"nodes[{at}].votes", True, f"false for a node that is {node.state}")


def node_named(name: str, names: Sequence[str], option: str) -> str:
    """The node that a name means: its own, or the beginning of only one.

    Raises BadInput naming the option, for a name of no node, or of several.
    """
    if name in names:
        return name
    match [each for each in names if name and each.startswith(name.lower())]:
        case [fitting]:
            return fitting
        case []:
            allowed = one_of(name, list(names)) if names else "no name: all nodes are lost"
        case _:
            allowed = "a name that fits only one node"
    raise BadInput(option, name, allowed)


MOST_NAMED = 6
IN_GROUP_0, AFTER_MODE = "topology-in-group-0", "add nodes after RECOVERY mode"
first_of = partial(errors.first_of, most=MOST_NAMED)
WHO_VOTES = "which nodes vote in group 0"
UNDECIDED = "the procedure depends on {}: ask a live node first"
IF_LIVES = "it is not known whether it lives, so both cases count"
LEARN = "nodetool status on a live node tells"
ENDS = {
    False: "{} was on its way out, and nothing ends that by itself on this release: leave it out "
    "below if nodetool status does not show it, else remove it (never replace or start it)",
    True: "{} was on its way out: first wait until nodetool status tells what became of it; if it "
    "is a normal node again, ignore it below, then remove or replace it; else leave it out",
}
LEAVES = {
    False: "if the log of {0} has 'leaving token ring', or cannot be read, never start it: remove "
    "it (nodetool removenode); else start it, and decommission it again once it is UN",
    True: "start {0}: if nodetool status then shows it as UN, decommission it again",
}
"""By whether group 0 has the topology. Source: published manual of 5.4, on failed changes."""
JOINS = (
    "{} was joining, so it is no member yet and cannot be replaced: stop it (nodetool drain first, "
    "if it answers), clear its data{}, and start it again, or a new node"
)
GHOST = ", remove what nodetool status or system.raft_state still has of it (nodetool removenode)"
REGION = (
    "if datacenter {} itself is gone for good: no node can join while one is down, so {}remove its "
    "nodes first, then add nodes in a new datacenter{}"
)
EXCLUDED = "exclude its nodes (nodetool excludenode), "
EMPTIED = "ALTER KEYSPACE (no replicas there{}) and "
"""Source: published manual, on adding nodes; published ``get_next_task``."""
NO_RAFT = (
    "on release {} there is a group 0 only where consistent_cluster_management is true; elsewhere "
    "no quorum is needed: restart, replace or remove what is dead"
)
NO_IDS = "nodetool status on a live node has the host ids: commands want these in place of {}"
RESTORE = "data of {} may be lost: restore what is missing from a backup, at the end"
NO_FACTORS = (
    "no replication factors are given (--rf, or keyspaces in the file), so it is not known whether "
    "data is lost: DESCRIBE SCHEMA on a live node shows them"
)
NO_UPGRADE = (
    "done: since 2025.2 the published server has neither a Raft upgrade nor RECOVERY mode; "
    "--release names an older one, and edition documents covers those"
)
NO_ZERO = "{}: no tokens, but on release {} every node owns some: check the file, or --release"


STOP = (
    "stop {} for good: a node that was joining or leaving cannot be recovered; remove "
    "it at the end if nodetool status still shows it"
)
"""Source: published manual, what has to hold before a recovery."""


class QuorumLine(Struct, frozen=True):
    """Group 0, if these nodes vote: how many of them live, how many it takes, what follows.

    ``told_by`` is what says that they vote; empty: nothing does, and it is one of the extremes.
    ``assuming`` is what must hold of voters that are not in the file; empty: nothing.
    """

    told_by: str
    assuming: str
    voters: tuple[str, ...]
    live: int
    needed: int
    holds: bool
    procedure: Procedure


class KeyspaceLine(Struct, frozen=True):
    """Data of a keyspace: at each level now, and of which ranges a replica is left for good."""

    keyspace: str
    levels: tuple[availability.LevelStanding, ...]
    replicas_left: availability.Standing


class RecoveryAdvice(Struct, frozen=True):
    """The advice about a cluster.

    ``group0`` has a line for each set of voters that counts: one where it is known who votes, else
    the worst and the best, or one for each view that nodes have. ``elsewhere`` are the releases
    whose rules would lead to another procedure, with that one.
    ``down`` nodes can be restarted, ``lost`` ones never come back, and of those ``unknown`` (voters
    that are not in the file) neither is known; ``unplaced`` nodes are in a datacenter or rack that
    is not known.
    ``restart`` is how many voters have to come back for a quorum. ``leaders`` may lead, those that
    live before those that are down; ``leader`` is the one chosen; ``order`` is that of restarts.
    ``choices`` tell of every procedure why it is offered or is not. ``regressing`` are nodes whose
    state goes back under that leader, by how many entries. ``steps`` are those of a recovery by
    hand, or what to find out first; ``remedies`` those of restarts, replacements and removals.
    ``worst`` says what may be lost, a sentence each.
    """

    source: str
    edition: Edition
    release: Release
    procedure: Procedure
    reason: str
    group0: tuple[QuorumLine, ...]
    elsewhere: Mapping[str, Procedure]
    keyspaces: tuple[KeyspaceLine, ...]
    down: tuple[str, ...]
    lost: tuple[str, ...]
    unknown: tuple[str, ...]
    unplaced: tuple[str, ...]
    restart: int
    leader: str | None
    leaders: tuple[str, ...]
    order: tuple[str, ...]
    regressing: Mapping[str, int]
    steps: tuple[ProcedureStep, ...]
    remedies: tuple[ProcedureStep, ...]
    worst: tuple[str, ...]
    warnings: tuple[str, ...]
    choices: tuple[ProcedureChoice, ...]


class _Case(Struct, frozen=True):
    """A set of voters that counts, with its line, and why it leads where it does."""

    line: QuorumLine
    quorum: Quorum
    lost: int
    reason: str


def advise(
    cluster: ClusterDescription,
    source: str,
    edition: Edition = "server",
    leader: str | None = None,
    warnings: Iterable[str] = (),
    *,
    release: Release = NEWEST,
    views: Sequence[RaftView] = (),
) -> RecoveryAdvice:
    """The advice, with ``leader`` as the recovery leader, or one of those that may lead.

    ``warnings`` are those of the file. A leader's name may be shortened. ``views`` say who votes,
    as nodes see it; without them, and where the description does not tell either, edition
    ``server`` leaves that open, and what follows from the ``release`` is said.

    Raises BadInput for a stuck upgrade in edition ``server`` from 2025.2 on, which has neither that
    upgrade nor RECOVERY mode; for a leader that is no node that lives or may be restarted, or whose
    commit index is not told; for a view of a server that joins.
    """
    down, stuck = cluster.mask("down"), cluster.upgrade == "stuck"
    rules, bare = VoterRules(release), list[str]()
    if edition == "server" and not has("zero-tokens", release):
        bare = [node.name for node in cluster.nodes if not (node.tokens or node.joins)]
        cluster = replace(cluster, nodes=tuple(replace(n, tokens=True) for n in cluster.nodes))
    if stuck and edition == "server" and rules.knows_recovery_leader:
        raise BadInput("upgrade", "stuck", NO_UPGRADE)
    cases, strangers = _cases(cluster, edition, rules, views)
    worst, best = cases[0], cases[-1]
    voters_known = views or cluster.told_to_vote
    unknown = tuple(name for name in strangers if name not in cluster.left)
    vague = () if worst.line.told_by else cluster.unplaced
    decided_by = f"whether {first_of(unknown)} {verb_for(unknown)}" if unknown else WHO_VOTES
    known = len({case.line.procedure for case in cases}) == 1
    procedure, reason = worst.line.procedure, worst.reason
    if not known:
        procedure, reason = NOT_KNOWN, UNDECIDED.format(decided_by)
    elif worst.reason != best.reason:
        reason = f"depending on {decided_by}, {worst.reason} or {best.reason}"
    lost = cluster.named("lost")
    indexes, having = cluster.indexes, cluster.replicas
    fit = procedures.leaders(indexes)
    able = tuple(sorted(fit, key=lambda name: (name in cluster.returning, name)))
    chosen = able[0] if able else None
    if leader is not None:
        chosen = node_named(leader, cluster.able(), "--leader")
        if chosen not in indexes:
            raise BadInput("--leader", leader, "a node whose commit index is given")
    order, by_leader = _order(cluster, procedure, chosen), procedure == "recovery leader"
    keyspaces = tuple(
        KeyspaceLine(
            name,
            availability.standings(having.places, having.mask("down", "lost"), factors),
            availability.lost_ranges(having.places, having.mask("lost"), factors),
        )
        for name, factors in cluster.keyspaces.items()
    )
    lines = tuple(case.line for case in cases)
    leading = _by_leader(edition, rules)
    gossiped, is_server = gossips(release, cluster.upgrade_state), edition == "server"
    old = is_server and not has(IN_GROUP_0, release)
    dead = cluster.named("down", "lost") if is_server and gossiped is None else ()
    tables = [
        procedures.choices(case.quorum, down, case.lost, stuck, edition, leading)
        for case in (worst, best)
        if procedure != "restore"
    ] or [(), ()]
    if_worst, if_best = (
        line.assuming or f"{', '.join(line.voters)} {verb_for(line.voters, 'vote')}"
        for line in (lines[0], lines[-1])
    )
    only_lost = procedures.only_on(worst.lost, worst.quorum.voters, worst.quorum.needed)
    return RecoveryAdvice(
        source=source,
        edition=edition,
        release=release,
        procedure=procedure,
        reason=reason,
        group0=lines,
        elsewhere={} if voters_known else _elsewhere(cluster, edition, procedure),
        keyspaces=keyspaces,
        down=cluster.returning,
        lost=lost,
        unknown=unknown,
        unplaced=cluster.unplaced,
        restart=worst.quorum.missing,
        leader=chosen if by_leader else None,
        leaders=able if by_leader else (),
        order=order,
        regressing=procedures.regressing(indexes, chosen) if chosen and by_leader else {},
        steps=(
            *_questions(procedure, unknown, vague, procedures.ROWS[not gossiped]),
            *_steps(cluster, procedure, edition, release, order),
        ),
        remedies=tuple(_remedies(cluster, procedure, release, keyspaces)),
        worst=tuple(_worst(cluster, only_lost, chosen, by_leader, keyspaces)),
        warnings=(
            *warnings,
            *_strange(cluster, views, strangers, not gossiped),
            *_placeless(cluster, procedure, vague),
            *_warnings(cluster, procedure, chosen, not gossiped and has(IN_GROUP_0, release)),
            *(NO_ZERO.format(first_of(bare), release) for _ in bare[:1]),
            *(NO_RAFT.format(release) for _ in lost[:1] if old),
            *(NO_FACTORS for _ in having.named("lost")[:1] if not cluster.keyspaces),
            *(GOSSIPED for _ in dead[:1]),
        ),
        choices=procedures.choices_between(tables[0], tables[1], (if_worst, if_best)),
    )


def _by_leader(edition: Edition, rules: VoterRules) -> bool:
    return edition == "documents" or rules.knows_recovery_leader


def _cases(
    cluster: ClusterDescription, edition: Edition, rules: VoterRules, views: Sequence[RaftView]
) -> tuple[tuple[_Case, ...], tuple[str, ...]]:
    """The sets of voters that count, the worst first; and voters that are no nodes of the file.

    Of these, who has left is lost; others may live, or not. Where two configurations both need a
    majority, the one that is further from it counts.
    """
    down, lost = cluster.mask("down"), cluster.mask("lost")
    members = where(node.votes is not False and not node.joins for node in cluster.nodes)
    names = [node.name for node in cluster.nodes]
    given = [(view.source, of) for view in views for of in view.configurations]
    voting = {name for _, of in given for name, votes in of.items() if votes}
    strangers = tuple(sorted(voting - {*names}))
    every = (*names, *strangers)
    at = {name: place for place, name in enumerate(every)}
    out = mask_of(at[name] for name in strangers if name in cluster.left)
    lost |= out
    by_leader = _by_leader(edition, rules)

    def case(told_by: str, voters: int, gone: int = lost, assuming: str = "") -> _Case:
        quorum, stuck = Quorum(voters, voters & ~(down | gone)), cluster.upgrade == "stuck"
        gone_nodes = gone & ~out if quorum.holds else gone  # Who has left is not replaced.
        given = down, gone_nodes, stuck, by_leader, bool(cluster.able())
        procedure, reason = procedures.which_procedure(quorum, *given)
        voting = tuple(sorted(every[node] for node in nodes_in(voters)))
        has = quorum.live.bit_count(), quorum.needed, quorum.holds
        return _Case(QuorumLine(told_by, assuming, voting, *has, procedure), quorum, gone, reason)

    def rank(each: _Case) -> tuple[bool, bool, int, str]:
        back = Quorum(each.quorum.voters, each.quorum.voters & ~each.lost).holds
        return each.line.holds, back, each.line.live, each.line.told_by

    if views:
        seen = []
        for view in views:
            masks = [mask_of(at[n] for n, v in of.items() if v) for of in view.configurations]
            voters = {name for of in view.configurations for name, votes in of.items() if votes}
            mine = sorted(voters.difference(names, cluster.left))
            fates = {lost: ""}
            if mine:
                dead = lost | mask_of(at[n] for n in mine)
                fates = {lost: f"{first_of(mine)} {verb_for(mine)}"}
                fates[dead] = f"{first_of(mine)} {are(len(mine))} lost for good"
            for gone, assuming in fates.items():
                both = (case(view.source, mask, gone, assuming) for mask in masks)
                seen.append(min(both, key=rank))
        return tuple(sorted(seen, key=rank)), strangers
    if named := cluster.told_to_vote:
        return (case("the description", named),), ()
    if edition == "documents" or not rules.limits:
        all_vote = "edition documents" if edition == "documents" else f"release {rules.release}"
        return (case(f"{all_vote}, in which every member votes", members),), ()
    missing = {*cluster.named("down", "lost")}
    together = any({*group} == missing for group in cluster.deaths)
    ends = extremes(cluster.places, members, down, lost, rules, together=together)
    sure = f"release {rules.release}, in any case" if ends[0].voters == members else ""
    return tuple(case(sure, each.voters) for each in dict.fromkeys(ends)), ()


def _elsewhere(
    cluster: ClusterDescription, edition: Edition, procedure: Procedure
) -> dict[str, Procedure]:
    whole = all(node.tokens or node.joins for node in cluster.nodes)
    ends: dict[str, Procedure] = {}
    for other in (each for each in RELEASES if whole or has("zero-tokens", each)):
        cases, _ = _cases(cluster, edition, VoterRules(other), ())
        sure = len({case.line.procedure for case in cases}) == 1
        ends[other] = cases[0].line.procedure if sure else NOT_KNOWN
    return {other: end for other, end in ends.items() if end != procedure}


def _strange(
    cluster: ClusterDescription, views: Sequence[RaftView], strangers: Iterable[str], new: bool
) -> Iterable[str]:
    for name in strangers:
        if name in cluster.left:
            yield f"{name} has left, but still votes in group 0, so its vote counts as lost"
        else:
            yield f"{name} votes in group 0 but is not in the file: {IF_LIVES}"
    names = {*(node.name for node in cluster.nodes), *strangers}
    silent = {name for view in views for of in view.configurations for name in of} - names
    means = procedures.IN_TOPOLOGY if new else procedures.IN_STATUS
    tells = f"{procedures.ROWS[new]} on a live node tells what it is: {means}"
    for name in sorted(silent):
        yield f"{name} is in group 0 without a vote, but not in the file. {tells.format(name)}"
    for view in views:
        if view.previous:
            yield (
                f"{view.source}: the voters are changing; the old and the new set both "
                "need a majority"
            )


def _placeless(
    cluster: ClusterDescription, procedure: Procedure, vague: Sequence[str]
) -> Iterable[str]:
    apart = tuple(node.name for node in cluster.nodes if not node.dc)
    if names := vague if procedure == NOT_KNOWN else apart if vague or cluster.keyspaces else ():
        bare = any(not node.rack for node in cluster.nodes)
        what = ["datacenter"] * bool(apart) + ["rack"] * bare
        said = f"{' and '.join(what)} {are(len(what))} not known of {first_of(names)}"
        yield f"{said}, so every place counts: {LEARN}"


def _order(
    cluster: ClusterDescription, procedure: Procedure, leader: str | None
) -> tuple[str, ...]:
    if procedure not in BY_HAND:
        return cluster.returning if procedure != NOT_KNOWN else ()
    able = cluster.able()
    if procedure == "recovery mode":
        return able
    return (leader, *(name for name in able if name != leader)) if leader else ()


def _questions(
    procedure: Procedure, unknown: Sequence[str], vague: Sequence[str], rows: str
) -> Iterable[ProcedureStep]:
    if unknown:
        what = procedures.FIND.what.format(unknown=first_of(unknown), rows=rows)
        yield ProcedureStep(procedures.FIND.name, what)
    if procedure == NOT_KNOWN and (vague or not unknown):
        yield from [procedures.PLACES] * bool(vague)
        yield procedures.ASK


def _steps(
    cluster: ClusterDescription, procedure: Procedure, edition: Edition, release: Release,
    order: tuple[str, ...],
) -> Iterable[ProcedureStep]:  # fmt: skip
    if procedure not in BY_HAND:
        return
    words = {
        "leader": order[0] if order else "the chosen node",
        "order": (", ".join(order[1:]) or "none is left") if order else "all but the leader",
        "dead": ", ".join(cluster.named("lost")),
    }
    if down := [n.name for n in cluster.nodes if n.status == "down" and n.settled]:
        yield ProcedureStep("restart", f"first restart {', '.join(down)}")
    if stopped := cluster.able(False):
        yield ProcedureStep("stop", STOP.format(", ".join(stopped)))
    steps = procedures.NEW_STEPS[edition]
    if procedure == "recovery mode":
        in_group0 = has(IN_GROUP_0, release)
        steps = procedures.MODE_STEPS[edition if in_group0 else "documents"]
    for step in steps:
        yield ProcedureStep(step.name, step.what.format_map(words))


def _remedies(
    cluster: ClusterDescription, procedure: Procedure, release: Release,
    keyspaces: Iterable[KeyspaceLine],
) -> Iterable[ProcedureStep]:  # fmt: skip
    """The steps for dead nodes, then what is forbidden. Who can be restarted is, in any case."""
    by_mode, hand = procedure == "recovery mode", procedure in BY_HAND
    # That one's topology is not in group 0.
    release = RELEASES[0] if by_mode or gossips(release, cluster.upgrade_state) else release
    new = has(IN_GROUP_0, release)
    down = [n.name for n in cluster.nodes if n.status == "down" and n.settled and not hand]
    known = procedure not in (NOT_KNOWN, "restore")
    dead = [n for n in cluster.nodes if n.status == "lost" and not n.joins and known]
    dead.sort(key=lambda node: (not node.settled, not node.tokens))
    lost = [LostNode(n.name, "/".join(filter(None, (n.dc, n.rack))), n.tokens) for n in dead]
    if names := [node.name for node in dead if not re.fullmatch(HOST_ID, node.name)]:
        yield ProcedureStep("look up", NO_IDS.format(", ".join(names)))
    late = [n for n in cluster.nodes if n.status == "down" and not (n.settled or n.joins or hand)]
    if back := [node.name for node in late if node.state != "removing"]:
        yield ProcedureStep("start", LEAVES[new].format(first_of(back)))
    if going := [n.name for n in (*dead, *late) if not (n.settled or n.name in back)]:
        yield ProcedureStep("wait", ENDS[new].format(first_of(going)))
    racks = {(n.dc, n.rack) for n in cluster.replicas.nodes if n.status != "lost" and n.settled}
    kept = all({(n.dc, n.rack), (n.dc, None)} & racks or not (n.rack and n.tokens) for n in dead)
    going_only = not new and bool(dead) and not dead[0].settled
    kind: Remedy = "remove" if by_mode or going_only else "replace"
    shrinks = kind == "replace" and kept and not [*_too_few(cluster, by_mode, new)]
    for step in steps_for_dead(down, lost, release, kind, shrinks=shrinks):
        if not (hand or going_only) or step.name not in ("make sure", "count"):
            yield step
    if procedure == "restore":
        what = "make a new cluster, and restore a backup there"
        yield ProcedureStep("restore", f"{procedures.NOBODY}: {what}")
    if not known:
        return
    fates = ("lost",) if hand else ("lost", "down")
    if joining := [n.name for n in cluster.nodes if n.joins and n.status in fates]:
        yield ProcedureStep("join again", JOINS.format(first_of(joining), GHOST * (not new)))
    live = {node.dc for node in cluster.nodes if node.status != "lost" or by_mode}
    for dc in sorted({node.dc for node in cluster.nodes if node.dc and None not in live} - live):
        how = ("", ", with join_ring: false, and RF 0 there")
        if any(node.tokens for node in cluster.nodes if node.dc == dc):
            known_dead = has("excludenode", release)
            wait = "; but tablets wait for its nodes: with them, replace these" * (new > known_dead)
            how = (f"{EXCLUDED * known_dead}{EMPTIED.format(wait)}", ", and replicas on them")
        yield ProcedureStep("or elsewhere", REGION.format(dc, *how))
    if spaces := [each.keyspace for each in keyspaces if each.replicas_left != "available"]:
        yield ProcedureStep("restore", RESTORE.format(first_of(spaces)))
    if hand:
        yield from procedures.NEVER_BY_HAND[cluster.upgrade == "stuck" :]


def _worst(
    cluster: ClusterDescription, only_lost: bool, leader: str | None, by_leader: bool,
    keyspaces: Iterable[KeyspaceLine],
) -> Iterable[str]:  # fmt: skip
    indexes = cluster.indexes
    if by_leader:
        if only_lost:
            yield "entries that only lost nodes had are gone, whichever node leads"
        yield "entries are gone if the leader does not know that they are committed"
        if leader is not None:
            claimed = (node.commit_index for node in cluster.nodes)
            known = max(index for index in claimed if index is not None)
            if known > indexes[leader]:
                first = indexes[leader] + 1
                which = f"entries {first} to {known}" if first < known else f"entry {known}"
                yield f"{which}, known to be committed, {'are' if first < known else 'is'} gone"
        for name, entries in procedures.regressing(indexes, leader).items() if leader else ():
            back = "1 entry" if entries == 1 else f"{entries} entries"
            said = f"the state of {name} goes back by {back}: data that it wrote since then"
            yield f"{said} may need a schema that no longer exists"
        if any(node.state != "normal" for node in cluster.nodes):
            yield "the operation in progress is rolled back or finished"
    for keyspace in keyspaces:
        if keyspace.replicas_left != "available":
            which = "all" if keyspace.replicas_left == "unavailable" else "some"
            yield f"{keyspace.keyspace}: {which} ranges may have lost every replica"


def _warnings(
    cluster: ClusterDescription, procedure: Procedure, leader: str | None, new: bool
) -> Iterable[str]:
    yield from _replicas(cluster)
    if joining := [node.name for node in cluster.nodes if node.joins]:
        yield (
            "these nodes are still joining, so they have neither a vote nor data: "
            f"{first_of(joining)}"
        )
    indexes = cluster.indexes
    untold = [name for name in cluster.able() if name not in indexes]
    if untold and procedure == "recovery leader":
        chosen = (
            f"{leader} may lead only if none of these nodes has a later one"
            if leader
            else "no leader can be named"
        )
        yield f"the commit index is not given for {first_of(untold)}: {chosen}"
    if procedure in BY_HAND and (odd := cluster.able(False)):
        yield f"live nodes must be normal first: {first_of(odd)}"
    if procedure in ("replace", "restart", *BY_HAND):
        yield from _too_few(cluster, procedure == "recovery mode", new)


def verb_for(names: Sequence[str], verb: str = "live") -> str:
    """The verb of one name, or of several."""
    return verb if names[1:] else f"{verb}s"


def _replicas(cluster: ClusterDescription) -> Iterable[str]:
    nodes = Counter(node.dc for node in cluster.replicas.nodes)
    for name, factors in cluster.keyspaces.items():
        for dc, factor in factors.items():
            if factor > (there := nodes[dc] + nodes[None]):
                yield (
                    f"{name} has RF {factor} in {dc}, which has fewer nodes "
                    f"({there}): levels still count the missing replicas"
                )


def _too_few(cluster: ClusterDescription, by_mode: bool, new: bool) -> Iterable[str]:
    then = "add nodes once they are removed", "replace nodes there instead of removing them"
    left = Counter(n.dc for n in cluster.replicas.nodes if n.status != "lost" and n.settled)
    gone = [node for node in cluster.nodes if node.status == "lost" and not node.joins]
    for name, factors in cluster.keyspaces.items():
        for dc, factor in factors.items():
            # As ``_remedies`` has it: without the topology in group 0, who was leaving is removed.
            here = [node.settled or new for node in gone if node.dc in (dc, None)]
            if here and (there := left[dc] + left[None]) < factor:
                few = f"RF {factor}, but {counted(there, 'node')} {are(there)} left in {dc}"
                yield f"{name} has {few}: {AFTER_MODE if by_mode else then[any(here)]}"
