"""Which resizes wait for a later round, drawn at random and reckoned one by one."""

from __future__ import annotations

from random import Random

import pytest

from kit.protocols.tablets.rules.resize import LaterRound, WantedResize, later


@pytest.mark.parametrize("seed", range(80))
def test_each_waits_for_what_stands_in_its_way(seed: int) -> None:
    """The largest first; ten at most; the first begins whatever it needs; nobody overtakes."""
    random = Random(seed)
    wanted = [
        WantedResize(f"t{n}", random.randint(1, 4), random.randint(1, 4), random.random() < 0.2)
        for n in range(random.choice((0, 1, 3, 12, 14)))
    ]
    shards = random.choice((0, 2, 5, 9, 60))
    in_use = sum(each.replicas for each in wanted if each.begun)
    expected: dict[str, LaterRound] = {}
    started: list[WantedResize] = []
    for each in sorted(wanted, key=lambda one: (-one.average, one.table)):
        used = in_use + sum(one.replicas for one in started)
        if each.begun:
            continue
        if len(started) == 10:
            expected[each.table] = LaterRound("requests", 10, 1, 10)
        elif started and used + each.replicas > shards:
            expected[each.table] = LaterRound("shards", used, each.replicas, shards)
        elif expected:
            expected[each.table] = LaterRound("turn", used, each.replicas, shards)
        else:
            started.append(each)
    assert later(wanted, shards) == expected
    assert len(wanted) == len(started) + len(expected) + sum(each.begun for each in wanted)
