"""The Player's controls: each builds, opens, saves or refuses as the methods do."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from kit import build
from kit.errors import BadInput
from kit.model import trace as traces
from kit.widgets.player import Player
from tests.widgets.playing import quiet


@pytest.mark.parametrize(
    ("typed", "value"),
    [("xx", "xx"), ("drop table t at A; ;", ""), (";;;", ""), ("xx at A", "xx at A")],
)
def test_what_is_wrong_with_a_text_of_lines_is_named(typed: str, value: str) -> None:
    """The line as it was typed, by the name of the field; nothing is built of the rest."""
    player, _ = quiet("commit/two-submit")
    before = player.model
    assert player.controls is not None
    setup = player.controls.setup
    with pytest.raises(BadInput) as error:
        setup.configure((), "events", typed)
    assert (error.value.field, error.value.value) == ("events", value)
    assert player.model is before


def test_controls_build_the_model_anew() -> None:
    """Changing a figure of the ring gives a generated ring of that figure."""
    player, _ = quiet("tcm/decommission")
    assert player.controls is not None
    assert player.controls.fields["nodes"].value == 4
    player.controls.fields["nodes"].value = 6
    assert len([n for n in player.model.names if n in "ABCDEF"]) == 6
    player.controls.fields["rf"].value = 3
    assert player.model.parameters.rf == 3
    assert player.model.parameters.nodes == 6
    player.controls.fields["edition"].value = "server"
    assert player.model.parameters.edition == "server"


def test_changing_the_rf_changes_the_prediction() -> None:
    """Another replication factor asks another question: answers are computed, not typed in."""

    def asked(rf: int) -> str:
        player, _ = quiet("tcm/bootstrap")
        assert player.controls is not None
        player.controls.fields["rf"].value = rf
        player.milestone()
        player.milestone()
        question = player.rendered.moments[player.timeline.at].question
        assert question is not None
        return player.rendered.store.flat(question)

    assert asked(1) != asked(2) != asked(3)


def test_a_wrong_figure_is_told_in_place_and_changes_nothing() -> None:
    """A parameter out of its limits is named beside the controls; the model stays."""
    player, _ = quiet()
    assert player.controls is not None
    model = player.model
    player.controls.fields["nodes"].value = 0
    assert player.model is model
    assert "nodes" in player.controls.message.value
    assert "role=&quot;" not in player.controls.message.value


@pytest.mark.parametrize("story", ["tcm/bootstrap", "tcm/decommission", "dataplane/while-leaving"])
@pytest.mark.parametrize("name", ["rf", "nodes", "tokens"])
def test_the_former_figure_brings_the_run_back(story: str, name: str) -> None:
    """Also where a ring and operations that were given have gone with it."""
    player, _ = quiet(story)
    controls = player.controls
    assert controls is not None
    field = controls.fields[name]
    player.step()
    run, was = player.timeline, field.value
    field.value = was + 1
    if "is kept: undo" in controls.message.value:
        controls.fields[name].value = was
        assert player.timeline is run
    else:
        assert controls.message.value or player.timeline is run, "nothing is put away unsaid"


def test_a_run_that_is_put_away_is_kept_and_that_is_said() -> None:
    """Another figure begins another history: the run comes back with the figure, and no other."""
    player, _ = quiet("tcm/bootstrap")
    controls = player.controls
    assert controls is not None
    rf, run = controls.fields["rf"], player.timeline
    good = rf.value
    rf.value = good + 1
    assert controls.message.value == ""  # nothing was done
    rf.value = good
    player.step()
    rf.value = good + 2
    assert "Yours (1 step) is kept" in controls.message.value
    rf.value = good
    assert player.timeline.actions() == run.actions()


def test_a_safeguard_switched_off_is_gone_from_the_model() -> None:
    """Unticking a safeguard builds the model without it, and its lamp can go out."""
    player, _ = quiet()
    assert player.controls is not None
    player.controls.switches["write-before-read"].value = False
    assert player.model.off == ("write-before-read",)
    while player.timeline.suggest() is not None and all(
        verdict.ok for verdict in player.timeline.verdicts()
    ):
        player.step()
    assert not all(verdict.ok for verdict in player.timeline.verdicts())


def test_the_drop_down_opens_scenarios_and_models() -> None:
    """Choosing another entry shows it, with its own parameters and switches."""
    player, _ = quiet()
    assert player.controls is not None
    player.controls.source.value = "twophase"
    assert player.model.name == "twophase"
    assert list(player.controls.fields) == ["rms"]
    player.controls.source.value = "tcm/rf3"
    assert player.model.parameters.rf == 3


def test_a_story_that_was_left_is_there_again() -> None:
    """As it was left, with other parameters too; a reset begins it as it is opened."""
    player, _ = quiet()
    controls = player.controls
    assert controls is not None
    controls.source.value = "tcm/bootstrap"
    controls.fields["rf"].value = 1
    for _ in range(3):
        player.step()
    for other in ("twophase", "tcm/rf3"):
        controls.source.value = other
        assert player.timeline.at == 0
    controls.source.value = "tcm/bootstrap"
    assert (player.timeline.at, player.model.parameters.rf) == (3, 1)
    assert "You are back in the history of this story (3 steps)." in controls.message.value
    player.reset()
    assert (player.timeline.at, player.model.parameters.rf) == (0, 2)
    controls.source.value = "twophase"
    assert controls.message.value == ""


def test_files_and_reset_work_from_the_controls(tmp_path: Path) -> None:
    """Save, load, export and reset do what the methods do, and errors are told in place."""
    player, _ = quiet()
    controls = player.controls
    assert controls is not None
    for _ in range(3):
        player.step()
    saved = traces.dumps(player.timeline.save())
    controls.file.value = str(tmp_path / "run.json")
    buttons = {one.description: one for one in controls.pages["Files"].children[1:]}
    buttons["Save trace"].click()
    assert json.loads((tmp_path / "run.json").read_text())["model"] == "tcm"
    controls.reset.click()
    assert len(player.timeline.moments) == 1
    buttons["Load trace"].click()
    assert traces.dumps(player.timeline.save()) == saved
    assert "Note" not in controls.message.value
    other = json.loads(saved)
    other["revision"] += 1
    (tmp_path / "other.json").write_text(json.dumps(other), encoding="utf-8")
    controls.file.value = str(tmp_path / "other.json")
    buttons["Load trace"].click()
    assert "not compared" in controls.message.value
    controls.file.value = str(tmp_path / "run.json")
    buttons["Load trace"].click()
    buttons = {one.description: one for one in controls.pages["Files"].children[1:]}
    controls.file.value = str(tmp_path / "run.json")
    buttons["Export page"].click()
    assert (tmp_path / "run.html").is_file()
    controls.file.value = str(tmp_path / "none.json")
    buttons["Load trace"].click()
    assert "a readable file" in controls.message.value
    assert traces.dumps(player.timeline.save()) == saved


def test_one_page_of_controls_is_open_at_a_time() -> None:
    """Opening one page closes the other; pressing again closes it."""
    player, _ = quiet()
    controls = player.controls
    assert controls is not None
    ring, guards = controls.openers["Ring and model"], controls.openers["Safeguards"]
    ring.value = True
    guards.value = True
    assert not ring.value
    assert controls.page.children == (controls.pages["Safeguards"],)
    guards.value = False
    assert controls.page.children == ()


def test_a_refused_value_goes_back_to_the_last_good_one() -> None:
    """The control that was touched shows what is played; the reason stays to be read."""
    for source, name, wrong in (
        ("tcm/bootstrap", "nodes", 0),
        ("tcm/bootstrap", "racks", 0),
        ("tcm/bootstrap", "nodes", 100_000),
        ("tcm/bootstrap", "nodes", -7),
        ("dataplane/write-and-read", "requests", "K1 dances"),
    ):
        player, _ = quiet(source)
        controls = player.controls
        assert controls is not None
        field, model = controls.fields[name], player.model
        good = field.value
        field.value = wrong
        assert (field.value, player.model) == (good, model)
        assert "kit-wrong" in controls.message.value
    player, _ = quiet()
    controls = player.controls
    assert controls is not None
    controls.fields["nodes"].value = 0
    controls.fields["nodes"].value = 5
    assert controls.setup.parameters["nodes"] == 5
    assert "kit-wrong" not in controls.message.value


def test_the_reason_stands_below_the_control_that_was_refused() -> None:
    """It goes with the next that is refused, and back to the top for what is about no control."""
    player, _ = quiet("topology/join-with-coordinator")
    controls = player.controls
    assert controls is not None
    for name, wrong in (("nodes", 0), ("keyspaces", "junk"), ("keyspaces", "more junk")):
        field = controls.fields[name]
        field.value = wrong
        assert controls.places[field].children == (field, controls.message)
        assert "kit-wrong" in controls.message.value
        places = (*controls.places.values(), controls.home)
        assert sum(controls.message in one.children for one in places) == 1
    controls.reset.click()
    assert controls.home.children == (controls.message,)


def test_a_model_that_cannot_be_drawn_is_refused_as_a_whole() -> None:
    """The history, what is drawn of it, and the control stay as they were."""
    player, _ = quiet("tablets/one-tablet-moves")
    controls = player.controls
    assert controls is not None
    player.step()
    timeline, field = player.timeline, controls.fields["tablets"]
    good = field.value
    field.value = ""
    assert "kit-wrong" in controls.message.value
    assert player.timeline is timeline is player.rendered.timeline
    assert field.value == good
    player.step()
    assert player.timeline.at == 2


def test_reset_restores_the_scenarios_own_ring_and_safeguards() -> None:
    """After any changes, Reset gives the model that was opened, and the controls show it."""
    player, _ = quiet("tcm/decommission")
    controls = player.controls
    assert controls is not None
    own, names = player.model.parameters, list(player.model.names)
    controls.fields["nodes"].value = 6
    controls.fields["edition"].value = "server"
    controls.switches["write-before-read"].value = False
    assert player.model.parameters != own
    controls.reset.click()
    assert (player.model.parameters, list(player.model.names)) == (own, names)
    assert player.model.off == ()
    assert controls.fields["nodes"].value == 4
    assert controls.fields["edition"].value == own.edition
    assert controls.switches["write-before-read"].value
    assert "its own ring" in controls.message.value
    assert player.timeline.script == quiet("tcm/decommission")[0].timeline.script


def test_a_copy_leaves_the_player_where_it_is() -> None:
    """A copy stands at the same moment of the same history, and each goes on alone."""
    player, said = quiet()
    for _ in range(3):
        player.step()
    player.goto(1)
    player.act("apply C")
    player.back()
    before, told = traces.dumps(player.timeline.save()), len(said)
    twin = player.copy()
    assert traces.dumps(twin.timeline.save()) == before
    assert twin.timeline.script == player.timeline.script
    twin.milestone()
    assert traces.dumps(player.timeline.save()) == before
    assert len(said) == told


def test_a_model_of_ones_own_is_named_in_the_scenario_box() -> None:
    """The box is not blank, and the model is left for another one as any other is."""
    model = build("twophase")
    model.name = "a-model-of-ones-own"
    controls = Player(model).controls
    assert controls is not None
    source = controls.source
    assert source.label == "this model"
    source.value = "twophase"
    assert source.label.startswith("twophase")


def test_numbers_that_are_written_as_text_are_numbers() -> None:
    """A list of numbers has semicolons between them; what is none is refused where it was typed."""
    player, _ = quiet("recovery")
    assert player.controls is not None
    text = player.controls.fields["commit_indexes"]
    assert text.value == "1; 2; 2; 2"
    text.value = "3; 2 ;5;5"
    assert player.model.parameters.commit_indexes == (3, 2, 5, 5)
    model = player.model
    text.value = "3; two; 5; 5"
    assert player.model is model
    assert "commit_indexes" in player.controls.message.value.replace("<wbr>", "")
    assert text.value == "3; 2 ;5;5"
