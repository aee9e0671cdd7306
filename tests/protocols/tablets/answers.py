"""A right answer to every exercise of the family."""

from __future__ import annotations

from typing import Any

from kit.lessons.replays import verbs_to
from kit.model.registry import build
from kit.model.scenario import file_named, open_file
from kit.model.timeline import Timeline
from kit.protocols.topology.rules.machines import BOUNDARY, Machine


def until(timeline: Timeline, stage: str) -> Timeline:
    """The default schedule until a tablet enters a stage."""
    while not any(t.stage == stage for row in timeline.state.tablets for t in row.transitions):
        assert timeline.forward() is not None
    return timeline


def done(timeline: Timeline, *verbs: str) -> list[str]:
    """All verbs of the timeline once these are done, and the schedule has led it to its end."""
    for verb in verbs:
        option = timeline.model.find(timeline.state, verb)
        assert option is not None, verb
        timeline.do(option[0])
    while timeline.forward() is not None:
        pass
    return [timeline.model.verb(moment.action) for moment in timeline.moments[1:]]


def taken_back() -> list[str]:
    """The target dies while it is streamed to."""
    timeline = Timeline(build("tablets", {"edition": "documents", "crashes": 1, "moves": 1}))
    return done(until(timeline, "streaming"), "crash D", "fail work on 0")


def too_late() -> list[str]:
    """A stream is given up, done again, and comes when the barrier behind it has passed."""
    timeline = Timeline(build("tablets", {"moves": 1, "late": 1}))
    done_before = until(timeline, "streaming")
    delayed = done_before.model.find(done_before.state, "delay 0")
    assert delayed is not None
    done_before.do(delayed[0])
    return done(until(timeline, "cleanup"), "arrive late")


def played(name: str, last: str) -> list[str]:
    """The verbs of a scenario of this family, up to one of them."""
    timeline = open_file(file_named(f"tablets/{name}"))
    verbs = [timeline.model.verb(moment.action) for moment in timeline.moments[1:]]
    return verbs[: verbs.index(last) + 1]


def even_by_hand() -> list[str]:
    """A large and a small tablet leave A, a small one leaves B."""
    return ["move a1 A:0 C:0", "move b2 A:0 C:0", "move b3 B:0 C:0"]


def split_after_all() -> list[str]:
    """The table grows, shrinks before the split takes effect, and grows again."""
    begun = ("grow", "resize", "shrink", "resize", "grow", "resize")
    ready = ("apply A", "apply B", "divide 0 A:0", "divide 0 B:0", "poll")
    track = ["begin track"] * (build("resize").edition == "documents")
    ends = ("finalize", "apply A", "apply B", "barrier", "commit map")
    return [*begun, *ready, *track, *ends]


TRUNCATED_TWICE = (
    *("truncate", "open session", "apply A", "apply B", "apply C", "barrier", "delay A"),
    *("send A", "elect", "send A", "send B", "close session"),
    *("apply A", "apply B", "apply C", "barrier", "write", "arrive A"),
)


def published_in_time() -> list[str]:
    """The generation is published as soon as it can be."""
    given = {"operations": ("bootstrap D",), "publishing": True, "lag": False}
    timeline = Timeline(build("topology", given))
    while not timeline.state.topology.unpublished:
        timeline.forward()
    option = timeline.model.find(timeline.state, "publish")
    assert option is not None
    timeline.do(option[0])
    while timeline.forward() is not None:
        pass
    return list(verbs_to(timeline))


REPLACED = {"nodes": 3, "tablets": ("A B C", "B C A"), "moves": 0, "operations": ("replace D C",)}


def one_loss_later() -> list[str]:
    """The replace by its own schedule to the end, then A dies."""
    timeline = Timeline(build("tablets", {**REPLACED, "crashes": 1}))
    while timeline.forward() is not None:
        pass
    return [*verbs_to(timeline), "crash A"]


def rebuilt_twice() -> list[str]:
    """The first stream fails, and the rest is by schedule."""
    timeline = Timeline(build("tablets", {**REPLACED, "failures": 1}))
    streaming = "streaming"
    while not any(
        way.stage == streaming for row in timeline.state.tablets for way in row.transitions
    ):
        timeline.forward()
    option = timeline.model.find(timeline.state, "fail work on 0")
    assert option is not None
    timeline.do(option[0])
    while timeline.forward() is not None:
        pass
    return list(verbs_to(timeline))


RIGHT: dict[str, Any] = {
    "one-loss-later": one_loss_later,
    "rebuild-again": rebuilt_twice,
    "truncate-twice": lambda: [*TRUNCATED_TWICE],
    "published-in-time": published_in_time,
    "even-by-hand": even_by_hand,
    "split-after-all": split_after_all,
    "row-that-came-back": lambda: played("off-sessions", "answer read 3"),
    "turned-away": lambda: played("late-stream-refused", "late copy of session 1, A to D"),
    "take-it-back": taken_back,
    "knock-too-late": too_late,
}


def in_session(table: Machine) -> frozenset[str]:
    """The stages in which a session is open, by any way to them."""
    opened: set[str] = set()
    reached = [(BOUNDARY, False)]
    for stage, open_here in reached:  # grows while it is walked along
        for edge in table.edges:
            if edge.source != stage:
                continue
            is_open = {"opens": True, "closes": False, "": open_here}[edge.session]
            if edge.target != BOUNDARY and (edge.target, is_open) not in reached:
                reached.append((edge.target, is_open))
                if is_open:
                    opened.add(edge.target)
    return frozenset(opened)
