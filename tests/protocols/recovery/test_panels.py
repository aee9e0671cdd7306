"""What a student, a driver and a reader see of a recovery, in one order everywhere."""

from __future__ import annotations

import re
from itertools import groupby
from pathlib import Path
from typing import Any

import pytest

from kit.model.model import verdicts
from kit.model.registry import build
from kit.protocols.recovery.panels.recovery import driver_points
from kit.protocols.recovery.rules.procedure import NEW_STEPS, OLD_STEPS
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from kit.views.rendered import RenderedTimeline
from tests.commands.calling import call, written
from tests.fixtures import rows
from tests.protocols.recovery.drill.walks import walked
from tests.protocols.recovery.dry_run.test_command import FIVE as CLUSTER
from tests.protocols.recovery.runs import SEED_STEPS, after, played
from tests.views.frames import last_flows, panel_text, why_not

FIVE: dict[str, Any] = {"commit_indexes": (10, 11, 11, 11, 11), "dead": "C D E"}


@pytest.mark.spec("G-020")
def test_schema_changes_come_back_without_the_lost_replicas() -> None:
    """Two badges: RF 2 of five nodes has QUORUM in 1 of 5 ranges, before and after the recovery."""
    timeline = after({**FIVE, "rf": 2})
    badges = panel_text(timeline, "badges")
    assert "! no schema changes" in badges
    assert "! QUORUM in 1 of 5" in badges
    assert "A, B  A, B  ✓  ✓  ✓" in panel_text(timeline, "ranges")
    recovered = after({**FIVE, "rf": 2}, *SEED_STEPS, "restart B")
    badges = panel_text(recovered, "badges")
    assert "✓ schema changes" in badges
    assert "! QUORUM in 1 of 5" in badges


@pytest.mark.spec("G-028")
def test_data_in_a_column_that_the_recovery_lost_are_marked() -> None:
    """B's data in column 11 point at an entry that group 2 does not know."""
    steps = "delete A, delete B, choose A, set A, set B, restart A".split(", ")
    timeline = after(
        {**FIVE, "writes": 1}, "write B column 11", *steps, "restart B", off=("latest-index",)
    )
    assert "  column 11 !  " in panel_text(timeline, "rows")
    said = "column 11 on B  !  ? entry 11 is unknown in group 2"
    assert said in panel_text(timeline, "causality")


@pytest.mark.spec("G-035")
def test_data_are_stored_only_after_the_entry_for_their_column() -> None:
    """On the same node: before the entry is persisted there, the write is refused."""
    early = after({**FIVE, "writes": 1})
    assert why_not(early, "write A column 11") == "A has not persisted the entry for column 11."
    timeline = after({**FIVE, "writes": 1}, "write B column 11")
    assert "column 11 on B  ✓  ← entry 11, persisted on B" in panel_text(timeline, "causality")


@pytest.mark.spec("G-036")
def test_without_causality_stored_data_lose_their_entry_in_a_recovery() -> None:
    """Entry 12 died with the others; B's data in column 12 point at nothing."""
    given = {"commit_indexes": (10, 11, 12, 12, 12), "dead": "C D E", "writes": 1}
    timeline = after(given, "write B column 12", *SEED_STEPS, "restart B", off=("causality",))
    said = "column 12 on B  !  ? entry 12 is unknown in group 2"
    assert said in panel_text(timeline, "causality")


@pytest.mark.spec("G-034")
@pytest.mark.parametrize("leader", ["A", "B"])
def test_data_keep_their_entry_when_a_later_entry_is_lost(leader: str) -> None:
    """Entry 12 died with C, D and E. B's data need entry 11, which A and B have, whoever leads."""
    given = {"commit_indexes": (11, 11, 12, 12, 12), "dead": "C D E", "writes": 1}
    steps = [f"choose {leader}" if verb == "choose B" else verb for verb in SEED_STEPS]
    restarts = ("restart A", "restart B") if leader == "A" else ("restart B", "restart A")
    timeline = after(given, "write B column 11", *steps, *restarts)
    *_, effect = panel_text(timeline, "causality").splitlines()
    assert effect == "  column 11 on B  ✓  ← entry 11, persisted on B"
    for name in "AB":
        assert f"{name}  2  2  yes  11" in panel_text(timeline, "rows")
    assert not [each for each in verdicts(timeline.model, timeline.state) if not each.ok]


@pytest.mark.spec("G-029")
def test_a_restarted_node_gets_the_recovery_leaders_state_as_a_snapshot() -> None:
    """A waits for the group of B; the leader's own restart moves nothing."""
    told = after(FIVE, *SEED_STEPS)
    assert "A  old  –  –  10  B" in panel_text(told, "rows")
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


@pytest.mark.spec("G-033")
def test_gossip_between_old_and_new_group_is_accepted_while_recovery_leader_is_set() -> None:
    """No wall parts the nodes, and the table says why."""
    timeline = after(FIVE, *SEED_STEPS, "restart B")
    row = "A ↔ B  ✓  their group ids differ, but recovery_leader is set"
    assert row in panel_text(timeline, "gossip")
    assert "gossip rejected" not in panel_text(timeline, "nodes")
    timeline = after(FIVE, *SEED_STEPS, "restart B", "restart A")
    assert "A ↔ B  ✓  their group ids are the same" in panel_text(timeline, "gossip")


@pytest.mark.spec("G-032")
def test_gossip_of_the_old_group_is_rejected_once_recovery_leader_is_unset() -> None:
    """Edition server: a wall without a firewall parts C from the others."""
    steps = "read, choose B, delete A, delete B, set A, set B, restart B, restart A"
    given = {**FIVE, "edition": "server", "returns": 1}
    steps += ", unset A, unset B, return C"
    timeline = after(given, *steps.split(", "), off=("isolation",))
    assert "A ↔ C  !  their group ids differ" in panel_text(timeline, "gossip")
    text = panel_text(timeline, "nodes")
    assert "gossip rejected: between C and the others" in text
    assert "firewall" not in text


@pytest.mark.spec("G-027")
def test_the_button_that_chooses_a_leader_is_greyed_without_the_latest_index() -> None:
    """A's button says why; B's can be pressed."""
    timeline = after(FIVE, "delete A", "delete B")
    html = RenderedTimeline(timeline).html(timeline.at)
    buttons = re.findall(r"<button [^>]*>(?:choose [AB])</button>", html)
    assert len(buttons) == 2
    [refused] = [each for each in buttons if 'aria-disabled="true"' in each]
    assert refused.endswith("choose A</button>")
    assert "its commit index is 10, but another live node has 11" in refused


LOST: dict[str, Any] = {"commit_indexes": (10, 11, 12, 12, 12), "dead": "C D E"}


ALL_KNEW: dict[str, Any] = {"commit_indexes": (12, 12, 12, 12, 12), "dead": "C D E"}


@pytest.mark.spec("G-041")
def test_a_driver_sees_the_version_go_back_where_an_entry_was_lost() -> None:
    """From 12 to 11, which the plot calls expected; no promise is broken."""
    timeline = after(LOST, *SEED_STEPS, "restart B", "restart A")
    text = panel_text(timeline, "driver")
    assert "before the majority was lost: 12" in text
    assert (
        "the version goes back from 12 to 11 (an effect outside the recovery, not a broken" in text
    )
    assert not [each for each in verdicts(timeline.model, timeline.state) if not each.ok]
    _, start = played(LOST)
    assert [point.version for point in driver_points([start])] == [12, 11]


def test_a_driver_sees_no_version_go_back_where_nothing_was_lost() -> None:
    """Every node knew of entry 12; a change after the recovery is version 13."""
    timeline = after({**ALL_KNEW, "changes": 1}, *SEED_STEPS, "restart B", "restart A", "alter A")
    text = panel_text(timeline, "driver")
    assert "goes back" not in text
    assert text.splitlines()[-1].endswith(": 13")


def test_a_wrong_recovery_leader_takes_the_version_back() -> None:
    """B had 11 when A led with 10: once B is in the new group, a driver sees 10."""
    steps = "delete A, delete B, choose A, set A, set B, restart A".split(", ")
    timeline = after(LOST, *steps, "restart B", off=("latest-index",))
    assert "the version goes back from 11 to 10" in panel_text(timeline, "driver")


def test_a_driver_compares_versions_across_a_time_without_answers() -> None:
    """While all nodes are down no version is shown, and the next one does not go back."""
    _, start = played({**ALL_KNEW, "crashes": 2})
    _, none = played({**ALL_KNEW, "crashes": 2}, "crash A", "crash B")
    points = driver_points([start, none, start])
    assert [point.version for point in points] == [12, 12, None, 12]
    assert not any(point.goes_back for point in points)


# The published manual: who is given up is cut off, so that they stay dead (S-50); each live node is
# restarted, ids and indexes are read, and the largest is chosen, before anything is deleted;
# recovery_leader is taken away in the end.
MANUAL = (
    *("rolling restart", "note id", "read", "choose", "delete", "set", "restart leader"),
    *("restart others", "check", "replace", "unset", "clean"),
)


VERBS = {"removenode": "replace"}


def documented(procedure: str) -> tuple[str, ...]:
    """The documents' steps by the names that they have here."""
    told = sorted((int(number), names) for number, _, names in rows("STEP", procedure))
    return tuple(names for _, names in told)


def suggested(edition: str) -> list[str]:
    """The steps that the Player suggests, those of several nodes as one."""
    model: Any = build("recovery", {**FIVE, "edition": edition, "operation": True})
    state, verbs = model.start(), []
    while (action := model.suggest(state)) is not None:
        verbs.append(model.verb(action).split()[0])
        state = model.act(state, action)
    return [VERBS.get(verb, verb) for verb, _ in groupby(verbs) if verb != "coordinate"]


def of_model(names: tuple[str, ...]) -> list[str]:
    """Of these steps those that change something in the model, both restarts as one."""
    still = ("rolling restart", "note id", "check")
    said = [name.partition(" ")[0] for name in names if name not in still]
    return [name for name, _ in groupby(said)]


@pytest.mark.spec("G-026")
@pytest.mark.parametrize("edition", EDITIONS)
def test_the_recovery_has_the_same_order_everywhere(edition: Edition, tmp_path: Path) -> None:
    """In the table, the command's answer, the drill's checklist and the Player's suggestions."""
    order = documented("new") if edition == "documents" else ("isolate", *MANUAL)
    assert tuple(step.name for step in NEW_STEPS[edition]) == order
    drill = walked(edition)
    assert tuple(step.name for step in drill.checklist()) == order
    assert suggested(edition) == of_model(order)
    printed = call("recover", written(tmp_path, CLUSTER), "--edition", edition, "--json").json
    assert tuple(step["name"] for step in printed["steps"]) == order


def test_edition_documents_follows_the_documents_recovery_steps() -> None:
    """In their order."""
    assert tuple(step.name for step in NEW_STEPS["documents"]) == documented("new")


@pytest.mark.spec("G-023")
def test_recovery_mode_follows_the_documents_steps() -> None:
    """In their order, after the step that isolates the dead nodes."""
    assert tuple(step.name for step in OLD_STEPS) == ("isolate", *documented("old"))
