"""What a student sees of permits and guards: the tag on an RPC, and what pins a session."""

from __future__ import annotations

from typing import Any

import pytest

from kit.model.flows import flows
from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.protocols.tablets.tablets import Tablets
from kit.views.panel import Scene
from kit.views.registry import for_model

LATE = {"tablets": ("A B C",), "moves": 1, "late": 1}
# Model, what is given, the arrow's label up to a comma, and whether its work runs in a session.
RPCS: tuple[tuple[str, dict[str, Any], str, bool], ...] = (
    ("topology", {"operations": ("join D",)}, "stream", True),
    ("topology", {"operations": ("join D",)}, "ranges", True),
    ("topology", {"operations": ("join D",)}, "accept", False),
    ("topology", {"operations": ("remove C",)}, "ranges", True),
    ("topology", {"operations": ("rebuild C",)}, "stream", True),
    ("topology", {"operations": ("leave C",)}, "shut_down", False),
    ("topology", {"operations": ("truncate_table ks.t",), "on_tablets": ("B",)}, "truncate", True),
    ("tablets", {"tablets": ("A B C",), "moves": 1}, "tablet 0", True),
    ("tablets", {"tablets": ("A B C",), "moves": 1, "kinds": ("repair",)}, "tablet 0", True),
    ("tablets", {"tablets": ("A B C",), "moves": 1}, "cleanup leaving", False),
    ("tablet", {"rf": 1}, "write 1", True),
)


@pytest.mark.spec("F-005")
@pytest.mark.parametrize("edition", ["documents", "server"])
@pytest.mark.parametrize(("name", "given", "label", "tagged"), RPCS)
def test_every_rpc_of_a_session_carries_its_permit(
    name: str, given: dict[str, Any], label: str, tagged: bool, edition: str
) -> None:
    """The arrow's tag has the session that group 0 had as the work began; its text names the
    frozen_topology_guard. Work outside a session has neither.
    """
    timeline, seen = Timeline(build(name, {**given, "edition": edition})), []
    while (moment := timeline.forward()) is not None and len(timeline.moments) < 150:
        before = timeline.moments[moment.parent].state
        for flow in flows(timeline.model, before, moment.action, moment.state):
            head, _, tag = flow.label.partition(", ")
            if head == label and flow.kind in ("data", "message"):
                seen.append((tag, flow.text))
    assert seen
    for tag, text in seen:
        assert tag.startswith("session ") == tagged
        assert ("frozen_topology_guard" in text) == tagged
        assert tag in text


def late_run(*verbs: str) -> Timeline:
    """A stream that is given up in its stage, and what follows it."""
    timeline = Timeline(build("tablets", LATE))
    while not any(way.stage == "streaming" for way in timeline.state.tablets[0].transitions):
        assert timeline.forward() is not None
    for verb in ("delay 0", *verbs):
        option = timeline.model.find(timeline.state, verb)
        assert option is not None, verb
        timeline.do(option[0])
    return timeline


def sessions(timeline: Timeline) -> list[str]:
    """The lines of the tab of sessions."""
    [panel] = [each for each in for_model(timeline.model).panels if each.name == "sessions"]
    text = panel.text(Scene(timeline.model, timeline.state))
    return [line.strip(" ✓…!") for line in text.splitlines() if "topology_guard" in line]


OVER = (
    "stream of tablet 0 is on its way; its frozen_topology_guard is from session 1, which has "
    "ended on every node"
)
ENDS = ("work on 0", "decide", "commit")
GUARDED: tuple[tuple[tuple[str, ...], list[str]], ...] = (
    ((), ["session 1: tablet 0 in streaming, 0 topology_guards",
          "stream of tablet 0 is on its way; its frozen_topology_guard is from session 1"]),
    (("arrive late",), ["session 1: tablet 0 in streaming, 0 topology_guards",
                        "stream of tablet 0 runs; its frozen_topology_guard is from session 1",
                        "session 1 on D, 1 topology_guard"]),
    (("arrive late", *ENDS),
     ["stream of tablet 0 runs; its frozen_topology_guard is from session 1",
      "session 1 on D, 1 topology_guard: a barrier waits"]),
    (("arrive late", *ENDS, "end late"), []),
    (ENDS, ["stream of tablet 0 is on its way; its frozen_topology_guard is from session 1"]),
    ((*ENDS, "barrier"), [OVER]),
    ((*ENDS, "barrier", "arrive late"), []),
)  # fmt: skip


@pytest.mark.spec("F-006")
@pytest.mark.parametrize(("verbs", "lines"), GUARDED)
def test_a_permit_becomes_a_guard_while_its_session_is_open(
    verbs: tuple[str, ...], lines: list[str]
) -> None:
    """Guards are counted by session and node. One that is held keeps the barrier from passing; a
    permit whose session was closed before the barrier gives none.
    """
    timeline = late_run(*verbs)
    assert sessions(timeline) == lines
    refusal = timeline.model.refusal(timeline.state, Tablets.pass_barrier())
    waits = any("a barrier waits" in line for line in lines)
    assert (refusal is not None and "is still running" in refusal.reason) == waits
