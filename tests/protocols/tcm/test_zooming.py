"""A commit of the epoch protocol, opened as the run of ``commit`` that achieves it."""

from __future__ import annotations

import pytest

from kit import Player
from kit.errors import KitError
from kit.model.registry import build, entry_of
from kit.model.timeline import Timeline, played_out
from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.facts import zooming
from kit.search.zoom import finer_run, finer_runs, zoomed
from tests.model.toys import LiftModel, LiftParameters


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


def test_a_model_of_ones_own_has_nothing_finer() -> None:
    """No family declares it, and that is said."""
    model = build("twophase")
    model.name = "of my own"
    timeline = played_out(Timeline(model))
    with pytest.raises(KitError, match="this step of of my own"):
        zoomed(timeline)


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


@pytest.mark.parametrize(
    ("nodes", "members"),
    [(1, "A"), (2, "A"), (3, "A B C"), (5, "A B C")],
)
def test_the_service_has_three_members_or_one(nodes: int, members: str) -> None:
    """Three nodes that are up all the time, or one of fewer; the newcomer is none of them."""
    timeline = played_out(Timeline(build("tcm", {"nodes": nodes, "rf": 1})))
    names = members.split()
    for at in (0, -1):  # a member in between is no member of the service
        run = finer_run(timeline, commits(timeline)[at])
        assert run is not None
        assert run.parameters["members"] == len(names)
        assert run.parameters["given_names"][: len(names)] == tuple(names)
        assert run.story.endswith(f"with {', '.join(names)} as the CMS")


@pytest.mark.parametrize(("most", "opens"), [(4, True), (3, False)])
def test_so_many_nodes_can_be_in_the_finer_run(
    most: int, opens: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Three members and the newcomer that submits its own steps; seven, where all can be seen."""
    assert zooming.MOST_NODES == 7
    monkeypatch.setattr(zooming, "MOST_NODES", most)
    timeline = ended("tcm/bootstrap")
    found = finer_run(timeline, commits(timeline)[-1])
    assert (found is not None) is opens
    assert found is None or found.parameters["nodes"] == 4


def test_before_the_first_commit_there_is_nothing_finer() -> None:
    """Nor where each node was down at some time: then nobody can have been a member."""
    timeline = Timeline(build("tcm", {"nodes": 2, "rf": 1, "crashes": 2}))
    m = timeline.model

    def do(*verbs: str) -> None:
        for verb in verbs:
            enabled = {m.verb(each): each for each in m.actions(timeline.state)}
            timeline.do(enabled[verb])

    do("crash B")
    assert finer_run(timeline, timeline.at) is None
    do("restart B")
    do(next(m.verb(each) for each in m.actions(timeline.state) if "bootstrap" in m.verb(each)))
    one = finer_run(timeline, timeline.at)
    assert one is not None
    assert one.parameters["given_names"][0] == "A"
    again = Timeline(m)
    again.goto(0)
    timeline = again
    do("crash A", "restart A", "crash B", "restart B")
    do(next(m.verb(each) for each in m.actions(timeline.state) if "bootstrap" in m.verb(each)))
    assert finer_run(timeline, timeline.at) is None


@pytest.mark.parametrize("name", ["tcm", "commit", "group0"])
def test_where_a_run_begins_there_is_no_step_to_look_at(name: str) -> None:
    """Whichever model has finer runs."""
    timeline = Timeline(build(name))
    assert finer_runs(timeline.model) is not None
    assert finer_run(timeline, timeline.at) is None


def test_another_model_of_that_name_has_no_finer_view() -> None:
    """It is known by what it is made of."""
    assert finer_runs(build("tcm")) is not None
    other = LiftModel(LiftParameters())
    other.name = "tcm"
    assert finer_runs(other) is None
    assert finer_runs(LiftModel(LiftParameters())) is None


def test_an_operator_submits_at_the_first_member() -> None:
    """What no node drives itself; in the cluster's epochs, where the log does not begin at 1."""
    timeline = played_out(
        Timeline(build("tcm", {"nodes": 5, "rf": 1, "epoch": 7, "operations": ["assassinate D"]}))
    )
    run = finer_run(timeline, commits(timeline)[0])
    assert run is not None
    assert run.parameters == {
        "nodes": 3,
        "given_names": ("A", "B", "C"),
        "members": 3,
        "events": ("assassinate D: remove the node at once, without streaming at A to A",),
    }
    assert (run.model, run.kind, run.nth, run.begins) == ("commit", "append", 1, "submit r1 A")
    assert run.story == (
        "How epoch 1 (the cluster's epoch 8) gets into the log, with A, B, C as the CMS"
    )


def test_a_log_that_begins_at_1_has_the_clusters_epochs() -> None:
    """Then they are not said twice."""
    timeline = played_out(Timeline(build("tcm", {"nodes": 5, "rf": 1})))
    run = finer_run(timeline, commits(timeline)[1])
    assert run is not None
    assert run.story == "How epoch 2 gets into the log, with A, B, C as the CMS"
