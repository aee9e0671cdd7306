"""The drill whose right answer is not to recover: two of four nodes are dead, two voters live."""

from __future__ import annotations

import pytest

from kit.console.drill import Drill
from tests.drills import typed
from tests.protocols.recovery.drill.walks import DELETE, READ, UNSET, host, lead, on_each, removal

DEAD = "CD"
FENCE = ["firewall drop 10.0.0.13, 10.0.0.14"]
LOOK = ["SELECT * FROM system.raft_state;"]
REPLACE = [
    f"new-node --replace-node-first-boot {host('C')} --ignore-dead-nodes-for-replace {host('D')}",
    f"new-node --replace-node-first-boot {host('D')}",
]
RECOVERY = [*FENCE, *READ, *DELETE, *lead(), "restart B", "restart A", *removal(*DEAD), *UNSET]
NEEDLESS = (
    "a majority of the voters was alive: no need to remove the group id and discovery state of A"
)
# what is typed -> passed, what the grade says of it
WALKS = [
    ([*LOOK, *removal(*DEAD)], True, "the group that had a majority carried on"),
    ([*LOOK, *REPLACE], True, "the group that had a majority carried on"),
    ([*FENCE, *READ, *LOOK, *removal(*DEAD)], True, "the group that had a majority carried on"),
    (LOOK, False, "dead, but neither removed nor replaced: C, D"),
    (RECOVERY, False, NEEDLESS),
    ([*READ, *DELETE[:3], "restart A"], False, NEEDLESS),
    (
        [*READ, *lead()[:2], *removal(*DEAD)],
        False,
        "a majority of the voters was alive: no need to choose B",
    ),
]


def drill(*lines: str) -> Drill:
    """The drill after these lines."""
    return typed("recovery/majority-lives", *lines)


@pytest.mark.parametrize(("lines", "passed", "words"), WALKS)
def test_a_recovery_without_need_is_wrong(lines: list[str], passed: bool, words: str) -> None:
    """To look, to read and to cut off the dead harm nobody; to begin the procedure is graded."""
    grade = drill(*lines).grade()
    assert grade.passed is passed
    assert any(words in row.why for row in grade.rows)


def test_a_recovery_of_a_majority_that_died_is_not_without_need() -> None:
    """A dies as well: only then is an id deleted."""
    rows = drill("happen die A", "on B", *READ[2:], *DELETE[3:]).grade().rows
    assert [row.holds for row in rows if row.name == "no needless recovery"] == [True]


def test_without_a_majority_nothing_is_removed() -> None:
    """A dies as well: the group cannot change, so that now the procedure is right."""
    under_way = drill("happen die A", *on_each(*removal(*DEAD)[:1], names="B"))
    assert "majority" in under_way.transcript[-1].error
