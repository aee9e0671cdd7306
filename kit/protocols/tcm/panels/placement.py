"""The placement table: a row per range, who is read from beside who is written to.

What the step changed is marked and comes first.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from itertools import chain
from operator import attrgetter

from msgspec import Struct

from kit.console.server import aligned
from kit.errors import counted
from kit.protocols.tcm.facts import large as large_facts
from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.facts.moment import RangeRow, about, memo, missed
from kit.ring.replication import NetworkTopologyStrategy
from kit.views.declared import Choice, Drawn, Table, unsaid
from kit.views.fragment import Frag, Kid, h
from kit.views.palette import hues
from kit.views.panel import Panel, Scene
from kit.views.parts import Mark, chip, heads, moved, scroll, signed, soft, unlisted
from kit.views.promises import scene_verdicts
from kit.views.question import MOST, Question


def guilty_parts(scene: Scene) -> frozenset[str]:
    """The keys of all nodes and ranges that the witnesses of this moment name."""
    if not (witnesses := tuple(v.witness or "" for v in scene_verdicts(scene) if not v.ok)):
        return frozenset()

    def work() -> frozenset[str]:
        return frozenset().union(*(about(scene.model, scene.state, words) for words in witnesses))

    return memo(scene.model, ("guilty", scene.state.tcm.events, witnesses), work)


def missed_words(scene: Scene) -> str:
    """Say which majorities miss each other; empty where all of them meet."""
    if (apart := scene.of(missed)) is None:
        return ""
    _, (read_at, reads), (written_at, writes) = apart
    return (
        f"A read at epoch {read_at} from {', '.join(reads)} and a write at epoch {written_at} to "
        f"{', '.join(writes)} have no node in common."
    )


MOST_LISTED, LISTED_OF_MORE = 4096, 1024
"""Ranges that a list to search has in full; of more, so many: every page has to hold them."""
CHUNK = 32
MOST_NODES, MOST_ENDS = 200, 24
"""Nodes whose ranges are all counted in a table; of more, so many at either end."""


def search(scene: Scene, keyspace: str, count: int) -> Frag:
    """Draw a box that finds ranges by token, bound or node, among all that are listed."""
    shown = count if count <= MOST_LISTED else LISTED_OF_MORE
    box = h("input", type="search", data_filter=True, autocomplete="off")
    chunks = [
        _chunk(scene, keyspace, first, min(first + CHUNK, shown))
        for first in range(0, shown, CHUNK)
    ]
    return h(
        "div",
        h("label", "find a token, range or node ", box),
        scroll("ranges found", chunks, searched=True),
        soft(f"{count - shown} more ranges are not listed here." if count > shown else ""),
        k=f"search:{keyspace}",
        data_kept=True,
        data_sift=True,
    )


def _chunk(scene: Scene, keyspace: str, first: int, last: int) -> Frag:
    model, state = scene.model, scene.state

    def draw() -> Frag:
        rows = large_facts.listed(model, state, keyspace, first, last)
        items = [h("li", _plain(row)) for row in rows]
        return h("ul", items, k=f"chunk:{keyspace}:{rows[0].right}", data_kept=True)

    return memo(
        model, ("chunk", keyspace, large_facts.look(model, state, keyspace, first, last)), draw
    )


def _plain(row: RangeRow) -> str:
    reads, writes = (f"{{{', '.join(names)}}}" for names in (row.reads, row.writes))
    return f"{row.label} {reads if reads == writes else f'reads {reads} writes {writes}'}"


def summary(scene: Scene, keyspace: str) -> Frag:
    """Draw how many ranges each node reads and writes, as a table that opens."""
    shown = rows = large_facts.served(scene.model, scene.state, keyspace)
    if len(rows) > MOST_NODES:  # those that serve most, and fewest
        order = sorted(rows, key=lambda row: (-row[1] - row[2], row[0]))
        shown = (*order[:MOST_ENDS], *order[-MOST_ENDS:])
    table = Table(
        lambda scene: shown,
        lambda each: f"serves:{keyspace}:{each[0]}",
        ("node", "reads", "writes"),
        caption="Ranges that each node serves",
        marked=False,
    )
    return h(
        "details",
        h("summary", f"ranges by node ({len(rows)} nodes)"),
        table.draw(scene),
        unlisted(len(rows) - len(shown), "node", "in between are not listed."),
        k=f"summary:{keyspace}",
        data_kept=True,
        class_="rest",
    )


FIRST = "Bold with +: added in the step. Grey with −: removed. Hatched: written only."
MOST_CHANGED = 48
MOST_SHOWN = 12
"""Rows that are shown when nothing in them changed; of longer tables these are folded away."""
MOST_ROWS = 200
"""Rows a table shows; beyond, changed ranges, a search box and a summary by node."""


class GroupChange(Struct, frozen=True):
    """A group of replicas in its order after a step: who came, who went."""

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

    def within(self, names: Collection[str]) -> GroupChange:
        """The part of it that some nodes make up."""
        parts = (self.added, self.removed, self.order)
        return GroupChange(*(tuple(name for name in part if name in names) for part in parts))


def change(now: Sequence[str], *before: Sequence[str]) -> GroupChange:
    """Compare a group with what it was, or with those of all ranges that became this one."""
    former = dict.fromkeys(chain(*before))
    return GroupChange(
        tuple(name for name in now if not all(name in was for was in before)),
        tuple(name for name in former if name not in now),
        tuple(now),
    )


class Lines(Struct, frozen=True):
    """A row with the changes of its two groups since the step before."""

    row: RangeRow
    reads: GroupChange
    writes: GroupChange

    @property
    def changed(self) -> bool:
        """Whether either group changed."""
        return self.reads.any or self.writes.any

    @property
    def moving(self) -> bool:
        """Whether it is on its way: read from others than it is written to."""
        return set(self.row.reads) != set(self.row.writes)

    def words(self, joint: str) -> str:
        """Write the range and its groups with their signs."""
        return f"{self.row.label} reads {self.reads.text()}{joint}writes {self.writes.text()}"


def lines(scene: Scene, keyspace: str) -> list[Lines]:
    """Return the rows, each beside the same former one, or those that held its tokens."""
    now = facts.rows(scene.model, scene.state, keyspace)
    then = now if scene.before is None else facts.rows(scene.model, scene.before, keyspace)
    same = {(row.left, row.right): row for row in then}

    def held(row: RangeRow) -> Iterator[RangeRow]:
        if (exact := same.get((row.left, row.right))) and exact.reads and exact.writes:
            yield exact
        else:
            yield from (r for r in then if r.left < row.right and row.left < r.right)

    return [_line(row, tuple(held(row))) for row in now]


def _line(row: RangeRow, former: Sequence[RangeRow]) -> Lines:
    # An empty group means that only the other table has this row: nobody came, nobody left.
    reads, writes = ([*filter(None, map(side, former))] for side in (READS, WRITES))
    return Lines(
        row,
        change(row.reads, *reads if row.reads else ()),
        change(row.writes, *writes if row.writes else ()),
    )


READS, WRITES = attrgetter("reads"), attrgetter("writes")


def large(scene: Scene, keyspace: str) -> int | None:
    """How many rows there are, where they are too many to read; None where each is drawn."""
    count = large_facts.length(scene.model, scene.state, keyspace)
    if count is None or count <= MOST_ROWS:
        return None
    if scene.before is not None and large_facts.length(scene.model, scene.before, keyspace) is None:
        return None
    return count


def changed_of_many(scene: Scene, keyspace: str) -> tuple[large_facts.ChangedRanges, list[Lines]]:
    """The changes of the step in a large table."""
    changed = large_facts.changes(scene.model, scene.state, scene.before, keyspace, MOST_CHANGED)
    return changed, [_line(now, before) for now, before in changed.rows]


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
    return h("div", KEYSPACES.draw(scene) if len(names) > 1 else _keyspace(scene, names[0]))


def _keyspace(scene: Scene, name: str) -> list[Kid]:
    replicated = soft(f"{name}: {facts.replication(scene.model, name)}")
    if large(scene, name) is not None:
        return [replicated, *_large_keyspace(scene, name)]
    rows = lines(scene, name)
    named = guilty_parts(scene)
    within = [line for line in rows if facts.inside(scene.model, line.row)]
    shown, rest = told_apart(within, named)
    elsewhere, far = told_apart([line for line in rows if line not in within], named, room=0)
    folded = rest + far
    return [
        replicated,
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
        soft(_difference(scene, rows), f"diff:{name}"),
    ]


def told_apart(
    rows: Sequence[Lines], named: Collection[str], room: int = MOST_SHOWN
) -> tuple[Sequence[Lines], list[Lines]]:
    """The rows to show, and those to fold away where there is no room: what nothing happens to."""
    if len(rows) <= room:
        return rows, []
    urgent = [line for line in rows if line.changed or line.row.key in named]
    under_way = [line for line in rows if line.moving or line in urgent]
    if len(under_way) <= room:
        urgent = under_way
    return urgent, [line for line in rows if line not in urgent]


def _parts(
    scene: Scene, name: str, rows: Sequence[Lines], named: Collection[str], note: str
) -> list[Frag]:
    return [
        _table(
            scene, f"{name}:{dc}" if dc else name, f"{note} in {dc}" if dc else note, part, named
        )
        for dc, part in by_datacenter(scene, name, rows)
    ]


def by_datacenter(
    scene: Scene, keyspace: str, rows: Sequence[Lines]
) -> list[tuple[str, Sequence[Lines]]]:
    """The rows once for each datacenter with its own factor; once, unnamed, where only one has."""
    cluster = scene.model.tcm.cluster
    kept = next(each.replication for each in cluster.keyspaces if each.name == keyspace)
    factors = kept.factors if isinstance(kept, NetworkTopologyStrategy) else ()
    there = {
        dc: {node.name for node in cluster.ring.nodes if node.dc == dc}
        for dc, factor in factors
        if factor
    }
    if len(there) < 2:
        return [("", rows)]
    return [
        (dc, [Lines(x.row, x.reads.within(names), x.writes.within(names)) for x in rows])
        for dc, names in there.items()
    ]


def _difference(scene: Scene, rows: Iterable[Lines]) -> str:
    if scene.before is None:
        return FIRST
    read, write = (sum(getattr(line, side).any for line in rows) for side in ("reads", "writes"))
    return _moved(read, write)


def _moved(read: int, write: int) -> str:
    if not read and not write:
        return "Token by token: no replicas changed in this step."
    return f"Token by token: reads changed in {counted(read, 'range')}, writes in {write}."


def _table(
    scene: Scene, keyspace: str, note: str, rows: Sequence[Lines], named: Collection[str]
) -> Frag:
    colours = hues(scene.model.names)
    seen: set[int] = set()
    body = []
    for line in rows:
        right = line.row.right
        key = f"{keyspace}:{right}" + (f":{line.row.left}" if right in seen else "")
        body.append(_row(key, line, colours, guilty=line.row.key in named))
        seen.add(right)
    return h(
        "table",
        h("caption", f"Placements{note}") if note else None,
        heads("range", "read from", "written to"),
        h("tbody", body),
        class_="placement",
        aria_label=f"Placements{note}",
    )


def _row(key: str, line: Lines, colours: Mapping[str, str], *, guilty: bool) -> Frag:
    row = line.row
    cells = [
        h(
            "td",
            chips(f"{side}:{key}:", group, row.reads, colours)
            or h("span", "nobody", class_="soft"),
            class_=" ".join(filter(None, (side, moved(group.any)))),
        )
        for side, group in (("reads", line.reads), ("writes", line.writes))
    ]
    return h(
        "tr",
        h("th", row.label, lock_sign(row.locked_by), scope="row"),
        cells,
        k=f"row:{key}",
        class_=" ".join(filter(None, ["moved" * line.changed, "guilty" * guilty])) or None,
        data_of=line.row.key,
    )


def lock_sign(holder: str | None) -> Frag | None:
    """Draw a small lock that names its holder."""
    if holder is None:
        return None
    return h(
        "svg",
        h("path", d="M3 6h8v6H3z", class_="full"),
        h("path", d="M4.5 6V4.5a2.5 2.5 0 0 1 5 0V6", class_="rim"),
        viewBox="0 0 14 14",
        class_="lock-sign",
        role="img",
        aria_label=f"locked by {holder}",
    )


def chips(
    prefix: str, group: GroupChange, reads: Sequence[str], colours: Mapping[str, str]
) -> list[Frag]:
    """Draw a chip per replica: a plus for one that came, a struck minus for one that went."""
    drawn = []
    for name in group.order:
        marks: list[Mark] = ["added"] if name in group.added else []
        marks += ["pending"] if name not in reads else []
        drawn.append(chip(name, *marks, key=f"{prefix}{name}", hue=colours.get(name, "")))
    return drawn + [chip(name, "removed", key=f"{prefix}{name}") for name in group.removed]


def _large_keyspace(scene: Scene, name: str) -> list[Kid]:
    model, events, count = scene.model, scene.state.tcm.events, large(scene, name) or 0
    changed, shown = changed_of_many(scene, name)
    left_out = changed.either - len(shown)
    more = f" The first {len(shown)} are shown; search for the others." if left_out else ""
    words = f"{counted(count, 'range')}, {changed.either} changed in this step.{more}"
    return [
        h("p", words, k=f"large:{name}"),
        scroll("changed ranges", _table(scene, name, "", shown, ())) if shown else None,
        memo(model, ("search", events, name), lambda: search(scene, name, count)),
        memo(model, ("summary", events, name), lambda: summary(scene, name)),
        soft(
            FIRST if scene.before is None else _moved(changed.reads, changed.writes), f"diff:{name}"
        ),
    ]


def placements_text(scene: Scene) -> str:
    """Write both tables of every keyspace, a line per range; ``+`` and ``−`` mark the step."""
    parts = []
    for name in facts.keyspaces(scene.model):
        count = large(scene, name)
        shown = lines(scene, name) if count is None else changed_of_many(scene, name)[1]
        parts.append(f"{name}: {facts.replication(scene.model, name)}")
        for dc, part in by_datacenter(scene, name, shown):
            table = [("range", "reads", "writes", "")]
            for line in part:
                held = f"locked: {line.row.locked_by}" if line.row.locked_by else ""
                table.append((line.row.label, line.reads.text(), line.writes.text(), held))
            parts += [f"  in {dc}"] * bool(dc) + [f"  {line}" for line in aligned(table, "  ")]
        if count is not None:
            either = changed_of_many(scene, name)[0].either
            rest = f" and {either - len(shown)} that did" if either > len(shown) else ""
            same = counted(count - either, "range")
            parts.append(f"  Not listed: {same} that did not change{rest}.")
        elif scene.before is not None:
            parts.append(f"  {_difference(scene, shown)}")
    return "\n".join(parts)


KEYSPACES = Choice(
    *("keyspace", "keyspace", lambda scene: facts.keyspaces(scene.model)),
    lambda scene, name: [Drawn(lambda scene: _keyspace(scene, name))],
    unsaid,
)
PLACEMENTS = Panel("placements", "Placements", draw_placements, placements_text, still=True)


def question(scene: Scene) -> Question | None:
    """Ask, for every committed epoch, whose replicas change; the tables give the answer."""
    if scene.action is None or scene.milestone is None:
        return None
    name = facts.keyspaces(scene.model)[0]
    if large(scene, name):
        return None
    rows = [line for line in lines(scene, name) if facts.inside(scene.model, line.row)]
    offered = [(line, side) for side in ("reads", "writes") for line in rows]
    right = [(line, side) for line, side in offered if getattr(line, side).any]
    if len(right) > MOST or not rows:
        return None
    if len(offered) > MOST:
        others = [pair for pair in offered if pair not in right]
        kept = [*right, *others[: MOST - len(right)]]
        offered = [pair for pair in offered if pair in kept]
    become = (
        f"{side} of {line.row.label} now go to {getattr(line, side).text()}" for line, side in right
    )
    changed = "; ".join(become) or "no replicas change"
    return Question(
        f"Before you look: {scene.milestone}, {scene.model.label(scene.before, scene.action)}. "
        "Which ranges change replicas?",
        tuple(f"{side} of {line.row.label}" for line, side in offered),
        tuple(f"{side} of {line.row.label}" for line, side in right),
        f"In {scene.milestone}, {changed}.",
        things=tuple(line.row.key for line, _ in offered),
    )
