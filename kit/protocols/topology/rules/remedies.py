"""What an operator does about a node that is down, or lost for good: the steps of a release.

Nodes are named as the commands want them, by host id. Whoever is ignored is banned together with
the node that goes, so only nodes that never come back are listed. Sources: published manual of each
release, on replacing, removing and repairing nodes, nodetool removenode, repair and
excludenode; published code, ``join_node_request_handler``, ``raft_removenode``,
``topology_state_load``.
"""

from collections.abc import Iterator, Mapping, Sequence
from typing import Literal

from msgspec import Struct

from kit.errors import check_among
from kit.protocols.group0.rules.releases import NEWEST, Release, has

Remedy = Literal["restart", "replace", "remove", "repair"]
NEVER = "never"
"""The name of what must not be done: it stands after the steps, without a number."""


class ProcedureStep(Struct, frozen=True):
    """A step: its name, and what to do; words in braces stand for nodes."""

    name: str
    what: str


def _steps(*rows: str) -> tuple[ProcedureStep, ...]:
    return tuple(ProcedureStep(name, what) for name, _, what in (r.partition("| ") for r in rows))


CLUSTER_REPAIR = "nodetool cluster repair on any one node"
LATER = (
    "; this ends only once {node} is removed, so don't wait for it: the removal repairs a tablet's "
    "live replicas before it copies"
)
"""Source: published ``global_tablet_token_metadata_barrier`` and ``make_repair_plan``."""
_SURE = (
    "make sure| {node} never comes back; if it can{unless}, start it and stop here; else take it "
    "off the network{unbanned}, and delete its data if you can reach it"
)
_EXCLUDE = "or exclude| nodetool excludenode {ids}: then {option} below can be left out"
_BANNED = "never| start {banned} again, even if this fails halfway{ban}"
_ALONE = (
    "alone| no other node may join, leave, be replaced or removed until all of this is done: the "
    "topology is gossiped"
)
STEPS: Mapping[Remedy, tuple[ProcedureStep, ...]] = {
    "restart": _steps(
        "start| on {node}: sudo systemctl start scylla-server",
        "verify| nodetool status on a live node: {node} must be UN before you go on",
        "if not| read its log; if its disk is gone, it is lost for good: replace it",
        "never| start a node that was replaced, removed, excluded or ignored{ban}",
    ),
    "replace": _steps(
        _SURE,
        _ALONE,
        _EXCLUDE,
        "install| on a new machine, the same patch release as on the live nodes; it must be in the "
        "datacenter and the rack of {node} ({place}){checked}; do not start it yet",
        "configure| in its scylla.yaml: cluster_name, seeds (live nodes), endpoint_snitch, "
        "listen_address, rpc_address, {managed}replace_node_first_boot: {node}{ignored}{tokens}",
        "start| start the new node and wait{copies}",
        "verify| nodetool status on a live node: the new node is UN, and {node} is gone",
        "repair| nodetool repair on the new node{vnodes}, if repair-based node operations are off "
        "for replace (they are on by default)",
        _BANNED,
        "instead| use removenode in its place where a datacenter would keep fewer nodes than RF, "
        "or a rack would keep none and a keyspace has a replica in each",
    ),
    "remove": _steps(
        _SURE,
        _ALONE,
        "count| each datacenter must keep RF nodes or more (and its racks, if a keyspace has a "
        "replica in each); where it would not, replace {node} instead",
        "repair| first repair everything: {repair}",
        _EXCLUDE,
        "remove| on a live node: nodetool removenode {ignored}{node}",
        "verify| nodetool status on a live node: {node} is gone",
        _BANNED,
        "never| use removenode on a node that is up: use decommission",
    ),
    "repair": _steps("repair| {repair}"),
}
_OPTION: Mapping[str, str] = {
    "replace": "ignore_dead_nodes_for_replace",
    "remove": "--ignore-dead-nodes",
}
"""Where the other dead nodes are listed."""
FULL = " (without -pr, which skips a dead node's ranges; it reports errors, but syncs live nodes)"
ZERO_TOKEN = "join_ring: false, as it has no tokens"
MAJORITY = ProcedureStep(
    "ask",
    "python -m kit recover tells whether group 0 has a majority without them; if it has none, "
    "nothing can be replaced or removed before it has one again",
)
"""What comes first where too many nodes are dead to be sure."""


def remedy_steps(
    kind: Remedy,
    node: str,
    dead: Sequence[str] = (),
    release: Release = NEWEST,
    *,
    place: str = "",
    tokens: bool = True,
) -> tuple[ProcedureStep, ...]:
    """The steps of a remedy for ``node``, then what must not be done (steps called ``never``).

    ``dead`` are the other nodes that are lost for good; of these only normal ones can be ignored.
    ``place`` is the node's datacenter and rack, such as ``dc1/r1``; empty: not known. A node
    without ``tokens`` is replaced by one that has none either: there is no data to count, copy or
    repair. ``release`` is the server's. Raises BadInput for another ``kind`` or release.
    """
    check_among("kind", kind, STEPS)
    option, listed = _OPTION.get(kind, ""), ",".join(dead)
    how = ("-pr ", "") if kind == "repair" else ("", FULL)
    repair = "nodetool repair {}on every live node, one after another{}".format(*how)
    tokens = tokens or not has("zero-tokens", release)
    if has("cluster-repair", release):
        repair = f"keyspaces without tablets: {repair}; keyspaces with tablets: {CLUSTER_REPAIR}"
        repair += LATER.format(node=node) if kind == "remove" else ""
    ignored = f", {option}: {listed}" if kind == "replace" else f"{option} {listed} "
    banned = has("topology-in-group-0", release)  # and the first release with tablets
    words = {
        "node": node,
        "place": place or "nodetool status on a live node shows them",
        "option": option,
        "ids": " ".join(dead),
        "ignored": ignored if dead else "",
        "tokens": "" if tokens else f", {ZERO_TOKEN}",
        "copies": (": it copies data" + ", and tablets are rebuilt" * banned) * tokens,
        "vnodes": ", for keyspaces without tablets" * banned,
        "unless": " and is not banned" * banned,
        "banned": f"{node}, or a node that you ignore," if dead else node,
        "ban": ": it is banned" if banned else "",
        "unbanned": "" if banned else " (this release bans nobody)",
        "checked": ", or it is rejected" if banned else "; this release does not check that",
        "managed": "" if banned else "consistent_cluster_management (as on the live nodes), ",
        "repair": repair,
    }
    skipped = ["or exclude"] * (not dead or not has("excludenode", release))
    skipped += ["count", "repair", "instead"] * (not tokens) + ["alone"] * banned
    return tuple(
        ProcedureStep(NEVER if step.name == "instead" else step.name, step.what.format_map(words))
        for step in STEPS[kind]
        if step.name not in skipped
    )


class LostNode(Struct, frozen=True):
    """A normal node that is lost for good; ``place`` and ``tokens`` are those of its remedy."""

    name: str
    place: str = ""
    tokens: bool = True


def steps_for_dead(
    down: Sequence[str],
    lost: Sequence[LostNode],
    release: Release = NEWEST,
    kind: Remedy = "replace",
    *,
    shrinks: bool = False,
) -> Iterator[ProcedureStep]:
    """The steps for nodes that are down, then for those lost for good.

    The first lost node is replaced (or removed: ``kind``) with the others ignored, then it is their
    turn. Where the cluster ``shrinks``, a removal may take the place of the replacement.
    """
    if down:
        yield from remedy_steps("restart", ", ".join(down), release=release)
    if not lost:
        return
    first, names = lost[0], [node.name for node in lost[1:]]
    given = first.name, names, release
    yield from remedy_steps(kind, *given, place=first.place, tokens=first.tokens)
    if shrinks:
        removal = {step.name: step.what for step in remedy_steps("remove", *given)}
        what = "if group 0 can do without its vote,"
        if first.tokens:
            what = f"if each datacenter keeps RF nodes and each rack one, {removal['repair']}; then"
        yield ProcedureStep("or remove", f"{what} {removal['remove']}")
    if names:
        which = ", ".join(n.name if n.tokens else f"{n.name} ({ZERO_TOKEN})" for n in lost[1:])
        yield ProcedureStep("next", f"then the same for {which}; ignore only those still dead")


def numbered(steps: Sequence[ProcedureStep]) -> list[tuple[str, str, str]]:
    """The rows of a table: each step's number, name and text; what must not be done has none."""
    last = sorted(steps, key=lambda step: step.name == NEVER)
    numbers = ("" if step.name == NEVER else f"{at}" for at, step in enumerate(last, 1))
    return [(number, step.name, step.what) for number, step in zip(numbers, last, strict=True)]
