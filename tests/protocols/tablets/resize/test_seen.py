"""What a student sees of a resize, step by step: decision and number, readiness, both maps."""

from __future__ import annotations

import re
from collections.abc import Iterator
from itertools import pairwise
from typing import Any

import pytest

from kit.engine.flows import flows
from kit.engine.registry import build
from kit.protocols.tablets.rules.resize import THRESHOLDS
from kit.protocols.topology.rules.machines import EDITIONS, Edition
from kit.views.fragment import Frag
from kit.views.panel import Panel, Scene
from kit.views.registry import for_model
from tests.views.frames import classed, part

APPLY = ("apply A", "apply B", "apply C")
ENDS = ("finalize", *APPLY[:2], "barrier", "commit map", *APPLY[:2], "barrier")
SIBLING = "move 3 C:0 B:0"
MERGES: dict[str, Any] = {"nodes": 3, "grows": 1, "shrinks": 1}


def walked(given: dict[str, Any], *verbs: str) -> Iterator[Scene]:
    """The scenes of the start and of each verb."""
    model: Any = build("resize", given)
    state = model.start()
    yield Scene(model, state)
    for verb in verbs:
        option = model.find(state, verb)
        assert option is not None, verb
        assert option[1] is None, option
        state = model.act(state, option[0])
        yield Scene(model, state)


def last(given: dict[str, Any], *verbs: str) -> Scene:
    """The scene after all verbs."""
    return list(walked(given, *verbs))[-1]


def panel(scene: Scene, name: str) -> Panel:
    """A panel of the model."""
    [found] = [each for each in for_model(scene.model).panels if each.name == name]
    return found


def lines(scene: Scene, name: str) -> dict[str, str]:
    """The lines of a panel: what stands before the first colon, and what behind it."""
    heads = (line.strip().partition(": ") for line in panel(scene, name).text(scene).splitlines())
    return {head: words for head, _, words in heads}


def drawn(scene: Scene, name: str, key: str) -> Frag | None:
    """A part of a drawn panel."""
    return part(panel(scene, name).draw(scene), key)


def is_offered(scene: Scene, verb: str) -> bool:
    """Whether a step may be taken now."""
    option = scene.model.find(scene.state, verb)
    return option is not None and option[1] is None


@pytest.mark.spec("E-037", "E-038")
def test_the_decision_and_its_number_stand_on_the_screen() -> None:
    """Badges and the tab's row have what group 0 stores; each decision takes the next number."""
    given = {"tablets": ("A B",), "nodes": 2, "edition": "documents", "size": 75, "shrinks": 1}
    seen = []
    for scene in walked(given, "grow", "resize", "shrink", "resize"):
        row = drawn(scene, "resize", "resize:decision")
        kind, number = (drawn(scene, "badges", f"badge:{key}") for key in ("decision", "number"))
        assert row is not None
        assert kind is not None
        assert number is not None
        stored = scene.state.map
        assert f"{stored.resize_type}, number {stored.resize_seq_number}" in row.text()
        seen.append((kind.text().strip(), number.text().strip()))
    assert seen == [
        *[("resize none", "number 0")] * 2,
        *[("resize split", "number 1")] * 2,
        ("resize none", "number 2"),
    ]


def _stands(scene: Scene) -> tuple[bool, bool]:
    """Whether the mark of the average is left of the lower threshold, and right of the upper."""
    picture = panel(scene, "resize").draw(scene)
    mark = part(picture, "average")
    assert mark is not None
    found = re.match(r"translate\((\d+)", mark.get("transform") or "")
    assert found is not None
    _, low, high = (float(one.get("x") or 0) for one in picture.walk() if one.tag == "rect")
    return int(found[1]) < low, int(found[1]) > high


@pytest.mark.spec("E-040", "E-041")
@pytest.mark.parametrize("edition", EDITIONS)
def test_a_size_that_crosses_a_line_asks_for_a_resize(edition: Edition) -> None:
    """From setting to setting the mark goes along the line; only beyond a threshold the tab asks
    for a resize and one may be decided. 100 % is the default target, 5 GiB.
    """
    limits = THRESHOLDS[edition]
    low, high = limits.merge_percent, limits.split_percent
    for size, asks in (
        (low // 2, "merge"), (low - 1, "merge"), (low, "none"),
        (high, "none"), (high + 1, "split"), (2 * high, "split"),
    ):  # fmt: skip
        scene = last({"edition": edition, "tablets": ("A", "B"), "size": size})
        text = lines(scene, "resize")
        assert text["average"] == f"{size} % of the target size"
        assert text["sizes ask for"].startswith(f"{asks}: ")
        assert is_offered(scene, "resize") == (asks != "none")
        if size in (low // 2, 2 * high):
            assert _stands(scene) == (asks == "merge", asks == "split")
    whole = last({"edition": edition, "tablets": ("A", "B"), "size": 100})
    assert lines(whole, "storage")["A:0"] == "5.0 GiB"


@pytest.mark.spec("E-042")
@pytest.mark.parametrize("edition", EDITIONS)
@pytest.mark.parametrize(
    ("kind", "size", "there", "back"),
    [("split", 75, "grow", "shrink"), ("merge", 180, "shrink", "grow")],
)
def test_a_decision_flips_back_to_none(
    edition: Edition, kind: str, size: int, there: str, back: str
) -> None:
    """A size that goes back takes a split or a merge back, and the tab says why."""
    given = {**MERGES, "edition": edition, "tablets": ("A B", "A C"), "size": size}
    scenes = list(walked(given, there, "resize", back, "resize"))
    assert [lines(each, "resize")["decision"] for each in scenes[2:]] == [
        *[f"{kind}, number 1"] * 2,
        "none, number 2",
    ]
    assert lines(scenes[3], "resize")["sizes ask for"].startswith(
        "none: the opposite would be needed afterwards: "
    )


@pytest.mark.spec("E-044", "E-045")
def test_numbers_are_copied_one_by_one_and_the_last_lets_a_split_end() -> None:
    """A replica's row has 0, then the number and a lit lamp; the coordinator waits for those
    that are left, by name, and may finalize with the last.
    """
    given = {"tablets": ("A B", "B C"), "size": 75}
    places = [(0, "A:0"), (0, "B:0"), (1, "B:0"), (1, "C:0")]
    verbs = [f"divide {tablet} {place}" for tablet, place in places]
    scenes = list(walked(given, "grow", "resize", *APPLY, *verbs))[-5:]
    for done, scene in enumerate(scenes):
        for at, (tablet, place) in enumerate(places):
            row = drawn(scene, "readiness", f"ready:{tablet}:{place}")
            assert row is not None
            number, lamp = [one.text() for one in row.walk() if one.tag == "td"][-2:]
            assert (number, lamp.strip()) == (("1", "✓") if at < done else ("0", "…"))
        waits = lines(scene, "resize").get("waits", "")
        for at, (tablet, place) in enumerate(places):
            assert (f"tablet {tablet} on {place}" in waits) == (at >= done)
        assert is_offered(scene, "finalize") == (done == len(places)) == (not waits)


def _final(begun: tuple[str, ...], *within: str) -> tuple[str, ...]:
    return (*begun, "finalize", *within, *APPLY, "barrier", "commit map")


@pytest.mark.spec("E-043")
def test_a_storage_is_divided_into_two_colours() -> None:
    """Once A knows of the split its monitor divides the storage of A alone: its cell has the left
    and the right half, B's is whole.
    """
    begun = ("grow", "resize", "apply A")
    scenes = list(walked({"tablets": ("A B",), "nodes": 2}, *begun, "divide 0 A:0"))[-2:]
    found = []
    for scene in scenes:
        rows = [drawn(scene, "readiness", f"ready:0:{place}") for place in ("A:0", "B:0")]
        halves = [[one.text() for one in classed(row, "badge")] for row in rows if row is not None]
        found.append(halves)
        assert [len(classed(row, "busy")) for row in rows if row is not None] == [
            int(bool(each)) for each in halves
        ]
    assert found == [[[], []], [["left", "right"], []]]


@pytest.mark.spec("E-046", "E-047")
def test_the_barrier_is_seen_before_the_new_map() -> None:
    """The badge has the phases in their order; nodes that lag are marked, and no replica moves or
    may move. The grid has twice as many tablets in the last phase, and not before.
    """
    given = {"tablets": ("A B",), "nodes": 2, "moves": 1}
    begun = ("grow", "resize", "apply A", "apply B", "divide 0 A:0", "divide 0 B:0")
    seen = []
    for scene in walked(given, *begun, *ENDS):
        badge = drawn(scene, "badges", "badge:phase")
        phase = badge.text().strip().partition(": ")[2] if badge else ""
        hosts = [drawn(scene, "grid", f"host:{name}") for name in "AB"]
        lagging = [host.key for host in hosts if host and classed(host, "dashed")]
        seen.append((phase, len(lagging), lines(scene, "grid")["A"]))
        assert not [held for held in lines(scene, "grid").values() if "+" in held or "−" in held]
        if phase:
            option = scene.model.find(scene.state, "move 0 A:0 B:0")
            assert option is None or option[1] is not None
    assert seen[-8:] == [
        *(("barrier", lagging, "0") for lagging in (2, 1, 0)),
        ("commit", 0, "0"),
        *(("after", lagging, "0, 1") for lagging in (2, 1, 0)),
        ("", 2, "0, 1"),
    ]


@pytest.mark.spec("E-048")
def test_a_split_doubles_the_map_where_it_is() -> None:
    """The grid has two tablets for each, in the same cells; divided storages are two whole ones,
    each with half of the bytes, and a node says that it has the former map until it applies.
    """
    divides = ("divide 0 A:0", "divide 0 B:0", "divide 1 B:0", "divide 1 C:0")
    begun = ("grow", "resize", *APPLY, *divides)
    *_, before, after = walked({"tablets": ("A B", "B C")}, *_final(begun))
    assert lines(before, "grid") == {"A": "0", "B": "0, 1", "C": "1"}
    assert lines(after, "grid") == {"A": "0, 1", "B": "0, 1, 2, 3", "C": "2, 3"}
    assert [words.partition(",")[0] for words in lines(before, "readiness").values()] == [
        "divided"
    ] * 4
    assert list(lines(after, "readiness").values()) == ["whole, number 0"] * 8
    assert lines(before, "storage") == lines(after, "storage")
    note = drawn(after, "grid", "host:A")
    assert note is not None
    assert "has 2" in note.text()


@pytest.mark.spec("E-051", "E-054")
def test_odd_tablets_go_to_the_even_ones_and_then_a_merge_may_end() -> None:
    """The odd one's replicas alone move, from shard to shard or from node to node; the tab names
    the pairs that are still apart, and with none left the merge may be finalized.
    """
    given = {**MERGES, "grows": 0, "tablets": ("A:0 B:1", "A:1 C:0", "B:0 C:1", "B:0 A:1")}
    moves = ("move 1 A:1 A:0", "move 1 C:0 B:1", "move 3 A:1 C:1")
    scenes = list(walked(given, "shrink", "resize", *moves))[2:]
    assert [lines(each, "grid") for each in (scenes[0], scenes[-1])] == [
        {"A:0": "0", "A:1": "1, 3", "B:0": "2, 3", "B:1": "0", "C:0": "1", "C:1": "2"},
        {"A:0": "0, 1", "B:0": "2, 3", "B:1": "0, 1", "C:1": "2, 3"},
    ]
    waits = [lines(each, "resize").get("waits", "").rpartition(": ")[2] for each in scenes]
    pairs = "tablets 0 and 1", "tablets 2 and 3"
    assert waits == [", ".join(pairs), ", ".join(pairs), pairs[1], ""]
    assert [is_offered(each, "finalize") for each in scenes] == [False] * 3 + [True]


@pytest.mark.spec("E-055")
@pytest.mark.parametrize("grows", [False, True])
def test_a_merge_is_looked_at_again_at_its_end(grows: bool) -> None:
    """The table grows within finalization: the map of the grid stays, and the tab asks for none;
    else tablets and storages are half as many, each with the bytes of both.
    """
    given = {**MERGES, "tablets": ("A B", "A B"), "size": 180}
    within = ("grow",) if grows else ()
    ends = _final(("shrink", "resize"), *within)
    *_, before, after = walked(given, *ends)
    kept = {"A": "0, 1", "B": "0, 1"}
    assert lines(before, "grid") == kept
    assert lines(after, "grid") == (kept if grows else {"A": "0", "B": "0"})
    assert len(lines(after, "readiness")) == (4 if grows else 2)
    assert lines(after, "storage") == lines(before, "storage")
    if grows:
        assert lines(before, "resize")["sizes ask for"].startswith("none: ")
        assert (
            lines(last(given, *ends, "barrier", "resize"), "resize")["decision"] == "none, number 2"
        )


@pytest.mark.spec("E-049")
def test_a_growing_table_is_flagged_and_not_merged() -> None:
    """Small from the start, it keeps its count; once it was split beyond it, the flag is gone and
    it may be merged.
    """
    given = {"tablets": ("A", "A"), "nodes": 1, "initial": 2, "size": 40, "grows": 2, "shrinks": 2}
    small = last(given)
    text = lines(small, "resize")
    assert text["sizes ask for"] == "none: the table is growing: 2 tablets, 2 at first"
    assert text["growing mode"] == "on: not merged until there are more than 2 tablets"
    assert drawn(small, "badges", "badge:growing") is not None
    assert not is_offered(small, "resize")
    divides = ("apply A", "divide 0 A:0", "divide 1 A:0")
    split = ("grow", "grow", "resize", *divides, "finalize", "apply A", "barrier", "commit map")
    beyond = last(given, *split, "shrink", "shrink")
    assert lines(beyond, "grid") == {"A": "0, 1, 2, 3"}
    assert lines(beyond, "resize")["growing mode"] == "off"
    assert drawn(beyond, "badges", "badge:growing") is None
    assert lines(beyond, "resize")["sizes ask for"].startswith("merge: ")
    assert lines(last({**given, "initial": 0}), "resize")["growing mode"] == "off"


@pytest.mark.spec("E-039")
def test_the_average_is_worked_out_with_the_numbers_of_now() -> None:
    """All bytes by the replicas of a tablet, then by the tablets; it follows size and count."""
    given = {"tablets": ("A B", "B C"), "size": 80}
    formulas = [
        (lines(scene, "resize")["one copy"], lines(scene, "resize")["one tablet"])
        for scene in walked(given, "grow")
    ]
    assert formulas == [
        ("16.0 GiB in all ÷ 2 replicas = 8.0 GiB", "8.0 GiB ÷ 2 tablets = 4.0 GiB"),
        ("64.0 GiB in all ÷ 2 replicas = 32.0 GiB", "32.0 GiB ÷ 2 tablets = 16.0 GiB"),
    ]
    four = {"tablets": ("A", "A", "B", "B"), "size": 75, "shrinks": 1}
    quarters = last(four, "shrink")
    assert lines(quarters, "resize")["one tablet"] == "3.8 GiB ÷ 4 tablets = 960.0 MiB"
    for scene in walked({"tablets": ("A B C",), "size": 80}):
        formula = drawn(scene, "resize", "resize:one copy")
        assert formula is not None
        assert "12.0 GiB in all ÷ 3 replicas = 4.0 GiB" in formula.text()


@pytest.mark.spec("E-050")
def test_brackets_pair_siblings() -> None:
    """(0, 1), (2, 3) and so on; a bracket closes once both are in the same places."""
    given = {**MERGES, "grows": 0, "tablets": ("A B", "B A", "A B", "A C")}
    apart, together = last(given, "shrink", "resize"), last(given, "shrink", "resize", SIBLING)
    for scene, closed in ((apart, [True, False]), (together, [True, True])):
        drawings = [drawn(scene, "siblings", f"pair:{even}") for even in (0, 2)]
        for pair, numbers, is_closed in zip(drawings, ("0 1", "2 3"), closed, strict=True):
            assert pair is not None
            assert pair.text().endswith(f"{'=' if is_closed else '≠'} {numbers}")
            bracket = next(one for one in pair.walk() if one.tag == "path")
            assert ("dashed" in (bracket.get("class") or "")) != is_closed
    assert "apart: C:0 → B:0" in panel(apart, "siblings").text(apart)
    single = last({"tablets": ("A B",)})
    assert "no pairs" in panel(single, "siblings").text(single)


@pytest.mark.spec("E-053")
def test_siblings_that_are_together_travel_as_one() -> None:
    """A move of the balancer takes both along, and its arrow names both; before, only the odd one
    is named.
    """
    given = {**MERGES, "grows": 0, "moves": 1, "tablets": ("A B", "A C")}
    begun = ("shrink", "resize", "move 1 C:0 B:0", "move 0 A:0 C:0")
    steps = list(walked(given, *begun))
    labels = [
        [flow.label for flow in flows(before.model, before.state, action, after.state)]
        for (before, after), verb in zip(pairwise(steps), begun, strict=True)
        for action in (before.model.find(before.state, verb)[0],)
    ]
    assert labels == [[], [], ["tablet 1"], ["tablets 0 and 1"]]
    assert lines(steps[-1], "grid") == {"B": "0, 1", "C": "0, 1"}
    model, (_, _, _, before, after) = steps[-1].model, steps
    action = model.find(before.state, begun[-1])[0]
    assert "tablets 0 and 1 moves" in model.describe(before.state, action, after.state)


def test_a_merge_waits_for_no_replica() -> None:
    """Readiness is of a split: in a merge no row of it has the sign of what is missing."""
    given = {"tablets": ("A", "A"), "nodes": 1, "size": 40, "shrinks": 2}
    merging = last(given, "resize")
    assert lines(merging, "resize")["decision"] == "merge, number 1"
    row = drawn(merging, "readiness", "ready:0:A:0")
    assert row is not None
    assert "…" not in row.text()
