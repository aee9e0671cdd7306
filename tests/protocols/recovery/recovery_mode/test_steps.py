"""The old procedure step by step: what a server refuses, and what a student sees of it."""

from __future__ import annotations

from typing import Any

import pytest

from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.protocols.recovery.lost_majority import NO_GROUP
from kit.protocols.recovery.recovery_mode import Die
from tests.fixtures import rows
from tests.protocols.recovery.recovery_mode.runs import (
    ENTER,
    FOUR,
    LEAVE,
    REMOVE,
    RESTART_A,
    RESTART_B,
    TRUNCATE,
    UPGRADE,
    after,
    model_of,
    node,
    refused,
)
from tests.views.frames import panel_text


def test_the_suggested_steps_end_with_a_whole_cluster() -> None:
    """Followed to its end the documented order gives one group of the live nodes."""
    timeline = after({"commit_indexes": (10, 11, 11, 11, 11), "dead": "C D E"})
    verbs = []
    while (action := timeline.model.suggest(timeline.state)) is not None:
        verbs.append(timeline.model.verb(action))
        timeline.do(action)
    assert timeline.state.is_whole
    assert timeline.state.groups[1] == 0b11
    kinds = list(dict.fromkeys(verb.split()[0] for verb in verbs))
    assert kinds == [
        *("isolate", "set", "stop", "start", "pull", "logs", "removenode", "discovery", "history"),
        *("id", "describecluster", "unset", "enter", "synchronize", "finish"),
    ]
    assert [node(timeline, name).columns.bit_count() for name in "AB"] == [11, 11]


def test_who_removes_others_runs() -> None:
    """A node in RECOVERY mode removes the lost ones, and none that is stopped does."""
    timeline = after(FOUR, *ENTER)
    assert timeline.state.remover == 0
    timeline = after(FOUR, *ENTER, "stop A")
    assert timeline.state.remover == 1
    assert after(FOUR, *ENTER, "stop A", "stop B").state.remover is None


def test_a_stuck_upgrade_is_recovered_as_well() -> None:
    """One of three died in it: the others wait for it, until it is removed in RECOVERY mode."""
    timeline = after({"commit_indexes": (1, 1, 1), "dead": "C", "stuck": True})
    assert refused(timeline, "finish A") == "some members are not in synchronize yet C"
    assert "must wait until the Raft upgrade" in refused(timeline, "removenode C")
    while (action := timeline.model.suggest(timeline.state)) is not None:
        timeline.do(action)
    assert timeline.state.is_whole


def test_a_value_takes_effect_when_its_node_restarts() -> None:
    """Set on both, only A has restarted: B still runs in the old group."""
    timeline = after(FOUR, "set A", "set B", *RESTART_A)
    assert (node(timeline, "A").mode, node(timeline, "A").group) == ("recovery", NO_GROUP)
    assert (node(timeline, "B").mode, node(timeline, "B").group) == ("group 0", 0)
    assert node(timeline, "B").value == "recovery"
    assert refused(timeline, "logs") == "some nodes are not in RECOVERY mode B"


def test_dead_nodes_are_removed_in_recovery_mode_alone() -> None:
    """Group 0 has no majority; who is alive is not removed; a Raft upgrade holds removals up."""
    assert "no majority" in refused(after(FOUR), "removenode C")
    entered = after(FOUR, *ENTER, "logs", "stop B")
    assert refused(entered, "removenode C") == "some live nodes are down B"
    assert refused(after(FOUR, *ENTER), "removenode C") == ""
    upgrading = after(FOUR, *ENTER, "unset A", *RESTART_A, "unset B", "stop B", "start B")
    assert "must wait until the Raft upgrade" in refused(upgrading, "removenode C")
    given = {**FOUR, "returns": 1}
    back = after(given, *ENTER[1:], "return C")
    assert refused(back, "removenode C") == "the node is alive C"
    assert refused(after(given, *ENTER, "return C"), "removenode C") == ""


def test_discovery_waits_for_nodes_that_its_table_still_names() -> None:
    """Without the truncation on one node alone, both wait for the removed ones."""
    kept = tuple(verb for verb in TRUNCATE if verb != "discovery B")
    timeline = after(FOUR, *ENTER, *REMOVE, *kept, *LEAVE)
    for verb in ("enter A", "enter B"):
        assert refused(timeline, verb) == "discovery waits for all nodes that it knows about C D"


def test_a_group_id_that_was_kept_brings_the_old_group_back() -> None:
    """Its members are dead: they answer no check of the schema, and nobody joins it."""
    kept = tuple(verb for verb in TRUNCATE if verb != "id A")
    timeline = after(FOUR, *ENTER, *REMOVE, *kept, *LEAVE)
    assert node(timeline, "A").group == 0
    assert refused(timeline, "enter B") == "the old group has no majority to let the node in"
    assert (
        refused(timeline, "synchronize A") == "some members of the node's group 0 do not answer C D"
    )


def test_schema_changes_by_mode() -> None:
    """No majority: none. RECOVERY mode: each node for itself. Upgrade: none in synchronize."""
    assert refused(after(FOUR), "alter A") == "this group 0 has no majority"
    assert refused(after(FOUR, *ENTER), "alter A") == ""
    timeline = after(FOUR, *ENTER, *REMOVE, *TRUNCATE, *LEAVE, *UPGRADE[:3])
    assert "currently upgrading to use Raft" in refused(timeline, "alter A")


def test_a_node_pulls_no_schema_of_an_equal_version() -> None:
    """B's column is older than A's version of group 0, which B pulls: nobody sees that A lacks it.

    Before that pull their versions differ, and A pulls as well as B.
    """
    apart = (
        *(*ENTER, *REMOVE, *TRUNCATE, *LEAVE, *UPGRADE[:-1]),
        *("set A", "set B", *RESTART_B, "alter B", "alter A", *RESTART_A),
    )
    parameters = {**FOUR, "edition": "server"}
    before = after(parameters, *apart)
    assert before.model.find(before.state, "pull A B") is not None
    pulled = after(parameters, *apart, "pull B A")
    a, b = node(pulled, "A"), node(pulled, "B")
    assert a.schema_version == b.schema_version
    assert b.columns & ~a.columns == 1 << 2
    assert pulled.model.find(pulled.state, "pull A B") is None


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


@pytest.mark.spec("G-023")
def test_the_checklist_follows_the_documented_steps() -> None:
    """Each is to do, begun or done; nothing is wrong while they are taken in their order."""
    timeline = after(FOUR, *ENTER[:4])
    lines = panel_text(timeline, "checklist").splitlines()
    assert lines[:4] == [
        "  isolate: done",
        "  enter: done",
        "  restart: begun",
        "  check mode: to do",
    ]
    timeline = after(FOUR, *ENTER, *REMOVE, *TRUNCATE, *LEAVE, *UPGRADE)
    assert all(line.endswith(": done") for line in panel_text(timeline, "checklist").splitlines())


@pytest.mark.spec("G-023")
def test_the_harm_stands_at_the_step_that_was_left_out() -> None:
    """Found by a search: both wait for dead nodes that were not removed."""
    timeline = after(FOUR, *ENTER, "logs", "discovery A")
    [line] = [one for one in panel_text(timeline, "checklist").splitlines() if "  remove:" in one]
    assert "left out (ends" in line
    assert "the upgrade waits until every peer answers (C, D)" in line
    assert panel_text(timeline, "checklist").count("(ends") == 1


@pytest.mark.spec("G-024")
def test_the_log_of_a_node_says_recovery_mode() -> None:
    """In the server's own words and of its own components; the upgrade's are there at the end."""
    timeline = after(FOUR, *ENTER[:3], *RESTART_A)
    assert panel_text(timeline, "log").splitlines()[-3:] == [
        f"  A {component} - {text}" for _, component, text in rows("LOG", "recovery")
    ]
    assert "  B " not in panel_text(timeline, "log")
    timeline = after(FOUR, *ENTER, *REMOVE, *TRUNCATE, *LEAVE, *UPGRADE)
    assert (
        panel_text(timeline, "log").splitlines()[-1]
        == "  B raft_group0_upgrade - Raft upgrade finished"
    )


@pytest.mark.spec("G-025")
def test_data_dip_while_one_more_node_restarts() -> None:
    """One of three is dead, RF 3, QUORUM: none is left while A is down; it is back with A."""
    given = {"commit_indexes": (1, 1, 1), "dead": "C", "stuck": True, "rf": 3}
    assert "✓ data at QUORUM" in panel_text(after(given, "set A"), "badges")
    timeline = after(given, "set A", "stop A")
    assert "! QUORUM in 0 of 3" in panel_text(timeline, "badges")
    assert "A, B, C  B  ✓  !  !" in panel_text(timeline, "ranges")
    assert "✓ data at QUORUM" in panel_text(after(given, "set A", *RESTART_A), "badges")


@pytest.mark.spec("C-046")
def test_a_change_in_recovery_mode_brings_the_hash_back() -> None:
    """A tombstone, committed_by_group0 false, source hash; a change by group 0 ends that."""
    timeline = after(FOUR, *ENTER, "pull A B")
    assert "v2 of group 0  true" in row(timeline, "A")
    timeline = after(FOUR, *ENTER, "pull A B", "alter A")
    assert "hash of columns 1+2+3" in row(timeline, "A")
    assert "  false" in row(timeline, "A")
    assert " of group 0  " in row(timeline, "B")
    rest = ("logs", "pull B A", "removenode C", "removenode D", *TRUNCATE, *LEAVE, *UPGRADE)
    timeline = after(FOUR, *ENTER, "pull A B", "alter A", *rest)
    assert "hash of columns" in row(timeline, "B")
    timeline = after(FOUR, *ENTER, "pull A B", "alter A", *rest, "alter B")
    assert "v4 of group 0" in row(timeline, "A")


def row(timeline: Timeline, name: str) -> str:
    """A node's line in the table."""
    [line] = [
        one for one in panel_text(timeline, "others").splitlines() if one.startswith(f"  {name}  ")
    ]
    return line
