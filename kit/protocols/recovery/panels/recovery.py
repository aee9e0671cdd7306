"""A recovery: nodes and their groups with the gossip between them, what each has persisted, groups,
data by range, causality.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial

from kit.errors import are
from kit.protocols.recovery.facts import recovery as facts
from kit.protocols.recovery.facts.recovery import (
    DataRangeRow,
    EffectRow,
    GossipRow,
    GroupRow,
    PersistedRow,
)
from kit.protocols.recovery.panels import driver, operation
from kit.protocols.recovery.recovery import LOG as SERVER_LOG
from kit.views.declared import Badges, Column, Table, of_state, panel_of, status
from kit.views.fragment import Frag, h
from kit.views.logs import log_panel
from kit.views.node_boxes import NodeBox, Places, ring_panel
from kit.views.panel import Panel, Scene
from kit.views.parts import lamp
from kit.views.promises import LAMPS
from kit.views.registry import Views

LEADS = "★"
Point = tuple[float, float]
TIP, WING = 7.0, 4.0  # of an arrow's head: its length, half its width
CROSS = 6.0
FAR = 0.62  # of the way between two nodes: where a head is


# -- the picture -----------------------------------------------------------------------------------


def _boxes(scene: Scene) -> Iterator[NodeBox]:
    """Each node in its place with its group and its commit index; one that is down is dashed."""
    for row in scene.of(facts.nodes):
        back = " (back)" if row.status == "returned" else ""
        short = row.group.removeprefix("the ") or row.status  # the box is narrow
        lines, title = (f"{_name(row)} · {row.index}{back}", short), f"{row.name}: {where(row)}"
        yield NodeBox(f"node:{row.name}", row.name, lines, title, not row.group)


def _name(row: PersistedRow) -> str:
    return f"{LEADS}{row.name}" if row.leads else row.name


def where(row: PersistedRow) -> str:
    """The group that a node runs in, or why it runs in none."""
    back = " (back)" if row.status == "returned" else ""
    return f"{row.group}{back}" if row.group else row.status


def wall(scene: Scene) -> str:
    """Whether the dead nodes are cut off, in the middle of the picture."""
    return "cut off from the dead" if scene.state.isolated else "the dead are not cut off"


def _picture_words(scene: Scene) -> Iterator[str]:
    for row in scene.of(facts.nodes):
        yield f"{_name(row)}: {where(row)}, commit index {row.index}"
    yield wall(scene)


def _between(scene: Scene, places: Places) -> list[Frag]:
    return list(arrows(facts.gossip(scene.model, scene.state), places))


def arrows(rows: Iterable[GossipRow], places: Mapping[str, Point]) -> Iterator[Frag]:
    """Draw an arrow both ways for each two nodes that are up.

    It is dashed where ids of groups differ and ``recovery_leader`` tolerates it; where gossip is
    rejected there is a cross in place of the heads.
    """
    for row in rows:
        first, second = places[row.first], places[row.second]
        differ = " dashed" if row.why != "one group id" else ""
        heads = (_head(second, first, FAR), _head(first, second, FAR)) if row.accepted else ()
        said = "accepted" if row.accepted else "rejected"
        yield h(
            "g",
            h("title", f"gossip of {row.first} and {row.second}: {said}, {row.why}"),
            h("path", d=f"M{_spot(first)}L{_spot(second)}", class_=f"wire{differ}"),
            heads or h("path", d=_cross(first, second), class_="cross"),
            k=f"arrow:{row.first}:{row.second}",
            class_=said,
        )


def _spot(at: Point) -> str:
    return f"{at[0]:.1f} {at[1]:.1f}"


def _on_way(a: Point, b: Point, share: float) -> Point:
    return a[0] + (b[0] - a[0]) * share, a[1] + (b[1] - a[1]) * share


def _head(a: Point, b: Point, share: float) -> Frag:
    """The head of an arrow from one place to another, on the way."""
    long = max(((b[0] - a[0]) ** 2 + (b[1] - a[1]) ** 2) ** 0.5, 1.0)
    along = (b[0] - a[0]) / long, (b[1] - a[1]) / long
    x, y = _on_way(a, b, share)
    back = x - along[0] * TIP, y - along[1] * TIP
    left = back[0] - along[1] * WING, back[1] + along[0] * WING
    right = back[0] + along[1] * WING, back[1] - along[0] * WING
    return h("polygon", points=" ".join(map(_spot, ((x, y), left, right))), class_="tip")


def _cross(a: Point, b: Point) -> str:
    x, y = _on_way(a, b, 0.5)
    return (
        f"M{x - CROSS:.1f} {y - CROSS:.1f}l{2 * CROSS:.0f} {2 * CROSS:.0f}"
        f"m0 {-2 * CROSS:.0f}l{-2 * CROSS:.0f} {2 * CROSS:.0f}"
    )


# -- tables ----------------------------------------------------------------------------------------


def _data(row: PersistedRow) -> tuple[str, ...]:
    return tuple(f"column {c}{' !' if c in row.dangling else ''}" for c in row.data)


def _persisted(row: PersistedRow) -> str:
    words = [
        where(row),
        f"id of {row.group_id}" if row.group_id else "no group id",
        f"commit index {row.index}",
        f"recovery_leader {row.option}" if row.option else "",
        *(f"data in {column}" for column in _data(row)),
        "old Raft rows" if row.has_old_rows else "",
    ]
    return f"{_name(row)}: {', '.join(filter(None, words))}"


def _commits(row: GroupRow) -> str:
    given_up = ", given up" if row.is_abandoned else ""
    needed = f"{row.needed} {are(row.needed)} needed{given_up}"
    if row.voters == row.members:
        return f"{len(row.running)} of {len(row.members)} run, {needed}"
    up = sum(name in row.running for name in row.voters)
    vote = f"{', '.join(row.voters)} vote" if row.voters[1:] else f"{row.voters[0]} votes"
    return f"{vote}: {up} of {len(row.voters)} run, {needed}"


def _group(row: GroupRow) -> str:
    return (
        f"{row.name}: {', '.join(row.members) or 'nobody'}; "
        f"{', '.join(row.running) or 'nobody'} run in it: "
        f"{'can commit' if row.can_commit else 'cannot commit'} ({_commits(row)})"
    )


def ranges_panel(rows: Callable[[Scene], Sequence[DataRangeRow]]) -> Panel:
    """Make the tab with a row for each range: its replicas, who is up, a lamp for each level."""
    table = Table(
        rows,
        "range:{0.label}",
        (
            Column("range", "label"),
            Column("replicas", "replicas"),
            Column("up", "live", none="nobody"),
            *(Column(level, partial(_available, level)) for level in facts.SHOWN),
        ),
        caption=lambda scene: f"Data by range, RF {scene.model.rf}",
        line=lambda row: (
            f"{row.label}: {', '.join(row.replicas)}; {', '.join(row.live) or 'nobody'} up; "
            f"available at {', '.join(row.levels) or 'no level'}"
        ),
    )
    return panel_of("ranges", "Availability of data", table, tab="Data")


def _available(level: str, row: DataRangeRow) -> Frag:
    return lamp(level in row.levels, f"{level} available", f"{level} unavailable")


def _pair(row: GossipRow) -> str:
    return f"{row.first} ↔ {row.second}"


def _needs(row: EffectRow) -> str:
    if row.is_known:
        return f"← entry {row.column}, persisted on {row.node}"
    return f"? entry {row.column} is unknown to {row.group or row.node}"


# -- badges ----------------------------------------------------------------------------------------


def _badges(scene: Scene) -> Badges:
    """Both lamps, schema changes and data, then leader and half-done operation."""
    state = scene.state
    yield from lamps(facts.can_change_schema(state), scene.of(facts.ranges))
    yield "leader", f"leader {scene.model.names[state.leader]}" if state.leader >= 0 else "", ""
    under_way = "busy" if state.operation == "under way" else ""
    yield "operation", f"operation {state.operation}" * (state.operation != "none"), under_way


def lamps(schema: bool, ranges: Sequence[DataRangeRow]) -> Badges:
    """The lamp of schema changes and that of data at QUORUM."""
    met = sum("QUORUM" in row.levels for row in ranges)
    yield "schema", *(("✓ schema changes", "") if schema else ("! no schema changes", "broken"))
    if met == len(ranges):
        yield "data", "✓ data at QUORUM", ""
    else:
        yield "data", f"! data at QUORUM in {met} of {len(ranges)} ranges", "broken"


VIEWS = Views(
    (
        status(_badges, "badges"),
        ring_panel(
            "nodes",
            "Nodes and their groups",
            _boxes,
            _picture_words,
            names=lambda scene: scene.model.names,
            middle=wall,
            between=_between,
        ),
        panel_of(
            "rows",
            "What each node has persisted",
            Table(
                of_state(facts.nodes),
                "row:{0.name}",
                (
                    Column("node", _name),
                    Column("runs in", where),
                    Column("group id", "group_id"),
                    Column("commit index", "index"),
                    Column("recovery_leader", "option"),
                    Column("data in", _data),
                    Column("old Raft rows", "has_old_rows"),
                ),
                caption=f"What each node has persisted ({LEADS} recovery leader)",
                of="{0.name}",
                line=_persisted,
            ),
            still=True,
            tab="Persisted",
        ),
        panel_of(
            "groups",
            "Group membership",
            Table(
                of_state(facts.memberships),
                "group:{0.name}",
                (
                    Column("group", "name"),
                    Column("members", "members", none="nobody"),
                    Column("run in it", "running", none="nobody"),
                    Column(
                        "commits", lambda row: lamp(row.can_commit, "can commit", "cannot commit")
                    ),
                    Column("majority", _commits),
                ),
                caption="Members of each group 0",
                line=_group,
            ),
            tab="Groups",
        ),
        ranges_panel(of_state(facts.ranges)),
        panel_of(
            "gossip",
            "Gossip",
            Table(
                lambda scene: facts.gossip(scene.model, scene.state),
                "gossip:{0.first}:{0.second}",
                (
                    Column("nodes", _pair),
                    Column("taken", lambda row: lamp(row.accepted, "accepted", "rejected")),
                    Column("why", "why"),
                ),
                caption="Who takes whose gossip",
                line=lambda row: (
                    f"{_pair(row)}: {'accepted' if row.accepted else 'rejected'}, {row.why}"
                ),
                empty="No two nodes are up.",
            ),
            tab="Gossip",
        ),
        panel_of(
            "causality",
            "Causality",
            Table(
                lambda scene: facts.effects(scene.model, scene.state),
                "effect:{0.node}:{0.column}",
                (
                    Column("data", "column {0.column} on {0.node}".format),
                    Column("known", lambda row: lamp(row.is_known, "known", "dangling")),
                    Column("needs", _needs),
                ),
                caption="Data and the entries that they need",
                line=lambda row: f"column {row.column} on {row.node} {_needs(row)}",
                empty="No data depend on an entry yet.",
            ),
            tab="Causality",
        ),
        operation.PANEL,
        driver.DRIVER,
        log_panel(SERVER_LOG),
        LAMPS,
    ),
    evidence=("rows",),
    picture="nodes",
    table="rows",
    badges="badges",
)
