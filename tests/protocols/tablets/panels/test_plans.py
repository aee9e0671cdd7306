"""What a student sees of the balancer: loads over time, the plan by priority, siblings as one."""

from __future__ import annotations

from typing import Any

import pytest

from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.protocols.tablets.panels import plans as facts
from kit.protocols.tablets.tablets import Tablets
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from kit.views.fragment import Frag
from kit.views.panel import scene_of
from kit.views.registry import for_model
from tests.views.frames import part

UNEVEN = {"nodes": 4, "tablets": ("A B", "A B", "A B", "A B", "A C", "A D"), "moves": 9}


def done(timeline: Timeline, verb: str) -> None:
    """Do what may be done now."""
    option = timeline.model.find(timeline.state, verb)
    assert option is not None, verb
    assert option[1] is None, option
    timeline.do(option[0])


def settle(timeline: Timeline) -> None:
    """Let the transitions under way end, and begin no other one."""
    while timeline.state.command or any(row.transitions for row in timeline.state.tablets):
        model, s = timeline.model, timeline.state
        timeline.do(
            next(
                action
                for action in model.actions(s)
                if not isinstance(action, Tablets.begin_transition)
                and not (said := Tablets.acts[type(action)].said).unasked
                and not said.fault
            )
        )


def drawn(timeline: Timeline, name: str) -> Frag:
    """A tab's picture at the moment that is shown."""
    [panel] = [each for each in for_model(timeline.model).panels if each.name == name]
    return panel.draw(scene_of(timeline, timeline.at))


def lines(timeline: Timeline, name: str) -> list[str]:
    """A tab's words at the moment that is shown."""
    [panel] = [each for each in for_model(timeline.model).panels if each.name == name]
    scene = scene_of(timeline, timeline.at)
    return [line.strip() for line in panel.text(scene).splitlines()]


def heights(timeline: Timeline) -> dict[str, list[float]]:
    """The bars of each shard, the oldest first."""
    picture = drawn(timeline, "load")
    rows = [one for one in picture.walk() if (one.key or "").startswith("loads:")]
    return {
        str(row.key).removeprefix("loads:"): [
            float(one.get("height") or 0) for one in row.walk() if one.tag == "rect"
        ]
        for row in rows
    }


@pytest.mark.spec("E-029")
@pytest.mark.parametrize("edition", EDITIONS)
def test_bars_get_even_as_the_plan_is_followed(edition: Edition) -> None:
    """Move by move, as the plan's tab says, until it has none. Bars are as high as counts; at
    last they differ by one at most, and no node has two replicas of a tablet.
    """
    timeline = Timeline(build("tablets", {**UNEVEN, "edition": edition}))
    seen = [heights(timeline)]
    for _ in range(9):
        planned = facts.tablets_plan(timeline.model, timeline.state)
        evens = planned.priorities[1].moves
        if not evens:
            break
        second = lines(timeline, "plan")[1]
        assert second.startswith("2 even out (once priority 1 has no moves left): ")
        move = evens[0]
        if timeline.state.control.topology.tablets != "moving":
            done(timeline, "imbalance")
        done(timeline, f"migrate {move.tablets[0]} {move.source} {move.target}")
        settle(timeline)
        seen.append(heights(timeline))
        hosts = [[r.host for r in row.replicas] for row in timeline.state.tablets]
        assert all(len(set(each)) == len(each) for each in hosts)
    assert lines(timeline, "plan")[-4:-1] == [
        "1 empty nodes (always): 0 moves",
        "2 even out (once priority 1 has no moves left): 0 moves",
        "3 bring siblings together (once priorities 1 and 2 have no moves left): 0 moves",
    ]
    assert [len(each["A:0"]) for each in seen] == list(range(1, len(seen) + 1))
    last = seen[-1]
    counts = [sum(r.host == host for row in timeline.state.tablets for r in row.replicas)
              for host in "ABCD"]  # fmt: skip
    assert max(counts) - min(counts) <= 1
    assert {bars[0] for bars in last.values()} == {24.0, 16.0, 4.0}
    assert [bars[-1] / 4 for bars in last.values()] == counts
    assert "A:0: 6 → 5 → 4 → 3 → 3" in lines(timeline, "load")


def _merging(*tablets: str, **given: Any) -> Timeline:
    usual = {"initial": 1, "grows": 0, "shrinks": 1, "size": 180, "moves": 4}
    timeline = Timeline(build("resize", {"tablets": tablets, **usual, **given}))
    for verb in ("shrink", "resize", "apply A", "apply B", "apply C"):
        done(timeline, verb)
    return timeline


def _moved(timeline: Timeline, move: Any) -> None:
    """A move of the plan, to its end."""
    done(timeline, f"move {move.tablets[0]} {move.source} {move.target}")
    for tablet in move.tablets:
        done(timeline, f"end move {tablet}")


@pytest.mark.spec("E-052")
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize(
    ("tablets", "first"), [(("A B", "A C", "A B", "A B"), 2), (("A B", "A C", "A B", "C B"), 3)]
)
def test_siblings_are_joined_only_when_nothing_else_is_to_be_moved(
    edition: Edition, tablets: tuple[str, ...], first: int
) -> None:
    """Pairs are apart in both. Where loads are uneven the plan's moves are all of priority 2;
    where they are even, all of priority 3. Never are there moves of two priorities.
    """
    timeline = _merging(*tablets, edition=edition)
    assert any("apart" in line for line in lines(timeline, "siblings"))
    sorts = []
    while True:
        plan = facts.resize_plan(timeline.model, timeline.state)
        moves = [(each.number, move) for each in plan.priorities for move in each.moves]
        if not moves:
            break
        picture = drawn(timeline, "plan")
        for number, move in moves:
            row = part(picture, f"planned:{move.tablets[0]}:{move.source}")
            assert row is not None
            assert row.text().split()[0] == str(number)
        sorts.append({number for number, _ in moves})
        _moved(timeline, moves[0][1])
    assert sorts[0] == {first}
    assert all(len(each) == 1 for each in sorts)
