"""No fair run of Raft goes on without a leader while a majority is up and hears one another.

What public reports tell of pre-votes that never end (etcd-io/etcd#8243, hashicorp/raft#606), and of
a leader that counts an entry before it is on its disk (etcd-io/etcd#14370), the search finds with
the guard off, and not with it on.
"""

from __future__ import annotations

from typing import Any

import pytest

from kit.errors import BadInput
from kit.model.registry import build
from kit.search.check import Result, check

EDITIONS = ("documents", "server")
QUIET: dict[str, Any] = {"requests": (), "most_in_flight": 2}
PAIR = {"nodes": 2, "members": "A B", **QUIET}
OLD_TERM = {**PAIR, "begins": ("1", ", term 3"), "terms": 5}
DEPOSED = {
    **PAIR,
    "begins": ("1, commit 1, leads", "1, follows A"),
    "terms": 3,
    "edition": "server",
    "detector": True,
}
WITH_ONE_DOWN = {
    "begins": ("1", ", term 3", ", term 3"),
    "requests": (),
    "terms": 4,
    "most_in_flight": 4,
    "crashes": 1,
}


def promise(parameters: dict[str, Any], off: tuple[str, ...] = (), name: str = "led-again") -> Any:
    """The search of one promise alone."""
    model = build("raft", parameters, off)
    [prop] = [each for each in model.properties if each.name == name]
    return model, check(model, (prop,))


def is_lasso(model: Any, result: Result) -> bool:
    """Whether the run ends where its loop begins, and no state of the loop has a leader."""
    violation = result.violation
    if violation is None or violation.loop is None:
        return False
    states = [model.start()]
    for step in violation.actions:
        states.append(model.act(states[-1], step))
    loop = states[violation.loop :]
    return model.recurring(loop[0]) == model.recurring(loop[-1]) and not any(
        map(model.led_again, loop)
    )


@pytest.mark.parametrize("edition", EDITIONS)
def test_a_voter_in_an_old_term_is_told_of_the_newer_one(edition: str) -> None:
    """Only without the answer do pre-votes go on for ever: A's term is old, and B's log is."""
    given = {**OLD_TERM, "edition": edition}
    model, found = promise(given, ("old-terms",))
    assert is_lasso(model, found)
    _, kept = promise(given)
    assert (kept.complete, kept.violation) == (True, None)
    assert "terms=5" in kept.within


@pytest.mark.parametrize("fault", ["partitions", "cuts"])
def test_a_deposed_leader_is_elected_by_those_that_follow_it(fault: str) -> None:
    """Only where they refuse its pre-vote does everybody wait: they for it, and it for them."""
    given = {**DEPOSED, fault: 1}
    model, found = promise(given, ("own-leader",))
    assert is_lasso(model, found)
    _, kept = promise(given)
    assert (kept.complete, kept.violation) == (True, None)


@pytest.mark.deep
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize(
    "given",
    [
        WITH_ONE_DOWN,
        {"nodes": 4, "members": "A B C D", "begins": ("1", "1", ", term 3", ", term 3"),
         "requests": (), "terms": 4, "most_in_flight": 3},
        {"nodes": 3, "members": "A B c", "begins": ("1", ", term 3", "1"),
         "requests": (), "terms": 4, "most_in_flight": 3},
    ],
    ids=["one of three down", "two of four", "with a learner"],
)  # fmt: skip
def test_old_terms_in_larger_groups(edition: str, given: dict[str, Any]) -> None:
    """The same with a node down, in a group of four, and beside a member without a vote."""
    model, found = promise({**given, "edition": edition}, ("old-terms",))
    assert is_lasso(model, found)


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize("fault", ["", "crashes", "drops", "duplicates", "holds", "partitions"])
def test_a_group_of_two_finds_a_leader_again(edition: str, fault: str) -> None:
    """With every safeguard on no single fault leaves it without one for ever."""
    given = {
        **PAIR,
        "terms": 1,
        "edition": edition,
        "detector": True,
        **({fault: 1} if fault else {}),
    }
    _, kept = promise(given)
    assert (kept.complete, kept.violation) == (True, None)


@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize(
    "given",
    [
        {"nodes": 1, "members": "A", "crashes": 1},
        {"nodes": 2, "members": "A b", "most_in_flight": 2},
        {"nodes": 2, "members": "A B", "begins": ("1, commit 1, leads", "1"), "terms": 1,
         "requests": ("members A",), "most_in_flight": 2, "fifo": True},
    ],
    ids=["one", "one with a learner", "shrunk to one"],
)  # fmt: skip
def test_a_single_voter_commits_what_is_on_its_disk(edition: str, given: dict[str, Any]) -> None:
    """In a group of one voter, or one that shrinks to one, an entry is first written."""
    _, kept = promise({**given, "writes_apart": True, "edition": edition}, (), "committed-is-kept")
    assert (kept.complete, kept.violation) == (True, None)
    assert kept.states > 1


def test_without_its_own_disk_it_commits_too_early() -> None:
    """etcd-io/etcd#14370: the entry is committed before it is written."""
    given = {"nodes": 1, "members": "A", "writes_apart": True}
    _, found = promise(given, ("own-disk",), "committed-is-kept")
    assert found.violation is not None
    assert len(found.violation.actions) == 1


@pytest.mark.parametrize(
    ("begins", "reason"),
    [
        (("1, leads",), "A leads term 1 without the votes of a majority"),
        (("1, leads", "1, leads", "1"), "leads term 1 without the votes of a majority"),
        (("1, leads", "1, votes C", "1, votes C"), "without the votes of a majority"),
        (("2, term 1", "", ""), "the terms in A's log never fall, and its own is no older"),
        (("2 1", "", ""), "the terms in A's log never fall"),
        (("1, commit 2", "1", "1"), "A has no entry 2 that could be committed"),
        (("1 1, commit 2, leads", "1", "1"), "A considers index 2 committed without a majority"),
        (("1 2", "2 2", ""), "the logs of A and B differ before an entry that both have"),
    ],
)
def test_a_beginning_that_nothing_leads_to_is_refused(begins: Any, reason: str) -> None:
    """It says what cannot be."""
    with pytest.raises(BadInput, match=reason):
        build("raft", {"begins": begins, "terms": 4})


def test_groups_find_their_leaders() -> None:
    """Two groups on the same nodes: each is led again, as far as terms go."""
    result = check(build("raft_groups", {"nodes": 2, "terms": 1, "entries": 1}))
    assert (result.complete, result.violation, result.within) == (True, None, "terms=1")
