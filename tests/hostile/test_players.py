"""A student's own error at a button: told in the page, and the history stays."""

from __future__ import annotations

from typing import Any

import pytest
from msgspec.structs import replace

from kit.widgets.player import Player
from tests.hostile.students import FAULTS, sound


def test_an_error_of_the_model_is_told_where_the_button_was_pressed() -> None:
    """One line with the function, the line and the error; the moment stays the one before."""

    def falls(s: Any, action: Any) -> Any:
        return s.number // 0

    model = sound()
    model.rules = (replace(model.rules[0], effect=falls), *model.rules[1:])
    player = Player(model)
    sent: list[Any] = []
    player.stage.send = sent.append
    player._hear(None, {"message": "act", "control": "step", "at": 0, "have": 0}, None)
    assert player.timeline.at == 0
    assert len(player.timeline.moments) == 1
    assert "falls, line" in str(sent)
    assert "ZeroDivisionError" in str(sent)


@pytest.mark.parametrize("fault", ["monitor False", "monitor late"])
def test_a_monitor_that_breaks_its_word_is_told_at_the_button(fault: str) -> None:
    """What it says that is no text, or remembers that can change, never reads as well."""
    model = sound()
    FAULTS[fault](model)
    player = Player(model)
    sent: list[Any] = []
    player.stage.send = sent.append
    player._hear(None, {"message": "act", "control": "step", "at": 0, "have": 0}, None)
    assert len(player.timeline.moments) == 1
    assert "watch, line" in str(sent)
