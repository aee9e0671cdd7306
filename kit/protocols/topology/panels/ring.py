"""The ring of tokens: who reads and writes each range in the transition state of now."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

from kit.protocols.topology.facts.ring import RingArc, RingNode, TokenRing, ring
from kit.views.circle import (
    CENTRE,
    DISC,
    HEIGHT,
    INSIDE,
    OUTSIDE,
    RADIUS,
    WIDTH,
    Letter,
    draw_band,
    draw_letter,
    point,
)
from kit.views.fragment import Frag, h
from kit.views.panel import Panel, Scene

LEGEND = "inside: read; outside: only written; dashed: comes or goes"
STEP = 16
SIDE = 304
"""Of the square that has room for the ring and two letters outside of it."""
DOWN = "✗"
MOST_KEPT = 4096
"""Arcs and discs that are drawn once: of a large ring nearly all are those of the step before."""


def draw_ring(scene: Scene) -> Frag:
    """Draw an arc per range with its letters, a disc per owner, the selectors in the middle."""
    now = ring(scene.model, scene.state)
    before = now if scene.before is None else ring(scene.model, scene.before)
    kept, names = frozenset(before.arcs), _names(now)
    return h(
        "div",
        h(
            "svg",
            [_arc(now.places, arc, _sentence(names, arc), arc not in kept) for arc in now.arcs],
            _selectors(now),
            [_node(now.places, node, _takes_over(now, node)) for node in now.nodes],
            viewBox=f"{(WIDTH - SIDE) / 2} {(HEIGHT - SIDE) / 2} {SIDE} {SIDE}",
            role="img",
            aria_label=f"ring of tokens: {'; '.join(_lines(scene))}",
            class_="whole small",
        ),
        h("p", h("small", f"{LEGEND}; {_known(now)}")),
    )


@lru_cache(MOST_KEPT)
def _arc(places: int, arc: RingArc, sentence: str, is_new: bool) -> Frag:
    left = arc.left if arc.left < arc.right else arc.left - places
    ends = left / places, arc.right / places
    middle = sum(ends) / 2
    return h(
        "g",
        h("title", sentence),
        draw_band(*ends),
        [draw_letter(f"token:{arc.right}", letter) for letter in _letters(arc, middle)],
        k=f"token-arc:{arc.right}",
        class_="arc moved" if is_new else "arc",
    )


def _letters(arc: RingArc, middle: float) -> Iterator[Letter]:
    """Who reads, from the arc inwards; who only writes, outwards."""
    for i, name in enumerate(arc.reads):
        yield Letter(name, name, *point(middle, INSIDE - STEP * i), "")
    pending = [name for name in arc.writes if name not in arc.reads]
    for i, name in enumerate(pending):
        yield Letter(name, name, *point(middle, OUTSIDE + STEP * i), "pending")


def _takes_over(now: TokenRing, node: RingNode) -> bool:
    """Whether a node comes to the token of another one."""
    return node.comes and any(other.place == node.place for other in now.nodes if other != node)


@lru_cache(MOST_KEPT)
def _node(places: int, node: RingNode, takes_over: bool) -> Frag:
    """A disc at the node's token; one that takes another's place stands within the ring."""
    x, y = point(node.place / places, RADIUS - takes_over * 2 * (DISC + 2))
    return h(
        "g",
        h("title", _node_words(node)),
        h("circle", r=DISC, class_="box dashed" if node.comes or node.goes else "box"),
        h("text", f"{DOWN * node.down}{node.name}", dy=5, text_anchor="middle", class_="on"),
        k=f"token:{node.name}",
        transform=f"translate({x:.1f} {y:.1f})",
        data_of=node.name,
    )


def _node_words(node: RingNode) -> str:
    words = (" comes" * node.comes, " goes" * node.goes, " is down" * node.down)
    return f"{node.name}{','.join(filter(None, words))}"


def _known(now: TokenRing) -> str:
    """Who has learned of this ring; tokens of a node that is down come from group 0, too."""
    down = ", ".join(node.name for node in now.nodes if node.down)
    away = f"; down, and known by its token: {down}" if down else ""
    return f"known to {', '.join(now.known) or 'nobody'}{away}"


def _selectors(now: TokenRing) -> Frag:
    x, y = CENTRE
    words = (f"reads: {now.reads} ring", f"writes: {_rings(now)}")
    return h(
        "g",
        [
            h("text", line, x=x, y=y - 4 + 18 * i, text_anchor="middle")
            for i, line in enumerate(words)
        ],
        k="selectors",
    )


def _rings(now: TokenRing) -> str:
    return "both rings" if now.writes == "both" else f"{now.writes} ring"


def _names(now: TokenRing) -> dict[int, str]:
    """Whose token is at each place; of two that share one, the first."""
    return {node.place: node.name for node in reversed(now.nodes)}


def _sentence(names: Mapping[int, str], arc: RingArc) -> str:
    label = f"({names[arc.left]}, {names[arc.right]}]"
    return f"{label} is read from {', '.join(arc.reads)}, written to {', '.join(arc.writes)}"


def _lines(scene: Scene) -> list[str]:
    now = ring(scene.model, scene.state)
    names = _names(now)
    arcs = [_sentence(names, arc) for arc in now.arcs]
    return [f"reads use the {now.reads} ring, writes {_rings(now)}", _known(now), *arcs]


def ring_text(scene: Scene) -> str:
    """Write the selectors, and a line for each range."""
    return "\n".join(f"  {line}" for line in _lines(scene))


RING = Panel("token-ring", "Ring of tokens", draw_ring, ring_text, tab="Ring")
