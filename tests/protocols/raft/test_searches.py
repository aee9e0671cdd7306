"""What searches of Raft see: how many states there are of each situation, and that nothing breaks.

Each is searched to its end. Counts are those of this model; a change of them has to be meant.
"""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from random import Random
from typing import Any

import pytest

from kit.errors import Refusal
from kit.model.registry import build, entry_of
from kit.search.check import Result, check

LED = ("1, commit 1, leads", "1", "1")
FAULTS = {"crashes": 1, "drops": 1}
SEARCHES: dict[str, tuple[dict[str, Any], int]] = {
    "an election": ({"requests": (), "terms": 1, "most_in_flight": 4}, 34_198),
    "two logs that differ": (
        {"begins": ("1 2", "1 1, term 2, commit 1", "1"), "requests": (), "most_in_flight": 3},
        6_069,
    ),
    "from three members to four": (
        {"nodes": 4, "begins": (*LED, ""), "requests": ("members A B C D",), "terms": 1,
         "most_in_flight": 4, "edition": "server"},
        43_019,
    ),
    "from three members to one of them and two others": (
        {"nodes": 5, "begins": (*LED, "", ""), "requests": ("members A D E",), "terms": 1,
         "most_in_flight": 4},
        129_859,
    ),
    "the same change of the published server": (
        {"nodes": 5, "begins": (*LED, "", ""), "requests": ("members A D E",), "terms": 1,
         "most_in_flight": 4, "edition": "server"},
        243_360,
    ),
    "from three members to four, in two terms": (
        {"nodes": 4, "begins": (*LED, ""), "requests": ("members A B C D",), "terms": 2,
         "most_in_flight": 3, "edition": "server"},
        12_342,
    ),
    "a read and a command": (
        {"begins": LED, "requests": ("read at B", "x"), "terms": 1, "most_in_flight": 3},
        3_018,
    ),
    "a read in two terms": (
        {"begins": LED, "requests": ("read at A",), "terms": 2, "most_in_flight": 3},
        39_212,
    ),
    "a snapshot": (
        {"begins": ("1 1, commit 2, leads", "1 1", ", term 1, votes A"),
         "requests": ("snapshot",), "terms": 1, "most_in_flight": 4},
        13_249,
    ),
    "a snapshot and a crash": (
        {"begins": ("1 1, commit 2, leads", "1 1", ", term 1, votes A"),
         "requests": ("snapshot",), "terms": 2, "most_in_flight": 2, "crashes": 1},
        9_136,
    ),
    "an election over links that keep their order": (
        {"requests": (), "terms": 1, "most_in_flight": 4, "fifo": True},
        3_802,
    ),
    "figure 8": (
        {"begins": ("1 2 4, leads", "1, term 4", "1 3, term 4"), "requests": (), "terms": 5,
         "most_in_flight": 3, "drops": 1},
        272_388,
    ),
    "an election, a crash, a drop": (
        {"requests": (), "terms": 1, "most_in_flight": 3, **FAULTS},
        82_752,
    ),
}  # fmt: skip
LONG = {
    "figure 8", "an election, a crash, a drop", "from three members to one of them and two others",
    "the same change of the published server",
}  # fmt: skip
ALIKE = {"an election": 5_719, "a read in two terms": 19_633}


@cache
def searched(name: str) -> Result:
    """A search of all states with all safeguards on."""
    return check(build("raft", SEARCHES[name][0]))


@pytest.mark.sweep(3)
@pytest.mark.parametrize(
    "name", [pytest.param(n, marks=[pytest.mark.deep] * (n in LONG)) for n in SEARCHES]
)
def test_no_reachable_state_breaks_a_promise(name: str) -> None:
    """With all safeguards on; the number of states is that of this model."""
    result = searched(name)
    assert (result.complete, result.violation, result.states) == (True, None, SEARCHES[name][1])


@pytest.mark.deep
def test_elections_of_three_terms_break_no_promise() -> None:
    """Searched with symmetry."""
    model = build("raft", {"requests": (), "terms": 3, "most_in_flight": 3})
    result = check(model, symmetry=True)
    assert (result.complete, result.violation, result.states) == (True, None, 65_073)


@pytest.mark.sweep(3)
@pytest.mark.parametrize(("name", "states"), ALIKE.items())
def test_a_symmetric_search_agrees_in_fewer_states(
    name: str, states: int, record_property: Any
) -> None:
    """5.98 times fewer with three voters that are alike, 1.997 times with two."""
    whole, joined = searched(name), check(build("raft", SEARCHES[name][0]), symmetry=True)
    assert (joined.complete, joined.violation, joined.states) == (True, None, states)
    assert joined.unreached == whole.unreached
    factor = whole.states / joined.states
    record_property("factor", factor)
    assert factor > 1.9


@pytest.mark.sweep(3)
@pytest.mark.parametrize(
    "guard",
    [
        pytest.param(g, id=g.id, marks=[pytest.mark.deep] * (g.id in ("S-89", "S-93")))
        for g in entry_of("raft").safeguards
    ],
)
def test_each_safeguard_is_enough_in_its_smallest_configuration(guard: Any) -> None:
    """Where a promise breaks without it."""
    smallest: Mapping[str, Any] = guard.smallest
    result = check(build("raft", smallest))
    assert (result.complete, result.violation) == (True, None)


def test_the_state_that_stands_for_others_has_the_same_terms_and_crashes() -> None:
    """Its own image is itself, and the oldest term is under the first name."""
    model = build("raft", {"requests": (), "terms": 2, "crashes": 2})
    assert model.symmetry is not None
    chance, state, down = Random(1), model.start(), 0
    for step in range(900):
        actions = list(model.actions(state)) if step % 30 else []
        state = model.act(state, chance.choice(actions)) if actions else model.start()
        joined, _ = model.symmetry(state)
        assert model.symmetry(joined)[0] == joined, state
        was, now = (
            sorted((n.server.term, bool(s.down >> i & 1)) for i, n in enumerate(s.nodes))
            for s in (state, joined)
        )
        assert was == now, state
        assert joined.nodes[0].server.term == was[0][0], state
        down += bool(joined.down)
    assert down > 10


def test_a_symmetric_search_finds_the_same_violation() -> None:
    """Without the majority both end at a commit that only its leader stores."""
    given = {"requests": ("x",), "terms": 1, "most_in_flight": 4}
    found = [
        check(build("raft", given, ("majority",)), symmetry=s).violation for s in (False, True)
    ]
    assert [each and each.property for each in found] == ["committed-is-kept"] * 2


@pytest.mark.parametrize(
    ("given", "bound"),
    [
        ({"nodes": 2, "members": "A B", "most_in_flight": 2}, "most_in_flight=2"),
        ({"nodes": 1, "members": "A", "most_in_flight": 2}, ""),
    ],
)
def test_a_search_that_leaves_messages_out_is_called_bounded(
    given: dict[str, Any], bound: str
) -> None:
    """The search's sentence names the bound."""
    result = check(build("raft", {"requests": (), "terms": 1, **given}))
    assert result.complete, result
    assert result.bound.partition(":")[0] == bound
    assert result.verdict == ("bounded" if bound else "judged in part")
    assert ("complete" in result.sentence) is False
    assert result.sentence.startswith(f"bounded by {bound}" if bound else "every state visited")


@pytest.mark.parametrize(
    ("verbs", "timer", "why"),
    [
        ((), "C election", "C cannot ask for votes"),
        (("tick A election",), "A election", "A waits: its message is already on its way"),
    ],
)
def test_a_timer_that_would_change_nothing_is_refused_with_its_reason(
    verbs: tuple[str, ...], timer: str, why: str
) -> None:
    """A server without a vote sends nothing; a message on its way is not sent again."""
    model = build("raft", {"members": "A B c"})
    state = model.start()
    for verb in verbs:
        state = next(after for a, after in model.successors(state) if model.verb(a) == verb)
    found = model.find(state, f"tick {timer}")
    assert found is not None
    assert found[1] == Refusal(why)
