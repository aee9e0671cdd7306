"""The ring as the line that it really is: no stored range wraps around."""

from __future__ import annotations

from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.facts.large import DENSITY, spread
from kit.protocols.tcm.panels.covered import covered_parts, locked
from kit.protocols.tcm.panels.ring import ring_words, token_count
from kit.protocols.tcm.panels.spots import FINEST, MOST_LABELS, TokenPlace, places
from kit.views.circle import share
from kit.views.fragment import Frag, h
from kit.views.labels import tags
from kit.views.panel import Panel, Scene

MOST_ARCS = 128
ROOM = 0.032
"""How much of the line a letter takes."""


def draw_line(scene: Scene) -> Frag:
    """Draw the same tokens on a line from the first token to the last."""
    space = facts.space(scene.model)
    held = locked(scene)
    return h(
        "svg",
        h("path", d="M10 30H290", class_="track"),
        h("path", d="M10 22v16M290 22v16", class_="tick"),
        h("text", space.label(space.low), x=10, y=56, text_anchor="start", class_="soft"),
        h("text", space.label(space.high), x=290, y=56, text_anchor="end", class_="soft"),
        [
            h(
                "path",
                d=f"M{10 + 280 * share(space, lock.left):.1f} 30"
                f"H{10 + 280 * share(space, lock.right):.1f}",
                k=f"bar:{lock.left}:{lock.right}",
                class_="lock",
            )
            for lock in (held if len(held) <= MOST_ARCS else ())
        ],
        h(
            "path",
            d="".join(
                f"M{10 + 280 * left:.1f} 30H{10 + 280 * right:.1f}"
                for left, right in covered_parts(scene)
            ),
            k="bar:all",
            class_="lock",
        )
        if len(held) > MOST_ARCS
        else None,
        _marks(scene),
        viewBox="0 0 300 64",
        role="img",
        aria_label=f"token line: {ring_words(scene)}",
        class_="line-drawing",
    )


def _marks(scene: Scene) -> list[Frag]:
    """Mark tokens on the line: by name where there is room, else as one path."""
    if token_count(scene) > MOST_LABELS:
        groups = spread(scene.model, scene.state, DENSITY)
        bins = sorted({at for group in groups for at in group.bins})
        ticks = "".join(f"M{10 + 280 * (at + 0.5) / DENSITY:.1f} 24v12" for at in bins)
        return [h("path", d=ticks, k="at:all", class_="tick")]
    short = tags(node.name for node in facts.nodes(scene.model, scene.state))
    spots = sorted(places(scene), key=lambda spot: spot.token)
    named: set[str] = set()
    reach = -1.0
    for spot in spots:  # a name that would cover the one before it is left out
        if spot.share >= reach:
            named.add(_key(spot))
            reach = spot.share + ROOM * len(short[spot.node.name])
    return [
        h(
            "g",
            h("path", d="M0 -6V6", class_="tick"),
            h("text", short[spot.node.name], y=-10, text_anchor="middle")
            if _key(spot) in named
            else None,
            k=_key(spot),
            transform=f"translate({10 + 280 * spot.share:.1f} 30)",
        )
        for spot in spots
    ]


def _key(spot: TokenPlace) -> str:
    return f"at:{spot.node.name}:{spot.token}"


def line_text(scene: Scene) -> str:
    """Write the tokens in order along the line, or how many there are."""
    space = facts.space(scene.model)
    ends = space.label(space.low), space.label(space.high)
    if token_count(scene) > FINEST:
        return f"  {ends[0]} … {token_count(scene)} tokens … {ends[1]}"
    order = sorted(places(scene), key=lambda spot: spot.token)
    names = [f"{spot.node.name}@{space.label(spot.token)}" for spot in order]
    return f"  {ends[0]} … {' '.join(names)} … {ends[1]}"


LINE = Panel("line", "The same as a line", draw_line, line_text, optional=True, tab="Line")
