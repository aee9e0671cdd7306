"""The two replicas that stay are interchangeable: a search up to their names sees one of both."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest
from msgspec import UNSET
from msgspec.structs import replace

from kit.engine.check import check
from kit.protocols.tablets.tablet import MASKS, StayingReplicas, dead_forgotten
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


def test_names_are_exchanged_in_all_that_holds_them() -> None:
    """In what is known, stored and down, and in each set of replicas that a request has."""
    model = built(WRITE)
    symmetry = model.symmetry
    assert isinstance(symmetry, StayingReplicas)
    other = {symmetry.first: symmetry.second, symmetry.second: symmetry.first}

    def mask(given: int) -> int:
        return sum(1 << other.get(i, i) for i in range(given.bit_length()) if given >> i & 1)

    chance, state, exchanged = Random(1), model.start(), 0
    for _ in range(400):
        actions = list(model.actions(state))
        state = model.act(state, chance.choice(actions)) if actions else model.start()
        joined, are_exchanged = symmetry(state)
        assert symmetry(joined) == (joined, False)
        if not are_exchanged:
            continue
        exchanged += 1
        assert (joined.down, joined.cleaned) == (
            mask(state.down),
            mask(state.cleaned & ~state.down),
        )
        for now, then in zip(joined.requests, state.requests, strict=True):
            for name in MASKS:
                given = getattr(then, name)
                assert getattr(now, name) == (given if given is UNSET else mask(given))
    assert exchanged > 20


@pytest.mark.parametrize(
    "given",
    [
        {"rf": 2},
        {"rf": 3, "kind": "rebuild"},
        {"rf": 3, "second": "other"},
        {"rf": 3, "excluded": "B"},
        {"rf": 3, "late": 1},
    ],
    ids=str,
)
def test_where_a_replica_is_named_or_copied_from_there_is_no_symmetry(
    given: dict[str, Any],
) -> None:
    """The other one would have to be renamed, too."""
    assert built({**SERVER, **given}).symmetry is None


@pytest.mark.parametrize(
    ("given", "forgets", "exchanges", "waits"),
    [
        ({"rf": 1}, False, False, True),
        ({"rf": 1, "crashes": 1}, True, False, True),
        ({"rf": 3}, False, True, True),
        ({"rf": 3, "crashes": 1}, False, True, True),
        ({"rf": 3, "kind": "rebuild", "crashes": 1}, True, False, True),
        ({"rf": 3, "kind": "intranode_migration"}, False, True, False),
        ({"rf": 1, "kind": "intranode_migration", "crashes": 1}, True, False, False),
    ],
)
def test_what_a_search_may_take_together(
    given: dict[str, Any], forgets: bool, exchanges: bool, waits: bool
) -> None:
    """What the dead knew, once somebody may die; names of replicas, where two stay; and steps that
    wait, unless shards learn with their node.
    """
    model = built(given)
    assert (model.symmetry is dead_forgotten) == forgets
    assert isinstance(model.symmetry, StayingReplicas) == exchanges
    assert (model.partial_order is not None) == waits


@pytest.mark.parametrize(
    ("down", "known", "cleaned"),
    [
        (0b0000, (3, 1, 2, 3, 2, 1), 0b1010),
        (0b0001, (0, 1, 2, 3, 2, 1), 0b1010),
        (0b0010, (3, 0, 2, 3, 2, 1), 0b1000),
        (0b1010, (3, 0, 2, 0, 2, 1), 0b0000),
    ],
)
def test_what_the_dead_knew_and_cleaned_is_forgotten(
    down: int, known: tuple[int, ...], cleaned: int
) -> None:
    """Of four replicas; what those that live and the two coordinators know stays."""
    start = built({"rf": 3, "crashes": 2}).start()
    state = replace(start, known=(3, 1, 2, 3, 2, 1), cleaned=0b1010, down=down)
    assert dead_forgotten(state) == (replace(state, known=known, cleaned=cleaned), False)


def test_what_streams_from_a_replica_that_stays_names_it() -> None:
    """Without S-57 B streams, so that C is not like it; without others both are."""
    assert built(WRITE, ("stream-from-leaving",)).symmetry is None
    assert built(WRITE, ("sessions",)).symmetry is not None


@pytest.mark.deep
def test_a_migration_up_to_names() -> None:
    """The same verdict as of the search that joins none, with four sevenths of its states."""
    result = check(built({**SERVER, "rf": 3}), symmetry=True)
    assert (result.violation, result.verdict, result.states) == (None, "up to symmetry", 79_795)
