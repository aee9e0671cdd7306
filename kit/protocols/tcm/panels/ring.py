"""The ring of tokens: whose each range is, who has applied which epoch, what is locked.

Letters say who, colour says what the step changed: inside an arc who is read from, outside who is
only written to. A node's small number is the epoch that it has applied.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence

from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.facts.large import DENSITY, spread
from kit.protocols.tcm.panels.arcs import (
    Arc,
    arcs,
    arrows,
    arrows_words,
    covered_parts,
    dense,
    draw_arc,
    draw_covered,
    letters,
    locked,
)
from kit.protocols.tcm.panels.placement import draw_missed, guilty_parts, large, missed_words
from kit.protocols.tcm.panels.spots import (
    FINEST,
    MOST_LABELS,
    TokenPlace,
    concerned,
    datacenter_letters,
    disc_boxes,
    draw_names,
    draw_spots,
    draw_ticks,
    labelled,
    places,
    seated,
    shapes,
    token_boxes,
)
from kit.protocols.tcm.panels.tables import resting
from kit.protocols.tcm.tcm import LOG
from kit.protocols.tcm.tcm import RING as RING_KEY
from kit.views.circle import CENTRE, HEIGHT, RADIUS, WIDTH, Letter, share
from kit.views.fragment import Frag, h
from kit.views.labels import Box, fitting, tags, wide
from kit.views.panel import Panel, Scene
from kit.views.parts import soft

START_AT = (CENTRE[0], CENTRE[1] - RADIUS - 18)


def draw_ring(scene: Scene) -> Frag:
    """Draw arcs between tokens clockwise from the top, with nodes on them and the log inside."""
    count = token_count(scene)
    many = count > MOST_LABELS
    missed = draw_missed(scene)
    return h(
        "div",
        h(
            "svg",
            h("circle", cx=CENTRE[0], cy=CENTRE[1], r=RADIUS, k=RING_KEY, class_="track"),
            _inside(scene, many=many),
            viewBox=f"0 0 {WIDTH} {HEIGHT}",
            role="group",
            aria_label=f"token ring: {ring_words(scene)}",
            class_="ring-drawing",
        ),
        draw_names(scene) if many else None,
        missed or soft(_legend(scene, count), "ring-legend"),
        soft(arrows_words(scene) if has_arrows(scene) else "", "ring-arrows-words"),
    )


def has_arrows(scene: Scene) -> bool:
    """Arrows show the rule of replication, while nothing else is to be seen."""
    return token_count(scene) <= MOST_LABELS and resting(scene) and scene.before is None


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
    """Draw arcs, nodes and the log; labels only where there is room for them."""
    guilty = guilty_parts(scene)
    names = tags(node.name for node in scene.of(facts.nodes))
    drawn = {name: arcs(scene, name, guilty) for name in facts.keyspaces(scene.model)}
    marks = {(name, arc.key): letters(arc, names) for name in drawn for arc in drawn[name]}
    spots = concerned(scene) if many else places(scene)
    texts = labelled(scene, spots)
    spots = seated(spots, texts)
    start = Box(*START_AT, wide(_start_words(scene)))

    def wished(name: str) -> Iterator[tuple[str, tuple[Box, ...]]]:
        yield "log", (_log_box(scene),)
        yield from disc_boxes(spots, texts)
        for arc in sorted(drawn[name], key=lambda arc: not (arc.line and arc.line.changed)):
            yield arc.key, tuple(mark.box for mark in marks[name, arc.key])
        yield "start", (start,)
        yield from token_boxes(spots, texts)

    shown = {name: fitting(wished(name)) for name in drawn}
    everywhere = frozenset.intersection(*shown.values())
    key = "ring-concerned" if many else "ring-nodes"
    return h(
        "g",
        _start(scene, named="start" in everywhere),
        [_keyspace(scene, name, drawn[name], marks, shown[name], guilty) for name in drawn],
        h("g", arrows(scene), k="ring-arrows") if has_arrows(scene) else None,
        _log(scene),
        draw_ticks(scene, token_count(scene)) if many else None,
        draw_spots(scene, spots, texts, everywhere, guilty, key),
        k="ring-parts",
        data_rove=True,
    )


def _keyspace(
    scene: Scene,
    name: str,
    drawn: Sequence[Arc],
    marks: Mapping[tuple[str, str], Sequence[Letter]],
    shown: frozenset[str],
    guilty: frozenset[str],
) -> Frag:
    """Draw the arcs of a keyspace; where there are several, those of the chosen one are seen."""
    names = facts.keyspaces(scene.model)
    return h(
        "g",
        [
            draw_arc(name, x, marks[name, x.key] if x.key in shown else (), guilty=x.key in guilty)
            for x in drawn
        ],
        dense(scene, name),
        draw_covered(scene, name) if large(scene, name) is not None else None,
        k=f"arcs:{name}",
        data_choice=json.dumps(["keyspace", name]) if len(names) > 1 else None,
        hidden=name != names[0],
    )


def token_count(scene: Scene) -> int:
    """How many tokens there are."""
    return scene.of(facts.token_count)


def _log_box(scene: Scene) -> Box:
    return Box(*CENTRE, wide(f"epoch {scene.of(facts.epoch)}") + 8, 24)


def _log(scene: Scene) -> Frag:
    box = _log_box(scene)
    x, y = -box.width / 2, -box.height / 2
    return h(
        "g",
        h("title", "the log: its newest epoch"),
        h("rect", x=x, y=y, width=box.width, height=box.height, rx=4, class_="box"),
        h("text", f"epoch {scene.of(facts.epoch)}", text_anchor="middle", dy=4, class_="on"),
        k=LOG,
        transform=f"translate({CENTRE[0]:.0f} {CENTRE[1]:.0f})",
    )


def ring_words(scene: Scene) -> str:
    """Name every node with its tokens, shortly."""
    rows = scene.of(facts.nodes)
    if token_count(scene) > MOST_LABELS:
        return f"{len(rows)} nodes"
    space = facts.space(scene.model)
    return ", ".join(
        f"{row.name} at {' and '.join(space.label(token) for token in row.tokens)}"
        for row in rows
        if row.tokens
    )


def _legend(scene: Scene, count: int) -> str:
    by_rack, dcs = shapes(scene), datacenter_letters(scene)
    parts = [f"{count} tokens; a tick stands for all near it"] if count > FINEST else []
    if count <= MOST_LABELS:
        if len(by_rack) > 1:
            parts += [f"{shape}: rack {rack}" for rack, shape in by_rack.items()]
        if dcs:
            parts.append(", ".join(f"{letter}: {dc}" for dc, letter in dcs.items()))
        if not (parts and has_arrows(scene)):  # the arrows' own words take a line, too
            parts.append("inside: read; outside: only written; small: applied epoch")
    else:
        parts.append("yellow: changed in this step; dashed: coming or going")
    return "; ".join(parts) + "."


def ring_text(scene: Scene) -> str:
    """Write a line per node: where it is, what it owns, what it is doing, which epoch it knows."""
    space = facts.space(scene.model)
    epochs = {row.node: row.epoch for row in scene.of(facts.applied)}
    texts = []
    for node in scene.of(facts.nodes):
        tokens = ", ".join(space.label(token) for token in node.tokens[:8]) or "none"
        more = f" and {len(node.tokens) - 8} more" if len(node.tokens) > 8 else ""
        known = f", epoch {epochs[node.name]}" if node.name in epochs else ""
        state = f"{node.status}{'' if node.up else ', down'}{known}"
        texts.append(f"  {node.name} ({node.dc} {node.rack}) {state}: {tokens}{more}")
    arrows = arrows_words(scene) if has_arrows(scene) else ""
    texts += [f"  {words}" for words in (missed_words(scene), arrows) if words]
    return "\n".join(texts)


RING = Panel("ring", "Ring", draw_ring, ring_text, still=True)


MOST_ARCS = 128
ROOM = 0.032
"""How much of the line a letter takes."""


def draw_line(scene: Scene) -> Frag:
    """Draw the same tokens on a line from the first token to the last."""
    space, held = facts.space(scene.model), locked(scene)
    parts = {f"{x.left}:{x.right}": [(share(space, x.left), share(space, x.right))] for x in held}
    if len(held) > MOST_ARCS:
        parts = {"all": covered_parts(scene)}
    return h(
        "svg",
        h("path", d="M10 30H290", class_="track"),
        h("path", d="M10 22v16M290 22v16", class_="tick"),
        h("text", space.label(space.low), x=10, y=56, text_anchor="start", class_="soft"),
        h("text", space.label(space.high), x=290, y=56, text_anchor="end", class_="soft"),
        [
            h("path", d="".join(map(_bar, ends)), k=f"bar:{name}", class_="lock")
            for name, ends in parts.items()
        ],
        _marks(scene),
        viewBox="0 0 300 64",
        role="img",
        aria_label=f"token line: {ring_words(scene)}",
        class_="line-drawing",
    )


def _bar(ends: tuple[float, float]) -> str:
    return f"M{10 + 280 * ends[0]:.1f} 30H{10 + 280 * ends[1]:.1f}"


def _marks(scene: Scene) -> list[Frag]:
    if token_count(scene) > MOST_LABELS:
        groups = spread(scene.model, scene.state, DENSITY)
        bins = sorted({at for group in groups for at in group.bins})
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


def _in_order(scene: Scene) -> list[TokenPlace]:
    return sorted(places(scene), key=lambda spot: spot.token)


def line_text(scene: Scene) -> str:
    """Write the tokens in order along the line, or how many there are."""
    space = facts.space(scene.model)
    within = [f"{spot.node.name}@{space.label(spot.token)}" for spot in _in_order(scene)]
    if token_count(scene) > FINEST:
        within = [f"{token_count(scene)} tokens"]
    return f"  {space.label(space.low)} … {' '.join(within)} … {space.label(space.high)}"


LINE = Panel("line", "The same as a line", draw_line, line_text, optional=True, tab="Line")
