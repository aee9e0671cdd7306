"""Facts of a moment, against what is worked out by hand."""

from __future__ import annotations

from itertools import combinations
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.errors import BadInput
from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.facts.large import (
    first_missed,
)
from kit.protocols.tcm.facts.tools import kind_of
from tests.protocols.tcm.driving import Drive

NAMES = st.sets(st.sampled_from("ABCDE"), min_size=1).map(lambda names: tuple(sorted(names)))


@given(NAMES, NAMES)
def test_the_first_majorities_that_do_not_meet(readers: Any, writers: Any) -> None:
    """None where each two meet; else two that do not, of the smallest, the first in order."""
    ways = [
        (r, w)
        for r in combinations(readers, len(readers) // 2 + 1)
        for w in combinations(writers, len(writers) // 2 + 1)
        if not {*r} & {*w}
    ]
    assert first_missed(readers, writers) == (ways[0] if ways else None)


@pytest.mark.parametrize(
    ("token", "said"),
    [(0, "a token above 0 in a replicated keyspace"), (401, "from 0 to 400"), (-1, "from 0 to")],
)
def test_a_token_that_nobody_serves_is_refused(token: int, said: str) -> None:
    """At the lowest end, and outside of the line."""
    run = Drive()
    with pytest.raises(BadInput, match=said):
        facts.owners(run.model, run.state, token)


@pytest.mark.parametrize(
    ("kind", "word"),
    [
        *(("bootstrap", "JOIN"), ("move", "MOVE"), ("replace", "REPLACE")),
        *(("decommission", "LEAVE"), ("removenode", "LEAVE")),
    ],
)
def test_steps_have_the_names_of_the_published_log(kind: Any, word: str) -> None:
    """Of either edition; a removal is a leave there, and what is undone has one name."""
    for begins, steps in {
        "PREPARE": ("split", "prepare"),
        "START": ("add-writes", "start"),
        "MID": ("switch-reads", "mid"),
        "FINISH": ("drop-writes", "merge", "finish"),
    }.items():
        assert {kind_of(kind, step) for step in steps} == {f"{begins}_{word}"}
    undone = ("cancel", "cancel-reads", "cancel-writes")
    assert {kind_of(kind, step) for step in undone} == {"CANCEL_SEQUENCE"}
    assert kind_of("assassinate", "assassinate") == "ASSASSINATE"
