"""What a picture says while a request or a step waits: who stands there, who is missing, what was
sent. Each row is a step of a scenario.
"""

from __future__ import annotations

import re

import pytest
from msgspec import Struct

from kit.playing.opening import open_named
from kit.views.actions import draw_actions
from kit.views.gate import gates_of
from kit.views.headlines import MOST_LETTERS, headline_of
from kit.views.panel import Scene, scene_of
from kit.views.registry import for_model


class Waits(Struct, frozen=True):
    """A step: what ``stands`` in the words of the picture, who is ``missing`` before the gate and
    who is ``there``, what was ``sent`` in it, and what stands there not yet (``absent``).
    """

    scenario: str
    step: int
    stands: tuple[str, ...]
    missing: str = ""
    there: str = ""
    sent: tuple[str, ...] = ()
    absent: tuple[str, ...] = ()


ROWS = (
    Waits(
        "vnodes/write-during-bootstrap", 3,
        ("K1, write 1: counted B, C; awaits D; 2 of B, C, D (2 needed)", "C: read and written"),
        absent=("D: read and written, knows 10, holds w1", "C, D; done"),
    ),
    Waits(
        "vnodes/write-during-bootstrap", 8,
        ("counted B, C, D; done", "X: only written to", "C: read and written, knows 11"),
        "D X", "B C", absent=("D: read and written, knows 11",),
    ),
    Waits(
        "vnodes/write-during-bootstrap", 16,
        ("D: only written to, knows 12", "D to X: arrived", "X: read and written, joining"),
        "X", "B C D", absent=("X: read and written, joining, knows 12",),
    ),
    Waits(
        "dataplane/no-barrier", 3,
        ("K1, write 1: counted A, B; awaits C; 2 of A, B, C (2 needed)",),
        absent=("C: read and written, knows 99, holds w1", "B, C; done"),
    ),
    Waits(
        "dataplane/no-barrier", 9,
        ("newest: 100, split ranges", "C: read and written, knows 100"), "X", "",
        absent=("X: nothing, joining, knows 100",),
    ),
    Waits(
        "dataplane/no-barrier", 25,
        ("K2, read 2: counted B; awaits C, X; 1 of B, C, X", "B: read and written, knows 103"),
        "C X", "B", absent=("X: read and written, knows 103", "C: read and written, knows 103"),
    ),
    Waits(
        "truncate/late-truncate", 3,
        ("client: wants to truncate", "B: old rows, no session"), "B", "A",
        ("group 0 → A: session 1",),
    ),
    Waits(
        "truncate/late-truncate", 6,
        ("on its way: g0 → A: late RPC (held)", "A: old rows, session 1"), "A B", "",
        ("coordinator → network: truncate for A",), ("has answered",),
    ),
    Waits(
        "truncate/late-truncate", 7,
        ("A: no rows, session 1, has answered", "B: old rows"), "B", "A",
        ("coordinator → A: truncate", "A → coordinator: truncated"),
    ),
    Waits(
        "resize/table-splits", 9,
        ("A: behind", "B: behind", "group 0: split 1, ready, barrier"), "A B", "",
    ),
    Waits(
        "resize/table-splits", 10,
        ("B: behind", "a client writes tablet 0 at A:0, B:0"), "B", "A",
        ("group 0 → A: 1 tablet, resize split",), ("A: behind",),
    ),
    Waits(
        "resize/table-splits", 28,
        ("A: 0, 1", "B: 0, 1", "group 0: split 2, ready, commit"),
        sent=("coordinator → B: barrier", "B → coordinator: drained"), absent=("behind",),
    ),
)  # fmt: skip


def scene_at(name: str, step: int) -> Scene:
    """A step of a scenario, gone through as its Player does."""
    timeline = open_named(name).timeline
    while len(timeline.moments) <= step:
        timeline.forward()
    return scene_of(timeline, timeline.moments[step].id)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: f"{row.scenario} {row.step}")
def test_a_picture_says_who_waits_for_whom(row: Waits) -> None:
    """It stands in the picture's words, at its gate, and on what travelled."""
    scene = scene_at(row.scenario, row.step)
    views = for_model(scene.model)
    panel = next(panel for panel in views.panels if panel.name == views.picture)
    drawn = panel.draw(scene)
    words = next(part.get("aria-label") for part in drawn.walk() if part.get("aria-label")) or ""
    titles = " ; ".join(part.text() for part in drawn.walk() if (part.key or "")[:6] == "trail:")
    every = re.sub(r"\s+", " ", f"{words} ; {titles}")
    assert [said for said in (*row.stands, *row.sent) if said not in every] == []
    assert [said for said in row.absent if said in every] == []
    closed = [g for g in gates_of(scene, panel.gates or views.gates) if not g.is_open]
    missing, there = (closed[0].missing, closed[0].there) if closed else ((), ())
    assert ({*missing}, {*there}) == ({*row.missing.split()}, {*row.there.split()})


@pytest.mark.parametrize("story", ["topology/join-with-coordinator", "tcm/rf3", "raft/election"])
def test_the_next_button_tells_what_the_next_step_tells(story: str) -> None:
    """It begins as the step is told then, or is its headline; its command is below or its title."""
    timeline = open_named(story).timeline
    while (action := timeline.suggest()) is not None:
        scene = scene_of(timeline, timeline.at)
        button = draw_actions(scene)[0]
        told = next(part.text() for part in button.walk() if part.tag == "b")
        command = scene.model.label(scene.state, action)
        assert command in (told, button.get("title"), button.text().removeprefix(told).strip())
        assert len(told) <= MOST_LETTERS or told == command
        moment = timeline.forward()
        assert moment is not None
        said = re.sub(r", at \w+ \d+,| \([^()]*\)", "", moment.say)
        head, _ = headline_of(scene_of(timeline, moment.id))
        assert told == command or told.casefold() in f"{said}\n{head}".casefold()
