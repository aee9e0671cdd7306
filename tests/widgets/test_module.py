"""The browser module on a bare page: frames, keys, focus, speech, branches, predictions."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest
from axe_playwright_python.sync_playwright import Axe
from playwright.sync_api import BrowserContext, Page, expect

from kit.engine.registry import build
from kit.widgets import Player
from tests.widgets.browsing import Desk

pytestmark = pytest.mark.browser
MakeDesk = Callable[..., Desk]


@pytest.mark.parametrize("name", ["tcm/bootstrap", "tcm/two-joins", "tcm/cancel", "twophase"])
def test_the_page_is_the_frame_after_every_step(desk: MakeDesk, name: str) -> None:
    """After each step, back and forth, the page equals the flattened fragment."""
    table = desk(name)
    last = 0
    while last < 12 and table.player.timeline.suggest() is not None:
        last += 1
        table.page.click("[data-do=step]")
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
    assert table.errors == []


def test_interrupted_animations_leave_no_trace(desk: MakeDesk) -> None:
    """A burst of keys faster than any tween ends in exactly the last frame."""
    table = desk(walked("tcm/bootstrap", 12))
    table.page.focus("[data-do=scrub]")
    for key in ["k"] * 6 + ["j"] * 3 + ["Home", "End", "k"]:
        table.page.keyboard.press(key)
    table.wait_where("11 / 12")
    assert table.difference(11) == ""


def walked(name: str, steps: int) -> Player:
    """A player some steps into a scenario."""
    player = Player(name)
    for _ in range(steps):
        player.step()
    player.stage.pack = player.rendered.pack().compressed()
    return player


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


def test_every_key_does_what_the_list_says(desk: MakeDesk) -> None:
    """Arrows, j, k, Home, End, Shift, Space, f, p and ? all work, and stay inside the player."""
    table = desk(walked("tcm/bootstrap", 12))
    page = table.page
    page.evaluate(
        "window.leaked = []; document.body.addEventListener('keydown', (e) => leaked.push(e.key))"
    )
    page.focus("[data-do=scrub]")
    for key, where in (
        ("Home", "0 / 12"), ("ArrowRight", "1 / 12"), ("j", "2 / 12"), ("ArrowLeft", "1 / 12"),
        ("Shift+ArrowRight", "6 / 12"), ("k", "5 / 12"), ("Shift+ArrowLeft", "1 / 12"),
        ("End", "12 / 12"), ("k", "11 / 12"), ("Home", "0 / 12"),
    ):  # fmt: skip
        page.keyboard.press(key)
        table.wait_where(where)
    page.keyboard.press("Space")
    table.wait_where("1 / 12")
    page.keyboard.press("Space")
    assert page.get_attribute("[data-do=play]", "aria-pressed") == "false"
    page.keyboard.press("f")
    table.wait_where("1 / 1")
    page.keyboard.press("p")
    assert page.locator(".kp[data-my-large]").count() == 1
    page.keyboard.press("p")
    page.keyboard.press("?")
    assert page.locator(".kp-help").is_visible()
    page.keyboard.press("Escape")
    assert page.locator(".kp-help").is_hidden()
    page.keyboard.press("x")
    page.keyboard.press("d")
    leaked = page.evaluate("window.leaked")
    assert set(leaked) <= {"Escape", "Shift"}


def test_acting_in_the_past_forks_and_both_branches_stay(desk: MakeDesk) -> None:
    """A button used in the past begins a branch; the drop-down leads back to the first one."""
    table = desk(walked("tcm/bootstrap", 8))
    page = table.page
    page.focus("[data-do=scrub]")
    page.keyboard.press("Home")
    page.keyboard.press("j")
    page.click("text=apply C")
    table.wait_where("2 / 2")
    table.settle()
    assert table.difference() == ""
    page.select_option("[data-do=branch]", "8")
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
    page.select_option("[data-do=compare]", "8")
    assert page.locator(".kp-side .kp-frame").is_visible()
    assert (
        page.text_content(".kp-diff")
        == "The branches part at step 3. Here: apply C. There: apply B."
    )
    assert page.locator(".kp-side [data-my-diff]").count() > 0
    assert page.locator(".kp-side .kp-acts").is_hidden()
    page.select_option("[data-do=compare]", "-1")
    assert page.locator(".kp-side").is_hidden()
    assert page.locator("[data-my-diff]").count() == 0


def test_a_refused_action_says_why_where_one_looks(desk: MakeDesk) -> None:
    """It can be focused, is marked as unusable, and answers beside itself by mouse and key."""
    table = desk("tcm/bootstrap")
    page = table.page
    page.click("[data-do=step]")
    table.wait_where("1 / 1")
    button = page.locator("button.act[aria-disabled=true]", has_text="add write replicas")
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
    page.click("[data-do=step]", force=True)
    page.wait_for_selector(".kp-note:not([hidden])")
    assert "Nothing to go on with" in (page.text_content(".kp-note") or "")
    assert page.text_content(".kp-where") == end


def test_focus_stays_on_what_one_uses(desk: MakeDesk) -> None:
    """A node keeps the focus over all steps; when a part goes, the focus goes to the next."""
    table = desk(walked("tcm/bootstrap", 12))
    page = table.page
    page.focus('[data-k="n:B:200"]')
    for _ in range(12):
        page.keyboard.press("k")
    table.wait_where("0 / 12")
    assert page.evaluate("document.activeElement.dataset.k") == "n:B:200"
    page.keyboard.press("End")
    table.wait_where("12 / 12")
    page.focus('[data-k="n:X:150"]')
    page.keyboard.press("Home")
    table.wait_where("0 / 12")
    assert page.evaluate("document.querySelector('.kp-stage').contains(document.activeElement)")


def test_ring_nodes_are_one_stop_and_light_up(desk: MakeDesk) -> None:
    """Arrows walk the ring within one tab stop; Enter lights a node wherever it is shown."""
    table = desk("tcm/bootstrap")
    page = table.page
    assert page.locator('[data-roving][tabindex="0"]').count() == 1
    page.focus('[data-k="n:A:100"]')
    page.keyboard.press("ArrowRight")
    assert page.evaluate("document.activeElement.dataset.k") == "n:B:200"
    assert page.locator('[data-roving][tabindex="0"]').count() == 1
    page.keyboard.press("Enter")
    assert page.get_attribute('[data-k="n:B:200"]', "aria-pressed") == "true"
    lit = page.locator(".chip[data-my-lit]").all_text_contents()
    assert lit
    assert set(lit) == {"B"}
    page.keyboard.press(" ")
    assert page.locator(".chip[data-my-lit]").count() == 0


def test_each_step_is_spoken_once(desk: MakeDesk) -> None:
    """One polite region outside the frame says the last of many fast steps; the range says more."""
    table = desk(walked("tcm/bootstrap", 12))
    page = table.page
    assert page.locator("[aria-live]").count() == 1
    page.evaluate(
        "window.said = []; new MutationObserver(() => "
        "said.push(document.querySelector('.kp-live').textContent))"
        ".observe(document.querySelector('.kp-live'), { childList: true, characterData: true,"
        " subtree: true })"
    )
    page.focus("[data-do=scrub]")
    for _ in range(5):
        page.keyboard.press("k")
    page.wait_for_function("window.said.length > 0", polling=20)
    say = table.player.timeline.moments[7].say
    assert page.evaluate("window.said") == [say]
    assert page.get_attribute("[data-do=scrub]", "aria-valuetext") == f"step 7 of 12: {say}"


@pytest.mark.parametrize("reduced", [True, False])
def test_motion_is_reduced_on_request(
    desk: MakeDesk, context: BrowserContext, reduced: bool
) -> None:
    """Nothing moves for a reader who asked for that; otherwise a step is tweened."""
    table = desk(walked("tcm/bootstrap", 12))
    table.page.emulate_media(reduced_motion="reduce" if reduced else "no-preference")
    table.page.focus("[data-do=scrub]")
    running = table.page.evaluate(
        "() => { document.querySelector('[data-do=first]').click();"
        " for (let i = 0; i < 6; i += 1) document.querySelector('[data-do=step]').click();"
        " return document.getAnimations().length; }"
    )
    assert (running == 0) is reduced


def test_predictions_hide_the_step_until_it_is_answered(desk: MakeDesk) -> None:
    """The next frame is not shown before an answer; a wrong one is told what happened instead."""
    table = desk(walked("tcm/bootstrap", 12))
    page = table.page
    page.click("[data-do=predict]")
    page.focus("[data-do=scrub]")
    page.keyboard.press("Home")
    table.wait_where("0 / 12")
    page.keyboard.press("j")
    page.wait_for_selector(".kp-ask:not([hidden])")
    assert page.text_content(".kp-where") == "0 / 12"
    page.check(".kp-ask input >> nth=0")
    page.click("[data-do=answer]")
    table.wait_where("1 / 12")
    assert (page.text_content(".kp-note") or "").startswith("Not so. In epoch 1")
    page.focus("[data-do=scrub]")
    page.keyboard.press("Shift+ArrowRight")
    page.wait_for_selector(".kp-ask:not([hidden])")
    for box in page.locator(".kp-ask input[data-right]").all():
        box.check()
    page.click("[data-do=answer]")
    table.wait_where("6 / 12")
    assert (page.text_content(".kp-note") or "").startswith("Right. In epoch 2")
    assert table.difference(6) == ""


def test_predictions_work_at_the_tip(desk: MakeDesk) -> None:
    """Also a step that the kernel has only just made stays hidden until it is answered."""
    table = desk("tcm/bootstrap")
    page = table.page
    page.click("[data-do=predict]")
    page.click("[data-do=step]")
    page.wait_for_selector(".kp-ask:not([hidden])")
    assert page.locator(".kp-stage .entry").count() == 0
    page.click("[data-do=reveal]")
    table.wait_where("1 / 1")
    assert page.locator(".kp-stage .entry").count() == 1


def test_a_run_is_one_step_that_can_be_unfolded(desk: MakeDesk) -> None:
    """A macro counts as one step; unfolding shows its ordinary actions."""
    table = desk("tcm/bootstrap")
    page = table.page
    page.click("[data-do=step]")
    table.wait_where("1 / 1")
    page.click("text=catch up all")
    table.wait_where("2 / 2")
    table.settle()
    assert table.difference() == ""
    page.click("[data-do=unfold]")
    table.wait_where("5 / 5")


def test_many_actions_share_a_picker(desk: MakeDesk) -> None:
    """Above twelve of a kind one chooses in a drop-down and presses one button."""
    table = desk(Player(build("tcm", {"nodes": 14, "rf": 3})))
    page = table.page
    page.click("[data-do=step]")
    table.wait_where("1 / 1")
    page.select_option("[data-group=apply] select", label="apply C")
    page.click("[data-group=apply] [data-act=pick]")
    table.wait_where("2 / 2")
    assert table.player.model.verb(table.player.timeline.now.action) == "apply C"
    page.select_option("[data-group=apply] select", label="apply C (not now)")
    page.click("[data-group=apply] [data-act=pick]")
    assert "has applied every committed epoch" in (page.text_content(".kp-note") or "")


def test_the_search_finds_ranges_in_a_large_table(desk: MakeDesk) -> None:
    """Typing a node or a bound lists the ranges that hold it, and says how many there are."""
    table = desk(Player(build("tcm", {"nodes": 64, "tokens": 4, "rf": 3})))
    page = table.page
    page.fill("input[type=search]", "(100, 200]")
    assert page.locator("li[data-my-hit]").all_text_contents() == ["(100, 200] {n2, n3, n4}"]
    assert page.get_attribute("[data-find]", "data-my-count") == "1 found"
    page.keyboard.type("j")
    assert page.input_value("input[type=search]") == "(100, 200]j"


def test_what_the_reader_chose_survives_a_step(desk: MakeDesk) -> None:
    """A folded panel stays folded and a chosen keyspace stays chosen."""
    from kit.protocols.tcm.cluster import TcmCluster
    from kit.protocols.tcm.parameters import TcmParameters
    from kit.ring.replication import Keyspace, SimpleStrategy

    spaces = (Keyspace("one", SimpleStrategy(1)), Keyspace("two", SimpleStrategy(2)))
    table = desk(Player(TcmCluster(TcmParameters(keyspaces=spaces))))
    page = table.page
    page.select_option("[data-choose=keyspace]", "two")
    page.click(".panel.ring > summary")
    page.click("[data-do=step]")
    table.wait_where("1 / 1")
    table.settle()
    assert page.locator('[data-k="keyspace:two"]').is_visible()
    assert page.locator('[data-k="keyspace:one"]').is_hidden()
    assert page.get_attribute(".panel.ring", "open") is None
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


def test_a_new_model_takes_the_stage(desk: MakeDesk) -> None:
    """Another scenario begins a new session in the same place."""
    table = desk("tcm/bootstrap")
    table.page.click("[data-do=step]")
    table.wait_where("1 / 1")
    assert table.player.controls is not None
    table.player.controls.source.value = "twophase"
    table.flush()
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
    table = desk(Player(build("tcm", {"operations": [f"join '{nasty}' --tokens 150"]})))
    table.page.on("dialog", lambda dialog: table.errors.append(dialog.message))
    for i in range(6):
        table.page.click("[data-do=step]")
        table.wait_where(f"{i + 1} / {i + 1}")
    assert table.difference() == ""
    assert table.page.locator("img").count() == 0
    assert nasty in (table.page.text_content(".kp-stage") or "")
    assert table.errors == []


def serious(page: Page) -> list[str]:
    """What axe finds serious or critical on a page."""
    found = Axe().run(page).response["violations"]
    return [
        f"{one['id']}: {[node['html'][:120] for node in one['nodes']]}"
        for one in found
        if one["impact"] in ("serious", "critical")
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(desk: MakeDesk, scheme: str) -> None:
    """Names, roles, scopes, focus and contrast hold in both themes, also with all that opens."""
    table = desk(walked("tcm/bootstrap", 12))
    page = table.page
    page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]  # parametrised
    assert serious(page) == []
    page.evaluate("for (const one of document.querySelectorAll('details')) one.open = true")
    page.focus("[data-do=scrub]")
    page.keyboard.press("?")
    assert serious(page) == []


def test_an_ordinary_screen_is_enough(desk: MakeDesk) -> None:
    """At 1280 by 720 nothing overflows sideways, and neither does it on a narrow page."""
    table = desk(walked("tcm/bootstrap", 12))
    for width in (1280, 760, 420):
        table.page.set_viewport_size({"width": width, "height": 720})
        over = table.page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert over <= 0, f"{width} pixels wide: {over} too many"
    table.page.set_viewport_size({"width": 1280, "height": 720})
    for panel in ("placements", "ring", "actions"):
        box = table.page.locator(f".panel.{panel}").bounding_box()
        assert box is not None
        assert box["y"] + box["height"] <= 720


@pytest.mark.parametrize("name", ["page"])
def test_the_exported_page_needs_nothing(
    context: BrowserContext, tmp_path: Path, name: str
) -> None:
    """With the network cut, it steps, scrubs, compares and asks; it requests only itself."""
    player = walked("tcm/bootstrap", 12)
    player.goto(3)
    for verb in ("apply X", "apply C", "commit X"):
        player.act(verb)
    path = player.export(tmp_path / f"{name}.html").path
    page = context.new_page()
    requests: list[str] = []
    errors: list[str] = []
    page.on("request", lambda request: requests.append(request.url))
    page.on("pageerror", lambda error: errors.append(str(error)))
    page.on(
        "console", lambda message: errors.append(message.text) if message.type == "error" else None
    )
    page.goto(f"{path.as_uri()}#step-3")
    where = page.locator(".kp-where")
    expect(where).to_have_text("3 / 6")
    page.keyboard.press("ArrowRight")
    page.wait_for_url("**#step-13")
    expect(where).to_have_text("4 / 6")
    page.select_option("[data-do=branch]", "12")
    expect(where).to_have_text("4 / 12")
    page.select_option("[data-do=compare]", "15")
    assert page.locator(".kp-side .kp-frame").is_visible()
    page.select_option("[data-do=compare]", "-1")
    act = page.locator("button[data-refused*=notebook]").first
    assert act.get_attribute("aria-disabled") == "true"
    act.dispatch_event("click")
    assert "notebook to act" in (page.text_content(".kp-note") or "")
    page.click("[data-do=predict]")
    page.click("[data-do=milestone]")
    page.wait_for_selector(".kp-ask:not([hidden])")
    page.click("[data-do=reveal]")
    page.evaluate("location.hash = '#step-2'")
    expect(where).to_have_text(re.compile("^2 / "))
    assert [url for url in requests if not url.startswith(("file:", "data:"))] == []
    assert len([url for url in requests if url.startswith("file:")]) == 1
    assert errors == []
    assert serious(page) == []


def test_the_exported_page_reads_without_scripts(context: BrowserContext, tmp_path: Path) -> None:
    """Where scripts are off the first frame stands there with its tables."""
    path = walked("tcm/bootstrap", 3).export(tmp_path / "page.html").path
    assert context.browser is not None
    bare = context.browser.new_context(java_script_enabled=False)
    page = bare.new_page()
    page.goto(path.as_uri())
    assert page.locator("table caption", has_text="Read placements").first.is_visible()
    assert re.search(r"\(100, 200\]", page.text_content(".kp-stage") or "")
    bare.close()
