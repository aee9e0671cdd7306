"""The gate before the next step: who must know something first, drawn over the picture.

Those who know it already stand at the gate, the others on the way to it; it opens when enough
have come. There is one gate for each group that is counted (a range's replicas); the first that is
closed is seen, any other one while its range is pointed at.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from msgspec import Struct

from kit.edge.words import say
from kit.views.fragment import Frag, h
from kit.views.labels import brief, tags
from kit.views.panel import Scene

MOST_GATES = 4
MOST_NODES = 6
"""Nodes that stand at a gate one by one; of more, both sides are counted."""
LONGEST = 2
"""Letters that a disc has room for."""
_STEP, _RADIUS, _MIDDLE = 20, 8, 13
_LEAF = 11  # how high a half of the gate is


class Gate(Struct, frozen=True):
    """``needed`` of all who are concerned must know something before the next step.

    ``thing`` is the key of what it is about, which is lit with it (a range), ``what`` its name.
    ``knows`` says what is to be known: ``applied epoch 2``. Who knows it is ``there``.
    """

    thing: str
    what: str
    knows: str
    there: tuple[str, ...]
    missing: tuple[str, ...]
    needed: int

    @property
    def is_open(self) -> bool:
        """Whether enough of them know it."""
        return len(self.there) >= self.needed

    @property
    def sentence(self) -> str:
        """The gate in words."""
        come, all_ = len(self.there), len(self.there) + len(self.missing)
        values = {"what": self.what, "n": come, "all": all_, "needed": self.needed}
        values["knows"] = self.knows
        if self.is_open:
            return say(
                "the gate of {what} is open: {n} of {all} have {knows}, {needed} needed", **values
            )
        return say(
            "the gate of {what} is closed: {n} of {all} have {knows}, {needed} needed", **values
        )


def awaited_gates(scene: Scene) -> Iterator[Gate]:
    """The gates that refusals tell of: whatever the model, where it counts nodes."""
    for refusal in filter(None, (refusal for _, refusal in scene.options())):
        for group in refusal.awaited:
            lacking = tuple(name for name in group.nodes if name in refusal.missing)
            there = tuple(name for name in group.nodes if name not in refusal.missing)
            if len(there) == group.done:  # else it is not said who is missing here
                yield Gate(group.what, group.what, say("done it"), there, lacking, group.needed)


def draw_gates(gates: Sequence[Gate]) -> Frag | None:
    """Draw the gates, closed ones first; nothing where nobody waits."""
    unlike: dict[str, Gate] = {}
    for gate in gates:
        unlike.setdefault(gate.thing, gate)
    shown = sorted(unlike.values(), key=lambda gate: gate.is_open)[:MOST_GATES]
    if not shown:
        return None
    return h("div", [_gate(gate) for gate in shown], k="gates", class_="kp-gates")


def _gate(gate: Gate) -> Frag:
    key = f"gate:{gate.thing}"
    post = _STEP * (min(len(gate.there) + len(gate.missing), MOST_NODES) + 1)
    return h(
        "div",
        h("small", brief(gate.what), title=gate.what),
        h(
            "svg",
            h("title", gate.sentence),
            h("path", d=f"M2 {_MIDDLE}H{post + 22}m-6 -4l6 4l-6 4", class_="wire"),
            _nodes(gate, key, post),
            h("path", d=f"M{post} {_MIDDLE}v{-_LEAF}", class_="leaf up"),
            h("path", d=f"M{post} {_MIDDLE}v{_LEAF}", class_="leaf down"),
            viewBox=f"0 0 {post + 26} {2 * _MIDDLE}",
            width=post + 26,
            height=2 * _MIDDLE,
            role="img",
        ),
        h(
            "b",
            say("open")
            if gate.is_open
            else say("{n} of {all}", n=len(gate.there), all=gate.needed),
        ),
        k=key,
        class_="gate open" if gate.is_open else "gate",
        data_of=gate.thing,
    )


def _nodes(gate: Gate, key: str, post: int) -> list[Frag]:
    """Who is still on the way, from the left, and who stands at the gate, up to it.

    Where there are too many, or names are long, the two sides are counted.
    """
    waiting, come = gate.missing, gate.there
    words = tags((*waiting, *come))
    if len(words) > MOST_NODES or any(len(word) > LONGEST for word in words.values()):
        words = {"waiting": str(len(waiting)), "come": str(len(come))}
        waiting, come = ("waiting",)[: len(waiting)], ("come",)[: len(come)]
    last = post - _RADIUS - 6
    places = [(name, "waiting", _RADIUS + 2 + _STEP * i) for i, name in enumerate(waiting)]
    places += [(name, "come", last - _STEP * i) for i, name in enumerate(reversed(come))]
    return [
        h(
            "g",
            h("circle", r=_RADIUS, class_="box"),
            h("text", words[name], dy=4, text_anchor="middle", class_="on"),
            k=f"{key}:{name}",
            class_=kind,
            transform=f"translate({x} {_MIDDLE})",
        )
        for name, kind, x in places
    ]
