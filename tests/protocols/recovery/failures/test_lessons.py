"""Questions and exercises on majorities: answers come from the model and the rules."""

from __future__ import annotations

from random import Random
from typing import Any

import pytest

from kit.lessons.exercises import exercise
from kit.protocols.recovery.lessons.recovering import (
    failures_table,
    must_return,
    orders_table,
    sides_possible,
    still_possible,
)
from tests.lessons.answers import RIGHT
from tests.protocols.recovery.failures.runs import ran


def test_what_is_still_possible() -> None:
    """Of three nodes one is enough for ONE, two for the schema and QUORUM."""
    question = still_possible(ran({}, "stop C")).question
    assert question.right == ("schema changes", "data at ONE", "data at QUORUM")
    assert still_possible(ran({}, "stop C", "stop B")).question.right == ("data at ONE",)
    assert set(question.right) <= set(question.choices)


@pytest.mark.parametrize("seed", range(10))
def test_as_many_starts_as_it_says_bring_the_schema_back(seed: int) -> None:
    """One start fewer leaves the schema change waiting."""
    random = Random(seed)
    given = {"datacenters": random.choice([(3,), (5,), (3, 3), (2, 3, 3)])}
    names = list(ran(given).model.names)  # type: ignore[attr-defined]  # the model of this family
    down = random.sample(names, random.randint(1, len(names)))
    stopped = [f"stop {name}" for name in down]
    [answer] = must_return(ran(given, *stopped)).question.right
    for starts in range(len(down) + 1):
        timeline = ran(given, *stopped, *(f"start {name}" for name in down[:starts]))
        [missing] = must_return(timeline).question.right if starts < len(down) else ("0",)
        assert (missing == "0") == (starts >= int(answer))


def test_both_sides_of_a_cut_are_asked_about() -> None:
    """The larger side changes the schema; each has its LOCAL_QUORUM, and none four of six."""
    question = sides_possible(ran({"datacenters": (3, 2)}, "cut off dc2")).question
    assert question.right == (
        "A, B, C: schema changes",
        "A, B, C: data at LOCAL_QUORUM in dc1",
        "D, E: data at LOCAL_QUORUM in dc2",
    )


@pytest.mark.parametrize("datacenters", [1, 2, 3])
def test_the_documents_tables_stand_beside_what_is_computed(datacenters: int) -> None:
    """A row for each failure; the documents' verdict on schema changes has a tick everywhere."""
    rows = failures_table(datacenters).rows
    assert len(rows) == {1: 2, 2: 3, 3: 3}[datacenters]
    for _, schema, computed, *_ in rows:
        assert computed == f"✓ {'always' if schema == 'possible' else 'never'}"
    assert [row[0] for row in orders_table(datacenters).rows] == [row[0] for row in rows]


def test_limited_voters_care_for_the_order() -> None:
    """Three of six nodes one after another: always; at once: sometimes; all vote: never."""
    [row] = [row for row in orders_table(2).rows if row[0] == "3 nodes"]
    assert row[1:] == ("never", "sometimes", "always")


def broken_majority(sizes: list[int], lost: list[int]) -> bool:
    """Half of all is not more than half."""
    return 2 * sum(size for at, size in enumerate(sizes) if at not in lost) >= sum(sizes)


def all_met(replicas: list[str], down: list[str]) -> list[str]:
    """Nobody is ever down."""
    needed = {"ONE": 1, "TWO": 2, "THREE": 3, "QUORUM": 1, "ALL": 1}
    return [level for level, count in needed.items() if len(replicas) >= count]


WRONG: dict[str, Any] = {
    "majority-of-datacenters": broken_majority,
    "levels-that-are-met": all_met,
    "one-start-is-enough": [
        *("alter A", "lose dc2", "start D", "start E", "catch up D", "catch up E", "alter A")
    ],
}


@pytest.mark.parametrize("name", WRONG)
@pytest.mark.usefixtures("judged_here")
def test_right_answers_pass_and_near_ones_do_not(name: str) -> None:
    """Each exercise tells a right answer from one that is nearly right."""
    assert exercise(name).check(RIGHT[name]()).passed
    assert not exercise(name).check(WRONG[name]).passed
