"""A commit of the epoch protocol, opened as the run of ``commit`` that achieves it."""

from __future__ import annotations

import pytest

from kit import Player
from kit.errors import KitError
from kit.model.registry import entry_of
from kit.model.timeline import Timeline, played_out
from kit.protocols.tcm.facts import moment as facts
from kit.search.zoom import zoomed


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
def test_each_commit_is_the_append_that_the_finer_run_refines(scenario: str) -> None:
    """The finer run refines the log step by step; where it ends, the log is as long, and its last
    entry is what was committed.
    """
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


def test_one_looks_at_it_from_its_submission_on() -> None:
    """The next step is the submission by the node that drives the operation, by its own name."""
    timeline = ended("tcm/bootstrap")
    finer = zoomed(timeline, commits(timeline)[2])
    assert finer.model.verb(finer.forward().action) == "submit r3 A"  # type: ignore[union-attr]  # there is a step
    assert finer.now.say == "X submits “bootstrap X at 150: switch reads” to A."
    assert "epoch 3" in finer.story


def test_the_last_commit_of_a_long_log_opens_down_to_its_round() -> None:
    """Two bootstraps take more than eight epochs: the last one is a submission, and a round."""
    timeline = ended("tcm/two-bootstraps")
    found = commits(timeline)
    assert len(found) > 8
    submitted = zoomed(timeline, found[-1])
    round_ = zoomed(submitted, submitted.tip)
    assert round_.model.name == "paxos"
    assert len(round_.model.history(round_.moments[round_.tip].state)) == len(found)  # type: ignore[attr-defined]  # of paxos


def test_who_was_down_is_no_member() -> None:
    """The finer run is one that can have been: a node that crashed on the way answers nobody."""
    timeline = Timeline(Player("tcm/crash-and-resume", controls=False).model)
    timeline.do(timeline.model.find(timeline.state, "crash A")[0])  # type: ignore[index]  # it may crash
    played_out(timeline)
    run = zoomed(timeline, commits(timeline)[0])
    assert "A" not in run.model.names  # type: ignore[attr-defined]  # names of nodes


def test_a_button_opens_it_below_the_stage() -> None:
    """Once pressed at a commit, the finer Player is there; pressed again, another one in its place.

    At a step that commits nothing it is off, and says why.
    """
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


def test_where_nothing_finer_is_known_there_is_no_button() -> None:
    """Another model has none, and asking for it is refused."""
    player = Player("twophase")
    assert "Zoom in" not in [each.description for each in player.controls.row.children]  # type: ignore[union-attr]  # with controls
    player.step()
    with pytest.raises(KitError, match="this step of twophase"):
        player.zoom()
