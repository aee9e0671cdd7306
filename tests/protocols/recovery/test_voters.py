"""The new procedure where fewer vote than are members (edition ``server``)."""

from __future__ import annotations

from typing import Any

import pytest

from kit.console.drill import Drill, open_drill
from kit.errors import BadInput
from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.protocols.recovery.drill.recovery import procedure_lines
from kit.protocols.recovery.lost_majority import OLD
from kit.protocols.recovery.rules.quorum import after_deaths
from kit.search.check import check
from tests.protocols.recovery.runs import node, played, refused
from tests.views.frames import panel_text

SEVEN: dict[str, Any] = {"edition": "server", "commit_indexes": (2,) * 7, "dead": "A B C"}
TWO: dict[str, Any] = {"edition": "server", "commit_indexes": (1, 2, 2, 2), "dead": "C D"}
WALK = ("isolate", "read", "choose B", "delete A", "delete B", "set A", "set B", "restart B")


def to_the_end(given: dict[str, Any]) -> Timeline:
    """The suggested steps, as far as there are any."""
    timeline = Timeline(build("recovery", given))
    while timeline.forward() is not None:
        pass
    return timeline


def test_three_voters_are_a_lost_majority_of_seven_nodes() -> None:
    """Five vote: where three of them die at once four nodes live, and none can commit."""
    model, state = played({**SEVEN, "changes": 1})
    assert state.voters == (after_deaths("server", model.places, [0b111]).voters,)
    assert refused(model, state, "alter D") == "this group 0 has no majority"
    end = to_the_end(SEVEN)
    assert not [verdict for verdict in end.verdicts() if not verdict.ok]
    assert end.model.is_recovered(end.state)


@pytest.mark.parametrize("dead", ["F G", "A B", "A"])
def test_who_does_not_vote_may_die(dead: str) -> None:
    """A majority of the five voters lives, whoever they are: there is nothing to recover."""
    with pytest.raises(BadInput, match="no majority of the voters is alive"):
        build("recovery", {**SEVEN, "dead": dead})
    with pytest.raises(BadInput, match="not a majority"):
        build("recovery", {**SEVEN, "edition": "documents"})


def test_a_voter_that_is_back_brings_the_old_group_back() -> None:
    """Three of five hear each other and choose again; behind a firewall it is alone."""
    given = {**SEVEN, "changes": 1, "returns": 1}
    begun = ("read", "choose D", "delete D")
    _, state = played(given, *begun, "return A", off=("isolation",))
    assert state.may_commit(OLD)
    assert (state.voters[OLD] & 0b1111001).bit_count() == 4
    _, state = played(given, "isolate", *begun, "return A")
    assert not any(state.may_commit(OLD, side) for side in (False, True))


def test_of_two_live_nodes_the_leader_alone_votes() -> None:
    """The new group outlives the other one's death, and not its own voter's."""
    given = {**TWO, "deaths": 1}
    model, state = played(given, *WALK, "restart A")
    group = node(model, state, "B").group
    assert (state.groups[group], state.voters[group]) == (0b0011, 0b0010)
    _, without_a = played(given, *WALK, "restart A", "die A")
    assert without_a.may_commit(group)
    _, without_b = played(given, *WALK, "restart A", "die B")
    assert without_b.recoverable == -1
    assert without_b.needs_leader


def test_a_new_group_limits_its_voters() -> None:
    """Of six that live five vote in the new group; table and tab tell who."""
    end = to_the_end({"edition": "server", "commit_indexes": (1,) * 9, "dead": "A B C"})
    _, votes = end.state.voters
    assert (end.state.groups[1].bit_count(), votes.bit_count()) == (6, 5)
    assert "vote: 5 of 5 voters run; 3 are needed" in panel_text(end, "groups")


def test_the_drill_shows_who_votes() -> None:
    """The whole procedure typed out passes; ``can_vote`` is false for those beyond five."""
    drill = open_drill("recovery/voters-die-at-once")
    assert drill.enter("POST /raft/read_barrier").error.endswith(
        "timed out: 2 of 5 voters answered, 3 are needed"
    )
    rows = drill.enter("SELECT server_id, can_vote FROM system.raft_state").lines
    assert sum(line.endswith("False") for line in rows) == 2
    typed = Drill(drill.kind, drill.timeline.model)
    for line in procedure_lines(drill.kind, drill.timeline.model):
        assert not typed.enter(line).error, line
    assert typed.grade().passed


@pytest.mark.deep
def test_every_order_with_seven_nodes_holds() -> None:
    """Four of seven live, a crash and a return at any moment: nothing breaks."""
    found = check(build("recovery", {**SEVEN, "crashes": 1, "returns": 1}))
    assert (found.verdict, found.violation) == ("complete", None)
