"""What an administrator does and sees of the topology upgrade, step by step."""

from __future__ import annotations

from typing import Any

import pytest

from kit.protocols.upgrade.panels import of_cluster
from kit.protocols.upgrade.rules import ORDER, follows, join_way
from kit.views.panel import scene_of
from tests.protocols.upgrade.runs import buttons, each, refused, to_the_end
from tests.views.frames import after, go_on, last_flows, panel_text

BUILT = ["post A", *each("build"), "generation"]
FEATURE = "SUPPORTS_CONSISTENT_TOPOLOGY_CHANGES"


def topology(given: dict[str, Any], *verbs: str, off: str = "") -> Any:
    """A topology upgrade after these verbs."""
    return after("topology_upgrade", given, *verbs, off=tuple(filter(None, [off])))


@pytest.mark.spec("D-064")
def test_post_is_refused_until_the_last_node_is_upgraded() -> None:
    """And while a node joins in the old way; the button says why."""
    timeline = topology({"older": 2}, "upgrade B")
    said = f"{FEATURE} is not enabled: not every node is upgraded"
    assert refused(timeline, "post B") == said
    assert f"POST at B is not possible now: {said}" in buttons(timeline)
    go_on(timeline, "upgrade A")
    assert f"{FEATURE} is enabled" in timeline.moments[timeline.at].say
    assert refused(timeline, "post B") == ""
    assert "POST at B" in buttons(timeline)
    go_on(timeline, "bootstrap D")
    assert refused(timeline, "post B") == "a topology operation is running"
    go_on(timeline, "finish D")
    assert refused(timeline, "post B") == ""


@pytest.mark.spec("D-065")
def test_post_starts_the_upgrade_once_and_get_answers_by_what_each_node_knows() -> None:
    """C, which has not applied the new state yet, still answers the old one."""
    timeline = topology({"joiners": 0})
    text = panel_text(timeline, "route")
    assert "/storage_service/raft_topology/upgrade" in text
    assert "C: POST accepted; GET not_upgraded" in text
    go_on(timeline, "post B")
    assert [flow.text for flow in last_flows(timeline)] == ["B → A: POST"]
    text = panel_text(timeline, "route")
    assert "A: POST refused: the upgrade has already begun" in text
    assert text.count("GET build_coordinator_state") == 2
    assert "GET not_upgraded" in text.splitlines()[3]
    go_on(timeline, "apply C")
    assert panel_text(timeline, "route").count("GET build_coordinator_state") == 3


@pytest.mark.spec("D-066")
def test_the_topology_upgrade_passes_its_three_states_in_order() -> None:
    """``done`` needs all rows and the CDC generation."""
    assert [follows(a, b) for a in ORDER for b in ORDER] == [
        *(True, True, False),
        *(False, True, True),
        *(False, False, True),
    ]
    timeline = topology({"joiners": 0})
    assert of_cluster(scene_of(timeline, timeline.at)).path[1:] == ORDER[:1]
    go_on(timeline, "post A")
    assert of_cluster(scene_of(timeline, timeline.at)).path[1:] == ORDER[:2]
    assert refused(timeline, "done") == "the new CDC generation has not been inserted"
    assert refused(timeline, "generation") == "system.topology is not complete"
    go_on(timeline, *BUILT[1:], "done")
    assert of_cluster(scene_of(timeline, timeline.at)).path[1:] == ORDER


@pytest.mark.spec("D-067")
def test_the_coordinator_fills_the_topology_table_from_gossip() -> None:
    """Each row comes from the gossip cell of its node; a CDC generation comes last."""
    timeline = topology({"joiners": 0}, "post A", "build B")
    copied = ("gossip:B", "topology:B"), ("n:A", "table")
    assert [(flow.from_key, flow.to_key) for flow in last_flows(timeline)] == [*copied]
    text = panel_text(timeline, "topology").splitlines()
    assert text[2] == "  A  NORMAL, tokens {100}  –"
    assert text[3] == "  B  NORMAL, tokens {200}  → normal, tokens {200}"
    assert text[5] == "  system.cdc_generations_v3: no new generation"
    go_on(timeline, "build A", "build C", "generation")
    [flow] = last_flows(timeline)
    assert flow.to_key == "generations"
    text = panel_text(timeline, "topology").splitlines()
    assert text[4] == "  C  NORMAL, tokens {300}  → normal, tokens {300}"
    assert text[5] == "  system.cdc_generations_v3: 1 new generation"


@pytest.mark.spec("D-068")
def test_a_join_requested_during_the_build_is_served_after_done() -> None:
    """The request waits with its reason."""
    timeline = topology({}, "post A", "build A", "bootstrap D")
    why = "upgrade_state is build_coordinator_state: requests wait until it is done"
    assert refused(timeline, "serve D") == why
    assert f"D  request  {why}" in panel_text(timeline, "joins")
    assert "waits: D" in panel_text(timeline, "badges")
    go_on(timeline, "build B", "build C", "generation", "done")
    assert refused(timeline, "serve D") == ""
    go_on(timeline, "serve D")
    [flow] = last_flows(timeline)
    assert (flow.from_key, flow.text) == ("n:A", "A → D: JOIN_NODE_RESPONSE")
    assert "D  NORMAL, tokens {400}  → normal" in panel_text(timeline, "topology")


@pytest.mark.spec("D-060", "D-061")
def test_before_the_upgrade_a_node_joins_in_the_old_way() -> None:
    """``not_upgraded`` leads to GROUP0_MODIFY_CONFIG; after POST the chart unticks that way."""
    timeline = topology({})
    chart = panel_text(timeline, "joins").splitlines()[:3]
    assert [line.partition(" → ")[0].strip()[2:] for line in chart] == [
        "discovery finds no group", "a member answers not_upgraded", (
            "a member answers something "
            "else"
            ),
    ]  # fmt: skip
    assert "the node creates a cluster with the new topology" in chart[0]
    legacy = "a member answers not_upgraded → the old way: GROUP0_MODIFY_CONFIG, then gossip"
    assert f"✓ {legacy}" in panel_text(timeline, "joins")
    go_on(timeline, "bootstrap D")
    assert "joins in the old way: GROUP0_MODIFY_CONFIG" in timeline.moments[timeline.at].say
    assert [flow.text for flow in last_flows(timeline)] == [
        *("D → A: JOIN_NODE_QUERY", "A → D: not_upgraded", "D → A: GROUP0_MODIFY_CONFIG")
    ]
    assert "D  old way" in panel_text(timeline, "joins")
    go_on(timeline, "finish D", "post A")
    assert f"· {legacy}" in panel_text(timeline, "joins")
    assert join_way(False, "not_upgraded") == "creates the cluster"


def test_the_next_coordinator_goes_on_with_the_build() -> None:
    """A built two rows and goes down; B has them, and the upgrade ends."""
    timeline = topology({"crashes": 1, "joiners": 0}, "post A", "build A", "build B", "crash A")
    assert refused(timeline, "build C") == "group 0 has no leader with a majority"
    go_on(timeline, "elect B")
    assert timeline.state.rows == 0b011
    to_the_end(timeline)
    assert {node.view for node in timeline.state.nodes} == {"done"}


def test_without_a_majority_no_leader_is_elected_and_post_is_refused() -> None:
    """Two of three are down; a node that is down answers no GET."""
    timeline = topology({"crashes": 2, "joiners": 0}, "crash A", "crash B")
    assert refused(timeline, "elect C") == "no majority of group 0 is up"
    assert refused(timeline, "post C") == "group 0 has no leader with a majority"
    assert "C: POST refused: group 0 has no leader" in panel_text(timeline, "route")
    assert "A: POST refused: the node is down; GET no answer" in panel_text(timeline, "route")
