"""What a student sees of a recovery: nodes with groups and indexes, tabs, what travels."""

from __future__ import annotations

import re
from typing import Any

import pytest

from kit.model.model import verdicts
from kit.model.registry import entries
from kit.model.scenario import files, open_file
from kit.model.timeline import Timeline
from kit.protocols.recovery import facts
from kit.protocols.recovery.panels.stage import _stage
from kit.protocols.recovery.recovering_cluster import RecoveryNode
from kit.views.panel import scene_of
from kit.views.rendered import RenderedTimeline
from tests.protocols.recovery.runs import SEED_STEPS, after
from tests.protocols.test_on_record import opened
from tests.views.frames import check_frame, last_flows, panel_text, scenes, walk, why_not

FIVE: dict[str, Any] = {"commit_indexes": (10, 11, 11, 11, 11), "dead": "C D E"}
SCENARIOS = [f"recovery/{one.name}" for one in entries()["recovery"].scenarios]
FILES = [name for name in files() if name.startswith("recovery/")]
NO_ID = "A: the old group, no group id or discovery state"


@pytest.mark.parametrize("name", SCENARIOS)
def test_every_step_is_drawn_whole(name: str) -> None:
    """In every step of every scenario keys are unique and each panel has words and a label."""
    for scene in scenes(walk(name)):
        check_frame(scene)


@pytest.mark.parametrize("name", FILES)
def test_every_step_of_a_file_is_drawn_whole(name: str) -> None:
    """The same for the family's scenario files."""
    for scene in scenes(open_file(files()[name])):
        check_frame(scene)


def test_nodes_show_group_id_index_and_option() -> None:
    """B created group 2 with 11 entries; A, still in the old group, has no id any more."""
    timeline = after(FIVE, *SEED_STEPS, "restart B")
    text = panel_text(timeline, "rows")
    assert f"{NO_ID}, commit index 10, recovery_leader B, old Raft rows" in text
    assert "★B: group 2, id of group 2, commit index 11" in text
    assert "C: dead, id of the old group, commit index 11" in text
    assert "the dead are cut off" in panel_text(timeline, "nodes")


@pytest.mark.spec("G-020")
def test_schema_changes_and_data_have_lamps_of_their_own() -> None:
    """RF 3 of five nodes: some ranges have ONE, none QUORUM, before and after the recovery of
    schema changes; with RF 2 some ranges have QUORUM though group 0 has none.
    """
    timeline = after({**FIVE, "rf": 2})
    badges = panel_text(timeline, "badges")
    assert "! no schema changes" in badges
    assert "! QUORUM in 1 of 5 ranges" in badges
    assert "replicas A, B; up A, B; available at ONE, QUORUM, ALL" in panel_text(timeline, "ranges")
    recovered = after({**FIVE, "rf": 2}, *SEED_STEPS, "restart B")
    badges = panel_text(recovered, "badges")
    assert "✓ schema changes" in badges
    assert "! QUORUM in 1 of 5 ranges" in badges


@pytest.mark.spec("G-028")
def test_the_column_that_is_no_more_is_shown() -> None:
    """Data in column 11 dangle on B once A's state has reached it."""
    steps = "delete A, delete B, choose A, set A, set B, restart A".split(", ")
    timeline = after(
        {**FIVE, "writes": 1}, "write B column 11", *steps, "restart B", off=("latest-index",)
    )
    assert "data in column 11 !" in panel_text(timeline, "rows")
    said = "column 11 on B ? entry 11 is unknown in group 2"
    assert said in panel_text(timeline, "causality")


@pytest.mark.spec("G-035")
def test_arrows_of_causality_point_backwards() -> None:
    """Data come after the entry that they need, which is persisted on the same node: before that
    they are refused.
    """
    early = after({**FIVE, "writes": 1})
    assert why_not(early, "write A column 11") == "A has not persisted the entry for column 11."
    timeline = after({**FIVE, "writes": 1}, "write B column 11")
    assert "column 11 on B ← entry 11, persisted on B" in panel_text(timeline, "causality")


@pytest.mark.spec("G-036")
def test_data_that_came_too_early_dangle() -> None:
    """Entry 12 died with the others; its data on B point at nothing after the recovery."""
    given = {"commit_indexes": (10, 11, 12, 12, 12), "dead": "C D E", "writes": 1}
    timeline = after(given, "write B column 12", *SEED_STEPS, "restart B", off=("causality",))
    said = "column 12 on B ? entry 12 is unknown in group 2"
    assert said in panel_text(timeline, "causality")


@pytest.mark.spec("G-034")
@pytest.mark.parametrize("leader", ["A", "B"])
def test_an_entry_that_is_lost_leaves_no_dangling_effect(leader: str) -> None:
    """Entry 12 died with C, D and E, whoever leads: B's data need entry 11, which the new group
    has.
    """
    given = {"commit_indexes": (11, 11, 12, 12, 12), "dead": "C D E", "writes": 1}
    steps = [f"choose {leader}" if verb == "choose B" else verb for verb in SEED_STEPS]
    restarts = ("restart A", "restart B") if leader == "A" else ("restart B", "restart A")
    timeline = after(given, "write B column 11", *steps, *restarts)
    assert panel_text(timeline, "causality") == "  column 11 on B ← entry 11, persisted on B"
    for name in "AB":
        assert f"{name}: group 2, id of group 2, commit index 11" in panel_text(timeline, "rows")
    assert not [each for each in verdicts(timeline.model, timeline.state) if not each.ok]


@pytest.mark.spec("G-029")
def test_the_leaders_state_travels_as_a_snapshot() -> None:
    """From B to A, in the step in which A restarts, which its option names and which waits for the
    group of B; the leader's own restart moves nothing.
    """
    told = after(FIVE, *SEED_STEPS)
    assert f"{NO_ID}, commit index 10, recovery_leader B" in panel_text(told, "rows")
    assert why_not(told, "restart A") == (
        "the recovery leader has not created its group yet; missing: B."
    )
    timeline = after(FIVE, *SEED_STEPS, "restart B")
    assert why_not(timeline, "restart A") == ""
    assert not last_flows(timeline)
    timeline = after(FIVE, *SEED_STEPS, "restart B", "restart A")
    [flow] = last_flows(timeline)
    assert (flow.from_key, flow.to_key, flow.kind) == ("n:B", "n:A", "data")
    assert "snapshot of group 2, 11 entries" in flow.text


def test_entries_and_barriers_travel() -> None:
    """An entry goes to all that run in the group; the dead are asked, and do not answer."""
    given = {**FIVE, "operation": True, "changes": 1}
    timeline = after(given, *SEED_STEPS, "restart B", "restart A", "alter A")
    assert [flow.to_key for flow in last_flows(timeline)] == ["n:B"]
    timeline = after(given, *SEED_STEPS, "restart B", "restart A", "coordinate")
    asked = [flow.to_key for flow in last_flows(timeline) if flow.kind == "request"]
    assert asked == ["n:A", "n:C", "n:D", "n:E"]
    answers = [flow.from_key for flow in last_flows(timeline) if flow.kind == "answer"]
    assert answers == ["n:A"]


def test_gossip_is_told_pair_by_pair() -> None:
    """Ids differ during the restarts, and the option tolerates it; a firewall stops the dead."""
    timeline = after({**FIVE, "returns": 1}, *SEED_STEPS, "restart B", "return C")
    text = panel_text(timeline, "gossip")
    assert "A ↔ B: accepted, their group ids differ, but recovery_leader is set" in text
    assert "B ↔ C: rejected, a firewall is between them" in text
    code = "isolate, read, choose B, delete A, delete B, set A, set B, restart B, restart A"
    timeline = after({**FIVE, "edition": "server"}, *code.split(", "), "unset A", "unset B")
    assert "A ↔ B: accepted, their group ids are the same" in panel_text(timeline, "gossip")


@pytest.mark.spec("G-033")
def test_gossip_is_accepted_while_either_side_recovers() -> None:
    """Ids differ during the restarts: no wall parts the nodes, and the table says why."""
    timeline = after(FIVE, *SEED_STEPS, "restart B")
    row = "A ↔ B: accepted, their group ids differ, but recovery_leader is set"
    assert row in panel_text(timeline, "gossip")
    assert "gossip rejected" not in panel_text(timeline, "nodes")
    timeline = after(FIVE, *SEED_STEPS, "restart B", "restart A")
    assert "A ↔ B: accepted, their group ids are the same" in panel_text(timeline, "gossip")


@pytest.mark.spec("G-032")
def test_a_wall_stands_where_gossip_is_rejected() -> None:
    """Edition server, the option taken away again: C, back with the old id, is not heard."""
    steps = "read, choose B, delete A, delete B, set A, set B, restart B, restart A"
    given = {**FIVE, "edition": "server", "returns": 1}
    steps += ", unset A, unset B, return C"
    timeline = after(given, *steps.split(", "), off=("isolation",))
    assert "A ↔ C: rejected, their group ids differ" in panel_text(timeline, "gossip")
    text = panel_text(timeline, "nodes")
    assert "gossip rejected: between C and the others" in text
    assert "firewall" not in text


def test_groups_tell_members_and_majority() -> None:
    """The old group has lost its majority and is given up; the new one has its own."""
    timeline = after(FIVE, *SEED_STEPS, "restart B", "restart A")
    text = panel_text(timeline, "groups")
    assert "the old group: members A, B, C, D, E; running none; cannot commit" in text
    assert "3 are needed, the group is given up" in text
    assert "group 2: members A, B; running A, B; can commit (2 of 2 voters run; 2 are" in text


def test_ranges_are_those_of_the_ring() -> None:
    """Each node that is not removed owns a range; a removed one replicates nothing."""
    timeline = after(FIVE, *SEED_STEPS, "restart B", "restart A", "removenode C")
    model: Any = timeline.model
    rows = facts.ranges(model, timeline.state)
    assert len(rows) == 4
    assert not [row for row in rows if "C" in row.replicas]
    assert {len(row.replicas) for row in rows} == {3}


def test_ranges_have_replicas_in_each_datacenter() -> None:
    """Where places are told: a datacenter that is lost takes one of two replicas of each range."""
    racks = ("dc1/r1", "dc1/r2", "dc2/r1", "dc2/r2")
    given = {"commit_indexes": (1,) * 4, "dead": "C D", "rf": 1, "racks": racks}
    timeline = after(given)
    rows = facts.ranges(timeline.model, timeline.state)
    assert all(len({*row.replicas} & {*"AB"}) == len(row.live) == 1 for row in rows)
    assert {(len(row.replicas), row.levels) for row in rows} == {(2, ("ONE",))}


@pytest.mark.spec("G-027")
def test_only_nodes_with_the_latest_index_can_be_picked() -> None:
    """The button that chooses B can be pressed; A's is greyed, and says why."""
    timeline = after(FIVE, "delete A", "delete B")
    html = RenderedTimeline(timeline).html(timeline.at)
    buttons = re.findall(r"<button [^>]*>(?:choose [AB])</button>", html)
    assert len(buttons) == 2
    [refused] = [each for each in buttons if 'aria-disabled="true"' in each]
    assert refused.endswith("choose A</button>")
    assert "its commit index is 10, but another live node has 11" in refused


@pytest.mark.parametrize(
    ("columns", "data", "dangling"), [(0b11, 0b11, 0), (0b01, 0b11, 0b10), (0b10, 0b01, 0b01)]
)
def test_data_in_a_column_that_a_node_does_not_know_dangle(
    columns: int, data: int, dangling: int
) -> None:
    """Those that it knows do not, whether it has data in them or not."""
    node = RecoveryNode("up", 0, 0, columns=columns, data=data)
    assert facts.PersistedRow("A", node, "old", "1", "", leads=False).dangling == dangling


def test_a_disk_says_what_decides() -> None:
    """An id that the tag does not name, the option, rows of the old group once there is a new one;
    of the dead the index alone.
    """
    timeline = after(FIVE, *SEED_STEPS)
    assert lines_of("A", timeline) == ["index 10", "no id", "leader B"]
    assert lines_of("C", timeline) == ["index 11"]
    timeline = after(FIVE, *SEED_STEPS, "restart B")
    assert lines_of("B", timeline) == ["index 11", "leader B", "old rows"]


def lines_of(name: str, timeline: Timeline) -> list[str]:
    """What stands on a disk."""
    cast = _stage(scene_of(timeline, timeline.at)).characters
    return [*next(each.holds for each in cast if each.name == name)]


def test_every_live_node_tells_its_index() -> None:
    """The operator reads it; the dead answer nothing."""
    timeline = after({**FIVE, "edition": "server"}, "isolate", "read")
    said = [flow.text for flow in last_flows(timeline)]
    assert said == ["A → the operator: commit_idx 10", "B → the operator: commit_idx 11"]


def test_who_is_back_serves_its_ranges() -> None:
    """Given up or not: it runs, and others hear it."""
    timeline = opened("recovery/dead-nodes-return")
    state = timeline.moments[timeline.path()[-1]].state
    returned = {
        n
        for n, each in zip(timeline.model.names, state.nodes, strict=True)
        if each.status == "returned"
    }
    assert returned
    assert returned <= {*timeline.model.named(state.answering)}
