"""A run as numbered frames: each milestone once, in order, and the Player stays where it is."""

from __future__ import annotations

import re

import nbformat
import pytest

from kit import Player
from kit.lessons import frames
from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.protocols.tablets.rules.stages import TRANSITIONS
from kit.search.check import check
from tests.house.source import ROOT

STAGES = [state.name for state in TRANSITIONS["server"]["migration"].states]


def test_frames_are_numbered_and_leave_the_player() -> None:
    """The start and every milestone, each with its number, name and panel."""
    player = Player("tcm/bootstrap", controls=False)
    shown = repr(frames(player, "log"))
    heads = re.findall(r"^Frame (\d+) of (\d+): (.+)$", shown, re.M)
    assert [int(number) for number, _, _ in heads] == list(range(1, len(heads) + 1))
    assert {int(total) for _, total, _ in heads} == {len(heads)}
    assert heads[0][2] == "the start"
    assert len(heads) > 4
    assert player.timeline.at == 0


@pytest.mark.spec("H-010")
@pytest.mark.parametrize(
    ("notebook", "player", "epochs"),
    [
        ("02-bootstrap-epoch-by-epoch", "player", range(1, 5)),
        ("02-bootstrap-epoch-by-epoch", "rf3", range(100, 104)),
        ("04-decommission-and-other-moves", "leave", range(1, 5)),
    ],
)
def test_a_plan_is_walked_through_epoch_by_epoch(notebook: str, player: str, epochs: range) -> None:
    """Each epoch is gone to, in its order; the cell, or the one below, has its number and event."""
    cells = nbformat.read(ROOT / "notebooks" / f"{notebook}.ipynb", as_version=4).cells
    code = [cell for cell in cells if cell.cell_type == "code"]
    walked = re.compile(rf"{player} = to_epoch\({player}, (\d+)\)")
    gone = [(at, int(found[1])) for at, c in enumerate(code) for found in walked.finditer(c.source)]
    assert list(dict.fromkeys(number for _, number in gone)) == list(epochs)
    for number in epochs:
        shown = [
            "".join(output.get("data", {}).get("text/plain", "") for output in code[at].outputs)
            for first in (at for at, each in gone if each == number)
            for at in (first, first + 1)
        ]
        assert any(re.search(rf"(?i)\bepoch {number}: ", text) for text in shown), number


@pytest.mark.spec("H-010")
def test_a_recovery_is_walked_through_in_numbered_frames() -> None:
    """Notebook 18 has a frame for every step that something is reached by, up to the end."""
    cells = nbformat.read(ROOT / "notebooks" / "53-recovery-drill.ipynb", as_version=4).cells
    [cell] = [c for c in cells if c.cell_type == "code" and "frames(Player(" in c.source]
    shown = cell.outputs[0].data["text/plain"]
    seen = re.findall(r"^Frame \d+ of \d+: (.+)$", shown, re.M)
    created, joined = seen.index("group 2 is created"), seen.index("all nodes are in the new group")
    deleted = seen.index("no live node has a group id")
    assert 0 < deleted < seen.index("B will lead") < created < joined
    assert seen[-1] == "the recovery is done"
    assert "<h4" in cell.outputs[0].data["text/html"]


@pytest.mark.spec("H-010")
def test_a_tablet_migration_is_walked_through_in_numbered_frames() -> None:
    """Notebook 12 has a frame for every stage of a migration that succeeds, in order."""
    cells = nbformat.read(ROOT / "notebooks" / "42-one-tablet-moves.ipynb", as_version=4).cells
    [cell] = [c for c in cells if c.cell_type == "code" and "frames(Player(" in c.source]
    shown = cell.outputs[0].data["text/plain"]
    seen = re.findall(r"^Frame \d+ of \d+: tablet 0: (\w+)$", shown, re.M)
    assert seen == STAGES[: STAGES.index("end_migration") + 1]
    assert "<h4" in cell.outputs[0].data["text/html"]


def test_a_film_is_the_picture_at_each_milestone_and_break() -> None:
    """Small pictures side by side; without names the one that the Player shows, and no table."""
    film = frames(Player("gossip/both-sides", controls=False))
    heads = re.findall(r"^Frame \d+ of \d+: (.+)$", repr(film), re.M)
    timeline = Player("gossip/both-sides", controls=False).timeline
    known = 0
    reached = ["the start"]
    while timeline.forward() is not None:
        broke = len(timeline.breaches(timeline.at)) > known
        known = len(timeline.breaches(timeline.at))
        names = [timeline.now.milestone, "a promise broke" if broke else None]
        reached += [", ".join(filter(None, names))] if any(names) else []
    assert heads[: len(reached)] == reached
    assert any("a promise broke" in head for head in heads)
    html = film._repr_mimebundle_()["text/html"]
    assert html.count("<img") == len(heads)
    assert html.count("flex-wrap:wrap") == 1
    assert "<table" not in html


def test_a_film_of_a_run_is_of_that_run() -> None:
    """Of a counterexample it shows what was done there, to its last step, and not what would be."""
    model = build("paxos", {"members": 2}, ("majority",))
    violation = check(model).violation
    assert violation is not None
    run = Timeline.along(model, violation.actions)
    last = repr(frames(run)).split("Frame ")[-1]
    assert "a promise broke" in last
    assert run.moments[-1].say in last
    # A step in which nothing is reached is shown where the run ends there.
    begun = Timeline.along(model, violation.actions[:1])
    assert begun.moments[-1].say in repr(frames(begun)).split("Frame ")[-1]
