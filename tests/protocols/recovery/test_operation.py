"""The operation that was in progress when the majority died is ended by the new coordinator."""

from __future__ import annotations

from typing import Any

import pytest

from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.protocols.recovery.panels.recovery import standing
from kit.protocols.recovery.recovering_cluster import next_of_operation
from kit.protocols.topology.rules.editions import MACHINES
from kit.protocols.topology.rules.machines import Edition
from kit.views.diagrams import draw_diagram
from kit.views.panel import scene_of
from tests.protocols.recovery.drill.walks import DELETE, ISOLATE, READ, lead, walked
from tests.protocols.recovery.runs import SEED_STEPS, after
from tests.views.frames import classed, panel_text

FIVE: dict[str, Any] = {"commit_indexes": (2, 2, 2, 2, 2), "dead": "C D E"}
SERVER_STEPS = ("isolate", "read", "choose B", "delete A", "delete B", "set A", "set B")
STEPS = {"documents": SEED_STEPS, "server": SERVER_STEPS}
BACK = "rollback_to_normal"
DEAD, ALIVE, ALL = 0b11100, 0b00011, 0b11111
OLD_READS, NEW_READS = "write_both_read_old", "write_both_read_new"


def lit(timeline: Timeline) -> tuple[list[str | None], int]:
    """The keys of the states that are lit, and how many ways back were taken."""
    place = standing(scene_of(timeline, timeline.at))
    assert place is not None
    drawn = draw_diagram(place, "")
    taken = {one.key for one in classed(drawn, "taken")}
    back = sum(one.key in taken for one in classed(drawn, "back"))
    return [one.key for one in classed(drawn, "lit")], back


@pytest.mark.spec("G-031")
def test_the_rollback_path_lights_up_by_itself() -> None:
    """Nobody types anything for it: as soon as the leader coordinates, a barrier has no answer from
    the dead, and the way back is lit; it ends once the other live node has joined.
    """
    drill = walked("documents", *ISOLATE, *READ, *DELETE, *lead())
    assert lit(drill.timeline) == ([f"state:{OLD_READS}"], 0)
    drill.enter("restart B")
    assert lit(drill.timeline) == ([f"state:{BACK}"], 1)
    assert "got no answer from" in drill.transcript[-1].said[-1]
    drill.enter("restart A")
    assert lit(drill.timeline) == (["state:normal"], 1)
    way = f"● → tablet_draining → {OLD_READS} → {BACK} → tablet_migration → normal"
    assert way in panel_text(drill.timeline, "operation")
    assert "its request has failed" in drill.transcript[-1].said[-1]


NEXT: tuple[tuple[Edition, str, int, str | None, str], ...] = (
    # edition; where it stood; who answers; where it leads (None: it waits); what fails
    ("documents", "tablet_draining", ALIVE, OLD_READS, ""),
    ("documents", OLD_READS, ALIVE, BACK, "barrier"),
    ("documents", OLD_READS, ALL & ~DEAD & ~1, BACK, "barrier"),
    ("documents", OLD_READS, ALL & ~0b100, BACK, "barrier"),
    ("documents", OLD_READS, ALL, NEW_READS, ""),
    ("documents", NEW_READS, ALIVE, "left_token_ring", ""),
    ("documents", NEW_READS, 0b00010, None, "barrier"),
    ("documents", "left_token_ring", ALIVE, "left", ""),
    ("documents", BACK, ALIVE, "tablet_migration", ""),
    ("documents", BACK, 0b00010, None, "barrier"),
    ("documents", "tablet_migration", ALIVE, "normal", ""),
    ("server", OLD_READS, ALIVE, BACK, "barrier"),
    ("server", NEW_READS, ALIVE, "left_token_ring", ""),
    ("server", NEW_READS, 0b00010, "left_token_ring", ""),
    ("server", "left_token_ring", ALIVE, "left", ""),
    ("server", BACK, 0b00010, "normal", ""),
)


@pytest.mark.spec("G-031")
@pytest.mark.parametrize(("edition", "state", "alive", "leads", "fails"), NEXT)
def test_the_coordinator_follows_its_tables(
    edition: Edition, state: str, alive: int, leads: str | None, fails: str
) -> None:
    """C of five was leaving; what fails leads along the edge of its machine, and nothing else.

    A barrier that leads back asks the dead as well. One that is tried again asks nobody who is
    given up: it waits for the live node that has not joined yet, and the server's goes on.
    """
    done = next_of_operation(state, 2, ALL, DEAD, alive, edition)
    assert done.failed == fails
    if leads is None:
        assert done.edge is None
        assert done.missing == 1
        return
    assert done.edge in MACHINES[edition]["decommissioning"].edges
    assert leads == (done.edge.becomes or done.edge.target)


@pytest.mark.spec("G-031")
@pytest.mark.parametrize("edition", ["documents", "server"])
def test_reads_that_have_switched_lead_to_success(edition: str) -> None:
    """There is no way back: the node has left, needs no removal, and others may be removed."""
    given = {**FIVE, "edition": edition, "operation": True, "past_barriers": True}
    verbs = (*STEPS[edition], "restart B", "restart A", "coordinate")
    timeline = after(given, *verbs)
    assert lit(timeline) == (["state:left_token_ring"], 0)
    timeline = after(given, *verbs, "coordinate")
    assert lit(timeline) == (["state:left"], 0)
    assert timeline.moments[timeline.at].say.endswith("C has left the cluster.")
    assert timeline.model.find(timeline.state, "removenode C") is None
    timeline = after(given, *verbs, "coordinate", "removenode D", "removenode E")
    assert timeline.state.dead == 0


@pytest.mark.parametrize("past", [False, True])
@pytest.mark.parametrize("edition", ["documents", "server"])
def test_every_run_ends_it_one_way(edition: str, past: bool) -> None:
    """Searched with a crash and a return: each run takes the edges of the machine to one end."""
    given = {"commit_indexes": (1, 1, 1), "dead": "B C", "crashes": 1, "returns": 1}
    model: Any = build(
        "recovery", {**given, "edition": edition, "operation": True, "past_barriers": past}
    )
    reached = found = {model.start()}
    while found:
        found = {model.apply(s, a) for s in found for a in model.actions(s)} - reached
        reached |= found
    on = {NEW_READS, "left_token_ring", "done"}
    back = {OLD_READS, BACK, "rolled back"}
    if edition == "documents":
        back |= {"tablet_migration"}
    assert {s.operation for s in reached} == (on if past else back)
