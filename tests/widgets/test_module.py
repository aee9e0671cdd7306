"""The browser module on a bare page: frames, branches, refusals, what is typed."""

from __future__ import annotations

import pytest
from msgspec import to_builtins
from msgspec.structs import replace

from kit.model.registry import build
from kit.widgets import Player
from tests.widgets.browsing import Desk, MakeDesk, do, walked

pytestmark = pytest.mark.browser


@pytest.mark.spec("H-005")
@pytest.mark.parametrize("name", ["tcm/bootstrap", "tcm/two-bootstraps", "tcm/cancel", "twophase"])
def test_the_page_is_the_frame_after_every_step(desk: MakeDesk, name: str) -> None:
    """After each step, back and forth, the page equals the flattened fragment."""
    table = desk(name)
    last = 0
    while last < 12 and table.player.timeline.suggest() is not None:
        last += 1
        do(table.page, "step")
        table.wait_where(f"{last} / {last}")
        table.settle()
        assert table.difference() == ""
    for at in (0, last, 3, last - 1, 1, 5):
        table.page.evaluate(
            "(at) => { const range = document.querySelector('[data-do=scrub]');"
            " range.value = at; range.dispatchEvent(new Event('input', { bubbles: true })); }",
            at,
        )
        table.wait_where(f"{at} / {last}")
        assert table.difference(at) == ""
    for at in (4, 3):
        table.page.click("[data-do=back]")
        table.wait_where(f"{at} / {last}")
        assert table.difference(at) == ""
    assert table.errors == []


def test_interrupted_animations_leave_no_trace(desk: MakeDesk) -> None:
    """A burst of keys faster than any tween ends in exactly the last frame."""
    table = desk(walked("tcm/bootstrap", 12))
    table.page.focus("[data-do=scrub]")
    for key in ["k"] * 6 + ["j"] * 3 + ["Home", "End", "k"]:
        table.page.keyboard.press(key)
    table.wait_where("11 / 12")
    assert table.difference(11) == ""


def test_the_check_would_notice_a_difference(desk: MakeDesk) -> None:
    """The comparison itself fails on a page that was tampered with."""
    table = desk("tcm/bootstrap")
    table.page.evaluate("document.querySelector('.kp-stage .chip').textContent = 'Q'")
    assert "Q" in table.difference()


def test_scrubbing_never_waits_for_the_kernel(desk: MakeDesk) -> None:
    """With the kernel cut off, known steps are still shown."""
    table = desk(walked("tcm/bootstrap", 10))
    table.page.evaluate("window.cut = true")
    table.page.focus("[data-do=scrub]")
    for key, where in (("Home", "0 / 10"), ("j", "1 / 10"), ("End", "10 / 10"), ("k", "9 / 10")):
        table.page.keyboard.press(key)
        table.wait_where(where)
    assert table.difference(9) == ""


def test_acting_in_the_past_forks_and_both_branches_stay(desk: MakeDesk) -> None:
    """A button used in the past begins a branch; the drop-down leads back to the first one."""
    table = desk(walked("tcm/bootstrap", 8))
    page = table.page
    page.focus("[data-do=scrub]")
    page.keyboard.press("Home")
    page.keyboard.press("j")
    table.choose("apply C")
    table.wait_where("2 / 2")
    table.settle()
    assert table.difference() == ""
    table.branch("show", 8)
    table.wait_where("2 / 8")
    assert table.difference(2) == ""


def test_branches_are_compared_side_by_side(desk: MakeDesk) -> None:
    """The other branch stands beside this one, the first difference is said, parts are marked."""
    player = walked("tcm/bootstrap", 8)
    player.goto(2)
    player.act("apply C")
    player.stage.pack = player.rendered.pack().compressed()
    table = desk(player)
    page = table.page
    table.branch("compare", 8)
    assert page.locator(".kp-side .kp-picture").is_visible()
    boxes = [
        page.locator(f"{side} .kp-picture").bounding_box() for side in (".kp-stage", ".kp-side")
    ]
    assert boxes[0] is not None
    assert boxes[1] is not None
    assert [boxes[0][name] for name in ("y", "width", "height")] == [
        boxes[1][name] for name in ("y", "width", "height")
    ]
    assert (
        page.text_content(".kp-parts")
        == "The branches part at step 3: apply C here, apply B there."
    )
    assert page.locator(".kp-side [data-my-diff]").count() > 0
    assert page.locator(".kp-side .kp-acts").is_hidden()
    page.click("[data-do=alone]")
    assert page.locator(".kp-side .kp-picture").is_hidden()
    assert page.locator("[data-my-diff]").count() == 0


def test_a_refused_action_says_why_where_one_looks(desk: MakeDesk) -> None:
    """It can be focused, is marked as unusable, and answers beside itself by mouse and key."""
    table = desk("tcm/bootstrap")
    page = table.page
    do(page, "step")
    table.wait_where("1 / 1")
    table.settle()
    # The same action also stands at its step in the panel of operations.
    table.open("more")
    waiting = ".actions button.act[aria-disabled=true]"
    button = page.locator(waiting, has_text="add write replicas")
    button.focus()
    page.keyboard.press("Enter")
    note = page.locator(".kp-note")
    assert "has not applied epoch 1" in (note.text_content() or "")
    box, where = note.bounding_box(), button.bounding_box()
    assert box is not None
    assert where is not None
    assert abs(box["y"] - where["y"] - where["height"]) < 40
    page.keyboard.press("Escape")
    assert note.is_hidden()
    button.click(force=True)
    assert note.is_visible()
    assert len(table.player.timeline.moments) == 2


def test_an_error_of_the_kernel_is_shown_in_place(desk: MakeDesk) -> None:
    """What Python refuses stands beside the control that asked, and nothing moves."""
    table = desk("twophase")
    page = table.page
    while table.player.timeline.suggest() is not None:
        table.player.step()
    table.flush()
    end = page.text_content(".kp-where")
    do(page, "step")
    page.wait_for_selector(".kp-note:not([hidden])")
    assert "This is the end" in (page.text_content(".kp-note") or "")
    assert page.text_content(".kp-where") == end


def test_a_run_is_one_step_that_can_be_unfolded(desk: MakeDesk) -> None:
    """A macro counts as one step; unfolding shows its ordinary actions."""
    table = desk("tcm/bootstrap")
    page = table.page
    do(page, "step")
    table.wait_where("1 / 1")
    table.choose("catch up all")
    table.wait_where("2 / 2")
    table.settle()
    assert table.difference() == ""
    do(page, "unfold")
    table.wait_where("5 / 5")


def searching(desk: MakeDesk) -> Desk:
    """A cluster with many actions after its first step, with the focus in the box above them."""
    table = desk(Player(build("tcm", {"nodes": 14, "rf": 3})))
    do(table.page, "step")
    table.wait_where("1 / 1")
    table.page.keyboard.press("a")
    return table


def test_many_actions_are_found_by_their_words(desk: MakeDesk) -> None:
    """One types into the box above all actions and presses what is found; ``a`` leads there."""
    table = searching(desk)
    page = table.page
    page.keyboard.type("apply C")
    assert page.locator(".actions li:visible").all_text_contents() == ["apply C"]
    page.click("[data-group=apply] li[data-my-hit] button")
    table.wait_where("2 / 2")
    assert table.player.model.verb(table.player.timeline.now.action) == "apply C"
    table.open("more")
    page.click("[data-group=apply] li[data-my-hit] button", force=True)
    assert "has applied every committed epoch" in (page.text_content(".kp-note") or "")


def test_enter_takes_the_only_action_that_is_left(desk: MakeDesk) -> None:
    """While more are left, or none, it takes none."""
    table = searching(desk)
    page = table.page
    for text in ("apply", "no such action"):
        page.keyboard.type(text)
        page.keyboard.press("Enter")
        page.keyboard.press("Control+a")
    page.keyboard.type("apply C")
    page.keyboard.press("Enter")
    table.wait_where("2 / 2")
    assert table.player.model.verb(table.player.timeline.now.action) == "apply C"
    assert table.errors == []


def test_a_search_among_actions_finds_runs_and_counts_what_can_be_pressed(desk: MakeDesk) -> None:
    """A run is taken by Enter as an action is; a reason is found with its button, as one."""
    table = desk(walked("tcm/bootstrap", 1))
    page = table.page
    page.focus("[data-do=scrub]")
    page.keyboard.press("a")
    page.keyboard.type("catch")
    found = page.locator(".actions [data-find]")
    assert found.get_attribute("data-my-count") == "1 found"
    page.keyboard.press("Enter")
    table.wait_where("2 / 2")
    page.keyboard.press("a")
    page.keyboard.press("Control+a")
    page.keyboard.type(page.locator(".actions .why").first.text_content() or "")
    shown = page.locator(".actions li[data-my-hit]")
    assert shown.count() > 0
    assert found.get_attribute("data-my-count") == f"{shown.count()} found"
    assert page.locator(".actions li:visible [data-act]:visible").count() == shown.count()
    assert page.locator(".actions li:visible").count() == shown.count()
    assert table.errors == []


def test_the_search_finds_ranges_in_a_large_table(desk: MakeDesk) -> None:
    """Typing a node or a bound lists the ranges that hold it, and says how many there are."""
    table = desk(Player(build("tcm", {"nodes": 64, "tokens": 4, "rf": 3})))
    page = table.page
    table.turn_to("placements")
    page.fill(".kp-pane input[type=search]", "(100, 200]")
    assert page.locator(".kp-pane li[data-my-hit]").all_text_contents() == [
        "(100, 200] {n2, n3, n4}"
    ]
    assert page.get_attribute(".kp-pane [data-find]", "data-my-count") == "1 found"
    page.keyboard.type("j")
    assert page.input_value(".kp-pane input[type=search]") == "(100, 200]j"


@pytest.mark.spec("A-014")
def test_what_the_reader_chose_survives_a_step(desk: MakeDesk) -> None:
    """A tab stays in front and a chosen keyspace stays chosen."""
    from kit.protocols.tcm.cluster import TcmCluster
    from kit.protocols.tcm.parameters import TcmParameters
    from kit.ring.replication import Keyspace, SimpleStrategy

    spaces = (Keyspace("one", SimpleStrategy(1)), Keyspace("two", SimpleStrategy(2)))
    table = desk(Player(TcmCluster(TcmParameters(keyspaces=spaces))))
    page = table.page
    table.turn_to("placements")
    page.select_option("[data-choose=keyspace]", "two")
    table.turn_to("log")
    table.turn_to("placements")
    table.turn_to("epochs")
    do(page, "step")
    table.wait_where("1 / 1")
    table.settle()
    assert page.get_attribute(".kp-stage .kp-sheet>[data-tab=epochs]", "aria-pressed") == "true"
    assert page.locator(".kp-stage .kp-page:visible").count() == 1
    table.turn_to("placements")
    assert page.locator('[data-k="keyspace:two"]').is_visible()
    assert page.locator('[data-k="keyspace:one"]').is_hidden()
    assert table.difference() == ""


def test_a_player_that_lost_the_thread_asks_for_the_rest(desk: MakeDesk) -> None:
    """After messages were lost the page asks what it lacks and is whole again."""
    table = desk("tcm/bootstrap")
    table.player.step()
    table.player.step()
    table.drain()
    table.player.step()
    table.flush()
    table.wait_where("3 / 3")
    assert table.difference() == ""


HELD = """() => {
  const heard = window.kernel;
  const gate = new Promise((open) => { window.answerNow = open; });
  window.kernel = async (news) => {
    const answer = await heard(news);
    if (JSON.parse(news).message === "sync") {
      window.asked = true;
      await gate;
    }
    return answer;
  };
}"""
LOOKED = "(at) => window.sent.some(({ position }) => position?.at === at)"


@pytest.mark.parametrize(
    ("before", "keys", "where"),
    [
        (None, ["End"], "4 / 4"),
        ("End", ["Home"], "0 / 4"),
        ("Home", ["ArrowRight", "ArrowRight"], "2 / 4"),
    ],
    ids=["on", "elsewhere", "back to where it was"],
)
def test_who_goes_on_while_a_page_asks_stays_there(
    desk: MakeDesk, before: str | None, keys: list[str], where: str
) -> None:
    """What the page lacks comes late, with the place that was: whoever has gone on by then keeps
    their own. Where the kernel goes after that they follow it.
    """
    table = desk(walked("tcm/bootstrap", 4))
    page, player = table.page, table.player
    player.goto(2)
    table.flush()
    page.focus("[data-do=scrub]")
    if before:
        page.keyboard.press(before)
        page.wait_for_function(LOOKED, arg={"End": 4, "Home": 0}[before])
    page.evaluate(HELD)
    lost = player.rendered.notice()
    table.outbox.append(to_builtins(replace(lost, base=lost.base + 1)))
    page.evaluate("window.deliver", table.drain())
    page.wait_for_function("window.asked")
    for key in keys:
        page.keyboard.press(key)
    table.wait_where(where)
    page.evaluate("window.answerNow()")
    table.settle()
    assert page.inner_text(".kp-where") == where
    player.goto(1)
    table.flush()
    table.wait_where("1 / 4")
    assert table.errors == []


SHOWN = "document.querySelector('.kp-where').firstChild"


def test_the_place_that_is_shown_is_not_shown_again(desk: MakeDesk) -> None:
    """A page hears where it is, as one does that asks for what it lacks: so what moves there is
    not cut short. Whatever shows a moment writes its number anew.
    """
    table = desk(walked("tcm/bootstrap", 2))
    page, rendered = table.page, table.player.rendered
    page.evaluate(f"window.shown = {SHOWN}")
    table.outbox.append(to_builtins(rendered.rest(len(rendered.store), len(rendered.moments))))
    table.outbox.append(to_builtins(rendered.notice(error="heard")))
    page.evaluate("window.deliver", table.drain())
    page.locator(".kp-note").get_by_text("heard").wait_for()
    assert page.evaluate(f"window.shown === {SHOWN}")
    table.player.goto(1)
    table.flush()
    table.wait_where("1 / 2")
    assert not page.evaluate(f"window.shown === {SHOWN}")


def test_a_new_model_takes_the_stage(desk: MakeDesk) -> None:
    """Another scenario begins a new session in the same place."""
    table = desk("tcm/bootstrap")
    do(table.page, "step")
    table.wait_where("1 / 1")
    assert table.player.controls is not None
    table.player.controls.source.value = "twophase"
    table.flush()
    table.wait_where("0 / 0")
    assert table.difference() == ""


SLOWLY = """() => {
  const packed = Response.prototype.arrayBuffer;
  const gate = new Promise((open) => { window.packNow = open; });
  Response.prototype.arrayBuffer = async function () {
    window.packing = true;
    await gate;
    return packed.call(this);
  };
}"""


def test_a_model_that_comes_while_the_former_is_kept_is_shown(desk: MakeDesk) -> None:
    """The page packs its history for who saves the notebook; what the kernel sends meanwhile is
    another session, and it is that which is shown.
    """
    table = desk("tcm/bootstrap")
    table.page.evaluate(SLOWLY)
    do(table.page, "step")
    table.page.wait_for_function("window.packing")
    assert table.player.controls is not None
    table.player.controls.source.value = "twophase"
    table.page.evaluate("window.deliver", table.drain())
    table.page.evaluate("window.packNow()")
    table.wait_where("0 / 0")
    assert table.difference() == ""


def test_frames_that_were_let_go_come_back(desk: MakeDesk, monkeypatch: pytest.MonkeyPatch) -> None:
    """Scrubbing to a frame the store has dropped asks for it and shows it."""
    monkeypatch.setattr("kit.views.rendered.KEPT", 2)
    player = walked("tcm/bootstrap", 10)
    player.rendered.renew(2)
    player.stage.pack = player.rendered.pack().compressed()
    table = desk(player)
    table.page.focus("[data-do=scrub]")
    table.page.keyboard.press("Home")
    table.wait_where("0 / 10")
    assert table.difference(0) == ""


def test_a_nasty_name_runs_nothing(desk: MakeDesk) -> None:
    """A node named like an image tag is text on the page; no script of it runs."""
    nasty = "<img src=x onerror=alert(1)>"
    table = desk(Player(build("tcm", {"operations": [f"bootstrap '{nasty}' --tokens 150"]})))
    table.page.on("dialog", lambda dialog: table.errors.append(dialog.message))
    for i in range(6):
        do(table.page, "step")
        table.wait_where(f"{i + 1} / {i + 1}")
    assert table.difference() == ""
    assert table.page.locator("img").count() == 0
    assert nasty in (table.page.text_content(".kp-stage") or "")
    assert table.errors == []
