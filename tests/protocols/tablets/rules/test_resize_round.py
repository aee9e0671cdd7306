"""How many resizes begin in one round."""

from __future__ import annotations

import random

from kit.protocols.tablets.rules.resize import MOST_NEW, LaterRound, WantedResize, later


def wanted(name: str, average: int, replicas: int, *, begun: bool = False) -> WantedResize:
    """A table that is to be resized."""
    return WantedResize(name, average, replicas, begun)


def test_the_first_begins_however_large() -> None:
    """It has more replicas than there are shards; the next one waits for them."""
    tables = [wanted("small", 10, 1), wanted("large", 20, 500)]
    assert later(tables, 64) == {"small": LaterRound("shards", 500, 1, 64)}


def test_what_is_under_way_takes_shards() -> None:
    """Twenty of 64 shards are taken; of two that fit alone the larger begins."""
    tables = [wanted("a", 5, 30), wanted("b", 9, 30), wanted("c", 1, 20, begun=True)]
    assert later(tables, 64) == {"a": LaterRound("shards", 50, 30, 64)}


def test_one_behind_another_that_waits_waits_for_its_turn() -> None:
    """Its two replicas would have room beside the eight that begin."""
    tables = [wanted("a", 9, 8), wanted("b", 8, 40), wanted("c", 7, 2)]
    waits = {"b": LaterRound("shards", 8, 40, 22), "c": LaterRound("turn", 8, 2, 22)}
    assert later(tables, 22) == waits


def test_ten_begin_at_most() -> None:
    """Those with the largest average tablets."""
    tables = [wanted(f"t{i:02}", i, 1) for i in range(13)]
    waits = LaterRound("requests", MOST_NEW, 1, MOST_NEW)
    assert later(tables, 64) == dict.fromkeys(("t00", "t01", "t02"), waits)


def test_no_smaller_one_passes_another_by() -> None:
    """Who begins is a beginning of the order by size, within both limits but for the first."""
    for seed in range(200):
        chance = random.Random(seed)
        tables = [
            wanted(
                f"t{i}", chance.randrange(9), chance.randrange(1, 40), begun=chance.random() < 0.2
            )
            for i in range(chance.randrange(25))
        ]
        shards = chance.randrange(1, 200)
        waits = later(tables, shards)
        new = sorted((t for t in tables if not t.begun), key=lambda t: (-t.average, t.table))
        begins = [t for t in new if t.table not in waits]
        assert begins == new[: len(begins)]
        assert bool(begins) == bool(new)
        assert len(begins) <= MOST_NEW
        taken = sum(t.replicas for t in (*begins, *(t for t in tables if t.begun)))
        assert len(begins) <= 1 or taken <= shards
