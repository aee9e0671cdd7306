"""A right answer to every exercise of the family."""

from __future__ import annotations

from typing import Any

from kit.model.registry import build
from kit.model.timeline import Timeline
from kit.protocols.topology import topology as act
from tests.protocols.topology.joins import asked
from tests.protocols.topology.test_lessons import after, at, finish, verbs_of
from tests.views.frames import go_on


def rolled_back() -> list[str]:
    """A bootstrap whose streaming fails: it is rolled back, and the node has left."""
    timeline = at("write_both_read_old", failures=1)
    while not timeline.state.attempted.streaming:
        timeline.forward()
    after(timeline, (act.FailWork,))
    return finish(timeline)


def too_late() -> list[str]:
    """Another coordinator commits between a decision and its commit."""
    timeline = Timeline(build("topology", {"operations": ("join D",), "changes": 2}))
    after(timeline, (act.MakeRequest, act.TakeDecision, act.ElectCoordinator))
    after(timeline, (act.TakeDecision, act.CommitDecision, act.CommitDeposed))
    return finish(timeline)


def streaming(**parameters: Any) -> Timeline:
    """A bootstrap whose newcomer is streaming."""
    timeline = at("write_both_read_old", **parameters)
    while not timeline.state.attempted.streaming:
        timeline.forward()
    return timeline


def take_over() -> list[str]:
    """The coordinator dies in the middle and comes back as a member."""
    timeline = streaming(crashes=1)
    go_on(timeline, "crash A", "elect B", "restart A")
    return finish(timeline)


def below_the_fence() -> list[str]:
    """Who is cut off goes by an old version; the fence is set without its answer."""
    cluster = {"nodes": 4, "operations": ("decommission B",), "cuts": 1, "clients": 1}
    timeline = Timeline(build("topology", {**cluster, "edition": "server"}))
    while timeline.state.topology.version == 1:
        timeline.forward()
    go_on(timeline, "cut C", "begin C", "fail", "decide", "commit", "answer A")
    go_on(timeline, "reconnect C", "serve A")
    return finish(timeline)


def two_late_parts() -> list[str]:
    """One part comes while its session is open, the other one once a node knows it is closed."""
    timeline = streaming(late=2, failures=1)
    go_on(timeline, "leave behind", "late A", "end leftover", "leave behind")
    go_on(timeline, "fail", "decide", "commit", "apply B", "apply B", "late B")
    return verbs_of(timeline)


def tried_twice(*operations: str) -> list[str]:
    """The first operation's stream fails; all else goes its way."""
    timeline = Timeline(build("topology", {"operations": operations, "failures": 1, "lag": False}))
    while not timeline.state.attempted.streaming:
        timeline.forward()
    go_on(timeline, "fail")
    return finish(timeline)


def second_try() -> list[str]:
    """The first host id has asked before; a cleared data directory makes another one."""
    timeline = Timeline(build("join", {"edition": "server", "restarts": 1, "wipes": 1}))
    go_on(timeline, *asked("B"), "place B", "start-again", "deliver B>N placed 1", *asked("B", 2))
    go_on(timeline, "place B", "deliver B>N rejected 2 unfinished", "take", "add", "respond")
    go_on(timeline, "wipe-and-start")
    return finish(timeline)


def moved_house() -> list[str]:
    """C moves while the others are asked; it is heard again by gossip."""
    given = {"operations": ("join D",), "addresses": 1, "lag": False}
    timeline = Timeline(build("topology", given))
    while timeline.state.topology.transition != "write_both_read_old":
        timeline.forward()
    go_on(timeline, "readdress C", "gossip C")
    return finish(timeline)


def all_asked(*operations: str, **given: Any) -> list[str]:
    """Every request is made before anything is decided."""
    cluster = {"edition": "server", "operations": operations, "lag": False, **given}
    timeline = Timeline(build("topology", cluster))
    go_on(timeline, *operations)
    return finish(timeline)


RIGHT: dict[str, Any] = {
    "roll-it-back": rolled_back,
    "too-late": too_late,
    "take-over": take_over,
    "below-the-fence": below_the_fence,
    "two-late-parts": two_late_parts,
    "leave-again": lambda: tried_twice("decommission C", "decommission C"),
    "another-replacement": lambda: tried_twice("replace D C", "replace E C"),
    "second-try": second_try,
    "moved-house": moved_house,
    "overtaken-truncate": lambda: all_asked("truncate_table ks.t", "join D"),
    "paused-leave": lambda: all_asked("decommission C", "join D", on_tablets=("C",)),
}
