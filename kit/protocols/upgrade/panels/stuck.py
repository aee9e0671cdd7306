"""What to do when the Raft upgrade is stuck: a decision tree whose branch of now is lit."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from kit.protocols.upgrade.facts import moment as facts
from kit.protocols.upgrade.rules.advice import StuckQuestion, next_step
from kit.views.fragment import Frag, h
from kit.views.panel import Panel, Scene
from kit.views.parts import bulb

NOBODY_WAITS = "No node waits for another one."


def _tree(scene: Scene) -> tuple[StuckQuestion, ...]:
    tree: tuple[StuckQuestion, ...] = scene.once(
        "advice", lambda: facts.advice(scene.model, scene.state, scene.way())
    )
    return tree


def _first_bad(tree: Sequence[StuckQuestion]) -> int:
    return next((at for at, each in enumerate(tree) if not each.is_good), len(tree))


def draw_advice(scene: Scene) -> Frag:
    """Draw the questions in their order; the first with a bad answer says what to do."""
    if not facts.waiting(scene.model, scene.state):
        return h("p", NOBODY_WAITS, class_="soft")
    tree = _tree(scene)
    return h("ol", list(_branches(tree)), class_="advice", aria_label="advice")


def _branches(tree: Sequence[StuckQuestion]) -> Iterator[Frag]:
    stop = _first_bad(tree)
    for at, each in enumerate(tree):
        if at < stop:
            yield h("li", bulb("✓", "yes"), f" {each.asks} Yes.", k=f"advice:{at}")
        elif at == stop:
            no = bulb("!", "no")
            yield h("li", no, f" {each.asks} No: ", h("strong", each.then), k=f"advice:{at}")
        else:
            yield h("li", bulb("·", "not yet"), f" {each.asks}", k=f"advice:{at}", class_="soft")


def advice_text(scene: Scene) -> str:
    """Write the questions with their answers, then what to do."""
    if not facts.waiting(scene.model, scene.state):
        return f"  {NOBODY_WAITS}"
    tree = _tree(scene)
    stop = _first_bad(tree)
    answers = ["yes" if at < stop else "no" if at == stop else "later" for at in range(len(tree))]
    lines = [f"  {each.asks} {answer}" for each, answer in zip(tree, answers, strict=True)]
    return "\n".join([*lines, f"  Do this: {next_step(tree)}"])


ADVICE = Panel("advice", "When the upgrade is stuck", draw_advice, advice_text, tab="Advice")
