"""One more node dies in the middle of the old procedure; voters that are fewer than members."""

from __future__ import annotations

from typing import Any

import pytest

from kit.errors import BadInput
from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.protocols.recovery.recovery_mode import Die
from kit.protocols.recovery.rules.quorum import after_deaths
from tests.drills import errors
from tests.protocols.recovery.drill.walks import MODE_WALK, walked
from tests.protocols.recovery.recovery_mode.runs import after, model_of, node, refused
from tests.views.frames import panel_text

SEVEN: dict[str, Any] = {"commit_indexes": (2,) * 7, "dead": "D E F G", "deaths": 1}
VOTERS: dict[str, Any] = {"edition": "server", "commit_indexes": (2,) * 7, "dead": "A B C"}
STUCK: dict[str, Any] = {"commit_indexes": (1,) * 4, "dead": "D", "stuck": True, "deaths": 1}


def to_the_end(timeline: Timeline) -> Timeline:
    """The suggested steps, as far as there are any."""
    while timeline.forward() is not None:
        pass
    return timeline


@pytest.mark.parametrize(
    "given", [SEVEN, {**VOTERS, "deaths": 1}, STUCK], ids=["documents", "voters", "stuck"]
)
def test_a_node_may_die_at_every_step(given: dict[str, Any]) -> None:
    """Wherever the documented walk stands, it can go on without one more node, and is whole at the
    end; nothing breaks on the way.
    """
    whole = to_the_end(Timeline(build("recovery_mode", given)))
    actions = [whole.moments[at].action for at in whole.path()[1:]]
    assert len(actions) > 20
    for count in range(len(actions)):
        timeline = Timeline.along(whole.model, actions[:count])
        live = model_of(timeline).named(timeline.state.live)
        timeline.do(Die(live[count % len(live)]))
        to_the_end(timeline)
        assert timeline.state.is_whole, count
        assert timeline.state.live.bit_count() == len(live) - 1
        assert not [verdict for verdict in timeline.verdicts() if not verdict.ok]


def test_the_checklist_counts_who_died_among_the_dead() -> None:
    """C is to be removed as well; what was to be done on it is not."""
    begun = [f"set {name}" for name in "ABC"]
    timeline = after(SEVEN, "isolate", *begun, "stop A", "start A", "die C")
    assert "  C: mode dead, group0_upgrade_state recovery" in panel_text(timeline, "rows")
    lines = panel_text(to_the_end(timeline), "checklist").splitlines()
    assert all(line.endswith(": done") for line in lines), lines
    timeline = after(SEVEN, "isolate", *begun, "die C", "stop A", "start A", "stop B", "start B")
    assert refused(timeline, "removenode C") == ""


def test_with_a_majority_the_group_removes_who_died() -> None:
    """The new group of three goes on with two: no second time in RECOVERY mode."""
    timeline = to_the_end(Timeline(build("recovery_mode", SEVEN)))
    timeline.do(Die("C"))
    assert timeline.model.verb(timeline.suggest()) == "removenode C"
    to_the_end(timeline)
    assert [node(timeline, name).mode for name in "AB"] == ["group 0", "group 0"]


def test_the_last_one_does_not_die() -> None:
    """Somebody has to be left for a recovery."""
    timeline = after({**SEVEN, "deaths": 9}, "die A", "die B")
    assert timeline.model.find(timeline.state, "die C") is None


def test_what_only_the_dead_knew_is_no_loss_of_the_operators() -> None:
    """B alone knew of entry 11, and dies: the grade tells it, and holds nothing against the run."""
    drill = walked("mode", "happen die B", "on A", *MODE_WALK)
    rows = {row.name: row for row in drill.grade().rows}
    assert "with the last node that knew them: 11" in rows["nothing lost"].why
    assert rows["nothing lost"].holds
    assert any("on B" in entry.typed and entry.error for entry in drill.transcript)
    assert errors(walked("mode", "happen die B", "happen die A"))[0].startswith("happen: got")


def test_three_voters_are_a_lost_majority_of_seven_nodes() -> None:
    """Five vote: where three of them die at once four nodes live, and none can commit."""
    timeline = after({**VOTERS, "changes": 1})
    assert timeline.state.voters == (
        after_deaths("server", model_of(timeline).places, [0b111]).voters,
    )
    assert refused(timeline, "alter D") == "this group 0 has no majority"
    to_the_end(timeline)
    assert timeline.state.is_whole
    assert refused(timeline, "alter D") == ""
    with pytest.raises(BadInput, match="no majority of the voters is alive"):
        build("recovery_mode", {**VOTERS, "dead": "F G"})
    with pytest.raises(BadInput, match="not a majority"):
        build("recovery_mode", {**VOTERS, "edition": "documents"})


def test_a_voter_that_is_back_brings_the_old_group_back() -> None:
    """Three of five hear each other and choose who votes: more of those that are there, of each
    rack as many as of another. A firewall keeps it out.
    """
    given = {**VOTERS, "changes": 1, "returns": 1}
    timeline = after(given, "return A")
    assert refused(timeline, "alter D") == ""
    voters = timeline.state.voters[0]
    assert voters.bit_count() == 5
    assert (voters & 0b1111001).bit_count() == 4
    assert refused(after(given, "isolate", "return A"), "alter D") == "this group 0 has no majority"


def test_a_new_group_limits_its_voters() -> None:
    """Of six that live five vote in the new group."""
    given = {"edition": "server", "commit_indexes": (1,) * 9, "dead": "A B C"}
    timeline = to_the_end(Timeline(build("recovery_mode", given)))
    group = node(timeline, "D").group
    assert timeline.state.groups[group].bit_count() == 6
    assert timeline.state.voters[group].bit_count() == 5
