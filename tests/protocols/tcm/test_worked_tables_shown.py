"""The placement panel draws the worked tables of CEP-21 letter by letter, in display order."""

from __future__ import annotations

import re

import pytest

from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.panels.placement import draw_placements, placements_text
from kit.views.fragment import Frag
from kit.views.panel import Scene
from tests.protocols.tcm.test_worked_tables import WORKED
from tests.views.frames import milestones, table, walk

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
    """At epochs 0 to 4 both tables, as picture and as words, are those of the text."""
    scenes = milestones(walk(f"tcm/{operation}"))
    assert [facts.epoch(scene.model, scene.state) for scene in scenes] == [0, 1, 2, 3, 4]
    for step, scene in enumerate(scenes):
        for shown in (scene, Scene(scene.model, scene.state)):  # with and without signs of change
            for side in SIDES:
                assert drawn(draw_placements(shown), side) == wanted(operation, step, side)
                assert written(placements_text(shown), side) == wanted(operation, step, side)
