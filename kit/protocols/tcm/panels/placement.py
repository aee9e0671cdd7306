"""The placement table: a row per range, who is read from beside who is written to.

What the step changed is marked and comes first.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Sequence

from msgspec import Struct

from kit.errors import counted
from kit.protocols.tcm.cluster import TcmCluster
from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.facts.large import ChangedRanges, changes, length
from kit.protocols.tcm.facts.memo import memo
from kit.protocols.tcm.facts.moment import RangeRow
from kit.protocols.tcm.facts.parts import range_key
from kit.protocols.tcm.panels.guilty import guilty_parts
from kit.protocols.tcm.panels.large import search, summary
from kit.ring.ranges import Range
from kit.ring.replication import NetworkTopologyStrategy
from kit.views.fragment import Frag, h
from kit.views.panel import Panel, Scene
from kit.views.parts import Mark, chip, heads, moved, scroll, signed


def datacenters(m: TcmCluster, keyspace: str) -> tuple[str, ...]:
    """The datacenters whose replicas the keyspace counts one by one; none where it does not."""
    space = next(space for space in m.tcm.cluster.keyspaces if space.name == keyspace)
    if not isinstance(space.replication, NetworkTopologyStrategy):
        return ()
    return tuple(dc for dc, factor in space.replication.factors if factor)


def members(m: TcmCluster, dc: str) -> frozenset[str]:
    """The names of a datacenter's nodes, those that are still to join too."""
    return frozenset(node.name for node in m.tcm.cluster.ring.nodes if node.dc == dc)


MOST_CHANGED = 48
MOST_SHOWN = 12
"""Rows that are shown when nothing in them changed; of longer tables these are folded away."""
MOST_ROWS = 200
"""Rows a table shows; beyond, changed ranges, a search box and a summary by node."""


class GroupChange(Struct, frozen=True):
    """A group of replicas as it stands after a step: who stayed, who came, who went."""

    stayed: tuple[str, ...]
    added: tuple[str, ...]
    removed: tuple[str, ...]
    order: tuple[str, ...]

    @property
    def any(self) -> bool:
        """Whether the step changed the group."""
        return bool(self.added or self.removed)

    def text(self) -> str:
        """Write the group with signs: ``A, B, +X, -C``."""
        return signed(self.order, self.added, self.removed)


def change(now: Sequence[str], before: Sequence[str] | None) -> GroupChange:
    """Compare a group with what it was; None means there is nothing to compare with."""
    was = tuple(now) if before is None else tuple(before)
    return GroupChange(
        tuple(name for name in now if name in was),
        tuple(name for name in now if name not in was),
        tuple(name for name in was if name not in now),
        tuple(now),
    )


def within(group: GroupChange, names: frozenset[str]) -> GroupChange:
    """The part of a group that some nodes make up."""
    parts = (group.stayed, group.added, group.removed, group.order)
    return GroupChange(*(tuple(name for name in part if name in names) for part in parts))


class Lines(Struct, frozen=True):
    """A row with the changes of its two groups since the step before."""

    row: RangeRow
    reads: GroupChange
    writes: GroupChange

    @property
    def key(self) -> str:
        """The key of its range."""
        return range_key(self.row.left, self.row.right)

    @property
    def changed(self) -> bool:
        """Whether either group changed."""
        return self.reads.any or self.writes.any

    @property
    def moving(self) -> bool:
        """Whether it is on its way: read from others than it is written to."""
        return set(self.row.reads) != set(self.row.writes)


def lines(scene: Scene, keyspace: str) -> list[Lines]:
    """Return the rows of a keyspace, each beside the former row that covered its last token."""
    now = facts.rows(scene.model, scene.state, keyspace)
    if scene.before is None:
        return [Lines(row, change(row.reads, None), change(row.writes, None)) for row in now]
    then = facts.rows(scene.model, scene.before, keyspace)
    return [_line(row, cover) for row, cover in zip(now, _covers(now, then), strict=True)]


def _line(row: RangeRow, cover: RangeRow | None) -> Lines:
    if cover is None:
        return Lines(row, change(row.reads, None), change(row.writes, None))
    # An empty group means that only the other table has this row: nobody has left it.
    return Lines(
        row,
        change(row.reads, cover.reads if row.reads else None),
        change(row.writes, cover.writes if row.writes else None),
    )


def _covers(now: Sequence[RangeRow], then: Sequence[RangeRow]) -> list[RangeRow | None]:
    """For each row the same former one, or else the first former one that holds its last token."""
    same = {(row.left, row.right): row for row in then}
    covers: list[RangeRow | None] = []
    i = 0
    for row in now:
        while i < len(then) and then[i].right < row.right:
            i += 1
        held = then[i] if i < len(then) and then[i].left < row.right else None
        covers.append(same.get((row.left, row.right), held))
    return covers


def large(scene: Scene, keyspace: str) -> int | None:
    """How many rows there are, where they are too many to read; None where each is drawn."""
    count = length(scene.model, scene.state, keyspace)
    if count is None or count <= MOST_ROWS:
        return None
    if scene.before is not None and length(scene.model, scene.before, keyspace) is None:
        return None
    return count


def changed_of_many(scene: Scene, keyspace: str) -> tuple[ChangedRanges, list[Lines]]:
    """What the step changed in a large table."""
    changed = changes(scene.model, scene.state, scene.before, keyspace, MOST_CHANGED)
    return changed, [_line(change.now, change.before) for change in changed.rows]


def changed_lines(scene: Scene, keyspace: str) -> tuple[list[Lines], int]:
    """The first rows that the step changed, and how many it changed in all."""
    if large(scene, keyspace) is not None:
        changed, rows = changed_of_many(scene, keyspace)
        return rows, changed.either
    rows = [line for line in lines(scene, keyspace) if line.changed]
    return rows, len(rows)


def draw_placements(scene: Scene) -> Frag:
    """Draw the table of every keyspace; a drop-down chooses among several."""
    names = facts.keyspaces(scene.model)
    chooser = None
    if len(names) > 1:
        chooser = h(
            "label",
            "keyspace ",
            h("select", [h("option", name, value=name) for name in names], data_choose="keyspace"),
            class_="choose",
        )
    return h(
        "div",
        chooser,
        [_keyspace(scene, name, hidden=name != names[0], several=len(names) > 1) for name in names],
    )


def _keyspace(scene: Scene, name: str, *, hidden: bool, several: bool) -> Frag:
    count = large(scene, name)
    if count is not None:
        return _large_keyspace(scene, name, count, hidden=hidden, several=several)
    rows = lines(scene, name)
    focus = facts.focus(scene.model)
    named = guilty_parts(scene)
    inside = [line for line in rows if focus is None or _inside(line.row, focus)]
    outside = [line for line in rows if line not in inside]
    shown, rest = told_apart(inside, named)
    elsewhere, far = told_apart(outside, named, room=0)
    folded = rest + far
    return h(
        "div",
        h("p", f"{name}: {facts.replication(scene.model, name)}", class_="soft"),
        _parts(scene, name, shown, named, "") if shown or not folded else None,
        _parts(scene, name, elsewhere, named, " changed elsewhere") if elsewhere else None,
        h(
            "details",
            h("summary", f"{counted(len(folded), 'range')} unchanged"),
            _parts(scene, name, folded, named, " unchanged"),
            k=f"rest:{name}",
            class_="rest",
        )
        if folded
        else None,
        h("p", _difference(scene, rows), k=f"diff:{name}", class_="soft"),
        k=f"keyspace:{name}",
        class_="keyspace",
        data_choice=json.dumps(["keyspace", name]) if several else None,
        hidden=hidden,
    )


def told_apart(
    rows: Sequence[Lines], named: Collection[str], room: int = MOST_SHOWN
) -> tuple[Sequence[Lines], list[Lines]]:
    """The rows to show and those to fold away.

    Where there is room for all they stay in their order. Else only what the step changed or a
    broken promise names is shown; and what is on its way, where there is room for that.
    """
    if len(rows) <= room:
        return rows, []
    urgent = [line for line in rows if line.changed or line.key in named]
    under_way = [line for line in rows if line.moving or line in urgent]
    if len(under_way) <= room:
        urgent = under_way
    return urgent, [line for line in rows if line not in urgent]


def _parts(
    scene: Scene, name: str, rows: Sequence[Lines], named: Collection[str], note: str
) -> list[Frag]:
    """A table, or one for each datacenter with its own factor."""
    return [
        _table(f"{name}:{dc}" if dc else name, f"{note} in {dc}" if dc else note, part, named)
        for dc, part in by_datacenter(scene, name, rows)
    ]


def by_datacenter(
    scene: Scene, keyspace: str, rows: Sequence[Lines]
) -> list[tuple[str, Sequence[Lines]]]:
    """The rows once for each datacenter with its own factor; once, unnamed, where only one has."""
    names = datacenters(scene.model, keyspace)
    if len(names) < 2:
        return [("", rows)]
    return [(dc, _part(rows, members(scene.model, dc))) for dc in names]


def _part(rows: Sequence[Lines], names: frozenset[str]) -> list[Lines]:
    return [Lines(line.row, within(line.reads, names), within(line.writes, names)) for line in rows]


def _inside(row: RangeRow, focus: Range) -> bool:
    return focus.left <= row.left and row.right <= focus.right


def _difference(scene: Scene, rows: Iterable[Lines]) -> str:
    """Say for each token whether its replicas changed in this step."""
    if scene.before is None:
        return "Bold with +: added in the step. Dashed with −: removed. Double edge: written only."
    read, write = (sum(getattr(line, side).any for line in rows) for side in ("reads", "writes"))
    return _moved(read, write)


def _moved(read: int, write: int) -> str:
    if not read and not write:
        return "Token by token: no replicas changed in this step."
    return f"Token by token: reads changed in {counted(read, 'range')}, writes in {write}."


def _table(keyspace: str, note: str, rows: Sequence[Lines], named: Collection[str]) -> Frag:
    """Draw a row per range: who is read from beside who is written to."""
    seen: set[int] = set()
    body = []
    for line in rows:
        again = line.row.right in seen
        seen.add(line.row.right)
        body.append(_row(keyspace, line, again=again, guilty=line.key in named))
    return h(
        "table",
        h("caption", f"Placements{note}") if note else None,
        heads("range", "read from", "written to"),
        h("tbody", body),
        class_="placement",
        aria_label=f"Placements{note}",
    )


def _row(keyspace: str, line: Lines, *, again: bool, guilty: bool) -> Frag:
    row = line.row
    key = f"{keyspace}:{row.right}" + (f":{row.left}" if again else "")
    kinds = ["moved" * line.changed, "guilty" * guilty]
    return h(
        "tr",
        h("th", row.label, lock_sign(row.locked_by), scope="row"),
        [
            h(
                "td",
                chips(f"{side}:{key}:", group, row.reads) or h("span", "nobody", class_="soft"),
                class_=" ".join(filter(None, (side, moved(group.any)))),
            )
            for side, group in (("reads", line.reads), ("writes", line.writes))
        ],
        k=f"row:{key}",
        class_=" ".join(filter(None, kinds)) or None,
        data_of=line.key,
    )


def lock_sign(holder: str | None) -> Frag | None:
    """Draw a small lock that names its holder."""
    if holder is None:
        return None
    return h(
        "svg",
        h("path", d="M3 6h8v6H3z", class_="lock-body"),
        h("path", d="M4.5 6V4.5a2.5 2.5 0 0 1 5 0V6", class_="lock-bow"),
        viewBox="0 0 14 14",
        class_="lock-sign",
        role="img",
        aria_label=f"locked by {holder}",
    )


def chips(prefix: str, group: GroupChange, reads: Sequence[str]) -> list[Frag]:
    """Draw a chip per replica: a plus for one that came, a struck minus for one that went."""
    drawn = []
    for name in group.order:
        marks: list[Mark] = ["added"] if name in group.added else []
        marks += ["pending"] if name not in reads else []
        drawn.append(chip(name, *marks, key=f"{prefix}{name}"))
    return drawn + [chip(name, "removed", key=f"{prefix}{name}") for name in group.removed]


def _large_keyspace(scene: Scene, name: str, count: int, *, hidden: bool, several: bool) -> Frag:
    """What stands for a table too long to read: changes, a search box, a summary by node."""
    model, state = scene.model, scene.state
    changed, shown = changed_of_many(scene, name)
    left_out = changed.either - len(shown)
    more = f" {left_out} more changed; search for them." if left_out else ""
    first = scene.before is None
    return h(
        "div",
        h("p", f"{name}: {facts.replication(model, name)}", class_="soft"),
        h(
            "p",
            f"{counted(count, 'range')}; {changed.either} changed in this step and are shown."
            f"{more}",
            k=f"large:{name}",
        ),
        scroll("changed ranges", _table(name, "", shown, ())) if shown else None,
        memo(model, ("search", state.tcm.events, name), lambda: search(scene, name, count)),
        memo(model, ("summary", state.tcm.events, name), lambda: summary(scene, name)),
        h(
            "p",
            _difference(scene, ()) if first else _moved(changed.reads, changed.writes),
            k=f"diff:{name}",
            class_="soft",
        ),
        k=f"keyspace:{name}",
        class_="keyspace",
        data_choice=json.dumps(["keyspace", name]) if several else None,
        hidden=hidden,
    )


def placements_text(scene: Scene) -> str:
    """Write both tables of every keyspace, a line per range; ``+`` and ``−`` mark the step."""
    parts = []
    for name in facts.keyspaces(scene.model):
        count = large(scene, name)
        shown = lines(scene, name) if count is None else changed_of_many(scene, name)[1]
        parts.append(f"{name}: {facts.replication(scene.model, name)}")
        for dc, part in by_datacenter(scene, name, shown):
            parts += [f"  in {dc}"] * bool(dc) + _table_lines(part)
        if count is not None:
            changed = changed_of_many(scene, name)[0]
            rest = (
                f"; {changed.either - len(shown)} more did" if changed.either > len(shown) else ""
            )
            same = counted(count - changed.either, "range")
            parts.append(f"  {same} did not change and are not listed{rest}.")
        elif scene.before is not None:
            parts.append(f"  {_difference(scene, shown)}")
    return "\n".join(parts)


def _table_lines(rows: Sequence[Lines]) -> list[str]:
    table = [("range", "reads", "writes", "")]
    table += [
        (
            line.row.label,
            line.reads.text(),
            line.writes.text(),
            f"locked: {line.row.locked_by}" if line.row.locked_by else "",
        )
        for line in rows
    ]
    widths = [max(len(line[i]) for line in table) for i in range(3)]
    return [
        f"  {a:<{widths[0]}}  {b:<{widths[1]}}  {c:<{widths[2]}}  {d}".rstrip()
        for a, b, c, d in table
    ]


PLACEMENTS = Panel("placements", "Placements", draw_placements, placements_text, still=True)
