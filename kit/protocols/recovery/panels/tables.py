"""The tabs of a recovery: group membership, availability of data, gossip, causality."""

from __future__ import annotations

from collections.abc import Callable

from kit.errors import are
from kit.protocols.recovery.facts import moment as facts
from kit.protocols.recovery.facts.moment import DataRangeRow, EffectRow, GossipRow, GroupRow
from kit.views.fragment import Frag, h
from kit.views.panel import Panel, Scene
from kit.views.parts import bulb, table_part, table_row

ALONE = "No two nodes are up."


def _lamp(good: bool, yes: str, no: str) -> Frag:
    return bulb("✓", yes) if good else bulb("!", no)


def _groups(scene: Scene) -> tuple[GroupRow, ...]:
    return facts.memberships(scene.model, scene.state)


def _commits(row: GroupRow) -> str:
    given_up = ", given up" if row.is_abandoned else ""
    needed = f"{row.needed} {are(row.needed)} needed{given_up}"
    if row.voters == row.members:
        return f"{len(row.running)} of {len(row.members)} run, {needed}"
    up = sum(name in row.running for name in row.voters)
    vote = f"{', '.join(row.voters)} vote" if row.voters[1:] else f"{row.voters[0]} votes"
    return f"{vote}: {up} of {len(row.voters)} run, {needed}"


def draw_groups(scene: Scene) -> Frag:
    """Draw a row for each group 0: members, who runs in it, whether it can commit."""
    return table_part(
        "groups",
        "Members of each group 0",
        ("group", "members", "run in it", "commits", "majority"),
        (
            table_row(
                f"group:{row.name}",
                row.name,
                ", ".join(row.members) or "nobody",
                ", ".join(row.running) or "nobody",
                _lamp(row.can_commit, "can commit", "cannot commit"),
                _commits(row),
            )
            for row in _groups(scene)
        ),
    )


def groups_text(scene: Scene) -> str:
    """Write a line for each group."""
    return "\n".join(
        f"  {row.name}: {', '.join(row.members) or 'nobody'}; "
        f"{', '.join(row.running) or 'nobody'} run in it: "
        f"{'can commit' if row.can_commit else 'cannot commit'} ({_commits(row)})"
        for row in _groups(scene)
    )


def ranges_panel(rows_of: Callable[[Scene], tuple[DataRangeRow, ...]]) -> Panel:
    """Make the tab with a row for each range: its replicas, who is up, a lamp for each level."""

    def draw(scene: Scene) -> Frag:
        return table_part(
            "ranges",
            f"Data by range, RF {scene.model.parameters.rf}",
            ("range", "replicas", "up", *facts.SHOWN),
            (
                table_row(
                    f"range:{row.label}",
                    row.label,
                    ", ".join(row.replicas),
                    ", ".join(row.live) or "nobody",
                    *(
                        _lamp(level in row.levels, f"{level} available", f"{level} unavailable")
                        for level in facts.SHOWN
                    ),
                )
                for row in rows_of(scene)
            ),
        )

    def wording(scene: Scene) -> str:
        return "\n".join(
            f"  {row.label}: {', '.join(row.replicas)}; {', '.join(row.live) or 'nobody'} up; "
            f"available at {', '.join(row.levels) or 'no level'}"
            for row in rows_of(scene)
        )

    return Panel("ranges", "Availability of data", draw, wording, tab="Data")


def _gossip(scene: Scene) -> tuple[GossipRow, ...]:
    return tuple(facts.gossip(scene.model, scene.state))


def draw_gossip(scene: Scene) -> Frag:
    """Draw a row for each pair of nodes that are up: whether they take each other's gossip."""
    if not _gossip(scene):
        return h("p", ALONE, class_="soft")
    return table_part(
        "gossip",
        "Who takes whose gossip",
        ("nodes", "taken", "why"),
        (
            table_row(
                f"gossip:{row.first}:{row.second}",
                f"{row.first} ↔ {row.second}",
                _lamp(row.accepted, "accepted", "rejected"),
                row.why,
            )
            for row in _gossip(scene)
        ),
    )


def gossip_text(scene: Scene) -> str:
    """Write a line for each pair."""
    lines = [
        f"  {row.first} ↔ {row.second}: {'accepted' if row.accepted else 'rejected'}, {row.why}"
        for row in _gossip(scene)
    ]
    return "\n".join(lines) or f"  {ALONE}"


def _effects(scene: Scene) -> tuple[EffectRow, ...]:
    return tuple(facts.effects(scene.model, scene.state))


def _needs(row: EffectRow) -> str:
    if row.is_known:
        return f"← entry {row.column}, persisted on {row.node}"
    return f"? entry {row.column} is unknown to {row.group or row.node}"


def draw_causality(scene: Scene) -> Frag:
    """Draw each stored effect with an arrow from the entry that it needs, or without one."""
    rows = _effects(scene)
    if not rows:
        return h("p", "No data depend on an entry yet.", class_="soft")
    return table_part(
        "causality",
        "Data and the entries that they need",
        ("data", "known", "needs"),
        (
            table_row(
                f"effect:{row.node}:{row.column}",
                f"column {row.column} on {row.node}",
                _lamp(row.is_known, "known", "dangling"),
                _needs(row),
            )
            for row in rows
        ),
    )


def causality_text(scene: Scene) -> str:
    """Write a line for each effect."""
    lines = [f"  column {row.column} on {row.node} {_needs(row)}" for row in _effects(scene)]
    return "\n".join(lines) or "  No data depend on an entry yet."


GROUPS = Panel("groups", "Group membership", draw_groups, groups_text, tab="Groups")
RANGES = ranges_panel(lambda scene: facts.ranges(scene.model, scene.state))
GOSSIP = Panel("gossip", "Gossip", draw_gossip, gossip_text, tab="Gossip")
CAUSALITY = Panel("causality", "Causality", draw_causality, causality_text, tab="Causality")
