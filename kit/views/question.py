"""Predict, then reveal: questions whose answers are computed from the step itself."""

from __future__ import annotations

import re
from itertools import zip_longest

from msgspec import Struct

from kit.views.default import compared
from kit.views.fragment import Frag, h
from kit.views.panel import Scene

MOST = 8
"""Choices a question offers at most."""
IN_PICTURE = "Tick, or press in the picture."
_OF_NODE = re.compile(r"(?:^|\.)(?:nodes|views)\[(\d+)\]")


class Question(Struct, frozen=True):
    """A question on a step that is still hidden: its choices, the right ones, and the reason.

    ``right`` is a subset of ``choices``; an empty one means "none of them", which is offered too.
    ``things`` says of the first choices what in the picture (``data_of``) stands for each; who
    presses it there ticks the choice.
    ``reasons`` say more than ``because``, each for itself.
    """

    text: str
    choices: tuple[str, ...]
    right: tuple[str, ...]
    because: str
    reasons: tuple[str, ...] = ()
    things: tuple[str, ...] = ()

    def draw(self) -> Frag:
        """Draw the question as a form that the player's module can judge."""
        offered = (*self.choices, "none of these")
        right = self.right or ("none of these",)
        labels = []
        for choice, thing in zip_longest(offered, self.things, fillvalue=""):
            good, place = choice in right, thing or None
            box = h("input", type="checkbox", value=choice, data_right=good, data_thing=place)
            labels.append(h("label", box, f" {choice}"))
        where = h("small", IN_PICTURE) if any(self.things) else None
        return h(
            "div",
            h("fieldset", h("legend", self.text), where, labels),
            h("button", "Answer", type="button", class_="act suggested", data_do="answer"),
            h("button", "Show without answering", type="button", class_="act", data_do="reveal"),
            k="question",
            class_="question",
            data_because=" ".join((self.because, *self.reasons)),
        )


def changed_parts(scene: Scene) -> Question | None:
    """Ask which nodes the step changes, and which other fields of the state.

    None when there is too little to choose, or too much.
    """
    if scene.action is None or scene.milestone is None:
        return None
    names = tuple(getattr(scene.model, "names", ()))
    parts: dict[str, bool] = {}
    for path, changed in compared(scene.before, scene.state):
        part = _part(path, names)
        parts[part] = parts.get(part, False) or changed
    right = [part for part, changed in parts.items() if changed]
    if len(parts) < 2 or not right or len(right) > MOST:
        return None
    others = [part for part in parts if part not in right]
    kept = {*right, *others[: MOST - len(right)]}
    offered = tuple(part for part in parts if part in kept)
    return Question(
        f"Next: {scene.model.verb(scene.action)}. Which of these change?",
        offered,
        tuple(right),
        f"{scene.say} Changed: {', '.join(right)}.",
        things=tuple(part if part in names else "" for part in offered),
    )


def _part(path: str, names: tuple[str, ...]) -> str:
    """What of the model a field of the state belongs to: the node of that place, or itself."""
    node = _OF_NODE.search(path)
    return names[int(node[1])] if node and int(node[1]) < len(names) else path
