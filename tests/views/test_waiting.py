"""What a picture says while a request or a step waits: who stands there, who is missing, what was
sent. Each row is a step of a scenario.
"""

from __future__ import annotations

import re

import pytest
from msgspec import Struct

from kit.playing.opening import open_named
from kit.views.actions import THREE_LINES, draw_actions
from kit.views.gate import gates_of
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
        ("K1, at version 10, sends write 1 to B, C, D", "now K1 writes to B, C, D."),
        sent=("C, at version 10, takes write 1.",),
        absent=("D, at version 10, takes", "write 1 is done"),
    ),
    Waits(
        "vnodes/write-during-bootstrap", 8,
        ("tells its client: write 1 is done.", "now K1 writes to B, C, D, perhaps X."),
        "D X", "B C", ("C applies version 11.",), ("D applies version 11.",),
    ),
    Waits(
        "vnodes/write-during-bootstrap", 16,
        ("now K2 reads from B, C, perhaps D, perhaps X",),
        "X", "B C D", ("X holds write 1.", "D applies version 12."), ("X applies version 12.",),
    ),
    Waits(
        "dataplane/no-barrier", 3,
        ("K1, at epoch 99, sends write 1 to A, B, C",),
        sent=("B, at epoch 99, takes write 1.",),
        absent=("C, at epoch 99, takes", "write 1 is done"),
    ),
    Waits(
        "dataplane/no-barrier", 9,
        ("Epoch 100: split ranges",), "X", "", ("C applies epoch 100.",), ("X applies epoch 100.",),
    ),
    Waits(
        "dataplane/no-barrier", 25,
        ("K2, at epoch 103, sends read 2 to B, C, X", "now K2 reads from B, C, X."), "C X", "B",
        sent=("B, at epoch 102, gets a message planned at epoch 103, catches up and returns",),
        absent=("C, at epoch 102", "X, at epoch 102"),
    ),
    Waits(
        "truncate/late-truncate", 3,
        ("client: truncate", "B: old rows, no session"), "B", "A",
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


def test_the_next_action_is_not_cut_within_a_word() -> None:
    """A long one is told by its first clauses, and its title has all of it."""
    timeline = open_named("topology/join-with-coordinator").timeline
    long = 0
    while timeline.forward() is not None:
        scene = scene_of(timeline, timeline.at)
        button = draw_actions(scene)[0]
        if scene.suggested is not None:
            verb = scene.model.label(scene.state, scene.suggested)
            shown = next(part.text() for part in button.walk() if part.tag == "span")
            assert shown == verb or len(verb) > THREE_LINES
            rest = verb.removeprefix(shown.removesuffix("…"))
            assert not rest[:1].isalnum()
            assert (button.get("title") == verb) is bool(rest)
            long += bool(rest)
    assert long
