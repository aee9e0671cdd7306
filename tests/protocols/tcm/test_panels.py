"""The panels of the epoch protocol show what the facts say, in pictures and in words."""

from __future__ import annotations

import pytest

from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.protocols.tcm.cluster import TcmCluster
from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.facts.moment import StreamRow
from kit.protocols.tcm.panels.operation import (
    STREAMS,
    draw_epochs,
    draw_operations,
    epochs_text,
    operations_text,
)
from kit.protocols.tcm.panels.placement import draw_placements, placements_text
from kit.protocols.tcm.panels.ring import draw_line, draw_ring, line_text
from kit.protocols.tcm.panels.tables import LOG, LOGICAL, STATUS
from kit.protocols.tcm.parameters import TcmParameters
from kit.ring.replication import Keyspace, SimpleStrategy
from kit.views.actions import action_board
from kit.views.frame import frame, frame_text
from kit.views.panel import Scene
from kit.views.promises import promises_badge
from kit.views.registry import for_model
from tests.views.frames import classed, milestones, part, scenes, table, walk


@pytest.mark.spec("H-006", "A-018", "A-006", "A-007")
def test_the_read_switch_changes_the_read_table_in_one_frame() -> None:
    """In one frame the joiner comes with a plus and the outgoing replicas go with a minus."""
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
    """After the read switch B is only in the write table, and drawn as written only."""
    *_, switch, drop = milestones(walk("tcm/bootstrap"))
    assert table(draw_placements(switch), "writes")["(0, 100]"] == ["A", "B", "X"]
    lone = [chip.text() for chip in classed(draw_placements(switch), "pending")]
    assert lone == ["B", "C", "B"]
    assert table(draw_placements(drop), "writes")["(0, 100]"] == ["A", "X", "−B"]


@pytest.mark.spec("A-008")
def test_the_badge_says_stable_only_when_stable() -> None:
    """The badge is green before and after the operation and never during it."""
    rest = ["stable" in (STATUS.draw(scene).text()) for scene in milestones(walk("tcm/bootstrap"))]
    assert rest == [True, False, False, False, True]
    assert "stable" in STATUS.text(milestones(walk("tcm/bootstrap"))[0])


@pytest.mark.spec("A-001")
def test_the_counter_beside_the_log_grows_by_one_a_commit() -> None:
    """Each committed event adds one line to the log and one to the epoch beside it."""
    for i, scene in enumerate(milestones(walk("tcm/rf3"))):
        drawn = LOG.draw(scene)
        assert classed(drawn, "counter")[0].text() == f"epoch {99 + i} · {i} committed"
        assert len(classed(drawn, "entry")) == i


@pytest.mark.spec("A-003")
def test_an_entry_above_a_gap_is_drawn_as_held_back() -> None:
    """The strip shows a greyed entry until the gap is filled, and then both as applied."""
    found = scenes(walk("tcm/gap"))
    held = [scene for scene in found if classed(draw_epochs(scene), "held")]
    assert held
    assert "holds back 2" in epochs_text(held[0])
    after = found[found.index(held[-1]) + 1]
    cells = [part(draw_epochs(after), f"has:A:{epoch}") for epoch in (1, 2)]
    assert [cell.text() if cell else "" for cell in cells] == ["✓", "✓"]


@pytest.mark.spec("A-004", "H-005")
def test_an_older_epoch_is_drawn_as_it_was() -> None:
    """Going on and coming back shows exactly the former frame."""
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
def test_a_broken_property_lights_its_lamp_and_names_the_witness() -> None:
    """With the order of steps switched off, the lamp of the reads goes out and says where."""
    found = scenes(walk("tcm/bootstrap", off=("write-before-read",)))
    broken = [scene for scene in found if not promises_badge(scene)[1]]
    assert "broken at step" in promises_badge(broken[0])[0]
    lamps = frame(broken[0], for_model(broken[0].model).panels)
    bad = classed(lamps, "bad")
    assert bad
    assert all(classed(lamp, "witness")[0].text() for lamp in bad)
    assert all(classed(lamp, "bulb")[0].text() == "!" for lamp in bad)
    assert "BROKEN" in frame_text(broken[0], for_model(broken[0].model).panels)


@pytest.mark.spec("A-041")
def test_a_moving_replica_counts_as_both_its_nodes() -> None:
    """In the logical view the replica under way lists the node it leaves and the one it goes to."""
    scene = milestones(walk("tcm/bootstrap"))[2]
    assert "(0, 100] reads A, B; writes (A), (B and X)" in LOGICAL.text(scene)
    assert "(0, 100]  A B  A B and X" in LOGICAL.draw(scene).lines()


@pytest.mark.spec("A-042")
def test_ring_and_line_show_the_same_tokens_and_nothing_wraps() -> None:
    """Both pictures hold the same tokens; the line runs from its first token to its last."""
    scene = milestones(walk("tcm/bootstrap"))[1]
    ring = {one.key for one in draw_ring(scene).walk() if (one.key or "").startswith("n:")}
    line = {one.key for one in draw_line(scene).walk() if (one.key or "").startswith("at:")}
    assert {key.removeprefix("n:") for key in ring} == {key.removeprefix("at:") for key in line}
    assert line_text(scene).split() == "0 … A@100 X@150 B@200 C@300 … 400".split()
    for row in facts.rows(scene.model, scene.state):
        assert row.left < row.right


@pytest.mark.spec("H-007")
def test_the_diagram_lights_the_current_state_and_the_path_taken() -> None:
    """The state of the operation is lit in its diagram, and the edges so far are marked."""
    scene = milestones(walk("tcm/bootstrap"))[2]
    drawn = draw_operations(scene)
    lit = classed(drawn, "lit")
    assert [one.key for one in lit] == ["op:X:state:add-writes"]
    assert len(classed(drawn, "taken")) == 2
    assert "> add-writes --switch-reads--> switch-reads" in operations_text(scene)


@pytest.mark.spec("A-020")
def test_the_read_switch_waits_for_its_streams_in_the_open() -> None:
    """Its button is disabled with the reason, beside a bar of what is streamed already."""
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
def test_a_committed_entry_cannot_be_edited() -> None:
    """Beside the log stands a button to edit it; it is refused, and says that entries stay."""
    scene = milestones(walk("tcm/bootstrap"))[1]
    parts = [each for each in action_board(scene).walk() if each.tag == "button"]
    button = next(each for each in parts if each.text() == "edit epoch 1")
    assert "an entry never changes" in (button.get("data-refused") or "")


@pytest.mark.spec("A-037")
def test_pending_steps_are_shown_with_the_metadata() -> None:
    """The panel of operations lists what is done, what is next and what is still to come."""
    scene = milestones(walk("tcm/bootstrap"))[2]
    drawn = draw_operations(scene).walk()
    steps = [one for one in drawn if one.tag == "li" and ":step:" in (one.key or "")]
    assert [one.get("class") for one in steps] == ["done", "done", "next", "pending"]


@pytest.mark.spec("A-014")
def test_several_keyspaces_have_a_drop_down() -> None:
    """Each keyspace has its tables; the first is shown until another is chosen."""
    names = ["one", "<img src=x onerror=alert(1)>"]
    spaces = tuple(Keyspace(name, SimpleStrategy(i + 1)) for i, name in enumerate(names))
    model = TcmCluster(TcmParameters(keyspaces=spaces))
    drawn = draw_placements(Scene(model, model.start()))
    options = [one.text() for one in drawn.walk() if one.tag == "option"]
    assert options == names
    hidden = [one.get("hidden") for one in drawn.walk() if one.get("data-choice")]
    assert hidden == [None, ""]
    assert "<img" not in drawn.html()


def test_a_large_table_is_never_cut_in_silence() -> None:
    """Above 200 ranges the frame shows the changed ones and lists all the others for the search."""
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
