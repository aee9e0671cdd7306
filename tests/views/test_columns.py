"""Lanes over epochs: every step of every story of requests, and many nodes and requests at once."""

from __future__ import annotations

from functools import cache
from itertools import pairwise

import pytest
from msgspec.structs import replace

from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.protocols.storage.panels.lanes import lanes
from kit.search.fuzz import Walker
from kit.views.columns import (
    FINE,
    WIDTH,
    Epoch,
    Lanes,
    Node,
    Request,
    draw_lanes,
    is_open,
    lines_of,
)
from kit.views.fragment import Frag
from kit.views.panel import Scene, scene_of
from tests.keyed import check_keys
from tests.views.frames import classed
from tests.views.test_stage import SIZES, overlaps, pictured, runs

TOLD, PLAYED = ("dataplane", "vnodes", "tablet"), ("coordinator", "replica")
SOLID = {"disc", "client", "seat-of", "box"}
NARROW = {"wide": 0.0, **SIZES}
WIDE = {"narrow": 0.0, "letter-of": 11.0, "": FINE}
"""Letters of a narrow slot, and of a wide one."""


@cache
def stories(model: str) -> tuple[tuple[Scene, ...], ...]:
    """Every story of a model; where it has none, random walks."""
    if model in TOLD:
        return tuple(scenes for _, scenes in runs(model))
    walks = []
    for seed in range(12):
        built = build(model)
        timeline = Timeline.along(built, Walker(built, steps=30).walk(seed).actions)
        walks.append(tuple(scene_of(timeline, moment.id) for moment in timeline.moments))
    return tuple(walks)


def faults(drawing: Frag) -> set[str]:
    """Words over words, over things that they are not in, or out of the picture."""
    size = WIDTH, float((drawing.get("viewBox") or "").split()[3])
    letters = NARROW, WIDE
    return {f for each in letters for f in overlaps(drawing, *size, sizes=each, solid=SOLID)}


def news(drawing: Frag) -> set[str]:
    """The keys of what is marked as changed, cells by their node."""
    return {part.key for part in classed(drawing, "news") if part.key}


@pytest.mark.parametrize("model", [*TOLD, *PLAYED])
def test_no_word_lies_over_anything(model: str) -> None:
    """In each step of each story, with the letters of a narrow slot and of a wide one."""
    for scenes in stories(model):
        assert not {fault for scene in scenes for fault in faults(pictured(scene))}


@pytest.mark.parametrize("model", [*TOLD, *PLAYED])
def test_every_request_under_way_is_seen(model: str) -> None:
    """It has a needle with a mark at each node that it asked, and a card."""
    for scene in (scene for scenes in stories(model) for scene in scenes):
        told, drawing = lanes(scene), pictured(scene)
        check_keys(drawing)
        keys = {part.key for part in drawing.walk()}
        assert {f"n:{node.name}" for node in told.nodes} <= keys
        for each in filter(is_open, told.requests):
            assert {each.key, f"needle:{each.number}"} <= keys
            assert {each.key_at(name) for name, _ in each.marks} <= keys


@pytest.mark.parametrize("model", [*TOLD, *PLAYED])
def test_what_a_step_changed_has_ink(model: str) -> None:
    """The marked things are those of which the facts differ, and none at the start."""
    for scenes in stories(model):
        assert not news(pictured(scenes[0]))
        for before, scene in pairwise(scenes):
            was, now = lanes(before).sayings(), lanes(scene).sayings()
            changed = {key for key, said in now.items() if was.get(key) != said}
            drawing = pictured(scene)
            drawn = {part.key for part in drawing.walk() if part.get("width") != "0"}
            assert news(drawing) == {key for key in changed if key in drawn}
            kinds = [{*(part.get("class") or "").split()} for part in drawing.walk()]
            cells = [each for each in kinds if "news" in each and each & {"cell", "none"}]
            assert len(cells) == sum(key.startswith("fill:") for key in changed)


@pytest.mark.parametrize("model", TOLD)
def test_vermilion_if_and_only_if_a_promise_breaks_in_this_step(model: str) -> None:
    """The pair of requests is joined where two are named; all else fades then."""
    for scene in (scene for scenes in stories(model) for scene in scenes):
        kinds = {k for part in pictured(scene).walk() for k in (part.get("class") or "").split()}
        breaks = any(each.step == len(scene.way()) - 1 for each in scene.breaches())
        assert (
            bool(kinds & {"wrong", "joined"})
            is ("faded" in kinds)
            is (breaks and scene.action is not None)
        )


def made(nodes: int, requests: int, epochs: int = 5) -> Lanes:
    """A picture of many."""
    names = [f"N{at}" for at in range(nodes)]
    asked = tuple(
        Request(
            at,
            f"K{at}",
            f"write {at}",
            at % epochs,
            tuple((name, "took" if ended else "way") for name in names[:3]),
            counted=tuple(names[:3]) if ended else (),
            needs=("done",) if ended else ("needs 3 more", "+3"),
            ended=ended,
        )
        for at in range(requests)
        for ended in [at < requests - 4]
    )
    return Lanes(
        tuple(Epoch(str(100 + at), f"log:{at}", "event") for at in range(epochs)),
        tuple(
            Node(name, (*("both",) * 2, *("write" if at % 3 else "both",) * 30)[:epochs], 0, "w1")
            for at, name in enumerate(names)
        ),
        asked,
    )


@pytest.mark.parametrize(("nodes", "requests", "epochs"), [(4, 30, 5), (8, 6, 30), (3, 0, 1)])
def test_many_fold(nodes: int, requests: int, epochs: int) -> None:
    """Older requests are counted, equal epochs are one column; what is under way is whole."""
    told = made(nodes, requests, epochs)
    drawing = draw_lanes(told, told)
    check_keys(drawing)
    assert not faults(drawing)
    keys = {part.key for part in drawing.walk()}
    assert {each.key for each in told.requests if is_open(each)} <= keys
    assert len([*lines_of(told)]) == 1 + nodes + requests


def test_columns_stay_in_their_place() -> None:
    """What is committed or learned moves no column, unless another operation adds some."""
    for scenes in stories("dataplane"):
        places = set()
        for scene in scenes:
            told = lanes(scene)
            cards = (
                p for p in pictured(scene).walk() if (p.key or "").startswith(("log:", "plan:"))
            )
            boxes = [kid for p in cards for kid in p.walk() if kid.tag == "rect"]
            places.add((len(told.epochs), *(box.get("x") for box in boxes)))
        assert len(places) == len({number for number, *_ in places})


def test_a_fold_is_named_as_far_as_it_is_committed() -> None:
    """Planned epochs of a fold that has begun are not in its name."""
    told = made(2, 0, 9)
    plan = (replace(each, planned=at > 3) for at, each in enumerate(told.epochs))
    drawing = draw_lanes(replace(told, epochs=tuple(plan)), None)
    said = {part.text() for part in drawing.walk() if part.tag == "text"}
    assert "102–103" in said
