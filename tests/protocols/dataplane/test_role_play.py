"""One real node, the others played by you: what the boards offer is what the models allow."""

from __future__ import annotations

import re
from typing import Any

import pytest

from kit.errors import BadInput
from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.protocols.storage import facts
from kit.protocols.storage.panels.lanes import LANES
from kit.protocols.storage.panels.role_play import (
    answers_text,
    draw_answers,
    draw_sends,
    sends_text,
)
from kit.protocols.storage.panels.spacetime import SPACETIME
from kit.protocols.storage.storage import Finish, TimeOut
from kit.search.check import check
from kit.views.fragment import Frag
from kit.views.frame import frame, frame_text
from kit.views.panel import Scene, scene_at
from kit.views.registry import for_model
from kit.views.wire import Act
from kit.widgets import Player
from tests.keyed import check_keys
from tests.saying import like
from tests.views.frames import classed


def played(name: str, *verbs: str, off: tuple[str, ...] = ()) -> tuple[Player, Scene]:
    """A Player of one of the two models after some actions, and its scene."""
    player = Player(build(name, {}, off), controls=False)
    for verb in verbs:
        player.act(verb)
    return player, scene_at(player.timeline, player.timeline.at)


def buttons(drawn: Frag, *, free: bool) -> set[str]:
    """The digests of the actions that a board's buttons stand for."""
    return {
        (one.get("data-act") or "").removeprefix("do:")
        for one in drawn.walk()
        if one.get("data-act") and (one.get("aria-disabled") is None) == free
    }


ASKED = ("write 1 at epoch 100", "A answers ok at epoch 100")
RUNS = [
    ("coordinator", ()),
    ("coordinator", ASKED),
    ("coordinator", (*ASKED, "B answers ok at epoch 101", "answer the client")),
    ("replica", ()),
    ("replica", ("write at epoch 100", "apply A", "apply A", "read at epoch 101")),
]


@pytest.mark.parametrize(("name", "verbs"), RUNS)
def test_each_frame_of_the_role_play_has_unique_keys_and_words_in_every_panel(
    name: str, verbs: tuple[str, ...]
) -> None:
    """The start, the way and the end of either board are drawn."""
    player, scene = played(name, *verbs)
    panels = for_model(player.model).panels
    check_keys(frame(scene, panels))
    assert all(panel.text(scene).strip() for panel in panels)
    assert "You are the" in frame_text(scene, panels)


@pytest.mark.spec("B-080")
def test_the_coordinator_board_has_one_button_for_each_possible_answer() -> None:
    """A button that is not possible now says why."""
    _, scene = played("coordinator", *ASKED)
    drawn = draw_answers(scene)
    replies = [one for row in facts.answers(scene.model, scene.state) for one in row.choices]
    replies += facts.choices(scene.model, scene.state, Finish, TimeOut)
    assert len(buttons(drawn, free=True)) == sum(one.refusal is None for one in replies)
    assert len(buttons(drawn, free=False)) == sum(one.refusal is not None for one in replies)
    refused = [one.get("data-refused") or "" for one in classed(drawn, "act")]
    assert any("catches up before it answers" in why for why in refused)
    assert "A: ok, at epoch 100: takes write 1" in answers_text(scene)


@pytest.mark.spec("B-080", "B-034")
def test_a_button_of_the_coordinator_board_performs_its_answer() -> None:
    """The answer of epoch 101 makes the plan invalid, so the client is told of failure."""
    player, scene = played("coordinator", *ASKED)
    choice = next(
        one
        for row in facts.answers(scene.model, scene.state)
        for one in row.choices
        if row.replica == "B" and one.epoch == 101 and one.word == "ok"
    )
    name = next(
        one.get("data-act") or ""
        for one in draw_answers(scene).walk()
        if (one.get("aria-label") or "") == "B, ok, epoch 101"
    )
    player.perform(Act(name, player.timeline.at, 0))
    assert player.timeline.now.action == choice.action
    now = scene_at(player.timeline, player.timeline.at)
    assert "plan no longer valid" in LANES.text(now)
    assert "B answers ok at epoch 101; K1 catches up." in SPACETIME.text(now)
    answers = "I have caught up to epoch 101: 2 of A, B, C, X (3 needed): A, B."
    assert answers in answers_text(now)
    player.act("answer the client")
    assert "failed" in LANES.text(scene_at(player.timeline, player.timeline.at))


def test_without_plan_revalidation_a_coordinator_tells_of_a_false_success() -> None:
    """Two answers suffice by the plan of epoch 100, and not by the epoch that they tell of."""
    player, _ = played(
        "coordinator", *ASKED, "B answers ok at epoch 101", "answer the client", off=("S-03",)
    )
    assert [verdict.name for verdict in player.timeline.verdicts() if not verdict.ok] == [
        "consistency-level"
    ]


@pytest.mark.spec("B-080", "B-029", "B-031")
def test_the_board_shows_a_replica_catch_up_and_later_refuse_a_read() -> None:
    """Once the replica is no member its answer is drawn as an error."""
    _, scene = played("replica", "write at epoch 100", "apply A", "apply A", "read at epoch 101")
    words = SPACETIME.text(scene)
    assert "planned at epoch 100, catches up to epoch 100, and answers ok at epoch 100" in words
    assert "answers with an error at epoch 102: it is not a replica" in words
    assert "✗ no replica" in SPACETIME.draw(scene).text()
    assert "A knows epoch 102 (1 behind): writes only. On its disk: write 1" in sends_text(scene)
    assert buttons(draw_sends(scene), free=False)


@pytest.mark.parametrize(("name", "verbs"), RUNS)
def test_every_answer_given_on_a_board_has_a_button_back_to_before(
    name: str, verbs: tuple[str, ...]
) -> None:
    """The button counts the steps from here."""
    player, scene = played(name, *verbs)
    drawn = (draw_answers if name == "coordinator" else draw_sends)(scene)
    back = [int(one.get("data-steps") or 0) for one in classed(drawn, "again")]
    said = [i for i, verb in enumerate(verbs) if verb.split()[1] in ("answers", "at")]
    assert back == [len(verbs) - i for i in said]
    assert player.timeline.at == len(verbs)


def play(timeline: Timeline, *verbs: str) -> None:
    """Do what the verbs say, or fail with what could be done."""
    for verb in verbs:
        model = timeline.model
        enabled = {model.verb(action): action for action in model.actions(timeline.state)}
        assert verb in enabled, (verb, sorted(enabled))
        timeline.do(enabled[verb])


@pytest.mark.spec("B-080")
@pytest.mark.parametrize("kind", ["write", "read"])
@pytest.mark.parametrize("given", [{}, {"rf": 2}, {"acknowledgement": "joint"}, {"retry": True}])
def test_no_answers_of_replicas_make_a_coordinator_report_a_false_success(
    kind: str, given: dict[str, Any]
) -> None:
    """The search over all answers is complete, and success is reached."""
    found = check(build("coordinator", {"request": f"K1 {kind} QUORUM", **given}))
    assert found.violation is None, found
    assert found.complete, found
    assert [name for name in found.unreached if name != "failed"] == []


@pytest.mark.parametrize(
    ("kind", "answers"),
    [
        ("write", ("ok", "error")),
        ("delete", ("ok", "error")),
        ("read", ("ok", "ok, write found", "error")),
    ],
)
def test_a_replica_returns_a_found_write_to_reads_alone(
    kind: str, answers: tuple[str, ...]
) -> None:
    """A replica that was not asked cannot answer."""
    timeline = Timeline(build("coordinator", {"request": f"K1 {kind} QUORUM"}))
    model, start = timeline.model, timeline.state
    begun = {model.verb(action): after for action, after in model.successors(start)}
    assert all("answers" not in verb for verb in begun)
    [asked] = [after for verb, after in begun.items() if verb.endswith("at epoch 100")]
    verbs = {model.verb(action) for action in model.actions(asked)}
    words = (verb.removeprefix("A answers ") for verb in verbs if verb.startswith("A answers "))
    assert {re.sub(r" at epoch \d+", "", said) for said in words} == {*answers}


def test_a_read_returns_the_write_that_its_replicas_answer() -> None:
    """The sentence and the list of requests say so."""
    timeline = Timeline(build("coordinator", {"request": "K1 read QUORUM"}))
    play(
        timeline,
        "read 1 at epoch 100",
        *(f"{x} answers ok at epoch 100, write found" for x in "AB"),
    )
    play(timeline, "answer the client")
    assert timeline.now.say == "K1, at epoch 100, has answers from A, B and returns write 1."
    assert "found write 1" in LANES.text(scene_at(timeline, timeline.at))


@pytest.mark.spec("B-080", "B-034")
def test_without_plan_revalidation_a_search_finds_a_false_success_in_four_steps() -> None:
    """Two answers that tell of epoch 101 are counted by the plan of epoch 100."""
    found = check(build("coordinator", {}, ("plan-revalidation",)))
    assert found.violation is not None
    assert found.violation.property == "consistency-level"
    assert len(found.violation.actions) == 4


@pytest.mark.spec("B-080", "B-027", "B-033", "B-034")
def test_a_write_fails_when_an_answer_tells_of_a_pending_replica() -> None:
    """The coordinator catches up, and two of four are no quorum."""
    timeline = Timeline(build("coordinator"))
    play(timeline, "write 1 at epoch 100", "A answers ok at epoch 100", "B answers ok at epoch 101")
    assert "catches up" in timeline.now.say
    play(timeline, "answer the client")
    assert timeline.now.say == (
        "K1, at epoch 101, validates its plan again: QUORUM is 3 of A, B, C, X, and it counts the "
        "answers from A, B. The request fails."
    )


@pytest.mark.spec("B-080", "B-029", "B-031")
def test_a_replica_catches_up_with_a_newer_message_and_refuses_an_older_one() -> None:
    """At epoch 103 A is no replica, so a write planned at 101 gets an error."""
    timeline = Timeline(build("replica"))
    play(timeline, "write at epoch 101")
    assert "catches up to epoch 101, and answers ok" in timeline.now.say
    play(timeline, "apply A", "apply A", "write at epoch 101")
    assert timeline.now.say.endswith("answers with an error at epoch 103: it is not a replica.")


def test_a_replica_that_owns_the_range_again_has_no_write_that_it_refused() -> None:
    """A is none at epoch 103 and refuses the second write; at epoch 105 it is one again."""
    given = {"operations": ("decommission C", "bootstrap X --tokens 150"), "replica": "A"}
    timeline = Timeline(build("replica", given))
    play(timeline, "write at epoch 102", "apply A", "write at epoch 99", "read at epoch 105")
    said = sends_text(scene_at(timeline, timeline.at))
    assert "write 2, planned at epoch 99 → Error: no replica, at epoch 103." in said
    assert "On its disk: write 1\n" in said


def test_no_message_makes_a_replica_store_a_range_that_is_not_its_own() -> None:
    """Without the membership check a search finds one that does."""
    found = check(build("replica"))
    assert found.violation is None, found
    assert found.complete, found
    assert found.unreached == ()
    broken = check(build("replica", {}, ("membership-check",)))
    assert broken.violation is not None
    assert broken.violation.property == "owners-store"


@pytest.mark.parametrize(
    ("model", "given", "said"),
    [
        ("coordinator", {"rf": 0}, "rf | 0 | from 1"),
        ("replica", {"strategy": "local"}, "strategy | 'local' | everywhere, network, simple"),
        ("replica", {"replica": "Q"}, "replica | 'Q' | A, B, C, X"),
        ("replica", {"messages": 0}, "messages | 0 | 1 to 8"),
        ("replica", {"messages": 9}, "messages | 9 | 1 to 8"),
        ("coordinator", {"request": "A write QUORUM"}, "request | 'A' | other than A, B"),
        ("coordinator", {"request": "K1 write SOME"}, "requests | 'SOME'"),
        ("coordinator", {"exchange": "none"}, "exchange"),
    ],
)
def test_a_role_play_refuses_parameters_that_do_not_fit(
    model: str, given: dict[str, Any], said: str
) -> None:
    """The error names the parameter, its value and what is allowed."""
    with pytest.raises(BadInput, match=like(said)):
        build(model, given)
