"""Racks that a keyspace needs, and who votes in group 0: what the published server looks at."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from kit.masks import nodes_in
from kit.model.registry import build
from kit.model.timeline import Timeline, played_out
from kit.protocols.topology.control import ControlState, has_majority, voting
from kit.protocols.topology.panels.coordinating import CONFIGURATION
from kit.protocols.topology.rules.replication import RACK_INVALID
from kit.protocols.topology.topology import Topology
from kit.search.check import check
from kit.views.panel import scene_at
from tests.views.frames import go_on


def read_cases(path: Path) -> dict[str, list[str]]:
    """The lines of each case, by its name."""
    blocks = path.read_text(encoding="utf-8").split("\n\n")[1:]
    return {lines[0]: [line.strip() for line in lines[1:]] for lines in map(str.splitlines, blocks)}


THREE = ("dc1/r1", "dc1/r2", "dc1/r3")
SERVER = {"edition": "server"}


def played(*verbs: str, **given: Any) -> Timeline:
    """A run of these verbs, then of the default schedule to its end."""
    timeline = Timeline(build("topology", SERVER | given))
    go_on(timeline, *verbs)
    return played_out(timeline)


def told(timeline: Timeline) -> str:
    """All that was said."""
    return " ".join(moment.say for moment in timeline.moments)


def ended(timeline: Timeline) -> tuple[list[tuple[bool, bool]], list[str]]:
    """Of each request whether it is done, and with an error; the state of each node."""
    topology = timeline.state.topology
    return [(row.done, row.error) for row in topology.requests], [n.state for n in topology.nodes]


CASES = read_cases(Path(__file__).parent / "published" / "racks.txt")


@pytest.mark.parametrize("name", CASES)
def test_a_request_is_taken_or_refused_by_racks_as_published(name: str) -> None:
    """Each case goes on to its end."""
    (given, *requests, end) = CASES[name]
    kind, _, rest = given.partition(": ")
    said: dict[str, list[str]] = {}
    for part in rest.split("; "):
        word, _, values = part.partition(" ")
        said.setdefault(word, []).append(values)
    names, racks = zip(*(each.split("=") for each in said["nodes"][0].split()), strict=True)
    asked = [line.partition(": ") for line in requests]
    model: Any = build(
        kind,
        SERVER
        | {"names": names, "nodes": len(names), "racks": racks}
        | {name: tuple(said[name]) for name in ("keyspaces", "tablets") if name in said}
        | {name: tuple(said[name][0].split()) for name in ("down", "ignored") if name in said}
        | ({"rf": int(said["rf"][0])} if "rf" in said else {})
        | {name: said[name][0] for name in ("release",) if name in said}
        | {"operations": tuple(words for words, _, _ in asked)},
    )
    timeline = Timeline(model)
    for number, (_, _, answer) in enumerate(asked):
        request = Topology.make_request(number)
        refusal = model.refusal(timeline.state, request)
        reason = None if answer == "taken" else f"{RACK_INVALID}: {answer}"
        assert (refusal and refusal.reason) == reason, asked[number]
        if refusal is None:
            timeline.do(request)
    played_out(timeline)
    control = getattr(timeline.state, "control", timeline.state)
    states = (
        f"{name} {row.state}" for name, row in zip(names, control.topology.nodes, strict=True)
    )
    assert end == f"end: {', '.join(states)}"


def test_a_join_in_a_rack_too_many_rolls_back() -> None:
    """In ``join_group0``, which assigns tokens; in a known rack, or without tokens, D joins."""
    given = {"operations": ("join D",), "rf": 3, "lag": False}
    timeline = played(**given, racks=(*THREE, "dc1/r4"))
    assert ended(timeline) == ([(True, True)], ["normal"] * 3 + ["left"])
    assert "cannot finish the task “assign_tokens”: dc1 would have 4 racks for 3 replicas" in told(
        timeline
    )
    assert ended(played(**given, racks=(*THREE, "dc1/r2")))[1][3] == "normal"
    zero = played(**{**given, "operations": ("join D --zero-token",)}, racks=(*THREE, "dc1/r4"))
    assert ended(zero)[1][3] == "normal"


@pytest.mark.parametrize(
    ("words", "racks"), [("leave C", THREE), ("join D", (*THREE, "dc1/r4"))], ids=str
)
def test_requests_refused_by_racks_break_no_promise(words: str, racks: tuple[str, ...]) -> None:
    """Whatever fails and whoever coordinates."""
    given = {"operations": (words,), "racks": racks, "rf": 3, "failures": 1, "changes": 1}
    model: Any = build("topology", SERVER | given)
    model.properties = tuple(p for p in model.properties if p.name != "success")
    result = check(model, symmetry=True, max_states=6_000)
    assert (result.violation, result.complete, result.unreached) == (None, True, ())


# -- who votes -------------------------------------------------------------------------------------


def voters_of(timeline: Timeline) -> str:
    """Who votes, by name."""
    state: ControlState = timeline.state
    return "".join(timeline.model.names[i] for i in nodes_in(voting(state)))


def test_five_of_seven_nodes_vote_in_edition_server() -> None:
    """The others are shown without a vote; in edition documents all vote."""
    given = {"nodes": 7, "operations": ("rebuild A",)}
    timeline = Timeline(build("topology", SERVER | given))
    assert voters_of(timeline) == "ABCDE"
    words = CONFIGURATION.text(scene_at(timeline, 0))
    assert "5 of 5 voters reached" in words
    assert "G does not vote" in words
    assert voters_of(Timeline(build("topology", {**given, "edition": "documents"}))) == "ABCDEFG"


def test_a_voter_that_dies_is_replaced_while_another_node_is_left() -> None:
    """F votes for B, G for C; D keeps its vote."""
    timeline = Timeline(
        build("topology", SERVER | {"nodes": 7, "operations": ("rebuild A",), "crashes": 3})
    )
    for verb, voters in (("crash B", "ACDEF"), ("crash C", "ADEFG"), ("crash D", "ADEFG")):
        go_on(timeline, verb)
        assert voters_of(timeline) == voters, verb
    assert has_majority(timeline.state)


def test_a_node_whose_removal_rolled_back_has_no_vote() -> None:
    """The node is normal again, and a member."""
    given = {"operations": ("remove C",), "failures": 1, "nodes": 4, "lag": False}
    timeline = Timeline(build("topology", SERVER | given))
    while "stream" not in timeline.now.say:
        timeline.forward()
    go_on(timeline, "fail")
    played_out(timeline)
    state: ControlState = timeline.state
    assert state.topology.nodes[2].state == "normal"
    assert state.topology.members >> 2 & 1
    assert voters_of(timeline) == "ABD"
    assert "C not reached does not vote" in CONFIGURATION.text(scene_at(timeline, timeline.at))


def rolled_back() -> Timeline:
    """C crashes, its removal fails and is rolled back; two more may crash."""
    given = {
        "operations": ("remove C",),
        "down": (),
        "crashes": 2,
        "failures": 1,
        "edition": "server",
        "release": "2025.3",
    }
    timeline = Timeline(build("topology", given))
    go_on(timeline, "crash C")
    while "stream" not in timeline.now.say:
        timeline.forward()
    go_on(timeline, "fail")
    while timeline.state.topology.transition:
        timeline.forward()
    assert voters_of(timeline) == "AB"
    return timeline


def test_a_node_whose_removal_rolled_back_stays_banned() -> None:
    """No start brings it back (``ignore_nodes``; published ``topology_state_load``)."""
    timeline = rolled_back()
    topology = timeline.state.topology
    assert (topology.nodes[2].state, topology.ignored) == ("normal", 0b100)
    assert timeline.model.find(timeline.state, "restart C") is None


def test_a_restart_gives_no_vote_that_no_majority_committed() -> None:
    """B alone is no majority of A and B; with A back the same two vote."""
    timeline = rolled_back()
    go_on(timeline, "crash A")
    assert not has_majority(timeline.state)
    go_on(timeline, "restart A", "elect B")
    assert voters_of(timeline) == "AB"
