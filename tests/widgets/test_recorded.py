"""A run that another tool has recorded, in the Player; and any run as a text to take along."""

from __future__ import annotations

from pathlib import Path

import pytest

import kit
from kit.errors import Refused
from kit.formats.itf import parse
from kit.formats.recorded import itf_of
from kit.widgets import Player
from tests.widgets.browsing import MakeDesk, serious

TRACES = Path(__file__).parents[1] / "fixtures" / "itf"


def test_what_works_for_any_run_works_for_a_recorded_one(tmp_path: Path) -> None:
    """It is stepped, exported, copied, and forked; beyond its end it says how it goes on."""
    player = Player(kit.read_itf(TRACES / "quint.itf.json"))
    assert player.step().say == "mint (amount = 7). Changed: balances, leader, votes."
    assert "* leader = Some(alice)" in player.text()
    written = player.export(tmp_path / "run.html")
    assert written.left_out == ()
    assert player.copy().timeline.at == 1
    player.goto(2)
    with pytest.raises(Refused, match="This is the end"):
        player.step()
    with pytest.raises(Refused, match="The recorded run ends here"):
        player.act("read on")
    assert len(parse(itf_of(player.timeline)).states) == 3


@pytest.mark.browser
def test_a_trace_of_quint_plays(desk: MakeDesk) -> None:
    """The nodes of its maps stand in the picture; what a step has changed is marked there."""
    table = desk(Player(kit.read_itf(TRACES / "quint.itf.json")))
    page = table.page
    page.wait_for_selector(".kp-picture tr[data-of=alice]")
    assert page.locator(".kp-picture tbody tr").count() == 2
    assert page.locator(".kp-picture .changed").count() == 0
    table.do("step")
    table.wait_where("1 / 2")
    assert page.locator(".kp-picture [data-of=alice] .changed").count() == 1
    assert "mint (amount = 7)" in page.inner_text(".kp-said")
    table.do("step")
    table.wait_where("2 / 2")
    assert page.inner_text(".kp-picture [data-of=bob] .changed") == "-3"
    assert serious(page, ".kp") == []
    assert table.errors == []


@pytest.mark.browser
@pytest.mark.parametrize("name", ["bootstrap", "quint.itf.json"])
def test_every_run_is_copied_as_mermaid(desk: MakeDesk, name: str) -> None:
    """A button of the list of keys asks for the run so far; its text is marked and copied."""
    recorded = name.endswith(".json")
    player = Player(kit.read_itf(TRACES / name) if recorded else name)
    table = desk(player)
    page = table.page
    for _ in range(2):
        table.do("step")
    page.keyboard.press("?")
    page.click(".kp-help >> text=Copy as Mermaid")
    table.flush()
    page.wait_for_function("document.querySelector('.kp-help pre').textContent")
    copied = page.evaluate("String(getSelection())")
    assert copied == player.mermaid().rstrip("\n")
    assert copied.startswith("sequenceDiagram")
    assert "2. " in copied
    assert serious(page, ".kp-help") == []
    assert table.errors == []
