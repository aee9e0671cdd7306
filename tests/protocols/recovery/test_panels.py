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
def test_schema_changes_and_data_have_lamps_of_their_own() -> None:
    """RF 3 of five nodes: some ranges have ONE, none QUORUM, before and after the recovery of
    schema changes; with RF 2 some ranges have QUORUM though group 0 has none.
    """
    timeline = after({**FIVE, "rf": 2})
    badges = panel_text(timeline, "badges")
    assert "! no schema changes" in badges
    assert "! QUORUM in 1 of 5 ranges" in badges
    assert "A, B  A, B  ✓  ✓  ✓" in panel_text(timeline, "ranges")
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
    assert "  column 11 !  " in panel_text(timeline, "rows")
    said = "column 11 on B  !  ? entry 11 is unknown in group 2"
    assert said in panel_text(timeline, "causality")


@pytest.mark.spec("G-035")
def test_arrows_of_causality_point_backwards() -> None:
    """Data come after the entry that they need, which is persisted on the same node: before that
    they are refused.
    """
    early = after({**FIVE, "writes": 1})
    assert why_not(early, "write A column 11") == "A has not persisted the entry for column 11."
    timeline = after({**FIVE, "writes": 1}, "write B column 11")
    assert "column 11 on B  ✓  ← entry 11, persisted on B" in panel_text(timeline, "causality")


@pytest.mark.spec("G-036")
def test_data_that_came_too_early_dangle() -> None:
    """Entry 12 died with the others; its data on B point at nothing after the recovery."""
    given = {"commit_indexes": (10, 11, 12, 12, 12), "dead": "C D E", "writes": 1}
    timeline = after(given, "write B column 12", *SEED_STEPS, "restart B", off=("causality",))
    said = "column 12 on B  !  ? entry 12 is unknown in group 2"
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
    *_, effect = panel_text(timeline, "causality").splitlines()
    assert effect == "  column 11 on B  ✓  ← entry 11, persisted on B"
    for name in "AB":
        assert f"{name}  2  2  yes  11" in panel_text(timeline, "rows")
    assert not [each for each in verdicts(timeline.model, timeline.state) if not each.ok]


@pytest.mark.spec("G-029")
def test_the_leaders_state_travels_as_a_snapshot() -> None:
    """From B to A, in the step in which A restarts, which its option names and which waits for the
    group of B; the leader's own restart moves nothing.
    """
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
def test_gossip_is_accepted_while_either_side_recovers() -> None:
    """Ids differ during the restarts: no wall parts the nodes, and the table says why."""
    timeline = after(FIVE, *SEED_STEPS, "restart B")
    row = "A ↔ B  ✓  their group ids differ, but recovery_leader is set"
    assert row in panel_text(timeline, "gossip")
    assert "gossip rejected" not in panel_text(timeline, "nodes")
    timeline = after(FIVE, *SEED_STEPS, "restart B", "restart A")
    assert "A ↔ B  ✓  their group ids are the same" in panel_text(timeline, "gossip")


@pytest.mark.spec("G-032")
def test_a_wall_stands_where_gossip_is_rejected() -> None:
    """Edition server, the option taken away again: C, back with the old id, is not heard."""
    steps = "read, choose B, delete A, delete B, set A, set B, restart B, restart A"
    given = {**FIVE, "edition": "server", "returns": 1}
    steps += ", unset A, unset B, return C"
    timeline = after(given, *steps.split(", "), off=("isolation",))
    assert "A ↔ C  !  their group ids differ" in panel_text(timeline, "gossip")
    text = panel_text(timeline, "nodes")
    assert "gossip rejected: between C and the others" in text
    assert "firewall" not in text


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


LOST: dict[str, Any] = {"commit_indexes": (10, 11, 12, 12, 12), "dead": "C D E"}


ALL_KNEW: dict[str, Any] = {"commit_indexes": (12, 12, 12, 12, 12), "dead": "C D E"}


@pytest.mark.spec("G-041")
def test_the_newest_version_goes_back_where_an_entry_was_lost_and_no_promise_is_broken() -> None:
    """Entry 12 died with C, D and E: the plot dips from 12 to 11, and says that it is expected."""
    timeline = after(LOST, *SEED_STEPS, "restart B", "restart A")
    text = panel_text(timeline, "driver")
    assert "before the majority was lost: 12" in text
    assert (
        "the version goes back from 12 to 11 (an effect outside the recovery, not a broken" in text
    )
    assert not [each for each in verdicts(timeline.model, timeline.state) if not each.ok]
    _, start = played(LOST)
    assert [point.version for point in driver_points([start])] == [12, 11]


def test_it_does_not_go_back_where_nothing_was_lost() -> None:
    """All knew of entry 12; a change after the recovery is a newer version."""
    timeline = after({**ALL_KNEW, "changes": 1}, *SEED_STEPS, "restart B", "restart A", "alter A")
    text = panel_text(timeline, "driver")
    assert "goes back" not in text
    assert text.splitlines()[-1].endswith(": 13")


def test_a_wrong_leader_takes_a_version_back_that_was_there_after_the_disaster() -> None:
    """B had 11 when A, with 10, led: once B is in the new group the driver sees 10."""
    steps = "delete A, delete B, choose A, set A, set B, restart A".split(", ")
    timeline = after(LOST, *steps, "restart B", off=("latest-index",))
    assert "the version goes back from 11 to 10" in panel_text(timeline, "driver")


def test_nobody_answers_while_all_are_down() -> None:
    """The version seen before is what the next one is compared with."""
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
def test_there_is_one_order(edition: Edition, tmp_path: Path) -> None:
    """The table, what the command prints, the drill's checklist and the Player's suggestion."""
    order = documented("new") if edition == "documents" else ("isolate", *MANUAL)
    assert tuple(step.name for step in NEW_STEPS[edition]) == order
    drill = walked(edition)
    assert tuple(step.name for step in drill.checklist()) == order
    assert suggested(edition) == of_model(order)
    printed = call("recover", written(tmp_path, CLUSTER), "--edition", edition, "--json").json
    assert tuple(step["name"] for step in printed["steps"]) == order


def test_the_documents_order_is_the_documents() -> None:
    """Edition ``documents`` follows their seven steps, in their order."""
    assert tuple(step.name for step in NEW_STEPS["documents"]) == documented("new")


@pytest.mark.spec("G-023")
def test_the_old_procedure_is_the_documents() -> None:
    """Its nine steps, in their order, behind what keeps the dead nodes dead."""
    assert tuple(step.name for step in OLD_STEPS) == ("isolate", *documented("old"))
