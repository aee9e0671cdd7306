"""The read and write placement tables, side by side, with what the step changed marked."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from msgspec import Struct

from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.facts.datacenters import datacenters, members
from kit.protocols.tcm.facts.large import ChangedRanges, changes, length
from kit.protocols.tcm.facts.memo import memo
from kit.protocols.tcm.facts.moment import RangeRow
from kit.protocols.tcm.panels.large import search, summary
from kit.views.fragment import Frag, h
from kit.views.panel import Panel, Scene
from kit.views.parts import Mark, chip, counted, heads, moved, scroll, signed

MOST_CHANGED = 100
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
    def changed(self) -> bool:
        """Whether either group changed."""
        return self.reads.any or self.writes.any


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


def _changed(scene: Scene, keyspace: str) -> tuple[ChangedRanges, list[Lines]]:
    """What the step changed in a large table."""
    changed = changes(scene.model, scene.state, scene.before, keyspace, MOST_CHANGED)
    return changed, [_line(change.now, change.before) for change in changed.rows]


def changed_lines(scene: Scene, keyspace: str) -> tuple[list[Lines], int]:
    """The first rows that the step changed, and how many it changed in all."""
    if large(scene, keyspace) is not None:
        changed, rows = _changed(scene, keyspace)
        return rows, changed.either
    rows = [line for line in lines(scene, keyspace) if line.changed]
    return rows, len(rows)


def draw_placements(scene: Scene) -> Frag:
    """Draw both tables of every keyspace; a drop-down chooses among several."""
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
    inside = [line for line in rows if focus is None or _inside(line.row, focus.left, focus.right)]
    outside = [line for line in rows if line not in inside] if focus else []
    body = [
        _tables(f"{name}:{dc}" if dc else name, part, f" in {dc}" if dc else "")
        for dc, part in by_datacenter(scene, name, inside)
    ]
    rest = None
    if outside:
        rest = h(
            "details",
            h("summary", f"the rest of the ring: {counted(len(outside), 'range')}"),
            _tables(name, outside, " (rest of the ring)"),
            k=f"rest:{name}",
            class_="rest",
        )
    return h(
        "div",
        h("p", f"{name}: {facts.replication(scene.model, name)}", class_="soft"),
        body,
        rest,
        h("p", _difference(scene, rows), k=f"diff:{name}", class_="soft"),
        k=f"keyspace:{name}",
        class_="keyspace",
        data_choice=json.dumps(["keyspace", name]) if several else None,
        hidden=hidden,
    )


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


def _inside(row: RangeRow, left: int, right: int) -> bool:
    return left <= row.left and row.right <= right


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


def _tables(keyspace: str, rows: Sequence[Lines], note: str) -> Frag:
    return h(
        "div",
        _table(keyspace, "reads", f"Read placements{note}", rows),
        _table(keyspace, "writes", f"Write placements{note}", rows),
        class_="beside",
    )


def _table(keyspace: str, side: str, title: str, rows: Sequence[Lines]) -> Frag:
    seen: set[int] = set()
    body = []
    for line in rows:
        again = line.row.right in seen
        seen.add(line.row.right)
        body.append(_row(keyspace, side, line, again=again))
    return h(
        "table",
        h("caption", title),
        heads("range", "replicas"),
        h("tbody", body),
        class_=f"placement {side}",
    )


def _row(keyspace: str, side: str, line: Lines, *, again: bool) -> Frag:
    row = line.row
    key = f"{side}:{keyspace}:{row.right}" + (f":{row.left}" if again else "")
    group: GroupChange = getattr(line, side)
    return h(
        "tr",
        h("th", row.label, lock_sign(row.locked_by), scope="row"),
        h("td", chips(f"{key}:", group, row.reads) or h("span", "nobody", class_="soft")),
        k=key,
        class_=moved(group.any),
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
    """Draw a chip a replica: a plus for one that came, a struck minus for one that went."""
    drawn = []
    for name in group.order:
        marks: list[Mark] = ["added"] if name in group.added else []
        marks += ["pending"] if name not in reads else []
        drawn.append(chip(name, *marks, key=f"{prefix}{name}"))
    return drawn + [chip(name, "removed", key=f"{prefix}{name}") for name in group.removed]


def _large_keyspace(scene: Scene, name: str, count: int, *, hidden: bool, several: bool) -> Frag:
    """What stands for a table too long to read: changes, a search box, a summary by node."""
    model, state = scene.model, scene.state
    changed, shown = _changed(scene, name)
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
        scroll("changed ranges", _tables(name, shown, ": changed")) if shown else None,
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
    """Write both tables of every keyspace, a line a range; ``+`` and ``−`` mark the step."""
    parts = []
    for name in facts.keyspaces(scene.model):
        count = large(scene, name)
        shown = lines(scene, name) if count is None else _changed(scene, name)[1]
        parts.append(f"{name}: {facts.replication(scene.model, name)}")
        for dc, part in by_datacenter(scene, name, shown):
            parts += [f"  in {dc}"] * bool(dc) + _table_lines(part)
        if count is not None:
            changed = _changed(scene, name)[0]
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
