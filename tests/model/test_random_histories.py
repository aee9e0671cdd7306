"""Any sequence of button presses against the plainest history one could write."""

from __future__ import annotations

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from kit.model.registry import build
from kit.model.timeline import Timeline
from tests.examples import examples
from tests.model.toys import LiftModel, LiftParameters

PRESSES = ("do", "forward", "back", "goto", "fork", "macro")
presses = st.lists(st.tuples(st.sampled_from(PRESSES), st.integers(0, 40)), max_size=60)


class Plain:
    """A history as its description says it, without a thought for speed."""

    def __init__(self, model: Any) -> None:
        self.model = model
        self.parent: list[int] = [-1]
        self.action: list[Any] = [None]
        self.state = [model.start()]
        self.at = self.tip = 0

    def path(self, tip: int) -> list[int]:
        """From the start to ``tip``."""
        return [*(self.path(self.parent[tip]) if self.parent[tip] >= 0 else []), tip]

    def children(self, moment: int) -> list[int]:
        """What was done at a moment, in order."""
        return [child for child, parent in enumerate(self.parent) if parent == moment]

    def goto(self, moment: int) -> None:
        """Look at a moment; off the branch, its newest end becomes the tip."""
        if moment not in self.path(self.tip):
            self.tip = moment
            while self.children(self.tip):
                self.tip = self.children(self.tip)[-1]
        self.at = moment

    def do(self, action: Any) -> None:
        """Act, or walk along the branch that did the same here."""
        for child in self.children(self.at):
            if self.action[child] == action:
                return self.goto(child)
        self.parent.append(self.at)
        self.action.append(action)
        self.state.append(self.model.act(self.state[self.at], action))
        self.at = self.tip = len(self.parent) - 1
        return None

    def forward(self) -> None:
        """Along the branch, or what is suggested."""
        path = self.path(self.tip)
        here = path.index(self.at)
        if here + 1 < len(path):
            self.at = path[here + 1]
        elif (action := self.model.suggest(self.state[self.at])) is not None:
            self.do(action)

    def branches(self) -> list[int]:
        """Every end, by the first moment of its own; a bare fork last."""
        ends = [moment for moment in range(len(self.parent)) if not self.children(moment)]

        def begun(moment: int) -> int:
            while moment and self.children(self.parent[moment])[0] == moment:
                moment = self.parent[moment]
            return moment

        return sorted(ends, key=begun) + ([self.tip] if self.tip not in ends else [])


def press(timeline: Timeline, plain: Plain, button: str, number: int) -> None:
    """Press one button on both."""
    enabled = list(timeline.model.actions(timeline.state))
    match button:
        case "do" if enabled:
            timeline.do(enabled[number % len(enabled)])
            plain.do(enabled[number % len(enabled)])
        case "forward":
            timeline.forward()
            plain.forward()
        case "back":
            timeline.back()
            plain.at = max(0, plain.parent[plain.at])
        case "goto":
            timeline.goto(number % len(timeline.moments))
            plain.goto(number % len(plain.parent))
        case "fork":
            timeline.fork()
            plain.tip = plain.at
        case "macro" if enabled:
            actions = [enabled[number % len(enabled)]]
            timeline.run(actions)
            plain.do(actions[0])


def compare(timeline: Timeline, plain: Plain) -> None:
    """Both are at the same place of the same tree."""
    assert (timeline.at, timeline.tip) == (plain.at, plain.tip)
    assert [moment.parent for moment in timeline.moments] == plain.parent
    assert [moment.state for moment in timeline.moments] == plain.state
    assert timeline.children == [plain.children(m) for m in range(len(plain.parent))]
    assert timeline.path() == plain.path(plain.tip)
    assert timeline.branches() == plain.branches()
    assert all(timeline.path(tip) == plain.path(tip) for tip in timeline.branches())


@given(presses)
@examples(150)
def test_a_lift_driven_at_random(presses: list[tuple[str, int]]) -> None:
    """After every press on a small model, place, tree, paths and branches are as described."""
    model = LiftModel(LiftParameters(3))
    timeline, plain = Timeline(model), Plain(model)
    for button, number in presses:
        press(timeline, plain, button, number)
        compare(timeline, plain)


@given(presses)
@examples(20)
def test_a_cluster_driven_at_random(presses: list[tuple[str, int]]) -> None:
    """The same on a cluster with crashes and cancellations."""
    model = build("tcm", {"crashes": 1, "cancels": 1, "window": 2})
    timeline, plain = Timeline(model), Plain(model)
    for button, number in presses:
        press(timeline, plain, button, number)
    compare(timeline, plain)


@given(presses)
@examples(60)
def test_a_history_comes_back_from_its_trace(presses: list[tuple[str, int]]) -> None:
    """Saved and loaded again, any history has the same tree, place, words and folds, and goes on
    in the same way.
    """
    model = LiftModel(LiftParameters(3))
    timeline, plain = Timeline(model), Plain(model)
    for button, number in presses:
        press(timeline, plain, button, number)
    again = Timeline.load(timeline.save(), model)
    assert again.moments == timeline.moments
    assert again.save() == timeline.save()
    compare(again, plain)
    assert again.forward() == timeline.forward()
