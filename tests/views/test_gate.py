"""The gate in every picture: who is missing before it, who has come, and the same in words."""

from __future__ import annotations

import re
from itertools import combinations, pairwise
from typing import Any

import pytest
from msgspec.structs import replace

from kit.errors import Awaited, Refusal
from kit.model.registry import build, entries
from kit.model.timeline import Timeline
from kit.protocols.storage.panels import gates as storage_gates
from kit.protocols.tcm.facts import moment as facts
from kit.protocols.tcm.facts.moment import range_key
from kit.protocols.tcm.panels.operation import gates as tcm_gates
from kit.protocols.tcm.rules.metadata import Advance
from kit.views.actions import draw_actions, end_words, ends_well, mark
from kit.views.fragment import Frag
from kit.views.frame import frame
from kit.views.gate import (
    HEADS,
    MOST_GATES,
    ROOM,
    Gate,
    awaited_gates,
    draw_gates,
    gates_of,
    of_members,
)
from kit.views.labels import measured
from kit.views.panel import Scene, is_shown, scene_of
from kit.views.registry import for_model
from tests.keyed import check_keys
from tests.views.frames import classed, part, scenes, walk
from tests.views.test_stage import runs

CLOSED = Gate("range:0:100", "(0, 100]", "applied epoch 2", ("B",), ("A", "C", "X"), 3)
OPEN = Gate("range:100:150", "(100, 150]", "applied epoch 2", ("A", "B"), ("X",), 2)


def over(*gates: Gate) -> Frag | None:
    """What stands beside a picture while these are the gates."""
    model = build("twophase")
    return draw_gates(Scene(model, model.start()), gates)


def shift(drawn: Frag, key: str) -> float:
    """How far to the right a part stands."""
    found = part(drawn, key)
    assert found is not None
    return float((found.get("transform") or "").split("(")[1].split()[0])


def test_a_gate_opens_with_enough() -> None:
    """It is closed below the number that is needed, open from it on; words tell how many, who."""
    assert (CLOSED.is_open, OPEN.is_open) == (False, True)
    assert CLOSED.sentence == (
        "The gate for “(0, 100]” is closed. 1 of 4 has applied epoch 2 (3 needed). "
        "Missing: A, C, X. Present: B."
    )
    assert "is open. 2 of 3 have applied epoch 2 (2 needed)." in OPEN.sentence


def test_the_gates_of_the_next_step_stand_below_what_may_happen() -> None:
    """Each names its range; those of a later step wait till then."""
    knows = "applied epoch 2"
    gate = Gate("g", "switch reads (bootstrap X)", knows, (), ("A",), 1, where="(0, 100]")
    other = replace(gate, thing="h", where="(100, 200]")
    drawn = over(gate, other, replace(gate, thing="i", where="", what="finish"))
    assert drawn is not None
    lead = "Switch reads may follow once A has applied epoch 2:"
    assert [part.text() for part in drawn.walk() if part.tag == "b"] == [lead]
    assert [part.text() for part in classed(drawn, "soft")] == ["(0, 100]", "(100, 200]"]


def test_who_is_missing_stands_before_the_gate() -> None:
    """Who has come is to the right of those who have not; each keeps its key on its way."""
    later = Gate("range:0:100", "(0, 100]", "applied epoch 2", ("B", "C"), ("A", "X"), 3)
    before, after = over(CLOSED), over(later)
    assert before is not None
    assert after is not None
    check_keys(before)
    names = [f"gate:range:0:100:{name}" for name in "ABCX"]
    places = [shift(before, name) for name in names]
    assert len(set(places)) == 4
    assert max(places) == places[1]
    assert shift(after, names[2]) > shift(after, names[0])
    assert [one.key for one in classed(after, "come")] == [names[1], names[2]]
    assert [one.key for one in classed(after, "missing")] == [names[0], names[3]]


def test_seven_who_have_come_keep_their_faces() -> None:
    """More are counted; three that have come are no fraction of the two that are needed."""
    for count in (7, 8):
        drawn = over(Gate("g", "a majority", "voted", tuple("ABCDEFGH"[:count]), (), 4))
        assert drawn is not None
        assert len(classed(drawn, "come")) == (count if count == 7 else 0)
    assert Gate("g", "a", "voted", ("A", "B", "C"), (), 2).count == "3 (2 needed)"
    assert Gate("g", "a", "voted", ("A",), ("B",), 2).count == "1 of 2"


def test_a_press_on_who_is_missing_does_its_next_step() -> None:
    """Who has come is no control any more, and smaller than those who are missing."""
    timeline = Timeline(build("topology", {"operations": ("join D",)}))

    def head(name: str) -> Frag:
        """The head of a node at the gate of the moment."""
        scene = scene_of(timeline, timeline.at)
        drawn = draw_gates(scene, gates_of(scene, for_model(timeline.model).gates))
        found = part(drawn, f"gate:barrier:{name}") if drawn else None
        assert found is not None
        return found

    while "barrier" not in {
        gate.thing for gate in for_model(timeline.model).gates(scene_of(timeline, timeline.at))
    }:
        assert timeline.forward() is not None
    missing, named = head("B"), timeline.model.find(timeline.state, "answer B")
    assert named is not None
    assert missing.get("data-act") == f"do:{mark(timeline.model, named[0])}"
    timeline.do(named[0])
    come = head("B")
    assert come.get("data-act") is None
    radii = [float(kid.get("r") or 0) for each in (missing, come) for kid in each.walk()
             if kid.tag == "circle"]  # fmt: skip
    assert radii[0] > radii[1]


def test_no_more_than_a_few_gates_are_drawn() -> None:
    """In the order that is given; nothing where nobody waits. Whoever is missing can be pressed."""
    drawn = over(CLOSED, OPEN)
    assert drawn is not None
    assert [each.key for each in classed(drawn, "gate")] == ["gate:range:0:100"]
    pressed = [one.key for one in drawn.walk() if one.get("role") == "button"]
    assert pressed == [f"gate:range:0:100:{name}" for name in "ACX"]
    many = over(*(Gate(f"range:{i}", "", "", (), ("A",), 1) for i in range(50)))
    assert many is not None
    assert len(classed(many, "gate")) == MOST_GATES
    assert f"and {50 - MOST_GATES} more" in many.text()
    assert over() is None


@pytest.mark.parametrize("count", [1, 4, 5, 6, 12])
def test_heads_at_a_gate_are_as_large_as_there_is_room_for(count: int) -> None:
    """As many as a row has room for stand there one by one, none over another; else a number."""
    names = tuple("ABCDEFGHIJKL"[:count])
    gate = Gate("g", "g", "done it", (), names, count)
    drawn = over(gate)
    assert drawn is not None
    heads = classed(drawn, "missing")
    fits = any(each.wide(count) <= ROOM - measured(gate.count) for each in HEADS[:2])
    assert len(heads) == count * fits
    assert (f"{count} missing" in drawn.text()) is not fits
    reach = max((float(each.get("r") or 0) for each in drawn.walk() if each.tag == "circle"),
                default=0)  # fmt: skip
    at = [complex(*map(float, (each.get("transform") or "")[10:-1].split())) for each in heads]
    assert all(abs(one - other) >= 2 * reach for one, other in combinations(at, 2))


def test_many_nodes_are_counted() -> None:
    """Those for whom there is no room are told by their number."""
    names = tuple(f"n{i}" for i in range(40))
    drawn = over(Gate("g", "g", "said yes", names[:2], names[2:], 3))
    assert drawn is not None
    assert not classed(drawn, "missing")
    assert "38 missing" in drawn.text()


def test_the_gates_of_a_bootstrap_are_its_barriers() -> None:
    """In every moment of a run a gate is closed exactly while its range lacks its majority, and
    while one is closed the next step is refused.
    """
    moments = scenes(walk("tcm/rf3"))
    seen = set()
    for scene in moments:
        gates = {gate.thing: gate for gate in tcm_gates(scene)}
        for operation in facts.operations(scene.model, scene.state):
            rows = {range_key(row.left, row.right): row for row in operation.barriers}
            assert {key: gate.is_open for key, gate in gates.items()} == {
                key: row.met for key, row in rows.items()
            }
            advance = scene.model.wrap["tcm"](Advance(operation.node))
            named = scene.model.label(scene.state, advance)
            assert {gate.what for gate in gates.values()} <= {named}
            what = named.partition(" (")[0]
            assert all(gate.title == f"{what} for {gate.where}" for gate in gates.values())
            if not all(gate.is_open for gate in gates.values()):
                assert scene.model.refusal(scene.state, advance) is not None
        seen |= {gate.is_open for gate in gates.values()}
    assert seen == {True, False}


@pytest.mark.parametrize("name", ["write-and-read", "two-replicas"])
def test_the_gates_of_a_data_range_hold_its_events_back(name: str) -> None:
    """While a gate of a range is closed its event is refused, and names the same nodes."""
    closed = 0
    for scene in scenes(walk(f"dataplane/{name}")):
        for gate in storage_gates(scene):
            if gate.is_open:
                continue
            closed += 1
            named = {scene.model.label(scene.state, act): why for act, why in scene.options()}
            assert named[gate.what] is not None
    assert closed


class Counting:
    """A model whose one action waits for two of three."""

    def __init__(self, *awaited: Awaited, missing: tuple[str, ...] = ()) -> None:
        self.refusal = Refusal("too few", missing=missing, awaited=awaited)

    def options(self, state: Any) -> list[tuple[str, Refusal | None]]:
        """An action that waits, and one that does not."""
        return [("go", self.refusal), ("rest", None)]


def test_any_model_that_counts_nodes_has_gates() -> None:
    """What a refusal counts is a gate; where it does not say who is missing there is none."""
    model: Any = Counting(Awaited("votes", 2, 1, ("A", "B", "C")), missing=("B", "C"))
    [gate] = awaited_gates(Scene(model, None))
    assert (gate.there, gate.missing, gate.is_open) == (("A",), ("B", "C"), False)
    model = Counting(Awaited("votes", 2, 1, ("A", "B", "C")))
    assert not list(awaited_gates(Scene(model, None)))
    assert not list(awaited_gates(Scene(build("twophase"), build("twophase").start())))


WAITING = re.compile(r"[^.;\n]*\b(?:waits|wait for|must wait|awaited|stuck)\b[^.;\n]*")
"""What a picture, its table or its badges may not say while nothing waits."""


@pytest.mark.sweep(3)
@pytest.mark.parametrize("model", sorted(entries()))
def test_all_who_are_missing_stand_before_a_gate(model: str) -> None:
    """At every step of every run those whom a refusal names stand before closed gates, no others
    beside them; the first of these are drawn. Where nothing is said to wait, neither the picture
    nor what explains it says that something does.
    """
    seen, quiet = set(), set[str]()
    for _, moments in runs(model):
        views = for_model(moments[0].model)
        picture = next(panel for panel in views.panels if panel.name == (views.picture or "state"))
        for scene in moments:
            gates = gates_of(scene, picture.gates or views.gates)
            closed = [{*gate.missing} for gate in gates if not gate.is_open]
            if not closed:
                quiet |= {
                    re.sub(r"(?m)^[ !] *(\d+|node)  .*", "", each.text(scene))  # past, or heads
                    for each in views.panels
                    if each.name in (views.picture, views.table, views.badges)
                    and is_shown(each, scene)
                }
            for lacking in ({*why.missing} for _, why in scene.options() if why is not None):
                assert lacking == {name for names in closed if names <= lacking for name in names}
            for gate in gates:
                for why in (why for _, why in scene.options() if why and why.reason == gate.why):
                    same = [
                        group
                        for group in why.awaited
                        if {*gate.missing} == {*group.nodes} & {*why.missing}
                    ]
                    told = {(group.done, group.needed) for group in same}
                    assert not told or (len(gate.there), gate.needed) in told
            if not closed or gates in seen:
                continue
            seen.add(gates)
            drawn = draw_gates(scene, gates)
            assert drawn is not None
            check_keys(drawn)
            before = [one.key for one in classed(drawn, "missing")]
            first = [f"gate:{gates[0].thing}:{name}" for name in gates[0].missing]
            assert before[: len(first)] == first or gates[0].absent in drawn.text()
            said = " ".join(part.text() for part in draw_actions(scene, (), gates))
            assert re.search(r"\d steps? waits?\b", said)
    assert [found.group().strip() for text in quiet for found in WAITING.finditer(text)] == []


def test_a_gate_may_name_nobody() -> None:
    """Where nobody can come, the reason is told: beside *next*, in the sheet, and at the end."""
    model = build("gossip")
    gate = Gate("F", "drain F", "", (), (), 1, "no node may take its replica")
    assert not gate.is_open
    assert gate.sentence == "drain F must wait: no node may take its replica."
    assert over(gate) is not None
    scene = Scene(model, model.start())
    said = " ".join(part.text() for part in draw_actions(scene, (), [gate]))
    assert gate.sentence in said
    assert "Nothing more happens on its own: no node may take its replica." in end_words(
        scene, [gate]
    )
    assert not ends_well(scene, [gate])


@pytest.mark.parametrize("name", ["recovery/majority-is-lost", "vnodes/write-during-removenode"])
def test_heads_at_a_gate_are_those_of_the_cast(name: str) -> None:
    """Who is down or dead in the picture is so before the gate, on a stage and over a picture."""
    seen = set()
    for scene in scenes(walk(name)):
        views = for_model(scene.model)
        drawn = frame(scene, views.panels, slots=views)
        cast = {each.get("data-of"): each for each in classed(drawn, "character")
                if not (each.key or "").startswith("gate:")}  # fmt: skip
        for each in (*classed(drawn, "missing"), *classed(drawn, "come")):
            node = cast[(each.key or "").rpartition(":")[2]]
            for look in ("down", "gone", "joining"):
                assert (look in looks(each)) is (look in looks(node))
                seen.add((look, look in looks(each)))
    assert {("down", True), ("gone", True)} & seen


@pytest.mark.parametrize("name", ["topology/stuck-barrier", "vnodes/write-during-bootstrap"])
def test_who_has_come_in_a_step_is_marked(name: str) -> None:
    """Behind the gate they have a plate, on a stage and over a picture; nobody else has."""
    seen = 0
    moments = scenes(walk(name))
    for before, scene in pairwise(moments):
        views = for_model(scene.model)
        drawn = frame(scene, views.panels, slots=views)
        picture = next(panel for panel in views.panels if panel.name == views.picture)
        declared = picture.gates or views.gates
        then = {gate.thing: {*gate.missing} for gate in gates_of(before, declared)}
        for gate in gates_of(scene, declared):
            for each in gate.there:
                head = part(drawn, f"gate:{gate.thing}:{each}")
                if head is not None:
                    is_new = each in then.get(gate.thing, set())
                    assert bool(classed(head, "moved")) is is_new
                    seen += is_new
    assert seen


def looks(drawn: Frag) -> set[str]:
    """The classes of a part."""
    return {*(drawn.get("class") or "").split()}


def test_a_gate_that_no_refusal_tells_of_is_waited_for() -> None:
    """It is counted among what must wait, and the sheet has its sentence."""
    model = build("gossip")
    said = " ".join(part.text() for part in draw_actions(Scene(model, model.start()), (), [CLOSED]))
    assert CLOSED.sentence in said
    assert "1 step waits" in said


def test_who_has_refused_is_not_waited_for() -> None:
    """A vote that is lost is told apart from one that is still unknown."""
    [gate] = of_members("t", "elect A", "voted for it", [("A", "B", "C")], {"A"}, against={"B"})
    assert (gate.missing, gate.against, gate.awaited) == (("B", "C"), ("B",), ("C",))
    assert gate.sentence == (
        "The gate for “elect A” is closed. 1 of 3 has voted for it (2 needed). "
        "Missing: C. Refused: B. Present: A."
    )
