"""Predict, then reveal: questions whose answers are computed from the step itself."""

from __future__ import annotations

from msgspec import Struct

from kit.views.default import compared
from kit.views.fragment import Frag, h
from kit.views.panel import Scene

MOST = 8
"""Choices a question offers at most."""


class Question(Struct, frozen=True):
    """A question on a step that is still hidden: its choices, the right ones, and the reason.

    ``right`` is a subset of ``choices``; an empty one means "none of them", which is offered too.
    ``reasons`` say more than ``because``, each for itself.
    """

    text: str
    choices: tuple[str, ...]
    right: tuple[str, ...]
    because: str
    reasons: tuple[str, ...] = ()

    def draw(self) -> Frag:
        """Draw the question as a form that the player's module can judge."""
        offered = (*self.choices, "none of these")
        right = self.right or ("none of these",)
        return h(
            "div",
            h(
                "fieldset",
                h("legend", self.text),
                [
                    h(
                        "label",
                        h("input", type="checkbox", value=choice, data_right=choice in right),
                        f" {choice}",
                    )
                    for choice in offered
                ],
            ),
            h("button", "Answer", type="button", class_="act suggested", data_do="answer"),
            h("button", "Show without answering", type="button", class_="act", data_do="reveal"),
            k="question",
            class_="question",
            data_because=" ".join((self.because, *self.reasons)),
        )


def changed_fields(scene: Scene) -> Question | None:
    """Ask which fields of the state the step changes; None when there is too little to choose."""
    if scene.action is None or scene.milestone is None:
        return None
    leaves = dict(compared(scene.before, scene.state))
    fields = list(leaves)
    right = [path for path in fields if leaves[path]]
    if len(fields) < 2 or not right or len(right) > MOST:
        return None
    others = [path for path in fields if path not in right]
    offered = {*right, *others[: MOST - len(right)]}
    return Question(
        f"Next: {scene.model.verb(scene.action)}. Which of these change?",
        tuple(path for path in fields if path in offered),
        tuple(right),
        f"{scene.say} Changed: {', '.join(right)}.",
    )
