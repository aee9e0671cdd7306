"""One moment of the CMS as rows: its nodes, its log, its placement, its quorums."""

from __future__ import annotations

from operator import attrgetter

from msgspec import Struct

from kit.masks import nodes_in, where
from kit.protocols.cms import cms
from kit.protocols.cms.rules.members import Members, majorities

NOBODY = "nobody"


class NodeRow(Struct, frozen=True):
    """A node: how it is, its part in the CMS by the newest log, who the members are by its own."""

    name: str
    status: str
    role: str
    epoch: int
    held: tuple[int, ...]  # the epochs that it stores above a gap
    knows: str
    health: cms.Health
    reads: bool
    writes: bool
    joined: bool
    share: float | None  # of the log up to where its addition began; None: it is not being added


class EpochRow(Struct, frozen=True):
    """The event of an epoch, and its nodes: those that ``stored`` it only, those that ``applied``
    it.

    There are two rows of one epoch where nodes disagree.
    """

    epoch: int
    event: str
    by: str
    forced: bool
    applied: tuple[str, ...]
    stored: tuple[str, ...]


def text(m: cms.Cms, members: Members) -> str:
    """The members: ``A, B, C``, and those that are written to only: ``A + B``."""
    more = members.writers & ~members.readers
    readers = ", ".join(m.named(members.readers)) or NOBODY
    return f"{readers} + {', '.join(m.named(more))}" if more else readers


def nodes(m: cms.Cms, s: cms.CmsState) -> tuple[NodeRow, ...]:
    """Every node."""
    rows, newest, begun = list[NodeRow](), m.newest(s), cms.begun_at(m.longest_log(s))
    for place, node in enumerate(s.nodes):
        sets = newest.readers, newest.writers, newest.cluster
        reads, writes, joined = (bool(each >> place & 1) for each in sets)
        role = "written to only" if writes else "not a member" if joined else "not in the cluster"
        role = "member" if reads else role
        status = "corrupt" if node.corrupt and node.health == "up" else node.health
        held, epoch = tuple(each.epoch for each in node.log.held), node.log.epoch
        knows = text(m, m.known(s, place)) if epoch else NOBODY
        share = min(epoch, begun) / begun if newest.pending >> place & 1 else None
        parts = node.health, reads, writes, joined, share
        rows.append(NodeRow(m.names[place], status, role, epoch, held, knows, *parts))
    return tuple(rows)


def log(m: cms.Cms, s: cms.CmsState) -> tuple[EpochRow, ...]:
    """Every epoch that some node has stored."""
    logs = [node.log for node in s.nodes]
    every = {each for log in logs for each in cms.all_of(log)}
    rows = list[EpochRow]()
    for each in sorted(every, key=attrgetter("epoch", "id", "event")):
        has = where(each in cms.all_of(log) for log in logs)
        past = where(log.epoch >= each.epoch for log in logs)
        marks = cms.is_forced(each), m.named(has & past), m.named(has & ~past)
        rows.append(EpochRow(each.epoch, each.event, each.id, *marks))
    return tuple(rows)


def former(m: cms.Cms, s: cms.CmsState) -> Members:
    """The membership before the present one, by the longest log: what it was at first, if none."""
    present, before = m.newest(s), m.newest(s)
    for members in m.memberships(m.longest_log(s)):
        if (members.readers, members.writers) != (present.readers, present.writers):
            before = members
    return before


def quorums(m: cms.Cms, s: cms.CmsState) -> dict[str, dict[str, str]]:
    """Whom each read quorum of the membership before shares with each write quorum of this one."""
    mine = {" ".join(m.named(new)): new for new in majorities(m.newest(s).writers)}
    return {
        " ".join(m.named(old)): {
            now: " ".join(m.named(old & new)) or "! nobody" for now, new in mine.items()
        }
        for old in majorities(former(m, s).readers)
    }


def accepted(
    m: cms.Cms, s: cms.CmsState
) -> tuple[tuple[str, tuple[int, ...], tuple[int, ...]], ...]:
    """Of what was accepted since the last addition began: what each writer has, and lacks."""
    log, rows = m.longest_log(s), []
    since = range(cms.begun_at(log) + 1, log.epoch + 1)
    for place in nodes_in(m.newest(s).writers):
        has = tuple(each for each in since if cms.holds(s.nodes[place].log, each))
        rows.append((m.names[place], has, tuple(each for each in since if each not in has)))
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
    return f"{row.epoch} {row.event} by {row.by}: {mark}{where}{only}"


PLACED = "{0[0]}: read {0[1]}; write {0[2]}"
OUTPUT = {
    "nodes": lambda m, s, _: "\n".join(map(node_line, nodes(m, s))),
    "log": lambda m, s, _: "\n".join(map(epoch_line, log(m, s))),
    "placement": lambda m, s, _: PLACED.format(*placement(m, s)),
}
