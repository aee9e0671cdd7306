"""The panels of the epoch protocol, the ring that shows whose a range is, a commit opened."""

from __future__ import annotations

from itertools import pairwise

import pytest

from kit import Player
from kit.model.registry import build, entry_of
from kit.model.timeline import Timeline, played_out
from kit.protocols.tcm.cluster import TcmCluster
from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.facts.moment import StreamRow, missed, range_key
from kit.protocols.tcm.panels.operation import (
    STREAMS,
    draw_epochs,
    draw_operations,
    operations_text,
)
from kit.protocols.tcm.panels.placement import draw_placements, placements_text
from kit.protocols.tcm.panels.ring import RING, ring_of, ring_text
from kit.protocols.tcm.panels.tables import LOG, LOGICAL, STATUS
from kit.protocols.tcm.parameters import TcmParameters
from kit.ring.replication import Keyspace, SimpleStrategy
from kit.search.zoom import zoomed
from kit.views.actions import action_board
from kit.views.frame import frame, frame_text
from kit.views.panel import Scene
from kit.views.promises import promises_badge
from kit.views.registry import for_model
from tests.views.frames import classed, milestones, part, scenes, table, walk


@pytest.mark.spec("H-006", "A-018", "A-006", "A-007")
def test_the_read_switch_changes_the_read_table_in_one_frame() -> None:
    """The joiner has a plus, and the outgoing replicas have a minus."""
    start, _, _, switch, _ = milestones(walk("tcm/bootstrap"))
    drawn = draw_placements(switch)
    assert table(drawn, "reads") == {
        "(0, 100]": ["A", "+X", "−B"],
        "(100, 150]": ["+X", "B", "−C"],
        "(150, 200]": ["B", "C"],
    }
    assert len(classed(drawn, "added")) == len(classed(drawn, "removed")) == 3
    assert table(draw_placements(start), "reads") == {
        "(0, 100]": ["A", "B"],
        "(100, 200]": ["B", "C"],
    }


@pytest.mark.spec("A-019")
def test_the_outgoing_replica_stays_in_the_write_table_for_an_epoch() -> None:
    """It is drawn as a replica that only gets writes."""
    *_, switch, drop = milestones(walk("tcm/bootstrap"))
    assert table(draw_placements(switch), "writes")["(0, 100]"] == ["A", "B", "X"]
    lone = [chip.text() for chip in classed(draw_placements(switch), "pending")]
    assert lone == ["B", "C", "B"]
    assert table(draw_placements(drop), "writes")["(0, 100]"] == ["A", "X", "−B"]


@pytest.mark.spec("A-008")
def test_the_badge_says_at_rest_before_and_after_an_operation_and_never_during() -> None:
    """Each epoch of a bootstrap is looked at."""
    epochs = milestones(walk("tcm/bootstrap"))
    rest = ["reads equal writes" in STATUS.draw(scene).text() for scene in epochs]
    assert rest == [True, False, False, False, True]
    assert "stable" in STATUS.text(epochs[0])


@pytest.mark.spec("A-001")
def test_the_epoch_counter_and_the_log_grow_by_one_with_each_commit() -> None:
    """The log has one entry for each commit."""
    for i, scene in enumerate(milestones(walk("tcm/rf3"))):
        drawn = LOG.draw(scene)
        assert classed(drawn, "counter")[0].text() == f"epoch {99 + i} · {i} committed"
        assert len(classed(drawn, "entry")) == i


@pytest.mark.spec("A-003")
def test_an_entry_above_a_gap_is_drawn_as_held_back() -> None:
    """Once the gap is filled both epochs are drawn as applied."""
    found = scenes(walk("tcm/gap"))
    held = [scene for scene in found if classed(draw_epochs(scene), "held")]
    assert held
    after = found[found.index(held[-1]) + 1]
    cells = [part(draw_epochs(after), f"has:A:{epoch}") for epoch in (1, 2)]
    assert [cell.text() if cell else "" for cell in cells] == ["✓", "✓"]


@pytest.mark.spec("A-004", "H-005")
def test_going_back_to_an_older_epoch_draws_the_same_frame() -> None:
    """The frame in between was another one."""
    timeline = walk("tcm/bootstrap")
    timeline.to_milestone()
    views = for_model(timeline.model)

    def drawn() -> str:
        now = timeline.now
        scene = Scene(timeline.model, now.state, timeline.before, now.action, now.say)
        return frame(scene, views.panels).html()

    before = drawn()
    timeline.to_milestone()
    assert drawn() != before
    while timeline.now.milestone != "epoch 1":
        timeline.back()
    assert drawn() == before


@pytest.mark.spec("A-009")
def test_a_broken_property_puts_its_lamp_out_and_names_the_witness() -> None:
    """The badge names the step."""
    found = scenes(walk("tcm/bootstrap", off=("write-before-read",)))
    broken = [scene for scene in found if not promises_badge(scene)[1]]
    assert "broken at step" in promises_badge(broken[0])[0]
    lamps = frame(broken[0], for_model(broken[0].model).panels)
    bad = [lamp for lamp in classed(lamps, "lamp") if "bad" in (lamp.get("class") or "")]
    assert bad
    assert all(classed(lamp, "witness")[0].text() for lamp in bad)
    assert all(classed(lamp, "bulb")[0].text() == "!" for lamp in bad)
    assert "BROKEN" in frame_text(broken[0], for_model(broken[0].model).panels)


@pytest.mark.spec("A-041")
def test_the_logical_view_lists_a_moving_replica_with_both_its_nodes() -> None:
    """One logical writer is "B and X"."""
    scene = milestones(walk("tcm/bootstrap"))[2]
    assert "(0, 100]  A B  A B and X" in LOGICAL.draw(scene).lines()


@pytest.mark.spec("A-042")
def test_the_ring_has_each_token_once_and_no_range_wraps() -> None:
    """Its bands go on from the first token of the line to the last one."""
    scene = milestones(walk("tcm/bootstrap"))[1]
    ring, rows = ring_of(scene), facts.rows(scene.model, scene.state)
    spots = {one.key for one in RING.draw(scene).walk() if "spot" in (one.get("class") or "")}
    assert spots == {"n:A:100", "n:X:150", "n:B:200", "n:C:300"}
    assert [*ring.tables[0].rows] == [(row.left, row.right) for row in rows]
    assert (rows[0].left, rows[-1].right) == (ring.low, ring.high)
    for row, other in pairwise(rows):
        assert row.left < row.right == other.left < other.right


def test_a_node_that_is_far_behind_has_the_cards_that_it_has_heard_of() -> None:
    """The newest of them, and behind it the next one, however many there are by now."""
    scene = milestones(walk("tcm/bootstrap"))[3]
    newest = ring_of(scene).log[-1].number
    for who in ring_of(scene).behind:
        mine = ring_of(scene, who)
        known = next(row.epoch for row in scene.of(facts.applied) if row.node == who)
        assert mine.planned is not None
        assert int(mine.log[-1].number) == known < int(mine.planned.number) == known + 1
        assert mine.since == f"epoch {known}" != f"epoch {newest}"


@pytest.mark.spec("H-007")
def test_the_diagram_lights_the_current_state_and_the_path_taken() -> None:
    """The text marks the next event."""
    scene = milestones(walk("tcm/bootstrap"))[2]
    drawn = draw_operations(scene)
    lit = classed(drawn, "lit")
    assert [one.key for one in lit] == ["op:X:state:add-writes"]
    assert len(classed(drawn, "taken")) == 2
    assert "> add-writes --switch-reads--> switch-reads" in operations_text(scene)


@pytest.mark.spec("A-020")
def test_the_read_switch_button_counts_its_missing_streams() -> None:
    """A bar has the same figures."""
    timeline = walk("tcm/bootstrap")
    while not any(row.done for row in _streams(timeline)):
        timeline.forward()
    scene = Scene(timeline.model, timeline.state)
    button = next(
        one for one in action_board(scene).walk() if one.tag == "button" and "switch" in one.text()
    )
    assert button.get("aria-disabled") == "true"
    assert "streaming to X is not complete: 1 of 2 done" in (button.get("data-refused") or "")
    bar = next(one for one in STREAMS.draw(scene).walk() if one.tag == "progress")
    done = sum(row.done for row in _streams(timeline))
    assert (bar.get("value"), bar.get("max")) == (str(done), str(len(_streams(timeline))))


def _streams(timeline: Timeline) -> tuple[StreamRow, ...]:
    found = facts.operations(timeline.model, timeline.state)
    return found[0].streams if found else ()


@pytest.mark.spec("A-002")
def test_the_button_that_edits_a_log_entry_is_refused() -> None:
    """The reason says that an entry never changes."""
    scene = milestones(walk("tcm/bootstrap"))[1]
    parts = [each for each in action_board(scene).walk() if each.tag == "button"]
    button = next(each for each in parts if each.text() == "edit epoch 1")
    assert "an entry never changes" in (button.get("data-refused") or "")


@pytest.mark.spec("A-037")
def test_the_operation_panel_lists_done_next_and_pending_steps() -> None:
    """After two of four events of a bootstrap."""
    scene = milestones(walk("tcm/bootstrap"))[2]
    drawn = draw_operations(scene).walk()
    steps = [one for one in drawn if one.tag == "li" and ":step:" in (one.key or "")]
    assert [one.get("class") for one in steps] == ["done", "done", "next", "pending"]


@pytest.mark.spec("A-014")
def test_the_placement_tables_of_keyspaces_are_chosen_in_a_drop_down() -> None:
    """The first is shown, and names are escaped."""
    names = ["one", "<img src=x onerror=alert(1)>"]
    spaces = tuple(Keyspace(name, SimpleStrategy(i + 1)) for i, name in enumerate(names))
    model = TcmCluster(TcmParameters(keyspaces=spaces))
    drawn = draw_placements(Scene(model, model.start()))
    options = [one.text() for one in drawn.walk() if one.tag == "option"]
    assert options == names
    hidden = [one.get("hidden") for one in drawn.walk() if one.get("data-choice")]
    assert hidden == [None, ""]
    assert "<img" not in drawn.html()


def test_a_large_table_lists_every_unchanged_range_for_its_search() -> None:
    """The text says how many ranges are not listed."""
    timeline = Timeline(build("tcm", {"nodes": 64, "tokens": 16, "rf": 3}))
    timeline.to_milestone()
    scene = Scene(timeline.model, timeline.state, timeline.before, timeline.now.action)
    count = len(facts.rows(timeline.model, timeline.state))
    drawn = draw_placements(scene)
    assert f"{count:,} ranges" in drawn.text()
    listed = [one for one in drawn.walk() if one.tag == "li"]
    assert len(listed) == count
    assert any(one.get("type") == "search" for one in drawn.walk())
    assert f"Not listed: {count:,} ranges that did not change" in placements_text(scene)


@pytest.mark.parametrize(
    ("name", "off"), [("tcm/rf3", "old-writer-stays"), ("tcm/two-bootstraps", "write-before-read")]
)
def test_quorums_that_miss_mark_their_range_and_nodes_on_the_ring(name: str, off: str) -> None:
    """Both quorums are outlined. Before anything is broken nothing is marked."""
    found = scenes(walk(name, off=(off,)))
    broken = next(one for one in found if missed(one.model, one.state))
    apart = missed(broken.model, broken.state)
    assert apart is not None
    token, (_, reads), (_, writes) = apart
    assert not set(reads) & set(writes)
    row = next(
        row for row in facts.rows(broken.model, broken.state) if row.left < token <= row.right
    )
    drawn = RING.draw(broken)
    named = {one.get("data-of") for one in classed(drawn, "guilty")}
    assert {range_key(row.left, row.right), *reads} <= named
    asked = [classed(one, "node") for one in classed(drawn, "probe")]
    assert [[one.text() for one in some] for some in asked] == [[*reads], [*writes]]
    assert "have no node in common" in ring_text(broken)
    assert not classed(RING.draw(found[0]), "guilty")


def ended(scenario: str) -> Timeline:
    """A scenario, played to its end."""
    return played_out(Player(scenario, controls=False).timeline)


def commits(timeline: Timeline) -> list[int]:
    """The moments at which an epoch was committed."""
    moments = [timeline.moments[at] for at in timeline.path()[1:]]
    before = {each.id: timeline.moments[each.parent].state for each in moments}
    return [
        each.id
        for each in moments
        if len(each.state.log.entries) > len(before[each.id].log.entries)
    ]


@pytest.mark.parametrize("scenario", ["tcm/bootstrap", "tcm/cancel", "tcm/crash-and-resume"])
def test_each_commit_opens_a_finer_run_that_refines_its_append(scenario: str) -> None:
    """Where the finer run ends, its log has the entry that was committed."""
    timeline = ended(scenario)
    for count, moment in enumerate(commits(timeline), 1):
        run = zoomed(timeline, moment)
        refines = entry_of("commit").refinement
        assert refines is not None
        refinement = refines(run.model.parameters)
        steps = run.passed(run.tip)
        assert not [s for s in steps if refinement.mismatch(s.before, s.action, s.after)]
        assert refinement.image(steps[-1].before, steps[-1].action, steps[-1].after)
        entries = refinement.project(run.moments[run.tip].state).entries
        assert len(entries) == count
        row = facts.log(timeline.model, timeline.moments[moment].state)[-1]  # type: ignore[arg-type]  # its model is tcm
        assert entries[count - 1].event == f"{row.operation.title}: {row.text}"


def test_the_finer_run_of_a_commit_starts_with_the_submission_by_its_driver() -> None:
    """The story names the epoch."""
    timeline = ended("tcm/bootstrap")
    finer = zoomed(timeline, commits(timeline)[2])
    assert finer.model.verb(finer.forward().action) == "submit r3 A"  # type: ignore[union-attr]  # there is a step
    assert finer.now.say == "X submits “bootstrap X at 150: switch reads” to A."
    assert finer.story == "How epoch 3 gets into the log, with A, B, C as the CMS"


def test_the_last_commit_of_a_long_log_opens_down_to_its_paxos_round() -> None:
    """The round knows all earlier entries of more than eight epochs."""
    timeline = ended("tcm/two-bootstraps")
    found = commits(timeline)
    assert len(found) > 8
    submitted = zoomed(timeline, found[-1])
    round_ = zoomed(submitted, submitted.tip)
    assert round_.model.name == "paxos"
    assert len(round_.model.history(round_.moments[round_.tip].state)) == len(found)  # type: ignore[attr-defined]  # of paxos


def test_a_node_that_was_down_is_no_member_of_the_finer_run() -> None:
    """It could not have answered. Of two nodes one is the CMS."""
    timeline = Timeline(Player("tcm/crash-and-resume", controls=False).model)
    timeline.do(timeline.model.find(timeline.state, "crash A")[0])  # type: ignore[index]  # it may crash
    played_out(timeline)
    run = zoomed(timeline, commits(timeline)[0])
    assert run.model.names == ("B", "X")  # type: ignore[attr-defined]  # names of nodes
    assert run.story.endswith(" with B as the CMS")


def test_the_zoom_button_opens_one_finer_player_at_a_commit() -> None:
    """At a step that commits nothing it is off, and says why."""
    player = Player("tcm/bootstrap")
    [zoom] = [each for each in player.controls.row.children if each.description == "Zoom in"]  # type: ignore[union-attr]  # with controls
    player.goto(0)
    assert zoom.tooltip == "no finer view here"
    for _ in range(2):
        player.step()
        assert zoom.disabled == (player.timeline.at not in commits(player.timeline))
        zoom.click() if not zoom.disabled else None
    assert [type(child).__name__ for child in player.children][2:] == ["Player"]
    assert player.children[2].model.name == "commit"
