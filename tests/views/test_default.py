"""A model that nobody drew has a picture at once, and its steps can be asked about."""

from __future__ import annotations

import copy
from collections.abc import Iterator

import msgspec
import pytest
from msgspec import Struct

from kit.model.model import Model, Refusal, always
from kit.model.timeline import Timeline
from kit.protocols.twophase.twophase import Prepare, TwoPhase, TwoPhaseParameters
from kit.views.actions import MANY, action_board
from kit.views.default import ACTORS, compared, draw_table, rows_of, table_text
from kit.views.frame import frame
from kit.views.panel import Scene, scene_at
from kit.views.question import MOST, changed_parts
from kit.views.registry import DEFAULT, for_model
from tests.model.counting import counting
from tests.pairs import paired
from tests.views.frames import classed, part, scenes, walk


class Counter(Struct, frozen=True):
    """How often each was pressed, and by whom last."""

    counts: tuple[tuple[str, int], ...]
    last: str = "nobody"


class Press(Struct, frozen=True, tag="press"):
    """Somebody presses."""

    who: str


class Buttons(Model[Counter, Press]):
    """Everybody may press three times."""

    name = "buttons"
    title = "Buttons"
    State = Counter
    Action = Press

    def __init__(self, names: tuple[str, ...]) -> None:
        self.names = names
        self.parameters = Counter(())
        self.rules = (paired(Press, "press", self._people, self._tired, self._press),)
        self.properties = (always("few", "Nobody presses twice", self._few),)

    def start(self) -> Counter:
        """Nobody has pressed."""
        return Counter(tuple((name, 0) for name in self.names))

    def _people(self, s: Counter) -> Iterator[Press]:
        return (Press(name) for name in self.names)

    def _tired(self, s: Counter, a: Press) -> Refusal | None:
        return Refusal(f"{a.who} is tired", missing=(a.who,)) if dict(s.counts)[a.who] > 2 else None

    def _press(self, s: Counter, a: Press) -> Counter:
        return Counter(tuple((n, c + (n == a.who)) for n, c in s.counts), a.who)

    def _few(self, s: Counter) -> str | None:
        return next((f"{n} pressed {c} times" for n, c in s.counts if c > 1), None)

    def milestone(self, before: Counter, action: Press, after: Counter) -> str | None:
        """Every press counts."""
        return f"press by {action.who}"


def scene_after(names: tuple[str, ...], presses: int) -> Scene:
    """A scene in which the first of ``names`` has just pressed for the last time."""
    timeline = Timeline(Buttons(names))
    for _ in range(presses):
        timeline.do(Press(names[0]))
    now = timeline.now
    return Scene(
        timeline.model, now.state, timeline.before, now.action, now.say, now.milestone,
        suggested=timeline.suggest(),
    )  # fmt: skip


def test_a_model_without_views_gets_the_default_ones() -> None:
    """The state is shown as a keyed table whose changes are marked, with what was before."""
    scene = scene_after(("A", "B"), 1)
    assert for_model(scene.model) is DEFAULT
    drawn = draw_table(scene)
    assert [one.text() for one in classed(drawn, "changed")] == ["(A, 1)", "A"]
    assert "was nobody" in drawn.text()
    assert table_text(scene).splitlines() == [
        "* counts[0] = (A, 1)",
        "  counts[1] = (B, 0)",
        "* last = A",
    ]


def test_a_large_state_shows_what_changed_and_counts_the_rest() -> None:
    """Above 200 fields only the changed ones are drawn, and the others are counted."""
    names = tuple(f"n{i}" for i in range(300))
    drawn = draw_table(scene_after(names, 1))
    assert len([one for one in drawn.walk() if (one.key or "").startswith("field:")]) == 2
    assert "299 more fields did not change" in drawn.text()


def test_refused_actions_stay_and_say_why() -> None:
    """A waiting action can be focused, is marked as not usable, and carries its reason."""
    board = action_board(scene_after(("A", "B"), 3))
    buttons = {one.text(): one for one in board.walk() if one.tag == "button"}
    assert buttons["press A"].get("aria-disabled") == "true"
    assert buttons["press A"].get("data-refused") == "A is tired; missing: A."
    assert buttons["press A"].get("disabled") is None
    assert "suggested" in (buttons["press B"].get("class") or "")


def test_many_actions_of_a_kind_are_counted() -> None:
    """Above twelve of a kind it is said how many may happen; each still is a button."""
    names = tuple(f"n{i}" for i in range(MANY + 1))
    board = action_board(scene_after(names, 3))
    buttons = [each for each in board.walk() if each.tag == "button"]
    assert len(buttons) == MANY + 1
    assert [each.text() for each in buttons if each.get("data-refused")] == ["press n0"]
    assert f"{MANY} of {MANY + 1} can happen now" in board.text()
    assert "can happen now" not in action_board(scene_after(names[:MANY], 3)).text()


def test_an_action_mark_depends_on_the_action_alone() -> None:
    """A button keeps its key while it stays, whatever else there is to do."""
    few, more = action_board(scene_after(("A", "B"), 1)), action_board(scene_after(("A", "B"), 2))
    marks = [[one.key for one in board.walk() if (one.key or "").startswith("act:")]
             for board in (few, more)]  # fmt: skip
    assert marks[0] == marks[1]


def test_a_lamp_goes_red_with_its_witness() -> None:
    """The panel of properties names who broke one."""
    drawn = frame(scene_after(("A", "B"), 2), DEFAULT.panels)
    lamp = part(drawn, "lamp:few")
    assert lamp is not None
    assert "A pressed 2 times" in lamp.text()


def test_questions_are_computed_from_the_step() -> None:
    """The right answers are the parts that change, and other counts give other answers."""
    asked = changed_parts(scene_after(("A", "B"), 1))
    assert asked is not None
    assert asked.right == ("counts[0]", "last")
    again = changed_parts(scene_after(("A", "B"), 2))
    assert again is not None
    assert again.right == ("counts[0]",)
    assert len(again.choices) <= MOST
    right = [one.get("value") for one in again.draw().walk() if one.get("data-right") is not None]
    assert right == ["counts[0]"]


def test_any_struct_can_be_a_state() -> None:
    """Values of any plain type are written as text."""
    odd = msgspec.defstruct("Odd", [("a", object), ("b", object)])
    scene = Scene(Buttons(("A",)), odd(a=b"x", b=(1, (2, None))))
    assert "a = " in table_text(scene)
    assert draw_table(scene).text()


def test_a_model_may_say_how_its_state_reads() -> None:
    """Two-phase commit keeps bit masks, and shows where each manager is in words."""
    model = TwoPhase(TwoPhaseParameters(2))
    before = model.start()
    scene = Scene(model, model.apply(before, Prepare(1)), before, Prepare(1))
    assert table_text(scene).splitlines() == [
        "  transaction manager = undecided",
        "  heard to be prepared = nobody",
        "  RM0 = working",
        "* RM1 = prepared",
    ]


@pytest.mark.parametrize("name", ["tcm/two-bootstraps", "twophase/commit", "discovery/twelve"])
def test_what_changes_is_what_the_texts_of_both_states_say(name: str) -> None:
    """Compared leaf by leaf, two states differ where their tables do; so they do when made anew."""
    for scene in scenes(walk(name))[1:]:
        then, now = dict(rows_of(scene.before)), dict(rows_of(scene.state))
        said = {path: then[path] != text for path, text in now.items() if path in then}
        assert dict(compared(scene.before, scene.state)) == said
        assert not any(dict(compared(scene.state, copy.deepcopy(scene.state))).values())


def test_a_model_of_actors_stands_on_the_stage() -> None:
    """Each node is a character with what its state says first; its messages lie on their wires."""
    timeline = Timeline(counting())
    for _ in range(2):
        timeline.do(next(iter(timeline.model.actions(timeline.state))))
    drawn = ACTORS.draw(scene_at(timeline, timeline.at))
    assert {"n:A", "n:B"} <= {each.key for each in drawn.walk()}
    said = drawn.text()
    assert "total 2" in said
    assert "seen 6" in said
    assert "done 1" in ACTORS.text(scene_at(timeline, timeline.at))
