"""One moment of the CMS as rows: its nodes, its log, its placement, its quorums."""

from __future__ import annotations

from collections.abc import Iterator

from msgspec import Struct

from kit.masks import nodes_in
from kit.protocols.cms import cms
from kit.protocols.cms.rules.log import SNAPSHOT
from kit.protocols.cms.rules.members import Members, majorities

NOBODY = "nobody"


class NodeRow(Struct, frozen=True):
    """A node: how it is, its part in the CMS by the newest log, who the members are by its own.

    ``held`` are the epochs that it stores above a gap. ``share`` is how much a node that is being
    added has of the log up to the epoch at which that began (None: it is not being added).
    """

    name: str
    status: str
    role: str
    epoch: int
    held: tuple[int, ...]
    knows: str
    health: cms.Health
    reads: bool
    writes: bool
    joined: bool
    share: float | None


class EpochRow(Struct, frozen=True):
    """What an epoch is, and on which nodes: who ``stored`` it only, who has ``applied`` it.

    There are two rows of one epoch where nodes disagree.
    """

    epoch: int
    event: str
    by: str
    forced: bool
    applied: tuple[str, ...]
    stored: tuple[str, ...]


class AcceptedRow(Struct, frozen=True):
    """Of what was accepted since the last addition began: what a member has, and what it lacks."""

    name: str
    has: tuple[int, ...]
    lacks: tuple[int, ...]


class QuorumRow(Struct, frozen=True):
    """A quorum of the membership before, and whom it shares with each quorum of the present one."""

    before: str
    shared: tuple[tuple[str, str], ...]


def text(m: cms.Cms, members: Members) -> str:
    """Who the members are: ``A, B, C``, and who is written to only: ``A + B``."""
    more = members.writers & ~members.readers
    readers = ", ".join(m.named(members.readers)) or NOBODY
    return f"{readers} + {', '.join(m.named(more))}" if more else readers


def nodes(m: cms.Cms, s: cms.CmsState) -> tuple[NodeRow, ...]:
    """Every node."""
    return tuple(_node(m, s, place) for place in range(len(s.nodes)))


def _node(m: cms.Cms, s: cms.CmsState, place: int) -> NodeRow:
    node, newest, begun = s.nodes[place], m.newest(s), cms.begun_at(m.longest_log(s))
    sets = newest.readers, newest.writers, newest.cluster
    reads, writes, joined = (bool(each >> place & 1) for each in sets)
    role = "no member" if joined else "not in cluster"
    if writes or reads:
        role = "member" if reads else "written to only"
    status = "corrupt" if node.corrupt and node.health == "up" else node.health
    held, epoch = tuple(each.epoch for each in node.log.held), node.log.epoch
    knows = text(m, m.known(s, place)) if epoch else NOBODY
    share = min(epoch, begun) / begun if newest.pending >> place & 1 else None
    parts = reads, writes, joined, share
    return NodeRow(m.names[place], status, role, epoch, held, knows, node.health, *parts)


def log(m: cms.Cms, s: cms.CmsState) -> tuple[EpochRow, ...]:
    """Every epoch that some node has stored."""
    pairs = {(each.epoch, each.id, each.event) for n in s.nodes for each in cms.entries_of(n.log)}
    made = {(each.epoch, cms.OPERATOR, SNAPSHOT) for n in s.nodes for each in n.log.snapshots}
    return tuple(_epochs(m, s, sorted(pairs | made)))


def _epochs(m: cms.Cms, s: cms.CmsState, pairs: list[tuple[int, str, str]]) -> Iterator[EpochRow]:
    for epoch, by, event in pairs:
        has, applied = list[str](), list[str]()
        for name, node in zip(m.names, s.nodes, strict=True):
            here = cms.stored(node.log, epoch)
            loaded = event == SNAPSHOT and any(x.epoch == epoch for x in node.log.snapshots)
            if loaded or (here and (here.id, here.event) == (by, event)):
                (applied if node.log.epoch >= epoch else has).append(name)
        yield EpochRow(epoch, event, by, by == cms.OPERATOR, tuple(applied), tuple(has))


def former(m: cms.Cms, s: cms.CmsState) -> Members:
    """The membership before the present one, by the longest log: what it was at first, if none."""
    present, before = m.newest(s), m.newest(s)
    for members in m.memberships(m.longest_log(s)):
        if (members.readers, members.writers) != (present.readers, present.writers):
            before = members
    return before


def quorums(m: cms.Cms, s: cms.CmsState) -> tuple[QuorumRow, ...]:
    """Each read quorum of the membership before, against each write quorum of the present one."""
    before, now = former(m, s), m.newest(s)
    mine = [*majorities(now.writers)]
    return tuple(
        QuorumRow(
            " ".join(m.named(old)),
            tuple((" ".join(m.named(new)), " ".join(m.named(old & new))) for new in mine),
        )
        for old in majorities(before.readers)
    )


def accepted(m: cms.Cms, s: cms.CmsState) -> tuple[AcceptedRow, ...]:
    """Each node that stores what is proposed now."""
    log = m.longest_log(s)
    since = range(cms.begun_at(log) + 1, log.epoch + 1)
    rows = []
    for place in nodes_in(m.newest(s).writers):
        has = tuple(each for each in since if cms.holds(s.nodes[place].log, each))
        lacks = tuple(each for each in since if each not in has)
        rows.append(AcceptedRow(m.names[place], has, lacks))
    return tuple(rows)


def placement(m: cms.Cms, s: cms.CmsState) -> tuple[tuple[str, str, str], ...]:
    """The one row of the metadata keyspace: all members own all of it."""
    newest = m.newest(s)
    sets = newest.readers, newest.writers
    reads, writes = (", ".join(m.named(mask)) or NOBODY for mask in sets)
    return (("(MIN, MAX]", reads, writes),)


# -- what scenario files show ----------------------------------------------------------------------


def node_line(row: NodeRow) -> str:
    """A node in words."""
    held = f", holds {', '.join(map(str, row.held))} above a gap" if row.held else ""
    return f"{row.name}: {row.status}, {row.role}, epoch {row.epoch}{held}, knows {row.knows}"


def epoch_line(row: EpochRow) -> str:
    """An epoch in words."""
    where = f"applied by {', '.join(row.applied) or NOBODY}"
    only = f", stored by {', '.join(row.stored)}" if row.stored else ""
    mark = "! forced, " if row.forced else ""
    return f"{row.epoch} {row.event} of {row.by}: {mark}{where}{only}"


PLACED = "{0[0]}: read {0[1]}; write {0[2]}"
OUTPUT = {
    "nodes": lambda m, s, _: "\n".join(map(node_line, nodes(m, s))),
    "log": lambda m, s, _: "\n".join(map(epoch_line, log(m, s))),
    "placement": lambda m, s, _: PLACED.format(*placement(m, s)),
}
