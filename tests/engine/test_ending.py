"""A run is played on to its end, and one without an end is refused."""

from __future__ import annotations

import pytest

from kit.engine.registry import build
from kit.engine.timeline import MOST, Timeline, played_out
from kit.errors import BadInput
from tests.engine.toys import LiftModel, LiftParameters


def test_a_run_is_played_to_its_end() -> None:
    """The schedule is followed until it has nothing more to suggest."""
    timeline = played_out(Timeline(build("twophase")))
    assert timeline.suggest() is None
    assert timeline.at > 0


def test_a_run_without_an_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """A schedule that goes round for ever is cut, and the model named."""
    monkeypatch.setattr("kit.engine.timeline.MOST", 3)
    with pytest.raises(BadInput, match="a run that ends within 3 steps"):
        played_out(Timeline(LiftModel(LiftParameters(floors=9))))
    assert MOST > 3
