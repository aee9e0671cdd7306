"""The recovery adviser: which procedure, which leader, which order, what is lost in the worst case.

The rules alone say it. What may be restarted is restarted first: with it there may be a quorum
again, and it may know of later entries than who lives.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from msgspec import Struct

from kit.errors import BadInput
from kit.protocols.group0.rules.voters import nodes_in
from kit.protocols.recovery.dry_run.opening import ClusterDescription, node_named
from kit.protocols.recovery.rules.availability import (
    LevelStanding,
    Standing,
    lost_ranges,
    standings,
)
from kit.protocols.recovery.rules.leader import leaders, only_on, regressing
from kit.protocols.recovery.rules.procedure import (
    BY_HAND,
    Procedure,
    ProcedureChoice,
    choices,
    which_procedure,
)
from kit.protocols.recovery.rules.quorum import Quorum, after_deaths_among
from kit.protocols.recovery.rules.steps import NEW_STEPS, OLD_STEPS, ProcedureStep
from kit.protocols.topology.rules.machines import Edition

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
    quorum = _quorum(cluster, edition, cluster.deaths_in_order)
    down, lost = cluster.mask("down"), cluster.mask("lost")
    stuck = cluster.upgrade == "stuck"
    if stuck and edition == "server":
        raise BadInput("upgrade", "stuck", NO_UPGRADE)
    procedure, reason = which_procedure(quorum, down, lost, stuck)
    indexes = _indexes(cluster)
    able = tuple(sorted(leaders(indexes), key=lambda name: name in cluster.named("down")))
    chosen = _leader(cluster, indexes, leader) or (able[0] if able else None)
    order = _order(cluster, procedure, chosen)
    return RecoveryAdvice(
        source,
        edition,
        procedure,
        reason,
        _group0(cluster, quorum, edition),
        tuple(_keyspace(cluster, name) for name in cluster.keyspaces),
        cluster.named("down"),
        cluster.named("lost"),
        quorum.missing,
        chosen if procedure == "recovery leader" else None,
        able if procedure == "recovery leader" else (),
        order,
        regressing(indexes, chosen) if chosen and procedure == "recovery leader" else {},
        _steps(cluster, procedure, edition, order),
        tuple(_worst(cluster, quorum, procedure, indexes, chosen)),
        (*warnings, *_warnings(cluster, procedure, chosen)),
        choices(quorum, down, lost, stuck, edition),
    )


def _quorum(cluster: ClusterDescription, edition: Edition, deaths: Iterable[int]) -> Quorum:
    return after_deaths_among(edition, cluster.places, cluster.voting, deaths)


def _able(cluster: ClusterDescription, able: bool = True) -> tuple[str, ...]:
    """Who lives or may be restarted, and may take part in a recovery by hand (or may not).

    Who joins or leaves cannot be recovered.
    """
    there = (node for node in cluster.nodes if node.status != "lost")
    return tuple(node.name for node in there if node.settled is able)


def _indexes(cluster: ClusterDescription) -> dict[str, int]:
    """The commit indexes that are told of nodes that may take part."""
    able = {*_able(cluster)}
    return {
        node.name: node.commit_index
        for node in cluster.nodes
        if node.name in able and node.commit_index is not None
    }


def _leader(
    cluster: ClusterDescription, indexes: Mapping[str, int], given: str | None
) -> str | None:
    if given is None:
        return None
    name = node_named(given, _able(cluster), "--leader")
    if name not in indexes:
        raise BadInput("--leader", given, "a node whose commit index is told")
    return name


def _order(
    cluster: ClusterDescription, procedure: Procedure, leader: str | None
) -> tuple[str, ...]:
    """Who is restarted after whom: the leader first; nobody while no leader can be named."""
    if procedure not in BY_HAND:
        return cluster.named("down")
    able = _able(cluster)
    if procedure == "recovery mode":
        return able
    return (leader, *(name for name in able if name != leader)) if leader else ()


def _group0(cluster: ClusterDescription, quorum: Quorum, edition: Edition) -> QuorumLine:
    dead = cluster.mask("down", "lost")
    singly = [1 << node for group in cluster.deaths_in_order for node in nodes_in(group)]
    return QuorumLine(
        quorum.voters.bit_count(),
        quorum.live.bit_count(),
        quorum.needed,
        quorum.holds,
        _quorum(cluster, edition, [dead]).holds,
        _quorum(cluster, edition, singly).holds,
    )


def _keyspace(cluster: ClusterDescription, name: str) -> KeyspaceLine:
    factors, having = cluster.keyspaces[name], cluster.replicas
    return KeyspaceLine(
        name,
        standings(having.places, having.mask("down", "lost"), factors),
        lost_ranges(having.places, having.mask("lost"), factors),
    )


def _steps(
    cluster: ClusterDescription, procedure: Procedure, edition: Edition, order: tuple[str, ...]
) -> tuple[ProcedureStep, ...]:
    if procedure not in BY_HAND or not _able(cluster):
        return ()
    words = {
        "leader": order[0] if order else "the node to be chosen",
        "order": (", ".join(order[1:]) or "nobody") if order else "all but the leader",
        "dead": ", ".join(cluster.named("lost")),
    }
    steps = OLD_STEPS if procedure == "recovery mode" else NEW_STEPS[edition]
    down = [node.name for node in cluster.nodes if node.status == "down" and node.settled]
    first = [ProcedureStep("restart", f"restart first {', '.join(down)}")] if down else []
    if stopped := _able(cluster, able=False):
        first.append(ProcedureStep("stop", STOP.format(", ".join(stopped))))
    filled = [ProcedureStep(step.name, step.what.format_map(words)) for step in steps]
    return (*first, *filled)


def _worst(
    cluster: ClusterDescription,
    quorum: Quorum,
    procedure: Procedure,
    indexes: Mapping[str, int],
    leader: str | None,
) -> Iterable[str]:
    if procedure == "recovery leader":
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
    having = cluster.replicas
    for name, factors in cluster.keyspaces.items():
        left = lost_ranges(having.places, having.mask("lost"), factors)
        if left != "available":
            which = "all" if left == "unavailable" else "some"
            yield f"{name}: {which} ranges may have lost every replica"


def _warnings(
    cluster: ClusterDescription, procedure: Procedure, leader: str | None
) -> Iterable[str]:
    yield from _too_many_replicas(cluster)
    if joining := [node.name for node in cluster.nodes if node.joins]:
        yield f"neither a vote nor data, as long as they join: {first_of(joining)}"
    if procedure not in BY_HAND:
        return
    if not _able(cluster):
        yield "no node is left to recover from"
    able = {*_able(cluster)}
    untold = [n.name for n in cluster.nodes if n.name in able and n.commit_index is None]
    if untold and procedure == "recovery leader":
        chosen = f"{leader} may lead only if none of these knows of more" if leader else "no leader"
        yield f"the commit index is not told of {first_of(untold)}: {chosen}"
    if odd := _able(cluster, able=False):
        yield f"nodes that live have to be normal first: {first_of(odd)}"
    yield from _too_few(cluster)


def first_of(names: Sequence[str]) -> str:
    """The first names, and how many more there are."""
    more = f" and {len(names) - MOST_NAMED:,} more" if len(names) > MOST_NAMED else ""
    return ", ".join(names[:MOST_NAMED]) + more


def _too_many_replicas(cluster: ClusterDescription) -> Iterable[str]:
    """Where a keyspace wants more replicas than a datacenter has nodes."""
    nodes = Counter(node.dc for node in cluster.replicas.nodes)
    for name, factors in cluster.keyspaces.items():
        for dc, factor in factors.items():
            if factor > nodes[dc]:
                yield (
                    f"{name} has RF {factor} in {dc}, which has fewer nodes ({nodes[dc]}): "
                    "levels count the replicas that it lacks"
                )


def _too_few(cluster: ClusterDescription) -> Iterable[str]:
    """Where so many are lost that a removal would leave fewer nodes than replicas."""
    for name, factors in cluster.keyspaces.items():
        for dc, factor in factors.items():
            left = sum(n.dc == dc and n.status != "lost" and n.settled for n in cluster.nodes)
            gone = any(node.dc == dc and node.status == "lost" for node in cluster.nodes)
            if left < factor and gone:
                yield f"replace, do not remove, in {dc}: {left} left, {name} has RF {factor}"
