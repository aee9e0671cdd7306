"""The ring of tokens: whose each range is, who has applied which epoch, what is locked.

Letters say who, colour says what the step changed: inside an arc who is read from, outside who is
only written to. A node's small number is the epoch that it has applied. Of many ranges those that
rest side by side are one arc; of very many what changed is marked where it lies.
"""

import json
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby

from msgspec import Struct

from kit.errors import counted, first_of
from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.facts.large import DENSITY, spread
from kit.protocols.tcm.panels import placement
from kit.protocols.tcm.panels import spots as discs
from kit.protocols.tcm.panels.operation import gates
from kit.protocols.tcm.panels.tables import resting
from kit.protocols.tcm.tcm import LOG
from kit.protocols.tcm.tcm import RING as RING_KEY
from kit.protocols.tcm.tcm import spot as spot_key
from kit.ring.tokens import TokenSpace
from kit.views import circle
from kit.views.circle import CENTRE, HEIGHT, INSIDE, RADIUS, WIDTH, Letter, arc_path, point, share
from kit.views.fragment import Frag, h
from kit.views.gate import gates_of
from kit.views.labels import LINE as HIGH
from kit.views.labels import Box, fitting, measured, shortened, tags, wide
from kit.views.panel import Panel, Scene
from kit.views.parts import fresh, soft
from kit.views.trails import Standing, travelled
from kit.views.wires import Body, path, tip


def locked(scene: Scene, keyspace: str | None = None) -> list[facts.LockRow]:
    """Return the ranges that operations hold, of a keyspace or of all, each once."""
    held = (lock for operation in scene.of(facts.operations) for lock in operation.locks)
    rows = {(lock.left, lock.right): lock for lock in held if keyspace in (None, lock.keyspace)}
    return [rows[bounds] for bounds in sorted(rows)]


def covered_parts(scene: Scene, keyspace: str | None = None) -> list[tuple[float, float]]:
    """The parts of the line that operations hold, of a keyspace or of all, as fine as one sees."""

    def work() -> list[tuple[float, float]]:
        space = facts.space(scene.model)
        bins: set[int] = set()
        for lock in locked(scene, keyspace):
            first, last = (int(share(space, end) * DENSITY) for end in (lock.left, lock.right))
            bins.update(range(first, min(last, DENSITY - 1) + 1))
        begins, ends = (sorted(at for at in bins if at + by not in bins) for by in (-1, 1))
        runs = zip(begins, ends, strict=True)
        return [(left / DENSITY, min((right + 1) / DENSITY, 0.9999)) for left, right in runs]

    key = ("covered", scene.state.tcm.events, scene.state.tcm.forgotten, keyspace)
    return facts.memo(scene.model, key, work)


MOST_WHOLE = 96
"""Ranges that are all drawn singly; of more only those that changed, or that a promise names."""
MOST_SINGLE = 64
LEAST_ARC, LEAST_LOCK = 14, 44
PADLOCK = "M-4 -1h8v6h-8zM-2.5 -1v-2a2.5 2.5 0 0 1 5 0v2"


ASIDE = ((0, True), (0, False), (HIGH, True), (HIGH, False))
"""Where the letters of an arc stand, from where there is room first: so much deeper inside, and
whether an eye and a pencil are beside them.
"""


class Arc(Struct, frozen=True):
    """A range, ``held`` by an operation or none, or several that rest side by side, lineless."""

    left: float
    right: float
    key: str
    held: str | None
    line: placement.Lines | None
    count: int = 1

    @property
    def middle(self) -> float:
        """The share of the turn in its middle."""
        return (self.left + self.right) / 2


def arcs(scene: Scene, keyspace: str, named: frozenset[str]) -> tuple[Arc, ...]:
    """The arcs of a keyspace, clockwise; ``named`` are keys of parts that a promise names."""
    if placement.large(scene, keyspace) is not None:
        rows = placement.changed_of_many(scene, keyspace)[1][:MOST_SINGLE]
    else:
        rows = placement.lines(scene, keyspace)
    alone = rows
    if len(rows) > MOST_WHOLE:
        alone = [line for line in rows if line.changed or line.row.key in named][:MOST_SINGLE]
    single = {id(line) for line in alone}

    def run(line: placement.Lines) -> tuple[int, str | None]:
        return id(line) if id(line) in single else 0, line.row.locked_by

    return tuple(_arc(facts.space(scene.model), list(some)) for _, some in groupby(rows, run))


def _arc(space: TokenSpace, run: Sequence[placement.Lines]) -> Arc:
    left, right, held = run[0].row.left, run[-1].row.right, run[0].row.locked_by
    ends = share(space, left), share(space, right)
    line = run[0] if len(run) == 1 else None
    return Arc(*ends, facts.range_key(left, right), held, line, len(run))


def letters(
    arc: Arc, short: Mapping[str, str], deeper: float = 0, with_marks: bool = True
) -> tuple[Letter, ...]:
    """The read replicas, inside, and those that are only written to, outside; none on a narrow arc.
    Where other things stand, so much ``deeper`` inside, or without an eye and a pencil.
    """
    line = arc.line
    if line is None:
        return ()
    inner = [(name, "added" if name in line.reads.added else "") for name in line.reads.order]
    inner += [(name, "removed") for name in line.reads.removed if name not in line.writes.order]
    outer = [
        (name, "pending added" if name in line.writes.added else "pending")
        for name in line.writes.order
        if name not in line.reads.order
    ]
    outer += [(name, "removed") for name in line.writes.removed if name not in line.reads.removed]
    signed = {
        (name, kind): f"{'−' * (kind == 'removed')}{short.get(name, name)}"
        for name, kind in inner + outer
    }
    widest = max([HIGH, *map(wide, signed.values())])
    step = HIGH + (widest - HIGH) * abs(point(arc.middle, 1)[0] - CENTRE[0])
    deepest = INSIDE - step * (len(inner) - 1)
    if circle.length(arc.right - arc.left, deepest) < LEAST_ARC:
        return ()
    if outer and with_marks:  # who is read from is not who is written to: an eye, a pencil
        inner.append((circle.EYE, circle.EYE))
        outer.append((circle.PENCIL, circle.PENCIL))
    stacks = ((inner, INSIDE - deeper, -step), (outer, circle.OUTSIDE, step))
    return tuple(
        Letter(name, signed.get((name, kind), name), *point(arc.middle, radius + i * by), kind)
        for names, radius, by in stacks
        for i, (name, kind) in enumerate(names)
    )


def draw_arc(keyspace: str, arc: Arc, drawn: Sequence[Letter], *, guilty: bool) -> Frag:
    """Draw an arc as a button; one that a broken promise names stands out."""
    held = f"; locked by {arc.held}" if arc.held else ""
    if arc.line is None:
        words = f"{counted(arc.count, 'range')} that did not change{held}"
    else:
        reads, writes = arc.line.reads.text() or "nobody", arc.line.writes.text() or "nobody"
        words = f"{arc.line.row.label}: read from {reads}; written to {writes}{held}"
    changed = arc.line is not None and arc.line.changed
    kinds = ["arc", "moved" * changed, "held" * bool(arc.held), "guilty" * guilty]
    return h(
        "g",
        h("title", words),
        h("path", d=arc_path(arc.left, arc.right, RADIUS), class_="reach"),
        circle.draw_band(arc.left, arc.right),
        _lock(arc) if arc.held else None,
        [circle.draw_letter(f"{keyspace}:{arc.key}", letter) for letter in drawn],
        k=f"arc:{keyspace}:{arc.key}",
        class_=" ".join(filter(None, kinds)),
        **discs.choosable(arc.key, words),
    )


def _lock(arc: Arc) -> Frag:
    x, y = point(arc.middle, RADIUS)
    line = h("path", d=arc_path(arc.left, arc.right, circle.LOCKS_AT), class_="lock")
    if circle.length(arc.right - arc.left, RADIUS) < LEAST_LOCK:
        return h("g", line)
    return h(
        "g",
        line,
        h("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r=8, class_="plate"),
        h("path", d=PADLOCK, transform=f"translate({x:.1f} {y:.1f})", class_="lock-glyph"),
    )


def shown_row(scene: Scene) -> facts.RangeRow | None:
    """The range that the arrows begin at: the first in the focus that is locked, or the first."""
    rows = [row for row in scene.of(facts.rows) if row.reads and facts.touches(scene.model, row)]
    return next((row for row in rows if row.locked_by), rows[0] if rows else None)


def arrows(scene: Scene, there: Standing) -> list[Frag]:
    """Draw an arrow from the letters of the range to each replica's next token clockwise."""
    row = shown_row(scene)
    if row is None:
        return []
    space = facts.space(scene.model)
    middle = (share(space, row.left) + share(space, row.right)) / 2
    start = Body(complex(*point(middle, INSIDE - HIGH * len(row.reads))), 1)
    tokens = {node.name: node.tokens for node in scene.of(facts.nodes)}
    drawn = []
    for name in row.reads:
        ahead = [token for token in tokens[name] if token >= row.right] or tokens[name]
        if ahead and (end := there.ends.get(spot_key(name, min(ahead)))):
            way = there.ground.way(start, end)
            line = f"{path(way)}{tip(way, 1)}"
            drawn.append(h("path", d=line, k=f"arrow:{name}", class_="message"))
    return drawn


def arrows_words(scene: Scene) -> str:
    """Say what the arrows show: the range and the nodes that it is read from, in order."""
    row = shown_row(scene)
    if row is None:
        return "No range is replicated."
    return f"Arrows: {row.label} is read from {', '.join(row.reads)}."


START_AT = (CENTRE[0], CENTRE[1] - RADIUS - 18)


def draw_ring(scene: Scene) -> Frag:
    """Draw arcs between tokens clockwise from the top, with nodes on them and the log inside."""
    count = scene.of(facts.token_count)
    many = count > discs.MOST_LABELS
    missed, edge = placement.draw_missed(scene), discs.EDGE * scene.half
    return h(
        "div",
        h(
            "svg",
            _inside(scene, many=many),
            viewBox=f"{edge} {2 * edge} {WIDTH - 2 * edge} {HEIGHT - 2 * edge}",
            role="group",
            aria_label=f"token ring: {ring_words(scene)}",
            class_="ring-drawing",
        ),
        discs.draw_names(scene) if many else None,
        missed or (None if scene.half else soft(_legend(scene, count), "ring-legend")),
        soft(arrows_words(scene) if has_arrows(scene) else "", "ring-arrows-words"),
    )


def has_arrows(scene: Scene) -> bool:
    """Arrows show the rule of replication, while nothing else is to be seen."""
    return (
        scene.of(facts.token_count) <= discs.MOST_LABELS and resting(scene) and scene.before is None
    )


def _start_words(scene: Scene) -> str:
    space = facts.space(scene.model)
    return f"{space.label(space.low)} | {space.label(space.high)}"


def _start(scene: Scene, *, named: bool) -> Frag:
    words, (x, y) = _start_words(scene), START_AT
    label = h("text", words, x=x, y=y + 4, text_anchor="middle", class_="soft")
    return h(
        "g",
        h("title", f"where the line begins and ends: {words}"),
        h("path", d=f"M{x} {y + 9}v18", class_="tick"),
        label if named else None,
        k="ring-start",
    )


def _inside(scene: Scene, *, many: bool) -> Frag:
    guilty = placement.guilty_parts(scene)
    names = tags(node.name for node in scene.of(facts.nodes))
    drawn = {
        name: [
            (arc, [letters(arc, names, *aside) for aside in ASIDE])
            for arc in arcs(scene, name, guilty)
        ]
        for name in facts.keyspaces(scene.model)
    }
    spots = discs.concerned(scene) if many else discs.places(scene)
    spots = discs.seated(discs.labelled(scene, spots))
    start = Box(*START_AT, wide(_start_words(scene)))

    def wished(name: str) -> Iterator[tuple[str, tuple[Box, ...]]]:
        yield "log", (_log_box(scene),)
        yield from ((f"told:{words}", (box,)) for words, _, box in notices)
        yield from discs.disc_boxes(spots)
        for arc, tries in sorted(drawn[name], key=lambda x: not (x[0].line and x[0].line.changed)):
            for at, marks in enumerate(tries):
                yield f"{at}:{arc.key}", tuple(mark.box for mark in marks)
        yield "start", (start,)
        yield from discs.token_boxes(spots)

    notices = _notices(scene)
    shown = {name: fitting(wished(name)) for name in drawn}
    everywhere = frozenset.intersection(*shown.values())
    key = "ring-concerned" if many else "ring-nodes"
    parts = (
        h("circle", cx=CENTRE[0], cy=CENTRE[1], r=RADIUS, k=RING_KEY, class_="track"),
        _start(scene, named="start" in everywhere),
        [_keyspace(scene, name, drawn[name], shown[name], guilty) for name in drawn],
        _log(scene),
        discs.draw_ticks(scene, scene.of(facts.token_count)) if many else None,
        discs.draw_spots(scene, spots, everywhere, guilty, key),
        discs.draw_outside(scene),
        _draw_notices(scene, notices),
    )
    there = Standing(h("g", *parts), WIDTH, HEIGHT)
    return h(
        "g",
        parts,
        h("g", arrows(scene, there), k="ring-arrows") if has_arrows(scene) else None,
        travelled(scene, there, _epoch(scene)),  # it stands in the middle
        k="ring-parts",
        data_rove=True,
    )


def _keyspace(
    scene: Scene,
    name: str,
    drawn: Sequence[tuple[Arc, Sequence[Sequence[Letter]]]],
    shown: frozenset[str],
    guilty: frozenset[str],
) -> Frag:
    names, changed, covered = facts.keyspaces(scene.model), "", ""
    if placement.large(scene, name) is not None:  # single arcs would be too many
        bins = placement.changed_of_many(scene, name)[0].bins
        changed = "".join(
            circle.band(at / DENSITY, (at + 1) / DENSITY, circle.THICK) for at in bins
        )
        covered = "".join(arc_path(*part, circle.LOCKS_AT) for part in covered_parts(scene, name))

    def seen(arc: Arc, tries: Sequence[Sequence[Letter]]) -> Sequence[Letter]:
        return next((each for at, each in enumerate(tries) if f"{at}:{arc.key}" in shown), ())

    return h(
        "g",
        [draw_arc(name, arc, seen(arc, tries), guilty=arc.key in guilty) for arc, tries in drawn],
        h("path", d=changed, k=f"changed:{name}", class_="marks") if changed else None,
        h("path", d=covered, k=f"lock:{name}", class_="lock") if covered else None,
        k=f"arcs:{name}",
        data_choice=json.dumps(["keyspace", name]) if len(names) > 1 else None,
        hidden=name != names[0],
    )


MOST_NOTICES, WIDEST_NOTICE = 3, 140.0


def _notices(scene: Scene) -> list[tuple[str, str, Box]]:
    right, low = (side - discs.EDGE * scene.half for side in (WIDTH - 2, HEIGHT - 8))
    notices, known = [], [*facts.notices(scene.model, scene.state)]
    if len(known) > MOST_NOTICES:
        rest = known[MOST_NOTICES - 1 :]
        known[MOST_NOTICES - 1 :] = [(f"and {len(rest)} more", " ".join(full for _, full in rest))]
    for i, (short, full) in enumerate(known):
        words = shortened(short, WIDEST_NOTICE)
        across = measured(words)
        notices.append((words, full, Box(right - across / 2, low - HIGH * i, across)))
    return notices


def _draw_notices(scene: Scene, notices: Sequence[tuple[str, str, Box]]) -> list[Frag]:
    former = scene.former()
    known = {full for _, full, _ in _notices(former)} if former else set()
    return [
        h(
            "g",
            h("title", full),
            fresh(box.x, box.y, box.width + 4) if former and full not in known else None,
            h("text", words, x=box.x, y=box.y + 4, text_anchor="middle"),
            k=f"told:{full}",
        )
        for words, full, box in notices
    ]


def _log_box(scene: Scene) -> Box:
    return Box(*CENTRE, wide(_epoch(scene)) + 8, 24)


def _epoch(scene: Scene) -> str:
    return f"epoch {scene.of(facts.epoch)}"


def _log(scene: Scene) -> Frag:
    box = _log_box(scene)
    x, y = -box.width / 2, -box.height / 2
    return h(
        "g",
        h("title", "the newest epoch in the log"),
        h("rect", x=x, y=y, width=box.width, height=box.height, rx=4, class_="box"),
        h("text", _epoch(scene), text_anchor="middle", dy=4, class_="on"),
        k=LOG,
        data_of=LOG,
        transform=f"translate({CENTRE[0]:.0f} {CENTRE[1]:.0f})",
    )


def ring_words(scene: Scene) -> str:
    """Name every node with its tokens, shortly."""
    rows = scene.of(facts.nodes)
    if scene.of(facts.token_count) > discs.MOST_LABELS:
        return f"{len(rows)} nodes"
    space = facts.space(scene.model)
    return ", ".join(
        f"{row.name} at {' and '.join(space.label(token) for token in row.tokens)}"
        for row in rows
        if row.tokens
    )


def _legend(scene: Scene, count: int) -> str:
    by_rack, dcs = discs.shapes(scene), discs.datacenter_letters(scene)
    parts = (
        [f"{count} tokens; each tick stands for all tokens near it"] if count > discs.FINEST else []
    )
    if count <= discs.MOST_LABELS:
        if len(by_rack) > 1:
            parts += [f"{shape}: rack {rack}" for rack, shape in by_rack.items()]
        if dcs:
            parts.append(", ".join(f"{letter}: {dc}" for dc, letter in dcs.items()))
        if not (parts and has_arrows(scene)):  # the arrows' own words take a line, too
            signs = (", eye", ", pencil") if locked(scene) else ("", "")
            parts.append(f"inside{signs[0]}: read; outside{signs[1]}: only written")
            parts += ["lock, dashes: locked; disk: streamed"] * bool(locked(scene))
            parts.append("small number: applied epoch")
    else:
        parts.append("ink outline: changed in this step; dashed: joining")
    return "; ".join(parts) + "."


def ring_text(scene: Scene) -> str:
    """Write a line per node: where it is, what it owns, what it is doing, which epoch it knows."""
    space = facts.space(scene.model)
    epochs = {row.node: row.epoch for row in scene.of(facts.applied)}
    texts = []
    for node in scene.of(facts.nodes):
        tokens = first_of([space.label(token) for token in node.tokens], 8) or "none"
        known = f", epoch {epochs[node.name]}" if node.name in epochs else ""
        state = f"{node.status}{'' if node.up else ', down'}{known}"
        texts.append(f"  {node.name} ({node.dc} {node.rack}) {state}: {tokens}")
    arrows = arrows_words(scene) if has_arrows(scene) else ""
    texts += [f"  {full}" for _, full in facts.notices(scene.model, scene.state)]
    texts += [f"  {words}" for words in (placement.missed_words(scene), arrows) if words]
    return "\n".join(texts)


def _marks_of_ring(scene: Scene) -> str:
    if not gates_of(scene, gates):
        return ""
    return _legend(scene, scene.of(facts.token_count)).removesuffix(".").replace("; ", " · ")


RING = Panel("ring", "Ring", draw_ring, ring_text, still=True, legend=_marks_of_ring)
MOST_ARCS = 128
ROOM = 0.032
"""How much of the line a letter takes."""


def draw_line(scene: Scene) -> Frag:
    """Draw the same tokens on a line from the first token to the last."""
    space, held = facts.space(scene.model), locked(scene)
    parts = {f"{x.left}:{x.right}": [(share(space, x.left), share(space, x.right))] for x in held}
    if len(held) > MOST_ARCS:
        parts = {"all": covered_parts(scene)}

    def bar(ends: tuple[float, float]) -> str:
        return f"M{10 + 280 * ends[0]:.1f} 30H{10 + 280 * ends[1]:.1f}"

    return h(
        "svg",
        h("path", d="M10 30H290", class_="track"),
        h("path", d="M10 22v16M290 22v16", class_="tick"),
        h("text", space.label(space.low), x=10, y=56, text_anchor="start", class_="soft"),
        h("text", space.label(space.high), x=290, y=56, text_anchor="end", class_="soft"),
        [
            h("path", d="".join(map(bar, ends)), k=f"bar:{name}", class_="lock")
            for name, ends in parts.items()
        ],
        _marks(scene),
        viewBox="0 0 300 64",
        role="img",
        aria_label=f"token line: {ring_words(scene)}",
        class_="line-drawing",
    )


def _marks(scene: Scene) -> list[Frag]:
    if scene.of(facts.token_count) > discs.MOST_LABELS:
        groups = spread(scene.model, scene.state, DENSITY)
        bins = sorted({at for _, taken in groups for at in taken})
        ticks = "".join(f"M{10 + 280 * (at + 0.5) / DENSITY:.1f} 24v12" for at in bins)
        return [h("path", d=ticks, k="at:all", class_="tick")]
    short = tags(node.name for node in scene.of(facts.nodes))
    marks, reach = [], -1.0
    for spot in _in_order(scene):  # a name that would cover the one before it is left out
        name = None
        if spot.share >= reach:
            name = h("text", short[spot.node.name], y=-10, text_anchor="middle")
            reach = spot.share + ROOM * len(short[spot.node.name])
        key = f"at:{spot.node.name}:{spot.token}"
        at = f"translate({10 + 280 * spot.share:.1f} 30)"
        marks.append(h("g", h("path", d="M0 -6V6", class_="tick"), name, k=key, transform=at))
    return marks


def _in_order(scene: Scene) -> list[discs.TokenPlace]:
    return sorted(discs.places(scene), key=lambda spot: spot.token)


def line_text(scene: Scene) -> str:
    """Write the tokens in order along the line, or how many there are."""
    space = facts.space(scene.model)
    if (many := scene.of(facts.token_count)) > discs.FINEST:
        within = [f"{many} tokens"]
    else:
        within = [f"{spot.node.name}@{space.label(spot.token)}" for spot in _in_order(scene)]
    return f"  {space.label(space.low)} … {' '.join(within)} … {space.label(space.high)}"


LINE = Panel("line", "The ring as a line", draw_line, line_text, optional=True, tab="Line")
