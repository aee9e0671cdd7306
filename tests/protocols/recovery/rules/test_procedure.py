"""Which procedure: over all clusters of up to five nodes what is said of each of them is true."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import product

import pytest

from kit.protocols.group0.rules.quorum import Quorum
from kit.protocols.recovery.rules.procedure import (
    OLDER,
    ONLY_FOR,
    Procedure,
    ProcedureChoice,
    choices,
    choices_between,
    which_procedure,
)
from kit.protocols.topology.rules.machines import Edition

TOO_FEW = "too few nodes can come back"
FIVE, OTHER_NODE = 0b11111, 0b100000


def clusters() -> Iterator[tuple[Quorum, int, int]]:
    """Every way in which each of some nodes is up, down or lost; all of them vote."""
    for size in range(1, 6):
        for kinds in product("udl", repeat=size):
            down, lost = (sum(1 << i for i, k in enumerate(kinds) if k == kind) for kind in "dl")
            everybody = (1 << size) - 1
            yield Quorum(everybody, everybody & ~down & ~lost), down, lost


def test_one_procedure_is_chosen_and_reasons_against_the_others_are_true() -> None:
    """Too few may come back only where a quorum is gone that all of them would not make."""
    for quorum, down, lost in clusters():
        rows = {each.procedure: each for each in choices(quorum, down, lost, False, "server")}
        assert sum(each.offered for each in rows.values()) == 1
        back = Quorum(quorum.voters, quorum.live | down)
        said = rows["restart"].why
        if not rows["restart"].offered:
            assert (said == TOO_FEW) == (bool(down) and not back.holds), (quorum, down, lost)
        assert rows["recovery leader"].offered == (not back.holds)
        if rows["recovery leader"].why == "enough voters can come back":
            assert back.holds
            assert not quorum.holds
        assert not rows["recovery mode"].offered


def test_recovery_mode_is_refused_by_what_is_so() -> None:
    """Where a quorum lives or a node is lost, it is for other cases; else enough may come back."""
    for quorum, down, lost in clusters():
        rows = choices(quorum, down, lost, False, "documents")
        [row] = [each for each in rows if each.procedure == "recovery mode"]
        if not row.offered:
            assert row.why == (ONLY_FOR if lost or quorum.holds else "enough voters can come back")


UP = "no node that can come back is down"
NONE_LOST = "no node is lost for good"
NO_LEADER = "recovery_leader came with release 2025.2"
NO_MODE = "the published server has no RECOVERY mode"
NOT_ENDED = "the Raft upgrade has not ended"
CONTINUES = "no node is lost for good: the upgrade continues once all nodes are up"


@pytest.mark.parametrize(
    ("live", "lost", "stuck", "edition", "by_leader", "offered", "against"),
    [
        # All are up, one is lost, and a majority is: first with the recovery leader, then before.
        (FIVE, 0, False, "documents", True, ["nothing"], [UP, NONE_LOST, "quorum", ONLY_FOR]),
        (0b11110, 1, False, "documents", True, ["replace"], [UP, "quorum", ONLY_FOR]),
        (0b11110, 1, False, "server", True, ["replace"], [UP, "quorum", NO_MODE]),
        (0b11110, 1, False, "server", False, ["replace"], [UP, NO_LEADER, ONLY_FOR]),
        (3, 28, False, "documents", True, ["recovery leader", "recovery mode"], [UP, "no quorum"]),
        (3, 28, False, "server", True, ["recovery leader"], [UP, "no quorum", NO_MODE]),
        (3, 28, False, "server", False, ["recovery mode"], [UP, "no quorum", NO_LEADER]),
        # The upgrade into Raft is stuck: without a node that is lost, and with one.
        (3, 0, True, "documents", True, ["restart"], [NONE_LOST, NOT_ENDED, CONTINUES]),
        (3, 0, True, "server", False, ["restart"], [NONE_LOST, NO_LEADER, CONTINUES]),
        (
            *(0b11110, 1, True, "documents", True, ["recovery mode"]),
            [UP, "the Raft upgrade must finish first", NOT_ENDED],
        ),
    ],
)
def test_each_procedure_that_is_not_offered_says_why(
    live: int,
    lost: int,
    stuck: bool,
    edition: Edition,
    by_leader: bool,
    offered: list[str],
    against: list[str],
) -> None:
    """In the order in which they are listed; first against it is what a release lacks."""
    rows = choices(Quorum(FIVE, live), FIVE & ~live & ~lost, lost, stuck, edition, by_leader)
    said = {"quorum": "group 0 has a quorum", "no quorum": "group 0 has no quorum"}
    assert [row.procedure for row in rows if row.offered] == offered
    assert [row.why for row in rows if not row.offered] == [said.get(why, why) for why in against]
    assert [row.procedure for row in rows if row.why == OLDER] == offered[1:]


def test_a_stuck_upgrade_with_a_lost_node_is_not_restarted() -> None:
    """Those that are down may come back, but one that is lost is needed."""
    [row] = [
        each
        for each in choices(Quorum(0b111, 0b001), 0b010, 0b100, True, "documents")
        if each.procedure == "restart"
    ]
    assert not row.offered
    assert "not nodes that are lost" in row.why


@pytest.mark.parametrize(
    ("live", "down", "lost", "stuck", "by_leader", "procedure", "why"),
    [
        (FIVE, 0, 0, False, True, "nothing", "all members are up"),
        (FIVE, 0, 0, True, True, "restart", "needs every node to be up"),
        (0b11110, 1, 0, True, True, "restart", "needs every node to be up"),
        (0b11110, 0, 1, True, True, "recovery mode", "stuck because it needs nodes that are lost"),
        (0b11110, 1, 0, False, True, "restart", "group 0 has a quorum"),
        (0b11110, 0, 1, False, True, "replace", "has a quorum, but nodes are lost"),
        (FIVE, 0, OTHER_NODE, False, True, "replace", "has a quorum, but nodes are lost"),
        # Two of five live: enough come back as long as two are lost, and not when three are.
        (0b11000, 0b111, 0, False, True, "restart", "no quorum, but enough voters can come back"),
        (0b11000, 0b001, 0b110, False, True, "restart", "no quorum, but enough voters can come"),
        (0b11000, 0, 0b111, False, True, "recovery leader", "majority of group 0's voters cannot"),
        (0b11000, 0, 0b111, False, False, "recovery mode", "majority of group 0's voters cannot"),
        (0b11000, 0, 0b111, True, True, "recovery mode", "stuck because it needs nodes that are"),
    ],
)
def test_which_procedure_and_why(
    live: int, down: int, lost: int, stuck: bool, by_leader: bool, procedure: str, why: str
) -> None:
    """A stuck upgrade first, then whether there is or can be a quorum, then who is lost."""
    chosen, reason = which_procedure(Quorum(FIVE, live), down, lost, stuck, by_leader)
    assert chosen == procedure
    assert why in reason


def test_what_depends_on_who_votes_says_so() -> None:
    """A row is as in both cases, offered where it is in both; where in one alone it names that."""

    def rows(*offered: tuple[bool, str]) -> list[ProcedureChoice]:
        names: tuple[Procedure, ...] = ("restart", "replace", "recovery leader", "recovery mode")
        return [ProcedureChoice(name, *each) for name, each in zip(names, offered, strict=True)]

    worst = rows((True, "x"), (False, "x"), (True, "lost"), (False, "x"))
    best = rows((True, "x"), (True, "held"), (False, "x"), (False, "y"))
    assert choices_between(worst, best, ("A, B vote", "B, C vote")) == (
        ProcedureChoice("restart", True, "x"),
        ProcedureChoice("replace", False, "for example if B, C vote", True),
        ProcedureChoice("recovery leader", False, "for example if A, B vote", True),
        ProcedureChoice("recovery mode", False, "x, or y"),
    )
