"""One state of failures or of a recovery as people ask of it: nodes, groups, data, steps."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import Any

from msgspec import Struct

from kit.masks import majority, nodes_in
from kit.model.timeline import PassedStep
from kit.protocols.group0.rules.quorum import Place
from kit.protocols.recovery import recovery_mode as act
from kit.protocols.recovery.failures import Failures, FailuresState
from kit.protocols.recovery.lost_majority import NO_GROUP, NOBODY
from kit.protocols.recovery.mode_cluster import ModeNode, ModeState
from kit.protocols.recovery.orders import DOCUMENTED, actions_of, order_harm
from kit.protocols.recovery.recovering_cluster import RecoveryNode, RecoveryState, reception
from kit.protocols.recovery.recovery import Recovery
from kit.protocols.recovery.recovery_mode import RecoveryMode
from kit.protocols.recovery.rules import availability
from kit.protocols.storage.rules.levels import Level

LEVELS: tuple[Level, ...] = ("ONE", "LOCAL_QUORUM", "QUORUM", "EACH_QUORUM", "ALL")
SHOWN: tuple[Level, ...] = ("ONE", "QUORUM", "ALL")
"""Levels that one datacenter tells apart; each stands for those between it and the next."""


class LevelLine(Struct, frozen=True):
    """Data at a level, asked for in ``datacenter``: for how many of all ranges it is met."""

    level: Level
    datacenter: str
    met: int
    ranges: int

    @property
    def name(self) -> str:
        """``QUORUM``, ``LOCAL_QUORUM in dc1``."""
        return f"{self.level} in {self.datacenter}" if self.level == "LOCAL_QUORUM" else self.level

    @property
    def standing(self) -> availability.Standing:
        """Of every range, of some, of none."""
        if self.met == self.ranges:
            return "available"
        return "of some ranges" if self.met else "unavailable"


def voters_missing(s: FailuresState) -> int:
    """How many voters have to come back, to the side that has most of them."""
    most = max((side & s.voters).bit_count() for side in s.sides())
    return max(0, majority(s.voters.bit_count()) - most)


def range_lines(m: Failures, s: FailuresState, side: int) -> tuple[DataRangeRow, ...]:
    """Every range, with the replicas that serve on a side (a mask of nodes)."""
    names = m.named(side & s.serving)
    return tuple(
        DataRangeRow(label, held, tuple(name for name in held if name in names))
        for label, held in availability.placed_ranges(m.names, m.places, m.rf)
    )


def level_lines(m: Failures, s: FailuresState, side: int) -> tuple[LevelLine, ...]:
    """How many ranges meet each level, for clients of the nodes that serve on a side."""
    homes = [dc for dc in m.dcs if m.members(dc) & side & s.serving]
    live = [line.live for line in range_lines(m, s, side)]
    counts = [Counter(m.places[m.number(name)][0] for name in names) for names in live]
    ranges = [{dc: (m.rf, count[dc]) for dc in m.dcs} for count in counts]
    lines = []
    for level in LEVELS if m.several else SHOWN:
        for home in homes if level == "LOCAL_QUORUM" else homes[:1] or ("",):
            met = sum(availability.answers(level, each, home) for each in ranges)
            lines.append(LevelLine(level, home, met, len(ranges)))
    return tuple(lines)


def met_failures(
    m: Failures, states: Iterable[FailuresState]
) -> Iterator[tuple[availability.FailureRow, FailuresState | None]]:
    """The documents' rows for a cluster of this shape, if there are, each with the last state that
    it means.
    """
    whole = [s for s in states if not s.apart]
    for row in availability.FAILURES:
        shape = (availability.PER_DATACENTER,) * row.datacenters
        if m.rf == availability.RF and m.datacenters == shape:
            met = (s for s in reversed(whole) if row.covers(m.everybody & ~s.up))
            yield row, next(met, None)


HOME: Place = ("dc1", "r1")
"""Where all nodes are of which nothing is said."""


class PersistedRow(Struct, frozen=True):
    """A node: the group that it runs in, its persisted group id, its option."""

    name: str
    node: RecoveryNode
    group: str
    group_id: str
    option: str
    leads: bool

    @property
    def dangling(self) -> int:
        """The columns in which it has data, and which it does not know (a mask)."""
        return self.node.data & ~self.node.columns

    @property
    def where(self) -> str:
        """The group that it runs in, or why it runs in none."""
        back = " (back)" if self.node.status == "returned" else ""
        return f"{self.group}{back}" if self.group else self.node.status


class DataRangeRow(Struct, frozen=True):
    """A range of the ring: its replicas, which of them are up, the levels that are met."""

    label: str
    replicas: tuple[str, ...]
    live: tuple[str, ...]
    levels: tuple[Level, ...] = ()


class EffectRow(Struct, frozen=True):
    """Data of a node in a column: whether the entry that they depend on is in its state."""

    node: str
    column: int
    is_known: bool
    group: str


def persisted(m: Recovery, s: RecoveryState) -> tuple[PersistedRow, ...]:
    """Every node that is not removed."""
    rows = []
    for at in nodes_in(s.peers):
        node = s.nodes[at].but(old_rows=s.leftover(s.nodes[at]))
        groups = m.group_name(node.group), m.group_name(node.group_id)
        option = m.names[node.option] if node.option != NOBODY else ""
        rows.append(PersistedRow(m.names[at], node, *groups, option, s.leader == at))
    return tuple(rows)


def gossip(m: Recovery, s: RecoveryState) -> Iterator[tuple[str, str, bool, str]]:
    """Every two nodes that are up, whether they take each other's gossip, and why."""
    for first, second in s.up_in_pairs():
        accepted_why = reception(s.digest_of(first), s.digest_of(second), m.edition)
        yield m.names[first], m.names[second], *accepted_why


def parties(m: Recovery, s: RecoveryState) -> Iterator[tuple[str, ...]]:
    """Nodes that run on this side of the firewall and of whom all others take no gossip; the
    largest party is not among them.
    """
    talking, groups = {*s.talking(m.edition)}, list[set[int]]()
    for at, node in enumerate(s.nodes):
        if node.group != NO_GROUP and not s.is_walled_off(node):
            near = [party for party in groups if any((other, at) in talking for other in party)]
            groups = [party for party in groups if party not in near] + [{at}.union(*near)]
    for party in sorted(groups, key=len)[:-1]:
        yield tuple(m.names[at] for at in sorted(party))


def ranges(m: Recovery | RecoveryMode, s: RecoveryState | ModeState) -> tuple[DataRangeRow, ...]:
    """The ranges of a ring in which every node that is not removed owns one token.

    Each datacenter has ``m.rf`` replicas. Where nothing is said of racks all nodes stand in one.
    """
    there = [*nodes_in(s.peers)]
    places = tuple(m.places[i] if m.racks else HOME for i in there)
    names, up = tuple(m.names[i] for i in there), {*m.named(s.answering)}
    dc_of = {name: dc for name, (dc, _) in zip(names, places, strict=True)}
    rows = []
    for label, held in availability.placed_ranges(names, places, m.rf):
        live = tuple(name for name in held if name in up)
        answering = Counter(dc_of[name] for name in live)
        counts = {dc: (m.rf, answering[dc]) for dc in dict.fromkeys(dc_of.values())}
        met = tuple(level for level in SHOWN if availability.answers(level, counts, home=""))
        rows.append(DataRangeRow(label, held, live, met))
    return tuple(rows)


def effects(m: Recovery, s: RecoveryState) -> Iterator[EffectRow]:
    """Every column in which a node stores data, and the entry that it needs."""
    for row in persisted(m, s):
        for column in nodes_in(row.node.data):
            yield EffectRow(row.name, column + 1, not row.dangling >> column & 1, row.group)


DIAGNOSES = {
    "": "no row: the Raft upgrade runs, or begins at the next start",
    "use_pre_raft_procedures": "a Raft upgrade is in progress",
    "synchronize": "a Raft upgrade is in progress",
    "use_post_raft_procedures": "Raft is in use",
    "recovery": "a manual recovery is in progress",
    "unknown": "an unknown value, which counts as recovery at the next start",
}


class ModeRow(Struct, frozen=True):
    """A node: its mode, its group, and what its system tables hold."""

    name: str
    node: ModeNode
    group: str
    group_id: str
    discovery: tuple[str, ...]

    @property
    def mode(self) -> str:
        """The mode that it runs in."""
        return self.node.mode_text if self.node.standing != "dead" else "dead"


ChecklistRow = tuple[str, str, str]
"""A documented step, how far it is, and what harm it does not to have taken it in its place."""


def rows(m: RecoveryMode, s: ModeState) -> tuple[ModeRow, ...]:
    """Every node that is not removed."""
    there = ((m.names[at], s.nodes[at]) for at in nodes_in(s.peers))
    return tuple(
        ModeRow(name, n, m.group_name(n.group), m.group_name(n.group_id), m.named(n.discovery))
        for name, n in there
    )


harm_of = cache(order_harm)


def steps_taken(m: RecoveryMode, way: Sequence[PassedStep]) -> tuple[tuple[str, ...], set[str]]:
    """The documented steps that a run began, in that order, and those among them that it ended."""
    died = {each.action.node for each in way if isinstance(each.action, act.Die)}
    left = {step: {*_still(m, step, died)} for step in DOCUMENTED}
    begun: dict[str, None] = {}
    for passed in way:
        step = next((name for name in DOCUMENTED if passed.action in left[name]), None)
        if step is not None:
            begun[step] = None
            left[step].discard(passed.action)
    return tuple(begun), {step for step in begun if not left[step]}


def _still(m: RecoveryMode, step: str, died: Iterable[str]) -> Iterator[Any]:
    yield from (a for a in actions_of(m, (step,)) if getattr(a, "node", "") not in died)
    if step == "remove":
        yield from map(act.Remove, died)


def checklist(m: RecoveryMode, s: ModeState, way: Sequence[PassedStep]) -> tuple[ChecklistRow, ...]:
    """Every documented step; the harm of the first that was not taken in its place stands there.

    It is that of the steps so far, with those that are still to come behind them as documented.
    """
    begun, ended = steps_taken(m, way)
    last = max(map(DOCUMENTED.index, begun), default=-1)
    harm = harm_of((*begun, *DOCUMENTED[last + 1 :]))
    listed: list[ChecklistRow] = []
    for at, step in enumerate(DOCUMENTED):
        left = "left out" if at < last else "to do"
        progress = "done" if step in ended else "begun" if step in begun else left
        said = harm.sentence if step == harm.missing else ""
        listed.append((step, progress, said))
    end = "done" if s.is_whole else "to do"
    return (*listed, ("the Raft upgrade ends", end, ""))
