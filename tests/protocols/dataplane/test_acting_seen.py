"""Whoever acts in a step is seen at the heads of the lifelines, and what they go by since then."""

from __future__ import annotations

from functools import cache

import pytest

from kit.model.registry import entries
from kit.protocols.storage.panels.spacetime import draw_spacetime
from kit.views.fragment import Frag
from kit.views.panel import Scene
from tests.views.frames import classed, part, scenes, walk


@cache
def steps(scenario: str) -> tuple[tuple[Scene, Frag], ...]:
    """Each moment of a scenario with its picture."""
    return tuple((scene, draw_spacetime(scene)) for scene in scenes(walk(scenario)))


def is_mark(drawn: Frag) -> bool:
    """Whether a part marks what is new, or is marked itself."""
    return "moved" in (drawn.get("class") or "").split()


def ringed(drawn: Frag) -> set[str]:
    """Who has a ring around the head."""
    heads = (each for each in drawn.walk() if (each.key or "").startswith("who:"))
    return {
        str(each.key).removeprefix("who:")
        for each in heads
        if any(kid.tag == "circle" for kid in classed(each, "moved"))
    }


@pytest.mark.parametrize("model", ["dataplane", "tablet", "vnodes"])
def test_no_step_goes_unseen(model: str) -> None:
    """In every step of a scenario something is marked, and nothing is at the start."""
    for scenario in entries()[model].scenarios:
        (_, first), *others = steps(f"{model}/{scenario.name}")
        assert not classed(first, "moved")
        unseen = [
            at for at, (_, drawn) in enumerate(others, 1) if not any(map(is_mark, drawn.walk()))
        ]
        assert not unseen, scenario.name


def test_who_acts_has_a_ring() -> None:
    """A client that sends, the replica that answers it, a node that applies an epoch."""
    _, sent, answered, *_ = (ringed(drawn) for _, drawn in steps("dataplane/write-and-read"))
    assert (sent, answered) == ({"K1"}, {"A"})
    applied = [
        ringed(drawn)
        for scene, drawn in steps("dataplane/write-and-read")[1:]
        if scene.model.verb(scene.action) == "apply A"
    ]
    assert applied
    assert all(each == {"A"} for each in applied)
    [begun] = [
        ringed(drawn)
        for scene, drawn in steps("tablet/requests-within-a-node")[1:]
        if scene.model.verb(scene.action) == "write 1 begins at B"
    ]
    assert begun == {"B"}


def test_a_new_epoch_is_marked_with_what_clients_may_know() -> None:
    """When it is committed, and not a step later."""
    run = steps("dataplane/write-and-read")
    verbs = ["", *(scene.model.verb(scene.action) for scene, _ in run[1:])]
    at = next(at for at, verb in enumerate(verbs) if verb.startswith("bootstrap X"))
    for (_, drawn), is_new in zip(run[at : at + 2], (True, False), strict=True):
        names, client = part(drawn, "names"), part(drawn, "who:K1")
        assert names
        assert client
        [inner] = [kid for kid in names.kids if isinstance(kid, Frag)]
        plates = [kid for kid in inner.kids if isinstance(kid, Frag) and is_mark(kid)]
        assert bool(plates) is bool(classed(client, "moved")) is is_new
