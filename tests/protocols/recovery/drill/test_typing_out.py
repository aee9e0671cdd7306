"""The procedure typed out: for every cluster the lines of its steps are a whole walk."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.console.drill import Drill
from kit.model.registry import build
from kit.protocols.recovery.drill.recovery import DRILL, procedure_lines
from tests.examples import examples


@pytest.mark.parametrize("edition", ["documents", "server"])
@examples(12)
@given(indexes=st.lists(st.integers(1, 9), min_size=2, max_size=7), operation=st.booleans())
def test_the_procedure_typed_out_passes(edition: str, indexes: list[int], operation: bool) -> None:
    """Nothing is refused, and the run passes; the choice of the leader is typed as its option."""
    live = (len(indexes) - 1) // 2 or 1
    dead = "ABCDEFG"[: len(indexes) - live]  # of seven in edition server the first five vote
    given_up: dict[str, Any] = {"commit_indexes": tuple(indexes), "dead": " ".join(dead)}
    model = build("recovery", {**given_up, "edition": edition, "operation": operation})
    drill = Drill(DRILL, model)
    for line in procedure_lines(DRILL, model):
        assert not drill.enter(line).error
    assert drill.grade().passed
