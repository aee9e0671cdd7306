"""Ways through a history: what an epoch index means, and what drops out when the lag is bounded."""

from __future__ import annotations

import pytest
from msgspec.structs import replace

from kit.errors import BadInput
from kit.protocols.storage import clients
from kit.protocols.storage.clients import key_of
from kit.protocols.storage.ranges import COPIED
from kit.protocols.storage.rules.exchange import admits
from kit.protocols.storage.rules.history import Edge, to_the_end, trails
from kit.protocols.storage.rules.view import View
from kit.protocols.storage.storage import Commit
from kit.ring.tokens import INT64_HIGH, INT64_LOW, MURMUR3, TokenSpace
from tests.protocols.storage.toys import BOTH, A, X, epoch, epochs, history, toy, versions


def test_a_tree_has_a_trail_for_each_node() -> None:
    """Its trails begin at the start, and an epoch index counts the events so far."""
    ways = trails(epochs())
    assert [way.nodes for way in ways] == [(0,), (0, 1), (0, 1, 2), (0, 1, 2, 3)]
    assert [view.last_modified for view in ways[-1].views] == [0, 1, 2, 3]
    assert {way.numbers[0] for way in ways} == {1}


@pytest.mark.parametrize(
    ("rows", "modified"),
    [
        # of each epoch who reads, and who writes
        ("A/A", [0]),
        ("A/A A/A", [0, 0]),
        ("A/A A/AX A/AX X/AX X/AX X/X", [0, 1, 1, 3, 3, 5]),
        ("A/A X/A X/A X/X X/X", [0, 1, 1, 3, 3]),
        ("A/AX A/A A/A A/AX", [0, 1, 1, 3]),
        ("X/AX A/AX X/AX", [0, 1, 2]),
        ("AX/A AX/X AX/A", [0, 1, 2]),
    ],
)
def test_a_row_is_modified_when_who_reads_or_writes_changes(rows: str, modified: list[int]) -> None:
    """An epoch that changes neither keeps the index of the one that last did."""
    of = {"A": A, "X": X, "AX": BOTH}
    groups = [[of[each] for each in row.split("/")] for row in rows.split()]
    many = len(groups)
    moves = history(
        *(
            epoch(at + 1, *pair, *([Edge("next", "", at + 1)] if at + 1 < many else []))
            for at, pair in enumerate(groups)
        )
    )
    assert [view.last_modified for view in trails(moves)[-1].views] == modified


def test_an_event_is_known_by_its_verb() -> None:
    """With the trail behind it; there is none of another name."""
    way, *_ = trails(epochs())
    edge, behind = way.edge("add")
    assert (edge.to, behind) == (1, 1)
    with pytest.raises(KeyError, match="drop"):
        way.edge("drop")


def test_the_end_is_where_every_step_is_taken() -> None:
    """The first event of each epoch; without any it is the start."""
    aside = history(
        epoch(1, A, A, Edge("add", "", 1)),
        epoch(2, A, BOTH, Edge("switch", "", 2), Edge("cancel", "", 3, aside=True)),
        epoch(3, X, X),
        epoch(3, A, A),
    )
    for moves, end in ((history(epoch(1, A, A)), (0,)), (aside, (0, 1, 2))):
        ways = trails(moves)
        assert ways[to_the_end(ways)].nodes == end


def test_a_fence_does_not_modify_the_row() -> None:
    """What changed the row last is where reads or writes last moved: not the fence after it."""
    seen = {way.nodes: [view.last_modified for view in way.views] for way in trails(versions())}
    assert seen[0, 1, 2] == [0, 1, 1]
    assert seen[0, 1, 2, 3, 4] == [0, 1, 1, 3, 3]
    assert seen[1, 2, 3, 4, 5] == [0, 0, 2, 2, 4]
    assert seen[0, 1, 2, 0, 1] == [0, 1, 1, 3, 4]


def test_nobody_may_be_further_behind_than_the_lag() -> None:
    """The bound is an assumption: what would break it waits, and says for whom."""
    moves = epochs("MajorityKnows")
    model = toy(replace(moves, lag=1))
    s = replace(model.act(model.start(), Commit("add")), copies=(COPIED,))
    waits = model.refusal(s, Commit("switch"))
    assert waits is not None
    assert waits.reason == "no node may be more than 1 epochs behind"
    assert waits.missing == ("A", "X")


def test_who_admits_what() -> None:
    """A fence bars what is older than it; stages admit their neighbours; else all is admitted."""
    views = tuple(View(A, A, A, A, fence=fence) for fence in (None, 0, 1))
    assert [admits("fence", views, 1, message) for message in (0, 1, 2)] == [False, True, True]
    assert [admits("fence", views, 2, message) for message in (0, 1, 2)] == [False, True, True]
    assert admits("fence", views, 0, 0)
    assert [admits("one-stage-apart", views, 2, m) for m in (0, 1, 2)] == [False, True, True]
    assert admits("all", views, 2, 0)


TOKENS = 2945182322382062539, 6292367497774912474, -8218881827949364593
"""What the keys 0, 1 and 2, of eight bytes, are hashed to."""


@pytest.mark.parametrize(
    ("left", "right", "key"),
    [
        (INT64_LOW, INT64_HIGH, 0),
        (TOKENS[0] - 1, TOKENS[0], 0),
        (TOKENS[0], INT64_HIGH, 1),
        (TOKENS[1] - 1, TOKENS[1], 1),
        (INT64_LOW, TOKENS[0] - 1, 2),
        (TOKENS[2] - 1, TOKENS[2], 2),
    ],
)
def test_the_smallest_key_in_a_range(left: int, right: int, key: int) -> None:
    """A range has its right end, not its left one."""
    assert key_of(MURMUR3, left, right) == key


@pytest.mark.parametrize(("left", "right"), [(TOKENS[1], INT64_HIGH), (TOKENS[2], TOKENS[0] - 1)])
def test_a_range_may_have_no_small_key(
    left: int, right: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """None of the three keys that are tried is in it, which is told; nor is the third of two."""
    monkeypatch.setattr(clients, "MOST_KEYS", 3)
    with pytest.raises(BadInput, match="allowed: a range that contains a key below 3") as caught:
        key_of(MURMUR3, left, right)
    assert f"({left}, {right}]" in str(caught.value)
    monkeypatch.setattr(clients, "MOST_KEYS", 2)
    with pytest.raises(BadInput, match="a key below 2"):
        key_of(MURMUR3, TOKENS[2] - 1, TOKENS[2])


def test_where_tokens_are_no_hashes_the_right_end_is_a_key() -> None:
    """On a small line a key is its own token."""
    assert key_of(TokenSpace("small", 0, 1000), 100, 200) == 200
