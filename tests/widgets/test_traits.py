"""What a Player tells other widgets: where it is, the protocol's count, the verdict, the branch."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import ipywidgets
import pytest
import traitlets

from kit.errors import BadInput
from kit.formats.recorded import read_itf
from kit.lessons import finished
from kit.widgets import Player
from tests.widgets.browsing import MakeDesk, do
from tests.widgets.playing import quiet

ITF = Path(__file__).parent.parent / "fixtures" / "itf" / "apalache.itf.json"
NAMES = ("step_number", "epoch", "verdict", "branch")


def told(player: Player) -> tuple[Any, ...]:
    """All that it tells now."""
    return tuple(getattr(player, name) for name in NAMES)


def test_an_observer_finds_everything_as_it_is_now() -> None:
    """Who hears that the step is another one reads the epoch and the verdict of that step."""
    player, _ = quiet("tcm/bootstrap")
    heard: list[tuple[Any, ...]] = []
    player.observe(lambda change: heard.append((change.name, *told(player))), NAMES)
    player.step()
    player.act("apply A")
    player.back()
    player.fork()
    assert heard == [
        ("step_number", 1, 1, "holds", 1),
        ("epoch", 1, 1, "holds", 1),
        ("step_number", 2, 1, "holds", 1),
        ("step_number", 1, 1, "holds", 1),
        ("branch", 1, 1, "holds", 2),
    ]


def test_whatever_moves_the_player_is_told() -> None:
    """A press, a look of the page, a jump, another history and a reset."""
    player, said = quiet("tcm/bootstrap")
    player.hear({"message": "act", "control": "milestone", "at": 0, "have": 0})
    assert (player.step_number, player.epoch) == (1, 1)
    look = {"at": 0, "tip": 1, "sequence": said[-1]["position"]["sequence"]}
    player.hear({"message": "look", "position": look})
    assert (player.step_number, player.epoch) == (0, 0)
    player.goto(1)
    assert player.step_number == 1
    player.show(finished("tcm/bootstrap"))
    assert (player.step_number, player.epoch) == (22, 4)
    player.reset()
    assert player.step_number == 0


def test_a_player_goes_to_the_step_number_that_is_set() -> None:
    """On the branch that is shown; a number beyond its end is refused and changes nothing."""
    player = Player(finished("tcm/bootstrap"), controls=False)
    player.step_number = 5
    assert player.timeline.at == player.timeline.path()[5]
    with pytest.raises(BadInput, match="step_number: got 23; allowed: a number from 0 to 22"):
        player.step_number = 23
    assert player.step_number == 5
    with pytest.raises(traitlets.TraitError, match="read-only"):
        player.epoch = 2


def test_a_slider_and_a_function_go_with_a_player() -> None:
    """Linked with a slider, both lead; what an interactive output shows is of that step."""
    player = Player(finished("tcm/bootstrap"), controls=False)
    slider = ipywidgets.IntSlider(max=22)
    traitlets.link((player, "step_number"), (slider, "value"))
    shown: list[tuple[int, int | None]] = []
    ipywidgets.interactive_output(lambda at: shown.append((at, player.epoch)), {"at": slider})
    assert slider.value == 22
    slider.value = 1
    player.step()
    assert shown == [(22, 4), (1, 1), (2, 1)]


def test_the_verdict_names_the_promise_that_broke() -> None:
    """From the step that breaks it on, whatever comes after; before it, all promises hold."""
    player = Player(finished("schema/two-changes-by-gossip"), controls=False)
    broken = player.timeline.breaches(player.timeline.at)[0]
    assert player.verdict == broken.name
    player.step_number = broken.step
    assert player.verdict == "holds"
    player.step()
    assert player.verdict == broken.name


@pytest.mark.parametrize(
    ("story", "first", "last"),
    [
        ("tcm/bootstrap", 0, 4),
        ("dataplane/write-and-read", 99, 103),
        ("raft/election", 0, 1),
        ("paxos/one-value", 0, 1),
        ("commit/one-event", 0, 1),
        ("cms/grow", 1, 5),
        ("schema/two-changes", 2, 3),
        ("schema/two-changes-by-gossip", None, None),
        ("migration/to-the-log", None, 3),
        ("group0/schema", 0, 2),
        ("topology/join-with-coordinator", 1, 4),
        ("tablets/one-tablet-moves", 1, 3),
        ("resize/table-splits", 0, 2),
        ("twophase/commit", None, None),
    ],
)
def test_the_count_is_the_protocols_own(story: str, first: int | None, last: int | None) -> None:
    """An epoch, a version, a term, an index: as its picture has it; none of a model without one."""
    player = Player(finished(story), controls=False)
    assert player.epoch == last
    player.step_number = 0
    assert player.epoch == first


def test_nothing_is_judged_where_nothing_is_promised() -> None:
    """A model without promises has no verdict; a known cost is named like a broken promise."""
    assert Player(finished("gossip/both-sides"), controls=False).verdict == "one-id"
    assert Player(read_itf(ITF), controls=False).verdict == ""


@pytest.mark.browser
def test_a_press_in_a_page_is_told(desk: MakeDesk) -> None:
    """Who plays in the browser moves what is linked with the Player."""
    table = desk("tcm/bootstrap")
    slider = ipywidgets.IntSlider(max=22)
    traitlets.link((table.player, "step_number"), (slider, "value"))
    do(table.page, "step")
    table.wait_where("1 / 1")
    assert (slider.value, table.player.epoch) == (1, 1)
    table.page.click("[data-do=back]")
    table.wait_where("0 / 1")
    table.page.wait_for_function("at => window.place === at", arg="0 / 1")
    assert slider.value == 0
