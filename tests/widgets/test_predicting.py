"""Predict, then reveal: the step stays hidden until it is answered; the verdict; ways to leave."""

from __future__ import annotations

import re

import pytest

from tests.widgets.browsing import Desk, MakeDesk, do, walked

pytestmark = pytest.mark.browser

TICKED = """() => [...document.querySelectorAll(".kp-ask input:checked")]
  .map((one) => one.value)"""


def predicting(desk: MakeDesk, name: str, steps: int) -> Desk:
    """A run at its start, whose steps are asked about."""
    table = desk(walked(name, steps))
    table.page.click("[data-do=predict]")
    table.page.focus("[data-do=scrub]")
    table.page.keyboard.press("Home")
    table.wait_where(f"0 / {steps}")
    return table


def asked(table: Desk, key: str = "Shift+ArrowRight") -> None:
    """Go on by a key, and wait for the question."""
    table.page.keyboard.press(key)
    table.page.wait_for_selector(".kp-ask:not([hidden])")


def test_predictions_hide_the_step_until_it_is_answered(desk: MakeDesk) -> None:
    """The next frame is not shown before an answer; a wrong one is told what happened instead."""
    table = predicting(desk, "tcm/bootstrap", 12)
    page = table.page
    asked(table, "j")
    assert page.text_content(".kp-where") == "0 / 12"
    page.check(".kp-ask input >> nth=0")
    page.click("[data-do=answer]")
    table.wait_where("1 / 12")
    told = page.text_content(".kp-note") or ""
    assert re.match(r"Wrong: \S.*\. Missing: none of these\. In epoch 1", told)
    page.focus("[data-do=scrub]")
    asked(table)
    for box in page.locator(".kp-ask input[data-right]").all():
        box.check()
    page.click("[data-do=answer]")
    table.wait_where("6 / 12")
    told = page.text_content(".kp-note") or ""
    assert re.match(r"Right: \S.*\. In epoch 2", told)
    assert "Wrong" not in told
    assert table.difference(6) == ""


def test_a_question_is_left_by_escape_and_goes_with_its_branch(desk: MakeDesk) -> None:
    """What is ticked stays while it is asked; Escape, another branch and the mode's own button
    take it away, and the step that is not answered stays hidden.
    """
    player = walked("tcm/rf3", 4)
    player.goto(2)
    player.act("apply X")
    player.goto(0)
    player.timeline.tip = 4
    player.stage.pack = player.rendered.pack().compressed()
    table = desk(player)
    page, question = table.page, table.page.locator(".kp-ask")
    page.click("[data-do=predict]")
    leave = {
        "Escape": lambda: page.keyboard.press("Escape"),
        "branch": lambda: page.evaluate("document.querySelector('[data-leaf=\"5\"]').click()"),
        "mode": lambda: page.click("[data-do=predict]"),
    }
    page.wait_for_selector("[data-leaf='5']")
    for how, press in leave.items():
        page.focus("[data-do=scrub]")
        page.keyboard.press("ArrowRight")
        question.wait_for(state="visible")
        page.keyboard.press("Space")
        page.keyboard.press("ArrowRight")
        assert page.locator(".kp-ask :checked").count() == 1, how
        press()
        question.wait_for(state="hidden")
        where = page.text_content(".kp-where") or ""
        assert where.startswith("3 / " if how == "branch" else "0 / "), how
        for _ in range(3):
            page.keyboard.press("ArrowLeft")
    page.keyboard.press("ArrowRight")
    table.wait_where("1 / 3")


def test_a_verdict_names_what_was_right_first(desk: MakeDesk) -> None:
    """Then what was not, and what was missing. Who ticks nothing has not answered, and is told."""
    table = desk(walked("tcm/bootstrap", 12))
    page = table.page
    page.click("[data-do=predict]")
    right, wrong = "input[data-right]", "input:not([data-right])"
    empty = "Tick at least one box."
    for ticked, words in (((), empty), ((right,), "Right: "), ((right, wrong), "Right: ")):
        page.focus("[data-do=scrub]")
        page.keyboard.press("Home")
        page.keyboard.press("Shift+ArrowRight")
        for box in ticked:
            page.locator(f".kp-ask {box}").first.check()
        named = [page.input_value(f".kp-ask {box} >> nth=0") for box in ticked]
        page.click("[data-do=answer]")
        told = page.text_content(".kp-note") or ""
        assert told.startswith(words)
        places = [told.index(name) for name in named]
        assert places == sorted(places)
        assert page.is_visible(".kp-ask") is (not ticked)
        assert ("Score: " in told) is bool(ticked)
        page.keyboard.press("Escape")
        assert page.is_hidden(".kp-ask")


def test_predictions_work_at_the_tip(desk: MakeDesk) -> None:
    """Also a step that the kernel has only just made stays hidden until it is answered."""
    table = desk("tcm/bootstrap")
    page = table.page
    page.click("[data-do=predict]")
    do(page, "step")
    page.wait_for_selector(".kp-ask:not([hidden])")
    assert page.locator(".kp-stage .entry").count() == 0
    page.click("[data-do=reveal]")
    table.wait_where("1 / 1")
    assert page.locator(".kp-stage .entry").count() == 1


def test_the_answer_is_given_in_the_picture(desk: MakeDesk) -> None:
    """A press on an arc ticks a choice about its range more, then none; what is ticked is lit."""
    table = predicting(desk, "tcm/bootstrap", 12)
    page = table.page
    asked(table)
    arc = page.locator(".kp-picture [data-of='range:0:100']").first
    lit = page.locator(".kp-picture [data-of='range:0:100'][data-my-lit]")
    said = []
    for _ in range(3):
        arc.dispatch_event("click")
        said.append((page.evaluate(TICKED), lit.count() > 0))
    assert said == [
        (["writes of (0, 100]"], True),
        (["reads of (0, 100]", "writes of (0, 100]"], True),
        ([], False),
    ]
    arc.dispatch_event("click")
    page.click("[data-do=answer]")
    assert (page.text_content(".kp-note") or "").endswith("Score: 0 of 1.")


def test_nodes_are_answers_and_the_score_is_kept(desk: MakeDesk) -> None:
    """Pressing all that change, and nothing else, is right; the score counts every answer."""
    table = predicting(desk, "topology/join-with-coordinator", 20)
    page = table.page
    told = []
    for _ in range(3):
        asked(table)
        for thing in page.locator(".kp-ask [data-right][data-thing]").all():
            name = thing.get_attribute("data-thing")
            drawn = page.locator(f".kp-picture [data-of='{name}']")
            if drawn.count():
                drawn.first.dispatch_event("click")
            else:  # it comes in this step
                thing.check()
        for box in page.locator(".kp-ask [data-right]:not([data-thing])").all():
            box.check()
        page.click("[data-do=answer]")
        told.append((page.text_content(".kp-note") or "")[-14:])
    assert told == ["Score: 1 of 1.", "Score: 2 of 2.", "Score: 3 of 3."]
    assert table.errors == []


def test_a_bet_is_a_ghost_in_the_picture(desk: MakeDesk) -> None:
    """Who gets a write is asked in those words; what was pressed has a ghost, and once the step is
    shown each is right or wrong, and who was missed is marked, too. The next step takes them away.
    """
    table = desk(walked("dataplane/write-and-read", 1))
    page = table.page
    page.click("[data-do=predict]")
    page.focus("[data-do=scrub]")
    page.keyboard.press("Home")
    asked(table, "j")
    assert re.search(r"Which nodes get write 1\?", page.inner_text(".kp-ask legend"))
    boxes = page.locator(".kp-ask [data-thing]")
    wrong = page.locator(".kp-ask [data-thing]:not([data-right])").first
    right = page.locator(".kp-ask [data-thing][data-right]").first
    for box in (wrong, right):
        thing = box.get_attribute("data-thing")
        box.check()
        assert thing
    assert page.locator(".kp-ghost").all_text_contents() == ["?", "?"]
    many = boxes.count()
    page.click("[data-do=answer]")
    table.wait_where("1 / 1")
    signs = page.locator(".kp-ghost").all_text_contents()
    assert {"✓", "✗", "○"} >= {*signs} >= {"✓", "✗"}
    assert len(signs) <= many
    page.focus("[data-do=scrub]")
    page.keyboard.press("Home")
    table.wait_where("0 / 1")
    assert page.locator(".kp-ghost").count() == 0


def test_a_class_votes_with_keys(desk: MakeDesk) -> None:
    """A digit chooses; once the class votes each press is a vote and a bar shows how many there
    are. What most voted for is the answer.
    """
    table = predicting(desk, "tcm/bootstrap", 12)
    page = table.page
    asked(table)
    page.focus("[data-do=scrub]")
    page.keyboard.press("2")
    ticked = page.evaluate(TICKED)
    assert ticked == [page.locator(".kp-ask input").nth(1).get_attribute("value")]
    page.click("[data-do=vote]")
    for key in "13313":
        page.keyboard.press(key)
    bars = page.locator(".kp-ask progress:visible")
    assert [bar.evaluate("(one) => one.value / one.max") for bar in bars.all()][:3] == [2 / 3, 0, 1]
    page.click("[data-do=answer]")
    told = page.text_content(".kp-note") or ""
    first, third = (box.get_attribute("value") for box in page.locator(".kp-ask input").all()[:3:2])
    assert f"Votes: {first} 2, {third} 3." in told
    assert "Score: " in told
