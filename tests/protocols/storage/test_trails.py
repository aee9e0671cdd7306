"""Ways through a history, their lanes, and what scenario files can show of a range."""

from __future__ import annotations

import pytest

from kit.errors import BadInput
from kit.model.scenario import files, open_file, parse, run
from kit.protocols.dataplane.dataplane import Dataplane
from kit.protocols.storage import facts
from kit.protocols.storage.clients import key_of
from kit.protocols.storage.facts import OUTPUT
from kit.protocols.storage.rules.history import Edge, to_the_end, trails
from kit.protocols.storage.storage import Storage
from kit.ring.tokens import INT64_HIGH, INT64_LOW, MURMUR3, TokenSpace
from kit.views.panel import scene_at
from tests.protocols.storage.toys import BOTH, A, X, epoch, epochs, history, versions


def test_a_history_has_one_trail_to_each_of_its_epochs() -> None:
    """Every trail begins at the start, and each event of it modifies the row."""
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
def test_a_row_is_modified_when_its_read_or_write_group_changes(
    rows: str, modified: list[int]
) -> None:
    """Any other epoch keeps the index of the last change."""
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


def test_a_trail_finds_an_event_by_its_verb() -> None:
    """An unknown verb is a KeyError."""
    way, *_ = trails(epochs())
    edge, behind = way.edge("add")
    assert (edge.to, behind) == (1, 1)
    with pytest.raises(KeyError, match="drop"):
        way.edge("drop")


def test_the_way_to_the_end_takes_the_first_event_of_each_epoch() -> None:
    """A history without events ends where it starts."""
    aside = history(
        epoch(1, A, A, Edge("add", "", 1)),
        epoch(2, A, BOTH, Edge("switch", "", 2), Edge("cancel", "", 3, aside=True)),
        epoch(3, X, X),
        epoch(3, A, A),
    )
    for moves, end in ((history(epoch(1, A, A)), (0,)), (aside, (0, 1, 2))):
        ways = trails(moves)
        assert ways[to_the_end(ways)].nodes == end, moves


def test_a_fence_does_not_modify_the_row() -> None:
    """The index of the last change stays that of the last move of reads or writes."""
    seen = {way.nodes: [view.last_modified for view in way.views] for way in trails(versions())}
    assert seen[0, 1, 2] == [0, 1, 1]
    assert seen[0, 1, 2, 3, 4] == [0, 1, 1, 3, 3]
    assert seen[1, 2, 3, 4, 5] == [0, 0, 2, 2, 4]
    assert seen[0, 1, 2, 0, 1] == [0, 1, 1, 3, 4]


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
def test_a_range_gives_the_smallest_key_whose_token_lies_inside(
    left: int, right: int, key: int
) -> None:
    """A range includes its right end, not its left one."""
    assert key_of(MURMUR3, left, right) == key


def test_a_range_of_an_unhashed_token_space_gives_its_right_end_as_key() -> None:
    """There a key is its own token."""
    assert key_of(TokenSpace("small", 0, 1000), 100, 200) == 200


TEXT = """# A plan that goes stale, shown from every side.
model dataplane

bootstrap X --tokens 150
apply A
apply B
apply X
write 1 at epoch 100
write 1 reaches A
write 1 reaches B
commit X
apply K1
replicas B
requests
views
log
----
"""

PLANNED = (
    "write 1: planned at 100, K1 knows 101; needs 2 of A,B,C (answered: A,B); "
    "the plan is no longer valid; still on its way to C"
)


def test_a_scenario_file_shows_replicas_requests_views_and_log() -> None:
    """Each of the four words shows one line for each thing, from the facts of the moment."""
    _, (shown,) = run(parse(TEXT))
    assert shown[9:] == (
        "B at epoch 100: reads and writes, holds write 1",
        PLANNED,
        "read 2: waiting",
        "99: reads A,B,C; writes A,B,C; known to C",
        "100: reads A,B,C; writes A,B,C; known to A,B,X",
        "101: reads A,B,C; writes A,B,C,X; known to K1",
        "100: split ranges (bootstrap X at 150)",
        "101: add write replicas (bootstrap X at 150)",
    )


def test_showing_an_unknown_replica_is_refused_with_the_known_ones() -> None:
    """The error lists A, B, C and X."""
    model = Dataplane()
    with pytest.raises(BadInput, match="one of A, B, C, X"):
        OUTPUT["replicas"](model, model.start(), "Z")


FILES = {name: path for name, path in files().items() if name.startswith(("dataplane/", "vnodes/"))}


@pytest.mark.parametrize("name", FILES)
def test_a_replica_is_behind_by_its_distance_from_the_newest_epoch(name: str) -> None:
    """Of every replica, at every step."""
    timeline = open_file(FILES[name])
    for at in timeline.path(timeline.tip):
        scene = scene_at(timeline, at)
        m, s = scene.model, scene.state
        if not isinstance(m, Storage):
            pytest.skip("no replicas")
        newest = m.newest_epoch(s)
        assert all(row.behind == newest - row.epoch for row in facts.replicas(m, s)), at
