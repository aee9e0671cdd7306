"""A student's own error at a button: told in the page, and the history stays."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec import Struct

from kit.errors import BadInput
from kit.model.model import always
from kit.model.timeline import Timeline
from kit.search.check import check
from kit.search.fuzz import fuzz
from kit.widgets.player import Player
from tests.hostile.judging import kit_error
from tests.hostile.silent import SILENT
from tests.hostile.students import FAULTS, Count, ruled, sound


class Bare(Struct, frozen=True):
    """An action without a tag."""


class Plain(Struct, frozen=True):
    """Another one."""


class Untold(Exception):
    """An error that cannot say what it is."""

    def __str__(self) -> str:
        raise RuntimeError

    __repr__ = object.__repr__


def stepped(model: Any) -> tuple[Player, list[Any]]:
    """A Player whose step button was pressed once, and what the page was sent."""
    player = Player(model)
    sent: list[Any] = []
    player.stage.send = sent.append
    player.hear({"message": "act", "control": "step", "at": 0, "have": 0})
    return player, sent


def test_an_error_of_the_model_is_told_where_the_button_was_pressed() -> None:
    """One line with the function, the line and the error; the moment stays the one before."""

    def falls(s: Any, action: Any) -> Any:
        return s.number // 0

    model = sound()
    ruled(effect=falls)(model)
    player, sent = stepped(model)
    assert player.timeline.at == 0
    assert len(player.timeline.moments) == 1
    assert "falls, line" in str(sent)
    assert "ZeroDivisionError" in str(sent)


@pytest.mark.parametrize("fault", ["monitor False", "monitor late"])
def test_a_monitor_that_breaks_its_word_is_told_at_the_button(fault: str) -> None:
    """What it says that is no text, or remembers that can change, never reads as well."""
    model = sound()
    FAULTS[fault](model)
    player, sent = stepped(model)
    assert len(player.timeline.moments) == 1
    assert "watch, line" in str(sent)


@pytest.mark.parametrize(
    "error", [SystemExit(3), GeneratorExit(), Untold()], ids=["exit", "closed", "untold"]
)
def test_whatever_a_model_raises_stays_at_the_button(error: BaseException) -> None:
    """Also ``exit()``, which would end the kernel, and an error that cannot say what it is."""

    def falls(s: Any, action: Any) -> Any:
        raise error

    model = sound()
    ruled(effect=falls)(model)
    player, sent = stepped(model)
    assert len(player.timeline.moments) == 1
    assert "falls, line" in str(sent)
    assert type(error).__name__ in str(sent)


@pytest.mark.parametrize("fault", sorted(SILENT))
def test_no_fault_goes_unnoticed(fault: str) -> None:
    """A search names the function or the field, in one line."""
    model = sound()
    SILENT[fault](model)
    with pytest.raises(BadInput) as caught:
        check(model)
    assert kit_error(caught.value) is None


def test_a_witness_is_shown_in_one_line() -> None:
    """Whatever a model says of itself, no terminal obeys it."""
    model = sound()
    model.properties = (always("odd", "Odd", lambda s: "\x1b[31mred\n" * 10_000),)
    for found in (check(model), fuzz(model, range(2))):
        assert "\x1b" not in repr(found)
        assert len(repr(found)) < 3000


def test_a_symmetry_gives_states_that_last() -> None:
    """What stands for a state can be told apart, too."""
    model = sound()
    model.symmetry = lambda s: (Count(s.number, []), ())
    with pytest.raises(BadInput, match=r"^symmetry <lambda> of mine, line .*unhashable type"):
        check(model, symmetry=True)


def test_actions_that_cannot_be_told_apart_are_named() -> None:
    """A trace is saved; where no tag says which action a step is, that is told on loading."""
    model = sound()
    timeline = Timeline(model)
    timeline.forward()
    for kinds in (None, Bare | Plain):
        if kinds is None:
            del model.Action
        else:
            model.Action = kinds
        with pytest.raises(BadInput, match=r"^Action of mine: .*each with its own tag"):
            Timeline.load(timeline.save(), model)
