"""The Player without a browser: its methods and its messages."""

from __future__ import annotations

import asyncio
import contextlib
import gc
import gzip
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from kit.errors import BadInput, KitError, Refused
from kit.model import trace as traces
from kit.model.registry import build, scenario_of
from kit.model.timeline import Timeline
from kit.views.actions import mark
from kit.views.rendered import RenderedTimeline
from kit.views.wire import Act, DrawnMoment, read_message
from kit.widgets import Player
from tests.examples import examples
from tests.widgets.playing import quiet


def press(player: Player, act: str) -> None:
    """Use a control as the module does."""
    player.hear({"message": "act", "control": act, "at": player.timeline.at, "have": 0})


@pytest.mark.spec("H-004")
def test_buttons_and_methods_make_the_same_trace() -> None:
    """Pressing controls and calling methods lead to the same history, byte for byte."""
    by_hand, _ = quiet()
    by_call, _ = quiet()
    plain = Timeline(by_call.model)
    for _ in range(3):
        press(by_hand, "step")
        by_call.step()
        plain.forward()
    press(by_hand, "milestone")
    by_call.milestone()
    plain.to_milestone()
    name = "apply B"
    named = {player.model: player.model.actions(player.state) for player in (by_hand, by_call)}
    found = {
        model: next(a for a in actions if model.verb(a) == name) for model, actions in named.items()
    }
    press(by_hand, f"do:{mark(by_hand.model, found[by_hand.model])}")
    by_call.act(name)
    plain.do(found[plain.model])
    saved = [traces.dumps(one.save()) for one in (by_hand.timeline, by_call.timeline, plain)]
    assert saved[0] == saved[1] == saved[2]


def test_a_file_is_opened_by_a_player() -> None:
    """Who gives it elsewhere is told how."""
    with pytest.raises(BadInput, match=r"Player.open: got 'run.json'; .*Player\(\).open\(path\)"):
        Player.open("run.json")  # type: ignore[arg-type]  # that is the point
    with pytest.raises(BadInput, match=r"got '/tmp/run.json'; allowed: .* Player\(\).open opens"):
        Player("/tmp/run.json")


def test_after_a_control_was_used_the_next_step_is_drawn() -> None:
    """On the kernel's loop, once its answer has left; a page that only opens costs nothing."""
    player, said = quiet()
    texts = len(player.rendered.store)

    async def used() -> None:
        page = {"message": "sync", "texts": texts, "moments": 1, "session": "0"}
        player.hear(page)
        await asyncio.sleep(0)
        assert len(player.rendered.store) == texts
        press(player, "step")
        answered = len(said)
        while len(said) == answered:
            await asyncio.sleep(0)

    asyncio.run(used())
    moved, ahead = said[-2:]
    assert moved["position"] is not None
    assert not ahead.get("position")
    assert ahead["texts"]
    assert not ahead["moments"]
    known = len(player.rendered.store)
    player.step()
    assert len(player.rendered.store) == known


@pytest.mark.spec("H-005")
def test_back_shows_exactly_the_former_state() -> None:
    """One step on and one step back is the state one came from."""
    player, _ = quiet()
    player.milestone()
    before, text = player.state, player.text()
    player.step()
    assert player.state != before
    player.back()
    assert player.state == before
    assert player.text() == text


def test_a_bootstrap_is_four_milestones() -> None:
    """Four times to the next milestone go through the four epochs."""
    player, _ = quiet()
    found = [player.milestone().milestone for _ in range(4)]
    assert found == ["epoch 1", "epoch 2", "epoch 3", "epoch 4"]


def test_acting_in_the_past_forks_and_keeps_both() -> None:
    """What was done stays; the new branch begins where one looked."""
    player, _ = quiet()
    for _ in range(4):
        player.step()
    player.goto(1)
    player.act("apply C")
    assert len(player.timeline.branches()) == 2
    assert player.timeline.path() == [0, 1, 5]
    player.goto(4)
    assert player.timeline.path() == [0, 1, 2, 3, 4]


def test_fork_makes_this_the_end_of_a_branch() -> None:
    """After a fork the step button acts here instead of walking on."""
    player, _ = quiet()
    for _ in range(4):
        player.step()
    player.goto(2)
    player.fork()
    assert player.timeline.path() == [0, 1, 2]


def test_macros_are_ordinary_actions_in_one_folded_step() -> None:
    """Catching up applies the epoch everywhere; all but the last of it are inner steps."""
    player, said = quiet()
    player.step()
    player.run("catch-up")
    verbs = [player.model.verb(m.action) for m in player.timeline.moments[2:]]
    assert verbs == ["apply A", "apply B", "apply C", "apply X"]
    assert [DrawnMoment(*one).inner for one in said[-1]["moments"]] == [True, True, True, False]
    with pytest.raises(Refused, match="Nothing to do"):
        player.run("catch-up")
    player.act("commit X")
    player.run("barrier")
    assert player.model.verb(player.timeline.suggest()) == "commit X"


def test_a_refusal_is_shown_and_changes_nothing() -> None:
    """A waiting action answers with its reason; the history stays as it was."""
    player, said = quiet()
    player.step()
    before = traces.dumps(player.timeline.save())
    waiting = {player.model.verb(a): a for a, _ in player.model.waiting(player.state)}
    press(player, f"do:{mark(player.model, waiting['commit X'])}")
    assert "has not applied epoch 1" in said[-1]["error"]
    with pytest.raises(Refused, match="has not applied epoch 1"):
        player.act("commit X")
    assert traces.dumps(player.timeline.save()) == before


def test_at_rest_the_step_button_says_so() -> None:
    """When nothing can go on, the player says why instead of doing nothing."""
    player, _ = quiet()
    while player.timeline.suggest() is not None:
        player.step()
    with pytest.raises(Refused, match="This is the end"):
        player.step()


@pytest.mark.parametrize(
    "content",
    [
        None,
        [],
        "step",
        {},
        {"message": "act", "control": "step"},
        {"message": "act", "control": 1, "at": 0, "have": 0},
        {"message": "act", "control": "step", "at": "0", "have": 0},
        {"message": "act", "control": "step", "at": 99, "have": 0},
        {"message": "act", "control": "step", "at": -1, "have": 0},
        {"message": "act", "control": "step", "at": 10**40, "have": 0},
        {"message": "act", "control": "step", "at": 0, "have": 0, "x": 1},
        {"message": "act", "control": "boom", "at": 0, "have": 0},
        {"message": "act", "control": "do:__import__('os')", "at": 0, "have": 0},
        {"message": "act", "control": "macro:none", "at": 0, "have": 0},
        {"message": "need", "moment": 10**30},
        {"message": "need", "moment": -1},
        {"message": "look", "position": {"at": 5, "tip": 5, "sequence": 0}},
        {"message": "look", "position": {"at": 0, "tip": True, "sequence": 0}},
    ],
)
def test_a_wrong_message_changes_nothing(content: object) -> None:
    """Whatever does not have one of the four shapes is answered with one line."""
    player, said = quiet()
    player.hear(content)
    assert "error" in said[-1]
    assert "\n" not in said[-1]["error"]
    assert len(player.timeline.moments) == 1
    assert player.timeline.at == 0


@pytest.mark.parametrize(("control", "at"), [("macro:none", 2), ("do:none", 2), ("boom", 0)])
def test_after_a_refusal_one_is_where_pages_were_told(control: str, at: int) -> None:
    """What cannot be done leaves one where it was pressed; a page that asks again hears that."""
    player, said = quiet()
    for _ in range(3):
        player.step()
    player.goto(0)
    player.hear({"message": "act", "control": control, "at": 2, "have": 0})
    assert "error" in said[-1]
    told = [content["position"]["at"] for content in said if "position" in content]
    assert told[-1] == player.timeline.at == at
    session = player.rendered.session
    sync = {"message": "sync", "texts": 0, "moments": 0, "session": session}
    player.hear(sync)
    assert said[-1]["position"]["at"] == at


@examples(50)
@given(
    st.recursive(
        st.none() | st.booleans() | st.integers() | st.text(max_size=8),
        lambda kid: (
            st.lists(kid, max_size=3)
            | st.dictionaries(
                st.sampled_from(["message", "control", "at", "have", "moment", "position"]), kid
            )
        ),
        max_leaves=6,
    )
)
def test_no_message_breaks_the_player(content: object) -> None:
    """Any plain data is either a message or a KitError, never another exception."""
    with contextlib.suppress(KitError):
        read_message(content)


def test_a_stale_look_is_ignored() -> None:
    """What a reader looked at before it heard the latest does not move the player."""
    player, said = quiet()
    player.step()
    look = {"at": 0, "tip": 1, "sequence": 0}
    player.hear({"message": "look", "position": look})
    assert player.timeline.at == 1
    look["sequence"] = said[-1]["position"]["sequence"]
    player.hear({"message": "look", "position": look})
    assert player.timeline.at == 0


def test_a_look_from_before_the_texts_began_anew_is_ignored() -> None:
    """What a reader looked at while the whole picture was packed anew does not move the player."""
    player, said = quiet()
    player.step()
    look = {"at": 0, "tip": 1, "sequence": said[-1]["position"]["sequence"]}
    player.rendered.renew()
    player.hear({"message": "look", "position": look})
    assert player.timeline.at == 1


def test_what_a_page_asks_of_a_former_history_is_no_error() -> None:
    """A page that has not heard of the reset looks at a moment that was, or asks for its frame."""
    player, said = quiet()
    for _ in range(3):
        player.step()
    look = {"at": 3, "tip": 3, "sequence": said[-1]["position"]["sequence"]}
    player.reset()
    told = len(said)
    player.hear({"message": "look", "position": look})
    player.hear({"message": "need", "moment": 3})
    assert len(said) == told
    assert player.timeline.at == 0
    player.hear({"message": "need", "moment": 4})
    assert "a number from 0 to 0" in said[-1]["error"]


def test_a_reader_that_lacks_something_is_told() -> None:
    """Asking with fewer texts brings the rest; a reader of another session gets a new pack."""
    player, said = quiet()
    player.step()
    said.clear()
    held = {"message": "sync", "texts": 3, "moments": 1, "session": player.rendered.session}
    player.hear(held)
    assert said[0]["texts"] == player.rendered.store.texts[3:]
    assert [DrawnMoment(*one) for one in said[0]["moments"]] == player.rendered.moments[1:]
    before = player.stage.pack
    player.hear({**held, "session": "other"})
    assert player.stage.pack != before


@pytest.mark.parametrize("ask", ["bundle", "sync"])
def test_steps_of_the_timeline_itself_reach_a_page(ask: str) -> None:
    """A cell may step a Player's timeline and not the Player: no page is told of a moment that it
    does not get.
    """
    player, said = quiet()
    while len(player.timeline.moments) < 4:
        player.timeline.forward()
    if ask == "bundle":
        player._repr_mimebundle_()
        pack = json.loads(gzip.decompress(player.stage.pack))
        moments, position = len(pack["moments"]), pack["position"]
    else:
        held = {"message": "sync", "texts": 0, "moments": 1, "session": player.rendered.session}
        player.hear(held)
        moments, position = 1 + len(said[-1]["moments"]), said[-1]["position"]
    assert (moments, position["at"], position["tip"]) == (4, 3, 3)


def test_a_name_that_is_markup_is_text_everywhere(tmp_path: Path) -> None:
    """A node named like an image tag shows as text in the widget, the page and the picture."""
    nasty = "<img src=x onerror=alert(1)>"
    model = build("tcm", {"operations": [f"bootstrap '{nasty}' --tokens 150"]})
    assert nasty in model.names
    player, _ = quiet(model)
    player.milestone()
    player.milestone()
    page = player.export(tmp_path / "page.html").path.read_text("utf-8")
    for shown in (player.rendered.html(player.timeline.at), player.static(), page):
        assert "<img src=x" not in shown
    assert "&lt;img src=x onerror=alert(1)&gt;" in player.rendered.html(player.timeline.at)


def test_traces_are_saved_and_loaded(tmp_path: Path) -> None:
    """A saved history comes back the same; a broken file changes nothing and says why."""
    player, _ = quiet()
    for _ in range(5):
        player.step()
    path = player.save(tmp_path / "run.json")
    other, _ = quiet()
    other.load(path)
    assert traces.dumps(other.timeline.save()) == traces.dumps(player.timeline.save())
    path.write_text("{")
    before = other.timeline
    with pytest.raises(BadInput):
        other.load(path)
    assert other.timeline is before
    with pytest.raises(BadInput, match="a readable file"):
        other.load(tmp_path / "no-such-file")


def test_who_opens_later_sees_the_moment_that_is_shown() -> None:
    """A reader that lacks nothing is told all the same at which moment the player stands."""
    player, said = quiet()
    player.step()
    player.stage.pack = player.rendered.pack().compressed()
    player.goto(0)
    said.clear()
    rendered = player.rendered
    held = {"texts": len(rendered.store), "moments": 2, "session": rendered.session}
    player.hear({"message": "sync", **held})
    assert (said[0]["position"]["at"], said[0]["moments"], said[0]["texts"]) == (0, [], [])


def test_a_script_takes_the_place_of_suggestions() -> None:
    """A scenario's lines are done, in order, as soon as each may happen."""
    player, _ = quiet("tcm/cancel")
    verbs = []
    while player.timeline.suggest() is not None:
        verbs.append(player.model.verb(player.step().action))
    script = list(scenario_of("tcm/cancel")[1].script)
    assert [verb for verb in verbs if verb in script][: len(script)] == script


def test_a_player_opens_on_anything() -> None:
    """A name, a model, a scenario, a timeline, or nothing: each is a player."""
    entry, scenario = scenario_of("tcm/bootstrap")
    model = build("twophase")
    for source in (None, "bootstrap", "twophase", scenario, model, Timeline(model)):
        assert Player(source).model.title
    with pytest.raises(BadInput, match="no-such-thing"):
        Player("no-such-thing")
    with pytest.raises(BadInput, match="panels"):
        Player("bootstrap", panels=("nope",))
    assert len(Player("bootstrap", panels=("ring",)).rendered.panels) == 1
    assert entry.name == "tcm"


def test_repr_is_stable() -> None:
    """Two players of the same moment read the same: no address, no clock."""
    assert repr(Player("bootstrap")) == repr(Player("bootstrap"))
    assert repr(Player("bootstrap")).startswith("Player(tcm: step 0 of 0;")


def test_a_full_store_begins_a_new_session(monkeypatch: pytest.MonkeyPatch) -> None:
    """Past the limit the stage gets a new pack, and old frames are drawn when asked for."""
    player, said = quiet()
    monkeypatch.setattr("kit.views.rendered.MOST_TEXTS", 150)
    monkeypatch.setattr("kit.views.rendered.KEPT", 1)
    before = player.stage.pack
    for _ in range(3):
        player.step()
    assert player.stage.pack != before
    said.clear()
    player.hear({"message": "need", "moment": 0})
    assert DrawnMoment(*said[0]["moments"][0]).root is not None


def test_a_message_is_validated_before_use() -> None:
    """A message of the right shape is read strictly."""
    said = {"message": "act", "control": "step", "at": 0, "have": 0}
    assert read_message(said) == Act("step", 0, 0)


def test_the_collector_rests_while_a_page_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pause for garbage in the middle of a step would be seen; afterwards it is on again."""
    player, _ = quiet()
    perform, resting = Player.perform, []

    def noted(session: Player, message: Act) -> Any:
        resting.append(not gc.isenabled())
        return perform(session, message)

    monkeypatch.setattr(Player, "perform", noted)
    press(player, "step")
    assert resting == [True]
    assert gc.isenabled()


def test_a_step_asks_the_moment_before_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    """What was worked out of a state for its own frame serves the next step as well."""
    timeline = Timeline(build("topology", {"operations": ("join D",)}))
    rendered = RenderedTimeline(timeline)
    timeline.forward()
    rendered.draw_new()
    options, asked = type(timeline.model).options, []

    def noted(model: Any, state: Any) -> Any:
        asked.append(state)
        return options(model, state)

    timeline.forward()
    former = timeline.moments[timeline.moments[timeline.at].parent].state
    monkeypatch.setattr(type(timeline.model), "options", noted)
    rendered.draw_new()
    assert timeline.state in asked
    assert former not in asked
