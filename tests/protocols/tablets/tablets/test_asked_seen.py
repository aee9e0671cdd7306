"""What a student sees of the balancer's calls, and of a node that boots in another's place."""

from __future__ import annotations

import pytest

from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.protocols.tablets.panels.losses import Boot, boots
from kit.protocols.tablets.tablets import Tablets
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from kit.protocols.topology.topology import CommitDecision, FindImbalance, MakeRequest
from tests.protocols.tablets.tablets.test_losses_seen import REPLACE, drawn, seen

TWO = {"tablets": ("A B C", "B C A"), "moves": 2}


def asked(timeline: Timeline) -> int:
    """The counter of the plan's tab."""
    line = drawn(timeline, "plan", "plan:asked")
    assert line is not None
    return int(line.text().split()[8])


def yields(timeline: Timeline) -> bool:
    """Whether the coordinator has something of the balancer to decide on."""
    actions = timeline.model.actions(timeline.state)
    return any(isinstance(action, Tablets.begin_transition) for action in actions)


@pytest.mark.spec("E-025")
@pytest.mark.parametrize("edition", EDITIONS)
def test_the_balancer_is_asked_at_each_stage_and_while_it_yields(edition: Edition) -> None:
    """The counter goes up with each command that changes a stage or begins a transition, and with
    no other step; as long as there is something to begin it is offered at once.
    """
    timeline = Timeline(build("tablets", {**TWO, "edition": edition}))
    assert asked(timeline) == 0
    timeline.do(FindImbalance())
    assert (asked(timeline), yields(timeline)) == (1, True)
    calls, offered = 1, 0
    while (moment := timeline.forward()) is not None:
        before = timeline.moments[moment.parent].state
        stages = [
            [[way.stage for way in row.transitions] for row in s.tablets]
            for s in (before, moment.state)
        ]
        changed = isinstance(moment.action, CommitDecision) and stages[0] != stages[1]
        calls += changed
        assert asked(timeline) == calls
        if changed and moment.state.moves:
            assert yields(timeline)
            offered += 1
    assert calls > 10
    assert offered


@pytest.mark.spec("E-025")
def test_the_balancer_is_not_asked_while_a_request_waits() -> None:
    """Stages go on to their end; the counter stands, and nothing is begun."""
    timeline = Timeline(
        build("tablets", {**TWO, "edition": "documents", "operations": ("join E",)})
    )
    timeline.do(FindImbalance())
    while not any(row.transitions for row in timeline.state.tablets):
        begin = (a for a in timeline.model.actions(timeline.state)
                 if isinstance(a, (Tablets.begin_transition, CommitDecision)))  # fmt: skip
        timeline.do(next(begin))
    timeline.do(MakeRequest(0))
    calls = asked(timeline)
    while any(row.transitions for row in timeline.state.tablets):
        assert not yields(timeline)
        assert timeline.forward() is not None
        assert asked(timeline) == calls


def length(timeline: Timeline, boot: Boot) -> float:
    """The length of D's bar, which says the same as its words."""
    bar = drawn(timeline, "losses", "boot:D")
    assert bar is not None
    assert ("has replaced C" in bar.text()) == boot.over
    assert ("D boots in place of C" in bar.text()) != boot.over
    wide = [float(each.get("width") or 0) for each in bar.walk() if each.tag == "rect"]
    full, done = (*wide, 0.0)[:2]
    assert done == pytest.approx(full * boot.rebuilt / boot.total)
    return done


@pytest.mark.spec("E-034")
@pytest.mark.parametrize("edition", EDITIONS)
def test_a_boot_ends_with_the_last_rebuild(edition: Edition) -> None:
    """D is normal long before; its bar grows with each tablet, and the replace is reported as
    finished in the step in which the last one is there.
    """
    timeline = Timeline(build("tablets", {**REPLACE, "edition": edition}))
    assert drawn(timeline, "losses", "boot:D") is None
    waited, lengths, last = 0, [], None
    while timeline.forward() is not None:
        for boot in boots(timeline.model, timeline.state):
            rows = timeline.state.tablets
            left = sum(any(each.host == "C" for each in row.replicas) for row in rows)
            normal = timeline.state.control.topology.nodes[3].state == "normal"
            assert boot == Boot("D", "C", 4 - left, 4, normal and not left)
            waited += normal and not boot.over
            if boot != last:
                lengths.append(length(timeline, boot))
                last = boot
    assert waited
    assert lengths == sorted(lengths)
    assert len(set(lengths)) == 5
    panel, scene = seen(timeline, "losses")
    assert "D has booted and has replaced C: 4 of 4 tablets rebuilt." in panel.text(scene)
