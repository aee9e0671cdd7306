"""The worked tables of CEP-21, played on the whole engine and compared with the fixture's rows."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import pytest
from playwright.sync_api import BrowserContext

from kit.model.registry import scenario_of
from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.panels.placement import draw_placements, placements_text
from kit.protocols.tcm.rules.operations import SENTENCES
from kit.views.fragment import Frag
from kit.views.panel import Scene
from kit.widgets import Player
from tests.fixtures import rows
from tests.protocols.tcm.driving import Drive
from tests.views.frames import milestones, table, walk
from tests.widgets.browsing import do

Shown = list[tuple[int, int, str]]


def fixture_rows() -> dict[tuple[str, int, str], Shown]:
    """(operation, step, side) -> its rows: left, right and replicas as the fixture writes them."""
    found = defaultdict(list)
    for operation, step, side, left, right, replicas, _ in rows("WT"):
        found[operation, int(step), side].append((int(left), int(right), replicas))
    return found


WORKED = fixture_rows()
STEPS = {
    "bootstrap": ["split", "add-writes", "switch-reads", "drop-writes"],
    "decommission": ["add-writes", "switch-reads", "drop-writes", "merge"],
}


def worked(scenario: str) -> Drive:
    """The scenario of this name at its start."""
    _, found = scenario_of(f"tcm/{scenario}")
    return Drive(**found.parameters)


def shown(drive: Drive, side: str) -> Shown:
    """One table as the scenario shows it: the rows inside its focus, in display order."""
    focus = facts.focus(drive.model)
    assert focus is not None
    return [
        (row.left, row.right, ",".join(row.reads if side == "read" else row.writes))
        for row in facts.rows(drive.model, drive.state)
        if focus.left <= row.left and row.right <= focus.right
    ]


@pytest.mark.spec("A-017", "A-022", "A-023", "A-024", "A-025", "A-026", "A-034", "A-006", "A-007")
@pytest.mark.spec("A-028", "A-030", "A-031", "A-032", "A-033")
@pytest.mark.parametrize("begin", ["bootstrap X --tokens 150", "decommission X"])
def test_an_operation_has_the_worked_tables_letter_by_letter(begin: str) -> None:
    """After each of its four events both tables are those of the text, and no lamp is out."""
    operation = begin.split(maxsplit=1)[0]
    drive = worked(operation)
    for number in range(5):
        if number == 1:
            drive.act(begin)
        elif number > 1:
            drive.commit("X")
        assert drive.model.newest_epoch(drive.state) == number, number
        for side in ("read", "write"):
            assert shown(drive, side) == WORKED[operation, number, side], (number, side)
        assert drive.dark() == [], number
    assert drive.stable()
    words = [line.text for line in facts.log(drive.model, drive.state)]
    assert words == [SENTENCES[name] for name in STEPS[operation]]


@pytest.mark.spec("A-040")
def test_the_rf3_example_has_the_groups_of_the_text_at_epochs_100_to_103() -> None:
    """Groups are compared as sets."""
    drive = worked("rf3")
    drive.act("bootstrap X --tokens 150")
    assert drive.model.newest_epoch(drive.state) == 100
    assert drive.groups(150) == ({"A", "B", "C"}, {"A", "B", "C"})
    for epoch in (101, 102, 103):
        drive.commit("X")
        assert drive.model.newest_epoch(drive.state) == epoch, epoch
        for side in ("read", "write"):
            ((left, right, replicas),) = shown(drive, side)
            ((wanted_left, wanted_right, wanted),) = WORKED["rf3", epoch, side]
            assert (left, right) == (wanted_left, wanted_right), (epoch, side)
            assert sorted(replicas.split(",")) == sorted(wanted.split(",")), (epoch, side)
    assert [line.epoch for line in facts.log(drive.model, drive.state)] == [100, 101, 102, 103]


@pytest.mark.spec("A-022", "A-042")
def test_the_rest_of_the_line_is_cut_at_its_ends() -> None:
    """Beyond the worked rows nothing wraps."""
    drive = worked("bootstrap")
    assert drive.table()[2:] == (
        (200, 300, ("C", "A"), ("C", "A")),
        (300, 400, ("A", "B"), ("A", "B")),
    )
    drive.complete("bootstrap X --tokens 150")
    assert drive.table()[0][0] == facts.space(drive.model).low
    assert drive.table()[-1][1] == facts.space(drive.model).high
    assert drive.table()[-1][2] == ("A", "X")


OPERATIONS = ("bootstrap", "decommission")
SIDES = {"read": "reads", "write": "writes"}
Rows = list[tuple[str, str]]


def wanted(operation: str, step: int, side: str) -> Rows:
    """The fixture's table as a reader sees it: ranges as written, replicas in display order."""
    rows = WORKED[operation, step, side]
    return [(f"({left}, {right}]", replicas) for left, right, replicas in rows]


def present(words: list[str]) -> str:
    """The replicas a group has after the step: what went (−B) is left out, the + of what came."""
    return ",".join(word.removeprefix("+") for word in words if not word.startswith("−"))


def drawn(panel: Frag, side: str) -> Rows:
    """One side of the panel's first table: all that is shown before anything is opened."""
    return [(label, present(words)) for label, words in table(panel, SIDES[side]).items()]


def written(text: str, side: str) -> Rows:
    """The rows of the panel's text that lie in the part that the worked examples show."""
    found = []
    for line in text.splitlines():
        cells = re.split(r" {2,}", line.strip())
        ends = re.fullmatch(r"\((\d+), (\d+)\]", cells[0])
        if ends is not None and int(ends[2]) <= 200:
            found.append((cells[0], present(cells[1 + (side == "write")].split(", "))))
    return found


@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.spec("A-017", "A-022", "A-023", "A-024", "A-025", "A-026", "A-028", "A-034", "H-006")
@pytest.mark.spec("A-030", "A-031", "A-032", "A-033")
def test_the_panel_shows_the_worked_tables_letter_by_letter(operation: str) -> None:
    """At epochs 0 to 4, as picture and as words, with and without signs of change."""
    scenes = milestones(walk(f"tcm/{operation}"))
    assert [scene.model.newest_epoch(scene.state) for scene in scenes] == [0, 1, 2, 3, 4]
    for step, scene in enumerate(scenes):
        for shown in (scene, Scene(scene.model, scene.state)):  # with and without signs of change
            for side in SIDES:
                rows, case = wanted(operation, step, side), (step, side)
                assert drawn(draw_placements(shown), side) == rows, case
                assert written(placements_text(shown), side) == rows, case


TABLE = """(side) => [
  ...document.querySelector(".kp-stage table.placement").tBodies[0].rows
].map((row) => [row.cells[0].innerText.trim(),
  [...row.querySelectorAll(`.${side} .chip`)].map((chip) => chip.innerText.trim())])"""

EPOCH = """(epoch) => [...document.querySelectorAll(".kp-stage .badges *")]
  .some((one) => one.textContent === `Epoch ${epoch}`)
  && document.getAnimations().every((one) => one.playState !== "running")"""


@pytest.mark.browser
@pytest.mark.sweep(2)
@pytest.mark.parametrize("operation", OPERATIONS)
@pytest.mark.spec("A-017", "A-022", "A-023", "A-024", "A-025", "A-026", "A-028", "A-034", "H-006")
@pytest.mark.spec("A-030", "A-031", "A-032", "A-033")
def test_the_exported_page_shows_the_worked_tables(
    context: BrowserContext, tmp_path: Path, operation: str
) -> None:
    """From milestone to milestone both tables are those of the text."""
    player = Player(f"tcm/{operation}")
    for _ in range(4):
        player.milestone()
    path = player.export(tmp_path / "page.html").path
    page = context.new_page()
    page.goto(path.as_uri())
    page.click("[data-do=uncover]")
    for step in range(5):
        if step:
            do(page, "milestone")
        page.wait_for_function(EPOCH, arg=step, polling=20)
        for side, name in SIDES.items():
            rows = page.evaluate(TABLE, name)
            found = [(label, present(words)) for label, words in rows]
            assert found == wanted(operation, step, side), (step, side)
