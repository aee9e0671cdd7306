"""The two replicas that stay are interchangeable: a search up to their names sees one of both."""

from __future__ import annotations

from typing import Any

import pytest

from kit.protocols.tablets.tablet import StayingReplicas
from kit.search.check import check
from tests.protocols.tablets.tablet.runs import SERVER, built

WRITE: dict[str, Any] = {**SERVER, "rf": 3, "requests": ("K1 write QUORUM",)}


def orbits(model: Any) -> tuple[int, int]:
    """How many states there are, and how many up to names, by a walk that joins none."""
    start = model.start()
    seen, pending = {start}, [start]
    while pending:
        state = pending.pop()
        for action in model.actions(state):
            after = model.act(state, action)
            if after not in seen:
                seen.add(after)
                pending.append(after)
    return len(seen), len({model.symmetry(state)[0] for state in seen})


def test_states_that_differ_in_names_are_joined_and_no_others() -> None:
    """All states are walked: the search up to symmetry has one for each pair, and exchanging the
    names twice gives the state back.
    """
    model = built(WRITE)
    assert isinstance(model.symmetry, StayingReplicas)
    every, joined = orbits(model)
    whole, half = check(model, (), monitors=()), check(model, (), monitors=(), symmetry=True)
    assert (whole.states, half.states) == (every, joined)
    assert half.violation is None
    assert every * 0.5 < joined < every * 0.75


def test_what_streams_from_a_replica_that_stays_names_it() -> None:
    """Without S-57 B streams, so that C is not like it; without others both are."""
    assert built(WRITE, ("stream-from-leaving",)).symmetry is None
    assert built(WRITE, ("sessions",)).symmetry is not None


@pytest.mark.deep
def test_a_migration_up_to_names() -> None:
    """The same verdict as of the search that joins none, with four sevenths of its states."""
    result = check(built({**SERVER, "rf": 3}), symmetry=True)
    assert (result.violation, result.verdict, result.states) == (None, "up to symmetry", 79_795)
